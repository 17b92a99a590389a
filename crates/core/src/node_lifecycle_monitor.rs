//! Checks a node lifecycle engine from outside: whether the taints and conditions that it requests are right, by the inputs that it
//! got.
//!
//! - Invariant: independent of the engine. It keeps its own facts, and shares only the configuration with it.
//! - Invariant: it requires less than the engine does, and what it does not know is no violation: a record may begin in the middle.
//! - See `docs/invariants.md` for the properties.

mod monitored_health;
mod monitored_lease;
#[cfg(test)]
mod tests;

use crate::engine::{Engine as _, LiveRead};
use crate::engine_monitor::{EngineMonitor, RequestProperty, RequestViolation};
use crate::identity::NodeName;
use crate::node_lifecycle::{
    LeaseFact, LiveNodeAndLease, ManagedTaints, NodeHealthFact, NodeLifecycleConfig, NodeLifecycleEffect,
    NodeLifecycleEngine, NodeLifecycleInput, TaintCause, WatchedKind, ZoneKey, ZoneState,
};
use crate::object_event::ObjectEvent;
use crate::time::{Mono, Now, Span};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use monitored_health::MonitoredHealth;
use monitored_lease::MonitoredLease;

/// How old the live read of a node and its lease may be when a request is decided: the hard limit.
const CONFIRMED_AGE_MAX: Span = Span::from_secs(5);

/// Microseconds for a token: this by the rate, which is in millionths of a token per second.
const MICROS_TIMES_MILLIONTHS: u64 = 1_000_000_000_000;

/// When a zone got its last NoExecute taint.
#[derive(Clone, Copy, Debug)]
struct ZoneTurns {
    /// The last one, or the earliest moment from which tokens grow.
    last: Mono,
    /// The one before, if the write of the last one fails.
    before: Mono,
}

/// The monitor of one engine.
#[derive(Clone, Debug, Default)]
pub struct NodeLifecycleMonitor {
    config: NodeLifecycleConfig,
    /// It has seen all inputs of the engine.
    knows_all: bool,
    nodes: BTreeMap<NodeName, MonitoredHealth>,
    leases: BTreeMap<NodeName, MonitoredLease>,
    zones: BTreeMap<ZoneKey, ZoneTurns>,
    /// Renewals of leases would have been observed since then; heartbeats in nodes, for those without a lease.
    leases_since: Option<Mono>,
    nodes_since: Option<Mono>,
    /// The streams that are lost, since when.
    lost: BTreeMap<WatchedKind, Mono>,
}

impl NodeLifecycleMonitor {
    /// The monitor of an engine that has got no input yet.
    pub fn of_new_engine(config: NodeLifecycleConfig) -> Self {
        Self { config, knows_all: true, ..Self::default() }
    }

    /// The monitor of an engine that has got inputs before: it checks what it learns of from now on.
    pub fn of_running_engine(config: NodeLifecycleConfig) -> Self {
        Self { config, ..Self::default() }
    }

    fn check_taints(
        &mut self,
        node: &NodeName,
        (add, is_first, silent): (ManagedTaints, bool, bool),
        now: Mono,
    ) -> Result<(), (RequestProperty, String)> {
        if !is_first {
            return Ok(());
        }
        debug_assert!(!add.is_empty(), "a NoExecute taint is added");
        if silent {
            self.check_silent(node, now)?;
        }
        self.check_read(node, now)?;
        if self.are_all_down() {
            return Err((RequestProperty::Rate, "no node of any zone is ready".into()));
        }
        self.take_turn(node, now)
    }

    /// The node's live read is recent.
    fn check_read(&self, node: &NodeName, now: Mono) -> Result<(), (RequestProperty, String)> {
        match self.nodes.get(node).and_then(MonitoredHealth::read_sent) {
            Some(sent) if now.since(sent) <= CONFIRMED_AGE_MAX => Ok(()),
            Some(sent) => {
                let age = now.since(sent).as_micros() / 1_000;
                Err((RequestProperty::Silent, format!("it was read {age} ms before")))
            }
            None if self.knows_all => Err((RequestProperty::Silent, "it was not read".into())),
            None => Ok(()),
        }
    }

