//! Tracks what the guard contains, since when, and which pools rely on it.
//!
//! - Invariant: a pool gets the label [`GUARD_LABEL`](super::GUARD_LABEL) only after every API server has had the time
//!   to observe it in the guard; without the label a policy of its own judges pods for it.
//! - Invariant: a pool loses the label before it is left out, and if the guard cannot be brought up to date with it.

use super::effect::{PoolEffect, PoolGuardWrite};
use super::fact::PoolFact;
use super::guard_coverage::GuardCoverage;
use super::guard_size::GUARD_MAX;
use super::pool_guard::{GuardDraft, GuardedPool, PoolGuard};
use crate::identity::{ResourceVersion, Uid};
use crate::time::{Mono, Span};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;

/// A check compares every name, so it does not run at each pull.
const CHECK_PERIOD: Span = Span::from_millis(200);

/// The same while pools are left out: whether they still rely on the guard is a matter of time.
const RECHECK_PERIOD: Span = Span::from_secs(1);

/// The guard is written again after this time, because any client may have changed it.
const REWRITE_PERIOD: Span = Span::from_secs(60);

/// The same while there is no guard: an installation may create it again.
const ABSENT_PERIOD: Span = Span::from_secs(10);

/// How often its version is read: a guard that is gone, or that another client has changed, is noticed by then.
const PROBE_PERIOD: Span = Span::from_secs(2);

/// An API server observes the guard and a pool's label by two independent watches.
const HANDOVER: Span = Span::from_secs(5);

/// After this time without success, pools that differ from their copy no longer rely on the guard.
const FAILING: Span = Span::from_secs(5);

/// Longer than any pause between two attempts: earlier failures belong to an earlier term as the leader.
const ATTEMPTS_LAPSE: Span = Span::from_secs(60);

/// A pool in the guard.
#[derive(Clone, Debug)]
struct GuardCopy {
    /// `None` if a write of it may have been carried out or not.
    pool: Option<GuardedPool>,
    /// Since when it is in the guard in a form that differs in nothing but nodes.
    since: Mono,
}

/// A pool without the label.
#[derive(Clone, Debug)]
struct UnlabelledPool {
    since: Mono,
    /// Since when its status names each of its nodes.
    named: BTreeMap<Box<str>, Mono>,
}

/// Writes without a success in between.
#[derive(Clone, Debug)]
struct GuardAttempts {
    first: Mono,
    last: Mono,
    failure: Box<str>,
}

/// What the guard contains, what it should contain, and when it is checked next.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolGuardWrites {
    draft: GuardDraft,
    written: Option<(PoolGuard, Mono)>,
    version: Option<ResourceVersion>,
    /// `None` before the first response.
    copies: Option<BTreeMap<Uid, GuardCopy>>,
    is_absent: bool,
    unlabelled: BTreeMap<Uid, UnlabelledPool>,
    attempts: Option<GuardAttempts>,
    checked: Option<Mono>,
    probed: Option<Mono>,
    is_stale: bool,
}

impl PoolGuardWrites {
    /// Everything was reconciled: this is what the guard should contain.
    pub(crate) fn plan(&mut self, draft: GuardDraft) {
        self.unlabelled.retain(|uid, _| draft.pool(uid).is_some());
        (self.draft, self.is_stale) = (draft, true);
    }

    /// Takes the label of a pool and the nodes that its status names.
    pub(crate) fn observe(&mut self, pool: &PoolFact, now: Mono) {
        if pool.has_guard_label {
            self.unlabelled.remove(&pool.uid);
            return;
        }
        let new = || UnlabelledPool { since: now, named: BTreeMap::new() };
        let known = self.unlabelled.entry(pool.uid.clone()).or_insert_with(new);
        let named =
            pool.recorded.as_ref().map(|recorded| recorded.status.members.as_slice()).unwrap_or_default();
        let mut before = core::mem::take(&mut known.named);
        known.named = named.iter().map(|name| (name.clone(), before.remove(name).unwrap_or(now))).collect();
    }

