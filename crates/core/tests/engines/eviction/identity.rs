//! Tests that only the judged pod is deleted: UIDs, live reads, exempt pods, preconditions of requests.

use crate::common::{EvictionHarness, seconds};
use crate::eviction::one_node;
use taintward_core::engine::Engine;
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionEffect};
use taintward_core::fact::{PodLifePhase, PodOwnerKind};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::toleration;

#[test]
fn d4_a_successor_of_the_same_name_is_another_pod() {
    let mut harness = one_node();
    harness.add_pod("web-0", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    harness.pass(seconds(50.0));
    harness.remove_pod("web-0");
    harness.add_pod("web-0", "n1", &[toleration("k", Some(60))]);
    let due = harness.now + seconds(60.0);
    harness.pass(seconds(59.9));
    assert!(harness.left().is_empty());
    harness.pass(seconds(1.0));
    assert_eq!(harness.deleted_at("web-0"), Some(due));
}

#[test]
fn d4_a_successor_without_an_event_yet_stays() {
    let mut harness = one_node();
    harness.add_node("n2");
    harness.add_pod("web-0", "n1", &[]);
    harness.deaf = true;
    harness.remove_pod("web-0");
    harness.add_pod("web-0", "n2", &[]);
    harness.add_taint("n1", "k");
    // Only the node's event arrives; the pod's is late.
    let node = harness.node_fact("n1").expect("the node");
    let clock = harness.clock();
    harness.engine.handle(
        taintward_core::eviction::EvictionInput::Nodes(ObjectEvent::Applied { fact: node, listed: false }),
        clock,
    );
    harness.work();
    assert!(harness.left().is_empty());
    harness.deaf = false;
    harness.receive();
    harness.pass(seconds(100.0));
    assert!(harness.left().is_empty());
    assert!(harness.pods.contains_key("web-0"));
}

#[test]
fn d5_a_taint_that_the_live_read_does_not_find_evicts_no_pod() {
    let mut harness = one_node();
    harness.deaf = true;
    harness.add_taint("n1", "k");
    let stale = harness.node_fact("n1").expect("the node");
    harness.untaint("n1", "k");
    harness.add_pod("p", "n1", &[]);
    let pod = harness.pods["p"].fact.clone();
    let clock = harness.clock();
    harness.engine.handle(
        taintward_core::eviction::EvictionInput::Nodes(ObjectEvent::Applied { fact: stale, listed: false }),
        clock,
    );
    harness.engine.handle(
        taintward_core::eviction::EvictionInput::Pods(ObjectEvent::Applied { fact: pod, listed: false }),
        clock,
    );
    harness.work();
    assert!(matches!(harness.effects[..], [EvictionEffect::ReadNode { .. }]), "{:?}", harness.effects);
    assert!(harness.left().is_empty());
}

#[test]
fn d5_one_read_serves_all_pods_of_a_node_and_an_old_read_none() {
    let mut harness = one_node();
    for at in 0..50 {
        harness.add_pod(&format!("p{at}"), "n1", &[toleration("k", Some(if at < 25 { 0 } else { 10 }))]);
    }
    harness.add_taint("n1", "k");
    harness.pass(seconds(20.0));
    assert_eq!(harness.left().len(), 50);
    let confirms =
        harness.effects.iter().filter(|effect| matches!(effect, EvictionEffect::ReadNode { .. })).count();
    assert_eq!(confirms, 2);
}

#[test]
fn d6_finished_terminating_and_mirror_pods_are_skipped() {
    let mut harness = one_node();
    harness.add_pod("finished", "n1", &[]);
    harness.edit_pod("finished", |fact| fact.life_phase = PodLifePhase::Finished);
    harness.add_pod("terminating", "n1", &[]);
    harness.edit_pod("terminating", |fact| fact.life_phase = PodLifePhase::Terminating);
    harness.add_pod("mirror", "n1", &[]);
    harness.edit_pod("mirror", |fact| fact.mirror = true);
    harness.add_taint("n1", "k");
    harness.pass(seconds(1000.0));
    assert!(harness.left().is_empty() && harness.effects.is_empty());
}

#[test]
fn te_30_the_condition_first_then_a_delete_with_the_resulting_version() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[]);
    harness.add_taint("n1", "k");
    let [
        EvictionEffect::ReadNode { .. },
        EvictionEffect::SetDisruptionTarget { pod: marked, .. },
        EvictionEffect::DeletePod { pod, version, .. },
    ] = &harness.effects[..]
    else {
        panic!("{:?}", harness.effects)
    };
    assert_eq!(marked, pod);
    assert!(version.is_some());
}

#[test]
fn s1_a_pod_changed_without_an_event_yet_is_not_deleted() {
    for edit in [
        |fact: &mut taintward_core::fact::PodFact| fact.tolerations = vec![toleration("k", None)],
        |fact: &mut taintward_core::fact::PodFact| fact.life_phase = PodLifePhase::Terminating,
    ] {
        let mut harness = one_node();
        harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
        harness.add_taint("n1", "k");
        harness.pass(seconds(59.0));
        harness.deaf = true;
        harness.edit_pod("p", edit);
        harness.pass(seconds(1000.0));
        assert!(harness.left().is_empty());
        assert!(!harness.pods["p"].fact.marked);
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
        let mut harness = EvictionHarness::with(EvictionConfig { condition, ..EvictionConfig::default() });
        harness.add_node("n1");
        harness.add_pod("p", "n1", &[]);
        harness.edit_pod("p", |fact| fact.owner = owner);
        harness.add_taint("n1", "k");
        let seen = harness
            .effects
            .iter()
            .filter(|effect| matches!(effect, EvictionEffect::SetDisruptionTarget { .. }))
            .count();
        assert_eq!((seen, harness.left()), (marks, vec!["p"]), "{condition:?} {owner:?}");
    }
}

#[test]
fn d10_a_deleted_node_cancels_its_countdowns() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    harness.pass(seconds(10.0));
    harness.remove_node("n1");
    harness.pass(seconds(1000.0));
    assert!(harness.left().is_empty());
    // A node of the same name without taints changes nothing; with one, the countdown starts again.
    harness.add_node("n1");
    harness.pass(seconds(100.0));
    harness.add_taint("n1", "k");
    let due = harness.now + seconds(60.0);
    harness.pass(seconds(100.0));
    assert_eq!(harness.deleted_at("p"), Some(due));
}

#[test]
fn te_15_a_deleted_pod_cancels_its_countdown() {
    let mut harness = one_node();
    harness.add_pod("p", "n1", &[toleration("k", Some(60))]);
    harness.add_taint("n1", "k");
    assert_eq!(harness.engine.stats().counting, 1);
    harness.remove_pod("p");
    assert_eq!((harness.engine.stats().counting, harness.engine.next_wakeup()), (0, None));
    harness.pass(seconds(1000.0));
    assert!(harness.effects.is_empty());
}
