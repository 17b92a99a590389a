//! Tests what is held, what is restored, and what is never changed.

mod record;

use super::*;
use crate::taint::{Taint, TaintEffect, keys};
use crate::testkit::{node_health_tolerations as both, taint, toleration};
use crate::toleration::TolerationOperator;
use alloc::vec;

fn at(seconds: i64) -> Wall {
    Wall::from_secs(1_800_000_000 + seconds)
}

fn order(origin: HoldOrigin, since: i64, until: i64) -> HoldIntent {
    HoldIntent::Hold(HoldOrder { origin, since: at(since), until: at(until) })
}

const RELEASE: HoldIntent = HoldIntent::Release(ReleaseMode::Remainder);
const FULL: HoldIntent = HoldIntent::Release(ReleaseMode::Full);

/// A pod to whose tolerations and record steps are applied.
struct HoldPodFixture {
    tolerations: Vec<Toleration>,
    record: Option<HoldRecord>,
}

impl HoldPodFixture {
    fn new(tolerations: Vec<Toleration>) -> Self {
        Self { tolerations, record: None }
    }

    fn step(&mut self, counts_since: Option<i64>, intent: HoldIntent, now: i64) -> HoldStep {
        let step = next_step(&self.tolerations, self.record.as_ref(), counts_since.map(at), intent, at(now));
        if let HoldStep::Write(write) = &step {
            for (position, seconds) in &write.seconds {
                self.tolerations[*position].seconds = *seconds;
            }
            self.record.clone_from(&write.record);
        }
        step
    }

    fn seconds(&self) -> Vec<Option<i64>> {
        self.tolerations.iter().map(|one| one.seconds).collect()
    }
}

#[test]
fn a_hold_clears_both_and_release_gives_the_remainder() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(100)));
    let by_limit = order(HoldOrigin::Limit, 0, 3600);
    pod.step(Some(0), by_limit, 81);
    assert_eq!(pod.seconds(), [None, None]);
    assert_eq!(pod.step(Some(0), by_limit, 200), HoldStep::Wait(Some(at(3600))));
    // 80 s have certainly run; 20 s are left of the second, which is less than the minimum that is restored.
    pod.step(Some(0), RELEASE, 201);
    assert_eq!(pod.seconds(), [Some(220), Some(30)]);
    assert_eq!(pod.step(Some(0), RELEASE, 210), HoldStep::Wait(None));
}

#[test]
fn fewer_seconds_than_the_minimum_are_never_raised() {
    let mut pod = HoldPodFixture::new(both(Some(10), Some(0)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 100), 8);
    assert_eq!(pod.seconds(), [None, None]);
    pod.step(Some(0), RELEASE, 50);
    assert_eq!(pod.seconds(), [Some(10), Some(0)]);
}

#[test]
fn release_in_full_restores_all_seconds() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 1000), 200);
    pod.step(Some(0), FULL, 210);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
}

#[test]
fn seconds_stay_removed_for_the_pause() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 1000), 200);
    assert_eq!(pod.step(Some(0), RELEASE, 201), HoldStep::Wait(Some(at(205))));
    assert_eq!(pod.step(None, RELEASE, 204), HoldStep::Wait(Some(at(205))));
    pod.step(None, RELEASE, 205);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
    assert_eq!(pod.record, None);
}

#[test]
fn a_node_that_recovers_restores_all_seconds_after_removing_them() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Limit, 0, 1000), 200);
    pod.step(Some(0), RELEASE, 300);
    assert_eq!(pod.seconds(), [Some(101), Some(101)]);
    pod.step(None, RELEASE, 310);
    assert_eq!(pod.seconds(), [None, None]);
    // The node becomes silent again before they are restored: the pod's own seconds count, not the remainder.
    pod.step(Some(312), RELEASE, 315);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
    pod.step(None, RELEASE, 320);
    assert_eq!(pod.record, None);
}

