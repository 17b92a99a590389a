//! Scenarios of the eviction engine, one rule each, both ways: it went when it should, and stayed until then.

mod common;

use common::{World, bears, seconds};
use taintward_core::effect::Failure;
use taintward_core::engine::{ConditionPolicy, Config, Effect, Notice};
use taintward_core::fact::{Owner, Standing};
use taintward_core::taint::Effect as TaintEffect;

fn one_node() -> World {
    let mut world = World::new();
    world.add_node("n1");
    world
}

#[test]
fn te_17_untolerated_goes_at_once_tolerated_stays() {
    let mut world = one_node();
    world.add_pod("goes", "n1", &[]);
    world.add_pod("stays", "n1", &[bears("k", None)]);
    world.pass(seconds(60.0));
    assert!(world.left().is_empty());
    let at = world.now;
    world.taint("n1", "k");
    assert_eq!(world.deleted, [("goes".to_string(), at)]);
    world.pass(seconds(100_000.0));
    assert_eq!(world.left(), ["goes"]);
}

#[test]
fn te_22_other_effects_send_nobody_away() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.taint_as("n1", "a", TaintEffect::NoSchedule);
    world.taint_as("n1", "b", TaintEffect::PreferNoSchedule);
    world.taint_as("n1", "c", TaintEffect::new("NoExecuteAtAll"));
    world.pass(seconds(1000.0));
    assert!(world.left().is_empty() && world.effects.is_empty());
}

#[test]
fn te_25_a_countdown_ends_exactly_when_it_ends() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    let due = world.now + seconds(60.0);
    world.pass(seconds(59.999));
    assert!(world.left().is_empty());
    world.pass(seconds(1.0));
    assert_eq!(world.deleted_at("p"), Some(due));
}

#[test]
fn te_13_untainted_in_time_stays_and_says_so() {
    let mut world = one_node();
    let pod = world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    world.pass(seconds(59.0));
    world.untaint("n1", "k");
    world.pass(seconds(1000.0));
    assert!(world.left().is_empty());
    assert!(world.notices.contains(&Notice::CountdownCancelled { pod }));
    // A new taint starts a full new window.
    world.taint("n1", "k");
    let due = world.now + seconds(60.0);
    world.pass(seconds(100.0));
    assert_eq!(world.deleted_at("p"), Some(due));
}

#[test]
fn d2_the_deadline_follows_the_facts() {
    let mut world = one_node();
    for name in ["longer", "shorter", "zero", "forever", "second"] {
        world.add_pod(name, "n1", &[bears("k", Some(100)), bears("l", Some(5))]);
    }
    world.taint("n1", "k");
    let start = world.now;
    world.pass(seconds(10.0));
    let set = |seconds: Option<i64>| {
        move |fact: &mut taintward_core::fact::PodFact| fact.tolerations[0].seconds = seconds
    };
    world.edit_pod("longer", set(Some(200)));
    world.edit_pod("shorter", set(Some(50)));
    world.edit_pod("forever", set(None));
    let at_zero = world.now;
    world.edit_pod("zero", set(Some(0)));
    assert_eq!(world.deleted_at("zero"), Some(at_zero));
    world.pass(seconds(1000.0));
    assert_eq!(world.deleted_at("longer"), Some(start + seconds(200.0)));
    assert_eq!(world.deleted_at("shorter"), Some(start + seconds(50.0)));
    assert_eq!(world.deleted_at("second"), Some(start + seconds(100.0)));
    assert_eq!(world.deleted_at("forever"), None);
}

#[test]
fn d2_a_second_shorter_taint_brings_it_forward_and_its_removal_puts_it_back() {
    let mut world = one_node();
    for name in ["a", "b"] {
        world.add_pod(name, "n1", &[bears("k", Some(100)), bears("l", Some(20))]);
    }
    world.add_node("n2");
    world.add_pod("c", "n2", &[bears("k", Some(100)), bears("l", Some(20))]);
    world.taint("n1", "k");
    world.taint("n2", "k");
    let start = world.now;
    world.pass(seconds(10.0));
    world.taint("n1", "l");
    world.taint("n2", "l");
    world.pass(seconds(10.0));
    world.untaint("n2", "l");
    world.pass(seconds(500.0));
    assert_eq!(world.deleted_at("a"), Some(start + seconds(30.0)));
    assert_eq!(world.deleted_at("c"), Some(start + seconds(100.0)));
}

