//! # Guard: what a pool gives its own pods, and whom it keeps out
//! Room:     the toleration and the node affinity to add; pods of others that would be let in.
//! Comes in: the pools that stand, a pod and who asks for it.
//! Goes out: [`Gift`], [`Trespass`]es.
//! Keeps:    what is given twice is given once. On update only what is new is refused (VAL-6 lets nobody take back what
//!           an old pod has, so the pod could never be changed again).
//! Not here: whose a pod is (`belongs.rs`).
//!
//! **What is given when.** On creation: the toleration and, for [`Placement::Exclusive`], the affinity; only the
//! toleration to a pod that names its node, because a kubelet refuses pods whose affinity does not fit. On update
//! an API server lets tolerations be added (VAL-6), and affinity be narrowed only while scheduling gates hold the pod:
//! so a gated pod gets both, another one that has no node yet the toleration, and one that has a node nothing.
//!
//! **Several pools.** A pod of several groups gets the toleration of each, and has to stay within the nodes of all
//! exclusive ones taken together.

use super::affinity::{alternatives, narrowed};
use super::belongs::{Belongs, Who, belongs};
use super::{Enforcement, Placement, Pool};
use crate::admission::request::{NodePool, Operation, PodAsked};
use crate::admission::words::{few, text_of, toleration_of};
use crate::matching::{Match, NumericOperators, tolerates};
use crate::scheduling::NodeTerm;
use crate::toleration::Toleration;
use alloc::borrow::ToOwned;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

/// What a pod gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gift {
    /// Tolerations to append.
    pub tolerations: Vec<Toleration>,
    /// The terms of its required node affinity; `None` where they stay as they are.
    pub required: Option<Vec<NodeTerm>>,
    /// Of pools of which it could not be told whether it is one of theirs.
    pub unknown: usize,
}

/// What the pools give a pod that has these tolerations.
pub fn gift(
    pools: &[Pool],
    pod: &PodAsked,
    tolerations: &[Toleration],
    who: Who<'_>,
    numeric: NumericOperators,
) -> Gift {
    let mut given = Gift::default();
    let mut exclusive = Vec::new();
    let update = who.operation != Some(Operation::Create);
    let bound = pod.node.is_some();
    for pool in pools {
        match belongs(pool, who) {
            Belongs::No => continue,
            Belongs::Unknown => given.unknown += 1,
            Belongs::Yes if update && bound => {}
            Belongs::Yes => {
                let bears =
                    |taint| tolerations.iter().any(|one| tolerates(one, taint, numeric) == Match::Yes);
                if !pool.taints().iter().all(bears) {
                    given.tolerations.push(pool.toleration());
                }
                if pool.placement == Placement::Exclusive {
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

fn narrow(pod: &PodAsked, exclusive: &[&Pool], update: bool) -> Option<Vec<NodeTerm>> {
    let before = pod.required.as_deref();
    let alternatives = alternatives(exclusive.iter().copied());
    let after = narrowed(before, &alternatives);
    // On update an API server takes requirements added to terms, and no other number of terms.
    let refused = update && before.is_some_and(|terms| Some(terms.len()) != after.as_ref().map(Vec::len));
    after.filter(|after| !refused && before != Some(after))
}

/// A pod of somebody else that would be let onto a pool's nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trespass {
    /// Position of the pool.
    pub pool: usize,
    /// Positions of the tolerations that let it in; none if it names a node of the pool.
    pub tolerations: Vec<usize>,
    /// Which pool, which toleration, who may, what to do.
    pub message: String,
}

/// The pools that this pod would be let onto, and whose it is not. Those with [`Enforcement::Off`] and those of which it
/// is not known whether it is one of theirs are left out; the number of the latter comes second.
pub fn trespass(
    pools: &[Pool],
    pod: &PodAsked,
    old: Option<&[Toleration]>,
    node_pool: NodePool<'_>,
    who: Who<'_>,
    numeric: NumericOperators,
) -> (Vec<Trespass>, usize) {
    let (mut found, mut unknown) = (Vec::new(), 0);
    for (at, pool) in pools.iter().enumerate().filter(|(_, pool)| pool.enforcement != Enforcement::Off) {
        let named = old.is_none() && node_pool == NodePool::Pool(&pool.name);
        let let_in = keys_to(pool, &pod.tolerations, numeric);
        let was_in = || old.is_some_and(|old| keys_to(pool, old, numeric).is_some());
        let (tolerations, how) = match let_in {
            Some(places) if !was_in() => {
                let how = ways(&places, &pod.tolerations);
                (places, how)
            }
            _ if named => (Vec::new(), names_node(pod)),
            _ => continue,
        };
        match belongs(pool, who) {
            Belongs::Yes => {}
            Belongs::Unknown => unknown += 1,
            Belongs::No => found.push(Trespass { pool: at, tolerations, message: sentence(pool, &how) }),
        }
    }
    (found, unknown)
}

/// The tolerations that let a pod onto a pool's nodes, by position, if it is let; one is told for each taint. Nobody is
/// let in by what is not understood, or where nothing keeps anybody off.
fn keys_to(pool: &Pool, tolerations: &[Toleration], numeric: NumericOperators) -> Option<Vec<usize>> {
    let first = |taint| tolerations.iter().position(|one| tolerates(one, taint, numeric) == Match::Yes);
    let mut places: Vec<usize> = pool.barrier().iter().map(first).collect::<Option<_>>()?;
    places.sort_unstable();
    places.dedup();
    (!places.is_empty()).then_some(places)
}

fn ways(places: &[usize], tolerations: &[Toleration]) -> String {
    let each: Vec<String> = places
        .iter()
        .map(|&place| format!("toleration {place} ({})", toleration_of(&tolerations[place])))
        .collect();
    let (verb, out) = match each.len() {
        1 => ("lets", "take it out"),
        _ => ("let", "take them out"),
    };
    format!("{} {verb} this pod onto them: {out}", each.join(" and "))
}

fn names_node(pod: &PodAsked) -> String {
    let node = text_of(pod.node.as_deref().unwrap_or_default());
    format!("spec.nodeName puts this pod on {node}, which is one of them: leave it out")
}

fn sentence(pool: &Pool, how: &str) -> String {
    format!(
        "the nodes of pool {} are for {}; {how}, or have the pool let you in",
        text_of(&pool.name),
        who_may(pool)
    )
}

/// `pods in namespaces with team=a, of service account shop/web, made by user ann`
fn who_may(pool: &Pool) -> String {
    let users = &pool.users;
    let mut ways = Vec::new();
    if let Some(selector) = &users.namespaces {
        ways.push(format!("in namespaces with {selector}"));
    }
    let accounts: Vec<String> = users.service_accounts.iter().map(ToString::to_string).collect();
    let listed = [
        ("of service account", accounts.iter().map(|name| &**name).collect::<Vec<_>>()),
        ("made by user", users.users.iter().map(AsRef::as_ref).collect()),
        ("made by group", users.groups.iter().map(AsRef::as_ref).collect()),
    ];
    ways.extend(
        listed
            .into_iter()
            .filter(|(_, names)| !names.is_empty())
            .map(|(how, names)| format!("{how} {}", few(names))),
    );
    if ways.is_empty() { "nobody".to_owned() } else { format!("pods {}", ways.join(", or ")) }
}
