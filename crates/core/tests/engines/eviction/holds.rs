//! Tests countdowns on hold while no node can be observed (NL-48, D12).

use crate::common::{EvictionHarness, seconds};
use crate::eviction::one_node;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::PodFact;
use taintward_core::testkit::toleration;
use taintward_core::time::{Mono, Span};
use taintward_core::verdict::{Outcome, StayReason};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

fn period(for_seconds: Option<i64>) -> impl FnOnce(&mut PodFact) {
    move |fact| fact.tolerations[0].seconds = for_seconds
}

/// Notices about single pods since the last call.
fn spoken(harness: &mut EvictionHarness) -> Vec<EvictionNotice> {
    let single = |notice: &EvictionNotice| {
        !matches!(notice, EvictionNotice::CountdownsHeld { .. } | EvictionNotice::CountdownsResumed { .. })
    };
    harness.notices.drain(..).filter(single).collect()
}

#[test]
fn nl_48_time_is_on_hold_and_all_pods_are_evicted_later_by_it() {
    for key in [NOT_READY, UNREACHABLE] {
        let mut harness = one_node();
        harness.add_pod("p", "n1", &[toleration(key, Some(60))]);
        harness.add_taint("n1", key);
        let due = harness.now + seconds(60.0);
        harness.pass(seconds(20.0));
        harness.hold(true);
        harness.pass(seconds(1000.0));
        assert!(harness.left().is_empty() && harness.effects.is_empty(), "not even a read");
        harness.hold(false);
        harness.pass(seconds(39.999));
        assert!(harness.left().is_empty(), "no mass eviction when the hold ends");
        harness.pass(seconds(1.0));
        assert_eq!(harness.deleted_at("p"), Some(due + seconds(1000.0)));
    }
}

#[test]
fn nl_48_a_pod_that_tolerates_nothing_stays_only_during_the_hold() {
    let mut harness = one_node();
    harness.hold(true);
    harness.add_pod("p", "n1", &[]);
    harness.add_taint("n1", UNREACHABLE);
    harness.add_pod("q", "n1", &[]);
    harness.pass(seconds(500.0));
    assert!(harness.left().is_empty() && harness.effects.is_empty());
    let at = harness.now;
    harness.hold(false);
    assert_eq!(harness.deleted, [("p".to_string(), at), ("q".to_string(), at)]);
}

#[test]
fn nl_48_other_taints_evict_as_usual() {
    let mut harness = one_node();
    harness.add_node("n2");
    for (name, node) in [("p", "n1"), ("q", "n2")] {
        harness.add_pod(name, node, &[toleration(UNREACHABLE, Some(60)), toleration("k", Some(100))]);
    }
    harness.add_taint("n1", UNREACHABLE);
    harness.add_taint("n1", "k");
    harness.add_taint("n2", "k");
    let start = harness.now;
    harness.pass(seconds(10.0));
    harness.hold(true);
    harness.pass(seconds(1000.0));
    assert_eq!(harness.deleted_at("p"), Some(start + seconds(100.0)), "because of the other taint");
    assert_eq!(harness.deleted_at("q"), Some(start + seconds(100.0)));
    // A taint that is not tolerated and that an administrator sets on a node that is off.
    harness.add_pod("r", "n1", &[toleration(UNREACHABLE, Some(60)), toleration("k", None)]);
    harness.pass(seconds(10.0));
    let at = harness.now;
    harness.add_taint("n1", "node.kubernetes.io/out-of-service");
    assert_eq!(harness.deleted_at("r"), Some(at));
}

#[test]
fn nl_48_several_holds_add_up_and_a_repeated_one_counts_once() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration(NOT_READY, Some(60))]);
    harness.hold(false);
    harness.add_taint("n1", NOT_READY);
    let due = harness.now + seconds(60.0);
    for _ in 0..3 {
        harness.pass(seconds(10.0));
        harness.hold(true);
        harness.pass(seconds(50.0));
        harness.hold(true);
        harness.pass(seconds(50.0));
        harness.hold(false);
        harness.pass(seconds(5.0));
        harness.hold(false);
    }
    harness.pass(seconds(1000.0));
    assert_eq!(harness.deleted_at("p"), Some(due + seconds(300.0)));
}

