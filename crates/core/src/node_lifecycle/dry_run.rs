//! Reports what an observer would do, without pulling effects.
//!
//! - Invariant: simulated as if all requests succeeded, at the zone's rate; what other controllers write takes
//!   precedence. Labels and pods are not reported.

use super::cache::NodeHealthState;
use super::dispatch::{reference, why};
use super::fact::{ConditionStatus, NodeConditions};
use super::managed_taints::ManagedTaints;
use super::{NodeLifecycleEngine, NodeLifecycleNotice, TaintPlan, desired_taints};
use crate::engine::Engine;
use crate::identity::NodeName;
use crate::time::Mono;

/// What would have been written to a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct DryRunState {
    pub(super) declared: bool,
    /// Of labels nothing is told; they hold nothing else up.
    pub(super) labels: bool,
    add: ManagedTaints,
    remove: ManagedTaints,
}

impl DryRunState {
    pub(super) fn is_any(self) -> bool {
        self != Self::default()
    }

    /// The own taints it would have.
    pub(super) fn own(self, known: &NodeHealthState) -> ManagedTaints {
        known.own.without(self.remove).and(self.add)
    }

    /// What is to be done about its taints beyond that.
    pub(super) fn plan(self, known: &NodeHealthState, silent: bool, all_down: bool) -> TaintPlan {
        let conditions = if self.declared && silent { expired(known.conditions) } else { known.conditions };
        known.plan_as(conditions, self.own(known), silent, all_down)
    }

    /// Others have put these on or taken them off.
    pub(super) fn forget(&mut self, changed: ManagedTaints) {
        (self.add, self.remove) = (self.add.without(changed), self.remove.without(changed));
    }

    fn write(&mut self, add: ManagedTaints, remove: ManagedTaints) {
        self.add = self.add.without(remove).and(add);
        self.remove = self.remove.without(add).and(remove);
    }
}

/// What is left of conditions that were declared silent (NL-12).
fn expired(mut conditions: NodeConditions) -> NodeConditions {
    for (kind, _) in desired_taints::expired(&conditions) {
        conditions.set(kind, ConditionStatus::Unknown);
    }
    conditions
}

impl NodeLifecycleEngine {
    /// In place of [`NodeLifecycleEngine::next_effect`] for whoever only watches: tells, by notices, what would be done now, each thing once
    /// until the reason goes. An observer reads nothing, so it tells of what it knows; whoever acts asks Node and Lease
    /// first, and might learn better.
    pub fn observe(&mut self, now: Mono) {
        self.enter(now);
        self.wake(now);
        self.survey(now);
        if !self.is_synced() {
            return;
        }
        self.show_declarations(now);
        while let Some((_, name)) = self.todo.first().cloned() {
            self.show_mend(&name);
        }
        while let Some((zone, _, name)) = self.next_in_turn(now) {
            if let Some(zone) = self.zones.get_mut(&zone) {
                zone.bucket.take(now);
            }
            self.show_turn(&name);
        }
    }

    fn show_declarations(&mut self, now: Mono) {
        if self.observation.doubt(now, &self.config).is_some() {
            return;
        }
        while let Some((silent_since, name)) = self.declare.first().cloned() {
            self.unplace(&name);
            let Some(entry) = self.entries.get_mut(&name) else { continue };
            entry.dry_run.declared = true;
            if let Some(node) = reference(&name, entry) {
                self.notices.push(NodeLifecycleNotice::WouldDeclare { node, silent_since });
            }
            self.reassess(&name, now);
        }
    }

    fn show_mend(&mut self, name: &NodeName) {
        self.unplace(name);
        if self.entries.get(name).is_none_or(|entry| entry.stale) {
            // It would be read first, and what that says is not known: from a time when we acted.
            return;
        }
        if let Some(plan) = self.shown_plan(name) {
            self.show(name, plan.add, plan.remove);
        }
        if let Some(entry) = self.entries.get_mut(name) {
            entry.dry_run.labels = true;
        }
        self.place(name);
    }

    fn show_turn(&mut self, name: &NodeName) {
        self.unplace(name);
        let taint = self.shown_plan(name).and_then(|plan| plan.queue);
        self.show(name, taint.into_iter().collect(), ManagedTaints::NONE);
        self.place(name);
    }

    fn shown_plan(&self, name: &NodeName) -> Option<TaintPlan> {
        let entry = self.entries.get(name)?;
        Some(entry.dry_run.plan(entry.state.as_ref()?, entry.silent.is_some(), self.modes.all_down))
    }

    fn show(&mut self, name: &NodeName, add: ManagedTaints, remove: ManagedTaints) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let (Some(node), Some(known)) = (reference(name, entry), &entry.state) else { return };
        if add.is_empty() && remove.is_empty() {
            return;
        }
        let (zone, why) = (known.zone.clone(), why(entry, add, remove, self.modes.all_down));
        self.notices.push(NodeLifecycleNotice::WouldTaint { node, zone, add, remove, why });
        entry.dry_run.write(add, remove);
    }

    /// What was told of a node is done with, as soon as nothing is to be done about it.
    pub(super) fn unshow(&mut self, name: &NodeName) {
        let Some(entry) = self.entries.get_mut(name).filter(|entry| entry.dry_run.is_any()) else { return };
        let silent = entry.silent.is_some();
        entry.dry_run.declared &= silent;
        let plan = entry.state.as_ref().map(|known| known.plan(silent, self.modes.all_down));
        if plan.is_none_or(|plan| plan == TaintPlan::default()) {
            let labels = entry.state.as_ref().is_some_and(|known| known.labels.is_some());
            entry.dry_run = DryRunState { labels: entry.dry_run.labels && labels, ..DryRunState::default() };
        }
    }
}
