//! Applies facts about nodes and leases, lists and observation gaps to the cache.
//!
//! - Invariant: a sign of life is a change that we observe, dated by our own clock (NL-10).
//! - See `pod_readiness.rs` for what follows for pods.

use super::cache::{InFlightWrite, LeaseState, NodeHealthEntry, NodeHealthState};
use super::dry_run::DryRunState;
use super::fact::{ConditionStatus, LeaseFact, NodeHealthFact, PodReadinessFact};
use super::observation_gaps::WatchedKind;
use super::{NodeLifecycleEngine, NodeLifecycleNotice, NodeRef};
use crate::identity::{NodeName, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::taint_start;
use crate::time::{Mono, Now};
use alloc::vec::Vec;

impl ObjectIndex<NodeHealthFact> for NodeLifecycleEngine {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.observation.watch(WatchedKind::Nodes).begin(silent_since);
        self.entries
            .values_mut()
            .filter_map(|entry| entry.state.as_mut())
            .for_each(|known| known.seen = false);
    }

    fn applied(&mut self, fact: NodeHealthFact, listed: bool, now: Now) {
        self.observe_event(WatchedKind::Nodes, listed, now.mono);
        self.node(fact, listed, now);
    }

    fn deleted(&mut self, node: ObjectRef, now: Now) {
        self.node_gone(&node.node_name(), node.uid.as_ref(), now.mono);
    }

    fn undecodable(&mut self, node: ObjectRef, now: Now) {
        self.node_unreadable(&node.node_name(), now.mono);
    }

    fn list_completed(&mut self, now: Now) {
        if self.observation.watch(WatchedKind::Nodes).is_listing() {
            let gone = |entry: &NodeHealthEntry| entry.state.as_ref().is_some_and(|known| !known.seen);
            self.names_of(gone).iter().for_each(|name| self.node_gone(name, None, now.mono));
            self.end_list(WatchedKind::Nodes, now.mono);
        }
    }

    fn list_aborted(&mut self, now: Now) {
        self.abort_list(WatchedKind::Nodes, now.mono);
    }
}

impl ObjectIndex<LeaseFact> for NodeLifecycleEngine {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.observation.watch(WatchedKind::Leases).begin(silent_since);
        self.entries
            .values_mut()
            .filter_map(|entry| entry.lease.as_mut())
            .for_each(|lease| lease.seen = false);
    }

    fn applied(&mut self, fact: LeaseFact, listed: bool, now: Now) {
        self.observe_event(WatchedKind::Leases, listed, now.mono);
        self.lease(&fact, listed, now.mono);
    }

    fn deleted(&mut self, lease: ObjectRef, now: Now) {
        self.lease_gone(&lease.node_name(), now.mono);
    }

    fn undecodable(&mut self, lease: ObjectRef, now: Now) {
        self.lease_unreadable(&lease.node_name(), now.mono);
    }

    fn list_completed(&mut self, now: Now) {
        if self.observation.watch(WatchedKind::Leases).is_listing() {
            let gone = |entry: &NodeHealthEntry| entry.lease.is_some_and(|lease| !lease.seen);
            self.names_of(gone).iter().for_each(|name| self.lease_gone(name, now.mono));
            self.end_list(WatchedKind::Leases, now.mono);
        }
    }

    fn list_aborted(&mut self, now: Now) {
        self.abort_list(WatchedKind::Leases, now.mono);
    }
}

impl ObjectIndex<PodReadinessFact> for NodeLifecycleEngine {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.observation.watch(WatchedKind::Pods).begin(silent_since);
        ObjectIndex::list_started(&mut self.marks, silent_since);
    }

    fn applied(&mut self, mut fact: PodReadinessFact, listed: bool, now: Now) {
        fact.node = self.shared(&fact.node);
        self.marks.applied(fact, listed, now);
    }

    fn deleted(&mut self, pod: ObjectRef, now: Now) {
        self.marks.deleted(pod, now);
    }

    fn undecodable(&mut self, pod: ObjectRef, now: Now) {
        self.marks.undecodable(pod, now);
    }

    fn list_completed(&mut self, now: Now) {
        if self.observation.watch(WatchedKind::Pods).is_listing() {
            self.marks.list_completed(now);
            self.end_list(WatchedKind::Pods, now.mono);
        }
    }

    fn list_aborted(&mut self, now: Now) {
        self.abort_list(WatchedKind::Pods, now.mono);
    }
}

impl NodeLifecycleEngine {
    fn abort_list(&mut self, stream: WatchedKind, now: Mono) {
        if self.observation.abort(stream, now, &self.config) && stream != WatchedKind::Pods {
            self.reassess_all(now);
        }
    }

