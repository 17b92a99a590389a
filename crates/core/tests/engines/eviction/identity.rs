//! Tests that only the judged pod is deleted: UIDs, live reads, exempt pods, preconditions of requests.

use crate::common::{World, bears, seconds};
use crate::eviction::one_node;
use taintward_core::engine::Engine;
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionEffect};
use taintward_core::fact::{PodLifePhase, PodOwnerKind};
use taintward_core::object_event::ObjectEvent;

#[test]
fn d4_a_successor_of_the_same_name_is_another_pod() {
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
fn d4_a_successor_without_an_event_yet_stays() {
    let mut world = one_node();
    world.add_node("n2");
    world.add_pod("web-0", "n1", &[]);
    world.deaf = true;
    world.remove_pod("web-0");
    world.add_pod("web-0", "n2", &[]);
    world.taint("n1", "k");
    // Only the node's event arrives; the pod's is late.
    let node = world.node_fact("n1").expect("the node");
    let clock = world.clock();
    world.engine.handle(
        taintward_core::eviction::EvictionInput::Nodes(ObjectEvent::Applied { fact: node, listed: false }),
        clock,
    );
    world.work();
    assert!(world.left().is_empty());
    world.deaf = false;
    world.receive();
    world.pass(seconds(100.0));
    assert!(world.left().is_empty());
    assert!(world.pods.contains_key("web-0"));
}

#[test]
fn d5_a_taint_that_the_live_read_does_not_find_evicts_no_pod() {
    let mut world = one_node();
    world.deaf = true;
    world.taint("n1", "k");
    let stale = world.node_fact("n1").expect("the node");
    world.untaint("n1", "k");
    world.add_pod("p", "n1", &[]);
    let pod = world.pods["p"].fact.clone();
    let clock = world.clock();
    world.engine.handle(
        taintward_core::eviction::EvictionInput::Nodes(ObjectEvent::Applied { fact: stale, listed: false }),
        clock,
    );
    world.engine.handle(
        taintward_core::eviction::EvictionInput::Pods(ObjectEvent::Applied { fact: pod, listed: false }),
        clock,
    );
    world.work();
    assert!(matches!(world.effects[..], [EvictionEffect::ReadNode { .. }]), "{:?}", world.effects);
    assert!(world.left().is_empty());
}

#[test]
fn d5_one_read_serves_all_pods_of_a_node_and_an_old_read_none() {
    let mut world = one_node();
    for at in 0..50 {
        world.add_pod(&format!("p{at}"), "n1", &[bears("k", Some(if at < 25 { 0 } else { 10 }))]);
    }
    world.taint("n1", "k");
    world.pass(seconds(20.0));
    assert_eq!(world.left().len(), 50);
    let confirms =
        world.effects.iter().filter(|effect| matches!(effect, EvictionEffect::ReadNode { .. })).count();
    assert_eq!(confirms, 2);
}

#[test]
fn d6_finished_terminating_and_mirror_pods_are_skipped() {
    let mut world = one_node();
    world.add_pod("finished", "n1", &[]);
    world.edit_pod("finished", |fact| fact.life_phase = PodLifePhase::Finished);
    world.add_pod("terminating", "n1", &[]);
    world.edit_pod("terminating", |fact| fact.life_phase = PodLifePhase::Terminating);
    world.add_pod("mirror", "n1", &[]);
    world.edit_pod("mirror", |fact| fact.mirror = true);
    world.taint("n1", "k");
    world.pass(seconds(1000.0));
    assert!(world.left().is_empty() && world.effects.is_empty());
}

#[test]
fn te_30_the_condition_first_then_a_delete_with_the_resulting_version() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[]);
    world.taint("n1", "k");
    let [
        EvictionEffect::ReadNode { .. },
        EvictionEffect::SetDisruptionTarget { pod: marked, .. },
        EvictionEffect::DeletePod { pod, version, .. },
    ] = &world.effects[..]
    else {
        panic!("{:?}", world.effects)
    };
    assert_eq!(marked, pod);
    assert!(version.is_some());
}

#[test]
fn s1_a_pod_changed_without_an_event_yet_is_not_deleted() {
    for edit in [
        |fact: &mut taintward_core::fact::PodFact| fact.tolerations = vec![bears("k", None)],
        |fact: &mut taintward_core::fact::PodFact| fact.life_phase = PodLifePhase::Terminating,
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
        (DisruptionConditionPolicy::Always, PodOwnerKind::Other, 1),
        (DisruptionConditionPolicy::Jobs, PodOwnerKind::Other, 0),
        (DisruptionConditionPolicy::Jobs, PodOwnerKind::Job, 1),
        (DisruptionConditionPolicy::Never, PodOwnerKind::Job, 0),
    ] {
        let mut world = World::with(EvictionConfig { condition, ..EvictionConfig::default() });
        world.add_node("n1");
        world.add_pod("p", "n1", &[]);
        world.edit_pod("p", |fact| fact.owner = owner);
        world.taint("n1", "k");
        let seen = world
            .effects
            .iter()
            .filter(|effect| matches!(effect, EvictionEffect::SetDisruptionTarget { .. }))
            .count();
        assert_eq!((seen, world.left()), (marks, vec!["p"]), "{condition:?} {owner:?}");
    }
}

#[test]
fn d10_a_deleted_node_cancels_its_countdowns() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    world.pass(seconds(10.0));
    world.remove_node("n1");
    world.pass(seconds(1000.0));
    assert!(world.left().is_empty());
    // A node of the same name without taints changes nothing; with one, the countdown starts again.
    world.add_node("n1");
    world.pass(seconds(100.0));
    world.taint("n1", "k");
    let due = world.now + seconds(60.0);
    world.pass(seconds(100.0));
    assert_eq!(world.deleted_at("p"), Some(due));
}

#[test]
fn te_15_a_deleted_pod_cancels_its_countdown() {
    let mut world = one_node();
    world.add_pod("p", "n1", &[bears("k", Some(60))]);
    world.taint("n1", "k");
    assert_eq!(world.engine.stats().counting, 1);
    world.remove_pod("p");
    assert_eq!((world.engine.stats().counting, world.engine.next_wakeup()), (0, None));
    world.pass(seconds(1000.0));
    assert!(world.effects.is_empty());
}
