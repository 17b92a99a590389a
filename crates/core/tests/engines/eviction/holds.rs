//! Tests countdowns on hold while no node can be observed (NL-48, D12).

use crate::common::{World, bears, seconds};
use crate::eviction::one_node;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::PodFact;
use taintward_core::time::{Mono, Span};
use taintward_core::verdict::{Outcome, StayReason};

const NOT_READY: &str = "node.kubernetes.io/not-ready";
const UNREACHABLE: &str = "node.kubernetes.io/unreachable";

fn period(for_seconds: Option<i64>) -> impl FnOnce(&mut PodFact) {
    move |fact| fact.tolerations[0].seconds = for_seconds
}

/// Notices about single pods since the last call.
fn spoken(world: &mut World) -> Vec<EvictionNotice> {
    let single = |notice: &EvictionNotice| {
        !matches!(notice, EvictionNotice::CountdownsHeld { .. } | EvictionNotice::CountdownsResumed { .. })
    };
    world.notices.drain(..).filter(single).collect()
}

#[test]
fn nl_48_time_is_on_hold_and_all_pods_are_evicted_later_by_it() {
    for key in [NOT_READY, UNREACHABLE] {
        let mut world = one_node();
        world.add_pod("p", "n1", &[bears(key, Some(60))]);
        world.taint("n1", key);
        let due = world.now + seconds(60.0);
        world.pass(seconds(20.0));
        world.hold(true);
        world.pass(seconds(1000.0));
        assert!(world.left().is_empty() && world.effects.is_empty(), "not even a read");
        world.hold(false);
        world.pass(seconds(39.999));
        assert!(world.left().is_empty(), "no mass eviction when the hold ends");
        world.pass(seconds(1.0));
        assert_eq!(world.deleted_at("p"), Some(due + seconds(1000.0)));
    }
}

#[test]
fn nl_48_a_pod_that_tolerates_nothing_stays_only_during_the_hold() {
    let mut world = one_node();
    world.hold(true);
    world.add_pod("p", "n1", &[]);
    world.taint("n1", UNREACHABLE);
    world.add_pod("q", "n1", &[]);
    world.pass(seconds(500.0));
    assert!(world.left().is_empty() && world.effects.is_empty());
    let at = world.now;
    world.hold(false);
    assert_eq!(world.deleted, [("p".to_string(), at), ("q".to_string(), at)]);
}

#[test]
fn nl_48_other_taints_evict_as_usual() {
    let mut world = one_node();
    world.add_node("n2");
    for (name, node) in [("p", "n1"), ("q", "n2")] {
        world.add_pod(name, node, &[bears(UNREACHABLE, Some(60)), bears("k", Some(100))]);
    }
    world.taint("n1", UNREACHABLE);
    world.taint("n1", "k");
    world.taint("n2", "k");
    let start = world.now;
    world.pass(seconds(10.0));
    world.hold(true);
    world.pass(seconds(1000.0));
    assert_eq!(world.deleted_at("p"), Some(start + seconds(100.0)), "because of the other taint");
    assert_eq!(world.deleted_at("q"), Some(start + seconds(100.0)));
    // A taint that is not tolerated and that an administrator sets on a node that is off.
    world.add_pod("r", "n1", &[bears(UNREACHABLE, Some(60)), bears("k", None)]);
    world.pass(seconds(10.0));
    let at = world.now;
    world.taint("n1", "node.kubernetes.io/out-of-service");
    assert_eq!(world.deleted_at("r"), Some(at));
}

#[test]
fn nl_48_several_holds_add_up_and_a_repeated_one_counts_once() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears(NOT_READY, Some(60))]);
    world.hold(false);
    world.taint("n1", NOT_READY);
    let due = world.now + seconds(60.0);
    for _ in 0..3 {
        world.pass(seconds(10.0));
        world.hold(true);
        world.pass(seconds(50.0));
        world.hold(true);
        world.pass(seconds(50.0));
        world.hold(false);
        world.pass(seconds(5.0));
        world.hold(false);
    }
    world.pass(seconds(1000.0));
    assert_eq!(world.deleted_at("p"), Some(due + seconds(300.0)));
}

