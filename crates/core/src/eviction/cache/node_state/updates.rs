//! Applies node facts and lists to the cache.

use super::{NodeChange, NodeSource, NodeState};
use crate::eviction::EvictionPhase;
use crate::eviction::cache::{CacheUpdate, NodeEntry};
use crate::eviction::notice::{EvictionNotice, TaintImpact};
use crate::fact::NodeFact;
use crate::identity::{NodeName, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::taint_start::ObservedVia;
use crate::time::{Mono, Now};
use crate::verdict::TaintInstance;
use alloc::boxed::Box;
use alloc::vec::Vec;

impl ObjectIndex<NodeFact> for CacheUpdate<'_> {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.cache.nodes_sync.start(silent_since);
        for known in self.cache.nodes.values_mut().filter_map(|entry| entry.state.as_mut()) {
            known.start_list();
        }
    }

    /// A node from the watch or a list.
    fn applied(&mut self, fact: NodeFact, listed: bool, now: Now) {
        let observed = self.cache.nodes_sync.observed_via(&fact.name, listed);
        let source = match observed {
            ObservedVia::WatchEvent => NodeSource::Watch,
            ObservedVia::List { absent_until } => NodeSource::List { absent_until },
        };
        self.apply_observed_node(fact, source, now);
    }

    fn deleted(&mut self, node: ObjectRef, now: Now) {
        self.delete_node(&node.node_name(), node.uid.as_ref(), now.mono);
    }

    /// No pod is evicted from a node that cannot be decoded (D11).
    fn undecodable(&mut self, node: ObjectRef, now: Now) {
        self.mark_node_undecodable(&node.node_name(), now.mono);
    }

    fn list_completed(&mut self, now: Now) {
        if !self.cache.nodes_sync.complete() {
            return;
        }
        let vanished = |entry: &NodeEntry| entry.state.as_ref().is_some_and(|known| !known.is_seen());
        let gone: Vec<_> = self
            .cache
            .nodes
            .iter()
            .filter(|(_, entry)| vanished(entry))
            .map(|(name, _)| name.clone())
            .collect();
        for name in gone {
            self.delete_node(&name, None, now.mono);
        }
    }
}

impl CacheUpdate<'_> {
    fn mark_node_undecodable(&mut self, name: &NodeName, now: Mono) {
        let Some(known) = self.cache.nodes.get_mut(name).and_then(|entry| entry.state.as_mut()) else {
            return self.cache.nodes_sync.mark_undecodable(name.clone(), now);
        };
        if known.mark_undecodable() {
            self.reassess(name, None, now);
        }
    }

    pub(super) fn apply_observed_node(&mut self, fact: NodeFact, source: NodeSource, now: Now) {
        let name = fact.name.clone();
        let entry = self.cache.nodes.entry(name.clone()).or_default();
        let (before, was_known) = (entry.taints().to_vec(), entry.state.is_some());
        let respect = fact.respect_budgets.clone().filter(|_| self.config.policies);
        let change =
            NodeState::update(&mut entry.state, fact, source, self.config, now, &mut self.state.notices);
        let NodeChange::Applied { is_other, reassess, relabelled } = change else { return };
        if is_other {
            entry.confirmation = entry.confirmation.of_another_node();
        }
        let taints = entry.state.as_ref().map(NodeState::taints);
        self.state.queue.gate_mut().follow_node(&name, was_known, taints, now.mono);
        let is_governed_otherwise = self.state.queue.gate_mut().set_node_respect(&name, respect);
        let are_holds_new = self.follow_holds_on(&name);
        if reassess || are_holds_new {
            self.reassess(&name, Some(&before), now.mono);
            self.notice_changed_taints(name.clone(), &before);
        }
        if reassess || relabelled || is_governed_otherwise {
            let delayed = self.state.queue.delayed_on(&name);
            self.state.queue.hasten_delayed(&delayed);
        }
    }

    /// Reports what a node's new taints do to its pods.
    fn notice_changed_taints(&mut self, node: NodeName, before: &[TaintInstance]) {
        let Some(entry) = self.cache.nodes.get(&node) else { return };
        let is_known = |one: &TaintInstance, other: &TaintInstance| {
            one.taint.is_same(&other.taint)
                && one.taint.value == other.taint.value
                && one.start == other.start
        };
        let taints = entry.taints();
        if taints.len() == before.len() && taints.iter().zip(before).all(|(one, other)| is_known(one, other))
        {
            return;
        }
        let impact = impact(entry);
        if impact.evicts() {
            self.state.notices.push(EvictionNotice::NodeTaintsChanged { node, impact: Box::new(impact) });
        }
    }

    /// A node is gone, and with it every reason to evict pods from it (D10, TE-11, TE-42).
    fn delete_node(&mut self, name: &NodeName, uid: Option<&Uid>, now: Mono) {
        self.cache.nodes_sync.forget(name);
        let Some(entry) = self.cache.nodes.get_mut(name) else { return };
        let Some(known) = &entry.state else { return };
        if uid.is_some_and(|uid| !known.is(uid)) {
            return;
        }
        let before = entry.state.take();
        entry.confirmation = entry.confirmation.of_another_node();
        self.state.queue.gate_mut().follow_node(name, true, None, now);
        self.state.queue.gate_mut().set_node_respect(name, None);
        self.reassess(name, before.as_ref().map(NodeState::taints), now);
        self.cache.remove_empty_entry(name);
    }
}

/// Counts a node's pods by what its taints do to them. A pod whose deletion is accepted counts no more.
fn impact(entry: &NodeEntry) -> TaintImpact {
    let taints = entry.taints().iter().map(|instance| instance.taint.clone()).collect();
    let mut impact = TaintImpact { taints, ..TaintImpact::default() };
    for pod in entry.pods.iter() {
        match pod.phase() {
            EvictionPhase::Idle => impact.staying += 1,
            EvictionPhase::CountingDown(at) => {
                impact.counting += 1;
                let (first, last) = impact.deadlines.unwrap_or((at, at));
                impact.deadlines = Some((first.min(at), last.max(at)));
            }
            EvictionPhase::OnHold(_) => impact.held += 1,
            EvictionPhase::Due(_) | EvictionPhase::InProgress => impact.due += 1,
            EvictionPhase::Deleted => {}
        }
    }
    impact
}
