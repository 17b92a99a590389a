//! # Roster: what is remembered of nodes, leases and pods
//! Room:     one seat for each name.
//! Comes in: facts.
//! Goes out: seats.
//! Keeps:    few bytes of each: of a lease two numbers, of taints and conditions a few bits.
//! Not here: what follows from a change.

use super::desire::{self, Plan, Situation};
use super::fact::{Conditions, LeaseFact, NodeFact, Platform, PodFact, Status};
use super::observer::Shown;
use super::own::OwnTaints;
use super::zone::{Tally, ZoneKey};
use crate::names::{NodeName, PodName, Uid, Version};
use crate::time::{Mono, Now, Wall};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use core::num::NonZeroU64;

/// What was last seen of a node's lease: the renewal only to be compared (NL-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeaseSeen {
    pub(super) renewed: Option<Wall>,
    version: Option<NonZeroU64>,
    /// It can't be decoded: whether it is renewed is not known (D11).
    pub(super) obscured: bool,
    /// Seen in the running list; outside one it means nothing.
    pub(super) seen: bool,
}

const _: () = assert!(size_of::<Option<LeaseSeen>>() <= 40, "all that is kept of a lease; no heap besides");

impl LeaseSeen {
    pub(super) fn new(fact: &LeaseFact) -> Self {
        let version = fact.version.and_then(|version| NonZeroU64::new(version.0));
        Self { renewed: fact.renewed, version, obscured: false, seen: true }
    }

    pub(super) const fn unreadable() -> Self {
        Self { renewed: None, version: None, obscured: true, seen: true }
    }

    pub(super) fn is_newer_than(&self, fact: &LeaseFact) -> bool {
        let version = self.version.map(|version| Version(version.get()));
        fact.version.is_some() && fact.version < version
    }
}

/// Labels to be written (NL-8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct LabelFix {
    pub(super) os: Option<Box<str>>,
    pub(super) arch: Option<Box<str>>,
}

impl LabelFix {
    fn of(platform: Platform) -> Option<Box<Self>> {
        let os = platform.os.filter(|os| platform.beta_os.as_ref() != Some(os));
        let arch = platform.arch.filter(|arch| platform.beta_arch.as_ref() != Some(arch));
        (os.is_some() || arch.is_some()).then(|| Box::new(Self { os, arch }))
    }
}

/// What is known of a node that exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Known {
    pub(super) uid: Uid,
    pub(super) version: Option<Version>,
    pub(super) zone: ZoneKey,
    pub(super) conditions: Conditions,
    pub(super) heartbeat: Option<Wall>,
    /// When it was last heard of, by our clock (NL-10).
    pub(super) probe: Mono,
    /// Since when, by our knowledge, `Ready` says what it says.
    pub(super) ready_since: Mono,
    pub(super) own: OwnTaints,
    pub(super) unschedulable: bool,
    pub(super) excluded: bool,
    /// Its object could not be decoded lately: nothing is put on or taken off (D11).
    pub(super) obscured: bool,
    /// Seen in the running list; outside one it means nothing.
    pub(super) seen: bool,
    pub(super) labels: Option<Box<LabelFix>>,
}