    /// When the next check is due; `now` means immediately.
    pub(crate) fn check_at(&self, now: Mono) -> Mono {
        let rewrite = self.written.as_ref().map_or(now, |(_, at)| at.plus(self.rewrite_period()));
        let after = |period| self.checked.map_or(now, |at| at.plus(period));
        match self.is_stale {
            true => after(CHECK_PERIOD),
            false if !self.draft.is_complete() => after(RECHECK_PERIOD),
            false => rewrite.max(after(CHECK_PERIOD)),
        }
    }

    const fn rewrite_period(&self) -> Span {
        if self.is_absent { ABSENT_PERIOD } else { REWRITE_PERIOD }
    }

    /// Checks the guard. Returns the effect that updates it, if it differs.
    pub(crate) fn check(&mut self, now: Mono) -> Option<PoolEffect> {
        (self.checked, self.is_stale) = (Some(now), false);
        let copies = self.copies.as_ref();
        let is_unlabelled = |uid: &Uid| {
            self.unlabelled.get(uid).is_some_and(|known| {
                now >= known.since.plus(HANDOVER) || copies.is_none_or(|copies| !copies.contains_key(uid))
            })
        };
        let is_named = |uid: &Uid, node: &str| {
            let named = self.unlabelled.get(uid).and_then(|known| known.named.get(node));
            named.is_some_and(|since| now >= since.plus(HANDOVER))
        };
        let Some(guard) = self.draft.guard(&|uid| !is_unlabelled(uid), &is_named) else {
            self.attempt(now);
            self.fail(format!("pools that rely on the PoolGuard have more than {GUARD_MAX} bytes").into());
            return None;
        };
        let period = self.rewrite_period();
        let is_same = |(written, at): &(PoolGuard, Mono)| *written == guard && now < at.plus(period);
        if self.written.as_ref().is_some_and(is_same) {
            self.attempts = None;
            return None;
        }
        self.attempt(now);
        Some(PoolEffect::WriteGuard(Box::new(guard)))
    }

    /// When the version of the guard is read next, also while writes of it fail; never while no pool is in it.
    pub(crate) fn probe_at(&self) -> Option<Mono> {
        let failing = self.attempts.as_ref().map(|attempts| attempts.first);
        let last = self.written.as_ref().map(|(_, at)| *at).max(self.probed).max(failing);
        let has_pools = self.copies.as_ref().is_some_and(|copies| !copies.is_empty());
        last.filter(|_| has_pools).map(|at| at.plus(PROBE_PERIOD))
    }

    /// Returns the effect that reads the version, if that is due.
    pub(crate) fn probe(&mut self, now: Mono) -> Option<PoolEffect> {
        self.probe_at().filter(|at| *at <= now)?;
        self.probed = Some(now);
        Some(PoolEffect::ProbeGuard)
    }

    /// Takes the version of the guard; `None`: there is none. Returns whether another client has changed it, or an API
    /// server has not observed the last write yet.
    pub(crate) fn probed(&mut self, version: Option<ResourceVersion>) -> bool {
        let is_changed = version.is_none() || self.version != version;
        if version.is_none() {
            self.become_absent();
        } else if is_changed {
            self.written = None;
            self.copies.iter_mut().flatten().for_each(|(_, copy)| copy.pool = None);
        }
        is_changed
    }

    fn become_absent(&mut self) {
        (self.copies, self.written, self.is_absent) = (Some(BTreeMap::new()), None, true);
    }

    fn attempt(&mut self, now: Mono) {
        match &mut self.attempts {
            Some(attempts) if now < attempts.last.plus(ATTEMPTS_LAPSE) => attempts.last = now,
            attempts => {
                *attempts =
                    Some(GuardAttempts { first: now, last: now, failure: "it got no response".into() });
            }
        }
    }

    fn fail(&mut self, why: Box<str>) {
        if let Some(attempts) = &mut self.attempts {
            attempts.failure = why;
        }
    }

    /// The guard may differ from what was last written.
    pub(crate) fn forget_written(&mut self) {
        self.written = None;
    }

    /// The guard has this content, or the former: what a lost response means is unknown.
    pub(crate) fn write_failed(&mut self, guard: &PoolGuard, why: Box<str>) {
        self.written = None;
        self.fail(why);
        let wanted: BTreeMap<&Uid, &GuardedPool> = guard.pools.iter().map(|pool| (&pool.uid, pool)).collect();
        for (uid, copy) in self.copies.iter_mut().flatten() {
            if copy.pool.as_ref() != wanted.get(uid).copied() {
                copy.pool = None;
            }
        }
    }

