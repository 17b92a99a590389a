//! Finds tolerations and taints by their shape, whatever the kind of the object is: lists to check, fields that Kubernetes
//! ignores or rejects, and annotations whose value is not read.
//!
//! - Invariant: in a kind of Kubernetes, every place but one is wrong; in another kind, only what belongs to a pod's spec
//!   can be in a wrong place, and a list is checked wherever it is.

use super::known_kinds::is_known;
use crate::manifest::{FieldPath, MapEntry, TextSpan, YamlNode, YamlValue};
use taintward_core::fact::{NodeRespect, RESPECT_BUDGETS};
use taintward_core::lint::{FieldProblem, LintedList, ValueType};
use taintward_core::taint::TaintEffect;
use taintward_core::toleration_seconds::NodeHoldRequest;
use taintward_kube::hold_request::{HOLD, decode_request};
use taintward_kube::respect_annotation::decode_respects;

/// The fields of tolerations and taints.
const FIELDS: [&str; 6] = ["key", "operator", "value", "effect", "tolerationSeconds", "timeAdded"];

/// Maps of text, in which any name is right.
const TEXT_MAPS: [&str; 4] = ["labels", "annotations", "matchLabels", "nodeSelector"];

/// Fields of an object that API servers and controllers write.
const NOT_WRITTEN: [&str; 2] = ["managedFields", "status"];

/// Fields of a pod's spec that have no tolerations inside.
const POD_PARTS: [&str; 7] = [
    "affinity",
    "containers",
    "ephemeralContainers",
    "initContainers",
    "nodeSelector",
    "securityContext",
    "topologySpreadConstraints",
];

/// Parts of texts that another program fills in or matches: such tolerations cannot be checked.
const PLACEHOLDERS: [&str; 5] = ["{{", "${", "$(", "<%", "*"];

/// Annotations that Kubernetes read in the past, and what took their place.
const DEAD_ANNOTATIONS: [(&str, &str); 3] = [
    ("scheduler.alpha.kubernetes.io/tolerations", "tolerations in the spec of the pod"),
    ("scheduler.alpha.kubernetes.io/taints", "spec.taints of the node"),
    ("scheduler.alpha.kubernetes.io/critical-pod", "priorityClassName: system-cluster-critical"),
];

/// What an object contains.
#[derive(Default)]
pub(crate) struct FoundShapes<'t> {
    /// Lists besides that of a known kind.
    pub(crate) lists: Vec<FoundList<'t>>,
    pub(crate) problems: Vec<FoundProblem>,
    /// Objects of Kubernetes inside the object.
    pub(crate) objects: Vec<(String, &'t YamlNode)>,
    /// Texts of several lines, which may be manifests.
    pub(crate) texts: Vec<(String, &'t YamlNode)>,
}

/// A list of tolerations or taints.
pub(crate) struct FoundList<'t> {
    pub(crate) path: String,
    pub(crate) list: LintedList,
    pub(crate) items: &'t [YamlNode],
    /// Whether it belongs to a pod's spec; other lists may have fields of their own.
    pub(crate) is_of_pod: bool,
}

/// A field that is wrong.
pub(crate) struct FoundProblem {
    pub(crate) span: TextSpan,
    pub(crate) path: String,
    pub(crate) problem: FieldProblem,
}

impl<'t> FoundShapes<'t> {
    /// Searches an object of a kind that has such a list in one place only.
    pub(crate) fn of_known(tree: &'t YamlNode, list: LintedList, place: &str) -> Self {
        let mut found = Self::default();
        found.known(tree, &FieldPath::Root, (list, &FieldPath::Field(&FieldPath::Root, place)));
        found.repeated(tree);
        found
    }

    /// Searches an object of any other kind.
    pub(crate) fn of_other(tree: &'t YamlNode) -> Self {
        let mut found = Self::default();
        // A text may be such a list as a whole.
        match probable_list(tree) {
            Some(list) => found.free(tree, &FieldPath::Root, Some(list), None),
            None => found.other(tree, &FieldPath::Root, None),
        }
        if !tree.text("kind").is_empty() {
            found.repeated(tree);
        }
        found
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.lists.is_empty() && self.problems.is_empty()
    }

