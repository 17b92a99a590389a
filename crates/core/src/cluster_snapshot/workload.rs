//! Finds the workload of a pod through its owner references, and whether a deleted pod is created again.

use crate::scheduling::Labels;
use alloc::boxed::Box;
use core::fmt;

/// The label by which a Deployment tells its ReplicaSets apart.
pub(crate) const TEMPLATE_HASH: &str = "pod-template-hash";

/// The entry of `metadata.ownerReferences` with `controller: true`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OwnerReference<'a> {
    /// The part of `apiVersion` before the slash; empty is core.
    pub group: &'a str,
    /// Its kind.
    pub kind: &'a str,
    /// Its name.
    pub name: &'a str,
}

/// What kind of object made a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WorkloadKind {
    /// `apps` Deployment, by way of a ReplicaSet.
    Deployment,
    /// `apps` ReplicaSet of its own.
    ReplicaSet,
    /// `apps` StatefulSet.
    StatefulSet,
    /// `apps` DaemonSet.
    DaemonSet,
    /// `batch` Job.
    Job,
    /// The node itself: a static pod.
    Node,
    /// Somebody else's kind.
    Other(Box<str>),
    /// Nobody: the pod stands alone.
    Bare,
}

/// What becomes of a pod once it is gone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecreationPolicy {
    /// Another is made, and scheduled like any.
    Anywhere,
    /// Another of the same name is made, once this one is really gone, and scheduled like any.
    SameName,
    /// It belongs to its node: none is made while the node's taints forbid it, and at once where they do not (DS-3, DS-4).
    SameNode,
    /// The Job makes another, unless its failure policy or backoff limit says otherwise (NB-3).
    AsJob,
    /// Nobody makes another: it is lost for good.
    Never,
    /// That is for a controller to say that is not known here.
    Unknown,
}

impl WorkloadKind {
    /// The kind as people write it; `Pod` for a pod that stands alone.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Deployment => "Deployment",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::DaemonSet => "DaemonSet",
            Self::Job => "Job",
            Self::Node => "Node",
            Self::Other(kind) => kind,
            Self::Bare => "Pod",
        }
    }

    /// What becomes of its pods.
    pub const fn returns(&self) -> RecreationPolicy {
        match self {
            Self::Deployment | Self::ReplicaSet => RecreationPolicy::Anywhere,
            Self::StatefulSet => RecreationPolicy::SameName,
            Self::DaemonSet => RecreationPolicy::SameNode,
            Self::Job => RecreationPolicy::AsJob,
            Self::Bare => RecreationPolicy::Never,
            Self::Node | Self::Other(_) => RecreationPolicy::Unknown,
        }
    }
}

/// What made pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Workload {
    /// Its namespace.
    pub namespace: Box<str>,
    /// What it is.
    pub kind: WorkloadKind,
    /// Its name; that of the pod where nobody made it.
    pub name: Box<str>,
}

/// `Deployment shop/web`
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}

impl Workload {
    /// What made a pod with this name, these labels and this owner.
    ///
    /// A ReplicaSet whose name ends with the pod's template hash is a Deployment's: nobody else names them so.
    pub fn of(namespace: &str, pod: &str, labels: &Labels, owner: Option<OwnerReference<'_>>) -> Self {
        let named = |kind, name: &str| Self { namespace: namespace.into(), kind, name: name.into() };
        let Some(OwnerReference { group, kind, name }) = owner else { return named(WorkloadKind::Bare, pod) };
        match (group, kind) {
            ("apps" | "extensions", "ReplicaSet") => match deployment(name, labels) {
                Some(deployment) => named(WorkloadKind::Deployment, deployment),
                None => named(WorkloadKind::ReplicaSet, name),
            },
            ("apps", "StatefulSet") => named(WorkloadKind::StatefulSet, name),
            ("apps" | "extensions", "DaemonSet") => named(WorkloadKind::DaemonSet, name),
            ("batch", "Job") => named(WorkloadKind::Job, name),
            ("", "Node") => named(WorkloadKind::Node, name),
            (_, other) => named(WorkloadKind::Other(other.into()), name),
        }
    }
}

fn deployment<'n>(replica_set: &'n str, labels: &Labels) -> Option<&'n str> {
    let hash = labels.get(TEMPLATE_HASH)?;
    let name = replica_set.strip_suffix(&**hash)?.strip_suffix('-')?;
    (!hash.is_empty() && !name.is_empty()).then_some(name)
}
