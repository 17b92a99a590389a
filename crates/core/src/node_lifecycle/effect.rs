//! Defines the requests of the node lifecycle engine and the reasons for them.

use super::fact::{ConditionExpiry, ConditionKind};
use super::managed_taints::ManagedTaints;
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion, Uid};
use crate::time::{Mono, Wall};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// One node, by UID: what every write is decided for (D4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeRef {
    /// Its name.
    pub name: NodeName,
    /// Its UID.
    pub uid: Uid,
}

/// Why taints are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TaintCause {
    /// Conditions or `spec.unschedulable` require it (NL-5).
    Conditions,
    /// The node is ready (NL-15).
    Recovered,
    /// One NoExecute taint replaces the other (NL-16).
    Swap,
    /// All zones are fully disrupted (NL-27).
    EverythingDown,
    /// The node itself reports that it is not ready (NL-16).
    NotReady,
    /// The node has been silent for longer than its grace period (NL-16).
    Silent {
        /// Since when it counts as silent.
        since: Mono,
    },
}

/// A request of the engine. A write has the UID and, if given, the version it was decided by as preconditions; if one
/// does not hold, the result is a [`ApiFailure::Conflict`](crate::api_error::ApiFailure::Conflict).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NodeLifecycleEffect {
    /// Reads this node and its lease, past all caches (S7, P16).
    ReadNode {
        /// The node.
        node: NodeName,
    },
    /// Adds and removes these taints in one write (NL-45), and keeps all others (S8).
    PatchTaints {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<ResourceVersion>,
        /// Added, with this moment as `timeAdded` (NL-20) and no value.
        add: ManagedTaints,
        /// Removed, whatever the value.
        remove: ManagedTaints,
        /// The moment of the decision.
        at: Wall,
        /// The reason.
        why: TaintCause,
    },
    /// Sets these conditions to Unknown, in `status` (NL-12); `lastTransitionTime` is `at`.
    SetConditionsUnknown {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<ResourceVersion>,
        /// Which conditions, and how.
        conditions: Vec<(ConditionKind, ConditionExpiry)>,
        /// The moment of the decision.
        at: Wall,
    },
    /// Writes these values into the deprecated labels (NL-8).
    PatchLabels {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<ResourceVersion>,
        /// `beta.kubernetes.io/os`.
        os: Option<Box<str>>,
        /// `beta.kubernetes.io/arch`.
        arch: Option<Box<str>>,
    },
    /// Sets the condition `Ready` of this pod to False if it has one, keeping reason and message (NL-17), with its UID
    /// as precondition.
    SetPodNotReady {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
}
