//! Counts the nodes and pods of each pool and names the unauthorized pods on its nodes.
//!
//! - Invariant: names are bounded. A pod whose membership is unknown counts as unauthorized where the pool denies
//!   others, and is never evicted.

use super::membership::{Membership, PodOwner, PoolExemption, PoolExemptions, is_of_system, membership};
use super::node_plan::{PoolNode, reconcile};
use super::node_record::{AppliedMark, NodeRecordAnnotation, RecordTrust};
use super::validity::PoolValidity;
use super::{DaemonSetPolicy, DedicatedPool, PoolPlacement};
use crate::admission::messages::{text_of, toleration_of};
use crate::admission::request::PodIdentity;
use crate::identity::{NodeName, PodName, Uid};
use crate::scheduling::Labels;
use crate::toleration::Toleration;
use crate::toleration_matching::{NumericOperators, TolerationMatch, tolerates};
use alloc::borrow::ToOwned;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// At most this many unauthorized pods, and this many exempt pods, are named.
pub const NAMED_MAX: usize = 10;

/// At most this many pods of a pool are returned for eviction at the same time: more than disruption budgets block for
/// long.
const EVICTED_MAX: usize = 1_000;

/// A pod that has a node and has not terminated.
#[derive(Clone, Copy, Debug)]
pub struct PodOnNode<'r> {
    /// Its UID.
    pub uid: &'r Uid,
    /// Namespace and name.
    pub name: &'r PodName,
    /// Its identity, which decides its membership in pools.
    pub identity: &'r PodIdentity,
    /// The labels of its namespace, if they are known.
    pub namespace: Option<&'r Labels>,
    /// Its node.
    pub node: &'r str,
    /// Its tolerations.
    pub tolerations: &'r [Toleration],
    /// It is being deleted.
    pub leaving: bool,
}

/// A pod on the pool's nodes that does not belong to the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedPod {
    /// Namespace and name.
    pub pod: PodName,
    /// Its node.
    pub node: Box<str>,
    /// How it got there, or why it may be there.
    pub message: String,
}

/// A pod to be evicted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UnauthorizedPod {
    /// Its UID.
    pub uid: Uid,
    /// Namespace and name.
    pub pod: PodName,
    /// The pool's node that it runs on.
    pub node: NodeName,
}

/// The status of a pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolStatus {
    /// What the pool may do: the admission policy keeps pods out for pools that are not rejected.
    pub validity: PoolValidity,
    /// The names of its nodes and of those it takes next, in order: the admission policy rejects other pods that name
    /// one. The caller fills it in.
    pub members: Vec<Box<str>>,
    /// Nodes that it has.
    pub nodes: u32,
    /// Nodes that it should have, but where a taint or label of another client prevents it.
    pub conflicts: u32,
    /// Its own pods on its nodes.
    pub pods: u32,
    /// Its own pods on other nodes, where they should not be ([`PoolPlacement::Exclusive`]): they are older than the
    /// pool.
    pub elsewhere: u32,
    /// Pods on its nodes that are exempt.
    pub exempt: u32,
    /// The first of them, by node and name: pods outside of kube-system before the others.
    pub exempt_pods: Vec<NamedPod>,
    /// Pods on its nodes whose membership is unknown, because their creator or their namespace is unknown.
    pub unknown: u32,
    /// Unauthorized pods on its nodes; where such pods are rejected, those of unknown membership are included.
    pub violations: u32,
    /// The first of them, by node and name.
    pub violating_pods: Vec<NamedPod>,
    /// Pods that are certainly unauthorized and to be evicted, at most as many as are handled at the same time.
    pub evicted: Vec<UnauthorizedPod>,
}

/// Computes the status of each pool.
pub fn status(
    pools: &[DedicatedPool],
    validity: &[PoolValidity],
    nodes: &[&PoolNode],
    mut residents: Vec<PodOnNode<'_>>,
    exemptions: &PoolExemptions,
    trust: RecordTrust,
) -> Vec<PoolStatus> {
    let validity_of = |at: usize| validity.get(at).copied().unwrap_or_default();
    let new = |at| PoolStatus { validity: validity_of(at), ..PoolStatus::default() };
    let mut all: Vec<PoolStatus> = (0..pools.len()).map(new).collect();
    let mut pool_of: BTreeMap<&str, usize> = BTreeMap::new();
    for node in nodes {
        let outcome = reconcile(pools, validity, node, trust);
        if let Some(pool) = outcome.pool {
            all[pool].nodes += 1;
            pool_of.insert(&*node.name, pool);
        } else if let Some(conflict) = outcome.conflict {
            all[conflict.pool].conflicts += 1;
        }
    }
    residents.sort_by_key(|resident| (resident.node, resident.name));
    for resident in &residents {
        let place = pool_of.get(resident.node).copied();
        let exempt = exemptions.as_claimed(resident.identity);
        if let Some(at) = place {
            count_on_node(&pools[at], resident, exemption(&pools[at], resident, exemptions), &mut all[at]);
        }
        if exempt.is_none() {
            count_elsewhere(pools, resident, place, &mut all);
        }
    }
    for status in &mut all {
        // Pods of kube-system come last; otherwise the order is by node and name.
        status.exempt_pods.sort_by_key(|one| is_of_system(one.pod.namespace()));
        status.exempt_pods.truncate(NAMED_MAX);
    }
    all
}

