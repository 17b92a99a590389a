//! Decides how the countdowns of a pod are stopped and restarted while kube-controller-manager's own taint eviction
//! stays enabled: only by its tolerations' seconds.
//!
//! - Seconds are only ever set where there were none before, and [`OBSERVATION_PAUSE`] after they were removed: see
//!   [`next_step`].
//! - Invariant: the record is stored in the pod and changes in the same write as the seconds, so a crash loses nothing.
//! - Invariant: no toleration is without its seconds beyond [`HoldOrder::ends_at`]; one without seconds never changes.

mod coverage;
mod record;
#[cfg(test)]
mod tests;

pub use coverage::{HoldCoverage, UncoveredReason};
pub use record::{HeldToleration, HoldRecord, REMAINDER_MIN};

use crate::taint_start::RESOLUTION;
use crate::time::{Span, Wall};
use crate::toleration::{SecondsChanges, Toleration};
use alloc::vec::Vec;

/// For how long seconds stay removed before they are set again, so that kube-controller-manager observes the removal:
/// it handles only the latest state of a pod, and would not notice two changes in a row.
pub const OBSERVATION_PAUSE: Span = Span::from_secs(5);

/// The maximum length of a hold, whatever an annotation says: a forged one ends, too.
pub const MAX_HOLD: Span = Span::from_secs(24 * 60 * 60);

/// How far in the future a time written as "now" may be when it is read: clocks differ, and step back a little when they
/// are set. A time further in the future is forged.
const CLOCK_STEP_MAX: Span = Span::from_secs(30);

/// What started a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum HoldOrigin {
    /// An administrator. Pods that were released before are held again.
    Person,
    /// The limit of silent nodes. Holds a pod once each time its node becomes silent.
    Limit,
}

/// A hold that includes the pod's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HoldOrder {
    /// What started it.
    pub origin: HoldOrigin,
    /// Since when, in server time.
    pub since: Wall,
    /// When it ends by itself, in server time.
    pub until: Wall,
}

impl HoldOrder {
    /// When it ends: [`MAX_HOLD`] after it began at the latest.
    pub fn ends_at(&self) -> Wall {
        self.until.min(self.since.plus(MAX_HOLD))
    }

    /// Whether it holds pods now. One from the future is none.
    pub fn applies_at(&self, now: Wall) -> bool {
        self.has_begun(now) && now < self.ends_at()
    }

    fn has_begun(&self, now: Wall) -> bool {
        self.since <= now.plus(CLOCK_STEP_MAX)
    }
}

/// Which seconds a released pod gets back while its node still has the taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ReleaseMode {
    /// The remainder of its countdown, [`REMAINDER_MIN`] at least, and never more than its own seconds.
    #[default]
    Remainder,
    /// Its own seconds.
    Full,
}

/// The desired state of the pods of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldIntent {
    /// Their countdowns are on hold.
    Hold(HoldOrder),
    /// Their countdowns run.
    Release(ReleaseMode),
}

/// One write: new seconds, and the record that belongs to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HoldWrite {
    /// The seconds that change.
    pub seconds: SecondsChanges,
    /// The record afterwards; `None` removes it.
    pub record: Option<HoldRecord>,
}

/// The next step for one pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HoldStep {
    /// Nothing before this moment, unless a fact changes; `None`: not by the passing of time alone.
    Wait(Option<Wall>),
    /// Write this now.
    Write(HoldWrite),
}

/// Returns the next step for a pod with these tolerations and this record.
///
/// kube-controller-manager cancels a countdown when the seconds are removed, and starts a new one when they are set
/// again. It ignores any other change of them (D2): therefore each write either clears seconds or sets them where there
/// were none.
///
/// `counts_since` is since when the pod's countdown would count: the node has the NoExecute taint `not-ready` or
/// `unreachable` since then, or the pod was bound later; `None` if the node has neither. All times are the API
/// server's.
pub fn next_step(
    tolerations: &[Toleration],
    record: Option<&HoldRecord>,
    counts_since: Option<Wall>,
    intent: HoldIntent,
    now: Wall,
) -> HoldStep {
    let order = match intent {
        HoldIntent::Hold(order) if order.applies_at(now) => Some(order),
        HoldIntent::Hold(_) | HoldIntent::Release(_) => None,
    };
    let Some(record) = record else {
        return order.map_or(HoldStep::Wait(None), |order| hold(tolerations, order, counts_since, now));
    };
    let kept = record.without_changed_by_others(tolerations);
    if kept.tolerations().is_empty() {
        return match order.map(|order| hold(tolerations, order, counts_since, now)) {
            Some(again @ HoldStep::Write(_)) => again,
            _ => HoldStep::Write(HoldWrite { seconds: Vec::new(), record: None }),
        };
    }
    let step = if kept.is_released() {
        released_step(tolerations, &kept, counts_since, order, now)
    } else {
        let mode = if let HoldIntent::Release(mode) = intent { mode } else { ReleaseMode::Remainder };
        held_step(tolerations, &kept, counts_since, order, mode, now)
    };
    match step {
        HoldStep::Wait(_) if kept != *record => {
            HoldStep::Write(HoldWrite { seconds: Vec::new(), record: Some(kept) })
        }
        step => step,
    }
}

