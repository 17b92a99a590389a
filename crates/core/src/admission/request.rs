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

/// A pod as it is asked for. Everything that is not needed is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmittedPod {
    /// Whose it is.
    pub identity: PodIdentity,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// The terms of the required node affinity; `None` where there is none.
    pub required: Option<Vec<NodeTerm>>,
    /// It prefers some nodes (`preferredDuringScheduling...`).
    pub prefers: bool,
    /// `spec.nodeName`, if it is set.
    pub node: Option<Box<str>>,
    /// `spec.schedulingGates` is not empty: its affinity may still be narrowed.
    pub gated: bool,
    /// `metadata.deletionTimestamp` is set: no scheduler looks at it any more.
    pub leaving: bool,
    /// `spec.hostNetwork`.
    pub host_network: bool,
    /// Labelled `tier: control-plane`.
    pub control_plane: bool,
    /// Names of the resources that containers and init containers request; ephemeral containers do not count (AD-7).
    pub resources: Vec<Box<str>>,
    /// No container has a request or limit of CPU or memory: its class of service is BestEffort (AD-9).
    pub best_effort: bool,
    /// Its annotations about seconds.
    pub asked: RequestedSeconds,
}

/// A pod before a change, as far as that matters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PreviousPod {
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
    /// `spec.schedulingGates` was not empty.
    pub gated: bool,
    /// The annotation [`MADE_FOR`](super::pool::MADE_FOR).
    pub made_for: Box<str>,
}

/// A request for a pod, on the resource itself: no subresource asks any of these rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodRequest {
    /// Creation or change.
    pub operation: Operation,
    /// Who asks; `None` where that is not known.
    pub requester: Option<Requester>,
    /// The pod. To [`super::review::validate`] it is the final one.
    pub pod: AdmittedPod,
    /// How it was before a change; `None` on creation.
    pub old: Option<PreviousPod>,
}

impl PodRequest {
    /// Whose the pod is, as far as it is known.
    pub fn who<'a>(&'a self, namespace: Option<&'a NamespaceFact>) -> PodOwner<'a> {
        PodOwner {
            identity: &self.pod.identity,
            namespace: namespace.map(|namespace| &namespace.labels),
            requester: self.requester.as_ref(),
            made_for: self.old.as_ref().map_or("", |old| &*old.made_for),
            operation: Some(self.operation),
        }
    }

    /// The tolerations it had before, if it was there before. Where those of a change are not told, nothing about it
    /// counts as new.
    pub(super) fn before(&self) -> Option<&[Toleration]> {
        match self.operation {
            Operation::Create => None,
            Operation::Update => {
                Some(self.old.as_ref().map_or(&self.pod.tolerations, |old| &old.tolerations))
            }
        }
    }

    /// The one node that a new pod can go to: the one it names, or the one that the DaemonSet controller made it for.
    pub fn destination(&self) -> Option<&str> {
        match self.operation {
            Operation::Update => None,
            Operation::Create => self.pod.node.as_deref().or_else(|| self.daemons_node()),
        }
    }

    /// Made by the DaemonSet controller for a DaemonSet: anyone may write such an owner down.
    pub fn is_daemon(&self) -> bool {
        self.pod.identity.owner == PodOwnerKind::DaemonSet
            && self.requester.as_ref().is_some_and(Requester::makes_daemons)
    }

    /// The DaemonSet controller puts the same requirement on the node's name into each term of the affinity.
    fn daemons_node(&self) -> Option<&str> {
        let mut names = self.pod.required.iter().flatten().map(named_node);
        let first = names.next().filter(|_| self.is_daemon())??;
        names.all(|name| name == Some(first)).then_some(first)
    }
}

/// The node of a term that one node alone can meet, by its name.
fn named_node(term: &NodeTerm) -> Option<&str> {
    match &term.fields[..] {
        [NodeRequirement { key, operator: NodeOperator::In, values }] if **key == *"metadata.name" => {
            let [name] = &values[..] else { return None };
            Some(name)
        }
        _ => None,
    }
}

/// A namespace, as far as admission asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamespaceFact {
    /// `metadata.labels`.
    pub labels: Labels,
    /// Its annotations about seconds.
    pub asked: RequestedSeconds,
    /// Its annotations about tolerations (AD-8).
    pub lists: NamespaceTolerationLists,
}

/// Whose the node is that a pod can go to alone ([`PodRequest::destination`]).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodePoolMembership<'s> {
    /// There is no such node, as far as is known. It may be made later, as one of a pool.
    #[default]
    Unknown,
    /// The node is nobody's.
    None,
    /// The pool of this name.
    Pool(&'s str),
}

/// What there is around a request. `None` is what watches have not brought yet.
#[derive(Clone, Copy, Debug, Default)]
pub struct ClusterView<'s> {
    /// The pod's namespace.
    pub namespace: Option<&'s NamespaceFact>,
    /// All policies.
    pub policies: Option<&'s [TolerationPolicy]>,
    /// All pools that stand ([`super::pool::PoolValidity`]); in the order of their names.
    pub pools: Option<&'s [DedicatedPool]>,
    /// Whose the pod's only node is, if there is only one.
    pub node_pool: NodePoolMembership<'s>,
}
