//! Tests what rejections and successes of one kind say about all requests of the kind, and how long a rejected pod waits.

use super::*;
use crate::testkit::pod_ref;

fn at(second: i64) -> Mono {
    Mono::from_secs(second)
}

fn object(name: &str) -> RejectedObject {
    RejectedObject::Pod(pod_ref(name))
}

fn writes() -> RequestScope {
    RequestScope::Marks("shop".into())
}

fn reject(log: &mut RejectionLog, scope: &RequestScope, name: &str, second: i64) -> Option<Mono> {
    log.rejected(scope, object(name), ApiFailure::Rejected, at(second)).others
}

#[test]
fn a_rejection_tells_when_another_object_was_rejected_last() {
    let mut log = RejectionLog::default();
    let others = [("a", 1, None), ("a", 2, None), ("b", 3, Some(2)), ("b", 4, Some(2)), ("a", 5, Some(4))];
    for (name, second, expected) in others {
        assert_eq!(reject(&mut log, &writes(), name, second), expected.map(at), "{name} at {second}");
    }
}

/// If only one object is rejected, one success of another shows that the kind is not; how often it was rejected tells
/// whether that was because of the object.
#[test]
fn one_success_ends_the_rejections_of_one_object_and_three_those_of_several() {
    for (rejections, expected) in [(2, false), (3, true), (4, true)] {
        let mut log = RejectionLog::default();
        (0..rejections).for_each(|second| _ = reject(&mut log, &writes(), "a", second));
        assert_eq!(
            log.succeeded(&writes(), at(9)),
            SuccessMeaning::End { is_alone: expected },
            "{rejections}"
        );
        assert_eq!(log.succeeded(&writes(), at(9)), SuccessMeaning::Nothing);
    }
    let mut log = RejectionLog::default();
    ["a", "b", "a", "b"].iter().for_each(|name| _ = reject(&mut log, &writes(), name, 1));
    let meanings = [0; 3].map(|_| log.succeeded(&writes(), at(9)));
    let hint = SuccessMeaning::Hint;
    assert_eq!(meanings, [hint, hint, SuccessMeaning::End { is_alone: false }]);
}

#[test]
fn only_the_end_of_rejected_reads_makes_earlier_reads_not_count() {
    let ended = |scope: RequestScope, names: &[&str]| {
        let mut log = RejectionLog::default();
        names.iter().for_each(|name| _ = reject(&mut log, &scope, name, 1));
        log.succeeded(&scope, at(5));
        (log.counts(at(4)), log.counts(at(5)))
    };
    assert_eq!(ended(RequestScope::Reads, &["a"]), (false, true));
    assert_eq!(ended(RequestScope::Reads, &["a", "b"]), (true, true), "they have not ended yet");
    assert_eq!(ended(writes(), &["a"]), (true, true));
    let mut log = RejectionLog::default();
    reject(&mut log, &RequestScope::Reads, "a", 1);
    log.succeeded(&RequestScope::Reads, at(5));
    reject(&mut log, &writes(), "a", 6);
    assert!(log.probe_at(&writes()).is_some());
    log.clear();
    assert_eq!((log.probe_at(&writes()), log.counts(at(4))), (None, false), "the reads are remembered");
}

#[test]
fn what_is_rejected_for_long_is_probed_less_often() {
    let next = |scope: RequestScope, names: &[&str], age: i64| {
        let mut log = RejectionLog::default();
        names.iter().for_each(|name| _ = reject(&mut log, &scope, name, 0));
        log.probed(&scope, false, at(age));
        log.probe_at(&scope).map(|until| until.since(at(age)))
    };
    let seconds = |seconds| Some(Span::from_secs(seconds));
    for (age, several, one) in [(30, 1, 5), (600, 10, 100), (6_000, 30, 1_000)] {
        assert_eq!(next(writes(), &["a", "b"], age), seconds(several), "several, after {age} s");
        assert_eq!(next(writes(), &["a"], age), seconds(one), "one, after {age} s");
        assert_eq!(next(RequestScope::Reads, &["a", "b"], age), seconds(1));
    }
}

fn next(before: Option<&Rejection>, failure: ApiFailure, others: Option<i64>, second: i64) -> Rejection {
    Rejection::next(before, writes(), RejectionReason { failure, others: others.map(at) }, at(second))
}

/// A pod that was rejected although rejections had ended is no probe where only one object is rejected.
#[test]
fn an_exception_does_not_probe_for_others() {
    let (pod, rejected) = (pod_ref("a"), ApiFailure::Rejected);
    let mut first = next(None, rejected, None, 1);
    let (mut alone, mut several) = (RejectionLog::default(), RejectionLog::default());
    reject(&mut alone, &writes(), "a", 1);
    ["a", "b"].iter().for_each(|name| _ = reject(&mut several, &writes(), name, 1));
    assert_eq!(alone.probe_floor(&first, &pod), first.floor(&pod));
    first.end(false);
    let exception = next(Some(&first), rejected, None, 2);
    assert_eq!(alone.probe_floor(&exception, &pod), Mono::NEVER);
    assert_eq!(several.probe_floor(&exception, &pod), exception.floor(&pod));
}

/// By silence, and others were hit since its own last rejection: it may be chance.
#[test]
fn an_unlucky_pod_waits_for_a_part_of_the_time_since_its_first_rejection() {
    let (silence, pod) = (ApiFailure::Unavailable, pod_ref("a"));
    let first = next(None, silence, None, 0);
    for (failure, others, expected) in [
        (silence, Some(1), true),
        (silence, Some(0), false),
        (silence, None, false),
        (ApiFailure::Rejected, Some(1), false),
    ] {
        assert_eq!(next(Some(&first), failure, others, 2).is_unlucky, expected, "{failure:?} {others:?}");
    }
    let waits = |age: i64, is_unlucky| {
        let mut rejection = first.clone();
        (rejection.exceptions, rejection.at, rejection.is_unlucky) = (20, at(age), is_unlucky);
        rejection.not_before = at(0);
        rejection.floor(&pod).since(at(age))
    };
    assert!(waits(60, false) > Span::from_secs(20), "its own pause");
    assert_eq!(waits(60, true), Span::from_secs(10));
    assert_eq!(waits(6, true), Span::from_secs(2), "at least two seconds");
    assert_eq!(waits(600, true), waits(600, false), "at most its own pause");
}
