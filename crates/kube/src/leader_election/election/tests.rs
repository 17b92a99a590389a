//! Tests the rules on a single candidate.
//!
//! - See `tests/simulation.rs` for many candidates.

mod simulation;
mod stops;

use super::*;
use taintward_core::time::Wall;

const RULES: ElectionTimings =
    ElectionTimings { lease: Span::from_secs(15), renew: Span::from_secs(10), retry: Span::from_secs(2) };

/// `millis` on the monotonic clock, and a wall clock that decides nothing.
fn at(millis: i64) -> Now {
    Now::exact(Mono::from_micros(millis * 1000), Wall::from_secs(1_800_000_000 + millis / 1000))
}

fn record(holder: &str, renewed: &str) -> LeaseRecord {
    let (acquired, renewed) = ("then".to_owned(), renewed.to_owned());
    LeaseRecord {
        holder: holder.to_owned(),
        duration: Span::from_secs(15),
        acquired,
        renewed,
        transitions: 4,
    }
}

fn candidate() -> Election {
    Election::new(RULES, "me", 1)
}

/// A candidate that leads since 0 ms: its first write was sent at 0 ms and the response arrived at 500 ms.
fn leader() -> Election {
    let mut me = candidate();
    assert_eq!(me.next(at(0)), ElectionAction::Read);
    me.on_response(at(0), LeaseResponse::Absent);
    assert!(matches!(me.next(at(0)), ElectionAction::Create(_)));
    me.on_response(at(500), LeaseResponse::Written);
    me
}

fn waits_until(me: &mut Election, now: i64) -> i64 {
    match me.next(at(now)) {
        ElectionAction::Wait(until) => (until.as_micros() + 999) / 1000,
        other => panic!("expected to wait, got {other:?}"),
    }
}

#[test]
fn a_missing_lease_is_created_and_leading_counts_from_before_the_request() {
    let mut me = leader();
    assert_eq!(me.valid_until(), Some(Mono::from_secs(10)));
    assert_eq!(waits_until(&mut me, 500), 2000);
    let created = me.record().unwrap();
    assert_eq!((created.holder.as_str(), created.duration, created.transitions), ("me", RULES.lease, 0));
    assert_eq!(created.acquired, created.renewed);
}

/// S5: another process may lead from then on.
#[test]
fn leading_ends_at_the_moment_until_which_it_is_valid() {
    let mut leadership = Leadership::none(Mono::from_micros(0));
    for (millis, leading) in [(9_999, true), (10_000, false)] {
        leader().report(at(millis).mono, &mut leadership);
        assert_eq!((leadership.leading, leadership.valid_until), (leading, Mono::from_secs(10)));
    }
}

#[test]
fn a_leader_renews_without_reading_and_keeps_its_acquire_time() {
    let mut me = leader();
    let began = me.record().unwrap().acquired.clone();
    let ElectionAction::Replace(renewal) = me.next(at(2000)) else { panic!("no renewal") };
    assert_eq!((&renewal.acquired, renewal.transitions), (&began, 0));
    assert_ne!(renewal.renewed, began);
    me.on_response(at(2100), LeaseResponse::Written);
    assert_eq!(me.valid_until(), Some(Mono::from_secs(12)));
    assert_eq!(me.renewed, Some(Mono::from_secs(2)));
}

#[test]
fn the_lease_of_another_is_free_only_without_an_observed_change_for_its_duration() {
    let mut me = candidate();
    me.next(at(100_000));
    me.on_response(at(100_000), LeaseResponse::Found(record("you", "year 1")));
    let mut now = 100_000;
    loop {
        now = waits_until(&mut me, now);
        assert!(now <= 115_000, "reads again no later than the lease can end");
        assert_eq!(me.next(at(now)), ElectionAction::Read);
        me.on_response(at(now), LeaseResponse::Found(record("you", "year 1")));
        if now == 115_000 {
            break;
        }
    }
    let ElectionAction::Replace(claim) = me.next(at(now)) else { panic!("no claim") };
    assert_eq!((claim.holder.as_str(), claim.transitions), ("me", 5));
    assert_eq!(claim.acquired, claim.renewed, "its term begins now");
}

