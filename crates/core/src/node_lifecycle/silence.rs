//! Evaluates a node after a change: whether it is silent, how its zone counts it, and in which queue it waits.
//!
//! - Invariant: the result does not depend on the order of facts; a node is in at most one queue (NL-43).

use super::NodeLifecycleEngine;
use super::cache::{NodeHealthEntry, QueuePosition, WritePriority};
use super::managed_taints::ManagedTaint;
use crate::engine::Engine;
use crate::identity::NodeName;
use crate::time::{Mono, Span};
use alloc::vec::Vec;

/// The clock's resolution: strictly later is one of these later.
const TICK: Span = Span::from_micros(1);

impl NodeLifecycleEngine {
    /// Until when a node's silence is no longer than its grace period: counted from its last sign of life (NL-10,
    /// NL-11), and from when we could have heard one (S7), a whole grace period each. `None`: it can't be told.
    pub(super) fn patience(&self, entry: &NodeHealthEntry) -> Option<Mono> {
        let known = entry.state.as_ref().filter(|known| !known.obscured)?;
        if !self.is_synced() || entry.lease.is_some_and(|lease| lease.obscured) {
            return None;
        }
        let grace = match known.conditions.ready() {
            Some(_) => self.config.monitor_grace,
            None => self.config.startup_grace,
        };
        let watched = self.observation.since(entry.has_lease())?.plus(self.config.monitor_grace);
        Some(known.probe.plus(grace).max(watched))
    }

    /// Everything that follows for one node.
    pub(super) fn reassess(&mut self, name: &NodeName, now: Mono) {
        self.weigh(name, now);
        self.place(name);
    }

    /// Everything that follows for all nodes: what is known of ourselves has changed.
    pub(super) fn reassess_all(&mut self, now: Mono) {
        let names: Vec<NodeName> = self.entries.keys().cloned().collect();
        for name in names {
            self.reassess(&name, now);
        }
    }

    /// Whether it is silent, and how it counts in its zone.
    fn weigh(&mut self, name: &NodeName, now: Mono) {
        let Some(entry) = self.entries.get(name) else { return };
        let patience = self.patience(entry);
        // Strictly after the grace period (NL-12).
        let silent = patience.filter(|until| *until < now);
        let overdue = patience.is_some_and(|until| self.overdue_from(until) < now);
        let tally = entry
            .state
            .as_ref()
            .map(|known| (known.zone.clone(), known.tally((silent.is_some(), overdue), entry.dry_run)));
        self.set_wake(name, self.wake_of(patience, now));
        if let Some(entry) = self.entries.get_mut(name) {
            entry.silent = silent;
        }
        self.set_tally(name, tally, now);
    }

    fn overdue_from(&self, patience: Mono) -> Mono {
        patience.minus(self.config.overdue_max())
    }

    /// When time alone changes something: it becomes overdue, and then silent.
    fn wake_of(&self, patience: Option<Mono>, now: Mono) -> Option<Mono> {
        let until = patience.filter(|until| *until >= now)?;
        let overdue = self.overdue_from(until);
        Some(if overdue < now { until } else { overdue }.plus(TICK))
    }

