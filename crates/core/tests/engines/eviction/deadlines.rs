//! Tests which pods are evicted and when: toleration periods, taint starts, and what moves a deadline.

use crate::common::{EvictionHarness, seconds};
use crate::eviction::cancelled::cancelled;
use crate::eviction::one_node;
use taintward_core::engine::Engine;
use taintward_core::eviction::EvictionInput;
use taintward_core::object_event::ObjectEvent;
use taintward_core::taint::TaintEffect;
use taintward_core::testkit::toleration;
use taintward_core::time::Span;

#[test]
fn te_17_an_untolerated_taint_evicts_immediately_and_a_tolerated_one_never() {
    let mut harness = one_node();
    harness.add_pod("goes", "n1", &[]);
    harness.add_pod("stays", "n1", &[toleration("k", None)]);
    harness.pass(seconds(60.0));
    assert!(harness.left().is_empty());
    let at = harness.now;
    harness.add_taint("n1", "k");
    assert_eq!(harness.deleted, [("goes".to_string(), at)]);
    harness.pass(seconds(100_000.0));
    assert_eq!(harness.left(), ["goes"]);
}

#[test]
fn te_22_other_effects_evict_no_pod() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[]);
    harness.add_taint_as("n1", "a", TaintEffect::NoSchedule);
    harness.add_taint_as("n1", "b", TaintEffect::PreferNoSchedule);
    harness.add_taint_as("n1", "c", TaintEffect::new("NoExecuteAtAll"));
    harness.pass(seconds(1000.0));
    assert!(harness.left().is_empty() && harness.effects.is_empty());
}

#[test]
fn te_25_a_countdown_ends_exactly_on_time() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    let due = harness.now + seconds(60.0);
    harness.pass(seconds(59.999));
    assert!(harness.left().is_empty());
    harness.pass(seconds(1.0));
    assert_eq!(harness.deleted_at("p"), Some(due));
}

#[test]
fn te_13_a_taint_removed_in_time_cancels_the_countdown_with_a_notice() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    harness.pass(seconds(59.0));
    harness.untaint("n1", "k");
    harness.pass(seconds(1000.0));
    assert!(harness.left().is_empty());
    assert_eq!(cancelled(&harness), ["p: TaintRemoved k"]);
    // A new taint starts a full new period.
    harness.add_taint("n1", "k");
    let due = harness.now + seconds(60.0);
    harness.pass(seconds(100.0));
    assert_eq!(harness.deleted_at("p"), Some(due));
}

#[test]
fn d2_the_deadline_follows_the_facts() {
    let mut harness = one_node();
    for name in ["longer", "shorter", "zero", "forever", "second"] {
        harness.add_pod(name, "n1", &[toleration("k", Some(100)), toleration("l", Some(5))]);
    }
    harness.add_taint("n1", "k");
    let start = harness.now;
    harness.pass(seconds(10.0));
    let set = |seconds: Option<i64>| {
        move |fact: &mut taintward_core::fact::PodFact| fact.tolerations[0].seconds = seconds
    };
    harness.edit_pod("longer", set(Some(200)));
    harness.edit_pod("shorter", set(Some(50)));
    harness.edit_pod("forever", set(None));
    let at_zero = harness.now;
    harness.edit_pod("zero", set(Some(0)));
    assert_eq!(harness.deleted_at("zero"), Some(at_zero));
    harness.pass(seconds(1000.0));
    assert_eq!(harness.deleted_at("longer"), Some(start + seconds(200.0)));
    assert_eq!(harness.deleted_at("shorter"), Some(start + seconds(50.0)));
    assert_eq!(harness.deleted_at("second"), Some(start + seconds(100.0)));
    assert_eq!(harness.deleted_at("forever"), None);
}

#[test]
fn d2_a_second_shorter_taint_brings_it_forward_and_its_removal_puts_it_back() {
    let mut harness = one_node();
    for name in ["a", "b"] {
        harness.add_pod(name, "n1", &[toleration("k", Some(100)), toleration("l", Some(20))]);
    }
    harness.add_node("n2");
    harness.add_pod("c", "n2", &[toleration("k", Some(100)), toleration("l", Some(20))]);
    harness.add_taint("n1", "k");
    harness.add_taint("n2", "k");
    let start = harness.now;
    harness.pass(seconds(10.0));
    harness.add_taint("n1", "l");
    harness.add_taint("n2", "l");
    harness.pass(seconds(10.0));
    harness.untaint("n2", "l");
    harness.pass(seconds(500.0));
    assert_eq!(harness.deleted_at("a"), Some(start + seconds(30.0)));
    assert_eq!(harness.deleted_at("c"), Some(start + seconds(100.0)));
}

