//! Splits text into objects as JSON, and lists into their items.
//!
//! - Invariant: a large JSON file is never held twice.

use crate::manifest::{self, ParseError, TextPosition, YamlNode};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What a snapshot is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StateObjectKind {
    Node,
    Pod,
    Budget,
    Event,
}

impl StateObjectKind {
    fn of(version: &str, kind: &str) -> Option<Self> {
        match (version, kind) {
            ("v1", "Node") => Some(Self::Node),
            ("v1", "Pod") => Some(Self::Pod),
            ("policy/v1" | "policy/v1beta1", "PodDisruptionBudget") => Some(Self::Budget),
            ("v1" | "events.k8s.io/v1", "Event") => Some(Self::Event),
            _ => None,
        }
    }
}

/// An object.
pub(super) struct StateObject<'t> {
    /// `None`: no snapshot has such.
    pub(super) kind: Option<StateObjectKind>,
    /// Its kind as it stands there.
    pub(super) word: Cow<'t, str>,
    place: ObjectPosition,
    body: ObjectBody<'t>,
}

enum ObjectPosition {
    Mark(TextPosition),
    /// In bytes; lines are counted where somebody wants to know.
    Offset(usize),
}

enum ObjectBody<'t> {
    Json(&'t str),
    Tree(&'t YamlNode),
}

impl StateObject<'_> {
    /// As an API server would write it.
    pub(super) fn json(&self) -> Result<Cow<'_, [u8]>, String> {
        match self.body {
            ObjectBody::Json(text) => Ok(text.as_bytes().into()),
            ObjectBody::Tree(tree) => serde_json::to_vec(tree).map(Cow::Owned).map_err(|why| why.to_string()),
        }
    }

    /// `metadata.name`.
    pub(super) fn name(&self) -> String {
        let name = match self.body {
            ObjectBody::Json(text) => {
                serde_json::from_str::<TypeMeta<'_>>(text).ok().and_then(|head| head.name())
            }
            ObjectBody::Tree(tree) => tree.at(&["metadata", "name"]).map(|name| name.as_text().to_owned()),
        };
        name.unwrap_or_else(|| "(no name)".to_owned())
    }

    /// Where it begins.
    pub(super) fn at(&self, text: &str) -> TextPosition {
        let offset = match self.place {
            ObjectPosition::Mark(mark) => return mark,
            ObjectPosition::Offset(offset) => offset,
        };
        let before = text.get(..offset).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        TextPosition { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct TypeMeta<'t> {
    #[serde(borrow, default)]
    api_version: Cow<'t, str>,
    #[serde(borrow, default)]
    kind: Cow<'t, str>,
    #[serde(borrow, default)]
    items: Option<Vec<&'t RawValue>>,
    #[serde(borrow, default)]
    metadata: Option<TypeMetaName<'t>>,
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

/// Tells each object of a text, those in lists included; returns what is broken.
pub(super) fn each(text: &str, tell: &mut dyn FnMut(StateObject<'_>)) -> Vec<ParseError> {
    if let Some(list) = one_json(text).filter(|whole| whole.kind.ends_with("List")) {
        let items = list.items.iter().flatten();
        items.for_each(|item| tell(of_json(text, item.get(), &list)));
        return Vec::new();
    }
    manifest::each(text, |tree| {
        let (version, word) = (tree.text("apiVersion"), tree.text("kind"));
        tell(StateObject {
            kind: StateObjectKind::of(version, word),
            word: word.into(),
            place: ObjectPosition::Mark(tree.span.from),
            body: ObjectBody::Tree(tree),
        });
    })
}

/// A text that is one JSON object and nothing else.
fn one_json(text: &str) -> Option<TypeMeta<'_>> {
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

/// Items that do not say what they are, are what the list is of.
fn of_json<'t>(text: &str, item: &'t str, list: &TypeMeta<'t>) -> StateObject<'t> {
    let head: Option<TypeMeta<'t>> = serde_json::from_str(item).ok();
    let (version, word) = match head {
        Some(head) if !head.kind.is_empty() => (head.api_version, head.kind),
        _ => {
            let word = list.kind.strip_suffix("List").unwrap_or_default().to_owned();
            (list.api_version.clone(), word.into())
        }
    };
    let offset = item.as_ptr() as usize - text.as_ptr() as usize;
    StateObject {
        kind: StateObjectKind::of(&version, &word),
        word,
        place: ObjectPosition::Offset(offset),
        body: ObjectBody::Json(item),
    }
}
