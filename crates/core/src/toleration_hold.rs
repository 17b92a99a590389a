//! Decides how the countdowns of a pod are stopped and restarted while kube-controller-manager's own taint eviction
//! stays enabled: only by its tolerations' seconds.
//!
//! - Seconds are only ever set where there were none before, and [`OBSERVATION_PAUSE`] after they were removed: see
//!   [`next_step`].
//! - Invariant: the record is stored in the pod and changes in the same write as the seconds, so a crash loses nothing.
//! - Invariant: no toleration is without its seconds beyond [`HoldRecord::ends_at`]; one without seconds never changes.

mod coverage;
mod record;
#[cfg(test)]
mod tests;

pub use coverage::{HoldCoverage, UncoveredReason};
pub use record::{HeldToleration, HoldRecord, MAX_HOLD, REMAINDER_MIN};

use record::CLOCK_STEP_MAX;

use crate::taint_start::RESOLUTION;
use crate::time::{Span, Wall};
use crate::toleration::Toleration;
use crate::toleration_backfill::SecondsChanges;
use alloc::vec::Vec;

/// For how long seconds stay removed before they are set again, so that kube-controller-manager observes the removal:
/// it handles only the latest state of a pod, and would not notice two changes in a row.
pub const OBSERVATION_PAUSE: Span = Span::from_secs(5);

/// What started a hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HoldOrigin {
    /// An administrator. Pods that were released before this hold are held again.
    Person,
    /// The limit of silent nodes. Holds a pod once each time its node becomes silent.
    Limit,
}

/// A hold that includes the pod's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HoldOrder {
    /// What started it.
    pub origin: HoldOrigin,
    /// Since when, in server time.
    pub since: Wall,
    /// When it ends by itself, in server time.
    pub until: Wall,
}

/// Which seconds a released pod gets back while its node still has the taint.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
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
        HoldIntent::Hold(order) if now < order.until => Some(order),
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
    let held = positions.iter().filter_map(|at| HeldToleration::of(&tolerations[*at])).collect();
    let ran = counts_since.map_or(Span::ZERO, |since| counted(since, now));
    let record = HoldRecord::new(held, now, order.until).with_ran(ran, counts_since);
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
    let ends_at = order.map(|order| record.ends_at(order, now));
    if let Some(ends_at) = ends_at.filter(|ends_at| now < *ends_at) {
        return HoldStep::Wait(Some(ends_at));
    }
    let may_set = record.changed().plus(OBSERVATION_PAUSE);
    if now < may_set && record.changed() <= now.plus(CLOCK_STEP_MAX) {
        return HoldStep::Wait(Some(may_set));
    }
    let Some(since) = counts_since else {
        let record = record.with_given(now, |held| Some(held.own()));
        return HoldStep::Write(HoldWrite { seconds: record.seconds_in(tolerations), record: None });
    };
    let ran = if record.counted_since() == Some(since) { record.ran() } else { Span::ZERO };
    let given = |held: &HeldToleration| match mode {
        ReleaseMode::Remainder => held.remainder(ran),
        ReleaseMode::Full => held.own(),
    };
    let record = record.with_ran(ran, counts_since).with_given(now, |held| Some(given(held)));
    HoldStep::Write(HoldWrite { seconds: record.seconds_in(tolerations), record: Some(record) })
}

/// A pod that has seconds again, on a node that still had the taint then.
fn released_step(
    tolerations: &[Toleration],
    record: &HoldRecord,
    counts_since: Option<Wall>,
    order: Option<HoldOrder>,
    now: Wall,
) -> HoldStep {
    let Some(since) = counts_since else {
        if record.has_own_seconds() {
            return HoldStep::Write(HoldWrite { seconds: Vec::new(), record: None });
        }
        // The pod's own seconds are more than it has, and a countdown may have started again meanwhile: so they are
        // removed first.
        return HoldStep::Write(clearing(tolerations, record.with_ran(Span::ZERO, None)).at(now));
    };
    let is_new_incident = record.counted_since() != Some(since);
    let again = order.filter(|order| match order.origin {
        HoldOrigin::Person => record.changed() < order.since || is_new_incident,
        HoldOrigin::Limit => is_new_incident,
    });
    let ran = match is_new_incident {
        true => counted(since, now),
        false => record.ran().saturating_add(counted(record.changed(), now)),
    };
    let record = record.with_ran(ran, counts_since);
    match again {
        Some(order) => HoldStep::Write(clearing(tolerations, record.again(now, order.until))),
        // The remainder belongs to an earlier silence.
        None if is_new_incident && !record.has_own_seconds() => {
            HoldStep::Write(clearing(tolerations, record).at(now))
        }
        None => HoldStep::Wait(None),
    }
}

fn clearing(tolerations: &[Toleration], record: HoldRecord) -> HoldWrite {
    let record = record.with_given_unchanged(|_| None);
    HoldWrite { seconds: record.seconds_in(tolerations), record: Some(record) }
}

impl HoldWrite {
    fn at(self, now: Wall) -> Self {
        Self { record: self.record.map(|record| record.changed_at(now)), ..self }
    }
}

/// For how long a countdown has certainly run: times of the API are truncated to whole seconds.
fn counted(since: Wall, now: Wall) -> Span {
    let micros = now.as_micros().saturating_sub(since.as_micros()).saturating_sub(RESOLUTION.as_micros());
    Span::from_micros(micros.max(0))
}
