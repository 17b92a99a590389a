//! Tests what the status of a policy reports.

use super::world::{World, min_available};
use super::{cluster, graceful, policy, taint_nodes};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::{DisruptionLimit, IntOrPercent};
use taintward_core::eviction::{DelayCategory, EvictionPolicyStatus};
use taintward_core::eviction_policy::{EvictionPolicy, UnavailableLimit};

fn status(world: &World) -> EvictionPolicyStatus {
    let mut statuses = world.engine.policy_statuses(world.time());
    assert_eq!(statuses.len(), 1);
    statuses.remove(0).1
}

/// Status, reason and message of a condition.
fn condition(status: &EvictionPolicyStatus, kind: &str) -> (String, String, String) {
    let found = status.conditions.iter().find(|one| *one.kind == *kind).unwrap();
    (found.status.to_string(), found.reason.to_string(), found.message.to_string())
}

#[test]
fn pods_are_counted_by_what_they_wait_for_and_the_first_ten_are_named() {
    let mut world = cluster(vec![graceful(None)], 5);
    world.add_budget("web", "web", min_available(15));
    world.pass(1_000);
    let before = status(&world);
    assert_eq!((before.governed, before.forced, &before.oldest), (0, 0, &None));
    taint_nodes(&mut world, &["n2"], &["maintenance:NoExecute"]);
    let tainted = world.now;
    world.pass(3_000);
    taint_nodes(&mut world, &["n1", "n3"], &["maintenance:NoExecute"]);
    world.pass(3_000);
    let seen = status(&world);
    assert_eq!(seen.governed, 15);
    assert_eq!(seen.waiting, BTreeMap::from([(DelayCategory::Budget, 15)]));
    let stats = world.engine.stats();
    let oldest = stats.oldest_delayed.map(|due| due.as_micros() / 1_000);
    assert!(oldest.is_some_and(|due| (tainted..tainted + 100).contains(&due)), "{stats:?}, since {tainted}");
    assert_eq!((stats.delayed.of(DelayCategory::Budget), stats.delayed.total()), (15, 15));
    assert_eq!(seen.names.len(), 10, "bounded");
    let first: Vec<&str> = seen.names.iter().take(5).map(|name| name.name()).collect();
    assert_eq!(first, ["n2-0", "n2-1", "n2-2", "n2-3", "n2-4"]);
    let oldest = seen.oldest.unwrap();
    assert_eq!((oldest.pod.as_str(), oldest.node.as_str()), ("default/n2-0", "n2"));
    assert_eq!(oldest.message, "waits for budget default/web: 15 pods are healthy, 15 required");
    let since = world.time().wall.as_micros() - oldest.since.as_micros();
    let waited = (world.now - tainted) * 1_000;
    assert!((waited - 1_100_000..=waited + 1_000_000).contains(&since), "{since} {waited}");
}

#[test]
fn a_budget_that_never_allows_blocks_a_policy_without_a_deadline() {
    for (deadline, expected) in
        [(None, ("True", "BudgetNeverAllows")), (Some(600), ("False", "WaitsForDeadline"))]
    {
        let mut world = cluster(vec![graceful(deadline)], 1);
        world.add_budget("web", "web", DisruptionLimit::MaxUnavailable(IntOrPercent::Count(0)));
        world.pass(1_000);
        assert_eq!(condition(&status(&world), "Blocked").0, "False", "no pod waits");
        taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
        world.pass(2_000);
        let (is_blocked, reason, message) = condition(&status(&world), "Blocked");
        assert_eq!((&*is_blocked, &*reason), expected);
        let seen = status(&world);
        assert_eq!((seen.is_ready(), seen.is_blocked()), (true, is_blocked == "True"));
        assert_eq!(seen.condition("Blocked").map(|found| &*found.reason), Some(&*reason));
        assert!(
            message.starts_with("pod default/n1-0 waits for budget default/web, which never"),
            "{message}"
        );
        // It needs no person while it has a deadline.
        assert_eq!(message.contains(": allow a disruption in the budget"), deadline.is_none(), "{message}");
        assert_eq!(condition(&status(&world), "Ready").0, "True", "the policy itself is valid");
    }
}

#[test]
fn forced_deletions_are_counted_on_from_what_the_status_has() {
    let mut world = cluster(vec![graceful(Some(30))], 2);
    world.add_budget("web", "web", min_available(6));
    world.recorded_forced = 7;
    world.restart();
    world.pass(1_000);
    assert_eq!(status(&world).forced, 7);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(29_000);
    assert_eq!(status(&world).forced, 7, "not before the deadline");
    world.pass(3_000);
    assert_eq!(status(&world).forced, 9);
}

