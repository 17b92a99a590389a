//! # Start: since when a taint counts for a pod
//! Room:     D1 (TE-24: the original knows no start): the start of a taint instance, and a pod's arrival, each with
//!           the source it was taken from.
//! Comes in: what the objects say, whether we saw it happen, the time.
//! Goes out: [`Start`], [`Arrival`].
//! Keeps:    never in the future, never before the object existed, never before we last knew better.
//! Not here: what follows from it (`verdict.rs`); remembering it (`engine/roster.rs`).

use crate::fact::{ArrivalFacts, NodeFact};
use crate::taint::Taint;
use crate::time::{Mono, Now, Span, Wall};

/// API timestamps are cut to whole seconds: the truth may be up to this much later, and nobody leaves early (S3).
pub(crate) const RESOLUTION: Span = Span::from_secs(1);

/// How something came to our knowledge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sighting {
    /// We watched it happen: it happened just now.
    Live,
    /// It was there when we looked. If we know until when it was not there, that is the earliest it can have begun.
    Listed {
        /// Last moment at which our knowledge was complete and this was not part of it.
        absent_until: Option<Mono>,
    },
}

/// Where the start of a taint instance was taken from (D1), in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StartSource {
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
pub struct Start {
    /// The moment.
    pub at: Mono,
    /// What it was taken from.
    pub source: StartSource,
    /// The source said something impossible (before the node existed, or in the future), and was corrected (P46).
    pub clamped: bool,
}

/// Where a pod's arrival on its node was taken from (D1), in order of preference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ArrivalSource {
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
pub struct Arrival {
    /// The moment.
    pub at: Mono,
    /// What it was taken from.
    pub source: ArrivalSource,
}

/// The start of a taint instance that was not known before.
pub fn of_taint(taint: &Taint, node: &NodeFact, sighting: Sighting, now: Now) -> Start {
    let Sighting::Listed { absent_until } = sighting else {
        return Start { at: now.mono, source: StartSource::SeenLive, clamped: false };
    };
    listed(taint, node, absent_until, RESOLUTION, now)
}

/// The start of a taint instance for people: the second that its object names, in which one who watched saw it begin.
/// Who finds it in a list counts from the end of that second, so that nobody leaves early (S3).
pub fn of_taint_as_told(taint: &Taint, node: &NodeFact, now: Now) -> Start {
    listed(taint, node, None, Span::ZERO, now)
}

fn listed(taint: &Taint, node: &NodeFact, absent_until: Option<Mono>, resolution: Span, now: Now) -> Start {
    let said_at = |wall: Wall| now.mono_of(wall.plus(resolution));
    let (said, source) = match (taint.time_added, node.taints_changed) {
        (Some(added), _) => (said_at(added), StartSource::TimeAdded),
        (None, Some(changed)) => (said_at(changed), StartSource::ManagedFields),
        (None, None) => (now.mono, StartSource::FirstSight),
    };
    let at = within(said, node.created, absent_until, now);
    // Up to a resolution's worth in the future is rounding, not a lie.
    let clamped = at > said || said > at.plus(RESOLUTION);
    Start { at, source, clamped }
}

/// The arrival of a pod that was not known before.
pub fn of_pod(facts: &ArrivalFacts, sighting: Sighting, now: Now) -> Arrival {
    let Sighting::Listed { absent_until } = sighting else {
        return Arrival { at: now.mono, source: ArrivalSource::SeenLive };
    };
    listed_pod(facts, absent_until, RESOLUTION, now)
}

/// The arrival of a pod for people: see [`of_taint_as_told`].
pub fn of_pod_as_told(facts: &ArrivalFacts, now: Now) -> Arrival {
    listed_pod(facts, None, Span::ZERO, now)
}

fn listed_pod(facts: &ArrivalFacts, absent_until: Option<Mono>, resolution: Span, now: Now) -> Arrival {
    let said_at = |wall: Wall| now.mono_of(wall.plus(resolution));
    let (said, source) = match *facts {
        ArrivalFacts { scheduled: Some(at), .. } => (said_at(at), ArrivalSource::PodScheduled),
        ArrivalFacts { started: Some(at), .. } => (said_at(at), ArrivalSource::StartTime),
        ArrivalFacts { created: Some(at), .. } => (said_at(at), ArrivalSource::Created),
        _ => (now.mono, ArrivalSource::FirstSight),
    };
    Arrival { at: within(said, facts.created, absent_until, now), source }
}

