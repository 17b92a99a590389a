//! Reads the elements of a list of tolerations or taints, with the position of each field.
//!
//! - Invariant: an element that cannot be read, or that tells how to patch the list, is left out.

use super::shape;
use crate::manifest::{TextSpan, YamlNode, YamlValue};
use taintward_core::lint::{LintedToleration, TolerationPart};
use taintward_core::taint::{Taint, TaintEffect};
use taintward_core::toleration::{Toleration, TolerationOperator};

/// The positions of a toleration's or taint's fields.
#[derive(Clone, Debug, Default)]
pub(crate) struct TolerationSpans {
    /// Its position in the list as written.
    pub(crate) index: usize,
    pub(crate) whole: TextSpan,
    pub(crate) fields: Vec<(TolerationPart, TextSpan)>,
    pub(crate) odd: Vec<(String, TextSpan)>,
}

/// Elements with their positions in the list, without those that cannot be read, and without directives of patches.
pub(crate) type ReadableItems<'t> = Vec<(usize, &'t YamlNode)>;

/// `within`: the path of the object inside another one, such as a template, which has placeholders.
pub(crate) fn readable<'t>(items: &'t [YamlNode], within: &str) -> ReadableItems<'t> {
    let is_final = |item: &YamlNode| within.is_empty() || !shape::has_placeholder(item);
    let is_readable =
        |item: &YamlNode| shape::is_readable(item) && item.get(PATCH).is_none() && is_final(item);
    items.iter().enumerate().filter(|(_, item)| is_readable(item)).collect()
}

pub(crate) fn spans(items: &ReadableItems<'_>) -> Vec<TolerationSpans> {
    items.iter().map(|&(index, tree)| item(index, tree)).collect()
}

pub(crate) fn not_texts(items: &ReadableItems<'_>) -> Vec<(usize, TolerationPart)> {
    let not_text = |(at, (_, tree)): (usize, &(usize, &YamlNode))| {
        not_text(tree).into_iter().map(move |part| (at, part))
    };
    items.iter().enumerate().flat_map(not_text).collect()
}

pub(crate) fn taint(tree: &YamlNode) -> Taint {
    Taint {
        key: tree.text("key").into(),
        value: tree.text("value").into(),
        effect: TaintEffect::new(tree.text("effect")),
        time_added: None,
    }
}

pub(crate) fn cloud_taint(tree: &YamlNode) -> Taint {
    Taint { effect: shape::cloud_effect(tree.text("effect")), ..taint(tree) }
}

/// The directive of an element in a strategic merge patch.
const PATCH: &str = "$patch";

/// Directives of strategic merge patches: the object is only what the patch changes.
fn is_directive(name: &str) -> bool {
    name == PATCH
        || name == "$retainKeys"
        || name.starts_with("$setElementOrder/")
        || name.starts_with("$deleteFromPrimitiveList/")
}

/// Whether a directive is anywhere on the way to an element of the list.
pub(crate) fn is_patch(tree: &YamlNode, steps: &[&str], list: &str) -> bool {
    let has_directive = |tree: &YamlNode| tree.names().any(|entry| is_directive(&entry.key));
    let Some((step, rest)) = steps.split_first() else {
        let items = tree.get(list).map(YamlNode::items).unwrap_or_default();
        return has_directive(tree) || items.iter().any(has_directive);
    };
    has_directive(tree) || tree.get(step).is_some_and(|tree| is_patch(tree, rest, list))
}

/// Outside of a pod's spec, a toleration may have fields of its own.
pub(crate) fn toleration_of(tree: &YamlNode, is_of_pod: bool) -> LintedToleration {
    let read = toleration(tree);
    if is_of_pod { read } else { LintedToleration { odd_fields: Vec::new(), ..read } }
}

pub(crate) fn toleration(tree: &YamlNode) -> LintedToleration {
    let effect = tree.text("effect");
    let seconds = tree.get("tolerationSeconds");
    let whole = seconds.and_then(|seconds| match seconds.value {
        YamlValue::Number(_, whole) => whole,
        _ => None,
    });
    let read = Toleration {
        key: tree.text("key").into(),
        operator: TolerationOperator::new(tree.text("operator")),
        value: tree.text("value").into(),
        effect: (!effect.is_empty()).then(|| TaintEffect::new(effect)),
        seconds: whole,
    };
    LintedToleration {
        read,
        odd_seconds: seconds.filter(|_| whole.is_none()).map(|seconds| seconds.as_text().into()),
        octal_seconds: seconds.filter(|seconds| is_octal(seconds)).map(|seconds| seconds.as_text().into()),
        odd_fields: odd(tree).map(|(name, _)| name.into()).collect(),
        not_text: not_text(tree),
    }
}

/// Whether it is a number with a zero in front that is not meant for base 8 only: `0o17` is.
fn is_octal(seconds: &YamlNode) -> bool {
    let digits = seconds.as_text().trim_start_matches(['+', '-']);
    let has_zero_in_front = digits.len() > 1 && digits.starts_with('0');
    matches!(seconds.value, YamlValue::Number(_, Some(whole)) if whole != 0)
        && has_zero_in_front
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
        && !digits.contains(['8', '9'])
}

/// String fields, by their names.
const TEXTS: [(&str, TolerationPart); 4] = [
    ("key", TolerationPart::Key),
    ("operator", TolerationPart::Operator),
    ("value", TolerationPart::Value),
    ("effect", TolerationPart::Effect),
];

/// The numeric field.
const SECONDS: &str = "tolerationSeconds";

fn not_text(tree: &YamlNode) -> Vec<TolerationPart> {
    let wrong = |name: &str| tree.get(name).is_some_and(|field| !field.is_text());
    TEXTS.into_iter().filter(|(name, _)| wrong(name)).map(|(_, part)| part).collect()
}

fn odd(tree: &YamlNode) -> impl Iterator<Item = (&str, TextSpan)> {
    let known =
        |name: &str| name == SECONDS || is_directive(name) || TEXTS.iter().any(|(text, _)| *text == name);
    tree.names().filter(move |entry| !known(&entry.key)).map(|entry| (&*entry.key, entry.key_span))
}

fn item(index: usize, tree: &YamlNode) -> TolerationSpans {
    let field = |(name, part)| Some((part, tree.get(name)?.span));
    let fields = TEXTS.into_iter().chain([(SECONDS, TolerationPart::Seconds)]).filter_map(field).collect();
    TolerationSpans {
        index,
        whole: tree.span,
        fields,
        odd: odd(tree).map(|(name, span)| (name.to_owned(), span)).collect(),
    }
}