/// A pod that was not held until now.
fn hold(tolerations: &[Toleration], order: HoldOrder, counts_since: Option<Wall>, now: Wall) -> HoldStep {
    let positions = HoldCoverage::of(tolerations).positions;
    if positions.is_empty() {
        return HoldStep::Wait(None);
    }
    let record = HoldRecord {
        order: Some(order),
        changed: now,
        ran: counts_since.map_or(Span::ZERO, |since| counted(since, now)),
        counted_since: counts_since,
        tolerations: positions.iter().filter_map(|at| HeldToleration::of(&tolerations[*at])).collect(),
    };
    HoldStep::Write(clearing(tolerations, record))
}

/// A pod whose seconds are removed.
fn held_step(
    tolerations: &[Toleration],
    record: &HoldRecord,
    counts_since: Option<Wall>,
    order: Option<HoldOrder>,
    mode: ReleaseMode,
    now: Wall,
) -> HoldStep {
    let held = order.map(|order| record.held_by(order, counts_since, now));
    let by = held.as_ref().and_then(HoldRecord::order).filter(|order| order.applies_at(now));
    if let Some((held, order)) = held.zip(by) {
        return match held == *record {
            true => HoldStep::Wait(Some(order.ends_at())),
            false => HoldStep::Write(HoldWrite { seconds: Vec::new(), record: Some(held) }),
        };
    }
    let may_set = record.changed.plus(OBSERVATION_PAUSE);
    if now < may_set && record.changed <= now.plus(CLOCK_STEP_MAX) {
        return HoldStep::Wait(Some(may_set));
    }
    let released = HoldRecord { order: None, changed: now, ..record.clone() };
    let Some(since) = counts_since else {
        let released = released.with_given(|held| Some(held.own()));
        return HoldStep::Write(HoldWrite { seconds: released.seconds_in(tolerations), record: None });
    };
    let ran = if record.counted_since == Some(since) { record.ran } else { Span::ZERO };
    let given = |held: &HeldToleration| match mode {
        ReleaseMode::Remainder => held.remainder(ran),
        ReleaseMode::Full => held.own(),
    };
    let released = released.with_ran(ran, counts_since).with_given(|held| Some(given(held)));
    HoldStep::Write(HoldWrite { seconds: released.seconds_in(tolerations), record: Some(released) })
}

/// A pod that has seconds again, on a node that still had the taint then.
fn released_step(
    tolerations: &[Toleration],
    record: &HoldRecord,
    counts_since: Option<Wall>,
    order: Option<HoldOrder>,
    now: Wall,
) -> HoldStep {
    let is_other_silence = record.is_other_silence(counts_since);
    let again = order.filter(|order| order.origin == HoldOrigin::Person || is_other_silence);
    let ran = match counts_since {
        None => Span::ZERO,
        Some(since) if is_other_silence => counted(since, now),
        Some(_) => record.ran.saturating_add(counted(record.changed, now)),
    };
    let cleared = HoldRecord { order: again, changed: now, ..record.clone() }.with_ran(ran, counts_since);
    match again {
        Some(_) => HoldStep::Write(clearing(tolerations, cleared)),
        // The pod's own seconds are more than it has, and a countdown may have started again meanwhile, or the remainder
        // belongs to an earlier silence: so they are removed first.
        None if (counts_since.is_none() || is_other_silence) && !record.has_own_seconds() => {
            HoldStep::Write(clearing(tolerations, cleared))
        }
        None if counts_since.is_none() => HoldStep::Write(HoldWrite { seconds: Vec::new(), record: None }),
        None => HoldStep::Wait(None),
    }
}

fn clearing(tolerations: &[Toleration], record: HoldRecord) -> HoldWrite {
    let record = record.with_given(|_| None);
    HoldWrite { seconds: record.seconds_in(tolerations), record: Some(record) }
}

/// For how long a countdown has certainly run: times of the API are truncated to whole seconds.
fn counted(since: Wall, now: Wall) -> Span {
    let micros = now.as_micros().saturating_sub(since.as_micros()).saturating_sub(RESOLUTION.as_micros());
    Span::from_micros(micros.max(0))
}
