//! Collects the details of the objects that `explain` names, from files or from a cluster.

use super::{EventDetails, NODE_REASONS, NodeDetails, PodDetails, WorkloadOwner};
use std::collections::{BTreeMap, BTreeSet};

/// The objects to explain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ObjectNames {
    /// Names of pods.
    pub(crate) pods: BTreeSet<String>,
    /// Names of nodes.
    pub(crate) nodes: BTreeSet<String>,
    /// Workloads whose pods are all explained.
    pub(crate) workloads: BTreeSet<(WorkloadOwner, String)>,
    /// Whether past evictions are wanted: of the named nodes and workloads, or all.
    pub(crate) past: bool,
    /// The namespace of the pods; `None`: any, which is possible for files only.
    pub(crate) namespace: Option<String>,
}

/// The details of the named objects.
#[derive(Debug, Default)]
pub(crate) struct RelatedDetails {
    wanted: ObjectNames,
    /// The named pods.
    pub(crate) pods: Vec<PodDetails>,
    /// Pods of the named workloads, by namespace and name.
    pub(crate) made: BTreeMap<(String, String), PodDetails>,
    /// Pods that may replace a missing one.
    pub(crate) others: Vec<PodDetails>,
    /// The names of all pods of the namespace that were read.
    pub(crate) known_pods: BTreeSet<String>,
    pub(crate) nodes: BTreeMap<String, NodeDetails>,
    /// Events about the pods.
    pub(crate) events: Vec<EventDetails>,
    /// Events that report evictions, or name the nodes of evicted pods.
    pub(crate) past_events: Vec<EventDetails>,
}

impl RelatedDetails {
    pub(in crate::cluster_state) fn of(wanted: ObjectNames) -> Self {
        Self { wanted, ..Self::default() }
    }

    pub(in crate::cluster_state) fn pod(&mut self, json: &[u8], home: &str) {
        if self.wanted.pods.is_empty() && self.wanted.workloads.is_empty() {
            return;
        }
        let Some(pod) = PodDetails::of(json, home) else { return };
        let here = self.wanted.namespace.as_ref().is_none_or(|wanted| *wanted == pod.namespace);
        if here && self.wanted.workloads.iter().any(|(maker, name)| pod.is_of(*maker, name)) {
            self.made.insert((pod.namespace.clone(), pod.name.clone()), pod.clone());
        }
        if here {
            self.known_pods.insert(pod.name.clone());
        }
        match here && self.wanted.pods.contains(&pod.name) {
            true => {
                self.pods.retain(|known| (&known.namespace, &known.name) != (&pod.namespace, &pod.name));
                self.pods.push(pod);
            }
            false if here && self.wanted.pods.iter().any(|gone| pod.may_follow(gone)) => {
                self.others.push(pod);
            }
            false => {}
        }
    }

    pub(in crate::cluster_state) fn node(&mut self, json: &[u8]) {
        // Any node may turn out to be that of a pod that is read later.
        let ObjectNames { pods, nodes, workloads, past, .. } = &self.wanted;
        let is_wanted = *past || !(pods.is_empty() && nodes.is_empty() && workloads.is_empty());
        if let Some(node) = is_wanted.then(|| NodeDetails::of(json)).flatten() {
            self.nodes.insert(node.name.clone(), node);
        }
    }

    pub(in crate::cluster_state) fn event(&mut self, json: &[u8]) {
        if !self.wanted.past && self.wanted.pods.is_empty() {
            return;
        }
        let Some(event) = EventDetails::of(json) else { return };
        if self.wanted.past && (event.is_eviction() || NODE_REASONS.contains(&event.reason.as_str())) {
            self.past_events.push(event.clone());
        }
        if self.wanted.pods.contains(&event.about) {
            self.events.push(event);
        }
    }
}
