//! Defines the requests of the eviction engine.

use crate::identity::{NodeName, PodName, PodRef, ResourceVersion};
use crate::time::Mono;

/// A request of the engine. Each effect names the UID it was decided for (D4, S1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EvictionEffect {
    /// Reads this node, past all caches (D5).
    ReadNode {
        /// The node.
        node: NodeName,
    },
    /// Sets the condition `DisruptionTarget` on this pod (TE-31), with its UID and, if given, its version as
    /// preconditions: the version in the response then stands for the state that the pod was judged by (S1).
    SetDisruptionTarget {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// The version it was judged by.
        version: Option<ResourceVersion>,
        /// `metadata.generation`, for `observedGeneration`; 0 if unknown.
        generation: u32,
        /// An earlier request for this pod got no response: the server gets the longest timeout.
        slow: bool,
    },
    /// Deletes this pod (TE-30), with its UID and, if given, its version as preconditions.
    DeletePod {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// The version it was judged by.
        version: Option<ResourceVersion>,
        /// When the node's confirming read was sent: the age of the decision (S2).
        confirmed: Mono,
        /// It is known to take long, and one of a few: it takes no place of other requests (L6).
        slow: bool,
        /// `gracePeriodSeconds`, if the policy shortens the pod's own.
        grace_seconds: Option<u32>,
    },
    /// Evicts this pod by the eviction API, which respects disruption budgets, with its UID as precondition. Without the
    /// version: a conflict would use up the budget in vain.
    EvictPod {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// When the node's confirming read was sent: the age of the decision (S2).
        confirmed: Mono,
        /// `gracePeriodSeconds`, if the policy shortens the pod's own.
        grace_seconds: Option<u32>,
    },
    /// Reads this pod, past all caches: a precondition failed or a response was lost (P31, P45).
    ReadPod {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
    /// Removes the condition, with the UID as precondition: the pod is not evicted (S9).
    ClearDisruptionTarget {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
}
