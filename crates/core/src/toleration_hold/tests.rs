//! Tests what is held, what is restored, and what is never changed.

use super::*;
use crate::taint::{TaintEffect, keys};
use crate::toleration::TolerationOperator;
use alloc::vec;

fn at(seconds: i64) -> Wall {
    Wall::from_secs(1_800_000_000 + seconds)
}

fn toleration(key: &str, seconds: Option<i64>) -> Toleration {
    let effect = Some(TaintEffect::NoExecute);
    Toleration { key: key.into(), operator: TolerationOperator::Exists, value: "".into(), effect, seconds }
}

fn both(not_ready: Option<i64>, unreachable: Option<i64>) -> Vec<Toleration> {
    vec![toleration(keys::NOT_READY, not_ready), toleration(keys::UNREACHABLE, unreachable)]
}

fn order(origin: HoldOrigin, since: i64, until: i64) -> HoldIntent {
    HoldIntent::Hold(HoldOrder { origin, since: at(since), until: at(until) })
}

const RELEASE: HoldIntent = HoldIntent::Release(ReleaseMode::Remainder);
const FULL: HoldIntent = HoldIntent::Release(ReleaseMode::Full);

/// A pod to whose tolerations and record steps are applied.
struct Pod {
    tolerations: Vec<Toleration>,
    record: Option<HoldRecord>,
}

impl Pod {
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
    let mut pod = Pod::new(both(Some(300), Some(100)));
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
    let mut pod = Pod::new(both(Some(10), Some(0)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 100), 8);
    assert_eq!(pod.seconds(), [None, None]);
    pod.step(Some(0), RELEASE, 50);
    assert_eq!(pod.seconds(), [Some(10), Some(0)]);
}

#[test]
fn release_in_full_restores_all_seconds() {
    let mut pod = Pod::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 1000), 200);
    pod.step(Some(0), FULL, 210);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
}

#[test]
fn seconds_stay_removed_for_the_pause() {
    let mut pod = Pod::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 1000), 200);
    assert_eq!(pod.step(Some(0), RELEASE, 201), HoldStep::Wait(Some(at(205))));
    assert_eq!(pod.step(None, RELEASE, 204), HoldStep::Wait(Some(at(205))));
    pod.step(None, RELEASE, 205);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
    assert_eq!(pod.record, None);
}

#[test]
fn a_node_that_recovers_restores_all_seconds_after_removing_them() {
    let mut pod = Pod::new(both(Some(300), Some(300)));
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
    let mut pod = Pod::new(both(Some(300), Some(300)));
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
    let mut pod = Pod::new(both(Some(300), Some(300)));
    pod.step(Some(0), order(HoldOrigin::Person, 0, 1000), 200);
    pod.step(Some(400), RELEASE, 500);
    assert_eq!(pod.seconds(), [Some(300), Some(300)]);
}

#[test]
fn tolerations_without_seconds_never_change() {
    let by_person = order(HoldOrigin::Person, 0, 1000);
    let mut pod = Pod::new(both(None, None));
    assert_eq!(pod.step(Some(0), by_person, 1), HoldStep::Wait(None));
    let mut pod = Pod::new(both(None, Some(60)));
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
fn a_toleration_that_another_writer_changed_is_left_to_it() {
    let mut pod = Pod::new(both(Some(300), Some(300)));
    let by_person = order(HoldOrigin::Person, 0, 1000);
    pod.step(Some(0), by_person, 1);
    pod.tolerations[0].seconds = Some(7);
    pod.step(Some(0), by_person, 2);
    assert_eq!(pod.seconds(), [Some(7), None]);
    assert_eq!(pod.record.as_ref().map(|record| record.tolerations().len()), Some(1));
    pod.tolerations[1].seconds = Some(8);
    let mut released = Pod { tolerations: pod.tolerations.clone(), record: pod.record.clone() };
    released.step(Some(0), RELEASE, 3);
    assert_eq!((released.seconds(), &released.record), (vec![Some(7), Some(8)], &None));
    // None is left of the current hold: it starts again, with the other writer's seconds.
    pod.step(Some(0), by_person, 3);
    assert_eq!(pod.seconds(), [None, None]);
    let own = |record: &HoldRecord| record.tolerations().iter().map(HeldToleration::own).collect::<Vec<_>>();
    assert_eq!(pod.record.as_ref().map(own), Some(vec![7, 8]));
}

#[test]
fn a_forged_record_ends_too() {
    let forged = |since: i64, until: i64| {
        let held = HeldToleration::recorded(&toleration(keys::NOT_READY, Some(300)), None);
        let times = [at(since), at(until), at(since)];
        HoldRecord::recorded(held.into_iter().collect(), times, Span::ZERO, None)
    };
    let day = 24 * 60 * 60;
    let mut pod = Pod::new(both(None, None));
    pod.record = Some(forged(0, 1_000_000_000));
    let by_person = order(HoldOrigin::Person, 0, 1_000_000_000);
    assert_eq!(pod.step(Some(0), by_person, day - 1), HoldStep::Wait(Some(at(day))));
    pod.step(Some(0), by_person, day);
    assert_eq!(pod.seconds(), [Some(300), None]);
    // A record from the future.
    let mut pod = Pod::new(both(None, None));
    pod.record = Some(forged(5000, 9000));
    pod.step(Some(0), by_person, 10);
    assert_eq!(pod.seconds(), [Some(300), None]);
}

#[test]
fn a_clock_that_steps_back_ends_no_hold_and_no_pause() {
    let mut pod = Pod::new(both(Some(300), None));
    let order = order(HoldOrigin::Limit, 100, 500);
    pod.step(Some(100), order, 100);
    assert_eq!(pod.seconds(), [None, None]);
    assert_eq!(pod.step(Some(100), order, 99), HoldStep::Wait(Some(at(500))));
    let release = HoldIntent::Release(ReleaseMode::Remainder);
    assert_eq!(pod.step(Some(100), release, 99), HoldStep::Wait(Some(at(105))));
    pod.step(Some(100), release, 105);
    assert_eq!(pod.seconds(), [Some(300), None]);
}
