//! Records when countdowns were on hold because no node could be observed (NL-48, D12), and for which taints that
//! counts.
//!
//! - Invariant: held time is kept apart from taint starts, which never change (S4); forgetting a hold makes a deadline
//!   later, never earlier (S3).
//! - See `node_lifecycle.rs` for when a hold begins, `verdict.rs` for its effect on deadlines.

use crate::taint::{Taint, TaintEffect, keys};
use crate::time::{Mono, Span};
use alloc::vec::Vec;

/// At most this many finished holds are kept apart; beyond that, the two oldest are merged.
pub const HOLDS_MAX: usize = 32;

/// A hold that is over, or several merged ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct PastHold {
    end: Mono,
    /// Its length; for several, the sum.
    held: Span,
}

impl PastHold {
    /// Returns how much of the time since `from` was held; if several holds are merged and `from` is between them,
    /// perhaps more: no pod is evicted early.
    fn since(&self, from: Mono) -> Span {
        self.held.min(self.end.since(from))
    }

    fn and(self, later: Self) -> Self {
        Self { end: later.end, held: self.held.saturating_add(later.held) }
    }
}

/// All past holds, and whether one is active.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldHistory {
    /// In order of time.
    past: Vec<PastHold>,
    /// When the active hold began.
    since: Option<Mono>,
}

impl HoldHistory {
    /// No hold ever.
    pub const NONE: Self = Self { past: Vec::new(), since: None };

    /// Whether a hold is active.
    pub const fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// When the active hold began.
    pub const fn since(&self) -> Option<Mono> {
        self.since
    }

    /// Begins a hold, unless one is active.
    pub fn begin(&mut self, now: Mono) {
        self.since.get_or_insert(now);
    }

    /// Ends the active hold. Returns its length.
    pub fn end(&mut self, now: Mono) -> Option<Span> {
        let begin = self.since.take()?;
        let held = now.since(begin);
        if self.past.len() == HOLDS_MAX {
            let oldest = self.past.remove(0);
            self.past[0] = oldest.and(self.past[0]);
        }
        self.past.push(PastHold { end: now.max(begin), held });
        Some(held)
    }

    /// Whether holds apply to a taint: the two with effect NoExecute that node health adds. Other taints are set on
    /// purpose, and unreachable nodes are not a reason to delay them.
    pub fn applies_to(taint: &Taint) -> bool {
        taint.effect == TaintEffect::NoExecute && matches!(&*taint.key, keys::NOT_READY | keys::UNREACHABLE)
    }

    /// Returns how much of the time since `from` did not count for a taint, in holds that are over.
    pub fn held_time(&self, taint: &Taint, from: Mono) -> Span {
        if self.past.is_empty() || !Self::applies_to(taint) {
            return Span::ZERO;
        }
        self.past.iter().fold(Span::ZERO, |sum, past| sum.saturating_add(past.since(from)))
    }

    /// Whether a taint's time is on hold.
    pub fn is_on_hold(&self, taint: &Taint) -> bool {
        self.is_on() && Self::applies_to(taint)
    }
}

#[cfg(test)]
mod tests;
