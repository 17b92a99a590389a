//! Finds the workload of a pod through its owner references, and whether a deleted pod is created again.

use crate::scheduling::Labels;
use alloc::boxed::Box;
use core::fmt;

/// The label by which a Deployment distinguishes its ReplicaSets.
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

/// The kind of object that created a pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum WorkloadKind {
    /// `apps` Deployment, through a ReplicaSet.
    Deployment,
    /// `apps` ReplicaSet without a Deployment.
    ReplicaSet,
    /// `apps` StatefulSet.
    StatefulSet,
    /// `apps` DaemonSet.
    DaemonSet,
    /// `batch` Job.
    Job,
    /// The node itself: a static pod.
    Node,
    /// Another kind.
    Other(Box<str>),
    /// None: a bare pod.
    Bare,
}

/// What happens after a pod is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecreationPolicy {
    /// It is recreated under another name and scheduled like any pod.
    Anywhere,
    /// It is recreated under the same name once it is gone, and scheduled like any pod.
    SameName,
    /// It belongs to its node: it is not recreated while the node's taints forbid it, and immediately if they do not
    /// (DS-3, DS-4).
    SameNode,
    /// The Job recreates it, unless its failure policy or backoff limit says otherwise (NB-3).
    AsJob,
    /// No controller recreates it.
    Never,
    /// Unknown: a custom controller decides.
    Unknown,
}

impl WorkloadKind {
    /// Returns the kind as users write it; `Pod` for a bare pod.
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

    /// Returns what happens after one of its pods is deleted.
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

/// The owner of pods.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Workload {
    /// Its namespace.
    pub namespace: Box<str>,
    /// Its kind.
    pub kind: WorkloadKind,
    /// Its name; for a bare pod, the pod's.
    pub name: Box<str>,
}

/// `Deployment shop/web`
impl fmt::Display for Workload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.as_str(), self.namespace, self.name)
    }
}

impl Workload {
    /// Returns the workload of a pod with this name, these labels and this owner.
    ///
    /// A ReplicaSet whose name ends with the pod's template hash belongs to a Deployment: only Deployments name them
    /// so.
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
