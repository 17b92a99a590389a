//! Reads the state of the engine for metrics and users: counts, zones (NL-29), and why a node is or is not tainted.

use super::NodeLifecycleEngine;
use super::explanation::{DelayReason, NodeHealthExplanation, NodeLifecycleStats};
use super::managed_taints::ManagedTaint;
use super::observation_gaps::ObservationDoubt;
use super::write_queues::QueuePosition;
use super::zone::{ZoneKey, ZoneReport};
use crate::identity::NodeName;
use crate::time::Mono;

impl NodeLifecycleEngine {
    /// Returns the counts.
    pub fn stats(&self) -> NodeLifecycleStats {
        let one = |is: bool| usize::from(is);
        let mut stats = NodeLifecycleStats { marks: self.marks.len(), ..NodeLifecycleStats::default() };
        for entry in self.entries.values() {
            stats.nodes += one(entry.facts.zone().is_some());
            stats.silent += one(entry.silent.is_some());
            stats.tainted += one(!entry.facts.own_taints().no_execute().is_empty());
            stats.waiting += one(matches!(entry.position, QueuePosition::NoExecute { .. }));
            stats.in_flight += one(!entry.requests.is_idle());
            stats.failing += one(entry.requests.is_failing());
            stats.not_understood += one(entry.facts.is_not_understood());
        }
        stats
    }

    /// Returns all zones.
    pub fn zones(&self) -> impl Iterator<Item = ZoneReport<'_>> {
        self.zones.reports(&self.config, |zone| self.queues.waiting_in(zone))
    }

    /// Whether all zones are fully disrupted according to conditions (NL-27).
    pub const fn is_everything_down(&self) -> bool {
        self.all_down
    }

    /// Whether countdowns of pods are on hold (NL-48).
    pub const fn holds_countdowns(&self) -> bool {
        self.holds_countdowns
    }

    /// Why no node may be declared silent at this moment, if so (S7).
    pub fn doubt(&self, now: Mono) -> Option<ObservationDoubt> {
        self.silence_doubt(now)
    }

    /// Returns all nodes that exist.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.entries.iter().filter(|(_, entry)| entry.facts.zone().is_some()).map(|(name, _)| name)
    }

    /// Returns what is known about one node.
    pub fn explain(&self, name: &NodeName, now: Mono) -> Option<NodeHealthExplanation<'_>> {
        let entry = self.entries.get(name)?;
        let (zone, _) = entry.facts.zone()?;
        let situation = entry.facts.situation(entry.silent.is_some(), self.all_down)?;
        let plan = entry.plan(self.all_down)?;
        let wanted = plan.queue.or(plan.declare.then_some(ManagedTaint::UnreachableNoExecute));
        let delay = |wanted| match entry.requests.retry_at() {
            Some(at) => Some(DelayReason::Retry(at)),
            None => self
                .turn_delay(name, zone, wanted, now)
                .or(plan.declare.then_some(DelayReason::ConditionsFirst)),
        };
        Some(NodeHealthExplanation {
            zone,
            conditions: situation.conditions,
            own: situation.own,
            last_renewal: entry.facts.times()?.0,
            silence_deadline: entry.facts.silence_deadline(&self.observation, &self.config).0,
            plan,
            wanted,
            delayed_by: wanted.and_then(delay),
        })
    }

    fn turn_delay(
        &self,
        name: &NodeName,
        zone: &ZoneKey,
        wanted: ManagedTaint,
        now: Mono,
    ) -> Option<DelayReason> {
        let silent = wanted == ManagedTaint::UnreachableNoExecute;
        let doubt = self.silence_doubt(now).filter(|_| silent).map(DelayReason::Doubt);
        let is_behind = || self.queues.is_behind(name, zone, silent);
        doubt
            .or_else(|| self.zones.delay(zone, now))
            .or_else(|| is_behind().then_some(DelayReason::OtherNodeFirst))
    }
}
