//! Tests that the annotation of a node makes evictions because of one of its taints respect budgets, and nothing else.

use super::world::{World, min_available};
use super::{cluster, graceful, left_on};
use taintward_core::eviction::DelayCategory;
use taintward_core::fact::{NodeRespect, TaintRespect};
use taintward_core::testkit::taint;
use taintward_core::time::{Span, Wall};

fn respect(deadline: Option<i64>, time_added: Option<Wall>) -> Box<NodeRespect> {
    let deadline = deadline.map(Span::from_secs);
    let entry = TaintRespect { key: "maintenance".into(), value: "".into(), time_added, deadline };
    Box::new(NodeRespect::Taints([entry].into()))
}

/// A cluster without policies, whose app may miss no pod.
fn protected() -> World {
    let mut world = cluster(Vec::new(), 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    world
}

fn annotate(world: &mut World, annotation: Option<Box<NodeRespect>>, taints: &[&str]) {
    world.change_node("n1", |fact| {
        fact.respect_budgets = annotation;
        fact.taints = taints.iter().map(|text| taint(text)).collect();
    });
}

#[test]
fn pods_wait_for_their_budget_until_the_deadline() {
    let mut world = protected();
    annotate(&mut world, respect(Some(60), None).into(), &["maintenance:NoExecute"]);
    world.pass(59_000);
    assert_eq!(left_on(&world, "n1"), 1);
    assert_eq!(world.engine.stats().delayed.of(DelayCategory::Budget), 1);
    let delayed = world.engine.delayed().next().unwrap();
    assert_eq!(delayed.policy, Some("of node n1 (taintward.io/respect-budgets)"));
    assert_eq!(delayed.forced_at, Some(delayed.due.plus(Span::from_secs(60))));
    assert!(delayed.respects_budgets);
    world.pass(3_000);
    assert_eq!((left_on(&world, "n1"), world.engine.stats().delayed.total()), (0, 0));
}

#[test]
fn other_taints_and_other_nodes_evict_at_once() {
    for taints in [
        &["other:NoExecute"][..],
        &["maintenance=x:NoExecute"],
        &["maintenance:NoExecute", "other:NoExecute"],
    ] {
        let mut world = protected();
        annotate(&mut world, respect(None, None).into(), taints);
        world.pass(1_000);
        assert_eq!(left_on(&world, "n1"), 0, "{taints:?}");
    }
    let mut world = protected();
    annotate(&mut world, respect(None, None).into(), &["maintenance:NoExecute"]);
    world.set_taints("n2", &["maintenance:NoExecute"]);
    world.pass(1_000);
    assert_eq!((left_on(&world, "n1"), left_on(&world, "n2")), (1, 0));
}

#[test]
fn an_entry_with_a_time_is_about_that_instance_only() {
    let added = Wall::from_secs(crate::common::EPOCH + 5);
    for (of_taint, left) in [(Some(added), 1), (None, 0)] {
        let mut world = protected();
        world.change_node("n1", |fact| {
            fact.respect_budgets = Some(respect(None, Some(added)));
            fact.taints = vec![taint("maintenance:NoExecute")];
            fact.taints[0].time_added = of_taint;
        });
        world.pass(10_000);
        assert_eq!(left_on(&world, "n1"), left, "{of_taint:?}");
    }
}

#[test]
fn what_cannot_be_decoded_delays_until_it_is_corrected() {
    let mut world = protected();
    annotate(&mut world, Some(Box::new(NodeRespect::Undecodable)), &["maintenance:NoExecute"]);
    world.pass(3_600_000);
    assert_eq!(left_on(&world, "n1"), 1);
    assert_eq!(world.reasons(), [("n1-0".to_owned(), "- Policy".to_owned())]);
    assert_eq!(world.engine.stats().delayed.of(DelayCategory::Policy), 1);
    annotate(&mut world, None, &["maintenance:NoExecute"]);
    world.pass(1_000);
    assert_eq!(left_on(&world, "n1"), 0);
}

#[test]
fn a_policy_for_the_taint_counts_instead() {
    let mut world = cluster(vec![graceful(Some(30))], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    annotate(&mut world, respect(None, None).into(), &["maintenance:NoExecute"]);
    world.monitor.tainted.insert("n1".to_owned(), world.now);
    world.pass(29_000);
    assert_eq!(left_on(&world, "n1"), 1);
    world.pass(3_000);
    assert_eq!(left_on(&world, "n1"), 0, "at the deadline of the policy");
}

#[test]
fn without_the_flag_the_annotation_means_nothing() {
    let mut world = World::without_policies();
    world.add_node("n1", "general");
    world.set_replicas("web", 1);
    world.add_pod("n1-0", "web", "n1", |_| {});
    world.pass(1_000);
    annotate(&mut world, respect(None, None).into(), &["maintenance:NoExecute"]);
    world.pass(1_000);
    assert_eq!(left_on(&world, "n1"), 0);
}