    /// `None`: there is no guard.
    pub(crate) fn write_succeeded(&mut self, guard: PoolGuard, written: Option<PoolGuardWrite>, now: Mono) {
        self.attempts = None;
        let Some(PoolGuardWrite { added, version }) = written else {
            self.become_absent();
            self.written = Some((guard, now));
            return;
        };
        let mut before = self.copies.take().unwrap_or_default();
        let copies = guard.pools.iter().map(|pool| {
            let copy = before.remove(&pool.uid).filter(|_| !added.contains(&pool.uid));
            let same = copy.filter(|copy| copy.pool.as_ref().is_some_and(|was| is_same_but_nodes(was, pool)));
            let since = same.map_or(now, |copy| copy.since);
            (pool.uid.clone(), GuardCopy { pool: Some(pool.clone()), since })
        });
        self.copies = Some(copies.collect());
        (self.written, self.version, self.is_absent) = (Some((guard, now)), version, false);
    }

    /// Whether the guard has the pool as it is.
    fn is_current(&self, uid: &Uid) -> bool {
        let copy = self.copies.as_ref().and_then(|copies| copies.get(uid)?.pool.as_ref());
        copy.is_some() && copy == self.draft.pool(uid)
    }

    /// From when on the writes count as failing.
    fn fails_at(&self, now: Mono) -> Option<Mono> {
        let attempts = self.attempts.as_ref().filter(|attempts| now < attempts.last.plus(ATTEMPTS_LAPSE));
        attempts.map(|attempts| attempts.first.plus(FAILING))
    }

    /// From when on a pool with the label must not rely on the guard.
    pub(crate) fn label_ends_at(&self, pool: &PoolFact, now: Mono) -> Option<Mono> {
        let is_missing = self.copies.as_ref().is_some_and(|copies| !copies.contains_key(&pool.uid));
        let at = match self.draft.left_out(&pool.uid).is_some() || is_missing {
            true => Some(now),
            false => self.fails_at(now).filter(|_| !self.is_current(&pool.uid)),
        };
        at.filter(|_| pool.has_guard_label)
    }

    /// From when on a pool without the label may rely on the guard.
    pub(crate) fn label_starts_at(&self, pool: &PoolFact, now: Mono) -> Option<Mono> {
        let uid = &pool.uid;
        let since = self.copies.as_ref()?.get(uid)?.since;
        let is_left_out = self.draft.left_out(uid).is_some();
        let may_rely = !pool.has_guard_label && !pool.pool.leaving && !is_left_out && self.is_current(uid);
        let is_failing = self.fails_at(now).is_some_and(|at| at <= now);
        (may_rely && !is_failing).then_some(since.plus(HANDOVER))
    }

    /// Returns how far the guard covers a pool, and when that may change by itself; `None` while nothing is known.
    pub(crate) fn coverage(&self, uid: &Uid, now: Mono) -> Option<GuardCoverage> {
        if let Some(size) = self.draft.left_out(uid) {
            return Some(GuardCoverage::TooLarge(size));
        }
        if self.is_absent {
            return Some(GuardCoverage::Absent);
        }
        if let (Some(at), Some(attempts)) = (self.fails_at(now), &self.attempts)
            && at <= now
        {
            return Some(GuardCoverage::WriteFailed(attempts.failure.clone()));
        }
        let is_in = self.copies.as_ref()?.contains_key(uid);
        Some(if is_in { GuardCoverage::Guarded } else { GuardCoverage::Pending })
    }

    /// When the coverage may change by itself.
    pub(crate) fn coverage_changes_at(&self, now: Mono) -> Option<Mono> {
        self.fails_at(now).filter(|at| *at > now)
    }
}

fn is_same_but_nodes(one: &GuardedPool, other: &GuardedPool) -> bool {
    let fields = |pool: &GuardedPool| {
        (pool.taint.clone(), pool.users.clone(), pool.daemon_sets, pool.denial_if_unjudged)
    };
    fields(one) == fields(other)
}
