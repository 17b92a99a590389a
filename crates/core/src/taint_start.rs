//! Determines since when a taint instance counts and when a pod was bound, with the source of each time (D1).
//!
//! - Invariant: a start is never in the future, before the object was created, or before the last observation to the
//!   contrary. Upstream has no start (TE-24).
//! - See `verdict.rs` for what follows from it, `eviction/cache/` for where it is kept.

use crate::fact::{BindingTimes, NodeFact};
use crate::taint::Taint;
use crate::time::{Mono, Now, Span, Wall};

/// API timestamps are cut to whole seconds: the truth may be up to this much later, and nobody leaves early (S3).
pub(crate) const RESOLUTION: Span = Span::from_secs(1);

/// How something came to our knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObservedVia {
    /// We watched it happen: it happened just now.
    WatchEvent,
    /// It was there when we looked. If we know until when it was not there, that is the earliest it can have begun.
    List {
        /// Last moment at which our knowledge was complete and this was not part of it.
        absent_until: Option<Mono>,
    },
}

/// Where the start of a taint instance was taken from (D1), in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaintStartSource {
    /// Seen appearing on the watch.
    SeenLive,
    /// The taint's `timeAdded`.
    TimeAdded,
    /// The time in the node's `managedFields` at which `spec.taints` last changed.
    ManagedFields,
    /// Nothing tells; counted from when it was first seen.
    FirstSight,
}

/// Since when a taint instance is on its node. Never changes while the instance lives (S4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaintStart {
    /// The moment.
    pub at: Mono,
    /// What it was taken from.
    pub source: TaintStartSource,
    /// The source said something impossible (before the node existed, or in the future), and was corrected (P46).
    pub clamped: bool,
}

/// Where a pod's arrival on its node was taken from (D1), in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BindingSource {
    /// Seen arriving on the watch.
    SeenLive,
    /// The transition of the condition `PodScheduled`.
    PodScheduled,
    /// `status.startTime`.
    StartTime,
    /// `metadata.creationTimestamp`.
    Created,
    /// Nothing tells; counted from when it was first seen.
    FirstSight,
}

/// Since when a pod is on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodBinding {
    /// The moment.
    pub at: Mono,
    /// What it was taken from.
    pub source: BindingSource,
}

/// The start of a taint instance that was not known before.
///
/// Never early (S3): whoever wrote the time had a clock of its own, cut to whole seconds. So what is read counts from the
/// end of its second on the slowest clock that [`Now::skew_max`] allows, and from now if nothing is known of the clocks.
/// Across restarts it moves by no more than the two allowances (S4).
pub fn taint_start(taint: &Taint, node: &NodeFact, sighting: ObservedVia, now: Now) -> TaintStart {
    let ObservedVia::List { absent_until } = sighting else {
        return TaintStart { at: now.mono, source: TaintStartSource::SeenLive, clamped: false };
    };
    listed(taint, node, absent_until, latest, now)
}

/// The start of a taint instance for people: the second that its object names, in which one who watched saw it begin.
/// Who finds it in a list counts from the end of that second, so that nobody leaves early (S3).
pub fn taint_start_for_display(taint: &Taint, node: &NodeFact, now: Now) -> TaintStart {
    listed(taint, node, None, as_told, now)
}

/// Where a moment that an object names is put on our clock, if it can be.
type ClockReading = fn(Wall, Now) -> Option<Mono>;

/// The end of the second it lies in, on the slowest clock there may be.
pub(crate) fn latest(said: Wall, now: Now) -> Option<Mono> {
    now.latest_mono_of(said.plus(RESOLUTION))
}

#[expect(clippy::unnecessary_wraps, reason = "a Reading")]
fn as_told(said: Wall, now: Now) -> Option<Mono> {
    Some(now.mono_of(said))
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
    let placed = added.or(changed).and_then(|(said, source)| Some((said, reading(said, now)?, source)));
    let Some((said, placed, source)) = placed else {
        return TaintStart { at: now.mono, source: TaintStartSource::FirstSight, clamped: false };
    };
    let at = within(placed, node.created, absent_until, reading, now);
    // Up to a resolution's worth in the future is rounding, not a lie.
    let is_future = now.earliest_mono_of(said).is_some_and(|said| said > now.mono.plus(RESOLUTION));
    TaintStart { at, source, clamped: at > placed || is_future }
}