#[test]
fn d1_a_restart_moves_no_deadline_earlier_and_hardly_later() {
    for stamped in [true, false] {
        let mut world = one_node();
        world.stamped = stamped;
        world.add_pod("p", "n1", &[bears("k", Some(300))]);
        world.pass(seconds(7.3));
        world.taint("n1", "k");
        let due = world.now + seconds(300.0);
        for _ in 0..5 {
            world.pass(seconds(55.5));
            world.restart();
        }
        world.pass(seconds(500.0));
        let at = world.deleted_at("p").expect("it goes");
        assert!(at >= due && at <= due + seconds(1.0), "{at} {due}");
    }
}

#[test]
fn d1_without_any_source_a_restart_counts_from_first_sight() {
    let mut world = one_node();
    world.stamped = false;
    world.add_pod("p", "n1", &[bears("k", Some(300))]);
    world.taint("n1", "k");
    world.pass(seconds(200.0));
    world.nodes.get_mut("n1").expect("the node").changed = None;
    world.restart();
    let due = world.now + seconds(300.0);
    world.pass(seconds(1000.0));
    assert_eq!(world.deleted_at("p"), Some(due));
}

#[test]
fn d1_a_pod_that_comes_later_has_its_whole_time() {
    let mut world = one_node();
    world.taint("n1", "k");
    world.pass(seconds(500.0));
    world.add_pod("p", "n1", &[bears("k", Some(60))]);
    let due = world.now + seconds(60.0);
    world.pass(seconds(30.0));
    world.restart();
    world.pass(seconds(500.0));
    let at = world.deleted_at("p").expect("it goes");
    assert!(at >= due && at <= due + seconds(1.0), "{at} {due}");
}

#[test]
fn d1_a_taint_removed_and_put_back_during_a_gap_is_another_one() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    world.pass(seconds(30.0));
    world.deaf = true;
    world.untaint("n1", "k");
    world.pass(seconds(10.0));
    world.taint("n1", "k");
    let due = world.now + seconds(60.0);
    world.pass(seconds(5.0));
    world.list(false);
    world.pass(seconds(500.0));
    let at = world.deleted_at("p").expect("it goes");
    assert!(at >= due && at <= due + seconds(1.0), "{at} {due}");
}

#[test]
fn d4_the_successor_of_the_same_name_is_somebody_else() {
    let mut world = one_node();
    world.add_pod("web-0", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    world.pass(seconds(50.0));
    world.remove_pod("web-0");
    world.add_pod("web-0", "n1", &[bears("k", Some(60))]);
    let due = world.now + seconds(60.0);
    world.pass(seconds(59.9));
    assert!(world.left().is_empty());
    world.pass(seconds(1.0));
    assert_eq!(world.deleted_at("web-0"), Some(due));
}

#[test]
fn d4_a_successor_not_yet_heard_of_is_not_touched() {
    let mut world = one_node();
    world.add_node("n2");
    world.add_pod("web-0", "n1", &[]);
    world.deaf = true;
    world.remove_pod("web-0");
    world.add_pod("web-0", "n2", &[]);
    world.taint("n1", "k");
    // Only the node's event arrives; the pod's are late.
    let node = world.node_fact("n1").expect("the node");
    let clock = world.clock();
    world.engine.handle(taintward_core::engine::Input::Node { fact: node, listed: false }, clock);
    world.work();
    assert!(world.left().is_empty());
    world.deaf = false;
    world.hear();
    world.pass(seconds(100.0));
    assert!(world.left().is_empty());
    assert!(world.pods.contains_key("web-0"));
}

#[test]
fn d5_a_taint_that_is_gone_by_the_live_read_evicts_nobody() {
    let mut world = one_node();
    world.deaf = true;
    world.taint("n1", "k");
    let stale = world.node_fact("n1").expect("the node");
    world.untaint("n1", "k");
    world.add_pod("p", "n1", &[]);
    let pod = world.pods["p"].fact.clone();
    let clock = world.clock();
    world.engine.handle(taintward_core::engine::Input::Node { fact: stale, listed: false }, clock);
    world.engine.handle(taintward_core::engine::Input::Pod { fact: pod, listed: false }, clock);
    world.work();
    assert!(matches!(world.effects[..], [Effect::Confirm { .. }]), "{:?}", world.effects);
    assert!(world.left().is_empty());
}

#[test]
fn d5_one_read_serves_all_pods_of_a_node_and_an_old_one_none() {
    let mut world = one_node();
    for at in 0..50 {
        world.add_pod(&format!("p{at}"), "n1", &[bears("k", Some(if at < 25 { 0 } else { 10 }))]);
    }
    world.taint("n1", "k");
    world.pass(seconds(20.0));
    assert_eq!(world.left().len(), 50);
    let confirms = world.effects.iter().filter(|effect| matches!(effect, Effect::Confirm { .. })).count();
    assert_eq!(confirms, 2);
}

#[test]
fn d6_finished_terminating_and_mirror_pods_are_left_alone() {
    let mut world = one_node();
    world.add_pod("finished", "n1", &[]);
    world.edit_pod("finished", |fact| fact.standing = Standing::Finished);
    world.add_pod("terminating", "n1", &[]);
    world.edit_pod("terminating", |fact| fact.standing = Standing::Terminating);
    world.add_pod("mirror", "n1", &[]);
    world.edit_pod("mirror", |fact| fact.mirror = true);
    world.taint("n1", "k");
    world.pass(seconds(1000.0));
    assert!(world.left().is_empty() && world.effects.is_empty());
}

#[test]
fn d10_a_node_that_goes_takes_its_countdowns_along() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    world.pass(seconds(10.0));
    world.remove_node("n1");
    world.pass(seconds(1000.0));
    assert!(world.left().is_empty());
    // A node of the same name without taints changes nothing; with one, it starts anew.
    world.add_node("n1");
    world.pass(seconds(100.0));
    world.taint("n1", "k");
    let due = world.now + seconds(60.0);
    world.pass(seconds(100.0));
    assert_eq!(world.deleted_at("p"), Some(due));
}

