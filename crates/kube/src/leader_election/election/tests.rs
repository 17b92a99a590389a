//! Tests the rules on a single candidate.
//!
//! - See `tests/world.rs` for many candidates.

mod world;

use super::*;
use taintward_core::time::Wall;

const RULES: ElectionTimings =
    ElectionTimings { lease: Span::from_secs(15), renew: Span::from_secs(10), retry: Span::from_secs(2) };

/// `millis` on the waiting clock, and a wall clock that nobody looks at to decide anything.
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

/// A candidate that leads since 0 ms: its first write was sent at 0 ms and answered at 500 ms.
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

#[test]
fn a_leader_renews_without_reading_and_keeps_when_it_began() {
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
fn a_foreign_lease_is_free_only_after_we_saw_no_change_for_its_duration() {
    let mut me = candidate();
    me.next(at(100_000));
    me.on_response(at(100_000), LeaseResponse::Found(record("you", "year 1")));
    let mut now = 100_000;
    loop {
        now = waits_until(&mut me, now);
        assert!(now <= 115_000, "looks again no later than the lease can end");
        assert_eq!(me.next(at(now)), ElectionAction::Read);
        me.on_response(at(now), LeaseResponse::Found(record("you", "year 1")));
        if now == 115_000 {
            break;
        }
    }
    let ElectionAction::Replace(claim) = me.next(at(now)) else { panic!("no claim") };
    assert_eq!((claim.holder.as_str(), claim.transitions), ("me", 5));
}

#[test]
fn any_change_of_the_record_is_a_sign_of_life_and_nothing_else_is() {
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
fn a_record_is_respected_as_long_as_it_says() {
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
fn a_released_lease_is_taken_at_once_and_looked_for_within_the_retry_period() {
    for chance in 0..200 {
        let mut me = Election::new(RULES, "me", chance);
        me.next(at(0));
        me.on_response(at(0), LeaseResponse::Found(record("you", "a")));
        let look = waits_until(&mut me, 0);
        assert!((900..=2000).contains(&look), "{look}");
        assert_eq!(me.next(at(look)), ElectionAction::Read);
        me.on_response(at(look), LeaseResponse::Found(record("", "b")));
        assert!(matches!(me.next(at(look)), ElectionAction::Replace(_)));
    }
}

#[test]
fn a_stolen_lease_ends_leading_at_once() {
    let mut me = leader();
    assert!(matches!(me.next(at(2000)), ElectionAction::Replace(_)));
    me.on_response(at(2010), LeaseResponse::Conflict);
    assert_eq!(me.next(at(2010)), ElectionAction::Read, "looks at once");
    me.on_response(at(2020), LeaseResponse::Found(record("you", "a")));
    assert_eq!(me.valid_until(), None);
    assert!(matches!(me.next(at(2020)), ElectionAction::Wait(_)));
}

#[test]
fn a_conflict_with_somebody_who_only_edits_the_object_costs_nothing() {
    let mut me = leader();
    me.next(at(2000));
    me.on_response(at(2010), LeaseResponse::Conflict);
    me.next(at(2010));
    let mine = me.record().unwrap().clone();
    me.on_response(at(2020), LeaseResponse::Found(mine));
    assert!(matches!(me.next(at(2020)), ElectionAction::Replace(_)));
    me.on_response(at(2030), LeaseResponse::Conflict);
    assert!(matches!(me.next(at(2030)), ElectionAction::Wait(_)), "twice in one try: no hot loop");
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
    assert_eq!(again.transitions, 0, "it did not change hands");
    me.on_response(at(2030), LeaseResponse::Written);
    assert_eq!(me.valid_until(), Some(Mono::from_micros(12_020_000)));
}

#[test]
fn a_follower_that_sees_the_lease_deleted_waits_as_if_it_were_there() {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Found(record("you", "a")));
    for now in [2000, 14_000] {
        assert_eq!(me.next(at(now)), ElectionAction::Read);
        me.on_response(at(now), LeaseResponse::Absent);
        assert!(matches!(me.next(at(now)), ElectionAction::Wait(_)), "{now}");
    }
    me.next(at(16_000));
    me.on_response(at(16_000), LeaseResponse::Absent);
    let ElectionAction::Create(claim) = me.next(at(16_000)) else { panic!("not created") };
    assert_eq!(claim.transitions, 5);
}

/// What is done without answers for an hour, each try given up after so long: how many tries.
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
            assert_eq!(me.next(at(now)), ElectionAction::Read, "after an unknown outcome it looks first");
        } else {
            assert_eq!(step, ElectionAction::Read, "who waited long enough for an answer looks at once");
        }
        tries += 1;
    }
    (me, tries, now)
}

#[test]
fn without_answers_leading_ends_at_the_deadline_and_the_tries_go_on() {
    // Refused at once: the pause of 0.9 to 2 s between two tries; silence for longer than that is the pause.
    for (given_up_after, expected) in [(0, 2300..=2700), (500, 2300..=2700), (5000, 719..=720)] {
        let (mut me, tries, now) = tries_in_an_hour(given_up_after);
        assert!(expected.contains(&tries), "no hot loop and no giving up: {given_up_after} {tries}");
        let mine = me.record().unwrap().clone();
        me.on_response(at(now), LeaseResponse::Found(mine));
        assert!(matches!(me.next(at(now)), ElectionAction::Replace(_)), "nobody took it: ours again");
        me.on_response(at(now), LeaseResponse::Written);
        assert!(me.valid_until().is_some());
    }
}

