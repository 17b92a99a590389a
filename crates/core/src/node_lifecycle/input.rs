//! Defines what the node lifecycle engine takes in: facts from watches, and the results of its requests.

use super::fact::{LeaseFact, NodeHealthFact, PodReadinessFact};
use super::observation_gaps::WatchedKind;
use crate::api_error::ApiFailure;
use crate::engine::LiveRead;
use crate::identity::{NodeName, PodRef, ResourceVersion};
use crate::object_event::ObjectEvent;
use crate::time::Mono;

/// Everything the engine can be told.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum NodeLifecycleInput {
    /// What the watch of nodes says.
    Nodes(ObjectEvent<NodeHealthFact>),
    /// What the watch of leases says.
    Leases(ObjectEvent<LeaseFact>),
    /// What the watch of pods says.
    Pods(ObjectEvent<PodReadinessFact>),
    /// Nothing reliable is heard of this kind since a moment: the stream broke, stalls, or is throttled.
    StreamLost {
        /// Of what.
        stream: WatchedKind,
        /// The last sign of life.
        since: Mono,
    },
    /// It is heard of again, from where it broke off; a list that ends says the same.
    StreamRecovered {
        /// Of what.
        stream: WatchedKind,
    },
    /// This process stood still since a moment, and knows it.
    ProcessPaused {
        /// When it stopped.
        since: Mono,
    },
    /// The API server has done what we asked: our own lease was renewed, say (S7).
    OwnRequestSucceeded {
        /// When the request was sent.
        sent: Mono,
    },
    /// We have just gained the right to act: whoever had it before may have used up the rate (S6).
    BecameLeader,
    /// The answer to [`super::NodeLifecycleEffect::ReadNode`].
    Confirmed {
        /// The node asked about.
        node: NodeName,
        /// When the reads were sent; the earlier of both.
        sent: Mono,
        /// What they said.
        result: Result<LiveNodeAndLease, ApiFailure>,
    },
    /// The answer to [`super::NodeLifecycleEffect::PatchTaints`], [`super::NodeLifecycleEffect::SetConditionsUnknown`] and [`super::NodeLifecycleEffect::PatchLabels`]: the node's new version.
    Written {
        /// The node.
        node: NodeName,
        /// How it went.
        result: Result<Option<ResourceVersion>, ApiFailure>,
    },
    /// The answer to [`super::NodeLifecycleEffect::SetPodNotReady`].
    PodMarked {
        /// The pod.
        pod: PodRef,
        /// How it went; `Ok(false)`: there was nothing to change.
        result: Result<bool, ApiFailure>,
    },
}

/// What live reads of a node and of its lease said.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LiveNodeAndLease {
    /// The node.
    pub node: LiveRead<NodeHealthFact>,
    /// Its lease.
    pub lease: LiveRead<LeaseFact>,
}