#[test]
fn d3_failures_are_retried_for_ever_and_each_time_asked_again() {
    for failure in [Failure::Rejected, Failure::Unavailable, Failure::Forbidden, Failure::Throttled(None)] {
        let mut world = one_node();
        world.add_pod("p", "n1", &[]);
        world.faults = [None, None].into_iter().chain([Some(failure); 40]).collect();
        world.taint("n1", "k");
        world.pass(seconds(3000.0));
        assert_eq!(world.left(), ["p"], "{failure:?}");
        let tries = world.effects.len();
        assert!((40..60).contains(&tries), "{failure:?}: {tries} requests");
    }
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.faults = [None, None].into_iter().chain([Some(Failure::Rejected); 5]).collect();
    world.taint("n1", "k");
    world.pass(seconds(0.5));
    world.untaint("n1", "k");
    world.pass(seconds(3000.0));
    assert!(world.left().is_empty());
}

#[test]
fn s9_a_mark_is_not_left_behind() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.faults = [None, None].into_iter().chain([Some(Failure::Rejected); 3]).collect();
    world.taint("n1", "k");
    assert!(world.pods["p"].fact.marked);
    world.untaint("n1", "k");
    world.pass(seconds(60.0));
    assert!(!world.pods["p"].fact.marked);
    assert!(world.left().is_empty());
}

#[test]
fn s9_a_mark_left_by_a_predecessor_that_crashed_is_withdrawn_within_a_minute() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(600))]);
    world.edit_pod("p", |fact| fact.marked = true);
    world.restart();
    world.pass(seconds(10.0));
    assert!(world.pods["p"].fact.marked, "a request of the predecessor may still be under way");
    world.pass(seconds(50.0));
    assert!(!world.pods["p"].fact.marked);
    world.taint("n1", "k");
    let due = world.now + seconds(600.0);
    world.pass(seconds(1000.0));
    assert_eq!(world.deleted_at("p"), Some(due));
}

#[test]
fn te_30_condition_first_then_delete_with_the_version_that_came_of_it() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.taint("n1", "k");
    let [Effect::Confirm { .. }, Effect::Mark { pod: marked, .. }, Effect::Delete { pod, version, .. }] =
        &world.effects[..]
    else {
        panic!("{:?}", world.effects)
    };
    assert_eq!(marked, pod);
    assert!(version.is_some());
}

#[test]
fn s1_a_change_not_yet_heard_of_is_not_deleted_over() {
    for edit in [
        |fact: &mut taintward_core::fact::PodFact| fact.tolerations = vec![bears("k", None)],
        |fact: &mut taintward_core::fact::PodFact| fact.standing = Standing::Terminating,
    ] {
        let mut world = one_node();
        world.add_pod("p", "n1", &[bears("k", Some(60))]);
        world.taint("n1", "k");
        world.pass(seconds(59.0));
        world.deaf = true;
        world.edit_pod("p", edit);
        world.pass(seconds(1000.0));
        assert!(world.left().is_empty());
        assert!(!world.pods["p"].fact.marked);
    }
}

#[test]
fn condition_policies() {
    for (condition, owner, marks) in [
        (ConditionPolicy::Always, Owner::Other, 1),
        (ConditionPolicy::Jobs, Owner::Other, 0),
        (ConditionPolicy::Jobs, Owner::Job, 1),
        (ConditionPolicy::Never, Owner::Job, 0),
    ] {
        let mut world = World::with(Config { condition, ..Config::default() });
        world.add_node("n1");
        world.add_pod("p", "n1", &[]);
        world.edit_pod("p", |fact| fact.owner = owner);
        world.taint("n1", "k");
        let seen = world.effects.iter().filter(|effect| matches!(effect, Effect::Mark { .. })).count();
        assert_eq!((seen, world.left()), (marks, vec!["p"]), "{condition:?} {owner:?}");
    }
}