    /// What the list did not say is gone by now.
    fn end_list(&mut self, stream: WatchedKind, now: Mono) {
        self.observation.watch(stream).end(now, &self.config.clone());
        if stream != WatchedKind::Pods {
            self.reassess_all(now);
        }
    }

    /// The watch of this kind said something that is not part of a list.
    fn observe_event(&mut self, stream: WatchedKind, listed: bool, now: Mono) {
        if !listed {
            self.observation.watch(stream).told(now);
        }
    }

    /// The one shared copy of a name: queues refer to nodes by it.
    pub(super) fn shared(&self, name: &NodeName) -> NodeName {
        let known = self.entries.get_key_value(name).map(|(shared, _)| shared);
        known.or_else(|| self.marks.shared_name(name)).unwrap_or(name).clone()
    }

    /// A node has come, gone, or turned: its pods follow.
    pub(super) fn update_marks(&mut self, name: &NodeName) {
        let known = self.entries.get(name).and_then(|entry| entry.state.as_ref());
        self.marks.set_node_down(name, known.is_some_and(NodeHealthState::is_down));
    }

    fn names_of(&self, which: impl Fn(&NodeHealthEntry) -> bool) -> Vec<NodeName> {
        self.entries.iter().filter(|(_, entry)| which(entry)).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn found(&mut self, stream: WatchedKind, now: Mono) {
        self.observation.find(stream, now, &self.config);
        self.reassess_all(now);
    }

    pub(super) fn paused(&mut self, since: Mono, now: Mono) {
        if self.observation.pause(since, now, &self.config) {
            self.observed_afresh(now);
        }
    }

    pub(super) fn witness(&mut self, sent: Mono, now: Mono) {
        if self.observation.witness(sent, now, &self.config) {
            self.observed_afresh(now);
        }
    }

    /// Whoever led before may have tainted a node just now (S6, P36); what was decided meanwhile is decided again (P34).
    pub(super) fn leading(&mut self, now: Mono) {
        self.zones.values_mut().for_each(|zone| zone.bucket.drain(now));
        for entry in self.entries.values_mut() {
            entry.dry_run = DryRunState::default();
            if let Some(InFlightWrite::Taint { returns, .. }) = entry.in_flight.as_deref_mut() {
                *returns = false;
            }
        }
        self.reassess_all(now);
    }

    /// A node by the watch, a list, or a live read.
    pub(super) fn node(&mut self, mut fact: NodeHealthFact, listed: bool, now: Now) {
        let name = self.shared(&fact.name);
        fact.name = name.clone();
        if let Some((zone, _)) = self.zones.get_key_value(&fact.zone) {
            // One shared copy of each key.
            fact.zone = zone.clone();
        }
        let entry = self.entries.entry(name.clone()).or_default();
        // Also of another incarnation: versions are ordered across all objects.
        let newest = entry.state.as_ref().and_then(|known| known.version);
        if fact.version.is_some() && fact.version < newest && !listed {
            return;
        }
        if let Some(known) = entry.state.as_ref().filter(|known| known.uid != fact.uid) {
            let gone = NodeRef { name: name.clone(), uid: known.uid.clone() };
            self.notices.push(NodeLifecycleNotice::Removed(gone));
            entry.forget_node();
            self.update_marks(&name);
        }
        let known = self.entries.get_mut(&name).and_then(|entry| entry.state.take());
        match known {
            Some(known) => self.node_changed(known, fact, now),
            None => self.node_registered(fact, now),
        }
        self.reassess(&name, now.mono);
    }

    /// The first sight of a node, also after a restart (NL-11): it has a whole grace period, and keeps the taints it
    /// has (NL-40). One that never said anything counts from its creation.
    fn node_registered(&mut self, fact: NodeHealthFact, now: Now) {
        let Some(entry) = self.entries.get_mut(&fact.name) else { return };
        let has_spoken = entry.has_lease() || fact.conditions.iter().any(|it| it.kind.as_str() == "Ready");
        let created =
            fact.created.and_then(|created| taint_start::latest(created, now)).map(|at| at.min(now.mono));
        let probe = if has_spoken { now.mono } else { created.unwrap_or(now.mono) };
        let node = NodeRef { name: fact.name.clone(), uid: fact.uid.clone() };
        let known = NodeHealthState::new(fact, probe, now);
        let obscure = known.conditions.is_obscure();
        entry.state = Some(known);
        self.observation.last_renewal = Some(now.mono);
        if obscure {
            self.notices.push(NodeLifecycleNotice::NotUnderstood(node.name.clone()));
        }
        self.update_marks(&node.name);
        self.notices.push(NodeLifecycleNotice::Registered(node));
    }

    fn node_changed(&mut self, before: NodeHealthState, fact: NodeHealthFact, now: Now) {
        let name = fact.name.clone();
        let mut known = NodeHealthState::new(fact, before.probe, now);
        let is_alive = is_sign_of_life(&before, &known);
        if is_alive {
            known.probe = now.mono;
            self.observation.last_renewal = Some(now.mono);
        }
        if known.conditions.ready() == before.conditions.ready() {
            known.ready_since = before.ready_since;
        }
        if known.conditions.is_obscure() && !before.conditions.is_obscure() {
            self.notices.push(NodeLifecycleNotice::NotUnderstood(name.clone()));
        }
        let fell = before.is_ready() && known.is_down();
        let turned = before.conditions.ready() != known.conditions.ready();
        if fell {
            let node = NodeRef { name: name.clone(), uid: known.uid.clone() };
            self.notices.push(NodeLifecycleNotice::BecameNotReady(node));
        }
        if let Some(entry) = self.entries.get_mut(&name) {
            // What others wrote is there, whatever an observer was told.
            entry.dry_run.forget(known.own.without(before.own).and(before.own.without(known.own)));
            entry.state = Some(known);
        }
        if turned {
            self.update_marks(&name);
        }
    }

    /// A node is gone (NL-19), and with it its place in any queue.
    pub(super) fn node_gone(&mut self, name: &NodeName, uid: Option<&Uid>, now: Mono) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let Some(known) = &entry.state else { return };
        if uid.is_some_and(|uid| *uid != known.uid) {
            return;
        }
        self.notices
            .push(NodeLifecycleNotice::Removed(NodeRef { name: name.clone(), uid: known.uid.clone() }));
        entry.forget_node();
        self.update_marks(name);
        self.reassess(name, now);
        self.clear_seat(name);
    }

