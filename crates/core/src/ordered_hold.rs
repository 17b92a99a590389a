//! Delays evictions while an annotation of the node, or of the pod, orders a hold: held time does not count for a countdown.
//!
//! - Invariant: a due date is computed again from the facts and the time, never adjusted; a hold makes it later, never
//!   earlier (S3).
//! - Invariant: holds of a pod delay an eviction by [`MAX_HOLD`] in total at most, whatever its annotation says.
//! - See `verdict.rs` for its effect, `countdown_hold.rs` for holds that no annotation orders.

use crate::fact::HoldPeriod;
use crate::time::{Mono, Now, Span};
use crate::toleration_hold::MAX_HOLD;
use alloc::vec::Vec;

/// A hold that an annotation orders, on the local clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldWindow {
    begin: Mono,
    end: Mono,
    period: HoldPeriod,
}

impl HoldWindow {
    /// Places a period so that no allowed clock makes it shorter; with unknown clocks, it counts in full from now.
    fn placed(period: HoldPeriod, now: Now) -> Self {
        let begin = now.earliest_mono_of(period.since).unwrap_or(now.mono);
        let length = period.until.as_micros().saturating_sub(period.since.as_micros()).max(0);
        let end = now.latest_mono_of(period.until).unwrap_or(begin.plus(Span::from_micros(length)));
        Self { begin, end: end.max(begin), period }
    }

    /// Places a period to the second that its object names, for display.
    fn as_named(period: HoldPeriod, now: Now) -> Self {
        let begin = now.mono_of(period.since);
        Self { begin, end: now.mono_of(period.until).max(begin), period }
    }
}

/// The holds of one object, in order of their begin.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldWindows(Vec<HoldWindow>);

impl HoldWindows {
    /// Places periods on the local clock; those that are in `known` stay where they are (S4).
    pub(crate) fn placed(periods: Option<&[HoldPeriod]>, known: &Self, now: Now) -> Self {
        let stays = |period: &HoldPeriod| known.0.iter().find(|window| window.period == *period).copied();
        Self::from(periods, |period| stays(&period).unwrap_or_else(|| HoldWindow::placed(period, now)))
    }

    /// Places periods for display.
    pub fn as_named(periods: Option<&[HoldPeriod]>, now: Now) -> Self {
        Self::from(periods, |period| HoldWindow::as_named(period, now))
    }

    fn from(periods: Option<&[HoldPeriod]>, place: impl Fn(HoldPeriod) -> HoldWindow) -> Self {
        let mut windows: Vec<_> = periods.unwrap_or_default().iter().map(|period| place(*period)).collect();
        windows.sort_unstable();
        Self(windows)
    }

    /// Whether no hold is ordered.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// The holds that apply to a pod.
#[derive(Clone, Copy, Debug, Default)]
pub struct OrderedHolds<'a> {
    /// Those of its node.
    pub node: Option<&'a HoldWindows>,
    /// Its own.
    pub pod: Option<&'a HoldWindows>,
}

/// A due date with held time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HeldDueDate {
    /// When the pod is due.
    pub due: Mono,
    /// The hold that applies now ends then.
    pub held_until: Option<Mono>,
}

impl OrderedHolds<'_> {
    /// Returns the due date of a pod that would be due at `due` without holds, and whose countdown counts from `from`.
    ///
    /// A hold that has begun delays also a pod that was due before and still exists.
    pub fn delay(self, from: Mono, due: Mono, now: Mono) -> HeldDueDate {
        let windows = |holds: Option<&HoldWindows>| holds.map_or_else(Vec::new, |holds| holds.0.clone());
        let (mut all, own) = (windows(self.node), windows(self.pod));
        if all.is_empty() && own.is_empty() {
            return HeldDueDate { due, held_until: None };
        }
        let by_node = delay(&all, from, due, now);
        if own.is_empty() {
            return by_node;
        }
        all.extend(own);
        all.sort_unstable();
        let by_both = delay(&all, from, due, now);
        let due_max = by_node.due.plus(MAX_HOLD);
        if by_both.due <= due_max {
            return by_both;
        }
        HeldDueDate { due: due_max, held_until: by_both.held_until.map(|until| until.min(due_max)) }
    }
}

/// The due date, with windows in order of their begin that may overlap.
fn delay(windows: &[HoldWindow], from: Mono, due: Mono, now: Mono) -> HeldDueDate {
    let (mut late, mut covered, mut held_until) = (due, from, None::<Mono>);
    for window in windows {
        let begin = window.begin.max(covered);
        if window.begin > now && late < begin {
            // The pod is due before this hold begins.
            break;
        }
        late = late.plus(window.end.since(begin));
        covered = covered.max(window.end);
        if window.begin <= now && now < window.end {
            held_until = held_until.max(Some(window.end));
        }
    }
    HeldDueDate { due: held_until.map_or(late, |until| late.max(until)), held_until }
}

#[cfg(test)]
mod tests;