#[test]
fn a_hold_ends_by_itself_and_the_limit_does_not_hold_twice() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Limit, 0, 500), 101);
    let renewed = order(HoldOrigin::Limit, 400, 9000);
    assert_eq!(pod.step(Some(0), renewed, 499), HoldStep::Wait(Some(at(500))));
    pod.step(Some(0), renewed, 500);
    assert_eq!(pod.seconds(), [Some(200), Some(200)]);
    assert_eq!(pod.step(Some(0), renewed, 600), HoldStep::Wait(None));
    // An administrator may, and then the time that ran since the release is subtracted as well.
    pod.step(Some(0), order(HoldOrigin::Person, 550, 9000), 601);
    assert_eq!(pod.seconds(), [None, None]);
    pod.step(Some(0), RELEASE, 700);
    assert_eq!(pod.seconds(), [Some(100), Some(100)]);
}

#[test]
fn a_countdown_of_a_taint_newer_than_the_hold_has_not_run() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 1000), 200);
    pod.step(Some(400), RELEASE, 500);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
}

#[test]
fn tolerations_without_seconds_never_change() {
    let by_person = order(HoldOrigin::Person, 0, 1000);
    let mut pod = HoldPodFixture::new(both(None, None));
    assert_eq!(pod.step(Some(0), by_person, 1), HoldStep::Wait(None));
    let mut pod = HoldPodFixture::new(both(None, Some(60)));
    pod.step(Some(0), by_person, 1);
    assert_eq!(pod.seconds(), [None, None]);
    pod.step(None, RELEASE, 10);
    assert_eq!(pod.seconds(), [None, Some(60)]);
}

#[test]
fn a_countdown_that_cannot_be_held_is_reported() {
    let of = |tolerations: &[Toleration]| {
        let HoldCoverage { positions, uncovered } = HoldCoverage::of(tolerations);
        (positions, uncovered)
    };
    assert_eq!(of(&both(Some(1), None)), (vec![0], None));
    assert_eq!(of(&[]), (vec![], Some(UncoveredReason::Untolerated)));
    assert_eq!(of(&[toleration("", Some(60))]), (vec![], Some(UncoveredReason::EveryKey)));
    assert_eq!(of(&[toleration("", None)]), (vec![], None));
    // The first match counts: a later toleration for every key does no harm.
    let mut behind = both(Some(300), Some(300));
    behind.push(toleration("", Some(60)));
    assert_eq!(of(&behind), (vec![0, 1], None));
    behind.rotate_right(1);
    assert_eq!(of(&behind), (vec![], Some(UncoveredReason::EveryKey)));
    let mut unknown = both(Some(300), Some(300));
    unknown[0].operator = TolerationOperator::Unknown("Like".into());
    unknown[0].effect = None;
    assert_eq!(of(&unknown), (vec![], Some(UncoveredReason::NotUnderstood)));
}

#[test]
fn the_countdown_of_another_taint_is_reported() {
    let mut tolerations = both(Some(300), Some(60));
    tolerations.push(toleration("maintenance", Some(3600)));
    tolerations.push(toleration("dedicated", None));
    let beside = |taints: &[Taint]| HoldCoverage::of(&tolerations).beside(&tolerations, taints);
    let silent = taint(keys::UNREACHABLE);
    let maintenance = taint("maintenance");
    let found = beside(&[silent.clone(), maintenance]);
    assert_eq!((found.positions, found.uncovered), (vec![0, 1], Some(UncoveredReason::OtherCountdown)));
    for other in ["maintenance:NoSchedule", "dedicated:NoExecute"] {
        assert_eq!(beside(&[silent.clone(), taint(other)]).uncovered, None, "{other}");
    }
    assert_eq!(beside(&[silent]).uncovered, None);
}

#[test]
fn a_toleration_that_another_writer_changed_is_left_to_it() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    let by_person = order(HoldOrigin::Person, 0, 1000);
    pod.step(Some(0), by_person, 1);
    pod.tolerations[0].seconds = Some(7);
    pod.step(Some(0), by_person, 2);
    assert_eq!(pod.seconds(), [Some(7), None]);
    assert_eq!(pod.record.as_ref().map(|record| record.tolerations().len()), Some(1));
    pod.tolerations[1].seconds = Some(8);
    let mut released = HoldPodFixture { tolerations: pod.tolerations.clone(), record: pod.record.clone() };
    released.step(Some(0), RELEASE, 3);
    assert_eq!((released.seconds(), &released.record), (vec![Some(7), Some(8)], &None));
    // None is left of the current hold: it starts again, with the other writer's seconds.
    pod.step(Some(0), by_person, 3);
    assert_eq!(pod.seconds(), [None, None]);
    let own = |record: &HoldRecord| record.tolerations().iter().map(HeldToleration::own).collect::<Vec<_>>();
    assert_eq!(pod.record.as_ref().map(own), Some(vec![7, 8]));
}