/// The arrival of a pod that was not known before: read as [`taint_start`] reads.
pub fn pod_binding(facts: &BindingTimes, sighting: ObservedVia, now: Now) -> PodBinding {
    let ObservedVia::List { absent_until } = sighting else {
        return PodBinding { at: now.mono, source: BindingSource::SeenLive };
    };
    listed_pod(facts, absent_until, latest, now)
}

/// The arrival of a pod for people: see [`taint_start_for_display`].
pub fn pod_binding_for_display(facts: &BindingTimes, now: Now) -> PodBinding {
    listed_pod(facts, None, as_told, now)
}

fn listed_pod(
    facts: &BindingTimes,
    absent_until: Option<Mono>,
    reading: ClockReading,
    now: Now,
) -> PodBinding {
    let said = match *facts {
        BindingTimes { scheduled: Some(at), .. } => Some((at, BindingSource::PodScheduled)),
        BindingTimes { started: Some(at), .. } => Some((at, BindingSource::StartTime)),
        BindingTimes { created: Some(at), .. } => Some((at, BindingSource::Created)),
        _ => None,
    };
    let placed = said.and_then(|(said, source)| Some((reading(said, now)?, source)));
    placed.map_or(PodBinding { at: now.mono, source: BindingSource::FirstSight }, |(placed, source)| {
        PodBinding { at: within(placed, facts.created, absent_until, reading, now), source }
    })
}

/// Clamps to [creation or last known absence, now]; now wins where the bounds contradict each other. The creation is
/// another's clock too, and read as what was said is.
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

    /// S3: by no clock that is allowed for is a start or an arrival before what it was read from, cut off or not; S4: nor
    /// later than that by more than the allowance twice and a second, nor than now.
    #[test]
    fn no_clock_makes_a_start_or_an_arrival_early() {
        let mono = Mono::from_secs(1000);
        for error in [-3600, -600, -2, -1, 0, 1, 2, 600, 3600] {
            for slack in [0, 1, 90] {
                let skew_max = Span::from_secs(i64::abs(error) + slack);
                let wall = Wall::from_secs(1_800_000_000 + error);
                let now = Now::new(mono, wall, Some(skew_max));
                // The truth lies anywhere in the second that is named, some minutes ago or less.
                for ago in [1, 2, 30, 499] {
                    let said = Some(Wall::from_secs(1_800_000_000 - ago));
                    let truth_latest = mono.minus(Span::from_micros(ago * 1_000_000 - 999_999));
                    let most = truth_latest.plus(RESOLUTION).plus(skew_max).plus(skew_max).min(mono);
                    let arrived = BindingTimes { scheduled: said, started: None, created: None };
                    for at in [
                        start_by(now, said, None, LISTED).at,
                        start_by(now, None, said, LISTED).at,
                        pod_binding(&arrived, LISTED, now).at,
                        pod_binding(
                            &BindingTimes { scheduled: Some(YEAR_1), created: said, ..arrived },
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
    fn of_unknown_clocks_only_first_sight_counts() {
        let now = Now::new(NOW.mono, NOW.wall, None);
        let seen = |source| TaintStart { at: NOW.mono, source, clamped: false };
        assert_eq!(start_by(now, ago(400), ago(400), LISTED), seen(TaintStartSource::FirstSight));
        assert_eq!(start_by(now, ago(400), None, ObservedVia::WatchEvent), seen(TaintStartSource::SeenLive));
        let facts = BindingTimes { scheduled: ago(400), started: ago(400), created: ago(500) };
        let arrival = PodBinding { at: NOW.mono, source: BindingSource::FirstSight };
        assert_eq!(pod_binding(&facts, LISTED, now), arrival);
    }
}
