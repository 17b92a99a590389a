//! Follows which pods have holds of their own, and whether a policy forbids them (`allowHolds: false`).
//!
//! - Invariant: only pods with such an annotation cost anything.

use super::node_state::NodeState;
use super::{Cache, CacheUpdate, PodFlags};
use crate::fact::PodTemplateFact;
use crate::identity::{NodeName, PodRef, Uid};
use crate::scheduling::Labels;
use crate::taint::Taint;
use crate::time::Mono;
use alloc::vec::Vec;

impl Cache {
    /// Returns the pods whose holds a policy forbids.
    pub(in crate::eviction) fn with_forbidden_holds(&self) -> impl Iterator<Item = &PodRef> {
        let is_forbidden = |pod: &&PodRef| {
            let known = self.nodes.get(&pod.node).and_then(|entry| entry.pods.get(&pod.uid));
            known.is_some_and(|known| known.flags.has(PodFlags::HOLDS_FORBIDDEN))
        };
        self.held.iter().filter(is_forbidden)
    }
}

impl CacheUpdate<'_> {
    /// A pod, its node or a policy has changed: finds out whether a policy forbids the pod's holds. Returns whether that
    /// is new.
    pub(super) fn follow_holds(&mut self, pod: &PodRef) -> bool {
        let Some(entry) = self.cache.nodes.get_mut(&pod.node) else { return false };
        let Some(known) = entry.pods.get(&pod.uid) else { return false };
        if known.holds().is_empty() {
            self.cache.held.remove(pod);
            return false;
        }
        let none = (Labels::new(), PodTemplateFact::default());
        let state = entry.state.as_ref();
        let instances = state.map_or(&[][..], NodeState::taints);
        let taints: Vec<&Taint> = instances.iter().map(|instance| &instance.taint).collect();
        let labels = state.and_then(NodeState::labels).unwrap_or(&none.0);
        let template = known.template.fact.as_deref().unwrap_or(&none.1);
        let subject = known.gate_subject((pod, labels, template), &taints, (Mono::NEVER, None));
        let is_forbidden = self.state.queue.gate().forbids_holds(&subject);
        self.cache.held.insert(pod.clone());
        let was_forbidden = known.flags.has(PodFlags::HOLDS_FORBIDDEN);
        entry.pods.update(&pod.uid, |pod| pod.flags.set(PodFlags::HOLDS_FORBIDDEN, is_forbidden));
        was_forbidden != is_forbidden
    }

    /// The same for all pods of a node.
    pub(super) fn follow_holds_on(&mut self, node: &NodeName) -> bool {
        let first = PodRef { node: node.clone(), uid: Uid::new("") };
        let held = self.cache.held.range(first..).take_while(|pod| pod.node == *node);
        let held: Vec<PodRef> = held.cloned().collect();
        let mut is_new = false;
        for pod in &held {
            is_new |= self.follow_holds(pod);
        }
        is_new
    }

    /// Policies, or what they select by, have changed: judges again what that concerns.
    pub(super) fn follow_all_holds(&mut self, now: Mono) {
        for pod in self.cache.held.iter().cloned().collect::<Vec<_>>() {
            if self.follow_holds(&pod) {
                self.reassess_pod(&pod, None, now);
            }
        }
    }
}
