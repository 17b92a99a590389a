//! Stores what is known about a node and of its lease, in few bytes: of a lease two numbers, of taints and conditions a
//! few bits.
//!
//! - Invariant: a heartbeat is a change that this process observes, dated by its own clock (NL-10).

use super::SilenceDeadline;
use super::config::NodeLifecycleConfig;
use super::desired_taints::NodeSituation;
use super::effect::NodeRef;
use super::fact::{ConditionKind, ConditionStatus, LeaseFact, NodeConditions, NodeHealthFact};
use super::managed_taints::ManagedTaints;
use super::node_requests::NodeRequest;
use super::notice::NodeLifecycleNotice;
use super::observation_gaps::{Observation, WatchedKind};
use super::zone::ZoneKey;
use crate::identity::{NodeName, ResourceVersion, Uid};
use crate::taint_start;
use crate::time::{Mono, Now, Wall};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::num::NonZeroU64;

mod ingest;

/// What is known under a node's name: the node, if it exists, and its lease.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct NodeFacts {
    state: Option<NodeHealthState>,
    lease: Option<LeaseState>,
}

impl NodeFacts {
    /// Whether the known state is newer than this, even if it has another UID: versions are ordered across all objects.
    fn is_newer_than(&self, fact: &NodeHealthFact) -> bool {
        let newest = self.state.as_ref().and_then(|known| known.version);
        fact.version.is_some() && fact.version < newest
    }

    /// Applies a node that has the UID of the known one, if there is one. Returns whether it shows a heartbeat
    /// (NL-10).
    fn apply_node(&mut self, fact: NodeHealthFact, now: Now, notices: &mut Vec<NodeLifecycleNotice>) -> bool {
        let node = NodeRef { name: fact.name.clone(), uid: fact.uid.clone() };
        let Some(before) = self.state.take() else {
            // The first observation of a node, also after a restart (NL-11): it has a whole grace period, and keeps its
            // taints (NL-40). A node that never posted a status counts from its creation.
            let has_ready = fact.conditions.iter().any(|condition| condition.kind == ConditionKind::Ready);
            let created = fact.created.and_then(|created| taint_start::latest(created, now));
            let probe = created.filter(|_| !has_ready && !self.has_lease()).unwrap_or(now.mono);
            let state = NodeHealthState::new(fact, probe.min(now.mono), now);
            if state.conditions.is_obscure() {
                notices.push(NodeLifecycleNotice::NotUnderstood(node.name.clone()));
            }
            notices.push(NodeLifecycleNotice::Registered(node));
            self.state = Some(state);
            return true;
        };
        let mut state = NodeHealthState::new(fact, before.probe, now);
        let is_renewed = state.shows_life_since(&before);
        if is_renewed {
            state.probe = now.mono;
        }
        if state.conditions.ready() == before.conditions.ready() {
            state.ready_since = before.ready_since;
        }
        if state.conditions.is_obscure() && !before.conditions.is_obscure() {
            notices.push(NodeLifecycleNotice::NotUnderstood(node.name.clone()));
        }
        self.state = Some(state);
        if before.is_ready() && self.is_down() {
            notices.push(NodeLifecycleNotice::BecameNotReady(node));
        }
        is_renewed
    }

    /// Removes the node.
    fn remove_node(&mut self) {
        self.state = None;
    }

    /// Applies a lease. Returns whether it is renewed (NL-10), whatever its time says, and whether the lease appeared
    /// or was of another kind before. A late event changes nothing, unless it is listed.
    fn apply_lease(&mut self, fact: &LeaseFact, listed: bool) -> (bool, bool) {
        let is_late = self.lease.is_some_and(|seen| seen.is_newer_than(fact));
        if is_late && !listed {
            return (false, false);
        }
        let before = self.lease.replace(LeaseState::new(fact));
        let is_renewed = fact.renewed.is_some() && before.map(|seen| seen.renewed) != Some(fact.renewed);
        let same_kind = before
            .is_some_and(|seen| !seen.is_undecodable && seen.renewed.is_some() == fact.renewed.is_some());
        (is_renewed && !is_late, !same_kind)
    }

    /// Removes the lease. Returns whether there was one.
    fn remove_lease(&mut self) -> bool {
        self.lease.take().is_some()
    }

    /// The node or the lease exists and cannot be decoded: a node keeps its taints, and counts as before (D11). Returns
    /// whether that is new.
    fn set_undecodable(&mut self, kind: WatchedKind) -> bool {
        if kind == WatchedKind::Leases {
            let before = self.lease.replace(LeaseState::UNDECODABLE);
            return !before.is_some_and(|seen| seen.is_undecodable);
        }
        let Some(known) = &mut self.state else { return false };
        known.seen = true;
        !core::mem::replace(&mut known.is_undecodable, true)
    }

