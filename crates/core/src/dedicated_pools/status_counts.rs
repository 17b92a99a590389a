//! Computes the desired status of each pool, with its counts of nodes and pods, and the sums of all pools.
//!
//! - Invariant: a pool is ready only after its nodes are written.
//! - See `admission/pool/status.rs` for which pod counts as what.

use super::backoff_map::BackoffMap;
use super::conditions::{observed_status, set_guarded, set_progressing};
use super::effect::PoolEffectKey;
use super::fact::{PoolFact, RecordedStatus};
use super::guard_coverage::GuardCoverage;
use super::pool_cache::PoolCache;
use super::reconcile::PoolPlan;
use crate::admission::pool::{
    DedicatedPool, Membership, PodOnNode, PodOwner, PoolExemptions, PoolNode, PoolPlacement, PoolStatus,
    PoolValidity, RecordTrust, membership, status,
};
use crate::admission::request::PodIdentity;
use crate::scheduling::Labels;
use crate::time::Wall;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::format;
use alloc::vec::Vec;

/// The sums of all pools.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DedicatedPoolStats {
    /// Pools that are fully applied.
    pub applied: usize,
    /// Pools that take no more nodes.
    pub frozen: usize,
    /// Pools that do nothing until they are corrected.
    pub rejected: usize,
    /// Pools that are being deleted.
    pub leaving: usize,
    /// Pools that cannot be decoded (D11).
    pub undecodable: usize,
    /// Nodes that are dedicated.
    pub nodes: usize,
    /// Nodes where a taint or label of another client prevents the pool's.
    pub conflicts: usize,
    /// Unauthorized pods on dedicated nodes.
    pub violations: usize,
    /// Pools that the guard does not cover.
    pub unguarded: usize,
    /// Nodes that have not been written yet.
    pub waiting: usize,
    /// Nodes whose last request failed.
    pub retrying: usize,
}

/// Computes the status of each pool, in the plan's order.
pub(crate) fn pool_counts(
    plan: &PoolPlan,
    cache: &PoolCache,
    exemptions: &PoolExemptions,
) -> Vec<PoolStatus> {
    let nodes = plan.settled_nodes();
    let pods = counted_pods(plan, &nodes, cache);
    let mut all = status(plan.pools(), plan.validity(), &nodes, pods, exemptions, RecordTrust::Pools);
    for (status, members) in all.iter_mut().zip(plan.members()) {
        status.members = members.iter().cloned().collect();
    }
    all
}

/// Returns the pods that count for some pool: those on dedicated nodes, and those that should be there.
fn counted_pods<'c>(plan: &PoolPlan, nodes: &[&PoolNode], cache: &'c PoolCache) -> Vec<PodOnNode<'c>> {
    let dedicated: BTreeSet<&str> =
        nodes.iter().filter(|node| node.record.is_some()).map(|node| &*node.name).collect();
    let exclusive: Vec<&DedicatedPool> = plan
        .pools()
        .iter()
        .filter(|pool| !pool.leaving && pool.placement == PoolPlacement::Exclusive)
        .collect();
    let namespaces: BTreeMap<&str, &Labels> =
        cache.namespaces.facts().map(|fact| (&*fact.name, &fact.labels)).collect();
    let namespace = |identity: &PodIdentity| namespaces.get(&*identity.namespace).copied();
    let is_exclusive = |identity: &PodIdentity| {
        let (namespace, made_for) = (namespace(identity), &*identity.made_for);
        let owner = PodOwner { identity, namespace, requester: None, made_for, operation: None };
        exclusive.iter().any(|pool| membership(pool, owner) == Membership::Yes)
    };
    let counting = cache.pods.of(&|node| dedicated.contains(node.as_str()), &is_exclusive);
    counting.into_iter().map(|pod| PodOnNode { namespace: namespace(pod.identity), ..pod }).collect()
}

/// Returns the desired status of a pool.
pub(crate) fn desired_status(
    plan: &PoolPlan,
    at: usize,
    pool: &PoolFact,
    (counts, coverage): (PoolStatus, Option<GuardCoverage>),
    backoff: &BackoffMap,
    wall: Wall,
) -> RecordedStatus {
    let mut desired = observed_status(pool, &plan.assessments()[at], counts, wall);
    set_guarded(&mut desired, pool, coverage, wall);
    let waiting = &plan.waiting()[at];
    if !waiting.is_empty() {
        let why = waiting.iter().find_map(|node| backoff.message(&PoolEffectKey::Node(node.clone())));
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        let nodes = if waiting.len() == 1 { "node" } else { "nodes" };
        let message = format!("the controller has yet to write {} {nodes}{why}", waiting.len());
        set_progressing(&mut desired, pool, &message, wall);
    }
    desired
}

impl DedicatedPoolStats {
    pub(crate) fn of(plan: &PoolPlan, counts: &[PoolStatus], undecodable: usize) -> Self {
        let mut stats = Self { undecodable, ..Self::default() };
        for (pool, validity) in plan.pools().iter().zip(plan.validity()) {
            match validity {
                _ if pool.leaving => stats.leaving += 1,
                PoolValidity::Applied => stats.applied += 1,
                PoolValidity::Frozen => stats.frozen += 1,
                PoolValidity::Rejected => stats.rejected += 1,
            }
        }
        let sum = |of: fn(&PoolStatus) -> u32| counts.iter().map(|one| of(one) as usize).sum();
        stats.nodes = sum(|one| one.nodes);
        stats.conflicts = sum(|one| one.conflicts);
        stats.violations = sum(|one| one.violations);
        stats
    }
}
