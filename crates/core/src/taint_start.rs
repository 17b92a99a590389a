//! Determines since when a taint instance counts and when a pod was bound, with the source of each time (D1).
//!
//! - Invariant: a start is never in the future, before the object was created, or before the last observation to the
//!   contrary. Upstream has no start (TE-24).
//! - See `verdict.rs` for its effect, `eviction/cache/` for where it is stored.

use crate::fact::{BindingTimes, NodeFact};
use crate::taint::Taint;
use crate::time::{Mono, Now, Span, Wall};

/// API timestamps are truncated to whole seconds: the true time may be up to this much later, and no pod is evicted
/// early (S3).
pub(crate) const RESOLUTION: Span = Span::from_secs(1);

/// How something became known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObservedVia {
    /// It was observed on the watch: it happened just now.
    WatchEvent,
    /// It was found in a list. If it is known until when it was absent, that is the earliest possible start.
    List {
        /// The last moment of complete knowledge at which it was absent.
        absent_until: Option<Mono>,
    },
}

/// The source of a taint instance's start (D1), in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TaintStartSource {
    /// Its appearance was observed on the watch.
    SeenLive,
    /// The taint's `timeAdded`.
    TimeAdded,
    /// The time in the node's `managedFields` at which `spec.taints` last changed.
    ManagedFields,
    /// No source; it counts from when it was first observed.
    FirstSight,
}

/// Since when a taint instance is on its node. Never changes while the instance lives (S4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TaintStart {
    /// The moment.
    pub at: Mono,
    /// The source.
    pub source: TaintStartSource,
    /// The source's time was impossible (before the node existed, or in the future), and was corrected (P46).
    pub clamped: bool,
}

/// The source of a pod's arrival on its node (D1), in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum BindingSource {
    /// Its arrival was observed on the watch.
    SeenLive,
    /// The transition of the condition `PodScheduled`.
    PodScheduled,
    /// `status.startTime`.
    StartTime,
    /// `metadata.creationTimestamp`.
    Created,
    /// No source; it counts from when it was first observed.
    FirstSight,
}

/// Since when a pod is on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodBinding {
    /// The moment.
    pub at: Mono,
    /// The source.
    pub source: BindingSource,
}

/// Returns the start of a newly known taint instance.
///
/// Never early (S3): the client that wrote the time had a clock of its own, truncated to whole seconds. So the time
/// counts from the end of its second on the slowest clock that [`Now::skew_max`] allows, and from now if nothing is
/// known about the clocks. Across restarts the start moves by no more than twice the allowance (S4).
pub fn taint_start(taint: &Taint, node: &NodeFact, sighting: ObservedVia, now: Now) -> TaintStart {
    let ObservedVia::List { absent_until } = sighting else {
        return TaintStart { at: now.mono, source: TaintStartSource::SeenLive, clamped: false };
    };
    listed(taint, node, absent_until, latest, now)
}

/// Returns the start of a taint instance for display: the second that its object names, in which a process that watched
/// observed the start. A process that finds it in a list counts from the end of that second, so that no pod is evicted
/// early (S3).
pub fn taint_start_for_display(taint: &Taint, node: &NodeFact, now: Now) -> TaintStart {
    listed(taint, node, None, as_written, now)
}

/// Converts a time of an object to the local clock, if possible.
type ClockReading = fn(Wall, Now) -> Option<Mono>;

/// Returns the end of the second it lies in, on the slowest possible clock.
pub(crate) fn latest(written: Wall, now: Now) -> Option<Mono> {
    now.latest_mono_of(written.plus(RESOLUTION))
}

#[expect(clippy::unnecessary_wraps, reason = "a Reading")]
fn as_written(written: Wall, now: Now) -> Option<Mono> {
    Some(now.mono_of(written))
}

fn listed(
    taint: &Taint,
    node: &NodeFact,
    absent_until: Option<Mono>,
    reading: ClockReading,
    now: Now,
) -> TaintStart {
    let added = taint.time_added.map(|added| (added, TaintStartSource::TimeAdded));
    let changed = node.taints_changed.map(|changed| (changed, TaintStartSource::ManagedFields));
    let placed =
        added.or(changed).and_then(|(written, source)| Some((written, reading(written, now)?, source)));
    let Some((written, placed, source)) = placed else {
        return TaintStart { at: now.mono, source: TaintStartSource::FirstSight, clamped: false };
    };
    let at = within(placed, node.created, absent_until, reading, now);
    // A time in the future by no more than the resolution is due to rounding, and valid.
    let is_future = now.earliest_mono_of(written).is_some_and(|written| written > now.mono.plus(RESOLUTION));
    TaintStart { at, source, clamped: at > placed || is_future }
}

