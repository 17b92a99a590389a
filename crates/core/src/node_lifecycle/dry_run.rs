//! Reports what an observer would do, without pulling effects.
//!
//! - Invariant: simulated as if all requests succeeded, at the zone's rate; what other controllers write takes
//!   precedence. Labels and pods are not reported.

use super::managed_taints::ManagedTaints;
use super::{DryRunState, NodeLifecycleEngine, NodeLifecycleNotice};
use crate::engine::Engine;
use crate::identity::NodeName;
use crate::time::Mono;

impl NodeLifecycleEngine {
    /// Replaces [`NodeLifecycleEngine::next_effect`] for an observer: reports, by notices, what would be done now, each
    /// change once until its reason is gone. An observer reads nothing, so it reports from what it knows; a leader
    /// reads Node and Lease first, and may find otherwise.
    pub(super) fn dry_run(&mut self, now: Mono) {
        self.wake(now);
        self.update_modes(now);
        if !self.is_synced() {
            return;
        }
        self.report_unknown(now);
        while let Some(name) = self.queues.next_repair().cloned() {
            self.report_repair(&name);
        }
        while let Some((zone, _, name)) = self.next_turn(now) {
            self.zones.take_token(&zone, now);
            self.dequeue(&name);
            let plan = self.entries.get(&name).and_then(|entry| entry.plan_after_dry_run(self.all_down));
            let taint = plan.and_then(|plan| plan.queue);
            self.report_taints(&name, taint.into_iter().collect(), ManagedTaints::NONE);
            self.enqueue(&name);
        }
    }

    fn report_unknown(&mut self, now: Mono) {
        if self.observation.doubt(now, &self.config).is_some() {
            return;
        }
        while let Some((silent_since, name)) = self.queues.next_unknown().cloned() {
            self.dequeue(&name);
            let Some(entry) = self.entries.get_mut(&name) else { continue };
            entry.dry_run.set_conditions_unknown();
            if let Some(node) = entry.facts.node_ref(&name) {
                self.notices.push(NodeLifecycleNotice::WouldDeclare { node, silent_since });
            }
            self.reassess(&name, now);
        }
    }

    fn report_repair(&mut self, name: &NodeName) {
        self.dequeue(name);
        let Some(entry) = self.entries.get(name) else { return };
        if entry.requests.needs_read() {
            // It has to be read first, with an unknown result: its last request is from a time as leader.
            return;
        }
        if let Some(plan) = entry.plan_after_dry_run(self.all_down) {
            self.report_taints(name, plan.add, plan.remove);
        }
        if let Some(entry) = self.entries.get_mut(name) {
            entry.dry_run.patch_labels();
        }
        self.enqueue(name);
    }

    fn report_taints(&mut self, name: &NodeName, add: ManagedTaints, remove: ManagedTaints) {
        let Some(entry) = self.entries.get_mut(name) else { return };
        let (Some(node), Some((zone, _))) = (entry.facts.node_ref(name), entry.facts.zone()) else { return };
        if add.is_empty() && remove.is_empty() {
            return;
        }
        let (zone, why) = (zone.clone(), entry.cause(add, remove, self.all_down));
        self.notices.push(NodeLifecycleNotice::WouldTaint { node, zone, add, remove, why });
        entry.dry_run.patch_taints(add, remove);
    }
}

impl DryRunState {
    /// Records that its conditions would be Unknown.
    fn set_conditions_unknown(&mut self) {
        self.conditions = true;
    }

    /// Records that its labels would be set: there is no notice about labels, and they delay nothing else.
    fn patch_labels(&mut self) {
        self.labels = true;
    }

    /// Records that these taints would be added and removed.
    fn patch_taints(&mut self, add: ManagedTaints, remove: ManagedTaints) {
        self.add = self.add.without(remove).and(add);
        self.remove = self.remove.without(add).and(remove);
    }
}