    /// No heartbeat was observed for a whole grace period, in which heartbeats would have been observed.
    fn check_silent(&self, node: &NodeName, now: Mono) -> Result<(), (RequestProperty, String)> {
        self.check_read(node, now)?;
        let Some(known) = self.nodes.get(node) else { return Ok(()) };
        let of_nodes = self.nodes_since.filter(|_| !self.leases.contains_key(node));
        let observed = self.leases_since.max(of_nodes);
        let Some(since) = known.last_sign(self.knows_all).max(observed) else { return Ok(()) };
        let length = now.since(since);
        if length >= self.config.grace_min() {
            return Ok(());
        }
        let seconds = length.as_micros() / 1_000_000;
        Err((
            RequestProperty::Silent,
            format!(
                "its last heartbeat was observed {seconds} s before, or nodes were not observed until then"
            ),
        ))
    }

    /// Whether no node is ready, of those that count and are known.
    fn are_all_down(&self) -> bool {
        let mut counted = self.nodes.values().filter(|node| node.counts()).peekable();
        self.knows_all && counted.peek().is_some() && counted.all(MonitoredHealth::is_down)
    }

    /// A zone's next NoExecute taint.
    fn take_turn(&mut self, node: &NodeName, now: Mono) -> Result<(), (RequestProperty, String)> {
        let Some(known) = self.nodes.get(node) else { return Ok(()) };
        let rate = self.config.taint_rate(ZoneState::Normal, 1).as_millionths();
        let zone = known.zone().clone();
        let Some(turns) = self.zones.get_mut(&zone) else { return Ok(()) };
        let pause = (rate > 0).then(|| MICROS_TIMES_MILLIONTHS / rate);
        let length = now.since(turns.last);
        *turns = ZoneTurns { last: now, before: turns.last };
        // A token grows in whole microseconds.
        match pause {
            Some(pause) if length.as_micros().unsigned_abs() + 1 >= pause => Ok(()),
            _ => {
                let (milliseconds, per_second) = (length.as_micros() / 1_000, rate as f64 / 1e6);
                Err((
                    RequestProperty::Rate,
                    format!(
                        "another node of zone {zone} got its taint {milliseconds} ms before, at a rate of {per_second} a second"
                    ),
                ))
            }
        }
    }

    fn node_event(&mut self, event: &ObjectEvent<NodeHealthFact>, now: Mono) {
        match event {
            ObjectEvent::ListStarted { .. } => {
                self.nodes.values_mut().for_each(MonitoredHealth::begin_list);
            }
            ObjectEvent::Applied { fact, listed } => self.node_applied(fact, *listed, now),
            ObjectEvent::Undecodable(object) => {
                if let Some(known) = self.nodes.get_mut(&object.node_name()) {
                    known.fail_to_decode();
                }
            }
            ObjectEvent::Deleted(object) => {
                let name = object.node_name();
                if self.nodes.get(&name).is_some_and(|known| known.is(object.uid.as_ref())) {
                    self.nodes.remove(&name);
                }
            }
            ObjectEvent::ListCompleted => {
                self.nodes.retain(|_, node| node.was_listed());
                self.recovered(WatchedKind::Nodes, now);
            }
            ObjectEvent::ListAborted => self.nodes.values_mut().for_each(MonitoredHealth::abort_list),
        }
    }

    fn node_applied(&mut self, fact: &NodeHealthFact, listed: bool, now: Mono) {
        self.zones.entry(fact.zone.clone()).or_insert(ZoneTurns { last: now, before: now });
        match self.nodes.get_mut(&fact.name) {
            Some(known) if known.is(Some(&fact.uid)) => known.apply(fact, listed, now),
            _ => {
                self.nodes.insert(fact.name.clone(), MonitoredHealth::new(fact, now));
            }
        }
    }

    fn lease_event(&mut self, event: &ObjectEvent<LeaseFact>, now: Mono) {
        match event {
            ObjectEvent::ListStarted { .. } => {
                self.leases.values_mut().for_each(|lease| lease.set_listed(false));
            }
            ObjectEvent::Applied { fact, listed } => self.lease_applied(fact, *listed, now),
            ObjectEvent::Undecodable(object) => {
                if let Some(known) = self.leases.get_mut(&object.node_name()) {
                    known.set_listed(true);
                }
            }
            ObjectEvent::Deleted(object) => drop(self.leases.remove(&object.node_name())),
            ObjectEvent::ListCompleted => {
                self.leases.retain(|_, lease| lease.was_listed());
                self.recovered(WatchedKind::Leases, now);
            }
            ObjectEvent::ListAborted => {
                self.leases.values_mut().for_each(|lease| lease.set_listed(true));
            }
        }
    }

