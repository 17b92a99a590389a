//! Reads the state of the engine for metrics and for people: counts, zones (NL-29), and why a node is or is not
//! tainted.

use super::cache::QueuePosition;
use super::desired_taints::TaintPlan;
use super::fact::{ConditionStatus, NodeConditions};
use super::managed_taints::{ManagedTaint, ManagedTaints};
use super::token_bucket::TaintRate;
use super::zone::{Zone, ZoneKey, ZoneMembership, ZoneState};
use super::{NodeLifecycleEngine, ObservationDoubt};
use crate::identity::NodeName;
use crate::time::Mono;

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLifecycleStats {
    /// Nodes that exist.
    pub nodes: usize,
    /// Of these, silent for longer than their grace period.
    pub silent: usize,
    /// Of these, with a NoExecute taint of ours.
    pub tainted: usize,
    /// Of these, waiting for one.
    pub waiting: usize,
    /// Requests that are out for nodes.
    pub in_flight: usize,
    /// Nodes with a request that failed last.
    pub failing: usize,
    /// Nodes or leases that are not understood (D11).
    pub not_understood: usize,
    /// Pods that are still to be marked.
    pub marks: usize,
}

/// One zone, for the report at start and for metrics (NL-29).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ZoneReport<'a> {
    /// Which.
    pub zone: &'a ZoneKey,
    /// Nodes that count.
    pub size: u32,
    /// Of these, not ready by their condition.
    pub unhealthy: u32,
    /// Of the others, silent: about to be declared so.
    pub suspects: u32,
    /// Nodes that do not count (NL-25).
    pub excluded: u32,
    /// How it is, or, with nodes that are overdue or silent, is to be feared.
    pub state: ZoneState,
    /// At which rate its nodes may get NoExecute taints now; none while everything is down.
    pub rate: TaintRate,
    /// Nodes that wait for one.
    pub waiting: usize,
    /// NoExecute taints put on since the start.
    pub evictions: u64,
}

impl ZoneReport<'_> {
    /// The share of ready nodes in percent; 100 in a zone without nodes that count.
    pub fn health_percent(&self) -> f64 {
        match self.size {
            0 => 100.0,
            size => f64::from(100 * (size - self.unhealthy)) / f64::from(size),
        }
    }
}

/// Why a NoExecute taint that a node should have is not put on now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayReason {
    /// Our own eyes are not to be believed (S7).
    Doubt(ObservationDoubt),
    /// All zones are down, or it is to be feared (NL-27).
    EverythingDown,
    /// Its zone is disrupted and small (NL-26).
    ZoneStopped,
    /// The zone's rate; the next token comes at this moment.
    Rate(Mono),
    /// It is another node's turn, or a request is out.
    OtherNodeFirst,
    /// A request failed; it is tried again at this moment.
    Retry(Mono),
    /// Its conditions do not say so yet: that is written first.
    ConditionsFirst,
}

/// What is known of a node, and what is to become of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeHealthExplanation<'a> {
    /// Its zone.
    pub zone: &'a ZoneKey,
    /// Its conditions.
    pub conditions: NodeConditions,
    /// The taints of ours that it has.
    pub own: ManagedTaints,
    /// When it was last heard of.
    pub last_renewal: Mono,
    /// Until when its silence is within its grace period; `None`: it can't be told.
    pub patience: Option<Mono>,
    /// What is to be done about its taints.
    pub plan: TaintPlan,
    /// The NoExecute taint it would get.
    pub wanted: Option<ManagedTaint>,
    /// Why it does not get it now; `None`: it does, at the next pull.
    pub delayed_by: Option<DelayReason>,
}

