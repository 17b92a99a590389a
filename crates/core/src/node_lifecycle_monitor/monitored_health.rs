//! Keeps what the monitor knows about the health of one node.

use crate::identity::{ResourceVersion, Uid};
use crate::node_lifecycle::{ConditionKind, ConditionStatus, NodeConditions, NodeHealthFact, ZoneKey};
use crate::time::{Mono, Wall};

/// One node.
#[derive(Clone, Debug)]
pub(super) struct MonitoredHealth {
    uid: Uid,
    version: Option<ResourceVersion>,
    zone: ZoneKey,
    excluded: bool,
    ready: Option<ConditionStatus>,
    heartbeat: Option<Wall>,
    /// When it was first observed; `None` if it had no condition `Ready`: then it counts from its creation (NL-11).
    first: Option<Mono>,
    /// When a heartbeat or a renewal was last observed.
    alive: Option<Mono>,
    /// When its last successful live read was sent.
    read_sent: Option<Mono>,
    is_decodable: bool,
    listed: bool,
}

impl MonitoredHealth {
    pub(super) fn new(fact: &NodeHealthFact, now: Mono) -> Self {
        let ready = NodeConditions::of(&fact.conditions).ready();
        Self {
            uid: fact.uid.clone(),
            version: fact.version,
            zone: fact.zone.clone(),
            excluded: fact.excluded,
            ready,
            heartbeat: heartbeat(fact),
            first: ready.map(|_| now),
            alive: None,
            read_sent: None,
            is_decodable: true,
            listed: true,
        }
    }

    /// Whether it is this node, as far as an event says.
    pub(super) fn is(&self, uid: Option<&Uid>) -> bool {
        uid.is_none_or(|uid| *uid == self.uid)
    }

    pub(super) const fn zone(&self) -> &ZoneKey {
        &self.zone
    }

    pub(super) const fn read_sent(&self) -> Option<Mono> {
        self.read_sent
    }

    /// Whether it counts in its zone.
    pub(super) const fn counts(&self) -> bool {
        !self.excluded
    }

    /// Whether it is certainly not ready.
    pub(super) fn is_down(&self) -> bool {
        self.is_decodable
            && self
                .ready
                .is_none_or(|ready| matches!(ready, ConditionStatus::False | ConditionStatus::Unknown))
    }

    /// When it last showed life; if all inputs are known, its first appearance counts as well.
    pub(super) fn last_sign(&self, knows_all: bool) -> Option<Mono> {
        self.alive.or(self.first.filter(|_| knows_all))
    }

    pub(super) fn apply(&mut self, fact: &NodeHealthFact, listed: bool, now: Mono) {
        let is_late = self.version.is_some() && fact.version.is_some() && fact.version < self.version;
        self.listed = true;
        if is_late && !listed {
            return;
        }
        let beats = heartbeat(fact);
        if !is_late && beats.is_some() && beats > self.heartbeat {
            self.alive = Some(now);
        }
        (self.version, self.heartbeat, self.is_decodable) = (fact.version, beats, true);
        (self.zone, self.excluded) = (fact.zone.clone(), fact.excluded);
        self.ready = NodeConditions::of(&fact.conditions).ready();
    }

    /// Its lease was renewed.
    pub(super) const fn renew(&mut self, now: Mono) {
        self.alive = Some(now);
    }

    pub(super) fn confirm(&mut self, sent: Mono) {
        self.read_sent = self.read_sent.max(Some(sent));
    }

    pub(super) const fn fail_to_decode(&mut self) {
        (self.is_decodable, self.listed) = (false, true);
    }

    pub(super) const fn begin_list(&mut self) {
        self.listed = false;
    }

    pub(super) const fn abort_list(&mut self) {
        self.listed = true;
    }

    pub(super) const fn was_listed(&self) -> bool {
        self.listed
    }
}

/// The heartbeat of its condition `Ready`. A controller writes the moment of creation for a node that never posted a status: that is
/// none (NL-12).
fn heartbeat(fact: &NodeHealthFact) -> Option<Wall> {
    let ready = fact.conditions.iter().find(|condition| condition.kind == ConditionKind::Ready)?;
    ready.heartbeat.filter(|at| fact.created != Some(*at))
}
