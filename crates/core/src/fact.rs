//! Defines the fields of a Node and a Pod that decisions about evictions need.

mod hold_period;
mod node_respect;

pub use hold_period::HoldPeriod;
pub use node_respect::{NodeRespect, RESPECT_BUDGETS, TaintRespect};

use crate::identity::{NodeName, PodId, ResourceVersion, Uid};
use crate::scheduling::Labels;
use crate::taint::Taint;
use crate::time::Wall;
use crate::toleration::Toleration;
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The fields of a node that decisions need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NodeFact {
    /// `metadata.name`.
    pub name: NodeName,
    /// `metadata.uid`: a node recreated under its old name is another node.
    pub uid: Uid,
    /// `metadata.resourceVersion`; `None` if it is not an integer.
    pub version: Option<ResourceVersion>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Wall>,
    /// `spec.taints`, in the node's order, all effects.
    pub taints: Vec<Taint>,
    /// When `spec.taints` last changed, from the `managedFields` entry that owns the field (D1). A decoder needs to
    /// look for it only when a NoExecute taint has no `timeAdded`; otherwise, or if no entry owns the field, `None`.
    pub taints_changed: Option<Wall>,
    /// It has the taint `node.kubernetes.io/out-of-service`, of any effect, although its condition `Ready` is True. No
    /// eviction depends on it; a metric shows it.
    pub ready_out_of_service: bool,
    /// `metadata.labels`, if eviction policies need them; `None`: they are as they were.
    pub labels: Option<Box<Labels>>,
    /// The annotation [`ALLOW`](crate::admission::no_execute_guard::ALLOW): the keys of taints that evict its pods whatever
    /// the brake says.
    pub allow_no_execute: Option<Box<str>>,
    /// The annotation [`RESPECT_BUDGETS`].
    pub respect_budgets: Option<Box<NodeRespect>>,
    /// The holds of its pods that its annotation orders or has ordered.
    pub holds: Option<Box<[HoldPeriod]>>,
}

/// The fields of a pod bound to a node that decisions need.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodFact {
    /// `metadata.uid`, `metadata.namespace` and `metadata.name`.
    pub id: PodId,
    /// `spec.nodeName`; never empty (there is no fact for an unbound pod).
    pub node: NodeName,
    /// `metadata.resourceVersion`; `None` if it is not an integer.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`; 0 if absent. Used for the condition's `observedGeneration` (TE-31).
    pub generation: u32,
    /// `spec.tolerations`, complete and in the pod's order: their positions are reported to users.
    pub tolerations: Vec<Toleration>,
    /// `spec.priority`; 0 if absent.
    pub priority: i32,
    /// `spec.priorityClassName` is `system-node-critical`.
    pub node_critical: bool,
    /// Which kind of controller owns it (`metadata.ownerReferences`, the one with `controller: true`).
    pub owner: PodOwnerKind,
    /// Whether it can still be evicted.
    pub life_phase: PodLifePhase,
    /// The annotation `kubernetes.io/config.mirror` exists: a static pod's mirror pod.
    pub mirror: bool,
    /// The pod has the condition that a taint eviction sets (`DisruptionTarget`, True, `DeletionByTaintManager`)
    /// (TE-31).
    pub marked: bool,
    /// Another client than Taintward set that condition or rewrote it, according to `managedFields` (P39). A decoder
    /// needs to look for it only when the pod is marked; without such an entry it is false.
    pub marked_by_another: bool,
    /// When it was bound to the node.
    pub arrival: BindingTimes,
    /// Whether its condition `Ready` is True, if eviction policies need that; `None`: it is as it was.
    pub ready: Option<bool>,
    /// What it has in common with other pods, if eviction policies need that; `None`: it is as it was.
    pub template: Option<Box<PodTemplateFact>>,
    /// The holds that its annotation orders or has ordered.
    pub holds: Option<Box<[HoldPeriod]>>,
    /// No hold delays its eviction, not that of its node either: kube-controller-manager evicts it, by the seconds that
    /// Taintward has set and recorded.
    pub ignores_holds: bool,
}

/// The fields that eviction policies select pods by: pods of one template have them in common.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct PodTemplateFact {
    /// `metadata.labels`.
    pub labels: Labels,
    /// The workload that the pod belongs to.
    pub workload: Option<Workload>,
    /// `spec.terminationGracePeriodSeconds`.
    pub grace_seconds: Option<i64>,
}

/// The sources for when a pod was bound to its node, best first (D1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BindingTimes {
    /// `lastTransitionTime` of the condition `PodScheduled` with status True.
    pub scheduled: Option<Wall>,
    /// `status.startTime`.
    pub started: Option<Wall>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Wall>,
}

/// The kind of a pod's controlling owner, as far as it matters here.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PodOwnerKind {
    /// None, or any other kind.
    #[default]
    Other,
    /// `apps` DaemonSet: evicted after ordinary pods.
    DaemonSet,
    /// `batch` Job: its failure policy may read the `DisruptionTarget` condition (NB-3).
    Job,
}

/// Whether a pod can still be evicted (D6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PodLifePhase {
    /// Neither of the others.
    #[default]
    Live,
    /// Phase Succeeded or Failed.
    Finished,
    /// `deletionTimestamp` is set.
    Terminating,
}