#[test]
fn a_term_begins_anew_with_a_lease_that_was_deleted() {
    let mut me = leader();
    assert!(matches!(me.next(at(2000)), ElectionAction::Replace(_)));
    me.on_response(at(2100), LeaseResponse::Conflict);
    assert_eq!(me.next(at(2100)), ElectionAction::Read);
    me.on_response(at(2200), LeaseResponse::Absent);
    let ElectionAction::Create(again) = me.next(at(4000)) else { panic!("no lease is created") };
    assert_eq!((&again.acquired, again.transitions), (&again.renewed, 0));
}

#[test]
fn only_a_change_of_the_record_shows_an_active_holder() {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Found(record("you", "a")));
    me.next(at(14_000));
    me.on_response(at(14_000), LeaseResponse::Found(record("you", "b")));
    me.next(at(28_900));
    me.on_response(at(28_900), LeaseResponse::Found(record("you", "b")));
    assert_eq!(waits_until(&mut me, 28_900), 29_000, "fifteen seconds from the last change");
}

#[test]
fn a_record_is_respected_for_its_own_duration() {
    for (duration, free_at) in [(60, 60_000), (5, 5000), (0, 15_000)] {
        let mut me = candidate();
        let lease = LeaseRecord { duration: Span::from_secs(duration), ..record("you", "a") };
        me.next(at(0));
        me.on_response(at(0), LeaseResponse::Found(lease.clone()));
        me.next(at(free_at - 1));
        me.on_response(at(free_at - 1), LeaseResponse::Found(lease.clone()));
        assert_eq!(waits_until(&mut me, free_at - 1), free_at);
        me.next(at(free_at));
        me.on_response(at(free_at), LeaseResponse::Found(lease));
        assert!(matches!(me.next(at(free_at)), ElectionAction::Replace(_)), "{duration}");
    }
}

#[test]
fn a_released_lease_is_taken_immediately_and_read_within_the_retry_period() {
    for chance in 0..200 {
        let mut me = Election::new(RULES, "me", chance);
        me.next(at(0));
        me.on_response(at(0), LeaseResponse::Found(record("you", "a")));
        let read_at = waits_until(&mut me, 0);
        assert!((900..=2000).contains(&read_at), "{read_at}");
        assert_eq!(me.next(at(read_at)), ElectionAction::Read);
        me.on_response(at(read_at), LeaseResponse::Found(record("", "b")));
        assert!(matches!(me.next(at(read_at)), ElectionAction::Replace(_)));
    }
}

#[test]
fn a_stolen_lease_ends_leading_immediately() {
    let mut me = leader();
    assert!(matches!(me.next(at(2000)), ElectionAction::Replace(_)));
    me.on_response(at(2010), LeaseResponse::Conflict);
    assert_eq!(me.next(at(2010)), ElectionAction::Read, "reads immediately");
    me.on_response(at(2020), LeaseResponse::Found(record("you", "a")));
    assert_eq!(me.valid_until(), None);
    assert!(matches!(me.next(at(2020)), ElectionAction::Wait(_)));
}

#[test]
fn a_conflict_with_an_edit_of_the_object_only_costs_nothing() {
    let mut me = leader();
    me.next(at(2000));
    me.on_response(at(2010), LeaseResponse::Conflict);
    me.next(at(2010));
    let mine = me.record().unwrap().clone();
    me.on_response(at(2020), LeaseResponse::Found(mine));
    assert!(matches!(me.next(at(2020)), ElectionAction::Replace(_)));
    me.on_response(at(2030), LeaseResponse::Conflict);
    assert!(matches!(me.next(at(2030)), ElectionAction::Wait(_)), "twice in one attempt: no hot loop");
    assert_eq!(me.valid_until(), Some(Mono::from_secs(10)), "still leading");
}

