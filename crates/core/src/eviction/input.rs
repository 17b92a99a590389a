//! Defines what the eviction engine can be told.

use crate::api_error::ApiFailure;
use crate::engine::LiveRead;
use crate::fact::{NodeFact, PodFact};
use crate::identity::{NodeName, PodRef, ResourceVersion};
use crate::object_event::ObjectEvent;
use crate::time::Mono;

/// Everything the engine can be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EvictionInput {
    /// What the watch of nodes says.
    Nodes(ObjectEvent<NodeFact>),
    /// What the watch of pods says.
    Pods(ObjectEvent<PodFact>),
    /// Whether time is held for the taints that node health puts on (NL-48, D12): everything is down, or nobody is heard
    /// of. What is so already changes nothing. A new process knows of no hold: it is told of one before its first pull.
    CountdownHold(bool),
    /// The answer to [`EvictionEffect::ReadNode`](super::EvictionEffect::ReadNode).
    NodeConfirmed {
        /// The node asked about.
        node: NodeName,
        /// When the read was sent.
        sent: Mono,
        /// What it said.
        result: Result<LiveRead<NodeFact>, ApiFailure>,
    },
    /// The answer to [`EvictionEffect::SetDisruptionTarget`](super::EvictionEffect::SetDisruptionTarget): the pod's new version.
    Marked {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<Option<ResourceVersion>, ApiFailure>,
    },
    /// The answer to [`EvictionEffect::DeletePod`](super::EvictionEffect::DeletePod).
    Deleted {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<(), ApiFailure>,
    },
    /// The answer to [`EvictionEffect::ReadPod`](super::EvictionEffect::ReadPod).
    PodRead {
        /// The pod.
        pod: PodRef,
        /// What it said.
        result: Result<LiveRead<PodFact>, ApiFailure>,
        /// Its deletion has begun and waits for nothing, neither a grace period nor a finalizer: it was cut in two.
        half_deleted: bool,
    },
    /// The answer to [`EvictionEffect::ClearDisruptionTarget`](super::EvictionEffect::ClearDisruptionTarget).
    Unmarked {
        /// The pod.
        pod: PodRef,
        /// How it went.
        result: Result<(), ApiFailure>,
    },
}
