//! # Entry: whether a pod would be let onto a pool's nodes
//! Room:     the question that keeps others out: of a new pod, and of what a change brings.
//! Comes in: a request for a pod; a pool; whose the pod's only node is.
//! Goes out: [`PoolEntry`].
//! Keeps:    what might be borne counts as borne: the scheduler may know more operators than this program.
//! Not here: whose the pod is (`membership.rs`); what is said (`violations.rs`).
//!
//! The ValidatingAdmissionPolicy that `taintward install` ships asks the same in CEL. A change here is a change there;
//! `pool_guard_differential` compares them on a real API server.
//!
//! **A new pod** that can go to one node only, because it names it or the DaemonSet controller made it for that node,
//! gets onto the pool's nodes if that node is one of them. A node that is not known may become one of them. Any other
//! pod gets there by its tolerations.
//!
//! **A change** can only add tolerations (VAL-6) or take scheduling gates away. What the pod could do before is not held
//! against the one who changes it, so that an old pod can be changed and deleted; but taking the gates away lets the pod
//! go where it could not go yet, so the whole pod is judged then. So it is where tolerations are added while it has no
//! node.

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
    /// Its only node is not known.
    UnknownNode,
    /// It says that one of the pool's users made it ([`MADE_FOR`](super::MADE_FOR)), and that is not so: what it could
    /// get later by that, it does not get now.
    Claim,
}

/// How a request would let its pod onto the nodes of a pool.
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

/// The tolerations that might let a pod bear all taints of a pool that keep pods off, by position, one for each taint.
fn borne(pool: &DedicatedPool, tolerations: &[Toleration]) -> Option<Vec<usize>> {
    let first = |taint| tolerations.iter().position(|one| might_tolerate(one, taint));
    let mut places: Vec<usize> = pool.barrier().iter().map(first).collect::<Option<_>>()?;
    places.sort_unstable();
    places.dedup();
    (!places.is_empty()).then_some(places)
}

/// Whether a toleration might let a pod bear a taint: as MATCH-4 says, but what is compared as numbers, and operators
/// and effects that are not known, count as borne.
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

/// Whether a toleration is for one of the taints that Kubernetes puts on nodes in trouble, which no pool can have.
pub fn is_ordinary(toleration: &Toleration) -> bool {
    toleration.key.starts_with("node.kubernetes.io/")
}
