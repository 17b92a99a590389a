//! Tests rejections that end: every pod that became due meanwhile leaves soon, and none is tried at full rate before.

use crate::common::script::{Script, at, failed, well};
use crate::fleet::{Dice, Fleet, FleetFate};
use std::collections::BTreeMap;
use taintward_core::api_error::ApiFailure;
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::identity::Uid;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::pod;
use taintward_core::time::Span;

/// How late the last pod may leave after the first request that succeeds.
const LATE_MAX: f64 = 5.0;

const FROM: f64 = 10.0;

/// What is rejected.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Failure {
    /// The API server is away; at its return it rejects everything for so many seconds, because its caches are empty.
    Away(f64),
    /// Permissions or credentials are missing.
    Forbidden,
    /// A webhook denies all deletions.
    Denied,
    /// A webhook that cannot be called fails all deletions.
    HookDead,
    /// Most requests are throttled.
    Throttled,
    /// All writes and half of the reads fail.
    Half,
}

const FAILURES: [Failure; 7] = [
    Failure::Away(0.0),
    Failure::Away(1.5),
    Failure::Forbidden,
    Failure::Denied,
    Failure::HookDead,
    Failure::Throttled,
    Failure::Half,
];

fn is_read(effect: &EvictionEffect) -> bool {
    matches!(effect, EvictionEffect::ReadNode { .. } | EvictionEffect::ReadPod { .. })
}

/// The fate of a request at that moment.
fn fate(failure: Failure, end: f64, now: f64, effect: &EvictionEffect, dice: &mut Dice) -> FleetFate {
    let deletes = matches!(effect, EvictionEffect::DeletePod { .. });
    let failure = match failure {
        Failure::Away(cold) if now >= end - cold => Some(ApiFailure::Forbidden),
        Failure::Away(_) => Some(ApiFailure::Unavailable),
        Failure::Forbidden => Some(ApiFailure::Forbidden),
        Failure::Denied => deletes.then_some(ApiFailure::Rejected),
        Failure::HookDead => deletes.then_some(ApiFailure::Unavailable),
        Failure::Throttled => (dice.below(10) < 8).then_some(ApiFailure::Throttled(Some(Span::from_secs(1)))),
        Failure::Half => (!is_read(effect) || dice.below(2) == 0).then_some(ApiFailure::Unavailable),
    };
    let is_on = (FROM..end).contains(&now);
    (failure.filter(|_| is_on), 0.01 + dice.below(20) as f64 / 1000.0)
}

fn crowd(dice: &mut Dice, pods: usize, span: u64) -> Vec<(&'static str, i64)> {
    let namespaces = ["a", "b", "c"];
    (0..pods).map(|_| (namespaces[dice.below(3) as usize], 5 + dice.below(span).cast_signed())).collect()
}

/// D3: whatever is rejected for however long, every pod that became due meanwhile leaves within five seconds of the
/// first
/// request that succeeds, and no more requests are sent meanwhile than a throttling server can serve.
#[test]
fn d3_after_any_refusals_every_due_pod_leaves_within_five_seconds() {
    for seed in 1..=6_u64 {
        for failure in FAILURES {
            let mut dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
            let length = [5, 10, 20, 30, 45][dice.below(5) as usize] as f64 + dice.below(100) as f64 / 100.0;
            let end = FROM + length;
            let count = 20 + dice.below(180) as usize;
            let pods = crowd(&mut dice, count, length as u64 + 5);
            let mut fleet = Fleet::new(1 + dice.below(10) as usize, &pods);
            fleet.run(end + 40.0, |fleet, effect| fate(failure, end, fleet.now, effect, &mut dice));
            let what = format!("seed {seed}, {failure:?} for {length} s, {} pods", pods.len());
            let first = fleet.first_success(end);
            assert!(first <= end + 2.0, "{what}: the first success {} s after", first - end);
            let late = fleet.last_left(end) - (first - end);
            assert!(late <= LATE_MAX, "{what}: the last pod {late} s after the first success");
            let rate = fleet.rate_max(FROM + 5.0, end);
            assert!(rate <= 100 + pods.len(), "{what}: {rate} requests in a second");
        }
    }
}

