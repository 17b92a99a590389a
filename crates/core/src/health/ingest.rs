//! # Ingest: what becomes of a fact
//! Room:     nodes and leases coming, changing, going; lists; gaps in our own observation.
//! Comes in: facts about one node or lease, or about ourselves, and the time.
//! Goes out: the roster as the facts now demand, and each touched node weighed again.
//! Keeps:    a sign of life is a change that we see, dated by our own clock (NL-10); times in facts are only compared.
//! Not here: pods (`pods.rs`); answers (`answers.rs`).

use super::fact::{LeaseFact, NodeFact, Status};
use super::observe::Stream;
use super::observer::Shown;
use super::roster::{Errand, Known, LeaseSeen, NodeRef, Seat};
use super::{Engine, Notice};
use crate::names::{NodeName, Uid};
use crate::start;
use crate::time::{Mono, Now};
use alloc::vec::Vec;

impl Engine {
    pub(super) fn list_begin(&mut self, stream: Stream, silent_since: Option<Mono>) {
        self.eyes.watch(stream).begin(silent_since);
        for seat in self.seats.values_mut() {
            match stream {
                Stream::Nodes => seat.known.iter_mut().for_each(|known| known.seen = false),
                Stream::Leases => seat.lease.iter_mut().for_each(|lease| lease.seen = false),
                Stream::Pods => seat.pods.values_mut().for_each(|pod| pod.seen = false),
            }
        }
    }

    pub(super) fn list_end(&mut self, stream: Stream, now: Mono) {
        if !self.eyes.watch(stream).is_listing() {
            return;
        }
        match stream {
            Stream::Nodes => {
                let gone = |seat: &Seat| seat.known.as_ref().is_some_and(|known| !known.seen);
                self.names_of(gone).iter().for_each(|name| self.node_gone(name, None, now));
            }
            Stream::Leases => {
                let gone = |seat: &Seat| seat.lease.is_some_and(|lease| !lease.seen);
                self.names_of(gone).iter().for_each(|name| self.lease_gone(name, now));
            }
            Stream::Pods => self.forget_unseen_pods(),
        }
        self.eyes.watch(stream).end(now, &self.config.clone());
        if stream != Stream::Pods {
            self.reassess_all(now);
        }
    }

    pub(super) fn list_aborted(&mut self, stream: Stream, now: Mono) {
        if self.eyes.abort(stream, now, &self.config) && stream != Stream::Pods {
            self.reassess_all(now);
        }
    }

    /// Something was told of this kind, in a list or not.
    pub(super) fn told(&mut self, stream: Stream, listed: bool, now: Mono) {
        if !listed {
            self.eyes.watch(stream).told(now);
        }
    }

    /// The one shared copy of a name: queues refer to nodes by it.
    pub(super) fn shared(&self, name: &NodeName) -> NodeName {
        self.seats.get_key_value(name).map_or(name, |(shared, _)| shared).clone()
    }

    fn names_of(&self, which: impl Fn(&Seat) -> bool) -> Vec<NodeName> {
        self.seats.iter().filter(|(_, seat)| which(seat)).map(|(name, _)| name.clone()).collect()
    }

    pub(super) fn found(&mut self, stream: Stream, now: Mono) {
        self.eyes.find(stream, now, &self.config);
        self.reassess_all(now);
    }

    pub(super) fn paused(&mut self, since: Mono, now: Mono) {
        if self.eyes.pause(since, now, &self.config) {
            self.observed_afresh(now);
        }
    }

    pub(super) fn witness(&mut self, sent: Mono, now: Mono) {
        if self.eyes.witness(sent, now, &self.config) {
            self.observed_afresh(now);
        }
    }

    /// Whoever led before may have tainted a node just now (S6, P36); what was decided meanwhile is decided again (P34).
    pub(super) fn leading(&mut self, now: Mono) {
        self.zones.values_mut().for_each(|zone| zone.bucket.drain(now));
        for seat in self.seats.values_mut() {
            seat.shown = Shown::default();
            if let Some(Errand::Taint { returns, .. }) = &mut seat.errand {
                *returns = false;
            }
        }
        self.reassess_all(now);
    }

    /// A node by the watch, a list, or a live read.
    pub(super) fn node(&mut self, mut fact: NodeFact, listed: bool, now: Now) {
        let name = self.shared(&fact.name);
        fact.name = name.clone();
        if let Some((zone, _)) = self.zones.get_key_value(&fact.zone) {
            // One shared copy of each key.
            fact.zone = zone.clone();
        }
        let seat = self.seats.entry(name.clone()).or_default();
        // Also of another incarnation: versions are ordered across all objects.
        let newest = seat.known.as_ref().and_then(|known| known.version);
        if fact.version.is_some() && fact.version < newest && !listed {
            return;
        }
        if let Some(known) = seat.known.as_ref().filter(|known| known.uid != fact.uid) {
            let gone = NodeRef { name: name.clone(), uid: known.uid.clone() };
            self.notices.push(Notice::Removed(gone));
            seat.forget_node();
            self.remark(&name);
        }
        let known = self.seats.get_mut(&name).and_then(|seat| seat.known.take());
        match known {
            Some(known) => self.node_changed(known, fact, now),
            None => self.node_registered(fact, now),
        }
        self.reassess(&name, now.mono);
    }

