//! Holds a cluster at one moment: nodes, pods, workloads and disruption budgets, as the forecast needs them.
//!
//! - Invariant: a few hundred bytes per pod; missing facts are counted, never assumed.
//! - See `forecast.rs` for what is computed from it.

mod builder;
mod countdown_record;
mod disruption_budget;
mod job;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use crate::workload::TEMPLATE_HASH;
pub use crate::workload::{OwnerReference, RecreationPolicy, Workload, WorkloadKind};
pub use builder::{NodeRecord, PodRecord, SnapshotBuilder};
pub use countdown_record::CountdownRecord;
pub use disruption_budget::{BudgetStatus, DisruptionBudget, DisruptionLimit, IntOrPercent};
pub use job::{
    FailureAction, FailureMatch, IndexFailure, JobFailure, JobIndex, JobPhase, JobPodOutcome, JobProgress,
    JobRecord, PodFailureRule,
};

use crate::fact::{NodeFact, PodLifePhase};
use crate::identity::{NodeName, PodName, Uid};
use crate::node_lifecycle::ZoneKey;
use crate::ordered_hold::{HoldWindows, OrderedHolds};
use crate::scheduling::{Labels, NodeInfo, PodSchedulingSpec, ResourceRequests, Resources};
use crate::taint::TaintEffect;
use crate::taint_start::{self, PodBinding};
use crate::time::{Mono, Now};
use crate::toleration_matching::NumericOperators;
use crate::verdict::{self, EvictionExemption, Outcome, PodInput, TaintInstance, Verdict};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::ops::Range;

