//! Caches nodes, leases and pods in few bytes: of a lease two numbers, of taints and conditions a few bits.

use super::desired_taints::{self, NodeSituation, TaintPlan};
use super::dry_run::DryRunState;
use super::effect::TaintCause;
use super::fact::{ConditionStatus, LeaseFact, NodeConditions, NodeHealthFact, PlatformLabels};
use super::managed_taints::ManagedTaints;
use super::zone::{ZoneKey, ZoneMembership};
use crate::identity::{ResourceVersion, Uid};
use crate::time::{Mono, Now, Wall};
use alloc::boxed::Box;
use core::num::NonZeroU64;

/// What was last seen of a node's lease: the renewal only to be compared (NL-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct LeaseState {
    pub(super) renewed: Option<Wall>,
    version: Option<NonZeroU64>,
    /// It can't be decoded: whether it is renewed is not known (D11).
    pub(super) obscured: bool,
    /// Seen in the running list; outside one it means nothing.
    pub(super) seen: bool,
}

const _: () = assert!(size_of::<Option<LeaseState>>() <= 40, "all that is kept of a lease; no heap besides");

impl LeaseState {
    pub(super) fn new(fact: &LeaseFact) -> Self {
        let version = fact.version.and_then(|version| NonZeroU64::new(version.0));
        Self { renewed: fact.renewed, version, obscured: false, seen: true }
    }

    pub(super) const fn unreadable() -> Self {
        Self { renewed: None, version: None, obscured: true, seen: true }
    }

    pub(super) fn is_newer_than(&self, fact: &LeaseFact) -> bool {
        let version = self.version.map(|version| ResourceVersion(version.get()));
        fact.version.is_some() && fact.version < version
    }
}

/// Labels to be written (NL-8).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct MissingLabels {
    pub(super) os: Option<Box<str>>,
    pub(super) arch: Option<Box<str>>,
}

impl MissingLabels {
    fn of(platform: PlatformLabels) -> Option<Box<Self>> {
        let os = platform.os.filter(|os| platform.beta_os.as_ref() != Some(os));
        let arch = platform.arch.filter(|arch| platform.beta_arch.as_ref() != Some(arch));
        (os.is_some() || arch.is_some()).then(|| Box::new(Self { os, arch }))
    }
}

/// What is known of a node that exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeHealthState {
    pub(super) uid: Uid,
    pub(super) version: Option<ResourceVersion>,
    pub(super) zone: ZoneKey,
    pub(super) conditions: NodeConditions,
    pub(super) heartbeat: Option<Wall>,
    /// When it was last heard of, by our clock (NL-10).
    pub(super) probe: Mono,
    /// Since when, by our knowledge, `Ready` says what it says.
    pub(super) ready_since: Mono,
    pub(super) own: ManagedTaints,
    pub(super) unschedulable: bool,
    pub(super) excluded: bool,
    /// Its object could not be decoded lately: nothing is put on or taken off (D11).
    pub(super) obscured: bool,
    /// Seen in the running list; outside one it means nothing.
    pub(super) seen: bool,
    pub(super) labels: Option<Box<MissingLabels>>,
}

impl NodeHealthState {
    pub(super) fn new(fact: NodeHealthFact, probe: Mono, now: Now) -> Self {
        Self {
            heartbeat: fact.heartbeat(),
            conditions: NodeConditions::of(&fact.conditions),
            own: ManagedTaints::of(&fact.taints),
            uid: fact.uid,
            version: fact.version,
            zone: fact.zone,
            probe,
            ready_since: now.mono,
            unschedulable: fact.unschedulable,
            excluded: fact.excluded,
            obscured: false,
            seen: true,
            labels: MissingLabels::of(fact.platform),
        }
    }

    pub(super) fn is_ready(&self) -> bool {
        self.conditions.ready() == Some(ConditionStatus::True)
    }

    /// `Ready` says False or Unknown: its pods are not ready either (NL-17).
    pub(super) fn is_down(&self) -> bool {
        matches!(self.conditions.ready(), Some(ConditionStatus::False | ConditionStatus::Unknown))
    }

