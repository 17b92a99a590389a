//! Handles responses to effects: the next step, another read, or a retry.
//!
//! - Invariant: nothing is given up (NL-7); an uncertain write leads to a live read, not a repeat (P31); a token is
//!   returned only if the taint was certainly not added (S6).

use super::cache::{InFlightWrite, NodeHealthEntry};
use super::fact::ConditionStatus;
use super::{
    LiveNodeAndLease, ManagedTaints, NodeLifecycleEngine, NodeLifecycleNotice, NodeRef, TaintCause, ZoneKey,
    desired_taints,
};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::LiveRead;
use crate::identity::{NodeName, PodRef, ResourceVersion, Uid};
use crate::time::{Mono, Now};

impl NodeLifecycleEngine {
    pub(super) fn confirmed(
        &mut self,
        name: &NodeName,
        sent: Mono,
        result: Result<LiveNodeAndLease, ApiFailure>,
        now: Now,
    ) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let Some(InFlightWrite::Confirm { turn }) = entry.in_flight.as_deref().cloned() else { return };
        entry.in_flight = None;
        let void = core::mem::take(&mut entry.void);
        self.free(turn.as_ref(), name);
        match result {
            Ok(confirmation) => {
                self.witness(sent, now.mono);
                self.read(name, confirmation, now);
                if let Some(entry) = self.entries.get_mut(name).filter(|_| !void) {
                    entry.check = Some(sent);
                    entry.stale = false;
                }
            }
            Err(_) if void => {}
            Err(failure) => self.failed(name, failure, now.mono),
        }
        self.reassess(name, now.mono);
        self.clear_seat(name);
    }

    /// What live reads say is a fact like any other.
    fn read(&mut self, name: &NodeName, confirmation: LiveNodeAndLease, now: Now) {
        match confirmation.lease {
            LiveRead::Found(lease) => self.lease(&lease, false, now.mono),
            LiveRead::NotFound => self.lease_gone(name, now.mono),
            LiveRead::Undecodable => self.lease_unreadable(name, now.mono),
        }
        match confirmation.node {
            LiveRead::Found(node) => self.node(node, false, now),
            LiveRead::NotFound => self.node_gone(name, None, now.mono),
            LiveRead::Undecodable => self.node_unreadable(name, now.mono),
        }
    }

    pub(super) fn written(
        &mut self,
        name: &NodeName,
        result: Result<Option<ResourceVersion>, ApiFailure>,
        now: Mono,
    ) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let Some(in_flight) =
            entry.in_flight.take_if(|in_flight| !matches!(**in_flight, InFlightWrite::Confirm { .. }))
        else {
            return;
        };
        let in_flight = *in_flight;
        let void = core::mem::take(&mut entry.void);
        if let InFlightWrite::Taint { token, .. } = &in_flight {
            self.free(token.as_ref(), name);
        }
        match result {
            Ok(version) => self.done(name, in_flight, version, void),
            Err(failure) => {
                if let (InFlightWrite::Taint { token: Some(zone), returns: true, .. }, true) =
                    (in_flight, is_certain(failure))
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

    pub(super) fn pod_written(&mut self, pod: PodRef, result: Result<bool, ApiFailure>, now: Mono) {
        if let Some(name) = self.marks.written(&pod, result, now) {
            self.notices.push(NodeLifecycleNotice::PodMarked { pod, name });
        }
    }

    /// A write was committed: what it did is known without waiting for the watch.
    fn done(
        &mut self,
        name: &NodeName,
        in_flight: InFlightWrite,
        version: Option<ResourceVersion>,
        void: bool,
    ) {
        if let InFlightWrite::Taint { token: Some(zone), .. } = &in_flight
            && let Some(zone) = self.zones.get_mut(zone)
        {
            zone.evictions += 1;
        }
        let Some(entry) = self.entries.get_mut(name).filter(|_| !void) else { return };
        let Some(known) = &mut entry.state else { return };
        entry.failures = 0;
        if version < known.version {
            // The watch was faster, and has told of something newer than this write; or no version came back.
            entry.stale = version.is_none();
        } else {
            known.version = version;
            entry.stale = version.is_none();
            match &in_flight {
                InFlightWrite::Taint { add, remove, .. } => known.own = known.own.without(*remove).and(*add),
                InFlightWrite::Declare { .. } => self.expire(name),
                InFlightWrite::Label => known.labels = None,
                InFlightWrite::Confirm { .. } => {}
            }
        }
        self.tell(name, in_flight);
    }

    fn tell(&mut self, name: &NodeName, in_flight: InFlightWrite) {
        let Some(known) = self.entries.get(name).and_then(|entry| entry.state.as_ref()) else { return };
        let node = NodeRef { name: name.clone(), uid: known.uid.clone() };
        match in_flight {
            InFlightWrite::Taint { add, remove, why, .. } => self.tell_tainted(node, (add, remove), why),
            InFlightWrite::Declare { since } => {
                self.notices.push(NodeLifecycleNotice::Declared { node, silent_since: since })
            }
            InFlightWrite::Label | InFlightWrite::Confirm { .. } => {}
        }
    }

    fn tell_tainted(
        &mut self,
        node: NodeRef,
        (add, remove): (ManagedTaints, ManagedTaints),
        why: TaintCause,
    ) {
        let known = self.entries.get(&node.name).and_then(|entry| entry.state.as_ref());
        if let Some(zone) = known.map(|known| known.zone.clone()) {
            self.notices.push(NodeLifecycleNotice::Tainted { node, zone, add, remove, why });
        }
    }

    /// Our own declaration, as the watch will tell it (NL-12).
    fn expire(&mut self, name: &NodeName) {
        let Some(known) = self.entries.get_mut(name).and_then(|entry| entry.state.as_mut()) else { return };
        let was_ready = known.is_ready();
        for (kind, _) in desired_taints::expired(&known.conditions) {
            known.conditions.set(kind, ConditionStatus::Unknown);
        }
        let node = NodeRef { name: name.clone(), uid: known.uid.clone() };
        if was_ready {
            self.notices.push(NodeLifecycleNotice::BecameNotReady(node));
        }
        self.update_marks(name);
    }

    /// Tried again after a pause, and not before it was read: what is known of it may not be so.
    fn failed(&mut self, name: &NodeName, failure: ApiFailure, now: Mono) {
        let Some(entry) = self.entries.get_mut(name).filter(|entry| entry.state.is_some()) else { return };
        entry.stale = true;
        entry.failures = entry.failures.saturating_add(1);
        let retry_at = now.plus(backoff(name.as_str(), &Uid::new(""), entry.failures, failure));
        entry.retry_at = Some(retry_at);
        self.notices.push(NodeLifecycleNotice::Failed { node: name.clone(), failure, retry_at });
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
const fn is_certain(failure: ApiFailure) -> bool {
    match failure {
        ApiFailure::NotFound
        | ApiFailure::Conflict
        | ApiFailure::Forbidden
        | ApiFailure::Throttled(_)
        | ApiFailure::Rejected => true,
        ApiFailure::Unavailable => false,
    }
}

impl NodeHealthEntry {
    /// Whether it is between two tries.
    pub(super) const fn is_failing(&self) -> bool {
        self.failures > 0
    }
}
