//! Defines the fields of a Node and a Pod that decisions about evictions need.

use crate::identity::{NodeName, PodId, ResourceVersion, Uid};
use crate::taint::Taint;
use crate::time::Wall;
use crate::toleration::Toleration;
use alloc::vec::Vec;

/// A node, as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct NodeFact {
    /// `metadata.name`.
    pub name: NodeName,
    /// `metadata.uid`: a node created again under its old name is another node.
    pub uid: Uid,
    /// `metadata.resourceVersion`; `None` if it is no integer.
    pub version: Option<ResourceVersion>,
    /// `metadata.creationTimestamp`.
    pub created: Option<Wall>,
    /// `spec.taints`, in the node's order, all effects.
    pub taints: Vec<Taint>,
    /// When `spec.taints` last changed, from the `managedFields` entry that owns the field (D1). A decoder need only
    /// look for it when a NoExecute taint carries no `timeAdded`; otherwise, or if nobody owns it, `None`.
    pub taints_changed: Option<Wall>,
    /// It bears the taint `node.kubernetes.io/out-of-service`, of any effect, although its condition `Ready` is True. No
    /// eviction depends on it; a metric shows it.
    pub ready_out_of_service: bool,
}

/// A pod that is bound to a node, as far as decisions need it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct PodFact {
    /// `metadata.uid`, `metadata.namespace` and `metadata.name`.
    pub id: PodId,
    /// `spec.nodeName`; never empty (an unbound pod is no fact).
    pub node: NodeName,
    /// `metadata.resourceVersion`; `None` if it is no integer.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`; 0 if absent. Goes into the condition's `observedGeneration` (TE-31).
    pub generation: u32,
    /// `spec.tolerations`, in the pod's order, whole: positions are reported to people.
    pub tolerations: Vec<Toleration>,
    /// `spec.priority`; 0 if absent.
    pub priority: i32,
    /// `spec.priorityClassName` is `system-node-critical`.
    pub node_critical: bool,
    /// Which kind of controller owns it (`metadata.ownerReferences`, the one with `controller: true`).
    pub owner: PodOwnerKind,
    /// Whether it can still leave.
    pub standing: PodLifePhase,
    /// The annotation `kubernetes.io/config.mirror` is present: a static pod's shadow.
    pub mirror: bool,
    /// The condition a taint eviction puts on a pod (`DisruptionTarget`, True, `DeletionByTaintManager`) is there
    /// (TE-31).
    pub marked: bool,
    /// It was put there, or written anew, by another than Taintward, as `managedFields` tell (P39). A decoder need only
    /// look for it when the pod is marked; what is not told is not another's.
    pub marked_by_another: bool,
    /// When it came to the node.
    pub arrival: BindingTimes,
}

/// What a pod says about when it came to its node, best source first (D1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
pub enum PodOwnerKind {
    /// None, or any other kind.
    #[default]
    Other,
    /// `apps` DaemonSet: leaves after ordinary pods.
    DaemonSet,
    /// `batch` Job: its failure policy may read the `DisruptionTarget` condition (NB-3).
    Job,
}

/// Whether a pod can still be evicted (D6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PodLifePhase {
    /// Neither of the others.
    #[default]
    Live,
    /// Phase Succeeded or Failed.
    Finished,
    /// `deletionTimestamp` is set.
    Terminating,
}
