//! Applies events of watches, and live reads, of nodes, leases and pods.
//!
//! - See `node_facts.rs` for what is stored and what a heartbeat is (NL-10), `pod_readiness.rs` for pods.

use crate::engine::LiveRead;
use crate::identity::{NodeName, Uid};
use crate::node_lifecycle::fact::{LeaseFact, NodeHealthFact, PodReadinessFact};
use crate::node_lifecycle::input::LiveNodeAndLease;
use crate::node_lifecycle::observation_gaps::{StreamUpdate, WatchedKind};
use crate::node_lifecycle::zones::ZoneMembership;
use crate::node_lifecycle::{DryRunState, NodeHealthEntry, NodeLifecycleEngine, NodeLifecycleNotice};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::time::{Mono, Now};
use alloc::vec::Vec;

impl ObjectIndex<NodeHealthFact> for NodeLifecycleEngine {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.start_list(WatchedKind::Nodes, silent_since);
    }

    fn applied(&mut self, fact: NodeHealthFact, listed: bool, now: Now) {
        self.observe_event(WatchedKind::Nodes, listed, now.mono);
        self.apply_node(fact, listed, now);
    }

    fn deleted(&mut self, node: ObjectRef, now: Now) {
        self.remove_node(&node.node_name(), node.uid.as_ref(), now.mono);
    }

    fn undecodable(&mut self, node: ObjectRef, now: Now) {
        self.set_undecodable(WatchedKind::Nodes, &node.node_name(), now.mono);
    }

    fn list_completed(&mut self, now: Now) {
        self.complete_list(WatchedKind::Nodes, now.mono, |engine, name| {
            engine.remove_node(name, None, now.mono);
        });
    }

    fn list_aborted(&mut self, now: Now) {
        self.abort_list(WatchedKind::Nodes, now.mono);
    }
}

impl ObjectIndex<LeaseFact> for NodeLifecycleEngine {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.start_list(WatchedKind::Leases, silent_since);
    }

    fn applied(&mut self, fact: LeaseFact, listed: bool, now: Now) {
        self.observe_event(WatchedKind::Leases, listed, now.mono);
        self.apply_lease(&fact, listed, now.mono);
    }

    fn deleted(&mut self, lease: ObjectRef, now: Now) {
        self.remove_lease(&lease.node_name(), now.mono);
    }

    fn undecodable(&mut self, lease: ObjectRef, now: Now) {
        self.set_undecodable(WatchedKind::Leases, &lease.node_name(), now.mono);
    }

    fn list_completed(&mut self, now: Now) {
        self.complete_list(WatchedKind::Leases, now.mono, |engine, name| engine.remove_lease(name, now.mono));
    }

    fn list_aborted(&mut self, now: Now) {
        self.abort_list(WatchedKind::Leases, now.mono);
    }
}

impl ObjectIndex<PodReadinessFact> for NodeLifecycleEngine {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.observation.start_list(WatchedKind::Pods, silent_since);
        self.marks.list_started(silent_since);
    }

    fn applied(&mut self, mut fact: PodReadinessFact, listed: bool, now: Now) {
        fact.node = self.shared_name(&fact.node);
        self.marks.applied(fact, listed, now);
    }

    fn deleted(&mut self, pod: ObjectRef, now: Now) {
        self.marks.deleted(pod, now);
    }

    fn undecodable(&mut self, pod: ObjectRef, now: Now) {
        self.marks.undecodable(pod, now);
    }

    fn list_completed(&mut self, now: Now) {
        if self.observation.is_listing(WatchedKind::Pods) {
            self.marks.list_completed(now);
            self.observation.update(WatchedKind::Pods, StreamUpdate::ListCompleted, now.mono, &self.config);
        }
    }

    fn list_aborted(&mut self, now: Now) {
        self.observation.update(WatchedKind::Pods, StreamUpdate::ListAborted, now.mono, &self.config);
    }
}

impl NodeLifecycleEngine {
    fn start_list(&mut self, kind: WatchedKind, silent_since: Option<Mono>) {
        self.observation.start_list(kind, silent_since);
        self.entries.values_mut().for_each(|entry| entry.facts.list_started(kind));
    }

    /// Completes a list: objects that were not listed are gone.
    fn complete_list(&mut self, kind: WatchedKind, now: Mono, remove: impl Fn(&mut Self, &NodeName)) {
        if !self.observation.is_listing(kind) {
            return;
        }
        let unlisted = self.entries.iter().filter(|(_, entry)| entry.facts.is_unlisted(kind));
        let gone: Vec<NodeName> = unlisted.map(|(name, _)| name.clone()).collect();
        gone.iter().for_each(|name| remove(self, name));
        self.observation.update(kind, StreamUpdate::ListCompleted, now, &self.config);
        self.reassess_all(now);
    }

    fn abort_list(&mut self, kind: WatchedKind, now: Mono) {
        if self.observation.update(kind, StreamUpdate::ListAborted, now, &self.config) {
            self.reassess_all(now);
        }
    }

    /// The watch of this kind delivered an event that is not part of a list.
    fn observe_event(&mut self, kind: WatchedKind, listed: bool, now: Mono) {
        if !listed {
            self.observation.update(kind, StreamUpdate::Event, now, &self.config);
        }
    }

    /// A request of this process, sent at this moment, has succeeded (S7).
    pub(in crate::node_lifecycle) fn request_succeeded(&mut self, sent: Mono, now: Mono) {
        if self.observation.request_succeeded(sent, now, &self.config) {
            self.observe_afresh(now);
        }
    }

