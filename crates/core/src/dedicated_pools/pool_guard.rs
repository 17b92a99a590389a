//! Computes the object by which the API server judges pods for all pools at once, and since when each pool is in it.
//!
//! - Invariant: a known node and the pool that owns or takes it are in one write; so at no moment do the policies let a
//!   foreign pod through.
//! - Invariant: a pool gets the label [`GUARD_LABEL`](super::GUARD_LABEL) only after every API server has had the time to
//!   learn that it is in the guard; without the label a policy of its own judges pods for it.

use super::effect::PoolEffect;
use super::fact::PoolFact;
use super::reconcile::PoolPlan;
use crate::admission::pool::{DaemonSetPolicy, PoolTaint, PoolUsers, PoolValidity};
use crate::identity::Uid;
use crate::time::{Mono, Span};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Every name is looked at: not at each pull.
const CHECK_PERIOD: Span = Span::from_millis(200);

/// It is written again after this time, because anyone may have written there.
const REWRITE_PERIOD: Span = Span::from_secs(60);

/// An API server learns of the guard and of a pool's label by two watches, neither of which waits for the other.
const HANDOVER: Span = Span::from_secs(5);

/// What becomes of pods that are tied to a node that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnknownNodePolicy {
    /// They are let in: no pool keeps anything out.
    #[default]
    Allow,
    /// Those of DaemonSets are let in.
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

/// A pool, as far as pods are judged by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GuardedPool {
    /// `metadata.name`.
    pub name: Box<str>,
    /// Which incarnation.
    pub uid: Uid,
    /// What keeps others off.
    pub taint: PoolTaint,
    /// Whose pods.
    pub users: PoolUsers,
    /// What becomes of DaemonSets' pods.
    pub daemon_sets: DaemonSetPolicy,
    /// Whether pods of others are refused.
    pub keeps_out: bool,
    /// The nodes that it has or takes next.
    pub members: BTreeSet<Box<str>>,
}

/// What the `PoolGuard` is to say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolGuard {
    /// The names of all nodes that are known; none where no pool keeps anything out.
    pub nodes: BTreeSet<Box<str>>,
    /// What becomes of pods that are tied to others.
    pub unknown: UnknownNodePolicy,
    /// All pools, also those that keep nothing out: what pods say of them is judged.
    pub pools: Vec<GuardedPool>,
}

impl PoolGuard {
    /// What follows from a plan.
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

/// Makes an effect of a pool.
pub(crate) type GuardLabelEffect = fn(Box<PoolFact>) -> PoolEffect;

/// What was last written, since when each pool is in it, and when that is looked at again.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolGuardWrites {
    written: Option<(PoolGuard, Mono)>,
    /// `None` before the first response; no pool is in a guard that is not there.
    since: Option<BTreeMap<Uid, Mono>>,
    checked: Option<Mono>,
    is_stale: bool,
}

impl PoolGuardWrites {
    /// Something has changed that it depends on.
    pub(crate) fn invalidate(&mut self) {
        self.is_stale = true;
    }

    /// It may be different from what was last written.
    pub(crate) fn forget_written(&mut self) {
        self.written = None;
    }

    /// When it is to be looked at; at once means `now`.
    pub(crate) fn check_at(&self, now: Mono) -> Mono {
        let rewrite = self.written.as_ref().map_or(now, |(_, at)| at.plus(REWRITE_PERIOD));
        let recheck = self.checked.map_or(now, |at| at.plus(CHECK_PERIOD));
        if self.is_stale { recheck } else { rewrite.max(recheck) }
    }

    /// Looks at it; what is to be written, if anything.
    pub(crate) fn check(&mut self, guard: PoolGuard, now: Mono) -> Option<PoolGuard> {
        (self.checked, self.is_stale) = (Some(now), false);
        let same = |(written, at): &(PoolGuard, Mono)| *written == guard && now < at.plus(REWRITE_PERIOD);
        (!self.written.as_ref().is_some_and(same)).then_some(guard)
    }

    /// `added`: the pools that were not in it before; `None` where there is no guard.
    pub(crate) fn write_succeeded(&mut self, guard: PoolGuard, added: Option<BTreeSet<Uid>>, now: Mono) {
        let before = self.since.take().unwrap_or_default();
        let since = added.map(|added| {
            let of = |uid: &Uid| before.get(uid).filter(|_| !added.contains(uid)).copied().unwrap_or(now);
            guard.pools.iter().map(|pool| (pool.uid.clone(), of(&pool.uid))).collect()
        });
        (self.since, self.written) = (Some(since.unwrap_or_default()), Some((guard, now)));
    }

    /// The effect that brings the label of this pool in step with the guard, and when it may be sent.
    pub(crate) fn label_effect(&self, pool: &PoolFact, now: Mono) -> Option<(Mono, GuardLabelEffect)> {
        match (self.since.as_ref()?.get(&pool.uid), pool.has_guard_label) {
            (None, true) => Some((now, PoolEffect::RemoveGuardLabel)),
            (Some(since), false) if !pool.pool.leaving => {
                Some((since.plus(HANDOVER), PoolEffect::AddGuardLabel))
            }
            _ => None,
        }
    }
}
