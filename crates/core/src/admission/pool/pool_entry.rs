//! Decides whether a request would let a pod onto the nodes of a pool.
//!
//! - Invariant: a toleration that might match counts as a match, because the scheduler may know more operators.
//! - The ValidatingAdmissionPolicy that `taintward install` writes repeats this in CEL: change both.
//!   `pool_guard` compares them on a real API server.

use super::DedicatedPool;
use crate::admission::request::{NodePoolMembership, Operation, PodRequest};
use crate::taint::{Taint, TaintEffect};
use crate::toleration::{Toleration, TolerationOperator};
use alloc::vec::Vec;

/// How a pod would get onto a pool's nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolEntry {
    /// Not at all.
    None,
    /// By the tolerations at these positions.
    Tolerations(Vec<usize>),
    /// Its only node is one of them.
    Node,
    /// Its only node is unknown.
    UnknownNode,
    /// It claims that one of the pool's users created it ([`MADE_FOR`](super::MADE_FOR)), which is false: the claim
    /// would let it in later, so it is rejected now.
    Claim,
}

/// How a request would let its pod onto the nodes of a pool.
///
/// **Creation.** A pod that can run on one node only, because it names the node or the DaemonSet controller created it
/// for that node, enters the pool if that node belongs to it; an unknown node may come to belong to it. Any other pod
/// enters by its tolerations.
///
/// **Update.** An update can only add tolerations (VAL-6) or remove scheduling gates, and only what it adds is judged,
/// so that an old pod can still be changed and deleted. Removing the gates, or adding tolerations while the pod has no
/// node, allows new nodes: then the whole pod is judged.
pub fn entry(pool: &DedicatedPool, request: &PodRequest, node: NodePoolMembership<'_>) -> PoolEntry {
    let pod = &request.pod;
    let borne = || borne(pool, &pod.tolerations);
    if request.operation == Operation::Update {
        let old = request.before().unwrap_or_default();
        let ungated = request.old.as_ref().is_some_and(|old| old.gated) && !pod.gated;
        let is_new = self::borne(pool, old).is_none();
        let whole = pod.node.is_none() && !pod.leaving && (ungated || old != pod.tolerations);
        return match borne() {
            Some(places) if is_new || whole => PoolEntry::Tolerations(places),
            _ => PoolEntry::None,
        };
    }
    // A pod that names its node needs no toleration to get there.
    let gets_there = || pod.node.is_some() || borne().is_some();
    match (request.destination(), node) {
        (None, _) => borne().map_or(PoolEntry::None, PoolEntry::Tolerations),
        (Some(_), NodePoolMembership::Pool(name)) if *name == *pool.name && gets_there() => PoolEntry::Node,
        (Some(_), NodePoolMembership::Pool(_) | NodePoolMembership::None) => PoolEntry::None,
        (Some(_), NodePoolMembership::Unknown)
            if pod.node.is_some() || !pod.tolerations.iter().all(is_ordinary) =>
        {
            PoolEntry::UnknownNode
        }
        (Some(_), NodePoolMembership::Unknown) => PoolEntry::None,
    }
}

/// Returns the tolerations that might tolerate all taints of a pool that repel pods, by position, one for each taint.
fn borne(pool: &DedicatedPool, tolerations: &[Toleration]) -> Option<Vec<usize>> {
    let first = |taint| tolerations.iter().position(|one| might_tolerate(one, taint));
    let mut places: Vec<usize> = pool.barrier().iter().map(first).collect::<Option<_>>()?;
    places.sort_unstable();
    places.dedup();
    (!places.is_empty()).then_some(places)
}

/// Whether a toleration might match a taint: as MATCH-4 says, but numeric comparisons, unknown operators and unknown
/// effects count as a match.
pub fn might_tolerate(toleration: &Toleration, taint: &Taint) -> bool {
    let effect = match &toleration.effect {
        None | Some(TaintEffect::Unknown(_)) => true,
        Some(effect) => *effect == taint.effect,
    };
    let key = toleration.key.is_empty() || toleration.key == taint.key;
    let value = match &toleration.operator {
        TolerationOperator::Unset | TolerationOperator::Equal => toleration.value == taint.value,
        TolerationOperator::Exists
        | TolerationOperator::Lt
        | TolerationOperator::Gt
        | TolerationOperator::Unknown(_) => true,
    };
    effect && key && value
}

/// Whether a toleration is for one of the taints that Kubernetes adds to unhealthy nodes, which no pool can have.
pub fn is_ordinary(toleration: &Toleration) -> bool {
    toleration.key.starts_with("node.kubernetes.io/")
}