    /// The previous leader may have tainted a node just now (S6, P36); what was decided meanwhile is decided again
    /// (P34).
    pub(in crate::node_lifecycle) fn become_leader(&mut self, now: Mono) {
        self.zones.drain_tokens(now);
        for entry in self.entries.values_mut() {
            entry.dry_run = DryRunState::default();
            entry.requests.keep_token();
        }
        self.reassess_all(now);
    }

    /// A live read is a fact like any other.
    pub(in crate::node_lifecycle) fn apply_live_read(
        &mut self,
        name: &NodeName,
        live: LiveNodeAndLease,
        now: Now,
    ) {
        match live.lease {
            LiveRead::Found(lease) => self.apply_lease(&lease, false, now.mono),
            LiveRead::NotFound => self.remove_lease(name, now.mono),
            LiveRead::Undecodable => self.set_undecodable(WatchedKind::Leases, name, now.mono),
        }
        match live.node {
            LiveRead::Found(node) => self.apply_node(node, false, now),
            LiveRead::NotFound => self.remove_node(name, None, now.mono),
            LiveRead::Undecodable => self.set_undecodable(WatchedKind::Nodes, name, now.mono),
        }
    }

    fn apply_node(&mut self, mut fact: NodeHealthFact, listed: bool, now: Now) {
        // One shared copy of each name and key.
        let name = self.shared_name(&fact.name);
        fact.name = name.clone();
        if let Some(zone) = self.zones.shared_key(&fact.zone) {
            fact.zone = zone.clone();
        }
        let entry = self.entries.entry(name.clone()).or_default();
        if !listed && entry.facts.is_newer_than(&fact) {
            // It exists: a list does not have to repeat what the watch delivers.
            return entry.facts.set_seen(&fact.uid);
        }
        if let Some(gone) = entry.facts.node_ref(&name).filter(|known| known.uid != fact.uid) {
            entry.remove_node();
            self.notices.push(NodeLifecycleNotice::Removed(gone));
            self.marks.set_node_down(&name, false);
        }
        let Some(entry) = self.entries.get_mut(&name) else { return };
        let before = entry.facts.own_taints();
        if entry.facts.apply_node(fact, now, &mut self.notices) {
            self.observation.node_renewed(now.mono);
        }
        let after = entry.facts.own_taints();
        // What other controllers wrote is in effect, whatever an observer reported.
        entry.dry_run.forget_taints(after.without(before).and(before.without(after)));
        self.marks.set_node_down(&name, entry.facts.is_down());
        self.reassess(&name, now.mono);
    }

    /// A node is gone (NL-19), and with it its place in any queue.
    fn remove_node(&mut self, name: &NodeName, uid: Option<&Uid>, now: Mono) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let is_meant = |known: &Uid| uid.is_none_or(|uid| uid == known);
        let Some(gone) = entry.facts.node_ref(name).filter(|known| is_meant(&known.uid)) else { return };
        entry.remove_node();
        self.notices.push(NodeLifecycleNotice::Removed(gone));
        self.marks.set_node_down(name, false);
        self.reassess(name, now);
        self.remove_if_vacant(name);
    }

    /// An object that cannot be decoded keeps its taints, and counts as before (D11).
    fn set_undecodable(&mut self, kind: WatchedKind, name: &NodeName, now: Mono) {
        let entry = match kind {
            WatchedKind::Leases => self.entries.entry(name.clone()).or_default(),
            _ => match self.entries.get_mut(name) {
                Some(entry) => entry,
                None => return,
            },
        };
        if entry.facts.set_undecodable(kind) {
            self.notices.push(NodeLifecycleNotice::NotUnderstood(name.clone()));
            self.reassess(name, now);
        }
    }

    fn apply_lease(&mut self, fact: &LeaseFact, listed: bool, now: Mono) {
        let node = self.shared_name(&fact.node);
        let entry = self.entries.entry(node.clone()).or_default();
        let (is_renewed, is_other_kind) = entry.facts.apply_lease(fact, listed);
        if is_renewed {
            self.renew(&node, now);
        }
        if is_other_kind {
            self.reassess(&node, now);
        }
    }

    /// Records a heartbeat: the common case, where nothing else has changed.
    fn renew(&mut self, name: &NodeName, now: Mono) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        if !entry.facts.set_renewed(now) {
            return;
        }
        self.observation.node_renewed(now);
        if entry.is_late() {
            return self.reassess(name, now);
        }
        let deadline = entry.facts.silence_deadline(&self.observation, &self.config);
        self.set_wakeup(name, deadline, now);
    }

    fn remove_lease(&mut self, node: &NodeName, now: Mono) {
        let Some(entry) = self.entries.get_mut(node) else { return };
        if entry.facts.remove_lease() {
            self.reassess(node, now);
            self.remove_if_vacant(node);
        }
    }

    /// Returns the shared copy of a name: queues and pods refer to nodes by it.
    fn shared_name(&self, name: &NodeName) -> NodeName {
        let known = self.entries.get_key_value(name).map(|(shared, _)| shared);
        known.or_else(|| self.marks.shared_name(name)).unwrap_or(name).clone()
    }
}

impl NodeHealthEntry {
    /// Whether it counts as a node whose grace period is over, or nearly over.
    fn is_late(&self) -> bool {
        self.silent.is_some() || matches!(self.membership, Some((_, ZoneMembership::Overdue)))
    }

    /// Forgets everything that belonged to one UID of the node.
    fn remove_node(&mut self) {
        self.facts.remove_node();
        self.requests.node_removed();
        self.dry_run = DryRunState::default();
    }
}
