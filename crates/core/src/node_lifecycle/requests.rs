//! Decides the next request when the control loop pulls an effect: removals, repairs, silent nodes, then one node per
//! zone at its rate, then pods.
//!
//! - Invariant: no node is declared silent or tainted NoExecute without a fresh live read, an observation and a
//!   successful request of this process (S7), nor faster than the rate of its zone (S6).
//! - See `responses.rs` for the handling of responses.

use super::effect::NodeLifecycleEffect;
use super::fact::expired;
use super::managed_taints::{ManagedTaint, ManagedTaints};
use super::node_requests::NodeRequest;
use super::observation_gaps::ObservationDoubt;
use super::zone::ZoneKey;
use super::{NodeHealthEntry, NodeLifecycleEngine};
use crate::identity::NodeName;
use crate::time::{Mono, Now};

impl NodeLifecycleEngine {
    /// Returns the next effect, decided at this moment; `None` if there is nothing to do yet.
    pub(super) fn next_request(&mut self, now: Now) -> Option<NodeLifecycleEffect> {
        let pod = |(pod, name)| NodeLifecycleEffect::SetPodNotReady { pod, name };
        self.next_repair(now)
            .or_else(|| self.next_unknown(now))
            .or_else(|| self.next_eviction(now))
            .or_else(|| self.marks.next().map(pod))
    }

    /// Effects that need no evidence beyond the node object: removing, swapping, NoSchedule taints, labels (NL-5 to
    /// NL-8, NL-15, NL-16); retried without limit (NL-7).
    fn next_repair(&mut self, now: Now) -> Option<NodeLifecycleEffect> {
        while let Some(name) = self.queues.next_repair().cloned() {
            self.dequeue(&name);
            if self.entries.get(&name)?.requests.needs_read() {
                return self.begin_read(name, None);
            }
            if let Some(effect) = self.repair(&name, now) {
                return Some(effect);
            }
            self.enqueue(&name);
        }
        None
    }

    fn repair(&mut self, name: &NodeName, now: Now) -> Option<NodeLifecycleEffect> {
        let entry = self.entries.get(name)?;
        let plan = entry.plan(self.all_down)?;
        let (mut add, mut remove) = (plan.add, plan.remove);
        if add.is_empty() && remove.is_empty() {
            let [os, arch] = entry.facts.missing_labels()?.clone();
            let (node, version) = (entry.facts.node_ref(name)?, entry.facts.version());
            self.begin(name, NodeRequest::Labels);
            return Some(NodeLifecycleEffect::PatchLabels { node, version, os, arch });
        }
        let is_ready = entry.facts.is_ready();
        if !self.config.removes_together() && is_ready && !remove.no_schedule().is_empty() {
            (add, remove) = (add.no_schedule(), remove.no_schedule());
        }
        // If it is the node's turn anyway, one write covers both effects (NL-45).
        let granted = plan.queue.filter(|taint| self.has_turn(entry, *taint, now.mono));
        let token = granted.and(entry.facts.zone()).map(|(zone, _)| zone.clone());
        if let Some(taint) = granted {
            add = add.with(taint);
        }
        self.patch_taints(name, (add, remove), token, now)
    }

    /// A silent node's conditions (NL-12).
    fn next_unknown(&mut self, now: Now) -> Option<NodeLifecycleEffect> {
        if self.observation.doubt(now.mono, &self.config).is_some() {
            return None;
        }
        let (_, name) = self.queues.next_unknown()?.clone();
        self.dequeue(&name);
        let entry = self.entries.get(&name)?;
        let since = entry.silent?;
        if !entry.requests.is_confirmed(since, now.mono) {
            return self.begin_read(name, None);
        }
        assert!(since < now.mono, "S7: a node is declared silent before its grace period is over");
        let (node, version) = (entry.facts.node_ref(&name)?, entry.facts.version());
        let conditions = expired(&entry.facts.situation(true, self.all_down)?.conditions);
        self.begin(&name, NodeRequest::Conditions { since });
        Some(NodeLifecycleEffect::SetConditionsUnknown { node, version, conditions, at: now.wall })
    }

