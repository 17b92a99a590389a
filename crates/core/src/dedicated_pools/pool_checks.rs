//! Keeps the positions of pools whose status may need a write, and the time of the next check of all.

use crate::time::{Mono, Span};
use alloc::collections::BTreeSet;

/// Pools to be checked.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolChecks {
    /// Positions in the plan.
    unchecked: BTreeSet<usize>,
    due_at: Option<Mono>,
    last: Option<Mono>,
}

impl PoolChecks {
    /// Schedules a check of all pools at this time or earlier.
    pub(crate) fn all_by(&mut self, at: Mono) {
        self.due_at = Some(self.due_at.map_or(at, |before| before.min(at)));
    }

    /// Schedules a check of all pools once this time has passed since the last one.
    pub(crate) fn all_after(&mut self, period: Span, now: Mono) {
        self.all_by(self.last.map_or(now, |last| last.plus(period)));
    }

    pub(crate) fn due_at(&self) -> Option<Mono> {
        self.due_at
    }

    /// Advances the time; `pools` is the number of pools.
    pub(crate) fn tick(&mut self, pools: usize, now: Mono) {
        if self.due_at.is_some_and(|at| at <= now) {
            (self.due_at, self.last) = (None, Some(now));
            self.unchecked = (0..pools).collect();
        }
    }

    pub(crate) fn unchecked(&self) -> impl Iterator<Item = usize> + use<> {
        self.unchecked.clone().into_iter()
    }

    pub(crate) fn mark_checked(&mut self, pool: usize) {
        self.unchecked.remove(&pool);
    }
}
