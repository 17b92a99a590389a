//! # Roster: which nodes are known, for the admission policy
//! Room:     the names of all nodes whose pool, if any, is told in that pool's status.
//! Comes in: a judgement; pools as they were last seen.
//! Goes out: [`KnownNodes`].
//! Keeps:    a node that a pool has or takes next is known only once that pool's status names it: between the two
//!           policies there is no moment in which a pod of others may be tied to it.
//! Not here: writing it (`pool_effects.rs`).

use super::pool_cache::Store;
use super::reconcile::PoolPlan;
use std::collections::BTreeSet;
use taintward_core::admission::pool::{DaemonSetPolicy, PoolValidity};
use taintward_kube::decode::PoolObject;
use taintward_kube::pools::{KnownNodes, UnknownNodePolicy};

/// Which nodes are known.
pub(super) fn roster(plan: &PoolPlan, pools: &Store<PoolObject>) -> KnownNodes {
    let keeps_out = plan.pools.iter().zip(&plan.standing);
    let mut keeping =
        keeps_out.filter(|(pool, standing)| pool.keeps_out() && **standing != PoolValidity::Refused);
    let Some((first, _)) = keeping.next() else { return KnownNodes::default() };
    let allow = |daemon_sets| daemon_sets == DaemonSetPolicy::Allow;
    let unknown = match allow(first.daemon_sets) && keeping.all(|(pool, _)| allow(pool.daemon_sets)) {
        true => UnknownNodePolicy::AllowDaemonSets,
        false => UnknownNodePolicy::Deny,
    };
    let mut names: BTreeSet<Box<str>> = plan.nodes.iter().map(|node| node.name.clone()).collect();
    for (seen, members) in plan.seen.iter().zip(&plan.members) {
        let told = pools.get(&seen.uid).and_then(|seen| seen.recorded.as_ref());
        let told = told.map(|told| told.status.members.as_slice()).unwrap_or_default();
        let untold = members.iter().filter(|member| told.binary_search(member).is_err());
        untold.for_each(|member| _ = names.remove(member));
    }
    KnownNodes { names, unknown }
}
