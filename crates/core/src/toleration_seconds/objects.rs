//! Defines the fields of Nodes and Pods that decisions about holds need.

use crate::admission::policy::RequestedSeconds;
use crate::fact::{NodeFact, PodFact};
use crate::identity::{NodeName, PodId, ResourceVersion, Uid};
use crate::node_lifecycle::ZoneKey;
use crate::taint::{TaintEffect, keys};
use crate::time::Wall;
use crate::toleration::Toleration;
use crate::toleration_guard::GuardRecord;
use crate::toleration_hold::{HoldRecord, ReleaseMode};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A pod and its node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct HeldPodKey {
    pub(crate) node: NodeName,
    pub(crate) uid: Uid,
}

/// What an administrator requests for a node, by an annotation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NodeHoldRequest {
    /// Nothing, or nothing that can be understood.
    #[default]
    None,
    /// Hold its pods.
    Hold {
        /// Since when.
        since: Wall,
        /// Until when.
        until: Wall,
    },
    /// Hold none of its pods, not for the limit either, as long as it is silent since before then.
    Release {
        /// When that was requested.
        at: Wall,
        /// Which seconds its held pods get back.
        mode: ReleaseMode,
    },
}

impl NodeHoldRequest {
    /// When the hold begins, if that is later than now.
    pub(crate) fn begins_after(self, now: Wall) -> Option<Wall> {
        match self {
            Self::Hold { since, .. } => Some(since).filter(|since| now < *since),
            Self::None | Self::Release { .. } => None,
        }
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldNodeFact {
    /// `metadata.name`.
    pub name: NodeName,
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// The failure zone.
    pub zone: ZoneKey,
    /// It has the NoExecute taint `not-ready` or `unreachable`.
    pub is_silent: bool,
    /// Since when, if the taints say so; the latest of them.
    pub silent_since: Option<Wall>,
    /// What an administrator requests for it.
    pub request: NodeHoldRequest,
}

impl HoldNodeFact {
    /// Makes it from a node's taints, zone and annotation.
    pub fn new(node: &NodeFact, zone: ZoneKey, request: NodeHoldRequest) -> Self {
        let silence = |key: &str| [keys::NOT_READY, keys::UNREACHABLE].contains(&key);
        let taints = node.taints.iter();
        let taints: Vec<_> =
            taints.filter(|taint| taint.effect == TaintEffect::NoExecute && silence(&taint.key)).collect();
        let (is_silent, changed) = (!taints.is_empty(), node.taints_changed);
        let silent_since = taints.into_iter().filter_map(|taint| taint.time_added.or(changed)).max();
        let (name, uid, version) = (node.name.clone(), node.uid.clone(), node.version);
        Self { name, uid, version, zone, is_silent, silent_since, request }
    }
}

/// The record in a pod's annotations.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum RecordState {
    /// There is none.
    #[default]
    Absent,
    /// It is held, or was released.
    Known(Box<HoldRecord>),
    /// It has a ceiling.
    Guarded(Box<GuardRecord>),
    /// It cannot be decoded, or there are two (D11): the pod never changes.
    Undecodable,
}

/// Which annotations with a record a pod has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RecordAnnotations {
    /// That of holds.
    pub hold: bool,
    /// That of guarded pods.
    pub guard: bool,
}

/// A pod that is bound to a node and can still be evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HeldPodFact {
    /// `metadata.uid`, `metadata.namespace` and `metadata.name`.
    pub id: PodId,
    /// `spec.nodeName`.
    pub node: NodeName,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `spec.tolerations`, in the pod's order.
    pub tolerations: Vec<Toleration>,
    /// When it was bound, if known.
    pub bound: Option<Wall>,
    /// The record in its annotations.
    pub record: RecordState,
    /// Which record annotations it has.
    pub records: RecordAnnotations,
    /// It has annotations, these or others.
    pub is_annotated: bool,
    /// Its annotations about the seconds of its default tolerations, if it has any.
    pub requested: Option<Box<RequestedSeconds>>,
}

impl HeldPodFact {
    /// Makes it from a pod and its annotations.
    pub fn new(
        pod: &PodFact,
        (record, records): (RecordState, RecordAnnotations),
        is_annotated: bool,
        requested: Option<Box<RequestedSeconds>>,
    ) -> Self {
        let PodFact { id, node, version, tolerations, arrival, .. } = pod.clone();
        let bound = arrival.scheduled.or(arrival.started).or(arrival.created);
        Self { id, node, version, tolerations, bound, record, records, is_annotated, requested }
    }
}
