//! Runs node lifecycle: takes facts about nodes, leases and pods as input and returns the requests that taint nodes.
//!
//! - Invariant: level-triggered; a node counts as silent only after a full grace period of uninterrupted observation
//!   (S7); only managed taints are changed (S8).
//! - See `eviction.rs` for the eviction of pods because of these taints.

use crate::engine::Engine;
use crate::identity::NodeName;
use crate::time::{Mono, Span};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

mod config;
mod desired_taints;
mod dry_run;
mod effect;
pub mod event_messages;
mod explanation;
mod fact;
mod forecast;
mod input;
mod managed_taints;
mod node_facts;
mod node_requests;
mod notice;
mod observation_gaps;
mod pod_readiness;
mod requests;
mod responses;
mod stats;
mod write_queues;
mod zone;
mod zones;

pub use config::{InvalidFlag, NodeLifecycleConfig, NodeLifecycleFlags};
pub use desired_taints::{NodeSituation, TaintPlan, plan};
pub use effect::{NodeLifecycleEffect, NodeRef, TaintCause};
pub use explanation::{DelayReason, NodeHealthExplanation, NodeLifecycleStats};
pub use fact::{
    ConditionExpiry, ConditionKind, ConditionStatus, LeaseFact, NodeCondition, NodeConditions,
    NodeHealthFact, PlatformLabels, PodReadinessFact, expired,
};
pub use forecast::{SilenceForecast, ZoneMember, foresee};
pub use input::{LiveNodeAndLease, NodeLifecycleInput};
pub use managed_taints::{ManagedTaint, ManagedTaints};
pub use notice::NodeLifecycleNotice;
pub use observation_gaps::{ObservationDoubt, WatchedKind};
pub use zone::{TaintRate, ZoneKey, ZoneLabels, ZoneReport, ZoneState};

use desired_taints::cause;
use node_facts::NodeFacts;
use node_requests::NodeRequests;
use observation_gaps::Observation;
use pod_readiness::ReadinessMarks;
use write_queues::{QueuePosition, WriteQueues};
use zones::{ZoneMembership, Zones};

/// The clock's resolution: "strictly later" means later by one of these.
const TICK: Span = Span::from_micros(1);

/// The node health engine. Two engines are equal if their facts and their requests in progress are equal.
///
/// The contract is that of every [`Engine`], and:
/// - The time advances while the machine sleeps. [`Engine::tick`] is called at least once every
///   `--node-monitor-period`: a longer interval means that the process stood still, and every node gets a whole grace
///   period again.
/// - An observer feeds [`NodeLifecycleInput::DryRun`] instead of pulling effects. A process that becomes the leader
///   feeds [`NodeLifecycleInput::BecameLeader`] first.
/// - Feed [`NodeLifecycleInput::OwnRequestSucceeded`] for each request of this process that succeeds, at least once
///   every [`NodeLifecycleConfig::gap_max`]: without it no node is declared silent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeLifecycleEngine {
    config: NodeLifecycleConfig,
    observation: Observation,
    /// Boxed: a tree reserves space for nearly twice as many entries as it holds.
    entries: BTreeMap<NodeName, Box<NodeHealthEntry>>,
    zones: Zones,
    queues: WriteQueues,
    /// When the passing of time alone changes something about a node.
    wakeups: Wakeups,
    marks: ReadinessMarks,
    /// Master disruption mode: NoExecute taints are removed, and none are added (NL-27).
    all_down: bool,
    /// Countdowns must be held (NL-48).
    holds_countdowns: bool,
    /// The latest time for the next call of the engine.
    period_at: Option<Mono>,
    notices: Vec<NodeLifecycleNotice>,
}

/// A node name: what is known about the node, and what follows from that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct NodeHealthEntry {
    facts: NodeFacts,
    requests: NodeRequests,
    dry_run: DryRunState,
    /// It has been silent for longer than its grace period, since this moment.
    silent: Option<Mono>,
    wakeup: Option<Mono>,
    membership: Option<(ZoneKey, ZoneMembership)>,
    position: QueuePosition,
}

impl NodeHealthEntry {
    /// Returns how it counts in its zone.
    fn membership(&self, is_overdue: bool) -> Option<(ZoneKey, ZoneMembership)> {
        let (zone, counts) = self.facts.zone()?;
        let membership = match self.silent {
            _ if !counts => ZoneMembership::Excluded,
            _ if !self.facts.is_ready() => ZoneMembership::NotReady,
            Some(_) if self.dry_run.has_conditions() => ZoneMembership::WouldBeTainted,
            Some(_) => ZoneMembership::Suspect,
            None if is_overdue => ZoneMembership::Overdue,
            None => ZoneMembership::Ready,
        };
        Some((zone.clone(), membership))
    }

    /// Returns the changes of its taints.
    fn plan(&self, all_down: bool) -> Option<TaintPlan> {
        self.facts.situation(self.silent.is_some(), all_down).as_ref().map(plan)
    }