#[test]
fn nl_48_held_from_the_later_of_the_hold_and_the_taint_or_the_pod() {
    let mut harness = one_node();
    harness.add_node("n2");
    harness.add_taint("n1", NOT_READY);
    harness.hold(true);
    harness.pass(seconds(30.0));
    harness.add_pod("late", "n1", &[toleration(NOT_READY, Some(60))]);
    harness.add_pod("other", "n2", &[toleration(NOT_READY, Some(60))]);
    harness.add_taint("n2", NOT_READY);
    harness.pass(seconds(30.0));
    let release = harness.now;
    harness.hold(false);
    harness.pass(seconds(10.0));
    harness.add_pod("after", "n1", &[toleration(NOT_READY, Some(60))]);
    let after = harness.now + seconds(60.0);
    harness.pass(seconds(1000.0));
    assert_eq!(harness.deleted_at("late"), Some(release + seconds(60.0)));
    assert_eq!(harness.deleted_at("other"), Some(release + seconds(60.0)));
    assert_eq!(
        harness.deleted_at("after"),
        Some(after),
        "a pod does not get the time held before it was bound"
    );
}

#[test]
fn nl_48_a_taint_removed_and_added_again_starts_again() {
    for in_the_hold in [false, true] {
        let mut harness = one_node();
        harness.add_pod("p", "n1", &[toleration(NOT_READY, Some(60))]);
        harness.add_taint("n1", NOT_READY);
        harness.pass(seconds(20.0));
        harness.hold(true);
        harness.pass(seconds(500.0));
        harness.untaint("n1", NOT_READY);
        let is_cancelled = |notice: &EvictionNotice| matches!(notice, EvictionNotice::CountdownCancelled { taint: Some(taint), .. } if &*taint.key == NOT_READY);
        assert!(spoken(&mut harness).iter().any(is_cancelled), "it is no longer evicted");
        if in_the_hold {
            harness.add_taint("n1", NOT_READY);
        }
        harness.pass(seconds(100.0));
        harness.hold(false);
        if !in_the_hold {
            harness.add_taint("n1", NOT_READY);
        }
        let due = harness.now + seconds(60.0);
        harness.pass(seconds(1000.0));
        assert_eq!(harness.deleted_at("p"), Some(due), "{in_the_hold}");
    }
}

#[test]
fn nl_48_and_d2_a_changed_toleration_counts_from_the_same_start() {
    let mut harness = one_node();
    for name in ["longer", "shorter", "zero", "forever"] {
        harness.add_pod(name, "n1", &[toleration(NOT_READY, Some(100))]);
    }
    harness.add_taint("n1", NOT_READY);
    let start = harness.now;
    harness.pass(seconds(50.0));
    harness.hold(true);
    harness.pass(seconds(1000.0));
    harness.edit_pod("longer", period(Some(200)));
    harness.edit_pod("shorter", period(Some(60)));
    harness.edit_pod("zero", period(Some(0)));
    harness.edit_pod("forever", period(None));
    assert!(harness.left().is_empty());
    let release = harness.now;
    harness.hold(false);
    assert_eq!(harness.deleted, [("zero".to_string(), release)]);
    harness.pass(seconds(2000.0));
    assert_eq!(harness.deleted_at("longer"), Some(start + seconds(1200.0)));
    assert_eq!(harness.deleted_at("shorter"), Some(start + seconds(1060.0)));
    assert_eq!(harness.deleted_at("forever"), None);
}

#[test]
fn nl_48_and_d1_lists_and_gaps_change_nothing() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration(NOT_READY, Some(60))]);
    harness.add_taint("n1", NOT_READY);
    let due = harness.now + seconds(60.0);
    harness.pass(seconds(10.0));
    harness.receive();
    harness.hold(true);
    harness.list(false);
    harness.pass(seconds(40.0));
    harness.deaf = true;
    harness.pass(seconds(40.0));
    harness.list(false);
    harness.hold(false);
    harness.list(false);
    harness.pass(seconds(1000.0));
    assert_eq!(harness.deleted_at("p"), Some(due + seconds(80.0)));
}

/// A node found only by a list, with a taint older than the hold: its time was on hold as well.
#[test]
fn nl_48_and_l4_a_node_found_after_the_hold_was_held_too() {
    let mut harness = one_node();
    harness.add_node("n2");
    harness.pass(seconds(5.0));
    harness.deaf = true;
    harness.add_pod("p", "n1", &[toleration(NOT_READY, Some(60))]);
    harness.add_taint("n1", NOT_READY);
    let due = harness.now + seconds(60.0);
    harness.pass(seconds(10.0));
    harness.hold(true);
    harness.pass(seconds(40.0));
    harness.hold(false);
    harness.list(false);
    harness.pass(seconds(1000.0));
    let at = harness.deleted_at("p").expect("it goes");
    assert!(at >= due + seconds(40.0) && at <= due + seconds(41.0), "{at} {due}");
}

