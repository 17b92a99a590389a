//! Defines the inputs of the eviction engine.

use crate::api_error::ApiFailure;
use crate::engine::LiveRead;
use crate::eviction_policy::{
    BudgetFact, EvictionPolicyFact, NamespaceLabelsFact, ReplicatedKind, WorkloadFact,
};
use crate::fact::{NodeFact, PodFact};
use crate::identity::{NodeName, PodRef, ResourceVersion};
use crate::object_event::ObjectEvent;
use crate::time::Mono;

/// An input of the engine.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EvictionInput {
    /// An event of the node watch.
    Nodes(ObjectEvent<NodeFact>),
    /// An event of the pod watch.
    Pods(ObjectEvent<PodFact>),
    /// An event of the watch of policies. Without [`EvictionConfig::policies`](super::EvictionConfig::policies), neither
    /// this nor the following inputs exist.
    Policies(ObjectEvent<EvictionPolicyFact>),
    /// Whether the cluster has no such kind: then no policy exists, and no list of them has to be complete.
    PolicyDefinitionAbsent(bool),
    /// An event of the watch of disruption budgets.
    Budgets(ObjectEvent<BudgetFact>),
    /// An event of the watch of a kind of workloads.
    Workloads(ReplicatedKind, ObjectEvent<WorkloadFact>),
    /// An event of the watch of namespaces.
    Namespaces(ObjectEvent<NamespaceLabelsFact>),
    /// Whether time is on hold for the taints that node health adds (NL-48, D12): all nodes are down, or none can be
    /// observed. A repeated value changes nothing. A new process has no hold: it receives the current one before its
    /// first pull.
    CountdownHold(bool),
    /// The response to [`EvictionEffect::ReadNode`](super::EvictionEffect::ReadNode).
    NodeConfirmed {
        /// The node that was read.
        node: NodeName,
        /// When the read was sent.
        sent: Mono,
        /// The result.
        result: Result<LiveRead<NodeFact>, ApiFailure>,
    },
    /// The response to [`EvictionEffect::SetDisruptionTarget`](super::EvictionEffect::SetDisruptionTarget): the pod's
    /// new version.
    Marked {
        /// The pod.
        pod: PodRef,
        /// The result.
        result: Result<Option<ResourceVersion>, ApiFailure>,
    },
    /// The response to [`EvictionEffect::DeletePod`](super::EvictionEffect::DeletePod).
    Deleted {
        /// The pod.
        pod: PodRef,
        /// The result.
        result: Result<(), ApiFailure>,
    },
    /// The response to [`EvictionEffect::EvictPod`](super::EvictionEffect::EvictPod).
    Evicted {
        /// The pod.
        pod: PodRef,
        /// The result.
        result: Result<(), ApiFailure>,
    },
    /// The response to [`EvictionEffect::ReadPod`](super::EvictionEffect::ReadPod).
    PodRead {
        /// The pod.
        pod: PodRef,
        /// The result.
        result: Result<LiveRead<PodFact>, ApiFailure>,
        /// Its deletion has started and waits for nothing, neither a grace period nor a finalizer: it was interrupted.
        half_deleted: bool,
    },
    /// The response to [`EvictionEffect::ClearDisruptionTarget`](super::EvictionEffect::ClearDisruptionTarget).
    Unmarked {
        /// The pod.
        pod: PodRef,
        /// The result.
        result: Result<(), ApiFailure>,
    },
}
