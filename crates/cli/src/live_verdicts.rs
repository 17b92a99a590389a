//! Judges pods live, with an eviction engine that receives all watch events and is never pulled.
//!
//! - Invariant: only the pods of nodes that an event concerns are judged again.
//! - The engine knows no policies: a hold that one forbids is removed from its pod before the engine learns of it.

use std::collections::{BTreeMap, BTreeSet};
use taintward_core::engine::Engine as _;
use taintward_core::eviction::{EvictionConfig, EvictionEngine, EvictionInput};
use taintward_core::fact::NodeFact;
use taintward_core::identity::{NodeName, PodRef, Uid};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::{Mono, Now};
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::decode::DecodedPod;

/// The verdicts of all pods that are bound to a node.
pub(crate) struct LiveVerdicts {
    engine: EvictionEngine,
    /// Nodes with changed facts, or with changed pods.
    stale: BTreeSet<NodeName>,
    /// A list is complete, or a pod is gone whose node is unknown.
    are_all_stale: bool,
    /// The pods with holds of their own.
    held: BTreeMap<PodRef, DecodedPod>,
    /// The pods whose holds do not count, because a policy forbids them.
    forbidden_holds: BTreeSet<Uid>,
}

impl LiveVerdicts {
    pub(crate) fn new(numeric: NumericOperators) -> Self {
        let config = EvictionConfig { numeric, starts_as_named: true, ..EvictionConfig::default() };
        Self {
            engine: EvictionEngine::new(config),
            stale: BTreeSet::new(),
            are_all_stale: false,
            held: BTreeMap::new(),
            forbidden_holds: BTreeSet::new(),
        }
    }

    pub(crate) fn handle_node(&mut self, event: ObjectEvent<NodeFact>, now: Now) {
        match &event {
            ObjectEvent::Applied { fact, .. } => _ = self.stale.insert(fact.name.clone()),
            ObjectEvent::Deleted(node) | ObjectEvent::Undecodable(node) => {
                self.stale.insert(node.node_name());
            }
            ObjectEvent::ListCompleted => self.are_all_stale = true,
            _ => {}
        }
        self.handle(EvictionInput::Nodes(event), now);
    }

    pub(crate) fn handle_pod(&mut self, event: ObjectEvent<DecodedPod>, now: Now) {
        match &event {
            ObjectEvent::Applied { fact, .. } => {
                self.stale.insert(fact.pod.node.clone());
                self.follow_holds(fact);
            }
            ObjectEvent::Deleted(ObjectRef { node: Some(node), .. })
            | ObjectEvent::Undecodable(ObjectRef { node: Some(node), .. }) => {
                self.stale.insert(node.clone());
            }
            ObjectEvent::Deleted(_) | ObjectEvent::ListCompleted => self.are_all_stale = true,
            _ => {}
        }
        let event = event.map(|decoded| {
            let mut pod = decoded.for_display();
            pod.holds = pod.holds.filter(|_| !self.forbidden_holds.contains(pod.id.uid()));
            pod
        });
        self.handle(EvictionInput::Pods(event), now);
    }

    fn follow_holds(&mut self, decoded: &DecodedPod) {
        let pod = PodRef { node: decoded.pod.node.clone(), uid: decoded.pod.id.uid().clone() };
        match decoded.pod.holds.is_some() {
            true => _ = self.held.insert(pod, decoded.clone()),
            false => _ = self.held.remove(&pod),
        }
    }

    /// Whether a pod has a hold of its own.
    pub(crate) fn has_held_pods(&self) -> bool {
        !self.held.is_empty()
    }

    /// The holds of these pods do not count, because a policy forbids them.
    pub(crate) fn set_forbidden_holds(&mut self, pods: &BTreeSet<Uid>, now: Now) {
        let before = std::mem::replace(&mut self.forbidden_holds, pods.clone());
        self.held.retain(|pod, _| self.engine.explain(pod, now).is_some());
        let is_changed = |pod: &PodRef| before.contains(&pod.uid) != pods.contains(&pod.uid);
        let changed: Vec<DecodedPod> =
            self.held.iter().filter(|(pod, _)| is_changed(pod)).map(|(_, decoded)| decoded.clone()).collect();
        for fact in changed {
            self.handle_pod(ObjectEvent::Applied { fact, listed: false }, now);
        }
    }

    fn handle(&mut self, input: EvictionInput, now: Now) {
        self.engine.handle(input, now);
        // No command logs notices.
        drop(self.engine.take_notices());
    }

    /// Moves pods whose deadline has passed.
    pub(crate) fn tick(&mut self, now: Mono) {
        self.engine.tick(now);
        drop(self.engine.take_notices());
    }

    /// The nodes whose pods must be judged again since the last call, with those of `shown` if all must be.
    pub(crate) fn take_stale<'n>(&mut self, shown: impl Iterator<Item = &'n NodeName>) -> BTreeSet<NodeName> {
        let mut nodes = std::mem::take(&mut self.stale);
        if std::mem::take(&mut self.are_all_stale) {
            nodes.extend(shown.cloned());
        }
        nodes
    }

    /// The engine, for its verdicts, which are incomplete until it is synced.
    pub(crate) const fn engine(&self) -> &EvictionEngine {
        &self.engine
    }
}
