//! Decides whether a pod belongs to a pool, and which pods are exempt from all pools.
//!
//! - Invariant: without enough facts the answer is "unknown", neither yes nor no.
//! - See `violations.rs` for what follows from it.

use super::{DedicatedPool, ServiceAccount};
use crate::admission::requester::{Operation, PodIdentity, Requester};
use crate::fact::PodOwnerKind;
use crate::scheduling::Labels;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The annotation of a pod that users of some pools created: the UIDs of these pools, separated by commas.
pub const MADE_FOR: &str = "taintward.io/made-for";

/// Whether a pod belongs to a pool.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Membership {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// The labels of its namespace, or its creator, would have to be known.
    Unknown,
}

/// Everything that is known about the owner of a pod.
#[derive(Clone, Copy, Debug)]
pub struct PodOwner<'a> {
    /// The pod's identity.
    pub identity: &'a PodIdentity,
    /// The labels of its namespace.
    pub namespace: Option<&'a Labels>,
    /// The requester that creates or updates the pod; `None` without a request, or if the requester is unknown.
    pub requester: Option<&'a Requester>,
    /// The value of [`MADE_FOR`] before this request: a value that a request itself sets has to be proven first.
    pub made_for: &'a str,
    /// `None` for an existing pod.
    pub operation: Option<Operation>,
}

/// Whether a pod belongs to the pool.
///
/// Controllers create most pods, and a request with a controller's account does not say for which user. So namespace
/// and service account decide for all pods; users and groups count only if the requester is known and is not such a
/// controller. The webhook records in [`MADE_FOR`] for which pools' users a pod was created, and the admission policy
/// rejects that annotation from others, so it counts for the life of the pod. Otherwise an update is judged by its own
/// requester.
///
/// A user who may create pods in a namespace may choose any of its service accounts: a pool that names service accounts
/// does not keep out other users of the same namespace.
pub fn membership(pool: &DedicatedPool, who: PodOwner<'_>) -> Membership {
    let users = &pool.users;
    let runs_as_own = users.service_accounts.iter().any(|account| runs_as(who.identity, account));
    if runs_as_own || made_by_user(pool, who) || names(who.made_for, pool) {
        return Membership::Yes;
    }
    let maker_matters = !users.users.is_empty() || !users.groups.is_empty();
    let namespace = users.namespaces.as_ref();
    match namespace.map(|selector| who.namespace.map(|labels| selector.selects(labels))) {
        Some(Some(true)) => Membership::Yes,
        Some(None) => Membership::Unknown,
        _ if maker_matters && who.requester.is_none() => Membership::Unknown,
        _ => Membership::No,
    }
}

fn runs_as(identity: &PodIdentity, account: &ServiceAccount) -> bool {
    let name = if identity.service_account.is_empty() { "default" } else { &identity.service_account };
    account.namespace == identity.namespace && *account.name == *name
}

/// Whether a value of [`MADE_FOR`] names a pool.
pub(super) fn names(made_for: &str, pool: &DedicatedPool) -> bool {
    !pool.uid.is_empty() && made_for.contains(&*pool.uid)
}

/// Whether the requester is one of the pool's users.
pub(super) fn made_by_user(pool: &DedicatedPool, who: PodOwner<'_>) -> bool {
    let Some(requester) = who.requester else { return false };
    !requester.creates_pods_for_workloads()
        && (pool.users.users.contains(&requester.user)
            || pool.users.groups.iter().any(|group| requester.is_in(group)))
}

/// Why pools do not apply to a pod: it gets nothing and is not rejected. Priority classes are not a reason: anyone may
/// use the system's where no quota forbids it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolExemption {
    /// In an exempt namespace.
    Namespace,
    /// The mirror pod of a static pod: it runs already. Only if a kubelet requests it.
    Mirror,
    /// A DaemonSet's pod: it gets nothing, because it belongs on every node that its template tolerates, and an
    /// affinity for some nodes would leave it Pending on the others. The pool decides whether it is let in
    /// ([`DaemonSets`](super::DaemonSetPolicy)).
    DaemonSet,
}

impl PoolExemption {
    /// The sentence for a status.
    pub const fn sentence(self) -> &'static str {
        match self {
            Self::Namespace => "its namespace is exempt",
            Self::Mirror => "it is a static pod of its node",
            Self::DaemonSet => "it is of a DaemonSet, which the pool allows",
        }
    }

    /// `daemon-set`
    pub const fn name(self) -> &'static str {
        match self {
            Self::Namespace => "exempt-namespace",
            Self::Mirror => "mirror",
            Self::DaemonSet => "daemon-set",
        }
    }
}

/// Which pods are exempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolExemptions {
    /// The namespaces to which no pool applies: the system's, and those that the administrator trusts like them.
    pub namespaces: Vec<Box<str>>,
}

/// The namespace of the system, to which no pool applies.
const SYSTEM: &str = "kube-system";

/// Whether a namespace is the system's.
pub(super) fn is_of_system(namespace: &str) -> bool {
    namespace == SYSTEM
}

impl Default for PoolExemptions {
    fn default() -> Self {
        Self { namespaces: [SYSTEM.into()].into() }
    }
}

impl PoolExemptions {
    /// Returns the exemptions of the system's namespace and these.
    pub fn beside<'n>(more: impl IntoIterator<Item = &'n str>) -> Self {
        let mut all = Self::default();
        for namespace in more {
            if !all.namespaces.iter().any(|one| **one == *namespace) {
                all.namespaces.push(namespace.into());
            }
        }
        all
    }

    /// Returns why this pod is not rejected, if it is exempt. The claim to be a mirror pod is accepted only from a
    /// kubelet, or if the requester is unknown.
    pub fn of(&self, who: PodOwner<'_>) -> Option<PoolExemption> {
        let by_kubelet = who.requester.is_none_or(Requester::is_kubelet);
        match () {
            () if self.namespaces.contains(&who.identity.namespace) => Some(PoolExemption::Namespace),
            () if who.identity.mirror && by_kubelet => Some(PoolExemption::Mirror),
            () => None,
        }
    }

    /// Returns why this pod gets nothing, if it is exempt: here its claim is accepted, because it gains nothing by it.
    pub fn as_claimed(&self, identity: &PodIdentity) -> Option<PoolExemption> {
        let who = PodOwner { identity, namespace: None, requester: None, made_for: "", operation: None };
        let daemon = (identity.owner == PodOwnerKind::DaemonSet).then_some(PoolExemption::DaemonSet);
        self.of(who).or(daemon)
    }
}