/// Clamps to [creation or last known absence, now]; now wins where the bounds contradict each other.
fn within(said: Mono, created: Option<Wall>, absent_until: Option<Mono>, now: Now) -> Mono {
    let earliest = created.map(|created| now.mono_of(created)).max(absent_until);
    earliest.map_or(said, |earliest| said.max(earliest)).min(now.mono)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::names::{NodeName, Uid};
    use crate::taint::Effect;
    use alloc::vec::Vec;

    const NOW: Now = Now { mono: Mono::from_secs(1000), wall: Wall::from_secs(1_800_000_000) };
    const LISTED: Sighting = Sighting::Listed { absent_until: None };

    fn ago(seconds: i64) -> Option<Wall> {
        Some(Wall::from_secs(1_800_000_000 - seconds))
    }

    fn start(added: Option<Wall>, changed: Option<Wall>, sighting: Sighting) -> (i64, StartSource, bool) {
        let taint = Taint { key: "k".into(), value: "".into(), effect: Effect::NoExecute, time_added: added };
        let node = NodeFact {
            name: NodeName::new("n"),
            uid: Uid::new("u"),
            version: None,
            created: ago(500),
            taints: Vec::new(),
            taints_changed: changed,
        };
        let start = of_taint(&taint, &node, sighting, NOW);
        (start.at.as_micros() / 1_000_000, start.source, start.clamped)
    }

    #[test]
    fn d1_sources_in_order_and_clamped() {
        use StartSource::{FirstSight, ManagedFields, SeenLive, TimeAdded};
        let year_1 = Some(Wall::from_secs(-62_135_596_800));
        let year_9999 = Some(Wall::from_secs(253_402_300_799));
        for (added, changed, sighting, expected) in [
            (ago(100), ago(50), Sighting::Live, (1000, SeenLive, false)),
            (ago(100), ago(50), LISTED, (901, TimeAdded, false)),
            (None, ago(50), LISTED, (951, ManagedFields, false)),
            (None, None, LISTED, (1000, FirstSight, false)),
            (ago(0), None, LISTED, (1000, TimeAdded, false)),
            (ago(-60), None, LISTED, (1000, TimeAdded, true)),
            (year_1, None, LISTED, (500, TimeAdded, true)),
            (year_9999, None, LISTED, (1000, TimeAdded, true)),
            (
                year_1,
                None,
                Sighting::Listed { absent_until: Some(Mono::from_secs(990)) },
                (990, TimeAdded, true),
            ),
            (
                ago(3),
                None,
                Sighting::Listed { absent_until: Some(Mono::from_secs(990)) },
                (998, TimeAdded, false),
            ),
        ] {
            assert_eq!(start(added, changed, sighting), expected, "{added:?} {changed:?} {sighting:?}");
        }
    }

    #[test]
    fn d1_arrival_sources_in_order() {
        use ArrivalSource::{Created, FirstSight, PodScheduled, SeenLive, StartTime};
        let none = ArrivalFacts::default();
        let all = ArrivalFacts { scheduled: ago(30), started: ago(20), created: ago(40) };
        for (facts, sighting, at, source) in [
            (all, Sighting::Live, 1000, SeenLive),
            (all, LISTED, 971, PodScheduled),
            (ArrivalFacts { scheduled: None, ..all }, LISTED, 981, StartTime),
            (ArrivalFacts { created: ago(40), ..none }, LISTED, 961, Created),
            (none, LISTED, 1000, FirstSight),
            (ArrivalFacts { scheduled: ago(90), ..all }, LISTED, 960, PodScheduled),
        ] {
            let arrival = of_pod(&facts, sighting, NOW);
            assert_eq!(arrival, Arrival { at: Mono::from_secs(at), source }, "{facts:?}");
        }
    }
}
