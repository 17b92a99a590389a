//! Schedules the next reconciliation after a change, so that it takes a bounded share of the time.
//!
//! - The duration is an input: a limit in units of work would need the speed of the machine.

use crate::time::{Mono, Span};

/// At most this often, and after this many times the time it took.
const PERIOD: Span = Span::from_millis(200);
const PERIOD_SHARE: i64 = 4;

/// The same if only pods or namespaces have changed.
const COUNT_PERIOD: Span = Span::from_secs(1);
const COUNT_SHARE: i64 = 10;

/// When everything is reconciled next.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReconcileSchedule {
    is_stale: bool,
    are_pods_stale: bool,
    last: Option<Mono>,
    took: Span,
    is_unmeasured: bool,
}

impl ReconcileSchedule {
    /// Pools or nodes have changed.
    pub(crate) fn invalidate(&mut self, is_changed: bool) {
        self.is_stale |= is_changed;
    }

    /// Pods or namespaces have changed.
    pub(crate) fn invalidate_pods(&mut self, is_changed: bool) {
        self.are_pods_stale |= is_changed;
    }

    /// Whether a reconciliation has ever begun.
    pub(crate) fn has_begun(&self) -> bool {
        self.last.is_some()
    }

    /// When it is due; `now` means immediately.
    pub(crate) fn due_at(&self, now: Mono) -> Option<Mono> {
        if !(self.is_stale || self.are_pods_stale) {
            return None;
        }
        let Some(last) = self.last else { return Some(now) };
        let (least, share) = if self.is_stale { (PERIOD, PERIOD_SHARE) } else { (COUNT_PERIOD, COUNT_SHARE) };
        Some(last.plus(least.max(Span::from_micros(self.took.as_micros().saturating_mul(share)))))
    }

    /// Begins a reconciliation. Returns whether more than pods has changed.
    pub(crate) fn begin(&mut self, now: Mono) -> bool {
        let is_stale = core::mem::take(&mut self.is_stale) || self.last.is_none();
        (self.are_pods_stale, self.last, self.is_unmeasured) = (false, Some(now), true);
        is_stale
    }

    /// Records how long it took.
    pub(crate) fn measured(&mut self, took: Span) {
        if core::mem::take(&mut self.is_unmeasured) {
            (self.last, self.took) = (self.last.map(|last| last.plus(took)), took);
        }
    }
}