/// Returns the arrival of a newly known pod, from its times as in [`taint_start`].
pub fn pod_binding(facts: &BindingTimes, sighting: ObservedVia, now: Now) -> PodBinding {
    let ObservedVia::List { absent_until } = sighting else {
        return PodBinding { at: now.mono, source: BindingSource::SeenLive };
    };
    listed_pod(facts, absent_until, latest, now)
}

/// Returns the arrival of a pod for display: see [`taint_start_for_display`].
pub fn pod_binding_for_display(facts: &BindingTimes, now: Now) -> PodBinding {
    listed_pod(facts, None, as_written, now)
}

fn listed_pod(
    facts: &BindingTimes,
    absent_until: Option<Mono>,
    reading: ClockReading,
    now: Now,
) -> PodBinding {
    let written = match *facts {
        BindingTimes { scheduled: Some(at), .. } => Some((at, BindingSource::PodScheduled)),
        BindingTimes { started: Some(at), .. } => Some((at, BindingSource::StartTime)),
        BindingTimes { created: Some(at), .. } => Some((at, BindingSource::Created)),
        _ => None,
    };
    let placed = written.and_then(|(written, source)| Some((reading(written, now)?, source)));
    placed.map_or(PodBinding { at: now.mono, source: BindingSource::FirstSight }, |(placed, source)| {
        PodBinding { at: within(placed, facts.created, absent_until, reading, now), source }
    })
}

