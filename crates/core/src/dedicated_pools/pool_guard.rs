//! Computes the object by which the API server judges pods for all pools together.
//!
//! - Invariant: a known node and the pool that owns or takes it are in one write; so at no moment do the policies admit
//!   a pod that does not belong to the pool.
//! - See `guard_writes.rs` for when it is written, and when a pool relies on it.

use super::reconcile::PoolPlan;
use crate::admission::pool::{DaemonSetPolicy, PoolTaint, PoolUsers, PoolValidity};
use crate::identity::Uid;
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;

/// What happens to pods that are tied to an unknown node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownNodePolicy {
    /// They are allowed: no pool denies other pods.
    #[default]
    Allow,
    /// Those of DaemonSets are allowed.
    AllowDaemonSets,
    /// They are refused.
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
    /// Whether other pods are refused.
    pub keeps_out: bool,
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
    /// All pools, also those that deny nothing: pods' claims about them are judged.
    pub pools: Vec<GuardedPool>,
}

impl PoolGuard {
    /// Derives the guard from a plan.
    pub(crate) fn of(plan: &PoolPlan) -> Self {
        let planned = plan.facts().iter().zip(plan.validity()).zip(plan.members());
        let pools: Vec<GuardedPool> = planned
            .map(|((fact, validity), members)| GuardedPool {
                name: fact.pool.name.clone(),
                uid: fact.uid.clone(),
                taint: fact.pool.taint.clone(),
                users: fact.pool.users.clone(),
                daemon_sets: fact.pool.daemon_sets,
                keeps_out: fact.pool.keeps_out() && *validity != PoolValidity::Refused,
                members: members.clone(),
            })
            .collect();
        let mut keeping = pools.iter().filter(|pool| pool.keeps_out).peekable();
        if keeping.peek().is_none() {
            return Self { pools, ..Self::default() };
        }
        let unknown = match keeping.all(|pool| pool.daemon_sets == DaemonSetPolicy::Allow) {
            true => UnknownNodePolicy::AllowDaemonSets,
            false => UnknownNodePolicy::Deny,
        };
        Self { nodes: plan.nodes().iter().map(|node| node.name.clone()).collect(), unknown, pools }
    }
}
