//! Computes the object by which the API server judges pods for all pools together.
//!
//! - Invariant: a known node and the pool that owns or takes it are in one write, or the pool's own status has named the
//!   node for a while; so at no moment do the policies admit a pod that does not belong to the pool.
//! - Invariant: pools are left out whole, the largest first, and stay in it while their label relies on it.
//! - See `guard_writes.rs` for when it is written, and when a pool relies on it.

use super::guard_size::{GUARD_BUDGET, GUARD_FRAME, GUARD_MAX, POOL_FRAME, entry, text};
use super::reconcile::PoolPlan;
use crate::admission::LabelSelector;
use crate::admission::pool::{DaemonSetPolicy, PoolTaint, PoolUsers, PoolValidity};
use crate::identity::Uid;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// What happens to pods that are tied to an unknown node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownNodePolicy {
    /// They are allowed: no pool denies other pods.
    #[default]
    Allow,
    /// Those of DaemonSets are allowed.
    AllowDaemonSets,
    /// They are rejected.
    Deny,
}

impl UnknownNodePolicy {
    /// `AllowDaemonSets`
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "Allow",
            Self::AllowDaemonSets => "AllowDaemonSets",
            Self::Deny => "Deny",
        }
    }
}

/// The fields of a pool by which pods are judged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedPool {
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.uid`.
    pub uid: Uid,
    /// What repels other pods.
    pub taint: PoolTaint,
    /// Its pods.
    pub users: PoolUsers,
    /// How DaemonSets' pods are treated.
    pub daemon_sets: DaemonSetPolicy,
    /// Whether other pods are rejected.
    pub denial_if_unjudged: bool,
    /// The nodes that it has or takes next.
    pub members: BTreeSet<Box<str>>,
}

/// The content of the `PoolGuard`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolGuard {
    /// The names of all known nodes; empty if no pool denies other pods.
    pub nodes: BTreeSet<Box<str>>,
    /// What happens to pods that are tied to other nodes.
    pub unknown: UnknownNodePolicy,
    /// The pools that fit, also those that deny nothing: pods' claims about them are judged.
    pub pools: Vec<GuardedPool>,
    /// Pools that exist and are left out: they may be removed, because no API server relies on the guard for them.
    pub released: BTreeSet<Uid>,
}

impl GuardedPool {
    /// Returns the size of its part of the guard.
    fn encoded_len(&self) -> usize {
        let users = &self.users;
        let accounts = users
            .service_accounts
            .iter()
            .map(|one| text(&one.namespace) + text(&one.name) + "{\"name\":,\"namespace\":},".len());
        let requirements = users.namespaces.iter().flat_map(|LabelSelector(all)| all).map(|one| {
            let values: usize = one.values.iter().map(|value| text(value)).sum();
            text(&one.key) + values + "{\"key\":,\"operator\":\"DoesNotExist\",\"values\":[]},".len()
        });
        let names = users.users.iter().chain(&users.groups).chain(&self.members).map(|one| text(one));
        // Its taint is also in the keys and taints of all pools.
        let taint = 3 * text(&self.taint.key) + 2 * text(&self.taint.value);
        let all: usize = names.chain(accounts).chain(requirements).sum();
        POOL_FRAME + text(&self.name) + taint + all
    }
}

impl PoolGuard {
    /// Returns an upper bound of the size of the object with this content.
    pub fn encoded_len(&self) -> usize {
        let nodes: usize = self.nodes.iter().map(|node| entry(node)).sum();
        GUARD_FRAME + nodes + self.pools.iter().map(GuardedPool::encoded_len).sum::<usize>()
    }
}

/// What the guard should contain, by a plan.
#[derive(Clone, Debug, Default)]
pub(crate) struct GuardDraft {
    nodes: BTreeSet<Box<str>>,
    unknown: UnknownNodePolicy,
    /// In the order of UIDs, as the plan has them.
    pools: BTreeMap<Uid, GuardedPool>,
    sizes: BTreeMap<Uid, usize>,
    /// The pools that do not fit.
    left_out: BTreeSet<Uid>,
}

impl GuardDraft {
    /// Derives the draft from a plan.
    pub(crate) fn of(plan: &PoolPlan) -> Self {
        let planned = plan.facts().iter().zip(plan.validity()).zip(plan.members());
        let pools: BTreeMap<Uid, GuardedPool> = planned
            .map(|((fact, validity), members)| GuardedPool {
                name: fact.pool.name.clone(),
                uid: fact.uid.clone(),
                taint: fact.pool.taint.clone(),
                users: fact.pool.users.clone(),
                daemon_sets: fact.pool.daemon_sets,
                denial_if_unjudged: fact.pool.denial_if_unjudged() && *validity != PoolValidity::Rejected,
                members: members.clone(),
            })
            .map(|pool| (pool.uid.clone(), pool))
            .collect();
        let mut keeping = pools.values().filter(|pool| pool.denial_if_unjudged).peekable();
        let denial_if_unjudged = keeping.peek().is_some();
        let unknown = match keeping.all(|pool| pool.daemon_sets == DaemonSetPolicy::Allow) {
            _ if !denial_if_unjudged => UnknownNodePolicy::Allow,
            true => UnknownNodePolicy::AllowDaemonSets,
            false => UnknownNodePolicy::Deny,
        };
        let names = plan.nodes().iter().map(|node| node.name.clone());
        let nodes = names.filter(|_| denial_if_unjudged).collect();
        Self::new(nodes, unknown, pools)
    }

    /// The draft of these pools, with no other nodes.
    #[cfg(test)]
    pub(crate) fn of_pools(pools: &[GuardedPool]) -> Self {
        let pools = pools.iter().map(|pool| (pool.uid.clone(), pool.clone())).collect();
        Self::new(BTreeSet::new(), UnknownNodePolicy::Allow, pools)
    }

    fn new(nodes: BTreeSet<Box<str>>, unknown: UnknownNodePolicy, pools: BTreeMap<Uid, GuardedPool>) -> Self {
        let sizes = pools.iter().map(|(uid, pool)| (uid.clone(), pool.encoded_len())).collect();
        let mut draft = Self { nodes, unknown, pools, sizes, left_out: BTreeSet::new() };
        let (left_out, fits) = draft.without_largest(GUARD_BUDGET, draft.pools.keys(), &|_| true);
        draft.left_out = left_out;
        if !fits {
            (draft.nodes, draft.unknown) = Default::default();
        }
        draft
    }

    /// Returns which of these pools have to be left out so that the others fit, and whether they fit then.
    fn without_largest<'d>(
        &'d self,
        most: usize,
        pools: impl Iterator<Item = &'d Uid>,
        may_leave: &dyn Fn(&Uid) -> bool,
    ) -> (BTreeSet<Uid>, bool) {
        let mut pools: Vec<(usize, &Uid)> = pools.map(|uid| (self.size(uid), uid)).collect();
        let names: usize = self.nodes.iter().map(|name| entry(name)).sum();
        let mut total = GUARD_FRAME + names + pools.iter().map(|(size, _)| size).sum::<usize>();
        pools.retain(|(_, uid)| may_leave(uid));
        pools.sort_unstable();
        let mut left_out = BTreeSet::new();
        while total > most {
            let Some((size, uid)) = pools.pop() else { return (left_out, false) };
            total -= size;
            left_out.insert(uid.clone());
        }
        (left_out, true)
    }

    fn size(&self, uid: &Uid) -> usize {
        self.sizes.get(uid).copied().unwrap_or_default()
    }

    /// The form that a pool should have in the guard.
    pub(crate) fn pool(&self, uid: &Uid) -> Option<&GuardedPool> {
        self.pools.get(uid)
    }

    /// The size of a pool that does not fit.
    pub(crate) fn left_out(&self, uid: &Uid) -> Option<usize> {
        self.left_out.contains(uid).then(|| self.size(uid))
    }

    /// Whether all pools fit.
    pub(crate) fn is_complete(&self) -> bool {
        self.left_out.is_empty()
    }

    /// Returns the guard to write: the pools that fit, and those that still rely on it. Nodes of the others are unknown
    /// until `is_named` says that API servers know them by the pool's status. `None` if the pools that rely on it do not
    /// fit.
    pub(crate) fn guard(
        &self,
        relies: &dyn Fn(&Uid) -> bool,
        is_named: &dyn Fn(&Uid, &str) -> bool,
    ) -> Option<PoolGuard> {
        let stays = |uid: &&Uid| relies(uid) || !self.left_out.contains(*uid);
        // While pools that are left out stay, new ones wait.
        let (mut released, fits) =
            self.without_largest(GUARD_MAX, self.pools.keys().filter(stays), &|uid| !relies(uid));
        if !fits {
            return None;
        }
        released.extend(self.pools.keys().filter(|uid| !stays(uid)).cloned());
        let outside =
            self.pools.values().filter(|pool| pool.denial_if_unjudged && released.contains(&pool.uid));
        let unnamed = |pool: &'_ GuardedPool| {
            let uid = pool.uid.clone();
            pool.members.iter().filter(move |node| !is_named(&uid, node)).cloned().collect::<Vec<_>>()
        };
        let unnamed: BTreeSet<Box<str>> = outside.flat_map(unnamed).collect();
        let pools = self.pools.values().filter(|pool| !released.contains(&pool.uid)).cloned().collect();
        let nodes = if unnamed.is_empty() { self.nodes.clone() } else { &self.nodes - &unnamed };
        Some(PoolGuard { nodes, unknown: self.unknown, pools, released })
    }
}