/// Held time is not stored anywhere: the next process counts from the starts.
#[test]
fn nl_48_a_restart_forgets_held_time_and_follows_the_current_hold() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration(NOT_READY, Some(100))]);
    harness.pass(seconds(0.75));
    harness.add_taint("n1", NOT_READY);
    let start = harness.now;
    harness.hold(true);
    harness.pass(seconds(50.0));
    harness.restart();
    harness.pass(seconds(500.0));
    assert!(harness.left().is_empty());
    harness.hold(false);
    harness.pass(seconds(1000.0));
    let (at, due) = (harness.deleted_at("p").expect("it goes"), start + seconds(600.0));
    assert!(at >= due && at <= due + seconds(1.0), "{at} {due}");
}

#[test]
fn nl_48_and_s9_a_pod_marked_and_not_deleted_loses_its_mark() {
    use taintward_core::api_error::ApiFailure;
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[]);
    // The mark succeeds; the DELETE is refused.
    harness.faults = [None, None, Some(ApiFailure::Rejected)].into();
    harness.add_taint("n1", UNREACHABLE);
    assert!(harness.left().is_empty() && harness.pods["p"].fact.marked);
    harness.hold(true);
    assert!(!harness.pods["p"].fact.marked, "it is not due for now");
    let requested = harness.effects.len();
    harness.pass(seconds(500.0));
    assert_eq!(harness.effects.len(), requested);
    harness.hold(false);
    assert_eq!(harness.left(), ["p"]);
    let marks = harness
        .effects
        .iter()
        .filter(|effect| matches!(effect, EvictionEffect::SetDisruptionTarget { .. }))
        .count();
    assert_eq!(marks, 2, "marked again before the eviction");
}

/// A pod whose mark is in flight when the hold begins: it is marked, not deleted, and the mark is removed.
#[test]
fn nl_48_an_eviction_in_progress_stops_at_its_next_step() {
    use taintward_core::engine::{Lane, LiveRead};
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[]);
    harness.deaf = true;
    harness.add_taint("n1", UNREACHABLE);
    let reported = harness.wire.pop_front().expect("the taint");
    harness.deaf = false;
    let now = harness.clock();
    harness.engine.handle(reported, now);
    let Some(EvictionEffect::ReadNode { node }) = harness.engine.next_effect(Lane::All, now) else {
        panic!("it is due")
    };
    let result = Ok(LiveRead::Found(harness.node_fact("n1").expect("the node exists")));
    harness.engine.handle(EvictionInput::NodeConfirmed { node, sent: now.mono, result }, now);
    let Some(EvictionEffect::SetDisruptionTarget { pod, .. }) = harness.engine.next_effect(Lane::All, now)
    else {
        panic!("it is marked first")
    };
    harness.engine.handle(EvictionInput::CountdownHold(true), now);
    harness.engine.handle(EvictionInput::Marked { pod: pod.clone(), result: Ok(None) }, now);
    assert!(matches!(
        harness.engine.next_effect(Lane::All, now),
        Some(EvictionEffect::ClearDisruptionTarget { .. })
    ));
    harness.engine.handle(EvictionInput::Unmarked { pod, result: Ok(()) }, now);
    assert_eq!(harness.engine.next_effect(Lane::All, now), None);
    assert_eq!((harness.engine.stats().held, harness.engine.stats().in_hand), (1, 0));
}

