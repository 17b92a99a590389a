//! Defines the requests of the node lifecycle engine and the reasons for them.

use super::fact::{ConditionExpiry, ConditionKind};
use super::managed_taints::ManagedTaints;
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion, Uid};
use crate::time::{Mono, Wall};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// One incarnation of a node: what every write is decided for (D4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    /// Its name.
    pub name: NodeName,
    /// Its identity.
    pub uid: Uid,
}

/// Why taints are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaintCause {
    /// Conditions or `spec.unschedulable` call for it (NL-5).
    Conditions,
    /// The node is ready (NL-15).
    Recovered,
    /// One NoExecute taint takes the other's place (NL-16).
    Swap,
    /// Everything is down (NL-27).
    EverythingDown,
    /// The node says itself that it is not ready (NL-16).
    NotReady,
    /// The node has been silent for longer than its grace period (NL-16).
    Silent {
        /// Since when it may be called so.
        since: Mono,
    },
}

/// Everything the engine can ask for. A write demands the UID and, where given, the version it was decided by; what
/// does not hold any more is a [`ApiFailure::Conflict`](crate::api_error::ApiFailure::Conflict).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeLifecycleEffect {
    /// Read this node and its lease, past all caches (S7, P16).
    ReadNode {
        /// The node.
        node: NodeName,
    },
    /// Put these taints on and take those off, in one write (NL-45), leaving all others as they are (S8).
    PatchTaints {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<ResourceVersion>,
        /// Put on, with this moment as `timeAdded` (NL-20) and no value.
        add: ManagedTaints,
        /// Taken off, whatever the value.
        remove: ManagedTaints,
        /// The moment of the decision.
        at: Wall,
        /// The reason.
        why: TaintCause,
    },
    /// Set these conditions to Unknown, in `status` (NL-12); `lastTransitionTime` is `at`.
    SetConditionsUnknown {
        /// The node.
        node: NodeRef,
        /// The version it was decided by.
        version: Option<ResourceVersion>,
        /// Which, and how.
        conditions: Vec<(ConditionKind, ConditionExpiry)>,
        /// The moment of the decision.
        at: Wall,
    },
    /// Write these values into the labels of old (NL-8).
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
    /// Set the condition `Ready` of this pod to False if it has one, keeping reason and message (NL-17), demanding its UID.
    SetPodNotReady {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
}