    /// A list of nodes or leases starts.
    fn list_started(&mut self, kind: WatchedKind) {
        match (kind, &mut self.state, &mut self.lease) {
            (WatchedKind::Nodes, Some(known), _) => known.seen = false,
            (WatchedKind::Leases, _, Some(lease)) => lease.seen = false,
            _ => {}
        }
    }

    /// The node with this UID exists.
    fn set_seen(&mut self, uid: &Uid) {
        self.state.iter_mut().filter(|known| known.uid == *uid).for_each(|known| known.seen = true);
    }

    /// Whether the node or the lease is known and was not in the list.
    fn is_unlisted(&self, kind: WatchedKind) -> bool {
        match kind {
            WatchedKind::Nodes => self.state.as_ref().is_some_and(|known| !known.seen),
            WatchedKind::Leases => self.lease.is_some_and(|lease| !lease.seen),
            WatchedKind::Pods => false,
        }
    }

    /// Returns the node, if it exists.
    pub(super) fn node_ref(&self, name: &NodeName) -> Option<NodeRef> {
        let uid = self.state.as_ref()?.uid.clone();
        Some(NodeRef { name: name.clone(), uid })
    }

    /// Whether there is neither node nor lease.
    pub(super) fn is_empty(&self) -> bool {
        self.state.is_none() && self.lease.is_none()
    }

    /// Whether `Ready` is True.
    pub(super) fn is_ready(&self) -> bool {
        self.state.as_ref().is_some_and(NodeHealthState::is_ready)
    }

    /// Whether `Ready` is False or Unknown: its pods are not ready either (NL-17).
    pub(super) fn is_down(&self) -> bool {
        let ready = self.state.as_ref().and_then(|known| known.conditions.ready());
        matches!(ready, Some(ConditionStatus::False | ConditionStatus::Unknown))
    }

    fn has_lease(&self) -> bool {
        self.lease.is_some_and(|lease| lease.renewed.is_some())
    }

    /// Records a heartbeat. Returns whether the node exists.
    fn set_renewed(&mut self, now: Mono) -> bool {
        self.state.as_mut().map(|known| known.probe = now).is_some()
    }

    /// Until when a node's silence is no longer than its grace period: a whole grace period from its last heartbeat
    /// (NL-10, NL-11), and from when this process could have observed one (S7). `None`: unknown.
    pub(super) fn silence_deadline(
        &self,
        observation: &Observation,
        config: &NodeLifecycleConfig,
    ) -> SilenceDeadline {
        SilenceDeadline(self.deadline(observation, config))
    }

    fn deadline(&self, observation: &Observation, config: &NodeLifecycleConfig) -> Option<Mono> {
        let known = self.state.as_ref().filter(|known| !known.is_undecodable)?;
        if !observation.is_synced() || self.lease.is_some_and(|lease| lease.is_undecodable) {
            return None;
        }
        let watched = observation.since(self.has_lease())?.plus(config.monitor_grace());
        Some(known.probe.plus(config.grace_period(known.conditions.ready().is_some())).max(watched))
    }

    /// Whether the node's object can be decoded, if it exists.
    pub(super) fn is_decodable(&self) -> bool {
        self.state.as_ref().is_some_and(|known| !known.is_undecodable)
    }

    /// Whether the node or its lease cannot be understood (D11).
    pub(super) fn is_not_understood(&self) -> bool {
        let obscure = |known: &NodeHealthState| known.is_undecodable || known.conditions.is_obscure();
        self.state.as_ref().is_some_and(obscure) || self.lease.is_some_and(|lease| lease.is_undecodable)
    }

    /// Returns what decides about the node's taints, if it exists.
    pub(super) fn situation(&self, silent: bool, all_down: bool) -> Option<NodeSituation> {
        let NodeHealthState { conditions, unschedulable, own, .. } = *self.state.as_ref()?;
        Some(NodeSituation { conditions, unschedulable, own, silent, all_down })
    }

    /// Returns the managed taints that the node has.
    pub(super) fn own_taints(&self) -> ManagedTaints {
        self.state.as_ref().map(|known| known.own).unwrap_or_default()
    }

    /// Returns the node's zone, and whether it counts there (NL-25).
    pub(super) fn zone(&self) -> Option<(&ZoneKey, bool)> {
        self.state.as_ref().map(|known| (&known.zone, !known.excluded))
    }

    /// Returns the version that decisions are based on.
    pub(super) fn version(&self) -> Option<ResourceVersion> {
        self.state.as_ref()?.version
    }