/// L6: a pod whose deletion never succeeds, while that of other pods does, keeps its growing pauses.
#[test]
fn l6_a_pod_that_alone_is_refused_is_not_hastened_by_other_successes() {
    for rejected in [1, 2, 10] {
        let mut dice = Dice(7);
        let pods: Vec<_> = (0..300).map(|index| ("a", if index < 10 { 5 } else { index.min(250) })).collect();
        let mut fleet = Fleet::new(5, &pods);
        let is_rejected = |effect: &EvictionEffect| {
            let EvictionEffect::DeletePod { name, .. } = effect else { return false };
            name.name()[1..].parse::<usize>().is_ok_and(|number| number < rejected)
        };
        fleet.run(300.0, |_, effect| {
            (is_rejected(effect).then_some(ApiFailure::Rejected), 0.01 + dice.below(20) as f64 / 1000.0)
        });
        let tries = fleet.sent.iter().filter(|(_, effect, _)| is_rejected(effect)).count();
        let each = tries as f64 / rejected as f64;
        assert!((10.0..=30.0).contains(&each), "{rejected} refused: {each} tries each in 295 s");
        assert_eq!(fleet.left.len(), 300 - rejected);
        let late = fleet.left.iter().map(|(uid, left)| left - fleet.due[uid]).fold(0.0, f64::max);
        assert!(late <= 0.5, "{rejected} refused: another pod was {late} s late");
    }
}

/// A single pod that is rejected is probed less and less, and soon enough for a rejection that was short.
#[test]
fn d3_a_single_refused_pod_leaves_soon_after_the_refusal_ends() {
    for length in [5.0, 20.0, 28.0] {
        let mut fleet = Fleet::new(1, &[("a", 5)]);
        let end = FROM + length;
        fleet.run(end + 10.0, |fleet, effect| {
            let denied = fleet.now < end && matches!(effect, EvictionEffect::DeletePod { .. });
            (denied.then_some(ApiFailure::Rejected), 0.02)
        });
        assert!(fleet.last_left(end) <= 5.5, "{length}: {} s after", fleet.last_left(end));
    }
}

/// `Retry-After` is respected, also by probes.
#[test]
fn d3_no_pod_is_tried_before_the_server_allows_it() {
    let mut fleet = Fleet::new(4, &[("a", 5); 40]);
    fleet.run(30.0, |_, effect| match effect {
        EvictionEffect::DeletePod { .. } => (Some(ApiFailure::Throttled(Some(Span::from_secs(20)))), 0.02),
        _ => (None, 0.02),
    });
    let deletes = |from: f64, to: f64| {
        let times = fleet.sent.iter().filter(|(when, effect, _)| {
            matches!(effect, EvictionEffect::DeletePod { .. }) && (from..to).contains(when)
        });
        times.count()
    };
    assert_eq!((deletes(0.0, 6.5), deletes(6.5, 25.9)), (40, 0));
    assert!(deletes(25.9, 30.0) > 0);
}

/// The same if other deletions succeed meanwhile.
#[test]
fn d3_a_throttled_pod_waits_as_long_as_the_server_asks_whatever_succeeds_meanwhile() {
    let pods: Vec<_> = (0..60).map(|index| ("a", 5 + index / 4)).collect();
    let mut fleet = Fleet::new(4, &pods);
    fleet.run(40.0, |fleet, effect| match effect {
        EvictionEffect::DeletePod { pod, .. } => {
            let is_throttled = pod.uid.to_string().ends_with('0') && fleet.now < 20.0;
            (is_throttled.then_some(ApiFailure::Throttled(Some(Span::from_secs(15)))), 0.02)
        }
        _ => (None, 0.02),
    });
    let mut tries = BTreeMap::<_, Vec<f64>>::new();
    for (when, effect, _) in &fleet.sent {
        if let EvictionEffect::DeletePod { pod, .. } = effect {
            tries.entry(pod.uid.clone()).or_default().push(*when);
        }
    }
    assert_eq!(fleet.left.len(), 60);
    assert_eq!(tries.values().filter(|times| times.len() > 1).count(), 6);
    for times in tries.values().filter(|times| times.len() > 1) {
        assert!((15.0..20.0).contains(&(times[1] - times[0])), "{times:?}");
    }
}

