//! Defines what metrics and users can read from the engine: counts, and why a node is or is not tainted.

use super::desired_taints::TaintPlan;
use super::fact::NodeConditions;
use super::managed_taints::{ManagedTaint, ManagedTaints};
use super::observation_gaps::ObservationDoubt;
use super::zone::ZoneKey;
use crate::time::Mono;

/// Counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NodeLifecycleStats {
    /// Nodes that exist.
    pub nodes: usize,
    /// Of these, silent for longer than their grace period.
    pub silent: usize,
    /// Of these, those with a managed NoExecute taint.
    pub tainted: usize,
    /// Of these, those waiting for one.
    pub waiting: usize,
    /// Requests for nodes in flight.
    pub in_flight: usize,
    /// Nodes whose last request failed.
    pub failing: usize,
    /// Nodes or leases that are not understood (D11).
    pub not_understood: usize,
    /// Pods that still have to be marked.
    pub marks: usize,
}

/// Why a NoExecute taint that a node should have is not added now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DelayReason {
    /// The observation of this process is not reliable (S7).
    Doubt(ObservationDoubt),
    /// All zones are fully disrupted, or may be (NL-27).
    EverythingDown,
    /// Its zone is disrupted and small (NL-26).
    ZoneStopped,
    /// The zone's rate; the next token is available at this moment.
    Rate(Mono),
    /// It is another node's turn, or a request is in flight.
    OtherNodeFirst,
    /// A request failed; it is retried at this moment.
    Retry(Mono),
    /// Its conditions are not Unknown yet: they are written first.
    ConditionsFirst,
}

/// What is known about a node, and what happens to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeHealthExplanation<'a> {
    /// Its zone.
    pub zone: &'a ZoneKey,
    /// Its conditions.
    pub conditions: NodeConditions,
    /// The managed taints that it has.
    pub own: ManagedTaints,
    /// When its last heartbeat was observed.
    pub last_renewal: Mono,
    /// Until when its silence is within its grace period; `None`: unknown.
    pub silence_deadline: Option<Mono>,
    /// The changes of its taints.
    pub plan: TaintPlan,
    /// The NoExecute taint it would get.
    pub wanted: Option<ManagedTaint>,
    /// Why it does not get the taint now; `None`: it does, at the next pull.
    pub delayed_by: Option<DelayReason>,
}