    /// Returns the changes that an observer has not reported yet.
    fn plan_after_dry_run(&self, all_down: bool) -> Option<TaintPlan> {
        let situation = self.facts.situation(self.silent.is_some(), all_down)?;
        Some(plan(&self.dry_run.apply(situation)))
    }

    /// Returns why these taints are written, given what an observer reported before.
    fn cause(&self, add: ManagedTaints, remove: ManagedTaints, all_down: bool) -> TaintCause {
        let Some(situation) = self.facts.situation(self.silent.is_some(), all_down) else {
            return TaintCause::Conditions;
        };
        let situation = NodeSituation { own: self.dry_run.apply(situation).own, ..situation };
        cause(&situation, self.silent, add, remove)
    }

    /// Returns the queue that it belongs to; `None`: no queue.
    fn wanted_position(&self, all_down: bool) -> Option<QueuePosition> {
        if !self.facts.is_decodable() || !self.requests.is_idle() {
            return None;
        }
        if let Some(at) = self.requests.retry_at() {
            return Some(QueuePosition::Later(at));
        }
        let plan = self.plan_after_dry_run(all_down)?;
        let stale = self.requests.needs_read();
        let needs_repair = !plan.add.is_empty()
            || !plan.remove.is_empty()
            || self.facts.missing_labels().is_some() && !self.dry_run.has_labels();
        let (_, ready_since) = self.facts.times()?;
        Some(QueuePosition::of(&plan, stale, needs_repair, self.silent, ready_since))
    }
}

/// The end of a node's grace period; `None`: unknown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct SilenceDeadline(Option<Mono>);

impl SilenceDeadline {
    /// Returns since when the node is silent: strictly after its grace period (NL-12).
    fn silent_since(self, now: Mono) -> Option<Mono> {
        self.0.filter(|until| *until < now)
    }

    /// Whether no more than this is left of the node's grace period: renewals were missed. The last renewals of nodes
    /// that fail together are up to one interval of ten seconds apart; by this limit they count together.
    fn is_overdue(self, overdue_max: Span, now: Mono) -> bool {
        self.0.is_some_and(|until| until.minus(overdue_max) < now)
    }

    /// Returns when the node becomes overdue, or else silent, by the passing of time alone.
    fn wakeup(self, overdue_max: Span, now: Mono) -> Option<Mono> {
        let until = self.0.filter(|until| *until >= now)?;
        let change = if self.is_overdue(overdue_max, now) { until } else { until.minus(overdue_max) };
        Some(change.plus(TICK))
    }
}

/// The moments at which time alone changes something about a node. Each node also stores its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Wakeups(BTreeSet<(Mono, NodeName)>);

impl Wakeups {
    /// Moves a node's wakeup from `before` to `after`.
    fn replace(&mut self, name: &NodeName, before: Option<Mono>, after: Option<Mono>) {
        if before == after {
            return;
        }
        if let Some(before) = before {
            self.0.remove(&(before, name.clone()));
        }
        if let Some(after) = after {
            self.0.insert((after, name.clone()));
        }
    }

    /// Returns the first wakeup.
    fn next(&self) -> Option<&(Mono, NodeName)> {
        self.0.first()
    }
}

/// What would have been written to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct DryRunState {
    conditions: bool,
    labels: bool,
    add: ManagedTaints,
    remove: ManagedTaints,
}

impl DryRunState {
    /// Whether its conditions would be Unknown.
    const fn has_conditions(self) -> bool {
        self.conditions
    }

    /// Whether its labels would be set.
    const fn has_labels(self) -> bool {
        self.labels
    }

    /// Other controllers have added or removed these taints.
    fn forget_taints(&mut self, changed: ManagedTaints) {
        (self.add, self.remove) = (self.add.without(changed), self.remove.without(changed));
    }

    /// Returns the situation that the node would be in.
    fn apply(self, mut situation: NodeSituation) -> NodeSituation {
        situation.own = situation.own.without(self.remove).and(self.add);
        if self.conditions && situation.silent {
            situation.conditions.expire();
        }
        situation
    }

    /// Forgets what is no longer needed: the consequences of a silence once it is over, and everything once there is
    /// nothing to do.
    fn settle(&mut self, is_silent: bool, is_done: bool, labels_missing: bool) {
        self.conditions &= is_silent;
        if is_done {
            *self = Self { labels: self.labels && labels_missing, ..Self::default() };
        }
    }
}

impl NodeLifecycleEngine {
    /// Returns an engine without any facts.
    pub fn new(config: NodeLifecycleConfig) -> Self {
        Self { config, ..Self::default() }
    }

    /// The configuration.
    pub const fn config(&self) -> &NodeLifecycleConfig {
        &self.config
    }

    /// Records the call: a process that stood still before it does not know which nodes sent heartbeats meanwhile (S7).
    fn enter(&mut self, now: Mono) {
        self.period_at.get_or_insert(now.plus(self.config.monitor_period()));
        if self.observation.call(now, &self.config) {
            self.observe_afresh(now);
        }
    }

