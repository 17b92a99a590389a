//! Knows which pods leave each node, for waves and for the number of nodes that are emptied at once.

use crate::eviction::order::EvictionOrder;
use crate::eviction_policy::WaveOrder;
use crate::identity::{NodeName, PodRef, Uid};
use crate::time::Mono;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// The pods that leave a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct NodeLoad {
    /// Pods whose eviction may be sent.
    leaving: BTreeMap<Uid, EvictionOrder>,
    /// Pods whose deletion is accepted or observed.
    terminating: BTreeMap<Uid, EvictionOrder>,
    /// Pods that are due, and wait for their turn or in any list.
    waiting: BTreeMap<Uid, EvictionOrder>,
    /// The last wave that began, and when.
    wave: Option<(EvictionOrder, Mono)>,
    /// When the next wave begins although pods of it are left.
    wave_ends: Option<Mono>,
}

/// All nodes that pods leave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct NodeLoads {
    nodes: BTreeMap<NodeName, NodeLoad>,
    /// By policy: the nodes that are being emptied.
    emptied: BTreeMap<Uid, EmptiedNodes>,
    /// Nodes that have lost pods since they were looked at.
    changed: BTreeSet<NodeName>,
}

/// The nodes that are being emptied under a policy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct EmptiedNodes {
    nodes: BTreeSet<NodeName>,
    /// Those of them that only have pods found terminating, which another process or client deleted: further pods leave such
    /// a node once the limit allows it.
    not_admitted: BTreeSet<NodeName>,
}

/// Whether a pod may leave its node as far as waves are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WaveTurn {
    /// Now.
    Now,
    /// Once the pods of earlier waves are gone, or at this moment.
    Later(Option<Mono>),
}

impl NodeLoads {
    /// A pod waits.
    pub(crate) fn wait(&mut self, pod: &PodRef, order: EvictionOrder) {
        let node = self.nodes.entry(pod.node.clone()).or_default();
        node.leaving.remove(&pod.uid);
        node.waiting.insert(pod.uid.clone(), order);
    }

    /// The eviction of a pod may be sent.
    pub(crate) fn leave(&mut self, pod: &PodRef, order: EvictionOrder) {
        let node = self.nodes.entry(pod.node.clone()).or_default();
        node.waiting.remove(&pod.uid);
        node.leaving.insert(pod.uid.clone(), order);
    }

    /// The deletion of a pod is observed.
    pub(crate) fn terminate(&mut self, pod: &PodRef, order: EvictionOrder) {
        self.nodes.entry(pod.node.clone()).or_default().terminating.insert(pod.uid.clone(), order);
    }

    /// The deletion of a pod is accepted.
    pub(crate) fn accept(&mut self, pod: &PodRef) {
        let Some(node) = self.nodes.get_mut(&pod.node) else { return };
        if let Some((uid, order)) = node.leaving.remove_entry(&pod.uid) {
            node.terminating.insert(uid, order);
        }
    }

    /// A pod neither waits, nor may its eviction be sent.
    pub(crate) fn stay(&mut self, pod: &PodRef) {
        self.remove(pod, false);
    }

    /// A pod is gone, or lives although it was terminating.
    pub(crate) fn forget(&mut self, pod: &PodRef) {
        self.remove(pod, true);
    }

    fn remove(&mut self, pod: &PodRef, is_gone: bool) {
        let Some(node) = self.nodes.get_mut(&pod.node) else { return };
        let waited = node.waiting.remove(&pod.uid).is_some();
        let left = node.leaving.remove(&pod.uid).is_some();
        let was_terminating = is_gone && node.terminating.remove(&pod.uid).is_some();
        if waited || left || was_terminating {
            self.changed.insert(pod.node.clone());
        }
    }

    /// Whether nodes have lost pods since they were looked at.
    pub(crate) fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Takes out a node that has lost pods. Returns whether it was being emptied, and is not any more: it has no pod that
    /// waits or leaves; or none that leaves, if it was not admitted. A pod that is decided about again was there all the time.
    pub(crate) fn pop_changed(&mut self) -> Option<(NodeName, bool)> {
        let node = self.changed.pop_first()?;
        let load = self.nodes.get(&node);
        let is_empty = load.is_none_or(|load| load.present().next().is_none());
        let has_leaving = load.is_some_and(|load| !load.leaving.is_empty() || !load.terminating.is_empty());
        if is_empty {
            self.nodes.remove(&node);
        }
        let mut is_freed = false;
        for emptied in self.emptied.values_mut() {
            if is_empty || !has_leaving && emptied.not_admitted.contains(&node) {
                is_freed |= emptied.nodes.remove(&node);
                emptied.not_admitted.remove(&node);
            }
        }
        self.emptied.retain(|_, emptied| !emptied.nodes.is_empty());
        Some((node, is_freed))
    }

    /// The pods whose eviction may be sent, or that terminate.
    pub(crate) fn leaving(&self) -> impl Iterator<Item = PodRef> {
        self.nodes.iter().flat_map(|(node, load)| {
            let leaving = load.leaving.keys().chain(load.terminating.keys());
            leaving.map(|uid| PodRef { node: node.clone(), uid: uid.clone() })
        })
    }

    /// Whether this process evicts the pod, or has evicted it.
    pub(crate) fn is_leaving(&self, pod: &PodRef) -> bool {
        let leaves =
            |load: &NodeLoad| load.leaving.contains_key(&pod.uid) || load.terminating.contains_key(&pod.uid);
        self.nodes.get(&pod.node).is_some_and(leaves)
    }