/// Clamps to [creation or last known absence, now]; now takes precedence if the bounds contradict each other. The
/// creation comes from another clock too, and is converted in the same way.
fn within(
    placed: Mono,
    created: Option<Wall>,
    absent_until: Option<Mono>,
    reading: ClockReading,
    now: Now,
) -> Mono {
    let earliest = created.and_then(|created| reading(created, now)).max(absent_until);
    earliest.map_or(placed, |earliest| placed.max(earliest)).min(now.mono)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::identity::{NodeName, Uid};
    use crate::taint::TaintEffect;
    use alloc::vec::Vec;

    const NOW: Now = Now::exact(Mono::from_secs(1000), Wall::from_secs(1_800_000_000));
    const LISTED: ObservedVia = ObservedVia::List { absent_until: None };

    fn ago(seconds: i64) -> Option<Wall> {
        Some(Wall::from_secs(1_800_000_000 - seconds))
    }

    const YEAR_1: Wall = Wall::from_secs(-62_135_596_800);

    fn start_by(now: Now, added: Option<Wall>, changed: Option<Wall>, sighting: ObservedVia) -> TaintStart {
        let taint =
            Taint { key: "k".into(), value: "".into(), effect: TaintEffect::NoExecute, time_added: added };
        let node = NodeFact {
            name: NodeName::new("n"),
            uid: Uid::new("u"),
            version: None,
            created: ago(500),
            taints: Vec::new(),
            taints_changed: changed,
            ready_out_of_service: false,
            labels: None,
            allow_no_execute: None,
            respect_budgets: None,
            holds: None,
        };
        taint_start(&taint, &node, sighting, now)
    }

    fn start(
        added: Option<Wall>,
        changed: Option<Wall>,
        sighting: ObservedVia,
    ) -> (i64, TaintStartSource, bool) {
        let start = start_by(NOW, added, changed, sighting);
        (start.at.as_micros() / 1_000_000, start.source, start.clamped)
    }

    #[test]
    fn d1_sources_in_order_and_clamped() {
        use TaintStartSource::{FirstSight, ManagedFields, SeenLive, TimeAdded};
        let year_1 = Some(YEAR_1);
        let year_9999 = Some(Wall::from_secs(253_402_300_799));
        for (added, changed, sighting, expected) in [
            (ago(100), ago(50), ObservedVia::WatchEvent, (1000, SeenLive, false)),
            (ago(100), ago(50), LISTED, (901, TimeAdded, false)),
            (None, ago(50), LISTED, (951, ManagedFields, false)),
            (None, None, LISTED, (1000, FirstSight, false)),
            (ago(0), None, LISTED, (1000, TimeAdded, false)),
            (ago(-60), None, LISTED, (1000, TimeAdded, true)),
            (year_1, None, LISTED, (501, TimeAdded, true)),
            (year_9999, None, LISTED, (1000, TimeAdded, true)),
            (
                year_1,
                None,
                ObservedVia::List { absent_until: Some(Mono::from_secs(990)) },
                (990, TimeAdded, true),
            ),
            (
                ago(3),
                None,
                ObservedVia::List { absent_until: Some(Mono::from_secs(990)) },
                (998, TimeAdded, false),
            ),
        ] {
            assert_eq!(start(added, changed, sighting), expected, "{added:?} {changed:?} {sighting:?}");
        }
    }

    #[test]
    fn d1_arrival_sources_in_order() {
        use BindingSource::{Created, FirstSight, PodScheduled, SeenLive, StartTime};
        let none = BindingTimes::default();
        let all = BindingTimes { scheduled: ago(30), started: ago(20), created: ago(40) };
        for (facts, sighting, at, source) in [
            (all, ObservedVia::WatchEvent, 1000, SeenLive),
            (all, LISTED, 971, PodScheduled),
            (BindingTimes { scheduled: None, ..all }, LISTED, 981, StartTime),
            (BindingTimes { created: ago(40), ..none }, LISTED, 961, Created),
            (none, LISTED, 1000, FirstSight),
            (BindingTimes { scheduled: ago(90), ..all }, LISTED, 961, PodScheduled),
        ] {
            let arrival = pod_binding(&facts, sighting, NOW);
            assert_eq!(arrival, PodBinding { at: Mono::from_secs(at), source }, "{facts:?}");
        }
    }

    /// S3: with no allowed clock is a start or an arrival before the true time it was read from, truncated or not; S4:
    /// nor later than that by more than twice the allowance and a second, nor later than now.
    #[test]
    fn no_allowed_clock_makes_a_start_or_an_arrival_early() {
        let mono = Mono::from_secs(1000);
        for error in [-3600, -600, -2, -1, 0, 1, 2, 600, 3600] {
            for slack in [0, 1, 90] {
                let skew_max = Span::from_secs(i64::abs(error) + slack);
                let wall = Wall::from_secs(1_800_000_000 + error);
                let now = Now::new(mono, wall, Some(skew_max));
                // The true time lies anywhere in the second that is named, some minutes ago or less.
                for ago in [1, 2, 30, 499] {
                    let written = Some(Wall::from_secs(1_800_000_000 - ago));
                    let truth_latest = mono.minus(Span::from_micros(ago * 1_000_000 - 999_999));
                    let most = truth_latest.plus(RESOLUTION).plus(skew_max).plus(skew_max).min(mono);
                    let arrived = BindingTimes { scheduled: written, started: None, created: None };
                    for at in [
                        start_by(now, written, None, LISTED).at,
                        start_by(now, None, written, LISTED).at,
                        pod_binding(&arrived, LISTED, now).at,
                        pod_binding(
                            &BindingTimes { scheduled: Some(YEAR_1), created: written, ..arrived },
                            LISTED,
                            now,
                        )
                        .at,
                    ] {
                        assert!(truth_latest <= at && at <= most, "{error} {slack} {ago}: {at:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn with_unknown_clocks_only_the_first_observation_counts() {
        let now = Now::new(NOW.mono, NOW.wall, None);
        let seen = |source| TaintStart { at: NOW.mono, source, clamped: false };
        assert_eq!(start_by(now, ago(400), ago(400), LISTED), seen(TaintStartSource::FirstSight));
        assert_eq!(start_by(now, ago(400), None, ObservedVia::WatchEvent), seen(TaintStartSource::SeenLive));
        let facts = BindingTimes { scheduled: ago(400), started: ago(400), created: ago(500) };
        let arrival = PodBinding { at: NOW.mono, source: BindingSource::FirstSight };
        assert_eq!(pod_binding(&facts, LISTED, now), arrival);
    }
}