/// A pod without a grace period is gone before the response to its deletion arrives.
#[test]
fn forced_deletions_are_counted_although_the_watch_is_faster_than_the_response() {
    let mut world = cluster(vec![graceful(Some(30))], 2);
    (world.delays.request, world.delays.watch, world.delays.termination) = (400, 1, 1);
    world.add_budget("web", "web", min_available(6));
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(29_000);
    assert_eq!(status(&world).forced, 0);
    world.pass(4_000);
    assert_eq!((status(&world).forced, world.forced("graceful")), (2, 2));
}

#[test]
fn an_invalid_policy_is_not_ready_says_why_and_blocks() {
    let invalid = EvictionPolicy { pods_per_minute: Some(0), ..policy("invalid") };
    let mut world = cluster(vec![invalid], 1);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(2_000);
    let seen = status(&world);
    let (is_ready, reason, message) = condition(&seen, "Ready");
    assert_eq!((&*is_ready, &*reason), ("False", "Invalid"));
    assert!(message.contains("spec.maxPodsPerMinute is 0"), "{message}");
    assert_eq!(condition(&seen, "Blocked").1, "InvalidPolicy");
    assert_eq!((seen.is_ready(), seen.is_blocked()), (false, true));
    assert_eq!(seen.waiting, BTreeMap::from([(DelayCategory::Policy, 1)]));
}

#[test]
fn a_status_is_computed_again_only_after_a_change() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(2_000);
    assert!(world.engine.take_policy_changes());
    assert!(!world.engine.take_policy_changes());
    world.set_taints("n1", &[]);
    world.pass(1_000);
    assert!(world.engine.take_policy_changes(), "the pod waits no more");
    assert_eq!(status(&world).governed, 0);
}

#[test]
fn a_cluster_needs_to_know_what_its_policies_name() {
    let limit = UnavailableLimit { replicas: Some(1), percent: None };
    let replicas = EvictionPolicy { unavailable_per_workload: Some(limit), ..policy("replicas") };
    for (policies, budgets, workloads) in [
        (vec![], false, false),
        (vec![policy("plain")], false, false),
        (vec![policy("plain"), graceful(None)], true, false),
        (vec![policy("plain"), replicas], false, true),
    ] {
        let engine = cluster(policies, 1).engine;
        assert_eq!((engine.needs_budgets(), engine.needs_workloads()), (budgets, workloads));
    }
}

#[test]
fn a_limit_ends_by_itself_and_does_not_block() {
    let mut world = cluster(vec![EvictionPolicy { nodes_at_once: Some(1), ..graceful(None) }], 2);
    world.delays.termination = 60_000;
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(2_000);
    taint_nodes(&mut world, &["n2"], &["maintenance:NoExecute"]);
    world.pass(2_000);
    let seen = status(&world);
    assert_eq!(seen.waiting, BTreeMap::from([(DelayCategory::Limit, 2)]));
    assert_eq!(condition(&seen, "Blocked").1, "NotBlocked");
    assert_eq!(seen.oldest.as_ref().map(|oldest| oldest.pod.name()), Some("n2-0"));
}

/// Pods whose deletion is on its way are governed, too.
#[test]
fn a_policy_governs_the_pods_whose_eviction_is_under_way() {
    let mut world = cluster(vec![policy("plain")], 2);
    world.delays.request = 1_000;
    taint_nodes(&mut world, &["n1", "n2"], &["maintenance:NoExecute"]);
    let mut most = 0;
    for _ in 0..100 {
        world.pass(100);
        most = most.max(status(&world).governed);
        assert_eq!(status(&world).waiting, BTreeMap::new());
    }
    assert_eq!((most, status(&world).governed), (4, 0));
}

#[test]
fn a_budget_changes_a_status_only_while_pods_wait() {
    let mut world = cluster(vec![graceful(None)], 1);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    assert!(world.engine.take_policy_changes(), "they are new");
    world.add_budget("web", "web", min_available(2));
    world.pass(1_000);
    assert!(!world.engine.take_policy_changes(), "no pod waits");
    world.set_policy(graceful(None));
    world.pass(100);
    world.add_budget("web", "web", min_available(3));
    world.pass(1_000);
    assert!(world.engine.take_policy_changes(), "the policy has changed, whatever follows");
    taint_nodes(&mut world, &["n1"], &["maintenance:NoExecute"]);
    world.pass(1_000);
    assert!(world.engine.take_policy_changes());
    world.pass(1_000);
    assert!(!world.engine.take_policy_changes());
    world.add_budget("web", "web", min_available(4));
    world.pass(1_000);
    assert!(world.engine.take_policy_changes(), "a message names what the budget requires");
}
