//! Records when countdowns were on hold because no node could be observed (NL-48, D12), and for which taints that
//! counts.
//!
//! - Invariant: held time is kept beside taint starts, which never change (S4); forgetting a hold makes a deadline
//!   later, never earlier (S3).
//! - See `node_lifecycle.rs` for when a hold begins, `verdict.rs` for its effect on deadlines.

use crate::taint::{Taint, TaintEffect, keys};
use crate::time::{Mono, Span};
use alloc::vec::Vec;

/// So many finished holds are told apart; of more, the two oldest count as one.
pub const HOLDS_MAX: usize = 32;

/// A hold that is over, or several.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PastHold {
    end: Mono,
    /// How long it was; of several, the sum.
    held: Span,
}

impl PastHold {
    /// How much of the time since `from` was held here; where several holds are told as one, and `from` is between
    /// them, perhaps more than that: nobody goes early.
    fn since(&self, from: Mono) -> Span {
        self.held.min(self.end.since(from))
    }

    fn and(self, later: Self) -> Self {
        Self { end: later.end, held: self.held.saturating_add(later.held) }
    }
}

/// All holds there were, and whether there is one now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct HoldHistory {
    /// In order of time.
    past: Vec<PastHold>,
    /// Since when the one that goes on does.
    since: Option<Mono>,
}

impl HoldHistory {
    /// There was never any.
    pub const NONE: Self = Self { past: Vec::new(), since: None };

    /// Whether a hold goes on.
    pub const fn is_on(&self) -> bool {
        self.since.is_some()
    }

    /// Since when the hold that goes on does.
    pub const fn since(&self) -> Option<Mono> {
        self.since
    }

    /// A hold begins, unless one goes on.
    pub fn begin(&mut self, now: Mono) {
        self.since.get_or_insert(now);
    }

    /// The hold that goes on ends; says how long it was.
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

    /// Whether holds concern a taint: the two that node health puts on and that send pods away. Others are somebody's
    /// will, and that nobody is heard of is no reason against it.
    pub fn applies_to(taint: &Taint) -> bool {
        taint.effect == TaintEffect::NoExecute && matches!(&*taint.key, keys::NOT_READY | keys::UNREACHABLE)
    }

    /// How much of the time since `from` did not count for a taint, in holds that are over.
    pub fn held_time(&self, taint: &Taint, from: Mono) -> Span {
        if self.past.is_empty() || !Self::applies_to(taint) {
            return Span::ZERO;
        }
        self.past.iter().fold(Span::ZERO, |sum, past| sum.saturating_add(past.since(from)))
    }

    /// Whether time stands still for a taint.
    pub fn is_on_hold(&self, taint: &Taint) -> bool {
        self.is_on() && Self::applies_to(taint)
    }
}

#[cfg(test)]
mod tests;
