//! Finds the objects in a text of YAML or JSON, including those in lists.

use crate::manifest::{self, ParseError, TextPosition, YamlNode};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;

/// The kinds that a snapshot consists of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StateObjectKind {
    Node,
    Pod,
    Budget,
    Job,
    Event,
}

impl StateObjectKind {
    fn of(version: &str, kind: &str) -> Option<Self> {
        match (version, kind) {
            ("v1", "Node") => Some(Self::Node),
            ("v1", "Pod") => Some(Self::Pod),
            ("policy/v1" | "policy/v1beta1", "PodDisruptionBudget") => Some(Self::Budget),
            ("batch/v1", "Job") => Some(Self::Job),
            ("v1" | "events.k8s.io/v1", "Event") => Some(Self::Event),
            _ => None,
        }
    }
}

/// An object.
pub(crate) struct StateObject<'t> {
    /// `apiVersion`.
    pub(crate) version: Cow<'t, str>,
    /// The kind as written.
    pub(crate) word: Cow<'t, str>,
    place: ObjectPosition,
    pub(crate) body: ObjectBody<'t>,
}

enum ObjectPosition {
    Mark(TextPosition),
    /// In bytes; lines are counted only when needed.
    Offset(usize),
}

pub(crate) enum ObjectBody<'t> {
    Json(&'t str),
    Tree(&'t YamlNode),
}

/// In the API server's form.
impl StateObject<'_> {
    /// `None`: snapshots do not contain the kind.
    pub(crate) fn kind(&self) -> Option<StateObjectKind> {
        StateObjectKind::of(&self.version, &self.word)
    }

    /// `metadata.name`.
    pub(crate) fn name(&self) -> String {
        let name = match self.body {
            ObjectBody::Json(text) => {
                serde_json::from_str::<TypeMeta<'_>>(text).ok().and_then(|head| head.name())
            }
            ObjectBody::Tree(tree) => tree.at(&["metadata", "name"]).map(|name| name.as_text().to_owned()),
        };
        name.unwrap_or_else(|| "(no name)".to_owned())
    }

    /// Where it starts.
    pub(crate) fn at(&self, text: &str) -> TextPosition {
        self.place.mark(text)
    }
}

impl ObjectPosition {
    fn mark(&self, text: &str) -> TextPosition {
        let offset = match self {
            Self::Mark(mark) => return *mark,
            Self::Offset(offset) => *offset,
        };
        let before = text.get(..offset).unwrap_or_default();
        TextPosition::FIRST.after(before)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta<'t> {
    #[serde(borrow, default, deserialize_with = "text_or_null")]
    api_version: Cow<'t, str>,
    #[serde(borrow, default, deserialize_with = "text_or_null")]
    kind: Cow<'t, str>,
    #[serde(borrow, default)]
    items: Option<Vec<&'t RawValue>>,
    #[serde(borrow, default)]
    metadata: Option<TypeMetaName<'t>>,
}

/// As in an API server, null is an absent field.
fn text_or_null<'de, D: Deserializer<'de>>(from: D) -> Result<Cow<'de, str>, D::Error> {
    Ok(Option::<Cow<'de, str>>::deserialize(from)?.unwrap_or_default())
}

#[derive(Deserialize)]
struct TypeMetaName<'t> {
    #[serde(borrow, default)]
    name: Option<Cow<'t, str>>,
}

impl TypeMeta<'_> {
    fn name(self) -> Option<String> {
        Some(self.metadata?.name?.into_owned())
    }
}

/// Passes each object of a text to `visit`, including those in lists. Returns the errors.
pub(crate) fn each_object(text: &str, visit: &mut dyn FnMut(StateObject<'_>)) -> Vec<ParseError> {
    if let Some(list) = one_json(text).filter(|whole| whole.kind.ends_with("List")) {
        let mut faults = Vec::new();
        let items = list.items.iter().flatten();
        items.for_each(|item| of_json((text, item.get()), &list, LISTS_MAX, visit, &mut faults));
        return faults;
    }
    manifest::each(text, |tree| visit(of_tree(tree)))
}

fn of_tree(tree: &YamlNode) -> StateObject<'_> {
    StateObject {
        version: tree.text("apiVersion").into(),
        word: tree.text("kind").into(),
        place: ObjectPosition::Mark(tree.span.from),
        body: ObjectBody::Tree(tree),
    }
}

/// A text that is a single JSON object.
fn one_json(text: &str) -> Option<TypeMeta<'_>> {
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

/// Lists inside lists to this depth are read in place; deeper ones, as YAML is read.
const LISTS_MAX: usize = 8;

/// Passes on an item of a list, with the kind of the list if it has none; of an item that is a list, its items.
fn of_json<'t>(
    (text, item): (&'t str, &'t str),
    list: &TypeMeta<'t>,
    depth: usize,
    visit: &mut dyn FnMut(StateObject<'_>),
    faults: &mut Vec<ParseError>,
) {
    let offset = item.as_ptr() as usize - text.as_ptr() as usize;
    let kind = list.kind.strip_suffix("List").unwrap_or_default();
    let head = serde_json::from_str::<TypeMeta<'t>>(item).ok();
    let Some(mut head) = head.filter(|head| depth > 0 || head.items.is_none()) else {
        // Its fields may be repeated or of other types.
        let from = ObjectPosition::Offset(offset).mark(text);
        faults.extend(manifest::each_from(item, from, |tree| match kind {
            "" => visit(of_tree(tree)),
            kind => visit(of_tree(&tree.clone().called(&list.api_version, kind))),
        }));
        return;
    };
    if head.kind.is_empty() {
        head.kind = kind.to_owned().into();
        head.api_version = list.api_version.clone();
    }
    match head.items.take() {
        Some(items) => {
            items.iter().for_each(|inner| of_json((text, inner.get()), &head, depth - 1, visit, faults));
        }
        None => visit(StateObject {
            version: head.api_version,
            word: head.kind,
            place: ObjectPosition::Offset(offset),
            body: ObjectBody::Json(item),
        }),
    }
}
