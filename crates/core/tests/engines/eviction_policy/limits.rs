//! Tests limits and waves: they delay, and forget no pod.

use super::world::World;
use super::{EvictionPolicy, cluster, left_on, policy, taint_nodes};
use taintward_core::eviction::EvictionEffect;
use taintward_core::eviction_policy::{UnavailableLimit, WaveOrder};
use taintward_core::fact::PodOwnerKind;
use taintward_core::node_limit::NodeLimit;
use taintward_core::testkit::toleration;
use taintward_core::time::Span;

const TAINT: [&str; 1] = ["maintenance:NoExecute"];

#[test]
fn no_minute_has_more_evictions_than_the_policy_allows() {
    let mut world = cluster(vec![EvictionPolicy { pods_per_minute: Some(4), ..policy("slow") }], 4);
    world.pass(60_000);
    taint_nodes(&mut world, &["n1", "n2"], &TAINT);
    world.pass(60_500);
    assert_eq!(world.monitor.deletions.len(), 5, "one every 15 seconds");
    assert!(world.reasons().len() == 3 && world.reasons().iter().all(|(_, reason)| reason == "slow Rate"));
    world.pass(61_000);
    assert_eq!(world.monitor.deletions.len(), 8);
    let gaps = world.monitor.deletions.windows(2).map(|pair| pair[1].at - pair[0].at);
    assert!(gaps.min().unwrap() >= 15_000);
}

#[test]
fn a_new_leader_keeps_the_pace_of_the_old_one() {
    let mut world = cluster(vec![EvictionPolicy { pods_per_minute: Some(4), ..policy("slow") }], 4);
    world.pass(60_000);
    taint_nodes(&mut world, &["n1", "n2"], &TAINT);
    for _ in 0..10 {
        world.pass(16_000);
        world.restart();
    }
    assert_eq!(world.monitor.deletions.len(), 8);
}

#[test]
fn an_eviction_by_another_process_has_its_place_in_the_minute() {
    let mut world = cluster(vec![EvictionPolicy { pods_per_minute: Some(4), ..policy("slow") }], 4);
    world.pass(60_000);
    taint_nodes(&mut world, &["n1", "n2"], &TAINT);
    world.pass(10_000);
    assert_eq!(world.monitor.deletions.len(), 1);
    let other = world.pods.iter().find(|(_, pod)| pod.fact.node.as_str() == "n2" && !pod.is_terminating);
    let other = other.map(|(name, _)| name.clone()).unwrap();
    world.evict_by_another_process(&other);
    world.pass(14_900);
    assert_eq!(world.monitor.deletions.len(), 2, "15 seconds after the one of the other process");
    world.pass(300);
    assert_eq!(world.monitor.deletions.len(), 3);
}

/// Several pods prepare their evictions at once, and each request waits for its turn.
#[test]
fn a_fast_pace_is_even_too() {
    let mut world = cluster(vec![EvictionPolicy { pods_per_minute: Some(240), ..policy("fast") }], 4);
    world.pass(60_000);
    taint_nodes(&mut world, &["n1", "n2", "n3"], &TAINT);
    world.pass(4_000);
    let sent = world.effects.iter().filter(|(_, effect)| matches!(effect, EvictionEffect::DeletePod { .. }));
    let sent: Vec<_> = sent.map(|(at, _)| *at).collect();
    assert_eq!(sent.len(), 12);
    let gaps: Vec<_> = sent.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| (250..350).contains(gap)), "{gaps:?}");
}