    fn set_wake(&mut self, name: &NodeName, wake: Option<Mono>) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let before = core::mem::replace(&mut entry.wakeup, wake);
        if before == wake {
            return;
        }
        if let Some(before) = before {
            self.wakeups.remove(&(before, name.clone()));
        }
        if let Some(wake) = wake {
            self.wakeups.insert((wake, name.clone()));
        }
    }

    /// A node was heard of just now: the common case, and nothing else has changed.
    pub(super) fn heard_of(&mut self, name: &NodeName, now: Mono) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let Some(known) = &mut entry.state else { return };
        known.probe = now;
        self.observation.last_renewal = Some(now);
        if entry.silent.is_some() || entry.is_overdue() {
            return self.reassess(name, now);
        }
        let patience = self.entries.get(name).and_then(|entry| self.patience(entry));
        self.set_wake(name, self.wake_of(patience, now));
    }

    /// Puts a node into the queue that it belongs in now.
    pub(super) fn place(&mut self, name: &NodeName) {
        self.unplace(name);
        self.unshow(name);
        let Some(entry) = self.entries.get(name) else { return };
        let place = self.place_of(entry);
        match &place {
            QueuePosition::NotQueued => {}
            QueuePosition::Immediate(urgency) => {
                self.todo.insert((*urgency, name.clone()));
            }
            QueuePosition::SetConditionsUnknown(since) => {
                self.declare.insert((*since, name.clone()));
            }
            QueuePosition::Later(at) => {
                self.later.insert((*at, name.clone()));
            }
            QueuePosition::Zone { zone, since, silent } => {
                if let Some(held) = self.zones.get_mut(zone) {
                    let queue = if *silent { &mut held.silent } else { &mut held.unready };
                    queue.insert((*since, name.clone()));
                    self.waiting.insert(zone.clone());
                }
            }
        }
        if let Some(entry) = self.entries.get_mut(name) {
            if place == QueuePosition::NotQueued && entry.in_flight.is_none() {
                entry.failures = 0;
            }
            entry.queue_position = place;
        }
    }

    fn place_of(&self, entry: &NodeHealthEntry) -> QueuePosition {
        let Some(known) = entry.state.as_ref().filter(|known| !known.obscured) else {
            return QueuePosition::NotQueued;
        };
        if !self.is_synced() || entry.in_flight.is_some() {
            return QueuePosition::NotQueued;
        }
        if let Some(at) = entry.retry_at {
            return QueuePosition::Later(at);
        }
        let plan = entry.dry_run.plan(known, entry.silent.is_some(), self.modes.all_down);
        let mend = !plan.add.is_empty()
            || !plan.remove.is_empty()
            || known.labels.is_some() && !entry.dry_run.labels;
        match (plan.queue, entry.silent) {
            _ if !plan.remove.no_execute().is_empty() && !entry.stale => {
                QueuePosition::Immediate(WritePriority::RemoveTaints)
            }
            _ if mend || entry.stale => QueuePosition::Immediate(WritePriority::Repair),
            (_, Some(since)) if plan.declare => QueuePosition::SetConditionsUnknown(since),
            (Some(ManagedTaint::UnreachableNoExecute), Some(since)) => {
                QueuePosition::Zone { zone: known.zone.clone(), since, silent: true }
            }
            (Some(_), _) => {
                QueuePosition::Zone { zone: known.zone.clone(), since: known.ready_since, silent: false }
            }
            (None, _) => QueuePosition::NotQueued,
        }
    }

    /// Takes a node out of whatever queue it stands in.
    pub(super) fn unplace(&mut self, name: &NodeName) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        match core::mem::take(&mut entry.queue_position) {
            QueuePosition::NotQueued => {}
            QueuePosition::Immediate(urgency) => {
                self.todo.remove(&(urgency, name.clone()));
            }
            QueuePosition::SetConditionsUnknown(since) => {
                self.declare.remove(&(since, name.clone()));
            }
            QueuePosition::Later(at) => {
                self.later.remove(&(at, name.clone()));
            }
            QueuePosition::Zone { zone, since, silent } => {
                let Some(held) = self.zones.get_mut(&zone) else { return };
                let queue = if silent { &mut held.silent } else { &mut held.unready };
                queue.remove(&(since, name.clone()));
                if !held.is_waited_for() {
                    self.waiting.remove(&zone);
                }
            }
        }
    }

    /// Nodes whose grace period is over, and those whose pause after a failure is.
    pub(super) fn wake(&mut self, now: Mono) {
        while let Some((_, name)) = self.wakeups.first().filter(|(at, _)| *at <= now).cloned() {
            self.reassess(&name, now);
        }
        while let Some((_, name)) = self.later.first().filter(|(at, _)| *at <= now).cloned() {
            if let Some(entry) = self.entries.get_mut(&name) {
                entry.retry_at = None;
            }
            self.place(&name);
        }
        self.marks.wake(now);
    }

    /// Gives up an entry that holds nothing.
    pub(super) fn clear_seat(&mut self, name: &NodeName) {
        if self.entries.get(name).is_some_and(|entry| entry.is_vacant()) {
            self.unplace(name);
            self.set_wake(name, None);
            self.entries.remove(name);
        }
    }
}