#[test]
fn nl_48_held_from_the_later_of_the_hold_and_the_taint_or_the_pod() {
    let mut world = one_node();
    world.add_node("n2");
    world.taint("n1", NOT_READY);
    world.hold(true);
    world.pass(seconds(30.0));
    world.add_pod("late", "n1", &[bears(NOT_READY, Some(60))]);
    world.add_pod("other", "n2", &[bears(NOT_READY, Some(60))]);
    world.taint("n2", NOT_READY);
    world.pass(seconds(30.0));
    let release = world.now;
    world.hold(false);
    world.pass(seconds(10.0));
    world.add_pod("after", "n1", &[bears(NOT_READY, Some(60))]);
    let after = world.now + seconds(60.0);
    world.pass(seconds(1000.0));
    assert_eq!(world.deleted_at("late"), Some(release + seconds(60.0)));
    assert_eq!(world.deleted_at("other"), Some(release + seconds(60.0)));
    assert_eq!(
        world.deleted_at("after"),
        Some(after),
        "a pod does not get the time held before it was bound"
    );
}

#[test]
fn nl_48_a_taint_removed_and_added_again_starts_again() {
    for in_the_hold in [false, true] {
        let mut world = one_node();
        world.add_pod("p", "n1", &[bears(NOT_READY, Some(60))]);
        world.taint("n1", NOT_READY);
        world.pass(seconds(20.0));
        world.hold(true);
        world.pass(seconds(500.0));
        world.untaint("n1", NOT_READY);
        let is_cancelled = |notice: &EvictionNotice| matches!(notice, EvictionNotice::CountdownCancelled { taint: Some(taint), .. } if &*taint.key == NOT_READY);
        assert!(spoken(&mut world).iter().any(is_cancelled), "it is no longer evicted");
        if in_the_hold {
            world.taint("n1", NOT_READY);
        }
        world.pass(seconds(100.0));
        world.hold(false);
        if !in_the_hold {
            world.taint("n1", NOT_READY);
        }
        let due = world.now + seconds(60.0);
        world.pass(seconds(1000.0));
        assert_eq!(world.deleted_at("p"), Some(due), "{in_the_hold}");
    }
}

#[test]
fn nl_48_and_d2_a_changed_toleration_counts_from_the_same_start() {
    let mut world = one_node();
    for name in ["longer", "shorter", "zero", "forever"] {
        world.add_pod(name, "n1", &[bears(NOT_READY, Some(100))]);
    }
    world.taint("n1", NOT_READY);
    let start = world.now;
    world.pass(seconds(50.0));
    world.hold(true);
    world.pass(seconds(1000.0));
    world.edit_pod("longer", period(Some(200)));
    world.edit_pod("shorter", period(Some(60)));
    world.edit_pod("zero", period(Some(0)));
    world.edit_pod("forever", period(None));
    assert!(world.left().is_empty());
    let release = world.now;
    world.hold(false);
    assert_eq!(world.deleted, [("zero".to_string(), release)]);
    world.pass(seconds(2000.0));
    assert_eq!(world.deleted_at("longer"), Some(start + seconds(1200.0)));
    assert_eq!(world.deleted_at("shorter"), Some(start + seconds(1060.0)));
    assert_eq!(world.deleted_at("forever"), None);
}

#[test]
fn nl_48_and_d1_lists_and_gaps_change_nothing() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears(NOT_READY, Some(60))]);
    world.taint("n1", NOT_READY);
    let due = world.now + seconds(60.0);
    world.pass(seconds(10.0));
    world.receive();
    world.hold(true);
    world.list(false);
    world.pass(seconds(40.0));
    world.deaf = true;
    world.pass(seconds(40.0));
    world.list(false);
    world.hold(false);
    world.list(false);
    world.pass(seconds(1000.0));
    assert_eq!(world.deleted_at("p"), Some(due + seconds(80.0)));
}

