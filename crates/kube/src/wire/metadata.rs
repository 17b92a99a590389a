//! Mirrors `ObjectMeta`, and what all kinds have in common.
//!
//! - See `pod.rs`, `node.rs` and their neighbours for the specifications.

use super::{CappedList, Fields, Text};
use crate::guard_annotation::GUARD;
use crate::hold_annotations::HELD;
use crate::hold_request::HOLD;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;
use taintward_core::admission::no_execute_guard::ALLOW;
use taintward_core::admission::policy::{NOT_READY_SECONDS, UNREACHABLE_SECONDS};
use taintward_core::admission::pool::MADE_FOR;
use taintward_core::cluster_snapshot::OwnerReference;
use taintward_core::fact::PodOwnerKind;
use taintward_core::fact::RESPECT_BUDGETS;

/// The mirror annotation of a static pod.
pub(crate) const MIRROR: &str = "kubernetes.io/config.mirror";

/// The annotation on the bookmark that ends the initial events.
pub(crate) const INITIAL_EVENTS_END: &str = "k8s.io/initial-events-end";

/// An object of any kind, with the parts that its reader needs.
#[derive(Debug, Default, Deserialize)]
#[serde(
    default,
    bound(
        deserialize = "M: Default + Deserialize<'de>, S: Default + Deserialize<'de>, T: Default + Deserialize<'de>"
    )
)]
pub struct ObjectJson<M, S = IgnoredAny, T = IgnoredAny> {
    pub metadata: Fields<M>,
    pub spec: S,
    pub status: T,
}

/// `ObjectMeta`; labels, and annotations beyond the known ones, only if a reader needs them.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct MetaJson<'a, L = IgnoredAny, A = KnownAnnotations<'a>> {
    #[serde(borrow, default)]
    pub name: Text<'a>,
    #[serde(borrow, default)]
    pub namespace: Text<'a>,
    #[serde(borrow, default)]
    pub uid: Text<'a>,
    #[serde(borrow, default)]
    pub resource_version: Text<'a>,
    pub generation: Option<i64>,
    #[serde(borrow)]
    pub creation_timestamp: Option<Text<'a>>,
    pub deletion_timestamp: Option<IgnoredAny>,
    #[serde(default)]
    pub labels: L,
    pub annotations: Option<A>,
    #[serde(borrow, default)]
    pub owner_references: CappedList<OwnerReferenceJson<'a>>,
}

impl<'a, L, A> MetaJson<'a, L, A> {
    /// The controlling owner among the references: the first with `controller: true`.
    pub fn controller(&self) -> Option<&OwnerReferenceJson<'a>> {
        self.owner_references.iter().find(|reference| reference.controller == Some(true))
    }

    /// The kind of that owner.
    pub fn owner_kind(&self) -> PodOwnerKind {
        self.controller().map(|owner| owner_kind(owner.reference())).unwrap_or_default()
    }
}

/// `OwnerReference`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReferenceJson<'a> {
    #[serde(borrow, default)]
    pub api_version: Text<'a>,
    #[serde(borrow, default)]
    pub kind: Text<'a>,
    #[serde(borrow, default)]
    pub name: Text<'a>,
    pub controller: Option<bool>,
}

impl OwnerReferenceJson<'_> {
    /// The same for the core.
    pub fn reference(&self) -> OwnerReference<'_> {
        OwnerReference { group: group(&self.api_version), kind: &self.kind, name: &self.name }
    }
}

/// The part of an `apiVersion` before the slash; empty is core.
pub(crate) fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

/// The kind of an owner.
pub(crate) fn owner_kind(owner: OwnerReference<'_>) -> PodOwnerKind {
    match (owner.group, owner.kind) {
        ("apps", "DaemonSet") => PodOwnerKind::DaemonSet,
        ("batch", "Job") => PodOwnerKind::Job,
        _ => PodOwnerKind::Other,
    }
}

/// The known annotations.
#[derive(Debug, Default)]
pub struct KnownAnnotations<'a> {
    /// It is the mirror pod of a static pod.
    pub mirror: bool,
    /// The bookmark ends the initial events.
    pub initial_events_end: bool,
    pub made_for: Text<'a>,
    pub not_ready: Option<Text<'a>>,
    pub unreachable: Option<Text<'a>>,
    pub allow: Option<Text<'a>>,
    /// [`RESPECT_BUDGETS`].
    pub respect: Option<Text<'a>>,
    pub held: Option<Text<'a>>,
    /// [`GUARD`].
    pub guard: Option<Text<'a>>,
    pub hold: Option<Text<'a>>,
    /// There are annotations, these or others.
    pub any: bool,
}

impl<'de: 'a, 'a> Deserialize<'de> for KnownAnnotations<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KnownAnnotationsVisitor;

        impl<'de> Visitor<'de> for KnownAnnotationsVisitor {
            type Value = KnownAnnotations<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut found = KnownAnnotations::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    found.any = true;
                    match &*key {
                        MIRROR => {
                            map.next_value::<IgnoredAny>()?;
                            found.mirror = true;
                        }
                        INITIAL_EVENTS_END => {
                            found.initial_events_end = *map.next_value::<Text<'de>>()? == *"true";
                        }
                        MADE_FOR => found.made_for = map.next_value()?,
                        NOT_READY_SECONDS => found.not_ready = Some(map.next_value()?),
                        UNREACHABLE_SECONDS => found.unreachable = Some(map.next_value()?),
                        HELD => found.held = Some(map.next_value()?),
                        GUARD => found.guard = Some(map.next_value()?),
                        HOLD => found.hold = Some(map.next_value()?),
                        ALLOW => found.allow = Some(map.next_value()?),
                        RESPECT_BUDGETS => found.respect = Some(map.next_value()?),
                        _ => _ = map.next_value::<IgnoredAny>()?,
                    }
                }
                Ok(found)
            }
        }

        deserializer.deserialize_map(KnownAnnotationsVisitor)
    }
}

/// `ManagedFieldsEntry`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct ManagedFieldsJson<'a> {
    #[serde(borrow)]
    pub manager: Text<'a>,
    #[serde(borrow)]
    pub time: Option<Text<'a>>,
    #[serde(borrow)]
    pub subresource: Text<'a>,
    #[serde(borrow, rename = "fieldsV1")]
    pub fields: Option<&'a RawValue>,
}
