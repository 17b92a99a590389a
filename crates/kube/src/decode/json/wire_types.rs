//! # Shapes: what serde reads JSON into
//! Room:     narrow structs that borrow from the bytes; unknown fields are skipped, `null` is "not set" as in Go.
//! Comes in: serde_json's events.
//! Goes out: raw values for `json.rs` to make facts of.
//! Not here: nodes (`wire_types/node.rs`); pools and policies (`wire_types/pool.rs`); meaning. A known field given twice is a fault: which of the two holds is anybody's guess.

use crate::decode::field_semantics::{INITIAL_EVENTS_END, LONGEST_LIST, MIRROR, owner_of};
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;
use taintward_core::admission::pool::MADE_FOR;
use taintward_core::fact::PodOwnerKind;

mod node;
mod pool;
mod selector;

pub(super) use node::{ManagedFieldsEntry, ManagedFieldsObject, NodeConditionJson, NodeJson, TaintJson};
pub(super) use pool::{
    AppliedMarkJson, AppliedMarksJson, CustomResourceJson, FinalizersObject, NamedPodJson, NamespaceJson,
    PolicySpecJson, PoolMembersJson, PoolNodeJson, PoolSpecJson, PoolStatusJson, PoolTaintJson,
    PoolUsersJson,
};

/// Text, borrowed unless it has escapes in it.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Text<'a>(#[serde(borrow)] Cow<'a, str>);

impl<'a> Text<'a> {
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    fn into_inner(self) -> Cow<'a, str> {
        self.0
    }

    /// The text, or the empty string Go has for "not set".
    pub(super) fn or_empty(text: Option<&Self>) -> &str {
        text.map_or("", Text::as_str)
    }
}

/// An object that is written as one. Derived readers would also take a list of the fields' values for it.
#[derive(Default)]
pub(in crate::decode) struct LenientObject<T>(pub(in crate::decode) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for LenientObject<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
            type Value = LenientObject<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<LenientObject<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(LenientObject)
            }
        }

        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// A list of at most [`LONGEST_LIST`] objects.
pub(super) struct CappedList<T>(pub(super) Vec<T>);

impl<T> Default for CappedList<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for CappedList<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CappedListVisitor<T>(PhantomData<T>);

        impl<'de, T: Deserialize<'de>> Visitor<'de> for CappedListVisitor<T> {
            type Value = CappedList<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<CappedList<T>, A::Error> {
                let mut entries = Vec::new();
                while let Some(LenientObject(entry)) = list.next_element()? {
                    if entries.len() == LONGEST_LIST {
                        return Err(A::Error::custom(format_args!("more than {LONGEST_LIST} entries")));
                    }
                    entries.push(entry);
                }
                Ok(CappedList(entries))
            }
        }

        deserializer.deserialize_seq(CappedListVisitor(PhantomData))
    }
}

/// The annotations that matter.
#[derive(Default)]
pub(super) struct KnownAnnotations {
    pub(super) mirror: bool,
    pub(super) made_for: Box<str>,
    pub(super) initial_events_end: bool,
}

impl<'de> Deserialize<'de> for KnownAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KnownAnnotationsVisitor;

        impl<'de> Visitor<'de> for KnownAnnotationsVisitor {
            type Value = KnownAnnotations;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<KnownAnnotations, A::Error> {
                let mut found = KnownAnnotations::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    if ![MIRROR, MADE_FOR, INITIAL_EVENTS_END].contains(&key.as_str()) {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    }
                    let value = map.next_value::<Option<Text<'de>>>()?;
                    found.mirror |= key.as_str() == MIRROR;
                    if key.as_str() == MADE_FOR {
                        found.made_for = Text::or_empty(value.as_ref()).into();
                    }
                    found.initial_events_end |=
                        key.as_str() == INITIAL_EVENTS_END && Text::or_empty(value.as_ref()) == "true";
                }
                Ok(found)
            }
        }

        deserializer.deserialize_map(KnownAnnotationsVisitor)
    }
}

/// The controlling owner among the references: the first with `controller: true`.
pub(super) struct ControllerOwner(pub(super) Option<PodOwnerKind>);

impl<'de> Deserialize<'de> for ControllerOwner {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename_all = "camelCase")]
        struct OwnerReferenceJson<'a> {
            #[serde(borrow)]
            api_version: Option<Text<'a>>,
            #[serde(borrow)]
            kind: Option<Text<'a>>,
            controller: Option<bool>,
        }

        let references = CappedList::<OwnerReferenceJson<'de>>::deserialize(deserializer)?.0;
        let controlling = references.iter().find(|reference| reference.controller == Some(true));
        Ok(Self(controlling.map(|reference| {
            owner_of(Text::or_empty(reference.api_version.as_ref()), Text::or_empty(reference.kind.as_ref()))
        })))
    }
}