const DAY: i64 = 24 * 60 * 60;

#[test]
fn a_forged_record_ends_too() {
    let forged = |origin: HoldOrigin, since: i64| {
        let held = HeldToleration::recorded(&toleration(keys::NOT_READY, Some(300)), None);
        let order = HoldOrder { origin, since: at(since), until: at(1_000_000_000) };
        HoldRecord::recorded(held.into_iter().collect(), Some(order), at(since), Span::ZERO, Some(at(0)))
    };
    for origin in [HoldOrigin::Person, HoldOrigin::Limit] {
        for (since, restored_at) in [(0, 11), (5000, 11), (1_000_000, 11), (8, 13)] {
            // No order holds the pod any more: its seconds come back, after the pause if that has begun.
            let mut pod =
                HoldPodFixture { tolerations: both(None, None), record: Some(forged(origin, since)) };
            pod.step(Some(0), RELEASE, restored_at - 1);
            assert_eq!(pod.seconds()[0].is_none(), since == 8, "{origin:?} {since}");
            pod.step(Some(0), RELEASE, restored_at);
            assert_eq!(pod.seconds(), [Some(300), None], "{origin:?} {since}");
        }
        // An order that does hold the pod ends after a day, whatever the record says.
        for since in [-1000, 0, 5000, 1_000_000_000] {
            let mut pod =
                HoldPodFixture { tolerations: both(None, None), record: Some(forged(origin, since)) };
            let by_person = order(HoldOrigin::Person, 0, 1_000_000_000);
            pod.step(Some(0), by_person, 10);
            assert_eq!(pod.step(Some(0), by_person, DAY - 1), HoldStep::Wait(Some(at(DAY))));
            pod.step(Some(0), by_person, DAY);
            assert_eq!(pod.seconds(), [Some(300), None], "{origin:?} {since}");
        }
    }
}

/// For how many of the first three days a pod is held by an order of a node's annotation.
fn held_for(counts_since: Option<i64>, since: i64, until: i64) -> i64 {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    let minutes = (0..3 * DAY).step_by(60);
    let is_held = |now: &i64| {
        pod.step(counts_since, order(HoldOrigin::Person, since, until), *now);
        pod.seconds().iter().all(Option::is_none)
    };
    minutes.filter(is_held).count() as i64 * 60
}

#[test]
fn an_order_ends_after_a_day_and_one_from_the_future_is_none() {
    for counts_since in [None, Some(0)] {
        assert_eq!(held_for(counts_since, 0, 3600), 3600);
        assert_eq!(held_for(counts_since, 0, 100 * DAY), DAY, "silent since {counts_since:?}");
        assert_eq!(held_for(counts_since, 40 * DAY, 100 * DAY), 0, "silent since {counts_since:?}");
        // It begins when its time has come, or when that is within what clocks differ.
        assert_eq!(held_for(counts_since, DAY, DAY + 3600), 3600);
        assert_eq!(held_for(counts_since, DAY + 30, DAY + 3600), 3600);
    }
}

