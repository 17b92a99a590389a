//! Defines what the engine says of its state to metrics and people: counts, and why a node is or is not tainted.

use super::desired_taints::TaintPlan;
use super::fact::NodeConditions;
use super::managed_taints::{ManagedTaint, ManagedTaints};
use super::observation_gaps::ObservationDoubt;
use super::zone::ZoneKey;
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