impl NodeLifecycleEngine {
    /// Counts.
    pub fn stats(&self) -> NodeLifecycleStats {
        let mut census = NodeLifecycleStats { marks: self.marks.len(), ..NodeLifecycleStats::default() };
        for entry in self.entries.values() {
            let one = |is: bool| usize::from(is);
            let known = entry.state.as_ref();
            census.nodes += one(known.is_some());
            census.silent += one(entry.silent.is_some());
            census.tainted += one(known.is_some_and(|known| !known.own.no_execute().is_empty()));
            census.waiting += one(matches!(entry.queue_position, QueuePosition::Zone { .. }));
            census.in_flight += one(entry.in_flight.is_some());
            census.failing += one(entry.is_failing());
            let obscure = known.is_some_and(|known| known.obscured || known.conditions.is_obscure());
            census.not_understood += one(obscure || entry.lease.is_some_and(|lease| lease.obscured));
        }
        census
    }

    /// All zones.
    pub fn zones(&self) -> impl Iterator<Item = ZoneReport<'_>> {
        let stopped = self.modes.feared_all();
        self.zones.iter().map(move |(key, zone)| ZoneReport {
            zone: key,
            size: zone.size(),
            unhealthy: zone.counted(ZoneMembership::NotReady),
            suspects: zone.suspected(),
            excluded: zone.counted(ZoneMembership::Excluded),
            state: zone.worst_case_state(&self.config),
            rate: if stopped { TaintRate::ZERO } else { zone.bucket.rate() },
            waiting: zone.silent.len() + zone.unready.len(),
            evictions: zone.evictions,
        })
    }

    /// All zones are down by what conditions say (NL-27).
    pub const fn is_everything_down(&self) -> bool {
        self.modes.all_down
    }

    /// Countdowns of pods are to be held (NL-48).
    pub const fn holds_countdowns(&self) -> bool {
        self.modes.holding
    }

    /// Why nobody may be called dead at this moment, if so (S7).
    pub fn doubt(&self, now: Mono) -> Option<ObservationDoubt> {
        self.disbelief(now)
    }

    /// All nodes that exist.
    pub fn nodes(&self) -> impl Iterator<Item = &NodeName> {
        self.entries.iter().filter(|(_, entry)| entry.state.is_some()).map(|(name, _)| name)
    }

    /// What is known of one node.
    pub fn explain(&self, name: &NodeName, now: Mono) -> Option<NodeHealthExplanation<'_>> {
        let entry = self.entries.get(name)?;
        let known = entry.state.as_ref()?;
        let is_silent = entry.silent.is_some();
        let plan = known.plan(is_silent, self.modes.all_down);
        let due = plan.declare && known.conditions.ready() != Some(ConditionStatus::Unknown);
        let wanted = plan.queue.or(due.then_some(ManagedTaint::UnreachableNoExecute));
        let zone = self.zones.get(&known.zone);
        let held = wanted.and(zone).and_then(|zone| match entry.retry_at {
            Some(at) => Some(DelayReason::Retry(at)),
            None => self.held(name, zone, wanted, now).or(due.then_some(DelayReason::ConditionsFirst)),
        });
        Some(NodeHealthExplanation {
            zone: &known.zone,
            conditions: known.conditions,
            own: known.own,
            last_renewal: known.probe,
            patience: self.patience(entry),
            plan,
            wanted,
            delayed_by: held,
        })
    }

    fn held(
        &self,
        name: &NodeName,
        zone: &Zone,
        wanted: Option<ManagedTaint>,
        now: Mono,
    ) -> Option<DelayReason> {
        let silent = wanted == Some(ManagedTaint::UnreachableNoExecute);
        let queue = if silent { &zone.silent } else { &zone.unready };
        if let Some(doubt) = self.disbelief(now).filter(|_| silent) {
            return Some(DelayReason::Doubt(doubt));
        }
        if self.modes.feared_all() {
            return Some(DelayReason::EverythingDown);
        }
        if zone.bucket.rate() == TaintRate::ZERO {
            return Some(DelayReason::ZoneStopped);
        }
        if let Some(at) = zone.bucket.token_at(now) {
            return Some(DelayReason::Rate(at));
        }
        let first = queue.first().is_none_or(|(_, first)| first == name);
        (zone.busy.is_some() || !first).then_some(DelayReason::OtherNodeFirst)
    }
}