    fn observe_afresh(&mut self, now: Mono) {
        if self.is_synced() {
            self.notices.push(NodeLifecycleNotice::ObservedAfresh);
        }
        self.reassess_all(now);
    }

    /// Reassesses all nodes: what is known about this process has changed.
    fn reassess_all(&mut self, now: Mono) {
        let names: Vec<NodeName> = self.entries.keys().cloned().collect();
        for name in names {
            self.reassess(&name, now);
        }
    }

    /// Reassesses one node. The result does not depend on the order of facts (NL-43).
    fn reassess(&mut self, name: &NodeName, now: Mono) {
        self.dequeue(name);
        let Some(entry) = self.entries.get_mut(name) else { return };
        let deadline = entry.facts.silence_deadline(&self.observation, &self.config);
        entry.silent = deadline.silent_since(now);
        let after = entry.membership(deadline.is_overdue(self.config.gap_max(), now));
        if entry.membership != after {
            let before = core::mem::replace(&mut entry.membership, after.clone());
            for (zone, from, to) in
                self.zones.move_node(before, after, &self.config, now).into_iter().flatten()
            {
                if self.observation.is_synced() {
                    self.notices.push(NodeLifecycleNotice::ZoneChanged { zone, from, to });
                }
            }
        }
        self.set_wakeup(name, deadline, now);
        self.enqueue(name);
    }

    /// Time alone changes something when the node becomes overdue, and when it becomes silent.
    fn set_wakeup(&mut self, name: &NodeName, deadline: SilenceDeadline, now: Mono) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let wakeup = deadline.wakeup(self.config.gap_max(), now);
        self.wakeups.replace(name, core::mem::replace(&mut entry.wakeup, wakeup), wakeup);
    }

    /// Puts a node into the queue that it belongs to now.
    fn enqueue(&mut self, name: &NodeName) {
        self.dequeue(name);
        let is_synced = self.is_synced();
        let Some(entry) = self.entries.get_mut(name) else { return };
        if entry.dry_run != DryRunState::default() {
            let is_done = entry.plan(self.all_down).is_none_or(|plan| plan == TaintPlan::default());
            entry.dry_run.settle(entry.silent.is_some(), is_done, entry.facts.missing_labels().is_some());
        }
        let position = entry.wanted_position(self.all_down).filter(|_| is_synced).unwrap_or_default();
        if position == QueuePosition::NotQueued {
            entry.requests.settle();
        } else if let Some((zone, _)) = &entry.membership {
            entry.position = position;
            self.queues.put(name, zone, position);
        }
    }

    /// Removes a node from its queue.
    fn dequeue(&mut self, name: &NodeName) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let position = core::mem::take(&mut entry.position);
        if let Some((zone, _)) = &entry.membership {
            self.queues.remove(name, zone, position);
        }
    }

    /// Removes an entry that holds nothing.
    fn remove_if_vacant(&mut self, name: &NodeName) {
        if self.entries.get(name).is_some_and(|entry| entry.facts.is_empty() && entry.requests.is_idle()) {
            self.dequeue(name);
            self.set_wakeup(name, SilenceDeadline(None), Mono::NEVER);
            self.entries.remove(name);
        }
    }

    /// Handles nodes whose grace period is over, and those whose backoff is.
    fn wake(&mut self, now: Mono) {
        while let Some((_, name)) = self.wakeups.next().filter(|(at, _)| *at <= now).cloned() {
            self.reassess(&name, now);
        }
        while let Some((_, name)) = self.queues.next_retry().filter(|(at, _)| *at <= now).cloned() {
            if let Some(entry) = self.entries.get_mut(&name) {
                entry.requests.end_pause();
            }
            self.enqueue(&name);
        }
        self.marks.wake(now);
    }

    /// Updates the modes from all inputs, before anything can be pulled (NL-47).
    fn update_modes(&mut self, now: Mono) {
        if !self.is_synced() {
            return;
        }
        let all_down = self.zones.are_all_down();
        if all_down != self.all_down {
            self.all_down = all_down;
            self.notices.push(NodeLifecycleNotice::EverythingDown(all_down));
            if !all_down {
                // At the end of the mode, every node gets a whole grace period (NL-27).
                self.observation.begin_afresh(now);
            }
            self.reassess_all(now);
        }
        let holds = self.is_to_hold(all_down, now);
        if holds != self.holds_countdowns {
            self.holds_countdowns = holds;
            self.notices.push(NodeLifecycleNotice::HoldCountdowns(holds));
        }
    }

    fn is_to_hold(&self, all_down: bool, now: Mono) -> bool {
        self.config.may_hold_countdowns() && (all_down || self.are_all_silent(self.config.hold_after(), now))
    }

    /// Whether no node at all sent a heartbeat for this long: then single nodes are not the cause.
    fn are_all_silent(&self, span: Span, now: Mono) -> bool {
        !self.zones.is_empty() && self.observation.all_silent_at(span).is_none_or(|at| at <= now)
    }
}

#[cfg(test)]
mod tests;