#[test]
fn one_lost_answer_costs_no_leadership() {
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

/// A candidate whose first write, sent at 0 ms, has an unknown outcome at 5 s, when it looks.
fn unanswered() -> (Election, LeaseRecord, i64) {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Absent);
    let ElectionAction::Create(claim) = me.next(at(0)) else { panic!("no claim") };
    me.on_response(at(5000), LeaseResponse::Unknown);
    assert_eq!(me.valid_until(), None);
    assert_eq!(me.next(at(5000)), ElectionAction::Read, "at once");
    (me, claim, 5000)
}

#[test]
fn a_claim_whose_answer_was_lost_is_proven_by_finding_it_and_counts_from_when_it_was_sent() {
    let (mut me, claim, look) = unanswered();
    me.on_response(at(look), LeaseResponse::Found(claim));
    assert_eq!((me.valid_until(), me.renewed), (Some(Mono::from_secs(10)), Some(Mono::from_secs(0))));
    assert!(matches!(me.next(at(look)), ElectionAction::Replace(_)), "and is renewed at once");
    me.on_response(at(look + 5), LeaseResponse::Written);
    assert_eq!(me.valid_until(), Some(Mono::from_micros(look * 1000).plus(RULES.renew)));
}

#[test]
fn only_exactly_what_was_sent_proves_anything() {
    let strange = |change: fn(&mut LeaseRecord)| {
        let (mut me, mut claim, look) = unanswered();
        change(&mut claim);
        me.on_response(at(look), LeaseResponse::Found(claim));
        me.valid_until()
    };
    assert!(strange(|_| {}).is_some());
    assert_eq!(strange(|record| record.renewed.push('0')), None);
    assert_eq!(strange(|record| record.transitions += 1), None);
    assert_eq!(strange(|record| record.holder = "you".into()), None);
}

#[test]
fn a_claim_found_after_its_time_is_over_leads_nobody() {
    let (mut me, claim, _) = unanswered();
    me.on_response(at(10_000), LeaseResponse::Found(claim));
    assert_eq!(me.valid_until(), None);
}

#[test]
fn a_claim_that_says_the_same_as_an_older_one_proves_nothing() {
    // The wall clock is set back, so that the second write says what the first one says: which of them is there?
    let (mut me, claim, look) = unanswered();
    let back = |millis: i64| Now { wall: at(0).wall, ..at(millis) };
    me.on_response(back(look), LeaseResponse::Absent);
    assert_eq!(me.next(back(look)), ElectionAction::Create(claim.clone()));
    me.on_response(back(look + 5000), LeaseResponse::Unknown);
    assert_eq!(me.next(back(look + 5000)), ElectionAction::Read);
    me.on_response(back(look + 5000), LeaseResponse::Found(claim));
    assert_eq!(me.valid_until(), None);
}

#[test]
fn a_conflict_with_a_write_of_our_own_is_a_success() {
    // A server that tried twice says that the second try met the first.
    let mut me = leader();
    let ElectionAction::Replace(renewal) = me.next(at(2000)) else { panic!("no renewal") };
    me.on_response(at(2010), LeaseResponse::Conflict);
    me.next(at(2010));
    me.on_response(at(2020), LeaseResponse::Found(renewal));
    assert_eq!(me.valid_until(), Some(Mono::from_secs(12)));
}

#[test]
fn a_lease_that_was_taken_since_ends_what_an_unanswered_write_could_prove() {
    let (mut me, claim, look) = unanswered();
    me.on_response(at(look), LeaseResponse::Found(record("you", "a")));
    let again = waits_until(&mut me, look);
    me.next(at(again));
    me.on_response(at(again), LeaseResponse::Found(claim));
    assert_eq!(me.valid_until(), None, "a lease that went to another and back is an etcd that was restored");
}

#[test]
fn an_answer_after_a_long_pause_does_not_make_a_leader() {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Absent);
    me.next(at(0));
    me.on_response(at(10_000), LeaseResponse::Written);
    assert_eq!(me.valid_until(), None, "sent ten seconds ago");
}

#[test]
fn a_clean_stop_gives_the_lease_back() {
    let mut me = leader();
    me.stop();
    assert_eq!(me.valid_until(), None);
    let ElectionAction::Replace(freed) = me.next(at(600)) else { panic!("not released") };
    assert_eq!((freed.holder.as_str(), freed.duration, freed.transitions), ("", Span::from_secs(1), 0));
    me.on_response(at(610), LeaseResponse::Written);
    assert_eq!((me.next(at(610)), me.valid_until()), (ElectionAction::Done, None));
}

#[test]
fn a_stop_in_the_middle_of_a_renewal_looks_before_it_gives_back() {
    let mut me = leader();
    assert!(matches!(me.next(at(2000)), ElectionAction::Replace(_)));
    me.stop();
    assert_eq!(me.next(at(2001)), ElectionAction::Read);
    me.on_response(at(2002), LeaseResponse::Found(record("me", "x")));
    assert!(
        matches!(me.next(at(2002)), ElectionAction::Replace(LeaseRecord { holder, .. }) if holder.is_empty())
    );
    me.on_response(at(2003), LeaseResponse::Conflict);
    assert!(waits_until(&mut me, 2003) <= 2203, "giving back is urgent");
    me.next(at(2203));
    me.on_response(at(2204), LeaseResponse::Found(record("you", "y")));
    assert_eq!(me.next(at(2204)), ElectionAction::Done, "what is no longer ours is not given back");
}

#[test]
fn who_never_held_the_lease_writes_nothing_when_it_stops() {
    let mut me = candidate();
    me.next(at(0));
    me.on_response(at(0), LeaseResponse::Found(record("you", "a")));
    me.stop();
    assert_eq!(me.next(at(1)), ElectionAction::Done);
    let mut fresh = candidate();
    fresh.stop();
    assert_eq!(fresh.next(at(0)), ElectionAction::Done);
}