#[test]
fn nl_48_each_hold_is_reported_once_and_no_pod_twice() {
    let mut harness = one_node();
    for at in 0..3 {
        harness.add_pod(&format!("p{at}"), "n1", &[toleration(NOT_READY, Some(60))]);
    }
    harness.add_pod("bears", "n1", &[toleration(NOT_READY, None)]);
    harness.add_pod("elsewhere", "n2", &[toleration(NOT_READY, Some(60))]);
    harness.add_taint("n1", NOT_READY);
    harness.pass(seconds(10.0));
    harness.notices.clear();
    harness.hold(true);
    harness.hold(true);
    assert_eq!(harness.notices, [EvictionNotice::CountdownsHeld { pods: 3 }]);
    harness.notices.clear();
    harness.pass(seconds(100.0));
    let late = harness.add_pod("late", "n1", &[toleration(NOT_READY, Some(60))]);
    assert_eq!((harness.notices.len(), harness.engine.stats().held), (0, 4));
    assert_eq!((harness.engine.stats().counting, harness.engine.stats().due), (0, 0));
    let until = Mono::from_micros(harness.now + seconds(60.0));
    harness.hold(false);
    harness.hold(false);
    let go_on = EvictionNotice::CountdownsResumed { held: Span::from_secs(100), pods: 4 };
    assert_eq!(harness.notices, [go_on, EvictionNotice::CountdownStarted { pod: late, until }]);
    assert_eq!((harness.engine.stats().counting, harness.engine.stats().held), (4, 0));
}

/// For a pod that was already due, because no effects were pulled (an observer, a follower), there is no second notice.
#[test]
fn nl_48_a_pod_that_was_due_before_is_due_again_without_a_notice() {
    let mut harness = one_node();
    let pod = harness.add_pod("p", "n1", &[]);
    harness.deaf = true;
    harness.add_taint("n1", UNREACHABLE);
    harness.deaf = false;
    let reported = harness.wire.pop_front().expect("the taint");
    harness.engine.handle(reported, harness.clock());
    let reported = harness.engine.take_notices();
    assert!(reported.iter().any(|notice| matches!(notice, EvictionNotice::BecameDue { .. })), "{reported:?}");
    harness.held.set(true, harness.now);
    harness.engine.handle(EvictionInput::CountdownHold(true), harness.clock());
    assert_eq!((harness.engine.stats().due, harness.engine.stats().held), (0, 1));
    assert_eq!(harness.engine.stats().oldest_due, None);
    harness.now += seconds(30.0);
    harness.held.set(false, harness.now);
    harness.engine.handle(EvictionInput::CountdownHold(false), harness.clock());
    let reported = harness.engine.take_notices();
    assert!(
        !reported.iter().any(|notice| matches!(notice, EvictionNotice::BecameDue { .. })),
        "{reported:?}"
    );
    assert_eq!((harness.engine.stats().due, harness.engine.stats().held), (1, 0));
    let (_, verdict, _) = harness.engine.explain(&pod, harness.clock()).expect("the pod exists");
    assert_eq!(verdict.outcome, Outcome::Leaves { due: harness.clock().mono });
    harness.work();
    assert_eq!(harness.left(), ["p"]);
}

#[test]
fn nl_48_an_explanation_reports_held_time() {
    let mut harness = one_node();
    let pod = harness.add_pod("p", "n1", &[toleration(NOT_READY, Some(60))]);
    harness.add_taint("n1", NOT_READY);
    let start = harness.now;
    let explain =
        |harness: &EvictionHarness| harness.engine.explain(&pod, harness.clock()).expect("the pod exists").1;
    harness.pass(seconds(10.0));
    assert_eq!(harness.engine.held_since(), None);
    harness.hold(true);
    let since = harness.clock().mono;
    harness.pass(seconds(30.0));
    let verdict = explain(&harness);
    assert_eq!((verdict.outcome, verdict.decisive), (Outcome::Stays(StayReason::OnHold), None));
    assert_eq!((verdict.reasons[0].is_held, verdict.reasons[0].due), (true, None));
    assert_eq!(harness.engine.held_since(), Some(since));
    assert_eq!(
        (harness.engine.pending().count(), harness.engine.next_wakeup()),
        (0, None),
        "nothing happens by the passing of time"
    );
    harness.hold(false);
    let verdict = explain(&harness);
    let until = Mono::from_micros(start + seconds(90.0));
    assert_eq!((verdict.outcome, verdict.decisive), (Outcome::StaysUntil(until), Some(0)));
    let reason = verdict.reasons[0];
    assert_eq!((reason.is_held, reason.held), (false, Span::from_secs(30)));
    assert_eq!(reason.start.at, Mono::from_micros(start), "S4: a start never changes");
    harness.pass(seconds(60.0));
    let grounds = harness.notices.iter().find_map(|notice| match notice {
        EvictionNotice::Evicted { reason, .. } => Some(reason),
        _ => None,
    });
    let grounds = grounds.expect("it went");
    assert_eq!((grounds.held, grounds.due), (Span::from_secs(30), until));
}
