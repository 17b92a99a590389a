//! # Answers: what the API server's answers mean
//! Room:     results of reads and writes: progress, another look, another try.
//! Comes in: the answer to each pulled effect.
//! Goes out: nodes placed anew, tokens given back, notices.
//! Keeps:    nothing is given up (NL-7); after a write that did not go as it should comes a live read, not a repeat (P31);
//!           a token is given back only if its taint was certainly not put on (S6).
//! Not here: deciding what to send (`turns.rs`).

use super::fact::Status;
use super::roster::{Errand, NodeRef, Seat};
use super::{Confirmation, Engine, Notice, OwnTaints, Why, ZoneKey, desire};
use crate::effect::Failure;
use crate::engine::{Reading, backoff};
use crate::names::{NodeName, Uid, Version};
use crate::time::{Mono, Now};

impl Engine {
    pub(super) fn confirmed(
        &mut self,
        name: &NodeName,
        sent: Mono,
        result: Result<Confirmation, Failure>,
        now: Now,
    ) {
        let Some(seat) = self.seats.get_mut(name) else { return };
        let Some(Errand::Confirm { turn }) = seat.errand.clone() else { return };
        seat.errand = None;
        let void = core::mem::take(&mut seat.void);
        self.free(turn.as_ref(), name);
        match result {
            Ok(confirmation) => {
                self.witness(sent, now.mono);
                self.read(name, confirmation, now);
                if let Some(seat) = self.seats.get_mut(name).filter(|_| !void) {
                    seat.check = Some(sent);
                    seat.stale = false;
                }
            }
            Err(_) if void => {}
            Err(failure) => self.failed(name, failure, now.mono),
        }
        self.reassess(name, now.mono);
        self.clear_seat(name);
    }

    /// What live reads say is a fact like any other.
    fn read(&mut self, name: &NodeName, confirmation: Confirmation, now: Now) {
        match confirmation.lease {
            Reading::Is(lease) => self.lease(&lease, false, now.mono),
            Reading::Absent => self.lease_gone(name, now.mono),
            Reading::Unreadable => self.lease_unreadable(name, now.mono),
        }
        match confirmation.node {
            Reading::Is(node) => self.node(node, false, now),
            Reading::Absent => self.node_gone(name, None, now.mono),
            Reading::Unreadable => self.node_unreadable(name, now.mono),
        }
    }

    pub(super) fn written(&mut self, name: &NodeName, result: Result<Option<Version>, Failure>, now: Mono) {
        let Some(seat) = self.seats.get_mut(name) else { return };
        let Some(errand) = seat.errand.take_if(|errand| !matches!(errand, Errand::Confirm { .. })) else {
            return;
        };
        let void = core::mem::take(&mut seat.void);
        if let Errand::Taint { token, .. } = &errand {
            self.free(token.as_ref(), name);
        }
        match result {
            Ok(version) => self.done(name, errand, version, void),
            Err(failure) => {
                if let (Errand::Taint { token: Some(zone), returns: true, .. }, true) =
                    (errand, is_certain(failure))
                {
                    self.give_back(&zone, now);
                }
                if !void {
                    self.failed(name, failure, now);
                }
            }
        }
        self.reassess(name, now);
        self.clear_seat(name);
    }

    /// A write was committed: what it did is known without waiting for the watch.
    fn done(&mut self, name: &NodeName, errand: Errand, version: Option<Version>, void: bool) {
        if let Errand::Taint { token: Some(zone), .. } = &errand
            && let Some(zone) = self.zones.get_mut(zone)
        {
            zone.evictions += 1;
        }
        let Some(seat) = self.seats.get_mut(name).filter(|_| !void) else { return };
        let Some(known) = &mut seat.known else { return };
        seat.failures = 0;
        if version < known.version {
            // The watch was faster, and has told of something newer than this write; or no version came back.
            seat.stale = version.is_none();
        } else {
            known.version = version;
            seat.stale = version.is_none();
            match &errand {
                Errand::Taint { add, remove, .. } => known.own = known.own.without(*remove).and(*add),
                Errand::Declare { .. } => self.expire(name),
                Errand::Label => known.labels = None,
                Errand::Confirm { .. } => {}
            }
        }
        self.tell(name, errand);
    }

    fn tell(&mut self, name: &NodeName, errand: Errand) {
        let Some(known) = self.seats.get(name).and_then(|seat| seat.known.as_ref()) else { return };
        let node = NodeRef { name: name.clone(), uid: known.uid.clone() };
        match errand {
            Errand::Taint { add, remove, why, .. } => self.tell_tainted(node, (add, remove), why),
            Errand::Declare { since } => self.notices.push(Notice::Declared { node, silent_since: since }),
            Errand::Label | Errand::Confirm { .. } => {}
        }
    }

    fn tell_tainted(&mut self, node: NodeRef, (add, remove): (OwnTaints, OwnTaints), why: Why) {
        let known = self.seats.get(&node.name).and_then(|seat| seat.known.as_ref());
        if let Some(zone) = known.map(|known| known.zone.clone()) {
            self.notices.push(Notice::Tainted { node, zone, add, remove, why });
        }
    }

    /// Our own declaration, as the watch will tell it (NL-12).
    fn expire(&mut self, name: &NodeName) {
        let Some(known) = self.seats.get_mut(name).and_then(|seat| seat.known.as_mut()) else { return };
        let was_ready = known.is_ready();
        for (kind, _) in desire::expired(&known.conditions) {
            known.conditions.set(kind, Status::Unknown);
        }
        let node = NodeRef { name: name.clone(), uid: known.uid.clone() };
        if was_ready {
            self.notices.push(Notice::BecameNotReady(node));
        }
        self.remark(name);
    }

    /// Tried again after a pause, and not before it was read: what is known of it may not be so.
    fn failed(&mut self, name: &NodeName, failure: Failure, now: Mono) {
        let Some(seat) = self.seats.get_mut(name).filter(|seat| seat.known.is_some()) else { return };
        seat.stale = true;
        seat.failures = seat.failures.saturating_add(1);
        let retry_at = now.plus(backoff(name.as_str(), &Uid::new(""), seat.failures, failure));
        seat.retry_at = Some(retry_at);
        self.notices.push(Notice::Failed { node: name.clone(), failure, retry_at });
    }

    /// The zone's turn is over.
    fn free(&mut self, zone: Option<&ZoneKey>, name: &NodeName) {
        if let Some(zone) = zone.and_then(|zone| self.zones.get_mut(zone)) {
            zone.busy.take_if(|busy| busy == name);
        }
    }

    fn give_back(&mut self, zone: &ZoneKey, now: Mono) {
        if let Some(zone) = self.zones.get_mut(zone) {
            zone.bucket.give_back(now);
        }
    }
}

/// Whether the write was certainly not committed.
const fn is_certain(failure: Failure) -> bool {
    match failure {
        Failure::NotFound
        | Failure::Conflict
        | Failure::Forbidden
        | Failure::Throttled(_)
        | Failure::Rejected => true,
        Failure::Unavailable => false,
    }
}

impl Seat {
    /// Whether it is between two tries.
    pub(super) const fn is_failing(&self) -> bool {
        self.failures > 0
    }
}