impl Known {
    pub(super) fn new(fact: NodeFact, probe: Mono, now: Now) -> Self {
        Self {
            heartbeat: fact.heartbeat(),
            conditions: Conditions::of(&fact.conditions),
            own: OwnTaints::of(&fact.taints),
            uid: fact.uid,
            version: fact.version,
            zone: fact.zone,
            probe,
            ready_since: now.mono,
            unschedulable: fact.unschedulable,
            excluded: fact.excluded,
            obscured: false,
            seen: true,
            labels: LabelFix::of(fact.platform),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.conditions.ready() == Some(Status::True)
    }

    /// `Ready` says False or Unknown: its pods are not ready either (NL-17).
    pub(super) fn is_down(&self) -> bool {
        matches!(self.conditions.ready(), Some(Status::False | Status::Unknown))
    }

    pub(super) fn tally(&self, (silent, overdue): (bool, bool), shown: Shown) -> Tally {
        match self {
            Self { excluded: true, .. } => Tally::Excluded,
            known if !known.is_ready() => Tally::NotReady,
            _ if silent && shown.declared => Tally::Shown,
            _ if silent => Tally::Suspect,
            _ if overdue => Tally::Overdue,
            _ => Tally::Ready,
        }
    }

    pub(super) fn plan(&self, silent: bool, all_down: bool) -> Plan {
        self.plan_as(self.conditions, self.own, silent, all_down)
    }

    /// The plan if its conditions and own taints were these.
    pub(super) fn plan_as(
        &self,
        conditions: Conditions,
        own: OwnTaints,
        silent: bool,
        all_down: bool,
    ) -> Plan {
        desire::plan(&Situation { conditions, unschedulable: self.unschedulable, own, silent, all_down })
    }
}

/// A pod that is bound to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pod {
    pub(super) name: PodName,
    /// It has a condition `Ready` that does not say False.
    pub(super) ready: bool,
    /// It was marked since its node went down; a kubelet that says otherwise afterwards has the last word.
    pub(super) told: bool,
    /// Seen in the running list; outside one it means nothing.
    pub(super) seen: bool,
}

impl Pod {
    pub(super) fn new(fact: PodFact, told: bool) -> Self {
        let ready = fact.ready.is_some_and(|status| status != Status::False);
        Self { name: fact.name, ready, told, seen: true }
    }
}

/// The request that is out for a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Errand {
    /// Reading; on behalf of a turn in this zone, if any.
    Confirm { turn: Option<ZoneKey> },
    /// Writing taints; with this zone's token, if any, which it `returns` if it was certainly not used.
    Taint { add: OwnTaints, remove: OwnTaints, token: Option<ZoneKey>, returns: bool, why: super::Why },
    /// Writing conditions.
    Declare { since: Mono },
    /// Writing labels.
    Label,
}

/// In which queue a node stands; in at most one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Place {
    #[default]
    Nowhere,
    Todo(Urgency),
    Declare(Mono),
    Zone {
        zone: ZoneKey,
        since: Mono,
        silent: bool,
    },
    Later(Mono),
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Urgency {
    /// Pods stop being sent away.
    Lift,
    /// Anything else that need not wait.
    Mend,
}

/// A name's place: the node, if it exists, its lease, and the pods bound to it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Seat {
    pub(super) known: Option<Known>,
    pub(super) lease: Option<LeaseSeen>,
    /// It has been silent for longer than its grace period, since this moment.
    pub(super) silent: Option<Mono>,
    pub(super) wake: Option<Mono>,
    pub(super) tally: Option<(ZoneKey, Tally)>,
    pub(super) place: Place,
    pub(super) errand: Option<Errand>,
    /// The node that the request is for is not the one that is here now.
    pub(super) void: bool,
    /// A write did not go as it should: read before anything else (P31).
    pub(super) stale: bool,
    pub(super) failures: u32,
    pub(super) retry_at: Option<Mono>,
    /// When the last live read that succeeded was sent.
    pub(super) check: Option<Mono>,
    /// What an observer was told that would have been written.
    pub(super) shown: Shown,
    pub(super) pods: BTreeMap<Uid, Pod>,
}

impl Seat {
    pub(super) fn has_lease(&self) -> bool {
        self.lease.is_some_and(|lease| lease.renewed.is_some())
    }

    /// It counts as one whose grace period is nearly over.
    pub(super) fn is_overdue(&self) -> bool {
        matches!(self.tally, Some((_, Tally::Overdue)))
    }

    pub(super) fn is_vacant(&self) -> bool {
        self.known.is_none() && self.lease.is_none() && self.pods.is_empty() && self.errand.is_none()
    }

    /// Forgets everything that belonged to one incarnation of the node.
    pub(super) fn forget_node(&mut self) {
        self.known = None;
        self.void |= self.errand.is_some();
        self.stale = false;
        self.failures = 0;
        self.retry_at = None;
        self.check = None;
        self.shown = Shown::default();
    }
}

/// One incarnation of a node: what every write is decided for (D4).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeRef {
    /// Its name.
    pub name: NodeName,
    /// Its identity.
    pub uid: Uid,
}
