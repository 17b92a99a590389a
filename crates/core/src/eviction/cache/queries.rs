//! Answers queries of the engine, metrics and users.

use super::node_state::NodeState;
use super::{Cache, PodEntry};
use crate::countdown_hold::HoldHistory;
use crate::eviction::EvictionPhase;
use crate::eviction::order::EvictionOrder;
use crate::eviction::stats::PendingEviction;
use crate::fact::PodTemplateFact;
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion, Uid};
use crate::time::{Mono, Now};
use crate::toleration_matching::NumericOperators;
use crate::verdict::{self, TaintInstance, Verdict};

impl Cache {
    /// Whether both lists were complete once.
    pub(in crate::eviction) fn is_synced(&self) -> bool {
        self.nodes_sync.is_complete() && self.pods_sync.is_complete()
    }

    /// When the first deadline of a counting pod comes.
    pub(in crate::eviction) fn next_deadline(&self) -> Option<Mono> {
        self.wakeups.first().map(|(at, _)| *at)
    }

    /// Returns how many nodes exist, have a NoExecute taint, and are ready although out of service.
    pub(in crate::eviction) fn node_counts(&self) -> (usize, usize, usize) {
        let known = self.nodes.values().filter_map(|entry| entry.state.as_ref());
        let tainted = known.clone().filter(|known| !known.taints().is_empty());
        let ready_out_of_service = known.clone().filter(|known| known.is_ready_out_of_service());
        (known.count(), tainted.count(), ready_out_of_service.count())
    }

    /// Returns all pods with a deadline, in no particular order.
    pub(in crate::eviction) fn pending(&self) -> impl Iterator<Item = PendingEviction<'_>> {
        self.pods().filter_map(|(node, pod)| match pod.phase() {
            EvictionPhase::CountingDown(until) => {
                Some(PendingEviction { node, uid: pod.uid(), name: pod.name(), until })
            }
            _ => None,
        })
    }

    /// Returns all pods that are bound to a node.
    pub(in crate::eviction) fn pods_on(&self, node: &NodeName) -> impl Iterator<Item = PodRef> {
        let entry = self.nodes.get_key_value(node).into_iter();
        entry.flat_map(|(node, entry)| {
            entry.pods.iter().map(|pod| PodRef { node: node.clone(), uid: pod.uid().clone() })
        })
    }

    /// Returns all pods that are bound to a node, with their names.
    pub(in crate::eviction) fn named_pods(&self) -> impl Iterator<Item = (PodRef, &PodName)> {
        self.pods().map(|(node, pod)| (PodRef { node: node.clone(), uid: pod.uid().clone() }, pod.name()))
    }

    /// Returns the NoExecute taints of a node.
    pub(in crate::eviction) fn node_taints(&self, node: &NodeName) -> &[TaintInstance] {
        self.nodes.get(node).map_or(&[], |entry| entry.taints())
    }

    /// Returns the name of a pod, if it is known.
    pub(in crate::eviction) fn name(&self, pod: &PodRef) -> Option<&PodName> {
        self.nodes.get(&pod.node)?.pods.get(&pod.uid).map(PodEntry::name)
    }

    /// Returns the pods that have the eviction's condition.
    pub(in crate::eviction) fn marked(&self) -> impl Iterator<Item = PodRef> {
        let marked = self.pods().filter(|(_, pod)| pod.is_marked());
        marked.map(|(node, pod)| PodRef { node: node.clone(), uid: pod.uid().clone() })
    }

    /// Returns the pods whose version is unknown, and whether each has the eviction's condition.
    pub(in crate::eviction) fn unversioned(&self) -> impl Iterator<Item = (PodRef, bool)> {
        let unversioned = self.pods().filter(|(_, pod)| pod.version().is_none());
        unversioned
            .map(|(node, pod)| (PodRef { node: node.clone(), uid: pod.uid().clone() }, pod.is_marked()))
    }

    /// Returns the UID of a node, if it exists.
    pub(in crate::eviction) fn node_uid(&self, node: &NodeName) -> Option<&Uid> {
        self.nodes.get(node)?.state.as_ref().map(NodeState::uid)
    }

    /// Returns the place of a pod in waves.
    pub(in crate::eviction) fn order(&self, pod: &PodRef) -> Option<EvictionOrder> {
        Some(self.nodes.get(&pod.node)?.pods.get(&pod.uid)?.order())
    }

    /// Returns what policies select the pod by, if that is known.
    pub(in crate::eviction) fn template(&self, pod: &PodRef) -> Option<&PodTemplateFact> {
        self.nodes.get(&pod.node)?.pods.get(&pod.uid)?.template().fact.as_deref()
    }

    /// Whether the pod is known to be ready.
    pub(in crate::eviction) fn is_ready(&self, pod: &PodRef) -> bool {
        self.nodes.get(&pod.node).and_then(|entry| entry.pods.get(&pod.uid)).is_some_and(|known| known.ready)
    }

    /// Returns the version of a pod, if it is known.
    pub(in crate::eviction) fn version(&self, pod: &PodRef) -> Option<ResourceVersion> {
        self.nodes.get(&pod.node)?.pods.get(&pod.uid)?.version()
    }

    /// Returns the name and the full verdict of a pod, with the taints it is judged by.
    pub(in crate::eviction) fn explain(
        &self,
        pod: &PodRef,
        holds: &HoldHistory,
        numeric: NumericOperators,
        now: Now,
    ) -> Option<(&PodName, Verdict, &[TaintInstance])> {
        let entry = self.nodes.get(&pod.node)?;
        let pod = entry.pods.get(&pod.uid)?;
        let (subject, taints) = (pod.input(entry.state.as_ref()), entry.taints());
        Some((pod.name(), verdict::judge_held(&subject, taints, holds, numeric, now), taints))
    }
}