/// A node.
#[derive(Clone, Debug)]
pub struct SnapshotNode {
    /// Its taints, and what shows since when they exist.
    pub fact: NodeFact,
    /// `metadata.labels`.
    pub labels: Labels,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.allocatable` without `pods`.
    pub allocatable: Resources,
    /// `status.allocatable.pods`.
    pub pods_max: i64,
    /// Whether its condition `Ready` is true; `None`: it has no such condition.
    pub ready: Option<bool>,
    /// Its zone (NL-24).
    pub zone: ZoneKey,
    /// It does not count in its zone (NL-25).
    pub excluded: bool,
    /// The holds of its pods that its annotation orders.
    pub holds: HoldWindows,
    /// The sum of the requests of its pods that have not terminated.
    pub used: ResourceRequests,
    /// The number of these pods.
    pub pods: i64,
}

/// A pod.
#[derive(Clone, Debug)]
pub struct SnapshotPod {
    /// `metadata.uid`.
    pub uid: Uid,
    /// Namespace and name.
    pub name: PodName,
    /// Position of its node; `None`: it is not bound yet.
    pub node: Option<u32>,
    /// When it was bound to its node.
    pub arrival: PodBinding,
    /// Whether it can still be evicted.
    pub life_phase: PodLifePhase,
    /// Why it is exempt from eviction, if it is (D6).
    pub exemption: Option<EvictionExemption>,
    /// It has the condition of a taint eviction (TE-31).
    pub marked: bool,
    /// Its condition `Ready` is true.
    pub ready: bool,
    /// What decides about its countdowns besides its tolerations.
    pub record: CountdownRecord,
    /// The holds that its annotation orders.
    pub holds: Option<Box<HoldWindows>>,
    /// Position in [`ClusterSnapshot::shapes`].
    pub shape: u32,
    /// Position in [`ClusterSnapshot::label_sets`].
    pub labels: u32,
    /// Position in [`ClusterSnapshot::workloads`].
    pub workload: u32,
    /// Its index, if a Job counts its pods by index.
    pub job_index: Option<JobIndex>,
}

/// What pods of one template have in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodTemplate {
    /// Tolerations, selectors, affinity, requests. Guarded and held pods have their own seconds here.
    pub spec: PodSchedulingSpec,
    /// It also has rules that are not evaluated here: affinity between pods, spreading, volumes.
    pub beyond: bool,
}

/// A cluster at one moment. Positions are stable.
#[derive(Clone, Debug)]
pub struct ClusterSnapshot {
    now: Now,
    numeric: NumericOperators,
    nodes: Vec<SnapshotNode>,
    by_name: BTreeMap<NodeName, u32>,
    /// Pods without a node first, then node by node, each in the order of names.
    pods: Vec<SnapshotPod>,
    /// Where each node's pods begin, and where those of the last node end.
    begins: Vec<u32>,
    shapes: Vec<PodTemplate>,
    label_sets: Vec<Labels>,
    workloads: Vec<Workload>,
    budgets: Vec<DisruptionBudget>,
    /// By namespace and name.
    jobs: BTreeMap<(Box<str>, Box<str>), JobRecord>,
    lost: Vec<(PodName, NodeName)>,
}

impl ClusterSnapshot {
    /// When it was taken; the clock's origin is the epoch.
    pub const fn now(&self) -> Now {
        self.now
    }

    /// Whether `Lt` and `Gt` are compared (MATCH-6).
    pub const fn numeric(&self) -> NumericOperators {
        self.numeric
    }

    /// All nodes, in the order of names.
    pub fn nodes(&self) -> &[SnapshotNode] {
        &self.nodes
    }

    /// Returns the position of a node.
    pub fn node_at(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).map(|&at| at as usize)
    }

    /// All pods, bound or not.
    pub fn pods(&self) -> &[SnapshotPod] {
        &self.pods
    }

    /// Positions of the pods on a node.
    pub fn pods_on(&self, node: usize) -> Range<usize> {
        self.begins[node] as usize..self.begins[node + 1] as usize
    }

    /// Positions of the pods that are not bound yet.
    pub fn unbound(&self) -> Range<usize> {
        0..self.begins[0] as usize
    }

    /// The shapes of pods.
    pub fn shapes(&self) -> &[PodTemplate] {
        &self.shapes
    }

    /// The shape of a pod.
    pub fn shape(&self, pod: &SnapshotPod) -> &PodTemplate {
        &self.shapes[pod.shape as usize]
    }

    /// The sets of labels that pods have.
    pub fn label_sets(&self) -> &[Labels] {
        &self.label_sets
    }

    /// The workloads that own the pods.
    pub fn workloads(&self) -> &[Workload] {
        &self.workloads
    }

    /// Disruption budgets, in the order they were added.
    pub fn budgets(&self) -> &[DisruptionBudget] {
        &self.budgets
    }

    /// The Job that a workload is, if it is one that was added.
    pub fn job(&self, workload: &Workload) -> Option<&JobRecord> {
        let key = || (workload.namespace.clone(), workload.name.clone());
        (workload.kind == WorkloadKind::Job).then(|| self.jobs.get(&key()))?
    }

    /// Pods on nodes that the snapshot does not have: their outcome is unknown.
    pub fn lost(&self) -> &[(PodName, NodeName)] {
        &self.lost
    }

    /// Returns a node's NoExecute taints, each with the start that a controller watching the node would have recorded,
    /// to the second (D1).
    pub fn instances(&self, node: usize) -> Vec<TaintInstance> {
        let fact = &self.nodes[node].fact;
        let evicting = fact.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
        let instance = |taint| TaintInstance {
            taint: Clone::clone(taint),
            start: taint_start::taint_start_for_display(taint, fact, self.now),
        };
        evicting.map(instance).collect()
    }

    /// Returns a node as the scheduler sees it.
    pub fn candidate(&self, node: usize) -> NodeInfo {
        let node = &self.nodes[node];
        NodeInfo {
            name: node.fact.name.clone(),
            labels: node.labels.clone(),
            unschedulable: node.unschedulable,
            taints: node.fact.taints.clone(),
            allocatable: node.allocatable.clone(),
            pods_max: node.pods_max,
            pods: node.pods,
            used: node.used.clone(),
        }
    }

    /// Whether an annotation of a node or of a pod orders a hold, or has ordered one.
    pub fn has_ordered_holds(&self) -> bool {
        self.nodes.iter().any(|node| !node.holds.is_empty()) || self.has_ordered_holds_of_pods()
    }

    /// Whether an annotation of a pod orders a hold, or has ordered one.
    pub fn has_ordered_holds_of_pods(&self) -> bool {
        self.pods.iter().any(|pod| pod.holds.is_some())
    }

    /// Removes the ordered holds of the pods for which `forbids` returns true; it gets each with its node and labels.
    pub fn ignore_ordered_holds_of_pods(
        &mut self,
        mut forbids: impl FnMut(&SnapshotPod, &SnapshotNode, &Labels) -> bool,
    ) {
        let (nodes, label_sets) = (&self.nodes, &self.label_sets);
        let held = self.pods.iter_mut().filter(|pod| pod.holds.is_some());
        for pod in held {
            let node = pod.node.map(|node| &nodes[node as usize]);
            if node.is_some_and(|node| forbids(pod, node, &label_sets[pod.labels as usize])) {
                pod.holds = None;
            }
        }
    }

    /// Removes these holds: the controller that evicts ignores them.
    pub fn ignore_ordered_holds(&mut self) {
        self.nodes.iter_mut().for_each(|node| node.holds = HoldWindows::default());
        self.pods.iter_mut().for_each(|pod| pod.holds = None);
    }

    /// Returns what a verdict needs of a pod.
    pub fn subject<'a>(&'a self, pod: &'a SnapshotPod) -> PodInput<'a> {
        let tolerations = &self.shape(pod).spec.tolerations;
        let holds = match pod.record {
            // kube-controller-manager evicts it, at its ceiling or by the seconds that toleration-hold-controller has set.
            CountdownRecord::Guarded(_) | CountdownRecord::Held(_) | CountdownRecord::Released(_) => {
                OrderedHolds::default()
            }
            CountdownRecord::None => OrderedHolds {
                node: pod.node.map(|node| &self.nodes[node as usize].holds),
                pod: pod.holds.as_deref(),
            },
        };
        PodInput { tolerations, arrival: pod.arrival, exemption: pod.exemption, holds }
    }

    /// Returns the verdict on a pod with these taints: that of the controller that evicts it first.
    pub fn judge(&self, pod: &SnapshotPod, taints: &[TaintInstance]) -> Verdict {
        self.judge_subject(pod, &self.subject(pod), taints)
    }

    /// Returns the verdict that a pod would have if nothing exempted it.
    pub fn judge_exempt(&self, pod: &SnapshotPod, taints: &[TaintInstance]) -> Verdict {
        self.judge_subject(pod, &PodInput { exemption: None, ..self.subject(pod) }, taints)
    }

    /// Returns when kube-controller-manager evicts a guarded pod that Taintward has not evicted; `None`: the pod is not
    /// guarded, no taint evicts it, or both evict it at the same time.
    pub fn ceiling(&self, pod: &SnapshotPod, taints: &[TaintInstance]) -> Option<Mono> {
        let tolerations = pod.record.written_tolerations(&self.shape(pod).spec.tolerations)?;
        let subject = PodInput { tolerations: &tolerations, ..self.subject(pod) };
        let deadline = |verdict: Verdict| match verdict.outcome {
            Outcome::StaysUntil(at) | Outcome::Leaves { due: at } => Some(at),
            Outcome::Stays(_) => None,
        };
        let own = deadline(self.judge(pod, taints));
        deadline(self.judge_subject(pod, &subject, taints)).filter(|at| own != Some(*at))
    }

    fn judge_subject(&self, pod: &SnapshotPod, subject: &PodInput<'_>, taints: &[TaintInstance]) -> Verdict {
        let (taints, holds) = (pod.record.restarted(taints), pod.record.holds());
        verdict::judge_held(subject, &taints, &holds, self.numeric, self.now)
    }
}