#[test]
fn d1_a_restart_moves_no_deadline_earlier_and_hardly_later() {
    for stamped in [true, false] {
        let mut harness = one_node();
        harness.stamped = stamped;
        harness.add_pod("p", "n1", &[toleration("k", Some(300))]);
        harness.pass(seconds(7.3));
        harness.add_taint("n1", "k");
        let due = harness.now + seconds(300.0);
        for _ in 0..5 {
            harness.pass(seconds(55.5));
            harness.restart();
        }
        harness.pass(seconds(500.0));
        let at = harness.deleted_at("p").expect("it goes");
        assert!(at >= due && at <= due + seconds(1.0), "{at} {due}");
    }
}

#[test]
fn d1_a_new_leader_evicts_no_pod_early_by_its_own_clock() {
    for ahead in [-3600.0, -600.0, -2.0, 2.0, 30.0, 600.0, 3600.0] {
        for known in [true, false] {
            let mut harness = one_node();
            harness.pass(seconds(4_000.0));
            harness.add_taint("n1", "k");
            harness.pass(seconds(10.0));
            harness.add_pod("p", "n1", &[toleration("k", Some(300))]);
            let due = harness.now + seconds(300.0);
            harness.pass(seconds(100.0));
            let off = f64::abs(ahead);
            harness.clock_error = seconds(ahead);
            harness.skew_max = known.then(|| Span::from_micros(seconds(off)));
            let seen_again = harness.now;
            harness.restart();
            harness.pass(seconds(1_000.0));
            let at = harness.deleted_at("p").expect("it goes");
            // A leader to which the clocks are unknown counts from its first observation.
            let latest = if known { due + seconds(1.0 + 2.0 * off) } else { seen_again + seconds(300.0) };
            assert!(at >= due && at <= latest, "{ahead} {known}: {at} {due}");
        }
    }
}

#[test]
fn d1_without_any_source_a_restart_counts_from_the_first_observation() {
    let mut harness = one_node();
    harness.stamped = false;
    harness.add_pod("p", "n1", &[toleration("k", Some(300))]);
    harness.add_taint("n1", "k");
    harness.pass(seconds(200.0));
    harness.nodes.get_mut("n1").expect("the node").changed = None;
    harness.restart();
    let due = harness.now + seconds(300.0);
    harness.pass(seconds(1000.0));
    assert_eq!(harness.deleted_at("p"), Some(due));
}

#[test]
fn d1_a_later_pod_has_its_whole_period() {
    let mut harness = one_node();
    harness.add_taint("n1", "k");
    harness.pass(seconds(500.0));
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    let due = harness.now + seconds(60.0);
    harness.pass(seconds(30.0));
    harness.restart();
    harness.pass(seconds(500.0));
    let at = harness.deleted_at("p").expect("it goes");
    assert!(at >= due && at <= due + seconds(1.0), "{at} {due}");
}

#[test]
fn d1_a_taint_removed_and_added_again_during_a_gap_is_another_instance() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    harness.pass(seconds(30.0));
    harness.deaf = true;
    harness.untaint("n1", "k");
    harness.pass(seconds(10.0));
    harness.add_taint("n1", "k");
    let due = harness.now + seconds(60.0);
    harness.pass(seconds(5.0));
    harness.list(false);
    harness.pass(seconds(500.0));
    let at = harness.deleted_at("p").expect("it goes");
    assert!(at >= due && at <= due + seconds(1.0), "{at} {due}");
}

/// D1: without `timeAdded`, changes that were not watched cannot be distinguished; then the countdown restarts with the
/// last change of the list, at the latest time that it may have had. With `timeAdded`, or if watched, nothing moves.
#[test]
fn d1_an_unwatched_change_of_the_list_restarts_taints_without_a_time() {
    for (stamped, watched) in [(false, false), (true, false), (false, true)] {
        let mut harness = one_node();
        harness.stamped = stamped;
        harness.add_pod("p", "n1", &[toleration("k", Some(300))]);
        harness.pass(seconds(5.0));
        harness.add_taint("n1", "k");
        let start = harness.now;
        harness.pass(seconds(10.0));
        harness.receive();
        harness.deaf = !watched;
        harness.pass(seconds(100.0));
        harness.add_taint_as("n1", "other", TaintEffect::NoSchedule);
        let changed = harness.now;
        harness.pass(seconds(100.0));
        harness.list(false);
        harness.pass(seconds(1_000.0));
        let at = harness.deleted_at("p").expect("it goes");
        if stamped || watched {
            assert_eq!(at, start + seconds(300.0));
        } else {
            let (due, latest) = (changed + seconds(300.0), changed + seconds(301.0));
            assert!(due <= at && at <= latest, "{at} {due}");
        }
    }
}

