//! Computes the toleration and node affinity that pools add to a pod, and the pools that reject it.
//!
//! - Invariant: mutating twice changes nothing. A pod of unknown membership gets nothing, and a pool that denies
//!   rejects it.
//! - See `membership.rs` for whose pod it is, `pool_entry.rs` for whether it would enter a pool.

use super::affinity::{alternatives, narrowed};
use super::membership::{MADE_FOR, Membership, PodOwner, made_by_user, membership, names};
use super::pool_entry::{PoolEntry, entry};
use super::{DaemonSetPolicy, DedicatedPool, PoolEnforcement, PoolPlacement};
use crate::admission::messages::{few, text_of, toleration_of};
use crate::admission::request::{AdmittedPod, NodePoolMembership, Operation, PodRequest};
use crate::scheduling::{Labels, NodeTerm};
use crate::toleration::Toleration;
use crate::toleration_matching::{NumericOperators, TolerationMatch, tolerates};
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What a pod gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolMutation {
    /// Tolerations to append.
    pub tolerations: Vec<Toleration>,
    /// The terms of its required node affinity; `None` if they stay unchanged.
    pub required: Option<Vec<NodeTerm>>,
    /// The new value of [`MADE_FOR`], if it changes.
    pub made_for: Option<String>,
    /// The number of pools for which the pod's membership is unknown.
    pub unknown: usize,
}

/// Returns what the pools add to a pod that has these tolerations.
///
/// On creation a pod gets the toleration and, for [`PoolPlacement::Exclusive`], the affinity; a pod that names its node
/// gets the toleration only, because a kubelet rejects pods whose affinity does not fit. On update an API server
/// accepts new tolerations (VAL-6), and a narrower affinity only while scheduling gates hold the pod: a gated pod gets
/// both, another pod without a node the toleration, a pod with a node nothing.
///
/// A pod that belongs to several pools gets the toleration of each, and an affinity for the nodes of all exclusive ones
/// together.
pub fn mutation(
    pools: &[DedicatedPool],
    pod: &AdmittedPod,
    tolerations: &[Toleration],
    who: PodOwner<'_>,
    numeric: NumericOperators,
) -> PoolMutation {
    let mut given = PoolMutation::default();
    let mut exclusive = Vec::new();
    let update = who.operation != Some(Operation::Create);
    let bound = pod.node.is_some();
    if !update {
        let theirs: Vec<&str> =
            pools.iter().filter(|pool| made_by_user(pool, who)).map(|pool| &*pool.uid).collect();
        given.made_for = Some(theirs.join(",")).filter(|made_for| **made_for != *pod.identity.made_for);
    }
    // The requester of an update is not the pod's creator: it gives the pod nothing.
    let who = PodOwner { requester: who.requester.filter(|_| !update), ..who };
    for pool in pools {
        match membership(pool, who) {
            Membership::No => continue,
            Membership::Unknown => given.unknown += 1,
            Membership::Yes if update && bound => {}
            Membership::Yes => {
                let bears = |taint| {
                    tolerations.iter().any(|one| tolerates(one, taint, numeric) == TolerationMatch::Yes)
                };
                if !pool.taints().iter().all(bears) {
                    given.tolerations.push(pool.toleration());
                }
                if pool.placement == PoolPlacement::Exclusive {
                    exclusive.push(pool);
                }
            }
        }
    }
    if !exclusive.is_empty() && !bound && (!update || pod.gated) {
        given.required = narrow(pod, &exclusive, update);
    }
    given
}

fn narrow(pod: &AdmittedPod, exclusive: &[&DedicatedPool], update: bool) -> Option<Vec<NodeTerm>> {
    let before = pod.required.as_deref();
    let alternatives = alternatives(exclusive.iter().copied());
    let after = narrowed(before, &alternatives);
    // On update an API server accepts requirements added to terms, but no other number of terms.
    let rejected = update && before.is_some_and(|terms| Some(terms.len()) != after.as_ref().map(Vec::len));
    after.filter(|after| !rejected && before != Some(after))
}

/// A pod that could get onto a pool's nodes and does not belong to the pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolViolation {
    /// Position of the pool.
    pub pool: usize,
    /// How.
    pub entry: PoolEntry,
    /// Which pool, which toleration, which pods may, what to do.
    pub message: String,
}