/// D5: pods leave late by the time that reads take; what a read that took five seconds shows evicts no pod.
#[test]
fn d5_slow_reads_delay_evictions_by_the_time_that_they_take() {
    for (takes, leaves) in [(0.5, true), (1.9, true), (2.5, true), (4.0, true), (4.6, false), (6.0, false)] {
        let mut dice = Dice(5);
        let pods = crowd(&mut dice, 60, 20);
        let mut fleet = Fleet::new(4, &pods);
        fleet.run(60.0, |_, effect| {
            (None, if matches!(effect, EvictionEffect::ReadNode { .. }) { takes } else { 0.02 })
        });
        assert_eq!(fleet.left.len(), if leaves { 60 } else { 0 }, "{takes} s");
        let late = fleet.left.iter().map(|(uid, left)| left - fleet.due[uid]).fold(0.0, f64::max);
        // A pod that becomes due while its node is being read waits for that read and for its own.
        assert!(late <= 2.0 * takes + 0.3, "{takes} s: {late} s late");
        let stats = fleet.engine.stats();
        assert_eq!(stats.stall.is_some(), !leaves, "{takes} s: {stats:?}");
        for (when, effect, _) in &fleet.sent {
            let EvictionEffect::DeletePod { confirmed, .. } = effect else { continue };
            let age = at(*when).mono.since(*confirmed).as_secs_f64();
            assert!(age <= 4.5, "{takes} s: confirmed {age} s ago");
        }
    }
}

/// A read that took long makes no other read good for longer.
#[test]
fn d5_one_slow_read_loosens_the_age_of_no_other() {
    let mut fleet = Fleet::new(1, &[("a", 5), ("a", 30)]);
    fleet.run(60.0, |fleet, effect| match effect {
        EvictionEffect::ReadNode { .. } => (None, if fleet.now < 20.0 { 4.0 } else { 0.02 }),
        // The condition of the second pod takes so long that the read is out of date.
        EvictionEffect::SetDisruptionTarget { .. } => (None, if fleet.now < 20.0 { 0.02 } else { 2.2 }),
        _ => (None, 0.02),
    });
    let reads = fleet
        .sent
        .iter()
        .filter(|(when, effect, _)| *when > 20.0 && matches!(effect, EvictionEffect::ReadNode { .. }));
    assert_eq!((fleet.left.len(), reads.count()), (2, 2));
}

/// The server's time limit of a deletion right after its confirmation.
const DELETE_LIMIT: f64 = 4.0;

/// An admission webhook that takes 2.5 s, and that the API server calls once; or twice, for a pod without a grace
/// period: before it is marked as deleted, and before it is gone.
#[test]
fn d3_slow_deletions_get_all_the_time_at_their_first_try_and_wait_for_none_after_it() {
    for calls in [1, 2] {
        let pods: Vec<_> = (0..40).map(|index| (if index < 20 { "slow" } else { "quick" }, 5)).collect();
        let mut fleet = Fleet::new(2, &pods);
        let mut tries = 0;
        fleet.run(60.0, |fleet, effect| match effect {
            EvictionEffect::DeletePod { pod, name, .. } if name.namespace() == "slow" => {
                tries += 1;
                let is_half_deleted = !fleet.half_deleted.insert(pod.uid.clone());
                let takes = if calls == 1 || is_half_deleted { 2.5 } else { 5.0 };
                let is_in_time = takes <= DELETE_LIMIT;
                ((!is_in_time).then_some(ApiFailure::Unavailable), takes.min(DELETE_LIMIT))
            }
            _ => (None, 0.02),
        });
        assert_eq!((fleet.left.len(), tries), (40, 20 * calls), "{calls} calls");
        let late = |quick: bool| {
            let is_of = |uid: &Uid| (uid.to_string()[1..].parse::<u32>().expect("a number") >= 20) == quick;
            fleet.left.iter().filter(|(uid, _)| is_of(uid)).map(|(_, left)| left - 6.0).fold(0.0, f64::max)
        };
        let slowest = if calls == 1 { 2.5 } else { DELETE_LIMIT + 2.5 };
        // Quick ones wait at most until it is known that the others are slow.
        assert!(late(false) <= slowest + 0.8, "{calls} calls: {} s late", late(false));
        assert!(late(true) <= 0.7, "{calls} calls: quick ones {} s late", late(true));
    }
}

