//! Defines the inputs of the node lifecycle engine: facts from watches, and the results of its requests.

use super::fact::{LeaseFact, NodeHealthFact, PodReadinessFact};
use super::observation_gaps::WatchedKind;
use crate::api_error::ApiFailure;
use crate::engine::LiveRead;
use crate::identity::{NodeName, PodRef, ResourceVersion};
use crate::object_event::ObjectEvent;
use crate::time::Mono;

/// An input of the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NodeLifecycleInput {
    /// An event of the node watch.
    Nodes(ObjectEvent<NodeHealthFact>),
    /// An event of the lease watch.
    Leases(ObjectEvent<LeaseFact>),
    /// An event of the pod watch.
    Pods(ObjectEvent<PodReadinessFact>),
    /// Since a moment there are no reliable events of this kind: the stream broke, stalls, or is throttled.
    StreamLost {
        /// The kind.
        stream: WatchedKind,
        /// The last activity.
        since: Mono,
    },
    /// The stream delivers events again, from where it broke off; a completed list implies the same.
    StreamRecovered {
        /// The kind.
        stream: WatchedKind,
    },
    /// This process detected that it stood still since a moment.
    ProcessPaused {
        /// When it stopped.
        since: Mono,
    },
    /// The API server has carried out a request of this process, such as the renewal of its own lease (S7).
    OwnRequestSucceeded {
        /// When the request was sent.
        sent: Mono,
    },
    /// This process has just become the leader: the previous leader may have used up the rate (S6).
    BecameLeader,
    /// This process observes, and pulls no effects: the engine reports by notices what it would request now.
    DryRun,
    /// The response to [`super::NodeLifecycleEffect::ReadNode`].
    Confirmed {
        /// The node that was read.
        node: NodeName,
        /// When the reads were sent; the earlier of both.
        sent: Mono,
        /// The result.
        result: Result<LiveNodeAndLease, ApiFailure>,
    },
    /// The response to [`super::NodeLifecycleEffect::PatchTaints`],
    /// [`super::NodeLifecycleEffect::SetConditionsUnknown`] and [`super::NodeLifecycleEffect::PatchLabels`]: the node's
    /// new version.
    Written {
        /// The node.
        node: NodeName,
        /// The result.
        result: Result<Option<ResourceVersion>, ApiFailure>,
    },
    /// The response to [`super::NodeLifecycleEffect::SetPodNotReady`].
    PodMarked {
        /// The pod.
        pod: PodRef,
        /// The result; `Ok(false)`: there was nothing to change.
        result: Result<bool, ApiFailure>,
    },
}

/// The results of live reads of a node and of its lease.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct LiveNodeAndLease {
    /// The node.
    pub node: LiveRead<NodeHealthFact>,
    /// Its lease.
    pub lease: LiveRead<LeaseFact>,
}