/// A node found only by a list, with a taint older than the hold: its time was on hold as well.
#[test]
fn nl_48_and_l4_a_node_found_after_the_hold_was_held_too() {
    let mut world = one_node();
    world.add_node("n2");
    world.pass(seconds(5.0));
    world.deaf = true;
    world.add_pod("p", "n1", &[bears(NOT_READY, Some(60))]);
    world.taint("n1", NOT_READY);
    let due = world.now + seconds(60.0);
    world.pass(seconds(10.0));
    world.hold(true);
    world.pass(seconds(40.0));
    world.hold(false);
    world.list(false);
    world.pass(seconds(1000.0));
    let at = world.deleted_at("p").expect("it goes");
    assert!(at >= due + seconds(40.0) && at <= due + seconds(41.0), "{at} {due}");
}

/// Held time is not stored anywhere: the next process counts from the starts.
#[test]
fn nl_48_a_restart_forgets_held_time_and_follows_the_current_hold() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears(NOT_READY, Some(100))]);
    world.pass(seconds(0.75));
    world.taint("n1", NOT_READY);
    let start = world.now;
    world.hold(true);
    world.pass(seconds(50.0));
    world.restart();
    world.pass(seconds(500.0));
    assert!(world.left().is_empty());
    world.hold(false);
    world.pass(seconds(1000.0));
    let (at, due) = (world.deleted_at("p").expect("it goes"), start + seconds(600.0));
    assert!(at >= due && at <= due + seconds(1.0), "{at} {due}");
}

#[test]
fn nl_48_and_s9_a_pod_marked_and_not_deleted_loses_its_mark() {
    use taintward_core::api_error::ApiFailure;
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    // The mark succeeds; the DELETE is rejected.
    world.faults = [None, None, Some(ApiFailure::Rejected)].into();
    world.taint("n1", UNREACHABLE);
    assert!(world.left().is_empty() && world.pods["p"].fact.marked);
    world.hold(true);
    assert!(!world.pods["p"].fact.marked, "it is not due for now");
    let requested = world.effects.len();
    world.pass(seconds(500.0));
    assert_eq!(world.effects.len(), requested);
    world.hold(false);
    assert_eq!(world.left(), ["p"]);
    let marks = world
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
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.deaf = true;
    world.taint("n1", UNREACHABLE);
    let reported = world.wire.pop_front().expect("the taint");
    world.deaf = false;
    let now = world.clock();
    world.engine.handle(reported, now);
    let Some(EvictionEffect::ReadNode { node }) = world.engine.next_effect(Lane::All, now) else {
        panic!("it is due")
    };
    let result = Ok(LiveRead::Found(world.node_fact("n1").expect("the node exists")));
    world.engine.handle(EvictionInput::NodeConfirmed { node, sent: now.mono, result }, now);
    let Some(EvictionEffect::SetDisruptionTarget { pod, .. }) = world.engine.next_effect(Lane::All, now)
    else {
        panic!("it is marked first")
    };
    world.engine.handle(EvictionInput::CountdownHold(true), now);
    world.engine.handle(EvictionInput::Marked { pod: pod.clone(), result: Ok(None) }, now);
    assert!(matches!(
        world.engine.next_effect(Lane::All, now),
        Some(EvictionEffect::ClearDisruptionTarget { .. })
    ));
    world.engine.handle(EvictionInput::Unmarked { pod, result: Ok(()) }, now);
    assert_eq!(world.engine.next_effect(Lane::All, now), None);
    assert_eq!((world.engine.stats().held, world.engine.stats().in_hand), (1, 0));
}

#[test]
fn nl_48_each_hold_is_reported_once_and_no_pod_twice() {
    let mut world = one_node();
    for at in 0..3 {
        world.add_pod(&format!("p{at}"), "n1", &[bears(NOT_READY, Some(60))]);
    }
    world.add_pod("bears", "n1", &[bears(NOT_READY, None)]);
    world.add_pod("elsewhere", "n2", &[bears(NOT_READY, Some(60))]);
    world.taint("n1", NOT_READY);
    world.pass(seconds(10.0));
    world.notices.clear();
    world.hold(true);
    world.hold(true);
    assert_eq!(world.notices, [EvictionNotice::CountdownsHeld { pods: 3 }]);
    world.notices.clear();
    world.pass(seconds(100.0));
    let late = world.add_pod("late", "n1", &[bears(NOT_READY, Some(60))]);
    assert_eq!((world.notices.len(), world.engine.stats().held), (0, 4));
    assert_eq!((world.engine.stats().counting, world.engine.stats().due), (0, 0));
    let until = Mono::from_micros(world.now + seconds(60.0));
    world.hold(false);
    world.hold(false);
    let go_on = EvictionNotice::CountdownsResumed { held: Span::from_secs(100), pods: 4 };
    assert_eq!(world.notices, [go_on, EvictionNotice::CountdownStarted { pod: late, until }]);
    assert_eq!((world.engine.stats().counting, world.engine.stats().held), (4, 0));
}