    /// The first sight of a node, also after a restart (NL-11): it has a whole grace period, and keeps the taints it
    /// has (NL-40). One that never said anything counts from its creation.
    fn node_registered(&mut self, fact: NodeFact, now: Now) {
        let Some(seat) = self.seats.get_mut(&fact.name) else { return };
        let has_spoken = seat.has_lease() || fact.conditions.iter().any(|it| it.kind.as_str() == "Ready");
        let created = fact.created.and_then(|created| start::latest(created, now)).map(|at| at.min(now.mono));
        let probe = if has_spoken { now.mono } else { created.unwrap_or(now.mono) };
        let node = NodeRef { name: fact.name.clone(), uid: fact.uid.clone() };
        let known = Known::new(fact, probe, now);
        let obscure = known.conditions.is_obscure();
        seat.known = Some(known);
        self.eyes.heard = Some(now.mono);
        if obscure {
            self.notices.push(Notice::NotUnderstood(node.name.clone()));
        }
        self.remark(&node.name);
        self.notices.push(Notice::Registered(node));
    }

    fn node_changed(&mut self, before: Known, fact: NodeFact, now: Now) {
        let name = fact.name.clone();
        let mut known = Known::new(fact, before.probe, now);
        let is_alive = is_sign_of_life(&before, &known);
        if is_alive {
            known.probe = now.mono;
            self.eyes.heard = Some(now.mono);
        }
        if known.conditions.ready() == before.conditions.ready() {
            known.ready_since = before.ready_since;
        }
        if known.conditions.is_obscure() && !before.conditions.is_obscure() {
            self.notices.push(Notice::NotUnderstood(name.clone()));
        }
        let fell = before.is_ready() && known.is_down();
        let turned = before.conditions.ready() != known.conditions.ready();
        if fell {
            let node = NodeRef { name: name.clone(), uid: known.uid.clone() };
            self.notices.push(Notice::BecameNotReady(node));
        }
        if let Some(seat) = self.seats.get_mut(&name) {
            // What others wrote is there, whatever an observer was told.
            seat.shown.forget(known.own.without(before.own).and(before.own.without(known.own)));
            seat.known = Some(known);
        }
        if turned {
            self.remark(&name);
        }
    }

    /// A node is gone (NL-19), and with it its place in any queue.
    pub(super) fn node_gone(&mut self, name: &NodeName, uid: Option<&Uid>, now: Mono) {
        let Some(seat) = self.seats.get_mut(name) else { return };
        let Some(known) = &seat.known else { return };
        if uid.is_some_and(|uid| *uid != known.uid) {
            return;
        }
        self.notices.push(Notice::Removed(NodeRef { name: name.clone(), uid: known.uid.clone() }));
        seat.forget_node();
        self.remark(name);
        self.reassess(name, now);
        self.clear_seat(name);
    }

    /// A node that exists but is not understood keeps what it has, and counts as it did (D11).
    pub(super) fn node_unreadable(&mut self, name: &NodeName, now: Mono) {
        let Some(known) = self.seats.get_mut(name).and_then(|seat| seat.known.as_mut()) else { return };
        known.seen = true;
        if !core::mem::replace(&mut known.obscured, true) {
            self.notices.push(Notice::NotUnderstood(name.clone()));
            self.reassess(name, now);
        }
    }

    /// A lease by the watch, a list, or a live read. A renewal that differs from the one before it is a sign of life
    /// (NL-10), whatever time it says; one that arrives late is not.
    pub(super) fn lease(&mut self, fact: &LeaseFact, listed: bool, now: Mono) {
        let node = self.shared(&fact.node);
        let seat = self.seats.entry(node.clone()).or_default();
        let is_late = seat.lease.is_some_and(|seen| seen.is_newer_than(fact));
        if is_late && !listed {
            return;
        }
        let before = seat.lease.replace(LeaseSeen::new(fact));
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
        let Some(seat) = self.seats.get_mut(node) else { return };
        if seat.lease.take().is_some() {
            self.reassess(node, now);
            self.clear_seat(node);
        }
    }

    pub(super) fn lease_unreadable(&mut self, node: &NodeName, now: Mono) {
        let seat = self.seats.entry(node.clone()).or_default();
        let before = seat.lease.replace(LeaseSeen::unreadable());
        if !before.is_some_and(|seen| seen.obscured) {
            self.notices.push(Notice::NotUnderstood(node.clone()));
            self.reassess(node, now);
        }
    }
}

/// Whether a node's object shows that it has spoken since (NL-10): its heartbeat is another one; or `Ready` came, other
/// than by somebody who called it silent, or went (NL-11).
fn is_sign_of_life(before: &Known, now: &Known) -> bool {
    let beats = now.heartbeat.is_some() && now.heartbeat != before.heartbeat;
    let came = match (before.conditions.ready(), now.conditions.ready()) {
        (None, Some(status)) => status != Status::Unknown,
        (Some(_), None) => true,
        _ => false,
    };
    beats || came
}
