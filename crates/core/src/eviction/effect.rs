//! Defines what the eviction engine can ask for.

use crate::identity::{NodeName, PodName, PodRef, ResourceVersion};
use crate::time::Mono;

/// Everything the engine can ask for. Each effect names the incarnation it was decided for (D4, S1).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EvictionEffect {
    /// Read this node, past all caches (D5).
    ReadNode {
        /// The node.
        node: NodeName,
    },
    /// Put the condition `DisruptionTarget` on this pod (TE-31), demanding its UID and, where given, its version: what
    /// the answer's version stands for is then what the pod was judged by (S1).
    SetDisruptionTarget {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// The version it was judged by.
        version: Option<ResourceVersion>,
        /// `metadata.generation`, for `observedGeneration`; 0 if unknown.
        generation: u32,
        /// An earlier request for this pod went unanswered: the server gets as long as there is.
        slow: bool,
    },
    /// Delete this pod (TE-30), demanding its UID and, where given, its version.
    DeletePod {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
        /// The version it was judged by.
        version: Option<ResourceVersion>,
        /// When the node's confirming read was sent: the age of the decision (S2).
        confirmed: Mono,
        /// As [`EvictionEffect::SetDisruptionTarget`] has it.
        slow: bool,
    },
    /// Read this pod, past all caches: a precondition failed or an answer was lost (P31, P45).
    ReadPod {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
    /// Take the condition away again, demanding the UID: the pod is not going (S9).
    ClearDisruptionTarget {
        /// The pod.
        pod: PodRef,
        /// Its name.
        name: PodName,
    },
}