#[test]
fn a_leader_whose_lease_is_deleted_creates_it_again() {
    let mut me = leader();
    me.next(at(2000));
    me.on_response(at(2010), LeaseResponse::Conflict);
    assert_eq!(me.next(at(2010)), ElectionAction::Read);
    me.on_response(at(2020), LeaseResponse::Absent);
    let ElectionAction::Create(again) = me.next(at(2020)) else { panic!("not created") };
    assert_eq!(again.transitions, 0, "the holder did not change");
    me.on_response(at(2030), LeaseResponse::Written);
    assert_eq!(me.valid_until(), Some(Mono::from_micros(12_020_000)));
}

#[test]
fn a_follower_that_observes_a_deleted_lease_waits_as_if_it_existed() {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Found(record("you", "a")));
    for now in [2000, 13_000] {
        assert_eq!(me.next(at(now)), ElectionAction::Read);
        me.on_response(at(now), LeaseResponse::Absent);
        assert!(matches!(me.next(at(now)), ElectionAction::Wait(_)), "{now}");
    }
    let mut exact = me.clone();
    me.next(at(16_000));
    me.on_response(at(16_000), LeaseResponse::Absent);
    let ElectionAction::Create(claim) = me.next(at(16_000)) else { panic!("not created") };
    assert_eq!(claim.transitions, 5);
    // It was observed at zero, and is free at the very moment of a response.
    let due = waits_until(&mut exact, 13_000);
    assert_eq!((exact.next(at(due)), due <= 15_000), (ElectionAction::Read, true));
    exact.on_response(at(15_000), LeaseResponse::Absent);
    assert!(matches!(exact.next(at(15_000)), ElectionAction::Create(_)));
}

/// An hour without responses, each attempt given up after this long. Returns the number of attempts.
fn tries_in_an_hour(given_up_after: i64) -> (Election, i64, i64) {
    let mut me = leader();
    let mut now = 2000;
    assert!(matches!(me.next(at(now)), ElectionAction::Replace(_)));
    let mut tries = 0;
    while now < 3_600_000 {
        now += given_up_after;
        me.on_response(at(now), LeaseResponse::Unknown);
        assert_eq!(me.valid_until().is_some(), now < 10_000, "{now}");
        let step = me.next(at(now));
        if let ElectionAction::Wait(until) = step {
            now = (until.as_micros() + 999) / 1000;
            assert_eq!(me.next(at(now)), ElectionAction::Read, "after an unknown outcome it reads first");
        } else {
            assert_eq!(step, ElectionAction::Read, "after a long wait for a response it reads immediately");
        }
        tries += 1;
    }
    (me, tries, now)
}

#[test]
fn without_responses_leading_ends_at_the_deadline_and_attempts_continue() {
    // Rejected immediately: the pause of 0.9 to 2 s between two attempts; a longer wait for a response replaces the
    // pause.
    for (given_up_after, expected) in [(0, 2300..=2700), (500, 2300..=2700), (5000, 719..=720)] {
        let (mut me, tries, now) = tries_in_an_hour(given_up_after);
        assert!(expected.contains(&tries), "no hot loop and no giving up: {given_up_after} {tries}");
        let mine = me.record().unwrap().clone();
        me.on_response(at(now), LeaseResponse::Found(mine));
        assert!(
            matches!(me.next(at(now)), ElectionAction::Replace(_)),
            "no other process took it: it is renewed"
        );
        me.on_response(at(now), LeaseResponse::Written);
        assert!(me.valid_until().is_some());
    }
}

#[test]
fn one_lost_response_costs_no_leadership() {
    let mut me = leader();
    assert!(matches!(me.next(at(2000)), ElectionAction::Replace(_)));
    me.on_response(at(7000), LeaseResponse::Unknown);
    assert_eq!(me.next(at(7000)), ElectionAction::Read);
    let before = me.record().unwrap().clone();
    me.on_response(at(7010), LeaseResponse::Found(before));
    assert!(matches!(me.next(at(7010)), ElectionAction::Replace(_)));
    me.on_response(at(7020), LeaseResponse::Written);
    assert_eq!(me.valid_until(), Some(Mono::from_micros(17_010_000)));
}