/// S3: the second that was reported before the gap leaves room for another start, also of a taint that was older.
#[test]
fn d1_a_taint_added_again_within_the_second_of_the_last_change_is_another_instance() {
    let mut harness = one_node();
    harness.stamped = false;
    harness.add_pod("p", "n1", &[toleration("k", Some(300))]);
    harness.now = seconds(5.0);
    harness.add_taint("n1", "k");
    harness.pass(seconds(5.2));
    harness.add_taint_as("n1", "other", TaintEffect::NoSchedule);
    harness.deaf = true;
    harness.pass(seconds(0.2));
    harness.untaint("n1", "k");
    harness.pass(seconds(0.2));
    harness.add_taint("n1", "k");
    let due = harness.now + seconds(300.0);
    harness.pass(seconds(50.0));
    harness.list(false);
    harness.pass(seconds(1_000.0));
    let at = harness.deleted_at("p").expect("it goes");
    assert!(due <= at && at <= due + seconds(1.0), "{at} {due}");
}

/// S4, L4: the same version of a node in a list is not a change, whatever was observed since its second.
#[test]
fn l4_a_list_of_the_same_version_moves_no_start() {
    for stamped in [true, false] {
        let mut harness = one_node();
        harness.stamped = stamped;
        harness.add_pod("p", "n1", &[toleration("k", Some(300))]);
        harness.now = seconds(10.1);
        harness.add_taint("n1", "k");
        let due = harness.now + seconds(300.0);
        harness.deaf = true;
        harness.pass(seconds(30.0));
        harness.list(false);
        harness.pass(seconds(1_000.0));
        assert_eq!(harness.deleted_at("p"), Some(due));
    }
}

#[test]
fn l4_a_list_in_between_moves_no_countdown_and_delays_no_pod() {
    for breaks_off in [false, true] {
        for stamped in [true, false] {
            let mut harness = one_node();
            harness.stamped = stamped;
            harness.add_pod("first", "n1", &[toleration("k", Some(100))]);
            harness.add_pod("second", "n1", &[toleration("k", Some(300))]);
            let vanished = harness.add_pod("vanished", "n1", &[toleration("k", Some(301))]);
            harness.pass(seconds(7.3));
            harness.add_taint("n1", "k");
            let start = harness.now;
            harness.pass(seconds(60.0));
            harness.receive();
            let before = (harness.engine.stats(), harness.notices.len());
            // A complete list without any change.
            harness.list(false);
            assert_eq!((harness.engine.stats(), harness.notices.len()), before);
            // A second list, during which one pod becomes due, and another is gone whose deletion event was lost.
            harness.pass(seconds(30.0));
            harness.receive();
            harness.deaf = true;
            harness.remove_pod("vanished");
            harness.wire.clear();
            let silent_since = Some(harness.clock().mono);
            harness
                .engine
                .handle(EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since }), harness.clock());
            harness
                .engine
                .handle(EvictionInput::Pods(ObjectEvent::ListStarted { silent_since }), harness.clock());
            harness.deaf = false;
            assert!(harness.engine.is_synced());
            harness.pass(seconds(9.999));
            assert!(harness.left().is_empty());
            harness.pass(seconds(50.0));
            assert_eq!(harness.deleted_at("first"), Some(start + seconds(100.0)), "not delayed");
            assert!(
                harness.engine.explain(&vanished, harness.clock()).is_some(),
                "no pod is gone before the list ends"
            );
            if !breaks_off {
                harness.list(false);
                assert!(harness.engine.explain(&vanished, harness.clock()).is_none());
            }
            harness.pass(seconds(1000.0));
            assert_eq!(harness.deleted_at("second"), Some(start + seconds(300.0)));
            assert_eq!(harness.left(), ["first", "second"]);
        }
    }
}

#[test]
fn te_9_and_te_10_irrelevant_changes_move_nothing() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    let due = harness.now + seconds(60.0);
    for _ in 0..5 {
        harness.pass(seconds(10.0));
        harness.edit_pod("p", |fact| (fact.generation, fact.priority) = (fact.generation + 1, 7));
        harness.add_taint_as("n1", &format!("at-{}", harness.now), TaintEffect::NoSchedule);
    }
    harness.pass(seconds(100.0));
    assert_eq!(harness.deleted_at("p"), Some(due));
}

#[test]
fn te_16_and_te_44_an_event_of_a_pod_on_an_untainted_node_plans_nothing() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    harness.untaint("n1", "k");
    harness.edit_pod("p", |fact| fact.tolerations[0].seconds = Some(1));
    harness.pass(seconds(1000.0));
    assert!(harness.left().is_empty());
    assert_eq!(harness.engine.stats().counting, 0);
}

#[test]
fn te_8_pods_are_found_by_their_node_in_any_order_of_events() {
    let mut harness = EvictionHarness::new();
    harness.add_pod("early", "n1", &[]);
    harness.add_node("n1");
    harness.add_node("n2");
    harness.add_pod("elsewhere", "n2", &[]);
    harness.add_taint("n1", "k");
    assert_eq!(harness.left(), ["early"]);
}