/// Whether a pod on a node of the pool certainly does not belong to it and is neither exempt nor allowed.
pub fn is_unauthorized(pool: &DedicatedPool, resident: &PodOnNode<'_>, exemptions: &PoolExemptions) -> bool {
    exemption(pool, resident, exemptions).is_none() && whose(pool, resident) == Membership::No
}

/// Returns why a pod may be on a node of the pool, whether or not it belongs to the pool.
fn exemption(
    pool: &DedicatedPool,
    resident: &PodOnNode<'_>,
    exemptions: &PoolExemptions,
) -> Option<PoolExemption> {
    let allowed = |exempt: &PoolExemption| {
        *exempt != PoolExemption::DaemonSet || pool.daemon_sets == DaemonSetPolicy::Allow
    };
    exemptions.as_claimed(resident.identity).filter(allowed)
}

fn whose(pool: &DedicatedPool, resident: &PodOnNode<'_>) -> Membership {
    let PodOnNode { identity, namespace, .. } = *resident;
    membership(
        pool,
        PodOwner { identity, namespace, requester: None, made_for: &identity.made_for, operation: None },
    )
}

fn count_on_node(
    pool: &DedicatedPool,
    resident: &PodOnNode<'_>,
    exempt: Option<PoolExemption>,
    status: &mut PoolStatus,
) {
    let named = |message| NamedPod { pod: resident.name.clone(), node: resident.node.into(), message };
    if let Some(exempt) = exempt {
        status.exempt += 1;
        // There may be a pod of kube-system on each node: these displace no others.
        let of_system = is_of_system(resident.name.namespace());
        let alike = status.exempt_pods.iter().filter(|one| is_of_system(one.pod.namespace()) == of_system);
        if alike.count() < NAMED_MAX {
            status.exempt_pods.push(named(exempt.sentence().to_owned()));
        }
        return;
    }
    let membership = whose(pool, resident);
    match membership {
        Membership::Yes => status.pods += 1,
        Membership::Unknown => status.unknown += 1,
        Membership::No
            if pool.evicts()
                && !resident.leaving
                && status.validity != PoolValidity::Rejected
                && status.evicted.len() < EVICTED_MAX =>
        {
            let (uid, pod) = (resident.uid.clone(), resident.name.clone());
            status.evicted.push(UnauthorizedPod { uid, pod, node: NodeName::new(resident.node) });
        }
        Membership::No => {}
    }
    if membership == Membership::No || (membership == Membership::Unknown && pool.denial_if_unjudged()) {
        status.violations += 1;
        if status.violating_pods.len() < NAMED_MAX {
            let message = if membership == Membership::No { how(pool, resident) } else { UNKNOWN.to_owned() };
            status.violating_pods.push(named(message));
        }
    }
}

/// The explanation for a pod whose creator is unknown.
const UNKNOWN: &str = "it is unknown whether one of the pool's users created it: it is older than the pool, \
 or the webhook was unavailable; recreate it";

fn how(pool: &DedicatedPool, resident: &PodOnNode<'_>) -> String {
    let let_in = |one: &Toleration| {
        pool.barrier().iter().any(|taint| tolerates(one, taint, NumericOperators::On) == TolerationMatch::Yes)
    };
    match resident.tolerations.iter().position(let_in) {
        Some(at) => {
            format!("toleration {at} ({}) lets it stay", toleration_of(&resident.tolerations[at]))
        }
        None => format!(
            "it was on {} before the taint, or was bound there by name; an effect NoExecute would evict it",
            text_of(resident.node)
        ),
    }
}

/// Counts a pod for each exclusive pool that it belongs to but is outside of: being in one of several is enough.
fn count_elsewhere(
    pools: &[DedicatedPool],
    resident: &PodOnNode<'_>,
    place: Option<usize>,
    all: &mut [PoolStatus],
) {
    let has_to = |at: &usize| {
        let pool = &pools[*at];
        !pool.leaving
            && pool.placement == PoolPlacement::Exclusive
            && whose(pool, resident) == Membership::Yes
    };
    let homes: Vec<usize> = (0..pools.len()).filter(has_to).collect();
    if !place.is_some_and(|place| homes.contains(&place)) {
        homes.into_iter().for_each(|at| all[at].elsewhere += 1);
    }
}

/// Returns what a pool's status has to remember, for [`DedicatedPool::applied_marks`]: the marks that it declares, and
/// those that it declared before and that are still on nodes in its name; a mark in the name of another pool is that
/// pool's to remember. Written before a node is changed; a pool that is being deleted may be removed when this is
/// empty.
pub fn remembered(pool: &DedicatedPool, nodes: &[PoolNode]) -> Vec<AppliedMark> {
    let mut marks = if pool.leaving { Vec::new() } else { pool.marks() };
    let records = nodes.iter().filter_map(|node| node.record.as_deref()).map(NodeRecordAnnotation::parse);
    let own = records.filter(|record| record.pool == pool.name);
    let out: Vec<AppliedMark> = own.flat_map(|record| record.marks).collect();
    let stood = pool.applied_marks.iter().cloned().chain(pool.marks());
    for mark in stood {
        if out.contains(&mark) && !marks.contains(&mark) {
            marks.push(mark);
        }
    }
    marks
}