/// A candidate whose first write, sent at 0 ms, has an unknown outcome at 5 s, when it reads the lease.
fn unanswered() -> (Election, LeaseRecord, i64) {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Absent);
    let ElectionAction::Create(claim) = me.next(at(0)) else { panic!("no claim") };
    me.on_response(at(5000), LeaseResponse::Unknown);
    assert_eq!(me.valid_until(), None);
    assert_eq!(me.next(at(5000)), ElectionAction::Read, "immediately");
    (me, claim, 5000)
}

#[test]
fn a_claim_without_a_response_is_proven_by_reading_it_and_counts_from_when_it_was_sent() {
    let (mut me, claim, read_at) = unanswered();
    me.on_response(at(read_at), LeaseResponse::Found(claim));
    assert_eq!((me.valid_until(), me.renewed), (Some(Mono::from_secs(10)), Some(Mono::from_secs(0))));
    assert!(matches!(me.next(at(read_at)), ElectionAction::Replace(_)), "and is renewed immediately");
    me.on_response(at(read_at + 5), LeaseResponse::Written);
    assert_eq!(me.valid_until(), Some(Mono::from_micros(read_at * 1000).plus(RULES.renew)));
}

#[test]
fn only_exactly_the_sent_record_proves_anything() {
    let strange = |change: fn(&mut LeaseRecord)| {
        let (mut me, mut claim, read_at) = unanswered();
        change(&mut claim);
        me.on_response(at(read_at), LeaseResponse::Found(claim));
        me.valid_until()
    };
    assert!(strange(|_| {}).is_some());
    assert_eq!(strange(|record| record.renewed.push('0')), None);
    assert_eq!(strange(|record| record.transitions += 1), None);
    assert_eq!(strange(|record| record.holder = "you".into()), None);
}

#[test]
fn a_claim_found_after_its_end_makes_no_leader() {
    let (mut me, claim, _) = unanswered();
    me.on_response(at(10_000), LeaseResponse::Found(claim));
    assert_eq!(me.valid_until(), None);
}

#[test]
fn a_claim_equal_to_an_older_one_proves_nothing() {
    // The wall clock is set back, so that the second write equals the first one: which of them is there?
    let (mut me, claim, read_at) = unanswered();
    let back = |millis: i64| Now { wall: at(0).wall, ..at(millis) };
    me.on_response(back(read_at), LeaseResponse::Absent);
    assert_eq!(me.next(back(read_at)), ElectionAction::Create(claim.clone()));
    me.on_response(back(read_at + 5000), LeaseResponse::Unknown);
    assert_eq!(me.next(back(read_at + 5000)), ElectionAction::Read);
    me.on_response(back(read_at + 5000), LeaseResponse::Found(claim));
    assert_eq!(me.valid_until(), None);
}

#[test]
fn a_conflict_with_an_own_write_is_a_success() {
    // A server that tried twice reports that the second attempt met the first.
    let mut me = leader();
    let ElectionAction::Replace(renewal) = me.next(at(2000)) else { panic!("no renewal") };
    me.on_response(at(2010), LeaseResponse::Conflict);
    me.next(at(2010));
    me.on_response(at(2020), LeaseResponse::Found(renewal));
    assert_eq!(me.valid_until(), Some(Mono::from_secs(12)));
}

#[test]
fn a_lease_taken_since_ends_what_an_unknown_write_could_prove() {
    let (mut me, claim, read_at) = unanswered();
    me.on_response(at(read_at), LeaseResponse::Found(record("you", "a")));
    let again = waits_until(&mut me, read_at);
    me.next(at(again));
    me.on_response(at(again), LeaseResponse::Found(claim));
    assert_eq!(me.valid_until(), None, "a lease that went to another holder and back is a restored etcd");
}

#[test]
fn a_response_after_a_long_pause_does_not_make_a_leader() {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Absent);
    me.next(at(0));
    me.on_response(at(10_000), LeaseResponse::Written);
    assert_eq!(me.valid_until(), None, "sent ten seconds ago");
}