    fn repeated(&mut self, tree: &'t YamlNode) {
        for repeated in tree.repeated() {
            let problem =
                FieldProblem::Repeated { field: (&*repeated.entry.key).into(), line: repeated.earlier.line };
            self.problem(repeated.entry.key_span, repeated.path, problem);
        }
    }

    /// `wanted`: the list of the kind, and its place.
    fn known(&mut self, tree: &'t YamlNode, path: &FieldPath<'_>, wanted: (LintedList, &FieldPath<'_>)) {
        for (index, item) in tree.items().iter().enumerate().filter(|(_, item)| !is_scalar(item)) {
            self.known(item, &FieldPath::Item(path, index), wanted);
        }
        let is_text_map = is_text_map(path);
        for entry in tree.names() {
            let (key, value) = (&*entry.key, &entry.value);
            if is_skipped(path, key) || (is_text_map && is_scalar(value)) {
                self.annotation(path, entry);
                continue;
            }
            let meant = LintedList::meant_by(key);
            if meant.is_none() && is_scalar(value) {
                continue;
            }
            let list = meant.or_else(|| probable_list(value));
            let here = FieldPath::Field(path, key);
            if key == wanted.0.field() && here.to_string() == wanted.1.to_string() {
                self.wrong_types(value, &here, wanted.0, true);
            } else if let Some(list) = list.filter(|_| value.value != YamlValue::Null) {
                self.misplaced(entry.key_span, &here, list, (list == wanted.0).then_some(wanted.1));
            } else {
                self.known(value, &here, wanted);
            }
        }
    }

    /// `named`: what the lists inside are by the name of this field, as in `tolerations: {web: [...], db: [...]}`.
    fn other(&mut self, tree: &'t YamlNode, path: &FieldPath<'_>, named: Option<LintedList>) {
        if !path.is_root() && is_known(tree) {
            return self.objects.push((path.to_string(), tree));
        }
        for (index, item) in tree.items().iter().enumerate().filter(|(_, item)| !is_scalar(item)) {
            self.other(item, &FieldPath::Item(path, index), None);
        }
        let is_text_map = is_text_map(path);
        let is_pod = is_pod_spec(tree);
        let is_template = tree.get("spec").is_some_and(is_pod_spec);
        for entry in tree.names() {
            let (key, value) = (&*entry.key, &entry.value);
            let is_own = path.is_root() && key == "metadata";
            if is_own || is_skipped(path, key) || (is_text_map && is_scalar(value)) {
                self.annotation(path, entry);
                continue;
            }
            let meant = LintedList::meant_by(key).filter(|_| value.value != YamlValue::Null);
            if meant.is_none() && is_scalar(value) && !value.as_text().contains('\n') {
                continue;
            }
            let here = FieldPath::Field(path, key);
            if is_pod && key == LintedList::Tolerations.field() {
                self.wrong_types(value, &here, LintedList::Tolerations, true);
                let (list, items) = (LintedList::Tolerations, value.items());
                self.lists.push(FoundList { path: here.to_string(), list, items, is_of_pod: true });
            } else if is_pod && POD_PARTS.contains(&key) {
                let place = FieldPath::Field(path, LintedList::Tolerations.field());
                self.known(value, &here, (LintedList::Tolerations, &place));
            } else if let Some(list) =
                meant.filter(|list| is_pod || (is_template && *list == LintedList::Tolerations))
            {
                let spec = FieldPath::Field(path, "spec");
                let place = FieldPath::Field(if is_pod { path } else { &spec }, list.field());
                let meant = (list == LintedList::Tolerations).then_some(&place);
                self.misplaced(entry.key_span, &here, list, meant);
            } else {
                self.free(value, &here, meant.or_else(|| named_after(key)), named);
            }
        }
    }

    /// A field of a kind whose fields are unknown.
    fn free(
        &mut self,
        value: &'t YamlNode,
        path: &FieldPath<'_>,
        own: Option<LintedList>,
        inherited: Option<LintedList>,
    ) {
        match (&value.value, own.or(inherited).or_else(|| probable_list(value))) {
            (YamlValue::Text(text), _) if text.contains('\n') => {
                self.texts.push((path.to_string(), value));
            }
            (YamlValue::List(items), Some(list)) if items.iter().any(is_probable_element) => {
                self.wrong_types(value, path, list, false);
                if !has_placeholder(value) {
                    self.lists.push(FoundList { path: path.to_string(), list, items, is_of_pod: false });
                }
            }
            (YamlValue::List(items), Some(list))
                if items.iter().any(|item| item.items().iter().any(is_probable_element)) =>
            {
                self.wrong_types(value, path, list, false);
            }
            (YamlValue::Map(_), Some(list))
                if path.field().ends_with(list.field()) && is_probable_element(value) && is_flat(value) =>
            {
                self.wrong_types(value, path, list, false);
            }
            _ => self.other(value, path, own),
        }
    }

    fn misplaced(
        &mut self,
        span: TextSpan,
        found: &FieldPath<'_>,
        list: LintedList,
        meant: Option<&FieldPath<'_>>,
    ) {
        let path = found.to_string();
        let meant = meant.map(|meant| meant.to_string().into());
        let problem = FieldProblem::Misplaced { list, found: path.as_str().into(), meant };
        self.problem(span, path, problem);
    }

    /// Adds what is not a list, elements of other types than maps, and their fields that are lists or maps.
    fn wrong_types(&mut self, value: &'t YamlNode, path: &FieldPath<'_>, list: LintedList, is_known: bool) {
        let YamlValue::List(items) = &value.value else {
            if let Some(actual) = type_of(value) {
                let problem = FieldProblem::NoList { list, actual, is_known };
                self.problem(value.span, path.to_string(), problem);
            }
            return;
        };
        for (index, item) in items.iter().enumerate() {
            let here = FieldPath::Item(path, index);
            match type_of(item) {
                None => {}
                Some(ValueType::Map) => self.wrong_fields(item, &here),
                Some(actual) => {
                    let problem = FieldProblem::NoMap { list, actual, is_known };
                    self.problem(item.span, here.to_string(), problem);
                }
            }
        }
    }

    fn wrong_fields(&mut self, item: &'t YamlNode, path: &FieldPath<'_>) {
        for entry in item.names().filter(|entry| FIELDS.contains(&&*entry.key)) {
            if let Some(actual @ (ValueType::List | ValueType::Map)) = type_of(&entry.value) {
                let problem = FieldProblem::NoScalar { field: (&*entry.key).into(), actual };
                self.problem(entry.value.span, FieldPath::Field(path, &entry.key).to_string(), problem);
            }
        }
    }

    fn annotation(&mut self, path: &FieldPath<'_>, entry: &MapEntry) {
        let (key, text) = (&*entry.key, entry.value.as_text());
        let dead = DEAD_ANNOTATIONS.iter().find(|(dead, _)| *dead == key);
        let problem = match dead {
            Some((_, successor)) => FieldProblem::DeadAnnotation { annotation: key.into(), successor },
            None if key == HOLD && decode_request(text) == NodeHoldRequest::None => {
                FieldProblem::UnreadableAnnotation {
                    annotation: HOLD,
                    effect: "nothing is held",
                    command: "taintward hold",
                }
            }
            None if key == RESPECT_BUDGETS && decode_respects(text) == NodeRespect::Undecodable => {
                FieldProblem::UnreadableAnnotation {
                    annotation: RESPECT_BUDGETS,
                    effect: "it delays the evictions from this node that no eviction policy selects, unless the node is dead",
                    command: "taintward taint --respect-budgets",
                }
            }
            None => return,
        };
        self.problem(entry.key_span, FieldPath::Field(path, key).to_string(), problem);
    }

    fn problem(&mut self, span: TextSpan, path: String, problem: FieldProblem) {
        self.problems.push(FoundProblem { span, path, problem });
    }
}

/// Whether an element of a list can be read: the others are problems, and take part in no rule.
pub(crate) fn is_readable(item: &YamlNode) -> bool {
    let has_scalar = |name: &&str| item.get(name).is_none_or(is_scalar);
    matches!(item.value, YamlValue::Map(_) | YamlValue::Null) && FIELDS.iter().all(has_scalar)
}

fn is_skipped(path: &FieldPath<'_>, key: &str) -> bool {
    NOT_WRITTEN.contains(&key)
        && matches!(path, FieldPath::Root | FieldPath::Field(FieldPath::Root, "metadata"))
}

/// Whether this is the path of a map of texts.
fn is_text_map(path: &FieldPath<'_>) -> bool {
    TEXT_MAPS.contains(&path.field())
}

fn is_scalar(value: &YamlNode) -> bool {
    !matches!(value.value, YamlValue::List(_) | YamlValue::Map(_))
}

/// `None`: null.
fn type_of(value: &YamlNode) -> Option<ValueType> {
    match value.value {
        YamlValue::Null => None,
        YamlValue::Map(_) => Some(ValueType::Map),
        YamlValue::List(_) => Some(ValueType::List),
        YamlValue::Text(_) => Some(ValueType::Text),
        YamlValue::Number(..) => Some(ValueType::Number),
        YamlValue::Truth(_) => Some(ValueType::Truth),
    }
}

/// Whether it is the spec of a pod: it has containers.
fn is_pod_spec(tree: &YamlNode) -> bool {
    let containers = tree.get("containers").map(YamlNode::items).unwrap_or_default();
    containers.first().is_some_and(|first| first.get("name").is_some() || first.get("image").is_some())
}

/// Whether it has a field of a toleration or a taint besides a value.
fn is_probable_element(item: &YamlNode) -> bool {
    ["key", "operator", "effect", "tolerationSeconds"].iter().any(|field| item.get(field).is_some())
}

fn is_flat(item: &YamlNode) -> bool {
    item.names().all(|entry| is_scalar(&entry.value))
}

/// The list that a field of another kind contains by its name, such as `startupTaints` and `podTolerations`.
fn named_after(key: &str) -> Option<LintedList> {
    let ends_with = |field: &str| {
        let begin = key.len().checked_sub(field.len());
        begin.and_then(|begin| key.get(begin..)).is_some_and(|end| end.eq_ignore_ascii_case(field))
    };
    [LintedList::Tolerations, LintedList::Taints].into_iter().find(|list| ends_with(list.field()))
}

/// The list that this is, whatever its name: each element has an effect of taints or seconds, and no other fields than
/// tolerations and taints have.
fn probable_list(value: &YamlNode) -> Option<LintedList> {
    let items = value.items();
    let is_effect = |item: &YamlNode| known_effect(item.text("effect")).is_some();
    let fits = |item: &YamlNode| {
        (is_effect(item) || item.get("tolerationSeconds").is_some())
            && item.names().all(|entry| FIELDS.contains(&&*entry.key))
    };
    if items.is_empty() || !items.iter().all(fits) {
        return None;
    }
    let tolerates =
        |item: &YamlNode| item.get("operator").is_some() || item.get("tolerationSeconds").is_some();
    Some(if items.iter().any(tolerates) { LintedList::Tolerations } else { LintedList::Taints })
}

/// The effect that a text means in any spelling.
fn known_effect(text: &str) -> Option<&'static str> {
    let plain: String = text.chars().filter(char::is_ascii_alphabetic).collect();
    let known = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    known.into_iter().find(|effect| effect.eq_ignore_ascii_case(&plain))
}

pub(crate) fn has_placeholder(value: &YamlNode) -> bool {
    let in_text = |text: &str| PLACEHOLDERS.iter().any(|placeholder| text.contains(placeholder));
    in_text(value.as_text())
        || value.items().iter().any(has_placeholder)
        || value.names().any(|entry| in_text(&entry.key) || has_placeholder(&entry.value))
}

/// The effect as Kubernetes spells it, for kinds whose own API spells it otherwise.
pub(crate) fn cloud_effect(text: &str) -> TaintEffect {
    TaintEffect::new(known_effect(text).unwrap_or(text))
}
