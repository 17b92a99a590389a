//! Defines the operation, the requester and the owner of a pod in an admission request.

use crate::fact::PodOwnerKind;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The operation of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operation {
    /// The object is created.
    Create,
    /// The object is updated.
    Update,
}

/// The requester, as the API server has authenticated it (`userInfo`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Requester {
    /// `username`.
    pub user: Box<str>,
    /// `groups`.
    pub groups: Vec<Box<str>>,
}

/// The accounts with which Kubernetes' controllers create pods: such a requester does not say for which user. The first
/// two create the pods of DaemonSets.
pub const MAKERS: [&str; 6] = [
    "system:kube-controller-manager",
    "system:serviceaccount:kube-system:daemon-set-controller",
    "system:serviceaccount:kube-system:replicaset-controller",
    "system:serviceaccount:kube-system:replication-controller",
    "system:serviceaccount:kube-system:statefulset-controller",
    "system:serviceaccount:kube-system:job-controller",
];

impl Requester {
    /// Whether it is a controller that creates the pods of workloads.
    pub fn creates_pods_for_workloads(&self) -> bool {
        MAKERS.contains(&&*self.user)
    }

    /// Whether it is the controller that creates the pods of DaemonSets.
    pub fn makes_daemons(&self) -> bool {
        MAKERS[..2].contains(&&*self.user)
    }

    /// Whether it is a kubelet.
    pub fn is_kubelet(&self) -> bool {
        self.is_in("system:nodes")
    }

    /// Whether it is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|own| **own == *group)
    }
}

/// The identity of a pod, by which exemptions and membership in pools are decided, for requested and for running pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct PodIdentity {
    /// `metadata.namespace`; for a request, that of the request.
    pub namespace: Box<str>,
    /// `spec.serviceAccountName`; empty means `default`.
    pub service_account: Box<str>,
    /// `spec.priorityClassName`.
    pub priority_class: Box<str>,
    /// Which kind of controller owns it.
    pub owner: PodOwnerKind,
    /// Whether the annotation `kubernetes.io/config.mirror` exists.
    pub mirror: bool,
    /// The annotation [`MADE_FOR`](super::pool::MADE_FOR); empty if absent.
    pub made_for: Box<str>,
}
