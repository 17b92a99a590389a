//! Tests where the next pods of a workload go: not to a node that evicts them, to none that is closed, and not at all.

use super::*;
use crate::cluster_snapshot::{JobPhase, JobRecord};

/// DS-4: the countdown on a new node begins when the pod is bound to it, not when the taint appeared.
#[test]
fn a_pod_that_is_bound_to_a_tainted_node_is_evicted_after_its_own_seconds() {
    for (seconds, expected) in [(Some(600), Some(600)), (Some(0), Some(0)), (None, None)] {
        let mut told = builder();
        told.node(node("n1", vec![taint("db", "NoExecute")]));
        told.pod(PodRecord { spec: spec(vec![bears("db", seconds)]), ..pod("db-0", "", Some(WEB)) });
        let snapshot = told.finish();
        let bound_at = snapshot.now().mono.plus(Span::from_secs(100));
        let evicted = evicted_after_binding(&snapshot, &snapshot.pods()[0], &snapshot.instances(0), bound_at);
        let after = evicted.map(|at| at.since(bound_at).as_micros() / 1_000_000);
        assert_eq!(after, expected, "{seconds:?}");
    }
}

/// NB-3: a Job that fails recreates none of its pods; one that ignores evictions recreates them all.
#[test]
fn evicted_pods_of_a_job_that_fails_are_not_recreated() {
    let of_job = OwnerReference { group: "batch", kind: "Job", name: "train" };
    let mut told = builder();
    told.node(node("n1", vec![]));
    told.node(node("n2", vec![]));
    for name in ["a", "b"] {
        told.pod(PodRecord { spec: spec(vec![]), ..pod(name, "n1", Some(of_job)) });
    }
    let unknown = told.clone().finish();
    let job = |backoff_limit| JobRecord {
        namespace: "shop".into(),
        name: "train".into(),
        rules: vec![],
        backoff_limit: Some(backoff_limit),
        backoff_limit_per_index: None,
        max_failed_indexes: None,
        failed: 0,
        failed_indexes: 0,
        phase: JobPhase::Active,
    };
    let places = |snapshot: &ClusterSnapshot| -> Vec<Placement> {
        let told = forecast(snapshot, &[change(snapshot, 0, &[taint("x", "NoExecute")])], ALL);
        told.placements.into_iter().map(|placed| placed.place).collect()
    };
    let with = |limit| {
        let mut told = told.clone();
        told.job(job(limit));
        told.finish()
    };
    assert_eq!(places(&unknown), [Placement::Node(1), Placement::Node(1)]);
    assert_eq!(places(&with(2)), [Placement::Node(1), Placement::Node(1)]);
    let lost = Placement::None(RecreationPolicy::Never);
    assert_eq!(
        places(&with(1)),
        [lost.clone(), lost],
        "the second failure also ends what the first one recreated"
    );
}
