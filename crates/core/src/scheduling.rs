//! Answers to which node a pod would be scheduled, or why to none, as kube-scheduler's default plugins would.
//!
//! - Invariant: the same input has the same result; toleration seconds have no influence (SC-5).
//! - Preemption is only predicted: no pod is removed. Queues and binding are elsewhere.

use crate::identity::NodeName;
use crate::taint::Taint;
use crate::toleration::Toleration;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

mod affinity;
mod filter;
mod messages;
mod placer;
mod queueing_hint;
mod requests;
mod score;
mod select_node;
mod spread;
#[cfg(test)]
mod tests;

pub use affinity::{NodeOperator, NodeRequirement, NodeTerm, PreferredTerm};
pub use filter::{filter, kept_off_by};
pub use messages::why_none;
pub use placer::{Placer, PodToPlace};
pub use queueing_hint::taints_help;
pub use requests::{ContainerRequests, PodRequests, Quantities, units};
pub use score::{NodeScore, score};
pub use select_node::{SelectedNode, choose};

/// Labels, in order.
pub type Labels = BTreeMap<Box<str>, Box<str>>;

/// Amounts by resource: `cpu` in thousandths, everything else in whole units ([`units`]).
pub type Resources = BTreeMap<Box<str>, i64>;

/// The resource counted in thousandths.
pub const CPU: &str = "cpu";
/// The other resource that scores look at.
pub const MEMORY: &str = "memory";

/// The best a node can be.
const BEST: i64 = 100;

/// What one pod, or all pods of a node, take.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceRequests {
    /// As requested: what has to fit.
    pub requested: Resources,
    /// CPU and memory as assumed by scores, which take containers that ask for nothing as small, not as free.
    pub assumed: Resources,
}

impl ResourceRequests {
    /// Adds what another pod takes; saturates.
    pub fn add(&mut self, other: &Self) {
        combine(&mut self.requested, &other.requested, i64::saturating_add);
        combine(&mut self.assumed, &other.assumed, i64::saturating_add);
    }

    /// Takes off what a pod took.
    pub fn take_off(&mut self, other: &Self) {
        combine(&mut self.requested, &other.requested, i64::saturating_sub);
        combine(&mut self.assumed, &other.assumed, i64::saturating_sub);
    }
}

fn combine(into: &mut Resources, from: &Resources, how: fn(i64, i64) -> i64) {
    for (name, &amount) in from {
        let sum = into.entry(name.clone()).or_insert(0);
        *sum = how(*sum, amount);
    }
}

/// The amount of a resource; what is not named is zero.
fn amount(resources: &Resources, name: &str) -> i64 {
    resources.get(name).copied().unwrap_or(0)
}

/// A node that a pod might go to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeInfo {
    /// Its name.
    pub name: NodeName,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `spec.taints`.
    pub taints: Vec<Taint>,
    /// `status.allocatable` without `pods`.
    pub allocatable: Resources,
    /// `status.allocatable.pods`: how many pods it takes.
    pub pods_max: i64,
    /// How many pods it has.
    pub pods: i64,
    /// What they take together.
    pub used: ResourceRequests,
}

/// What a pod wants of a node, whether or not it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodSchedulingSpec {
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.nodeSelector`: labels the node must have.
    pub node_selector: Labels,
    /// The terms of the required node affinity, of which one must match; `None` where the pod has none, which every
    /// node satisfies. No node satisfies an empty list.
    pub required: Option<Vec<NodeTerm>>,
    /// The terms of the preferred node affinity.
    pub preferred: Vec<PreferredTerm>,
    /// What it takes ([`PodRequests::load`]).
    pub load: ResourceRequests,
    /// `spec.priority`: who is asked about first is the caller's to arrange.
    pub priority: i32,
    /// Whether it may send others away: `spec.preemptionPolicy` is not `Never`.
    pub preempts: bool,
}

/// Who says no. They are asked in this order, and the first no counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SchedulerPlugin {
    /// `spec.unschedulable` (SC-4).
    NodeUnschedulable,
    /// Taints (SC-1).
    TaintToleration,
    /// Node selector and node affinity.
    NodeAffinity,
    /// Resources and the number of pods.
    NodeResourcesFit,
}

impl SchedulerPlugin {
    /// The name people know it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NodeUnschedulable => "NodeUnschedulable",
            Self::TaintToleration => "TaintToleration",
            Self::NodeAffinity => "NodeAffinity",
            Self::NodeResourcesFit => "NodeResourcesFit",
        }
    }
}

/// One reason why a node is not for a pod; its text is the one of the event (`messages.rs`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum UnschedulableReason {
    /// Cordoned (SC-4).
    Unschedulable,
    /// A taint that the pod does not tolerate (SC-1).
    UntoleratedTaint,
    /// Selector or affinity do not match.
    NodeAffinity,
    /// The affinity names nodes, and this one is not among them.
    NotNamed,
    /// The affinity names nodes in a way that no node can satisfy.
    AffinityConflict,
    /// No room for one more pod.
    TooManyPods,
    /// Not enough of a resource.
    Insufficient(Box<str>),
}

/// Why a node is not for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterRejection {
    /// Who says so.
    pub by: SchedulerPlugin,
    /// Why; at least one.
    pub reasons: Vec<UnschedulableReason>,
    /// Whether the pod might fit if others went.
    pub preemption_may_help: bool,
}

/// A position below `count`, which is not zero.
fn pick(tie: u64, count: usize) -> usize {
    let position = tie % u64::try_from(count).unwrap_or(u64::MAX);
    usize::try_from(position).unwrap_or(0)
}