/// D5: where deletions are known to take long, each has nearly all of the time that its confirmation leaves.
#[test]
fn d5_slow_deletions_begin_with_a_new_read() {
    let pods: Vec<_> =
        (0..60).map(|index| (if index < 30 { "slow" } else { "quick" }, 5 + index % 30)).collect();
    let mut fleet = Fleet::new(1, &pods);
    let mut ages = [0.0_f64; 2];
    fleet.run(60.0, |fleet, effect| match effect {
        EvictionEffect::DeletePod { name, confirmed, .. } => {
            let age = at(fleet.now).mono.since(*confirmed).as_secs_f64();
            let is_slow = name.namespace() == "slow";
            if fleet.now > 10.0 {
                ages[usize::from(is_slow)] = ages[usize::from(is_slow)].max(age);
            }
            (None, if is_slow { 2.5 } else { 0.02 })
        }
        // The confirmation has become older meanwhile.
        EvictionEffect::SetDisruptionTarget { .. } => (None, 1.0),
        _ => (None, 0.02),
    });
    assert_eq!(fleet.left.len(), 60);
    assert!(ages[1] <= 0.3 && ages[0] >= 0.9, "quick and slow ones: {ages:?}");
}

/// L6: however many deletions take long, pods of other namespaces leave immediately, and few slow ones are in flight.
#[test]
fn l6_slow_deletions_take_no_place_of_quick_ones() {
    let pods: Vec<_> = (0..400).map(|index| if index < 300 { ("slow", 5) } else { ("quick", 10) }).collect();
    let mut fleet = Fleet::new(10, &pods);
    let (mut ends, mut most) = (Vec::<f64>::new(), 0);
    fleet.run(120.0, |fleet, effect| match effect {
        EvictionEffect::DeletePod { name, .. } if name.namespace() == "slow" => {
            ends.retain(|end| *end > fleet.now);
            ends.push(fleet.now + DELETE_LIMIT);
            most = most.max(ends.len());
            (Some(ApiFailure::Unavailable), DELETE_LIMIT)
        }
        _ => (None, 0.02),
    });
    // Those that are sent before it is known, and 96 more.
    assert!((20..=16 + 96).contains(&most), "{most} at a time");
    let late = fleet.left.iter().map(|(uid, left)| left - fleet.due[uid]).fold(0.0, f64::max);
    assert!(fleet.left.len() == 100 && late <= 1.5, "{} left, {late} s late", fleet.left.len());
}

/// The API server is not hit by all of them in the same moment.
#[test]
fn d3_when_rejections_end_the_retries_are_spread() {
    let never = EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() };
    let mut script = Script::tainted(never, pod("p").at_version(40));
    for at in 0..200 {
        let fact = pod(&format!("p{at:03}")).at_version(40);
        script.send(1.0, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }
    script.run(40.0, |when, effect| match effect {
        EvictionEffect::DeletePod { .. } => (failed(effect, at(when).mono, ApiFailure::Forbidden), 0.0),
        other => (well(other, at(when).mono), 0.0),
    });
    let before = script.deletes().len();
    script.run(60.0, |when, effect| (well(effect, at(when).mono), 0.0));
    let mut by_moment = BTreeMap::new();
    for when in &script.deletes()[before..] {
        *by_moment.entry((when * 100.0).round() as i64).or_insert(0) += 1;
    }
    assert_eq!(by_moment.values().sum::<usize>(), 201);
    assert!(by_moment.values().all(|count| *count < 30), "{by_moment:?}");
}
