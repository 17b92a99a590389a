//! # Objects: each object of a text, as JSON
//! Room:     lists taken apart; what kubectl prints as JSON is passed on as it is, everything else goes through the tree.
//! Comes in: text.
//! Goes out: [`Object`]s, one at a time; what is broken.
//! Keeps:    large files of JSON are never held twice.
//! Not here: what an object says (`taintward_client::snapshot`).

use crate::manifest::{self, Fault, Mark, Tree};
use serde::Deserialize;
use serde_json::value::RawValue;
use std::borrow::Cow;

/// What a snapshot is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Node,
    Pod,
    Budget,
    Event,
}

impl Kind {
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
pub(super) struct Object<'t> {
    /// `None`: no snapshot has such.
    pub(super) kind: Option<Kind>,
    /// Its kind as it stands there.
    pub(super) word: Cow<'t, str>,
    place: Place,
    body: Body<'t>,
}

enum Place {
    Mark(Mark),
    /// In bytes; lines are counted where somebody wants to know.
    Offset(usize),
}

enum Body<'t> {
    Json(&'t str),
    Tree(&'t Tree),
}

impl Object<'_> {
    /// As an API server would write it.
    pub(super) fn json(&self) -> Result<Cow<'_, [u8]>, String> {
        match self.body {
            Body::Json(text) => Ok(text.as_bytes().into()),
            Body::Tree(tree) => serde_json::to_vec(tree).map(Cow::Owned).map_err(|why| why.to_string()),
        }
    }

    /// `metadata.name`.
    pub(super) fn name(&self) -> String {
        let name = match self.body {
            Body::Json(text) => serde_json::from_str::<Head<'_>>(text).ok().and_then(|head| head.name()),
            Body::Tree(tree) => tree.at(&["metadata", "name"]).map(|name| name.as_text().to_owned()),
        };
        name.unwrap_or_else(|| "(no name)".to_owned())
    }

    /// Where it begins.
    pub(super) fn at(&self, text: &str) -> Mark {
        let offset = match self.place {
            Place::Mark(mark) => return mark,
            Place::Offset(offset) => offset,
        };
        let before = text.get(..offset).unwrap_or_default();
        let line = before.rsplit('\n').next().unwrap_or_default();
        Mark { line: before.matches('\n').count() + 1, column: line.chars().count() + 1 }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Head<'t> {
    #[serde(borrow, default)]
    api_version: Cow<'t, str>,
    #[serde(borrow, default)]
    kind: Cow<'t, str>,
    #[serde(borrow, default)]
    items: Option<Vec<&'t RawValue>>,
    #[serde(borrow, default)]
    metadata: Option<Metadata<'t>>,
}

#[derive(Deserialize)]
struct Metadata<'t> {
    #[serde(borrow, default)]
    name: Option<Cow<'t, str>>,
}

impl Head<'_> {
    fn name(self) -> Option<String> {
        Some(self.metadata?.name?.into_owned())
    }
}

/// Tells each object of a text, those in lists included; returns what is broken.
pub(super) fn each(text: &str, tell: &mut dyn FnMut(Object<'_>)) -> Vec<Fault> {
    if let Some(list) = one_json(text).filter(|whole| whole.kind.ends_with("List")) {
        let items = list.items.iter().flatten();
        items.for_each(|item| tell(of_json(text, item.get(), &list)));
        return Vec::new();
    }
    manifest::each(text, |tree| {
        let (version, word) = (tree.text("apiVersion"), tree.text("kind"));
        tell(Object {
            kind: Kind::of(version, word),
            word: word.into(),
            place: Place::Mark(tree.span.from),
            body: Body::Tree(tree),
        });
    })
}

/// A text that is one JSON object and nothing else.
fn one_json(text: &str) -> Option<Head<'_>> {
    text.trim_start().starts_with('{').then(|| serde_json::from_str(text).ok())?
}

/// Items that do not say what they are, are what the list is of.
fn of_json<'t>(text: &str, item: &'t str, list: &Head<'t>) -> Object<'t> {
    let head: Option<Head<'t>> = serde_json::from_str(item).ok();
    let (version, word) = match head {
        Some(head) if !head.kind.is_empty() => (head.api_version, head.kind),
        _ => {
            let word = list.kind.strip_suffix("List").unwrap_or_default().to_owned();
            (list.api_version.clone(), word.into())
        }
    };
    let offset = item.as_ptr() as usize - text.as_ptr() as usize;
    Object { kind: Kind::of(&version, &word), word, place: Place::Offset(offset), body: Body::Json(item) }
}