    pub(super) fn tally(&self, (silent, overdue): (bool, bool), shown: DryRunState) -> ZoneMembership {
        match self {
            Self { excluded: true, .. } => ZoneMembership::Excluded,
            known if !known.is_ready() => ZoneMembership::NotReady,
            _ if silent && shown.declared => ZoneMembership::WouldBeTainted,
            _ if silent => ZoneMembership::Suspect,
            _ if overdue => ZoneMembership::Overdue,
            _ => ZoneMembership::Ready,
        }
    }

    pub(super) fn plan(&self, silent: bool, all_down: bool) -> TaintPlan {
        self.plan_as(self.conditions, self.own, silent, all_down)
    }

    /// The plan if its conditions and own taints were these.
    pub(super) fn plan_as(
        &self,
        conditions: NodeConditions,
        own: ManagedTaints,
        silent: bool,
        all_down: bool,
    ) -> TaintPlan {
        desired_taints::plan(&NodeSituation {
            conditions,
            unschedulable: self.unschedulable,
            own,
            silent,
            all_down,
        })
    }
}

/// The request that is out for a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum InFlightWrite {
    /// Reading; on behalf of a turn in this zone, if any.
    Confirm { turn: Option<ZoneKey> },
    /// Writing taints; with this zone's token, if any, which it `returns` if it was certainly not used.
    Taint {
        add: ManagedTaints,
        remove: ManagedTaints,
        token: Option<ZoneKey>,
        returns: bool,
        why: TaintCause,
    },
    /// Writing conditions.
    Declare { since: Mono },
    /// Writing labels.
    Label,
}

/// In which queue a node stands; in at most one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum QueuePosition {
    #[default]
    NotQueued,
    Immediate(WritePriority),
    SetConditionsUnknown(Mono),
    Zone {
        zone: ZoneKey,
        since: Mono,
        silent: bool,
    },
    Later(Mono),
}

/// What comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WritePriority {
    /// Pods stop being sent away.
    RemoveTaints,
    /// Anything else that need not wait.
    Repair,
}

/// A name's place: the node, if it exists, and its lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct NodeHealthEntry {
    pub(super) state: Option<NodeHealthState>,
    pub(super) lease: Option<LeaseState>,
    /// It has been silent for longer than its grace period, since this moment.
    pub(super) silent: Option<Mono>,
    pub(super) wakeup: Option<Mono>,
    pub(super) tally: Option<(ZoneKey, ZoneMembership)>,
    pub(super) queue_position: QueuePosition,
    /// Boxed: few nodes have one.
    pub(super) in_flight: Option<Box<InFlightWrite>>,
    /// The node that the request is for is not the one that is here now.
    pub(super) void: bool,
    /// A write did not go as it should: read before anything else (P31).
    pub(super) stale: bool,
    pub(super) failures: u32,
    pub(super) retry_at: Option<Mono>,
    /// When the last live read that succeeded was sent.
    pub(super) check: Option<Mono>,
    /// What an observer was told that would have been written.
    pub(super) dry_run: DryRunState,
}

impl NodeHealthEntry {
    pub(super) fn has_lease(&self) -> bool {
        self.lease.is_some_and(|lease| lease.renewed.is_some())
    }

    /// It counts as one whose grace period is nearly over.
    pub(super) fn is_overdue(&self) -> bool {
        matches!(self.tally, Some((_, ZoneMembership::Overdue)))
    }

    pub(super) fn is_vacant(&self) -> bool {
        self.state.is_none() && self.lease.is_none() && self.in_flight.is_none()
    }

    /// Forgets everything that belonged to one incarnation of the node.
    pub(super) fn forget_node(&mut self) {
        self.state = None;
        self.void |= self.in_flight.is_some();
        self.stale = false;
        self.failures = 0;
        self.retry_at = None;
        self.check = None;
        self.dry_run = DryRunState::default();
    }
}