    fn lease_applied(&mut self, fact: &LeaseFact, listed: bool, now: Mono) {
        match self.leases.get_mut(&fact.node) {
            Some(known) => {
                if known.apply(fact, listed)
                    && let Some(node) = self.nodes.get_mut(&fact.node)
                {
                    node.renew(now);
                }
            }
            None => drop(self.leases.insert(fact.node.clone(), MonitoredLease::new(fact))),
        }
    }

    /// A live read may show less than what its stream has shown since it was sent.
    fn confirmed(&mut self, node: &NodeName, sent: Mono, live: &LiveNodeAndLease, now: Mono) {
        if let LiveRead::Found(fact) = &live.node {
            self.node_applied(fact, false, now);
        }
        if let LiveRead::Found(fact) = &live.lease {
            self.lease_applied(fact, false, now);
        }
        if let Some(known) = self.nodes.get_mut(node) {
            known.confirm(sent);
        }
    }

    /// A stream shows everything again.
    fn recovered(&mut self, stream: WatchedKind, now: Mono) {
        if let Some(since) = self.lost.remove(&stream) {
            self.gap(stream, since, now);
        }
    }

    /// A stream would not have shown heartbeats since then.
    fn gap(&mut self, stream: WatchedKind, since: Mono, now: Mono) {
        if now.since(since) <= self.config.gap_max() {
            return;
        }
        match stream {
            WatchedKind::Leases => self.leases_since = Some(now),
            WatchedKind::Nodes => self.nodes_since = Some(now),
            WatchedKind::Pods => {}
        }
    }
}

impl EngineMonitor for NodeLifecycleMonitor {
    type Engine = NodeLifecycleEngine;

    fn of(engine: &NodeLifecycleEngine) -> Self {
        let (is_new, config) = (!engine.is_synced() && engine.stats().nodes == 0, engine.config().clone());
        if is_new { Self::of_new_engine(config) } else { Self::of_running_engine(config) }
    }

    fn input(&mut self, input: &NodeLifecycleInput, now: Now) {
        let now = now.mono;
        match input {
            NodeLifecycleInput::Nodes(event) => self.node_event(event, now),
            NodeLifecycleInput::Leases(event) => self.lease_event(event, now),
            NodeLifecycleInput::StreamLost { stream, since } => {
                self.lost.entry(*stream).and_modify(|lost| *lost = (*lost).min(*since)).or_insert(*since);
            }
            NodeLifecycleInput::StreamRecovered { stream } => self.recovered(*stream, now),
            NodeLifecycleInput::ProcessPaused { since } => self.gap(WatchedKind::Leases, *since, now),
            NodeLifecycleInput::BecameLeader => {
                self.zones.values_mut().for_each(|turns| *turns = ZoneTurns { last: now, before: now });
            }
            NodeLifecycleInput::Confirmed { node, sent, result: Ok(live) } => {
                self.confirmed(node, *sent, live, now);
            }
            NodeLifecycleInput::Written { node, result: Err(_) } => {
                // The write may have no effect, so its token may have returned.
                if let Some(turns) = self.nodes.get(node).and_then(|known| self.zones.get_mut(known.zone())) {
                    turns.last = turns.before;
                }
            }
            _ => {}
        }
    }

    fn effect(&mut self, effect: &NodeLifecycleEffect, now: Now) -> Result<(), RequestViolation> {
        let (node, checked) = match effect {
            NodeLifecycleEffect::PatchTaints { node, add, remove, why, .. } => {
                let is_first = !add.no_execute().is_empty() && remove.no_execute().is_empty();
                let silent = matches!(why, TaintCause::Silent { .. });
                (node, self.check_taints(&node.name, (*add, is_first, silent), now.mono))
            }
            NodeLifecycleEffect::SetConditionsUnknown { node, .. } => {
                (node, self.check_silent(&node.name, now.mono))
            }
            NodeLifecycleEffect::ReadNode { .. }
            | NodeLifecycleEffect::PatchLabels { .. }
            | NodeLifecycleEffect::SetPodNotReady { .. } => return Ok(()),
        };
        checked.map_err(|(property, reason)| RequestViolation {
            property,
            at: now,
            node: node.name.clone(),
            pod: None,
            reason,
        })
    }
}