/// Metadata; labels, and annotations beyond those that matter, only if somebody wants them.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct MetaJson<'a, L = IgnoredAny, A = KnownAnnotations> {
    #[serde(borrow)]
    pub(super) name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) namespace: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) uid: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) resource_version: Option<Text<'a>>,
    pub(super) generation: Option<i64>,
    #[serde(borrow)]
    pub(super) creation_timestamp: Option<Text<'a>>,
    pub(super) deletion_timestamp: Option<IgnoredAny>,
    pub(super) labels: Option<L>,
    pub(super) annotations: Option<A>,
    pub(super) owner_references: Option<ControllerOwner>,
}

#[derive(Deserialize)]
pub(super) struct PodJson<'a> {
    #[serde(borrow)]
    pub(super) metadata: Option<LenientObject<MetaJson<'a>>>,
    #[serde(borrow)]
    pub(super) spec: Option<LenientObject<PodSpecJson<'a>>>,
    #[serde(borrow)]
    pub(super) status: Option<LenientObject<PodStatusJson<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodSpecJson<'a> {
    #[serde(borrow)]
    pub(super) node_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) service_account_name: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) tolerations: Option<CappedList<TolerationJson<'a>>>,
    #[serde(borrow)]
    pub(super) priority_class_name: Option<Text<'a>>,
    pub(super) priority: Option<i32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct TolerationJson<'a> {
    #[serde(borrow)]
    pub(super) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) operator: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) value: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) effect: Option<Text<'a>>,
    pub(super) toleration_seconds: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodStatusJson<'a> {
    #[serde(borrow)]
    pub(super) phase: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) conditions: Option<CappedList<PodConditionJson<'a>>>,
    #[serde(borrow)]
    pub(super) start_time: Option<Text<'a>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct PodConditionJson<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) status: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) reason: Option<Text<'a>>,
    #[serde(borrow)]
    pub(super) last_transition_time: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct LeaseJson<'a> {
    #[serde(borrow)]
    pub(super) metadata: Option<LenientObject<MetaJson<'a>>>,
    #[serde(borrow)]
    pub(super) spec: Option<LenientObject<LeaseSpecJson<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct LeaseSpecJson<'a> {
    #[serde(borrow)]
    pub(super) renew_time: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct KindJson<'a> {
    #[serde(borrow)]
    pub(super) kind: Option<Text<'a>>,
}

#[derive(Deserialize)]
pub(super) struct BookmarkJson<'a> {
    #[serde(borrow)]
    pub(super) metadata: Option<LenientObject<BookmarkMetaJson<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct BookmarkMetaJson<'a> {
    #[serde(borrow)]
    pub(super) resource_version: Option<Text<'a>>,
    pub(super) annotations: Option<KnownAnnotations>,
}

/// A list's `metadata`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListMetaJson<'a> {
    #[serde(borrow)]
    pub(super) resource_version: Option<Text<'a>>,
    #[serde(borrow, rename = "continue")]
    pub(super) onward: Option<Text<'a>>,
}

/// One line of a watch.
#[derive(Deserialize)]
pub(super) struct WatchLineJson<'a> {
    #[serde(borrow, rename = "type")]
    pub(super) kind: Text<'a>,
    #[serde(borrow)]
    pub(super) object: &'a RawValue,
}

/// Some members of an object, by name, whatever they hold; of one given twice the last. For telling who an unreadable
/// object is.
pub(super) struct Members<'a, 'w> {
    wanted: &'w [&'static str],
    pub(super) found: Vec<Option<&'a RawValue>>,
}

impl<'a, 'w> Members<'a, 'w> {
    /// Finds the wanted members; none where `text` is no object.
    pub(super) fn of(text: &'a [u8], wanted: &'w [&'static str]) -> Vec<Option<&'a RawValue>> {
        let mut members = Self { wanted, found: vec![None; wanted.len()] };
        // What was found before a fault stands.
        let _ = serde_json::Deserializer::from_slice(text).deserialize_map(&mut members);
        members.found
    }
}

impl<'de> Visitor<'de> for &mut Members<'de, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<Text<'de>>()? {
            let value = map.next_value::<&RawValue>()?;
            if let Some(at) = self.wanted.iter().position(|&name| name == key.as_str()) {
                self.found[at] = Some(value);
            }
        }
        Ok(())
    }
}