/// Returns the pools that would let this pod in although it does not belong to them. Those with
/// [`PoolEnforcement::Off`] are left out. If its membership is unknown, a pool that denies other pods rejects it; the
/// second value is the number of other such pools.
pub fn violation(
    pools: &[DedicatedPool],
    request: &PodRequest,
    node: NodePoolMembership<'_>,
    namespace: Option<&Labels>,
) -> (Vec<PoolViolation>, usize) {
    let (mut found, mut unknown) = (Vec::new(), 0);
    let who = PodOwner { namespace, ..request.who(None) };
    for (at, pool) in pools.iter().enumerate() {
        if names(&request.pod.identity.made_for, pool)
            && !names(who.made_for, pool)
            && !made_by_user(pool, who)
        {
            found.push(PoolViolation { pool: at, entry: PoolEntry::Claim, message: claims(pool) });
            continue;
        }
        if pool.enforcement == PoolEnforcement::Off {
            continue;
        }
        if pool.daemon_sets == DaemonSetPolicy::Allow && request.is_daemon() {
            continue;
        }
        let entry = entry(pool, request, node);
        let message = match (&entry, membership(pool, who)) {
            (PoolEntry::None | PoolEntry::Claim, _) => continue,
            // The pod belongs to no pool and its node is unknown; one message is enough.
            (PoolEntry::UnknownNode, _) if pool.denial_if_unjudged() && found.is_empty() => {
                unknown_node(request)
            }
            (PoolEntry::UnknownNode, _) | (_, Membership::Yes) => continue,
            (_, Membership::Unknown) if !pool.denial_if_unjudged() => {
                unknown += 1;
                continue;
            }
            (PoolEntry::Tolerations(places), _) => sentence(pool, &ways(places, &request.pod.tolerations)),
            (PoolEntry::Node, _) => sentence(pool, &names_node(request)),
        };
        found.push(PoolViolation { pool: at, entry, message });
    }
    (found, unknown)
}

fn ways(places: &[usize], tolerations: &[Toleration]) -> String {
    let each: Vec<String> = places
        .iter()
        .map(|&place| format!("toleration {place} ({})", toleration_of(&tolerations[place])))
        .collect();
    let (verb, out) = match each.len() {
        1 => ("lets", "remove it"),
        _ => ("let", "remove them"),
    };
    format!("{} {verb} this pod onto them: {out}", each.join(" and "))
}

fn names_node(request: &PodRequest) -> String {
    let node = text_of(request.destination().unwrap_or_default());
    if request.pod.node.is_none() {
        return format!(
            "the DaemonSet controller created this pod for node {node} of the pool: remove the toleration from the template"
        );
    }
    format!("spec.nodeName names node {node} of the pool: remove spec.nodeName")
}

fn unknown_node(request: &PodRequest) -> String {
    let node = text_of(request.destination().unwrap_or_default());
    format!(
        "this pod can only go to node {node}, which is unknown and may become a node of a dedicated pool: try again when it exists, or let the scheduler choose"
    )
}

fn claims(pool: &DedicatedPool) -> String {
    format!(
        "the annotation {MADE_FOR} says that a user of pool {} created this pod, but no user of that pool did: remove the annotation",
        text_of(&pool.name)
    )
}

fn sentence(pool: &DedicatedPool, how: &str) -> String {
    format!(
        "the nodes of pool {} are for {}; {how}, or add the pod to spec.users of the pool",
        text_of(&pool.name),
        who_may(pool)
    )
}

/// `pods in namespaces with team=a, of service account shop/web, created by user ann`
fn who_may(pool: &DedicatedPool) -> String {
    let users = &pool.users;
    let mut ways = Vec::new();
    if let Some(selector) = &users.namespaces {
        ways.push(format!("in namespaces with {selector}"));
    }
    let accounts: Vec<String> = users.service_accounts.iter().map(ToString::to_string).collect();
    let listed = [
        ("of service account", accounts.iter().map(|name| &**name).collect::<Vec<_>>()),
        ("created by user", users.users.iter().map(AsRef::as_ref).collect()),
        ("created by a member of group", users.groups.iter().map(AsRef::as_ref).collect()),
    ];
    ways.extend(
        listed
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(how, names)| format!("{how} {}", few(names))),
    );
    if ways.is_empty() { "no pods".to_owned() } else { format!("pods {}", ways.join(", or ")) }
}
