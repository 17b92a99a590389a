//! Defines the request and the cached facts that the admission rules take as input.
//!
//! - Invariant: an unknown fact is `None`, never empty; a rule that needs it does nothing.

pub use super::requester::{MAKERS, Operation, PodIdentity, Requester};

use super::pod_toleration_restriction::NamespaceTolerationLists;
use super::policy::{RequestedSeconds, TolerationPolicy};
use super::pool::{DedicatedPool, PodOwner};
use crate::fact::PodOwnerKind;
use crate::scheduling::{Labels, NodeOperator, NodeRequirement, NodeTerm};
use crate::toleration::Toleration;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A requested pod. Fields that no rule needs are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmittedPod {
    /// Its identity, which decides its membership in pools.
    pub identity: PodIdentity,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// The terms of the required node affinity; `None` without one.
    pub required: Option<Vec<NodeTerm>>,
    /// It prefers some nodes (`preferredDuringScheduling...`).
    pub prefers: bool,
    /// `spec.nodeName`, if it is set.
    pub node: Option<Box<str>>,
    /// `spec.schedulingGates` is not empty: its affinity may still be narrowed.
    pub gated: bool,
    /// `metadata.deletionTimestamp` is set: the scheduler ignores it.
    pub leaving: bool,
    /// `spec.hostNetwork`.
    pub host_network: bool,
    /// Labeled `tier: control-plane`.
    pub control_plane: bool,
    /// Names of the resources that containers and init containers request; ephemeral containers do not count (AD-7).
    pub resources: Vec<Box<str>>,
    /// No container has a request or limit of CPU or memory: its QoS class is BestEffort (AD-9).
    pub best_effort: bool,
    /// Its annotations about seconds.
    pub requested: RequestedSeconds,
}

/// The parts of a pod before an update that matter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreviousPod {
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.schedulingGates` was not empty.
    pub gated: bool,
    /// The annotation [`MADE_FOR`](super::pool::MADE_FOR).
    pub made_for: Box<str>,
}

/// A request for a pod, on the resource itself: no rule applies to subresources.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRequest {
    /// Creation or change.
    pub operation: Operation,
    /// The requester; `None` if unknown.
    pub requester: Option<Requester>,
    /// The pod. To [`super::review::validate`] it is the final one.
    pub pod: AdmittedPod,
    /// The pod before an update; `None` on creation.
    pub old: Option<PreviousPod>,
}

impl PodRequest {
    /// Returns what is known about the owner of the pod.
    pub fn who<'a>(&'a self, namespace: Option<&'a NamespaceFact>) -> PodOwner<'a> {
        PodOwner {
            identity: &self.pod.identity,
            namespace: namespace.map(|namespace| &namespace.labels),
            requester: self.requester.as_ref(),
            made_for: self.old.as_ref().map_or("", |old| &*old.made_for),
            operation: Some(self.operation),
        }
    }

    /// Returns the tolerations that an existing pod had before. If those of an update are unknown, none of its
    /// tolerations count as new.
    pub(super) fn before(&self) -> Option<&[Toleration]> {
        match self.operation {
            Operation::Create => None,
            Operation::Update => {
                Some(self.old.as_ref().map_or(&self.pod.tolerations, |old| &old.tolerations))
            }
        }
    }

    /// Returns the only node that a new pod can run on: the one it names, or the one that the DaemonSet controller
    /// created it for.
    pub fn destination(&self) -> Option<&str> {
        match self.operation {
            Operation::Update => None,
            Operation::Create => self.pod.node.as_deref().or_else(|| self.daemons_node()),
        }
    }

    /// Whether the DaemonSet controller created it for a DaemonSet: any client may write such an owner reference.
    pub fn is_daemon(&self) -> bool {
        self.pod.identity.owner == PodOwnerKind::DaemonSet
            && self.requester.as_ref().is_some_and(Requester::makes_daemons)
    }

    /// The DaemonSet controller adds the same requirement on the node's name to each term of the affinity.
    fn daemons_node(&self) -> Option<&str> {
        let mut names = self.pod.required.iter().flatten().map(named_node);
        let first = names.next().filter(|_| self.is_daemon())??;
        names.all(|name| name == Some(first)).then_some(first)
    }
}

/// Returns the node of a term that only one node can meet, by its name.
fn named_node(term: &NodeTerm) -> Option<&str> {
    match &term.fields[..] {
        [NodeRequirement { key, operator: NodeOperator::In, values }] if **key == *"metadata.name" => {
            let [name] = &values[..] else { return None };
            Some(name)
        }
        _ => None,
    }
}

/// The parts of a namespace that admission reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NamespaceFact {
    /// `metadata.labels`.
    pub labels: Labels,
    /// Its annotations about seconds.
    pub requested: RequestedSeconds,
    /// Its annotations about tolerations (AD-8).
    pub lists: NamespaceTolerationLists,
}

/// The pool of the only node that a pod can run on ([`PodRequest::destination`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodePoolMembership<'s> {
    /// The node is unknown. It may be created later, as one of a pool.
    #[default]
    Unknown,
    /// The node belongs to no pool.
    None,
    /// The pool of this name.
    Pool(&'s str),
}

/// The state of the cluster around a request. `None` is what watches have not delivered yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterView<'s> {
    /// The pod's namespace.
    pub namespace: Option<&'s NamespaceFact>,
    /// All policies.
    pub policies: Option<&'s [TolerationPolicy]>,
    /// All pools that are valid ([`super::pool::PoolValidity`]), sorted by name.
    pub pools: Option<&'s [DedicatedPool]>,
    /// The pool of the pod's only node, if there is only one.
    pub node_pool: NodePoolMembership<'s>,
}
