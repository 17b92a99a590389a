//! Tracks when the guard is written, since when each pool is in it, and which pools rely on it.
//!
//! - Invariant: a pool gets the label [`GUARD_LABEL`](super::GUARD_LABEL) only after every API server has had the time
//!   to observe it in the guard; without the label a policy of its own judges pods for it.

use super::effect::PoolEffect;
use super::fact::PoolFact;
use super::pool_guard::PoolGuard;
use crate::identity::Uid;
use crate::time::{Mono, Span};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};

/// A check compares every name, so it does not run at each pull.
const CHECK_PERIOD: Span = Span::from_millis(200);

/// The guard is written again after this time, because any client may have changed it.
const REWRITE_PERIOD: Span = Span::from_secs(60);

/// An API server observes the guard and a pool's label by two independent watches.
const HANDOVER: Span = Span::from_secs(5);

/// Makes an effect for a pool.
pub(crate) type GuardLabelEffect = fn(Box<PoolFact>) -> PoolEffect;

/// What was last written, since when each pool is in it, and when it is checked next.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolGuardWrites {
    written: Option<(PoolGuard, Mono)>,
    /// `None` before the first response; no pool is in a missing guard.
    since: Option<BTreeMap<Uid, Mono>>,
    checked: Option<Mono>,
    is_stale: bool,
}

impl PoolGuardWrites {
    /// A fact that the guard depends on has changed.
    pub(crate) fn invalidate(&mut self) {
        self.is_stale = true;
    }

    /// The guard may differ from what was last written.
    pub(crate) fn forget_written(&mut self) {
        self.written = None;
    }

    /// When the next check is due; `now` means immediately.
    pub(crate) fn check_at(&self, now: Mono) -> Mono {
        let rewrite = self.written.as_ref().map_or(now, |(_, at)| at.plus(REWRITE_PERIOD));
        let recheck = self.checked.map_or(now, |at| at.plus(CHECK_PERIOD));
        if self.is_stale { recheck } else { rewrite.max(recheck) }
    }

    /// Checks the guard. Returns the effect that updates it, if it differs.
    pub(crate) fn check(&mut self, guard: PoolGuard, now: Mono) -> Option<PoolEffect> {
        (self.checked, self.is_stale) = (Some(now), false);
        let same = |(written, at): &(PoolGuard, Mono)| *written == guard && now < at.plus(REWRITE_PERIOD);
        (!self.written.as_ref().is_some_and(same)).then(|| PoolEffect::WriteGuard(Box::new(guard)))
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

    /// Returns the effect that makes the label of this pool agree with the guard, and when it may be sent.
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
