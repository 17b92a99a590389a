//! Tests how much time was held, and for which taints.

use super::*;
use crate::testkit::{taint, taint_of};

fn unreachable() -> Taint {
    taint(keys::UNREACHABLE)
}

fn spent(holds: &HoldHistory, from: i64) -> i64 {
    holds.held_time(&unreachable(), Mono::from_secs(from)).as_micros() / 1_000_000
}

fn holds(spans: &[(i64, i64)]) -> HoldHistory {
    let mut holds = HoldHistory::NONE;
    for (begin, end) in spans {
        holds.begin(Mono::from_secs(*begin));
        assert_eq!(holds.end(Mono::from_secs(*end)), Some(Span::from_secs(end - begin)));
    }
    holds
}

#[test]
fn nl_48_holds_apply_to_two_taints_only() {
    let mut on = holds(&[(10, 20)]);
    on.begin(Mono::from_secs(30));
    for (taint, concerned) in [
        (unreachable(), true),
        (taint(keys::NOT_READY), true),
        (taint_of(keys::NOT_READY, "", "NoSchedule"), false),
        (taint(keys::OUT_OF_SERVICE), false),
        (taint("k"), false),
        (taint(""), false),
    ] {
        assert_eq!(
            (HoldHistory::applies_to(&taint), on.is_on_hold(&taint)),
            (concerned, concerned),
            "{taint}"
        );
        let spent = on.held_time(&taint, Mono::from_secs(0));
        assert_eq!(spent, if concerned { Span::from_secs(10) } else { Span::ZERO }, "{taint}");
        assert!(!HoldHistory::NONE.is_on_hold(&taint));
    }
}

#[test]
fn nl_48_held_time_counts_from_the_later_beginning() {
    let two = holds(&[(10, 20), (30, 35)]);
    for (from, expected) in
        [(0, 15), (10, 15), (14, 11), (20, 5), (29, 5), (30, 5), (33, 2), (35, 0), (99, 0)]
    {
        assert_eq!(spent(&two, from), expected, "from {from}");
    }
}

#[test]
fn nl_48_a_second_begin_does_nothing_and_an_end_needs_a_begin() {
    let mut twice = HoldHistory::NONE;
    assert_eq!(twice.end(Mono::from_secs(5)), None);
    twice.begin(Mono::from_secs(10));
    twice.begin(Mono::from_secs(15));
    assert_eq!(twice.since(), Some(Mono::from_secs(10)));
    assert_eq!(twice.end(Mono::from_secs(20)), Some(Span::from_secs(10)));
    assert_eq!(twice.end(Mono::from_secs(25)), None);
    assert_eq!(twice, holds(&[(10, 20)]));
}

/// S12: bounded; a pod from before all holds loses nothing, a pod from after them gains nothing, and no pod is evicted
/// early.
#[test]
fn s12_very_many_holds_are_merged() {
    let many = HOLDS_MAX as i64 * 4;
    let spans: Vec<_> = (0..many).map(|at| (at * 10, at * 10 + 3)).collect();
    let all = holds(&spans);
    assert_eq!(all.past.len(), HOLDS_MAX);
    assert_eq!(spent(&all, 0), many * 3);
    assert_eq!(spent(&all, many * 10), 0);
    for from in 0..many * 10 {
        let exact: i64 = spans.iter().map(|(begin, end)| (end - from.max(*begin)).max(0)).sum();
        let reported = spent(&all, from);
        assert!(reported >= exact, "from {from}: {reported} of {exact}");
        let late = (HOLDS_MAX as i64 - 1) * 10;
        assert!(from < many * 10 - late || reported == exact, "the latest ones are kept apart: {from}");
        assert!(
            from + reported <= from + 1 + spent(&all, from + 1),
            "a later pod is not evicted sooner: {from}"
        );
    }
}

#[test]
fn a_clock_at_its_maximum_does_not_overflow() {
    let mut holds = HoldHistory::NONE;
    holds.begin(Mono::from_micros(i64::MIN));
    holds.end(Mono::NEVER);
    holds.begin(Mono::NEVER);
    holds.end(Mono::from_micros(i64::MIN));
    assert!(holds.held_time(&unreachable(), Mono::from_micros(i64::MIN)) > Span::ZERO);
    assert_eq!(holds.held_time(&unreachable(), Mono::NEVER), Span::ZERO);
}
