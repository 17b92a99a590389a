//! Decides to which node a pod would be scheduled, or why to none, as kube-scheduler's default plugins would.
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
pub use filter::{admits, filter, kept_off_by};
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
/// The other resource that scores use.
pub const MEMORY: &str = "memory";

/// The best score of a node.
const BEST: i64 = 100;

/// What one pod, or all pods of a node, request.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResourceRequests {
    /// As requested: this has to fit.
    pub requested: Resources,
    /// CPU and memory as assumed by scores, which treat containers without requests as small, not as free.
    pub assumed: Resources,
}

impl ResourceRequests {
    /// Adds the requests of another pod; saturates.
    pub fn add(&mut self, other: &Self) {
        combine(&mut self.requested, &other.requested, i64::saturating_add);
        combine(&mut self.assumed, &other.assumed, i64::saturating_add);
    }

    /// Subtracts the requests of a pod.
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

/// Returns the amount of a resource; zero if it is absent.
fn amount(resources: &Resources, name: &str) -> i64 {
    resources.get(name).copied().unwrap_or(0)
}

/// A node that a pod might be scheduled to.
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
    /// `status.allocatable.pods`: its maximum number of pods.
    pub pods_max: i64,
    /// Its number of pods.
    pub pods: i64,
    /// The sum of their requests.
    pub used: ResourceRequests,
}

/// What a pod requires of a node, whether or not it has one.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodSchedulingSpec {
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.nodeSelector`: labels the node must have.
    pub node_selector: Labels,
    /// The terms of the required node affinity, of which one must match; `None` if the pod has none, which every node
    /// satisfies. No node satisfies an empty list.
    pub required: Option<Vec<NodeTerm>>,
    /// The terms of the preferred node affinity.
    pub preferred: Vec<PreferredTerm>,
    /// Its requests ([`PodRequests::load`]).
    pub load: ResourceRequests,
    /// `spec.priority`: the caller arranges which pod is scheduled first.
    pub priority: i32,
    /// Whether it may preempt other pods: `spec.preemptionPolicy` is not `Never`.
    pub preempts: bool,
}

/// The plugins that reject a node. They run in this order, and the first rejection counts.
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
    /// Returns the plugin's name in Kubernetes.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NodeUnschedulable => "NodeUnschedulable",
            Self::TaintToleration => "TaintToleration",
            Self::NodeAffinity => "NodeAffinity",
            Self::NodeResourcesFit => "NodeResourcesFit",
        }
    }
}

/// One reason why a node is rejected; its text is the one of the event (`messages.rs`).
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

/// Why a node is rejected for a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterRejection {
    /// The plugin.
    pub by: SchedulerPlugin,
    /// The reasons; at least one.
    pub reasons: Vec<UnschedulableReason>,
    /// Whether the pod might fit if other pods were removed.
    pub preemption_may_help: bool,
}

/// Returns a position below `count`, which is not zero.
fn pick(tie: u64, count: usize) -> usize {
    let position = tie % u64::try_from(count).unwrap_or(u64::MAX);
    usize::try_from(position).unwrap_or(0)
}
