//! # Belongs: whose a pod is
//! Room:     whether a pod is one of a pool's own; which pods no pool has a say in.
//! Comes in: what is known of the pod and of who asks for it.
//! Goes out: [`Belongs`], [`Exempt`].
//! Keeps:    what cannot be known is neither yes nor no: nothing is given, and nobody is refused.
//! Not here: what follows (`guard.rs`).
//!
//! Most pods are made by controllers, and the one who asks for them is the controller's account: it says nothing about
//! for whom. So namespace and service account of the pod decide for all pods; users and groups count only when a pod is
//! created, and only if it is not one of those controllers who asks. Whoever may create pods in a namespace may choose
//! any service account of it: naming accounts keeps no one of the same namespace out.

use super::{Pool, ServiceAccount};
use crate::admission::request::{Identity, Operation, Requester};
use crate::fact::Owner;
use crate::scheduling::Labels;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// Whether a pod is one of a pool's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Belongs {
    /// It is.
    Yes,
    /// It is not.
    No,
    /// Its namespace's labels, or who made it, would have to be known.
    Unknown,
}

/// Everything that is known about whose a pod is.
#[derive(Clone, Copy, Debug)]
pub struct Who<'a> {
    /// What the pod says.
    pub identity: &'a Identity,
    /// The labels of its namespace.
    pub namespace: Option<&'a Labels>,
    /// Who asks for it to be created or changed; `None` where nobody asks or it is not known who.
    pub requester: Option<&'a Requester>,
    /// `None` for a pod that is there already.
    pub operation: Option<Operation>,
}

/// Whether a pod is one of the pool's own.
pub fn belongs(pool: &Pool, who: Who<'_>) -> Belongs {
    let users = &pool.users;
    if users.service_accounts.iter().any(|account| runs_as(who.identity, account)) || made_by_user(pool, who)
    {
        return Belongs::Yes;
    }
    let maker_matters = !users.users.is_empty() || !users.groups.is_empty();
    let maker_unknown = match who.operation {
        Some(Operation::Create) => who.requester.is_none(),
        Some(Operation::Update) | None => true,
    };
    let namespace = users.namespaces.as_ref();
    match namespace.map(|selector| who.namespace.map(|labels| selector.selects(labels))) {
        Some(Some(true)) => Belongs::Yes,
        Some(None) => Belongs::Unknown,
        _ if maker_matters && maker_unknown => Belongs::Unknown,
        _ => Belongs::No,
    }
}

fn runs_as(identity: &Identity, account: &ServiceAccount) -> bool {
    let name = if identity.service_account.is_empty() { "default" } else { &identity.service_account };
    account.namespace == identity.namespace && *account.name == *name
}

fn made_by_user(pool: &Pool, who: Who<'_>) -> bool {
    let Some(requester) = who.requester else { return false };
    who.operation == Some(Operation::Create)
        && !requester.makes_pods_for_others()
        && (pool.users.users.contains(&requester.user)
            || pool.users.groups.iter().any(|group| requester.is_in(group)))
}

/// Why no pool has a say in a pod: it gets nothing and is not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Exempt {
    /// A DaemonSet's: it belongs on every node that its template tolerates, and an affinity for some nodes would leave it
    /// Pending on the others. Only if the DaemonSet controller asks for it: anybody may write such an owner down.
    DaemonSet,
    /// The shadow of a static pod: it runs already. Only if a kubelet asks for it.
    Mirror,
    /// In a namespace of the system.
    SystemNamespace,
    /// Of the priority class `system-node-critical` or `system-cluster-critical`. Who may use these is for quotas to
    /// say.
    SystemCritical,
}

impl Exempt {
    /// `daemon-set`
    pub const fn name(self) -> &'static str {
        match self {
            Self::DaemonSet => "daemon-set",
            Self::Mirror => "mirror",
            Self::SystemNamespace => "system-namespace",
            Self::SystemCritical => "system-critical",
        }
    }
}

/// Which pods are exempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exemptions {
    /// The rules that hold.
    pub rules: Vec<Exempt>,
    /// The namespaces of the system.
    pub namespaces: Vec<Box<str>>,
}

impl Default for Exemptions {
    fn default() -> Self {
        Self {
            rules: [Exempt::DaemonSet, Exempt::Mirror, Exempt::SystemNamespace, Exempt::SystemCritical]
                .into(),
            namespaces: ["kube-system".into()].into(),
        }
    }
}

const CRITICAL: [&str; 2] = ["system-node-critical", "system-cluster-critical"];

impl Exemptions {
    /// Why this pod is not refused, if so. A DaemonSet's and a kubelet's are believed only from those who make them, or
    /// where it is not known who asks.
    pub fn of(&self, who: Who<'_>) -> Option<Exempt> {
        let is = |right: fn(&Requester) -> bool| who.requester.is_none_or(right);
        let believed = |rule: Exempt| match rule {
            Exempt::DaemonSet => is(Requester::makes_daemons),
            Exempt::Mirror => is(Requester::is_kubelet),
            Exempt::SystemNamespace | Exempt::SystemCritical => true,
        };
        self.claimed(who.identity).find(|&rule| believed(rule))
    }

    /// Why this pod gets nothing, if so: here it is believed without asking, because it gains nobody anything.
    pub fn as_claimed(&self, identity: &Identity) -> Option<Exempt> {
        self.claimed(identity).next()
    }

    fn claimed<'a>(&'a self, identity: &'a Identity) -> impl Iterator<Item = Exempt> {
        let holds = |rule: &Exempt| match rule {
            Exempt::DaemonSet => identity.owner == Owner::DaemonSet,
            Exempt::Mirror => identity.mirror,
            Exempt::SystemNamespace => self.namespaces.contains(&identity.namespace),
            Exempt::SystemCritical => CRITICAL.contains(&&*identity.priority_class),
        };
        self.rules.iter().copied().filter(holds)
    }
}