    /// The limit of a policy may be lower than before: of too many nodes, each is admitted again once it has its turn.
    pub(crate) fn apply_limit(&mut self, policy: &Uid, limit: u32) {
        let Some(emptied) = self.emptied.get_mut(policy) else { return };
        if emptied.nodes.len() > limit as usize {
            emptied.not_admitted.clone_from(&emptied.nodes);
            self.changed.extend(emptied.nodes.iter().cloned());
        }
    }

    /// The pods that wait on a node.
    pub(crate) fn waiting_on(&self, node: &NodeName) -> Vec<PodRef> {
        let waiting = self.nodes.get(node).into_iter().flat_map(|load| load.waiting.keys());
        waiting.map(|uid| PodRef { node: node.clone(), uid: uid.clone() }).collect()
    }

    /// Whether further pods of the node may leave it, so that it is one of at most `limit` nodes that are emptied under this
    /// policy; a limit is at least one, because no pod of an invalid policy gets here.
    pub(crate) fn may_empty(&self, policy: &Uid, node: &NodeName, limit: u32) -> bool {
        let Some(emptied) = self.emptied.get(policy) else { return true };
        let is_emptied = emptied.nodes.contains(node);
        let others = emptied.nodes.len() - usize::from(is_emptied);
        is_emptied && !emptied.not_admitted.contains(node) || others < limit as usize
    }

    /// The same; if so, the node is admitted.
    pub(crate) fn begin_emptying(&mut self, policy: &Uid, node: &NodeName, limit: u32) -> bool {
        let may = self.may_empty(policy, node, limit);
        if may {
            let emptied = self.emptied.entry(policy.clone()).or_default();
            emptied.nodes.insert(node.clone());
            emptied.not_admitted.remove(node);
        }
        may
    }

    /// The nodes that are emptied under this policy.
    pub(crate) fn emptied(&self, policy: &Uid) -> Option<&BTreeSet<NodeName>> {
        self.emptied.get(policy).map(|emptied| &emptied.nodes)
    }

    /// A pod is found terminating because of a taint that this policy selects: its node is being emptied, and is not admitted
    /// unless it was before.
    pub(crate) fn is_emptied(&mut self, policy: &Uid, node: &NodeName) {
        let emptied = self.emptied.entry(policy.clone()).or_default();
        if emptied.nodes.insert(node.clone()) {
            emptied.not_admitted.insert(node.clone());
        }
    }

    /// Whether a pod of this order may leave its node: the wave of its order begins if it may.
    pub(crate) fn begin_wave(
        &mut self,
        node: &NodeName,
        order: EvictionOrder,
        rule: WaveOrder,
        now: Mono,
    ) -> WaveTurn {
        let load = self.nodes.entry(node.clone()).or_default();
        let turn = load.wave_turn(order, rule, now);
        match turn {
            WaveTurn::Now if load.wave.is_none_or(|(wave, _)| wave < order) => {
                load.wave = Some((order, now));
                load.wave_ends = rule.timeout.map(|timeout| now.plus(timeout));
            }
            WaveTurn::Now => {}
            WaveTurn::Later(ends) => load.wave_ends = ends.or(load.wave_ends),
        }
        turn
    }

    /// When the next wave begins on a node although pods are left of the last one.
    pub(crate) fn wave_ends(&self, node: &NodeName) -> Option<Mono> {
        self.nodes.get(node)?.wave_ends
    }

    /// Whether the next wave, of this order, may begin.
    pub(crate) fn may_begin_wave(&self, node: &NodeName, order: EvictionOrder, now: Mono) -> bool {
        let Some(load) = self.nodes.get(node) else { return true };
        let has_ended = load.wave_ends.is_some_and(|ends| ends <= now);
        has_ended || !load.present().any(|one| *one < order)
    }
}

impl NodeLoad {
    /// The order of each pod that waits or leaves.
    fn present(&self) -> impl Iterator<Item = &EvictionOrder> {
        self.terminating.values().chain(self.leaving.values()).chain(self.waiting.values())
    }

    fn wave_turn(&mut self, order: EvictionOrder, rule: WaveOrder, now: Mono) -> WaveTurn {
        let first = self.present().min().copied();
        let Some(first) = first.filter(|first| *first < order) else { return WaveTurn::Now };
        // After a restart, the pods that are found leaving are a wave that began just now.
        let (wave, began) = *self.wave.get_or_insert((first, now));
        if order <= wave {
            return WaveTurn::Now;
        }
        let is_next = !self.present().any(|one| wave < *one && *one < order);
        let ends = rule.timeout.map(|timeout| began.plus(timeout));
        match ends {
            Some(ends) if is_next && ends <= now => WaveTurn::Now,
            ends => WaveTurn::Later(ends.filter(|_| is_next)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_beyond_a_lower_limit_need_their_turn_again() {
        let (policy, nodes) = (Uid::new("policy"), [NodeName::new("n1"), NodeName::new("n2")]);
        let mut loads = NodeLoads::default();
        for node in &nodes {
            let pod = PodRef { node: node.clone(), uid: Uid::new(node.as_str()) };
            loads.wait(&pod, EvictionOrder::FIRST);
            assert!(loads.begin_emptying(&policy, node, 2));
        }
        loads.apply_limit(&policy, 2);
        let may =
            |loads: &NodeLoads, limit| nodes.each_ref().map(|node| loads.may_empty(&policy, node, limit));
        assert_eq!((may(&loads, 2), loads.pop_changed()), ([true, true], None));
        loads.apply_limit(&policy, 1);
        assert_eq!(may(&loads, 1), [false, false]);
        // No pod leaves them now: each is free, and one of them begins.
        assert_eq!(loads.pop_changed(), Some((nodes[0].clone(), true)));
        assert_eq!(loads.pop_changed(), Some((nodes[1].clone(), true)));
        assert!(loads.begin_emptying(&policy, &nodes[1], 1));
        assert_eq!(may(&loads, 1), [false, true]);
    }
}
