//! # Census: how each pool is doing
//! Room:     counts of nodes and pods for each pool; what its status is to say.
//! Comes in: a judgement, and everything that is known.
//! Goes out: counts, conditions, sums for metrics.
//! Keeps:    a pool is ready only when its nodes are written.
//! Not here: who counts as what (the core's `pool/status.rs`).

use super::backoff::{BackoffMap, RetryKey};
use super::pool_cache::PoolCache;
use super::reconcile::PoolPlan;
use crate::metrics::PoolGauges;
use std::collections::{BTreeMap, BTreeSet};
use taintward_core::admission::pool::{
    DedicatedPool, Membership, PodOnNode, PodOwner, PoolExemptions, PoolNode, PoolPlacement, PoolStatus,
    PoolValidity, RecordTrust, membership, status,
};
use taintward_core::admission::request::PodIdentity;
use taintward_core::scheduling::Labels;
use taintward_core::time::Wall;
use taintward_kube::decode::{PoolObject, RecordedStatus};
use taintward_kube::pools::{progressing, told};

/// How each pool is doing, in the judgement's order.
pub(super) fn census(plan: &PoolPlan, world: &PoolCache, exemptions: &PoolExemptions) -> Vec<PoolStatus> {
    let nodes = plan.settled_nodes();
    let residents = residents(plan, &nodes, world);
    let mut all = status(&plan.pools, &plan.standing, &nodes, residents, exemptions, RecordTrust::Pools);
    for (status, members) in all.iter_mut().zip(&plan.members) {
        status.members = members.iter().cloned().collect();
    }
    all
}

/// The pods that count for some pool: those on dedicated nodes, and those that have to be.
fn residents<'w>(plan: &PoolPlan, nodes: &[&PoolNode], world: &'w PoolCache) -> Vec<PodOnNode<'w>> {
    let dedicated: BTreeSet<&str> =
        nodes.iter().filter(|node| node.record.is_some()).map(|node| &*node.name).collect();
    let homes: Vec<&DedicatedPool> = plan
        .pools
        .iter()
        .filter(|pool| !pool.leaving && pool.placement == PoolPlacement::Exclusive)
        .collect();
    let namespaces: BTreeMap<&str, &Labels> =
        world.namespaces.facts().map(|seen| (&*seen.name, &seen.facts.labels)).collect();
    let namespace = |identity: &PodIdentity| namespaces.get(&*identity.namespace).copied();
    let has_a_home = |identity: &PodIdentity| {
        let (namespace, made_for) = (namespace(identity), &*identity.made_for);
        let who = PodOwner { identity, namespace, requester: None, made_for, operation: None };
        homes.iter().any(|pool| membership(pool, who) == Membership::Yes)
    };
    let counting = world.pods.of(&|node| dedicated.contains(node.as_str()), &has_a_home);
    counting.map(|pod| PodOnNode { namespace: namespace(pod.identity), ..pod }).collect()
}

/// What the status of a pool is to say.
pub(super) fn saying(
    plan: &PoolPlan,
    at: usize,
    now: &PoolObject,
    counts: PoolStatus,
    retries: &BackoffMap,
    wall: Wall,
) -> RecordedStatus {
    let mut told = told(now, &plan.assessments[at], counts, wall);
    let waiting = &plan.waiting[at];
    if !waiting.is_empty() {
        let trouble = waiting.iter().find_map(|node| retries.words(&RetryKey::Node(node.clone())));
        let trouble = trouble.map(|why| format!(": {why}")).unwrap_or_default();
        let nodes = if waiting.len() == 1 { "node is" } else { "nodes are" };
        progressing(&mut told, now, &format!("{} {nodes} still to be written{trouble}", waiting.len()), wall);
    }
    told
}

/// Everything together, for metrics.
pub(super) fn sums(plan: &PoolPlan, counts: &[PoolStatus], world: &PoolCache) -> PoolGauges {
    let mut sums = PoolGauges { unreadable: world.pools.unreadable().count(), ..PoolGauges::default() };
    for (pool, standing) in plan.pools.iter().zip(&plan.standing) {
        match standing {
            _ if pool.leaving => sums.leaving += 1,
            PoolValidity::Applied => sums.applied += 1,
            PoolValidity::Frozen => sums.frozen += 1,
            PoolValidity::Refused => sums.refused += 1,
        }
    }
    let sum = |of: fn(&PoolStatus) -> u32| counts.iter().map(|one| of(one) as usize).sum();
    sums.nodes = sum(|one| one.nodes);
    sums.conflicts = sum(|one| one.conflicts);
    sums.offenders = sum(|one| one.offenders);
    sums
}