#[test]
fn the_limit_holds_a_held_pod_for_a_new_silence_too() {
    let first = order(HoldOrigin::Limit, 0, 3600);
    let next = |since| order(HoldOrigin::Limit, since, since + 3600);
    // The node recovers and becomes silent again between two looks.
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    pod.step(Some(0), first, 100);
    for now in [3502, 3599, 3600, 7100] {
        pod.step(Some(3501), next(3501), now);
        assert_eq!(pod.seconds(), [None, None], "{now}");
    }
    // The limit is exceeded again later, within the same silence: its hold does not last longer.
    assert_eq!(pod.step(Some(3501), next(5000), 7100), HoldStep::Wait(Some(at(7101))));
    pod.step(Some(3501), next(5000), 7101);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
    assert_eq!(pod.step(Some(3501), next(5000), 7200), HoldStep::Wait(None));
    // It becomes silent in the pause before the pod's own seconds come back.
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Limit, 0, 500), 101);
    pod.step(Some(0), order(HoldOrigin::Limit, 0, 500), 500);
    assert_eq!(pod.seconds(), [Some(200), Some(200)]);
    pod.step(None, RELEASE, 550);
    for now in [552, 600, 4151] {
        pod.step(Some(552), next(552), now);
        assert_eq!(pod.seconds(), [None, None], "{now}");
    }
    pod.step(Some(552), next(552), 4152);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
}

#[test]
fn a_persons_hold_leaves_the_pod_to_the_limit() {
    let (by_limit, by_person) = (order(HoldOrigin::Limit, 5, 3605), order(HoldOrigin::Person, 10, 610));
    for person_first in [true, false] {
        let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
        if !person_first {
            pod.step(Some(0), by_limit, 8);
        }
        pod.step(Some(0), by_person, 11);
        assert_eq!(pod.step(Some(0), by_person, 609), HoldStep::Wait(Some(at(610))));
        pod.step(Some(0), by_limit, 610);
        assert_eq!(pod.step(Some(0), by_limit, 3604), HoldStep::Wait(Some(at(3605))));
        pod.step(Some(0), by_limit, 3605);
        assert!(pod.seconds().iter().all(Option::is_some));
    }
}

#[test]
fn a_person_holds_a_released_pod_again_for_as_long_as_the_order_says() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 100), 51);
    pod.step(Some(0), RELEASE, 60);
    assert_eq!(pod.seconds(), [Some(250), Some(250)]);
    // The order was given just before the release was written.
    let again = order(HoldOrigin::Person, 59, 9000);
    pod.step(Some(0), again, 61);
    assert_eq!(pod.seconds(), [None, None]);
    assert_eq!(pod.step(Some(0), again, 8999), HoldStep::Wait(Some(at(9000))));
}

#[test]
fn equal_tolerations_of_other_effects_are_others() {
    let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
    let another = Toleration { effect: Some(TaintEffect::NoSchedule), ..toleration(keys::NOT_READY, None) };
    pod.tolerations.insert(0, another);
    pod.step(Some(0), order(HoldOrigin::Person, 0, 1000), 1);
    assert_eq!(pod.seconds(), [None, None, None]);
    pod.step(None, RELEASE, 10);
    assert_eq!(pod.seconds(), [None, Some(300), Some(300)]);
}

#[test]
fn a_clock_that_steps_back_ends_no_hold_and_no_pause() {
    let mut pod = HoldPodFixture::new(both(Some(300), None));
    let order = order(HoldOrigin::Limit, 100, 500);
    pod.step(Some(100), order, 100);
    assert_eq!(pod.seconds(), [None, None]);
    assert_eq!(pod.step(Some(100), order, 99), HoldStep::Wait(Some(at(500))));
    let release = HoldIntent::Release(ReleaseMode::Remainder);
    assert_eq!(pod.step(Some(100), release, 99), HoldStep::Wait(Some(at(105))));
    pod.step(Some(100), release, 105);
    assert_eq!(pod.seconds(), [Some(300), None]);
}

/// The limit holds a pod that has all of its seconds again for a new silence, and not for the one it was released in.
#[test]
fn the_limit_holds_a_pod_released_in_full_for_a_new_silence_only() {
    for (since, is_held) in [(0, false), (500, true)] {
        let mut pod = HoldPodFixture::new(both(Some(300), Some(300)));
        pod.step(Some(0), order(HoldOrigin::Limit, 0, 600), 10);
        pod.step(Some(0), FULL, 20);
        assert_eq!(pod.seconds(), [Some(300); 2]);
        pod.step(Some(since), order(HoldOrigin::Limit, since, since + 600), since.max(20) + 1);
        assert_eq!(pod.seconds(), [(!is_held).then_some(300); 2]);
    }
}