#[test]
fn p45_a_pod_that_changes_all_the_time_goes_all_the_same() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    // Confirm and mark succeed; every DELETE that demands a version fails; reads succeed.
    world.faults =
        [None, None].into_iter().chain((0..20).flat_map(|_| [Some(Failure::Conflict), None])).collect();
    world.taint("n1", "k");
    world.pass(seconds(3.0));
    let versionless =
        world.effects.iter().any(|effect| matches!(effect, Effect::Delete { version: None, .. }));
    assert!(versionless, "{:?}", world.effects);
}

#[test]
fn order_among_pods_due_at_the_same_instant() {
    let mut world = one_node();
    world.engine = taintward_core::engine::Engine::new(Config::default());
    for (name, priority, owner, critical) in [
        ("critical", 0, Owner::Other, true),
        ("as-critical", 2_000_001_000, Owner::Other, false),
        ("daemon-high", 1000, Owner::DaemonSet, false),
        ("daemon-low", -5, Owner::DaemonSet, false),
        ("high", 1000, Owner::Other, false),
        ("low", -5, Owner::Other, false),
        ("middle", 0, Owner::Job, false),
    ] {
        world.add_pod(name, "n1", &[]);
        world.edit_pod(name, |fact| {
            (fact.priority, fact.owner, fact.node_critical) = (priority, owner, critical);
        });
    }
    world.list(true);
    world.taint("n1", "k");
    assert_eq!(
        world.left(),
        ["low", "middle", "high", "daemon-low", "daemon-high", "critical", "as-critical"]
    );
}

#[test]
fn d11_an_unreadable_pod_or_node_evicts_nobody_until_it_is_readable() {
    use taintward_core::engine::Input;
    let mut world = one_node();
    let pod = world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    world.pass(seconds(30.0));
    let clock = world.clock();
    world.engine.handle(Input::PodUnreadable { uid: pod.uid.clone(), node: None }, clock);
    world.pass(seconds(100.0));
    assert!(world.left().is_empty());
    world.edit_pod("p", |_| ());
    assert_eq!(world.left(), ["p"]);

    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    let clock = world.clock();
    world.engine.handle(Input::NodeUnreadable { name: pod.node }, clock);
    world.pass(seconds(100.0));
    assert!(world.left().is_empty());
    world.taint("n1", "other");
    assert_eq!(world.left(), ["p"]);
}

#[test]
fn p34_nothing_is_lost_while_nobody_pulls() {
    let mut world = one_node();
    let mut idle = taintward_core::engine::Engine::new(Config::default());
    std::mem::swap(&mut idle, &mut world.engine);
    world.restart();
    world.add_pod("p", "n1", &[bears("k", Some(5))]);
    world.taint("n1", "k");
    // Time passes for the engine, but it may not act.
    for _ in 0..10 {
        world.now += seconds(3.0);
        let mono = world.clock().mono;
        world.engine.tick(mono);
    }
    assert!(world.left().is_empty());
    world.work();
    assert_eq!(world.left(), ["p"]);
}

#[test]
fn p39_a_mark_by_somebody_else_is_told() {
    let mut world = one_node();
    let pod = world.add_pod("p", "n1", &[]);
    world.edit_pod("p", |fact| fact.marked = true);
    world.pass(0);
    assert!(world.notices.contains(&Notice::ForeignMark { pod }));
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.taint("n1", "k");
    assert!(!world.notices.iter().any(|notice| matches!(notice, Notice::ForeignMark { .. })));
}

#[test]
fn equal_facts_make_equal_engines_whatever_their_order() {
    let build = |order: &[usize]| {
        let mut world = one_node();
        world.deaf = true;
        world.add_node("n2");
        for at in 0..6 {
            let node = if at % 2 == 0 { "n1" } else { "n2" };
            world.add_pod(&format!("p{at}"), node, &[bears("k", Some(at))]);
        }
        world.taint("n2", "other");
        let inputs: Vec<_> = world.wire.drain(..).collect();
        let clock = world.clock();
        for &at in order {
            world.engine.handle(inputs[at].clone(), clock);
        }
        world.engine.notices();
        world.engine
    };
    let straight = build(&[0, 1, 2, 3, 4, 5, 6, 7]);
    assert_eq!(straight, build(&[7, 6, 5, 4, 3, 2, 1, 0]));
    assert_eq!(straight, build(&[3, 3, 1, 0, 7, 7, 2, 6, 5, 4, 0, 1]));
    assert_ne!(straight, build(&[0, 1, 2, 3, 4, 5, 6]));
}