/// The budget rejects one eviction after the other, and each is tried again: pods without a budget leave at the rate meanwhile.
#[test]
fn an_eviction_that_a_budget_rejects_has_no_place_in_the_minute() {
    let slow = EvictionPolicy { pods_per_minute: Some(4), ..super::graceful(None) };
    let mut world = cluster(vec![slow], 1);
    for app in ["a", "b", "c", "d", "e"] {
        world.add_pod(app, app, "n1", |_| {});
        world.add_budget(app, app, super::min_available(1));
    }
    (0..20).for_each(|at| world.add_pod(&format!("free-{at}"), "free", "n1", |_| {}));
    world.pass(60_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(180_000);
    assert!(world.monitor.rejections.len() > 10, "{:?}", world.monitor.rejections);
    assert!(world.monitor.deletions.len() >= 12, "{:?}", world.monitor.deletions.len());
}

#[test]
fn nodes_are_emptied_one_after_the_other() {
    let one = EvictionPolicy { nodes_at_once: Some(1), ..policy("one") };
    let mut world = cluster(vec![one], 3);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(10);
    taint_nodes(&mut world, &["n1", "n3"], &TAINT);
    world.pass(500);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2"), left_on(&world, "n3")), (3, 0, 3));
    assert!(world.reasons().len() == 6 && world.reasons().iter().all(|(_, reason)| reason == "one Nodes n2"));
    world.pass(1_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n3")), (0, 3));
    world.pass(1_500);
    assert_eq!(left_on(&world, "n3"), 0);
}

#[test]
fn the_next_node_follows_when_the_first_is_no_longer_tainted() {
    let one = EvictionPolicy { nodes_at_once: Some(1), ..super::graceful(None) };
    let mut world = cluster(vec![one], 1);
    world.add_budget("web", "web", super::min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(100);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(5_000);
    world.set_taints("n1", &[]);
    world.budgets.get_mut("web").unwrap().limit = super::min_available(2);
    world.add_pod("extra", "web", "n3", |_| {});
    world.pass(2_000);
    assert_eq!(world.monitor.names(), ["n2-0"]);
}

#[test]
fn a_restart_counts_the_nodes_that_are_being_emptied() {
    let one = EvictionPolicy { nodes_at_once: Some(1), ..policy("one") };
    let mut world = cluster(vec![one], 1);
    world.delays.termination = 30_000;
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(500);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(1_000);
    world.restart();
    world.pass(25_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    world.pass(10_000);
    assert_eq!(world.monitor.names(), ["n1-0", "n2-0"]);
}

/// A crashed leader had sent the eviction, and it is carried out after its successor has begun another node.
#[test]
fn a_node_that_another_process_began_waits_for_its_turn() {
    let one = EvictionPolicy { nodes_at_once: Some(1), ..policy("one") };
    let mut world = cluster(vec![one], 2);
    world.delays.termination = 10_000;
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(500);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.evict_by_another_process("n2-0");
    world.pass(9_000);
    assert_eq!(world.monitor.names(), ["n1-0", "n1-1", "n2-0"], "n1 is not empty");
    world.pass(1_000);
    assert_eq!(left_on(&world, "n1"), 0);
    assert_eq!(world.monitor.names(), ["n1-0", "n1-1", "n2-0", "n2-1"]);
}

/// Only pods that another process deleted terminate on both nodes: each of them counts for the other as long as they do.
#[test]
fn a_node_that_another_process_began_is_free_when_nothing_leaves_it() {
    let one = EvictionPolicy { nodes_at_once: Some(1), ..policy("one") };
    let mut world = cluster(vec![one], 2);
    taint_nodes(&mut world, &["n1", "n2"], &TAINT);
    world.evict_by_another_process("n1-0");
    world.delays.termination = 10_000;
    world.evict_by_another_process("n2-0");
    world.pass(900);
    assert_eq!(world.monitor.names(), ["n1-0", "n2-0"]);
    assert!(world.reasons().contains(&("n1-1".into(), "one Nodes n1 n2".into())), "{:?}", world.reasons());
    world.pass(600);
    assert_eq!(world.monitor.names(), ["n1-0", "n2-0", "n2-1"], "nothing leaves n1");
    world.pass(8_000);
    assert_eq!(left_on(&world, "n1"), 1, "n2-1 is not gone");
    world.pass(3_000);
    assert_eq!(left_on(&world, "n1"), 0);
}

#[test]
fn a_workload_keeps_its_replicas() {
    let limit = UnavailableLimit { replicas: Some(3), percent: Some(10) };
    let limited = EvictionPolicy { unavailable_per_workload: Some(limit), ..policy("gentle") };
    let mut world = cluster(vec![limited], 4);
    taint_nodes(&mut world, &["n1", "n2"], &TAINT);
    world.pass(500);
    assert_eq!(world.monitor.deletions.len(), 1, "10% of 12 replicas");
    assert!(world.reasons().iter().all(|(_, reason)| reason == "gentle Replicas Deployment default/web"));
    world.pass(60_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2")), (0, 0));
}

/// The event of a change from before the eviction arrives after its response.
#[test]
fn a_pod_whose_eviction_was_accepted_is_not_back_because_of_an_older_event() {
    let limit = UnavailableLimit { replicas: Some(1), percent: None };
    let limited = EvictionPolicy { unavailable_per_workload: Some(limit), ..super::graceful(None) };
    let mut world = cluster(vec![limited], 2);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(41);
    world.change_pod("n1-0", |fact| fact.priority = 1);
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
    let requests =
        world.effects.iter().filter(|(_, effect)| matches!(effect, EvictionEffect::EvictPod { .. }));
    assert_eq!(requests.count(), 1);
}

#[test]
fn a_new_leader_evicts_no_pod_of_a_workload_that_it_does_not_know_yet() {
    let limit = UnavailableLimit { replicas: Some(1), percent: None };
    let limited = EvictionPolicy { unavailable_per_workload: Some(limit), ..policy("gentle") };
    let mut world = cluster(vec![limited], 1);
    world.delays.list = 10_000;
    world.add_pod("broken", "web", "n3", |fact| fact.ready = Some(false));
    world.set_replicas("web", 4);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.restart();
    world.pass(9_900);
    assert_eq!(world.monitor.names(), [""; 0]);
    assert_eq!(world.reasons(), [("n1-0".to_owned(), "gentle Lists".to_owned())]);
    world.pass(1_000);
    assert_eq!(world.reasons(), [("n1-0".to_owned(), "gentle Replicas Deployment default/web".to_owned())]);
    world.change_pod("broken", |fact| fact.ready = Some(true));
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
}

#[test]
fn a_pod_that_is_not_ready_is_not_missed() {
    let limit = UnavailableLimit { replicas: Some(1), percent: None };
    let limited = EvictionPolicy { unavailable_per_workload: Some(limit), ..policy("gentle") };
    let mut world = cluster(vec![limited], 1);
    world.add_pod("broken", "web", "n1", |fact| fact.ready = Some(false));
    world.set_replicas("web", 4);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(500);
    assert_eq!(world.monitor.names(), ["broken"], "one of four is unavailable already");
}

#[test]
fn pods_leave_in_waves_of_priority_and_daemonsets_last() {
    let ordered = EvictionPolicy { order: Some(WaveOrder::default()), ..policy("ordered") };
    let mut world = cluster(vec![ordered], 0);
    for (name, priority, owner) in [
        ("high", 100, PodOwnerKind::Other),
        ("agent", -10, PodOwnerKind::DaemonSet),
        ("low", 0, PodOwnerKind::Other),
        ("middle", 50, PodOwnerKind::Other),
        ("low-too", 0, PodOwnerKind::Other),
    ] {
        world.add_pod(name, name, "n1", |fact| (fact.priority, fact.owner) = (priority, owner));
    }
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(900);
    assert_eq!(world.monitor.names(), ["low", "low-too"]);
    assert!(
        world.reasons().len() == 3 && world.reasons().iter().all(|(_, reason)| reason == "ordered Order")
    );
    world.pass(10_000);
    assert_eq!(world.monitor.names(), ["low", "low-too", "middle", "high", "agent"]);
}

#[test]
fn a_wave_waits_for_the_one_before_no_longer_than_its_timeout() {
    let order = Some(WaveOrder { timeout: Some(Span::from_secs(20)) });
    let mut world = cluster(vec![EvictionPolicy { order, ..policy("ordered") }], 0);
    world.delays.termination = 600_000;
    for (name, priority) in [("low", 0), ("middle", 50), ("high", 100)] {
        world.add_pod(name, name, "n1", |fact| fact.priority = priority);
    }
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(19_000);
    assert_eq!(world.monitor.names(), ["low"]);
    world.pass(2_000);
    assert_eq!(world.monitor.names(), ["low", "middle"]);
    world.pass(18_000);
    assert_eq!(world.monitor.names(), ["low", "middle"]);
    world.pass(2_000);
    assert_eq!(world.monitor.names(), ["low", "middle", "high"]);
}

#[test]
fn a_pod_that_the_brake_delays_holds_up_no_wave() {
    let ordered = EvictionPolicy { order: Some(WaveOrder::default()), ..policy("ordered") };
    let mut world = World::with_brake(Some(NodeLimit { nodes: Some(1), percent: None }), vec![ordered]);
    let tolerates = |key: &str| vec![toleration(key, None)];
    for node in ["n1", "n2", "n3"] {
        world.add_node(node, "general");
        world
            .add_pod(&format!("{node}-low"), "web", node, |fact| fact.tolerations = tolerates("maintenance"));
    }
    world.add_pod("high", "web", "n3", |fact| (fact.priority, fact.tolerations) = (1_000, tolerates("k")));
    world.pass(1_000);
    ["n1", "n2", "n3"].iter().for_each(|node| world.set_taints(node, &["k:NoExecute"]));
    world.pass(10_000);
    assert_eq!((world.monitor.names().len(), world.reasons().len()), (0, 3), "{:?}", world.reasons());
    world.set_taints("n3", &["k:NoExecute", "maintenance:NoExecute"]);
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["high"]);
}

#[test]
fn a_pace_is_used_fully() {
    let mut world = cluster(vec![EvictionPolicy { pods_per_minute: Some(6), ..policy("slow") }], 0);
    (0..12).for_each(|at| world.add_pod(&format!("n1-{at}"), "web", "n1", |_| {}));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(61_000);
    assert_eq!(world.monitor.names().len(), 6, "an own eviction counts once");
}

#[test]
fn the_time_of_a_wave_counts_from_its_first_pod() {
    let order = Some(WaveOrder { timeout: Some(Span::from_secs(20)) });
    let mut world = cluster(vec![EvictionPolicy { order, ..policy("ordered") }], 0);
    world.delays.termination = 600_000;
    world.add_pod("low", "low", "n1", |_| {});
    world.add_pod("high", "high", "n1", |fact| fact.priority = 100);
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(15_000);
    world.add_pod("late", "late", "n1", |_| {});
    world.pass(4_000);
    assert_eq!(world.monitor.names(), ["low", "late"]);
    world.pass(2_000);
    assert_eq!(world.monitor.names(), ["low", "late", "high"]);
}

#[test]
fn a_pod_that_becomes_unready_by_itself_is_missed() {
    let limit = Some(UnavailableLimit { replicas: Some(1), percent: None });
    let careful = EvictionPolicy { unavailable_per_workload: limit, ..policy("careful") };
    let mut world = cluster(vec![careful], 1);
    world.change_pod("n3-0", |fact| fact.ready = Some(false));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(10_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.change_pod("n3-0", |fact| fact.ready = Some(true));
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n1-0"]);
}

/// The store was restored: the pod that another client had deleted lives.
#[test]
fn a_pod_that_lives_although_it_was_terminating_empties_no_node() {
    let one = EvictionPolicy { nodes_at_once: Some(1), ..policy("one") };
    let mut world = cluster(vec![one], 1);
    world.change_pod("n1-0", |fact| fact.tolerations = vec![toleration("maintenance", None)]);
    taint_nodes(&mut world, &["n1"], &TAINT);
    world.pass(1_000);
    world.pods.get_mut("n1-0").unwrap().is_terminating = true;
    world.change_pod("n1-0", |_| {});
    world.pass(1_000);
    taint_nodes(&mut world, &["n2"], &TAINT);
    world.pass(10_000);
    assert_eq!(world.monitor.names(), [""; 0]);
    world.pods.get_mut("n1-0").unwrap().is_terminating = false;
    world.change_pod("n1-0", |_| {});
    world.pass(1_000);
    assert_eq!(world.monitor.names(), ["n2-0"]);
}