    /// Returns when the last heartbeat was observed, and since when `Ready` has its status, both by the local clock.
    pub(super) fn times(&self) -> Option<(Mono, Mono)> {
        self.state.as_ref().map(|known| (known.probe, known.ready_since))
    }

    /// Returns the values of `beta.kubernetes.io/os` and `beta.kubernetes.io/arch` that have to be written (NL-8).
    pub(super) fn missing_labels(&self) -> Option<&[Option<Box<str>>; 2]> {
        self.state.as_ref()?.labels.as_deref()
    }

    /// A write was committed and made this version; ignored if the watch has delivered a newer one.
    pub(super) fn committed(&mut self, version: Option<ResourceVersion>, request: &NodeRequest) {
        let Some(known) = self.state.as_mut().filter(|known| version >= known.version) else { return };
        known.version = version;
        match request {
            NodeRequest::Taints { add, remove, .. } => known.own = known.own.without(*remove).and(*add),
            NodeRequest::Conditions { .. } => known.conditions.expire(),
            NodeRequest::Labels => known.labels = None,
            NodeRequest::Read { .. } => {}
        }
    }
}

/// The last observed state of a node's lease: the renewal is only compared (NL-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct LeaseState {
    renewed: Option<Wall>,
    version: Option<NonZeroU64>,
    /// Whether it is renewed is unknown (D11).
    is_undecodable: bool,
    /// Observed in the current list; meaningless outside of a list.
    seen: bool,
}

const _: () = assert!(size_of::<Option<LeaseState>>() <= 40, "all memory of a lease; it uses no heap");

impl LeaseState {
    const UNDECODABLE: Self = Self { renewed: None, version: None, is_undecodable: true, seen: true };

    fn new(fact: &LeaseFact) -> Self {
        let version = fact.version.and_then(|version| NonZeroU64::new(version.0));
        Self { renewed: fact.renewed, version, is_undecodable: false, seen: true }
    }

    fn is_newer_than(&self, fact: &LeaseFact) -> bool {
        let version = self.version.map(|version| ResourceVersion(version.get()));
        fact.version.is_some() && fact.version < version
    }
}

/// What is known about an existing node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct NodeHealthState {
    uid: Uid,
    version: Option<ResourceVersion>,
    zone: ZoneKey,
    conditions: NodeConditions,
    heartbeat: Option<Wall>,
    /// When the last heartbeat was observed, by the local clock (NL-10).
    probe: Mono,
    /// Since when `Ready` has its status, as far as is known.
    ready_since: Mono,
    own: ManagedTaints,
    unschedulable: bool,
    excluded: bool,
    /// Its object could not be decoded the last time: nothing is added or removed (D11).
    is_undecodable: bool,
    /// Observed in the current list; meaningless outside of a list.
    seen: bool,
    /// Labels of operating system and architecture that have to be written.
    labels: Option<Box<[Option<Box<str>>; 2]>>,
}

impl NodeHealthState {
    fn new(fact: NodeHealthFact, probe: Mono, now: Now) -> Self {
        let platform = fact.platform;
        let os = platform.os.filter(|os| platform.beta_os.as_ref() != Some(os));
        let arch = platform.arch.filter(|arch| platform.beta_arch.as_ref() != Some(arch));
        // A controller writes the moment of creation when it declares a node silent that never posted a status (NL-12):
        // it is not a heartbeat.
        let ready = fact.conditions.iter().find(|condition| condition.kind == ConditionKind::Ready);
        let heartbeat = ready.and_then(|ready| ready.heartbeat).filter(|at| fact.created != Some(*at));
        Self {
            heartbeat,
            conditions: NodeConditions::of(&fact.conditions),
            own: ManagedTaints::of(&fact.taints),
            uid: fact.uid,
            version: fact.version,
            zone: fact.zone,
            probe,
            ready_since: now.mono,
            unschedulable: fact.unschedulable,
            excluded: fact.excluded,
            is_undecodable: false,
            seen: true,
            labels: (os.is_some() || arch.is_some()).then(|| Box::new([os, arch])),
        }
    }

    fn is_ready(&self) -> bool {
        self.conditions.ready() == Some(ConditionStatus::True)
    }

    /// Whether this shows a heartbeat since `before` (NL-10): its heartbeat time changed; or `Ready` appeared, unless a
    /// controller added it for a silent node, or disappeared (NL-11).
    fn shows_life_since(&self, before: &Self) -> bool {
        let beats = self.heartbeat.is_some() && self.heartbeat != before.heartbeat;
        let came = match (before.conditions.ready(), self.conditions.ready()) {
            (None, Some(status)) => status != ConditionStatus::Unknown,
            (Some(_), None) => true,
            _ => false,
        };
        beats || came
    }
}