/// For a pod that was already due, because no effects were pulled (an observer, a follower), there is no second notice.
#[test]
fn nl_48_a_pod_that_was_due_before_is_due_again_without_a_notice() {
    let mut world = one_node();
    let pod = world.add_pod("p", "n1", &[]);
    world.deaf = true;
    world.taint("n1", UNREACHABLE);
    world.deaf = false;
    let reported = world.wire.pop_front().expect("the taint");
    world.engine.handle(reported, world.clock());
    let reported = world.engine.take_notices();
    assert!(reported.iter().any(|notice| matches!(notice, EvictionNotice::BecameDue { .. })), "{reported:?}");
    world.held.set(true, world.now);
    world.engine.handle(EvictionInput::CountdownHold(true), world.clock());
    assert_eq!((world.engine.stats().due, world.engine.stats().held), (0, 1));
    assert_eq!(world.engine.stats().oldest_due, None);
    world.now += seconds(30.0);
    world.held.set(false, world.now);
    world.engine.handle(EvictionInput::CountdownHold(false), world.clock());
    let reported = world.engine.take_notices();
    assert!(
        !reported.iter().any(|notice| matches!(notice, EvictionNotice::BecameDue { .. })),
        "{reported:?}"
    );
    assert_eq!((world.engine.stats().due, world.engine.stats().held), (1, 0));
    let (_, verdict, _) = world.engine.explain(&pod, world.clock()).expect("the pod exists");
    assert_eq!(verdict.outcome, Outcome::Leaves { due: world.clock().mono });
    world.work();
    assert_eq!(world.left(), ["p"]);
}

#[test]
fn nl_48_an_explanation_reports_held_time() {
    let mut world = one_node();
    let pod = world.add_pod("p", "n1", &[bears(NOT_READY, Some(60))]);
    world.taint("n1", NOT_READY);
    let start = world.now;
    let explain = |world: &World| world.engine.explain(&pod, world.clock()).expect("the pod exists").1;
    world.pass(seconds(10.0));
    assert_eq!(world.engine.held_since(), None);
    world.hold(true);
    let since = world.clock().mono;
    world.pass(seconds(30.0));
    let verdict = explain(&world);
    assert_eq!((verdict.outcome, verdict.decisive), (Outcome::Stays(StayReason::OnHold), None));
    assert_eq!((verdict.reasons[0].is_held, verdict.reasons[0].due), (true, None));
    assert_eq!(world.engine.held_since(), Some(since));
    assert_eq!(
        (world.engine.pending().count(), world.engine.next_wakeup()),
        (0, None),
        "nothing happens by the passing of time"
    );
    world.hold(false);
    let verdict = explain(&world);
    let until = Mono::from_micros(start + seconds(90.0));
    assert_eq!((verdict.outcome, verdict.decisive), (Outcome::StaysUntil(until), Some(0)));
    let reason = verdict.reasons[0];
    assert_eq!((reason.is_held, reason.held), (false, Span::from_secs(30)));
    assert_eq!(reason.start.at, Mono::from_micros(start), "S4: a start never changes");
    world.pass(seconds(60.0));
    let grounds = world.notices.iter().find_map(|notice| match notice {
        EvictionNotice::Evicted { reason, .. } => Some(reason),
        _ => None,
    });
    let grounds = grounds.expect("it went");
    assert_eq!((grounds.held, grounds.due), (Span::from_secs(30), until));
}
