//! Defines the request and the cached facts that the admission rules take as input.
//!
//! - Invariant: an unknown fact is `None`, never empty; a rule that needs it does nothing.

use super::pod_toleration_restriction::NamespaceTolerationLists;
use super::policy::{RequestedSeconds, TolerationPolicy};
use super::pool::{DedicatedPool, PodOwner};
use crate::fact::PodOwnerKind;
use crate::scheduling::{Labels, NodeOperator, NodeRequirement, NodeTerm};
use crate::toleration::Toleration;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What is done to the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// It is made.
    Create,
    /// It is changed.
    Update,
}

/// Who asks, as the API server has authenticated them (`userInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requester {
    /// `username`.
    pub user: Box<str>,
    /// `groups`.
    pub groups: Vec<Box<str>>,
}

/// The controllers of Kubernetes that make pods, by the accounts they use: who asks says nothing about for whom. The
/// first two make those of DaemonSets.
pub const MAKERS: [&str; 6] = [
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:daemon-set-controller",
    "system:serviceaccount:kube-system:replicaset-controller",
    "system:serviceaccount:kube-system:replication-controller",
    "system:serviceaccount:kube-system:statefulset-controller",
    "system:serviceaccount:kube-system:job-controller",
];

impl Requester {
    /// One of the controllers that make pods for others.
    pub fn makes_pods_for_others(&self) -> bool {
        MAKERS.contains(&&*self.user)
    }

    /// The controller that makes the pods of DaemonSets.
    pub fn makes_daemons(&self) -> bool {
        MAKERS[..2].contains(&&*self.user)
    }

    /// A kubelet.
    pub fn is_kubelet(&self) -> bool {
        self.is_in("system:nodes")
    }

    /// Whether it is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| **own == *group)
    }
}

/// Whose a pod is: what exemptions and membership in pools are decided by, for pods that are asked for and pods that
/// run already.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodIdentity {
    /// `metadata.namespace`; of a request, that of the request.
    pub namespace: Box<str>,
    /// `spec.serviceAccountName`; empty means `default`.
    pub service_account: Box<str>,
    /// `spec.priorityClassName`.
    pub priority_class: Box<str>,
    /// Which kind of controller owns it.
    pub owner: PodOwnerKind,
    /// The annotation `kubernetes.io/config.mirror` is there.
    pub mirror: bool,
    /// The annotation [`MADE_FOR`](super::pool::MADE_FOR); empty where there is none.
    pub made_for: Box<str>,
}

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