    /// The node that has waited longest in a zone with a turn to taint NoExecute (NL-22, NL-23).
    fn next_eviction(&mut self, now: Now) -> Option<NodeLifecycleEffect> {
        let (zone, since, name) = self.next_turn(now.mono)?;
        self.zones.begin_turn(&zone, &name);
        self.dequeue(&name);
        let entry = self.entries.get(&name)?;
        if !entry.requests.is_confirmed(since, now.mono) {
            return self.begin_read(name, Some(zone));
        }
        let taint = entry.plan(self.all_down)?.queue?;
        self.patch_taints(&name, (ManagedTaints::NONE.with(taint), ManagedTaints::NONE), Some(zone), now)
    }

    /// Returns a zone with a turn to taint a node, the node that has waited longest, and since when.
    pub(super) fn next_turn(&self, now: Mono) -> Option<(ZoneKey, Mono, NodeName)> {
        if self.zones.may_all_be_down() {
            return None;
        }
        let with_silent = self.silence_doubt(now).is_none();
        let mut turns = self.queues.next_in_zones(with_silent);
        let (zone, (since, name)) = turns.find(|(zone, _)| self.zones.has_free_token(zone, now))?;
        Some((zone.clone(), *since, name.clone()))
    }

    /// Why no node may be tainted for its silence now (S7).
    pub(super) fn silence_doubt(&self, now: Mono) -> Option<ObservationDoubt> {
        let all_silent = || self.are_all_silent(self.config.all_silent_max(), now);
        let doubt = self.observation.doubt(now, &self.config);
        doubt.or_else(|| all_silent().then_some(ObservationDoubt::NoNodeRenewed))
    }

    /// When a token will be available for which a node waits.
    pub(super) fn next_turn_at(&self) -> Option<Mono> {
        let now = self.observation.called()?;
        if self.zones.may_all_be_down() {
            return None;
        }
        let turns = self.queues.next_in_zones(self.silence_doubt(now).is_none());
        turns.filter_map(|(zone, _)| self.zones.next_token_at(zone, now)).min()
    }

    /// Whether a node that is written to anyway may get its NoExecute taint in the same write: under the conditions of
    /// a turn, and if no node waits before it.
    fn has_turn(&self, entry: &NodeHealthEntry, taint: ManagedTaint, now: Mono) -> bool {
        let Some((zone, _)) = entry.facts.zone() else { return false };
        let for_silence = taint == ManagedTaint::UnreachableNoExecute && entry.silent.is_some();
        let is_confirmed =
            entry.evident_since(taint).is_some_and(|since| entry.requests.is_confirmed(since, now));
        is_confirmed
            && (!for_silence || self.silence_doubt(now).is_none())
            && self.queues.waiting_in(zone) == 0
            && self.zones.has_free_token(zone, now)
            && !self.zones.may_all_be_down()
    }

    fn patch_taints(
        &mut self,
        name: &NodeName,
        (add, remove): (ManagedTaints, ManagedTaints),
        token: Option<ZoneKey>,
        now: Now,
    ) -> Option<NodeLifecycleEffect> {
        let entry = self.entries.get(name)?;
        let (node, version) = (entry.facts.node_ref(name)?, entry.facts.version());
        let why = entry.cause(add, remove, self.all_down);
        assert!(
            add.no_execute().is_empty()
                || token.is_some()
                || !entry.facts.own_taints().no_execute().is_empty(),
            "S6: NoExecute without a token"
        );
        if let Some(zone) = &token {
            self.zones.take_token(zone, now.mono);
            self.zones.begin_turn(zone, name);
        }
        self.begin(name, NodeRequest::Taints { add, remove, token, returns: true, why });
        Some(NodeLifecycleEffect::PatchTaints { node, version, add, remove, at: now.wall, why })
    }

    fn begin_read(&mut self, name: NodeName, turn: Option<ZoneKey>) -> Option<NodeLifecycleEffect> {
        self.begin(&name, NodeRequest::Read { turn });
        Some(NodeLifecycleEffect::ReadNode { node: name })
    }

    fn begin(&mut self, name: &NodeName, request: NodeRequest) {
        self.dequeue(name);
        if let Some(entry) = self.entries.get_mut(name) {
            entry.requests.begin(request);
        }
    }
}

impl NodeHealthEntry {
    /// Since when it is certain that it should have this NoExecute taint.
    fn evident_since(&self, taint: ManagedTaint) -> Option<Mono> {
        let silent = self.silent.filter(|_| taint == ManagedTaint::UnreachableNoExecute);
        silent.or(self.facts.times().map(|(_, ready_since)| ready_since))
    }
}