    /// A node that exists but is not understood keeps what it has, and counts as it did (D11).
    pub(super) fn node_unreadable(&mut self, name: &NodeName, now: Mono) {
        let Some(known) = self.entries.get_mut(name).and_then(|entry| entry.state.as_mut()) else { return };
        known.seen = true;
        if !core::mem::replace(&mut known.obscured, true) {
            self.notices.push(NodeLifecycleNotice::NotUnderstood(name.clone()));
            self.reassess(name, now);
        }
    }

    /// A lease by the watch, a list, or a live read. A renewal that differs from the one before it is a sign of life
    /// (NL-10), whatever time it says; one that arrives late is not.
    pub(super) fn lease(&mut self, fact: &LeaseFact, listed: bool, now: Mono) {
        let node = self.shared(&fact.node);
        let entry = self.entries.entry(node.clone()).or_default();
        let is_late = entry.lease.is_some_and(|seen| seen.is_newer_than(fact));
        if is_late && !listed {
            return;
        }
        let before = entry.lease.replace(LeaseState::new(fact));
        let is_renewed = fact.renewed.is_some() && before.map(|seen| seen.renewed) != Some(fact.renewed);
        let same_kind =
            before.is_some_and(|seen| !seen.obscured && seen.renewed.is_some() == fact.renewed.is_some());
        if is_renewed && !is_late {
            self.heard_of(&node, now);
        }
        if !same_kind {
            self.reassess(&node, now);
        }
    }

    pub(super) fn lease_gone(&mut self, node: &NodeName, now: Mono) {
        let Some(entry) = self.entries.get_mut(node) else { return };
        if entry.lease.take().is_some() {
            self.reassess(node, now);
            self.clear_seat(node);
        }
    }

    pub(super) fn lease_unreadable(&mut self, node: &NodeName, now: Mono) {
        let entry = self.entries.entry(node.clone()).or_default();
        let before = entry.lease.replace(LeaseState::unreadable());
        if !before.is_some_and(|seen| seen.obscured) {
            self.notices.push(NodeLifecycleNotice::NotUnderstood(node.clone()));
            self.reassess(node, now);
        }
    }
}

/// Whether a node's object shows that it has spoken since (NL-10): its heartbeat is another one; or `Ready` came, other
/// than by somebody who called it silent, or went (NL-11).
fn is_sign_of_life(before: &NodeHealthState, now: &NodeHealthState) -> bool {
    let beats = now.heartbeat.is_some() && now.heartbeat != before.heartbeat;
    let came = match (before.conditions.ready(), now.conditions.ready()) {
        (None, Some(status)) => status != ConditionStatus::Unknown,
        (Some(_), None) => true,
        _ => false,
    };
    beats || came
}
