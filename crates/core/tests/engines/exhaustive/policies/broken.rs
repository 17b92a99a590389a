//! Tests that the properties find what is wrong: each forbids the request of a history that violates it.

use super::cluster::{PodPresence, PolicyCluster};
use super::{PolicyState, Scope, StepsLeft, graceful, policy};
use taintward_core::eviction::EvictionEffect;
use taintward_core::eviction_policy::{EvictionPolicy, UnavailableLimit, WaveOrder};
use taintward_core::time::Mono;

/// The deletion of a pod.
fn delete(cluster: &PolicyCluster, at: usize) -> EvictionEffect {
    EvictionEffect::DeletePod {
        pod: cluster.pod_ref(at),
        name: cluster.pod_fact(at).id.name().clone(),
        version: None,
        confirmed: Mono::from_secs(0),
        slow: false,
        grace_seconds: None,
    }
}

/// Its eviction by the eviction API.
fn evict(cluster: &PolicyCluster, at: usize) -> EvictionEffect {
    EvictionEffect::EvictPod {
        pod: cluster.pod_ref(at),
        name: cluster.pod_fact(at).id.name().clone(),
        confirmed: Mono::from_secs(0),
        grace_seconds: None,
    }
}

/// Two tainted nodes with three pods, a minute after their taints.
fn cluster(policy: EvictionPolicy) -> PolicyCluster {
    let scope = Scope {
        policy,
        brake: Some(2),
        pods: vec![(0, 0), (0, 1), (1, 0)],
        budget: Some(1),
        replaces: false,
        left: StepsLeft::default(),
    };
    let mut cluster = PolicyState::first(scope).cluster;
    cluster.nodes[0].tainted = Some(100);
    cluster.nodes[1].tainted = Some(100);
    cluster.now = 160;
    cluster
}

type Request = fn(&PolicyCluster, usize) -> EvictionEffect;

/// The request about the second pod is allowed, and forbidden for this reason after the change.
fn check(policy: EvictionPolicy, request: Request, reason: &str, breaks: impl FnOnce(&mut PolicyCluster)) {
    let mut cluster = cluster(policy);
    assert_eq!(cluster.forbids(&request(&cluster, 1), &[]), None, "{reason}");
    breaks(&mut cluster);
    assert_eq!(cluster.forbids(&request(&cluster, 1), &[]), Some(reason));
}

#[test]
fn every_property_finds_a_history_that_violates_it() {
    let limit = UnavailableLimit { replicas: Some(1), percent: None };
    check(policy(), delete, "the pod is not due", |cluster| cluster.nodes[0].tainted = None);
    check(policy(), delete, "the pod is held", |cluster| cluster.nodes[0].holds.push((150, 190)));
    check(policy(), delete, "the pod is held", |cluster| cluster.pods[1].holds.push((150, 190)));
    check(policy(), delete, "the brake is on", |cluster| cluster.settles_until = 161);
    check(graceful(60), evict, "no policy demands the eviction API", |cluster| cluster.has_policy = false);
    check(graceful(60), evict, "no policy demands the eviction API", |cluster| {
        cluster.is_definition_absent = true
    });
    check(graceful(60), delete, "the deadline has not come", |cluster| cluster.now = 159);
    check(graceful(60), delete, "the deadline has not come", |cluster| {
        cluster.nodes[0].holds.push((120, 121))
    });
    check(
        EvictionPolicy { pods_per_minute: Some(2), ..policy() },
        delete,
        "too many evictions in a minute",
        |cluster| cluster.sent = vec![100, 101, 130],
    );
    check(
        EvictionPolicy { nodes_at_once: Some(1), ..policy() },
        delete,
        "too many nodes are emptied",
        |cluster| cluster.nodes[1].is_begun = true,
    );
    check(
        EvictionPolicy { nodes_at_once: Some(1), ..policy() },
        delete,
        "too many nodes are emptied",
        |cluster| cluster.pods[2].presence = PodPresence::Terminating,
    );
    let replicas = || EvictionPolicy { unavailable_per_workload: Some(limit), ..policy() };
    check(replicas(), delete, "too many replicas are unavailable", |cluster| {
        cluster.pods[0].presence = PodPresence::Gone
    });
}

#[test]
fn every_property_finds_a_request_that_violates_it() {
    let invalid = cluster(graceful(0));
    assert_eq!(invalid.forbids(&evict(&invalid, 1), &[]), Some("the policy is invalid"));
    let plain = cluster(policy());
    assert_eq!(plain.forbids(&evict(&plain, 1), &[]), Some("the policy does not respect budgets"));
    let budget = cluster(graceful(60));
    let reason = Some("another eviction of the budget is in flight");
    assert_eq!(budget.forbids(&evict(&budget, 1), &[evict(&budget, 0)]), reason);
    let ordered = EvictionPolicy { order: Some(WaveOrder { timeout: None }), ..policy() };
    let mut ordered = cluster(ordered);
    assert_eq!(ordered.forbids(&delete(&ordered, 1), &[]), Some("an earlier wave is not gone"));
    ordered.pods[0].presence = PodPresence::Terminating;
    assert_eq!(ordered.forbids(&delete(&ordered, 1), &[]), Some("an earlier wave is not gone"));
    ordered.pods[0].presence = PodPresence::Gone;
    assert_eq!(ordered.forbids(&delete(&ordered, 1), &[]), None);
    let mut braked = cluster(policy());
    braked.nodes[2].tainted = Some(130);
    braked.pods[2].node = 2;
    assert_eq!(braked.forbids(&delete(&braked, 1), &[]), None, "two nodes count");
    braked.pods[0].node = 1;
    assert_eq!(braked.forbids(&delete(&braked, 1), &[]), Some("the brake is on"));
}

#[test]
#[should_panic(expected = "do not leave")]
fn a_pod_that_never_leaves_is_found() {
    let mut state = PolicyState::first(Scope { pods: vec![(0, 0)], ..Scope::default() });
    // The engine does not know of the taint.
    state.cluster.nodes[0].tainted = Some(100);
    state.end(true);
}

#[test]
#[should_panic(expected = "after their deadline")]
fn a_pod_that_is_late_is_found() {
    let scope = Scope { policy: graceful(60), pods: vec![(0, 0)], budget: Some(0), ..Scope::default() };
    let mut state = PolicyState::first(scope);
    state.cluster.nodes[0].tainted = Some(100);
    state.end(false);
}
