//! Tests where the next pods of a workload go: not to a node that evicts them, to none that is closed, and not at all.

use super::*;
use crate::cluster_snapshot::{JobPhase, JobRecord};

/// DS-4: the countdown on a new node begins when the pod is bound to it, not when the taint appeared.
#[test]
fn a_pod_that_is_bound_to_a_tainted_node_is_evicted_after_its_own_seconds() {
    for (seconds, expected) in [(Some(600), Some(600)), (Some(0), Some(0)), (None, None)] {
        let mut reported = builder();
        reported.node(node_record("n1", vec![taint("db:NoExecute")]));
        reported.pod(PodRecord {
            spec: spec(vec![tolerates("db", seconds)]),
            ..pod_record("db-0", "", Some(WEB))
        });
        let snapshot = reported.finish();
        let bound_at = snapshot.now().mono.plus(Span::from_secs(100));
        let evicted = evicted_after_binding(&snapshot, &snapshot.pods()[0], &snapshot.instances(0), bound_at);
        let after = evicted.map(|at| at.since(bound_at).as_micros() / 1_000_000);
        assert_eq!(after, expected, "{seconds:?}");
    }
}

/// Without an eviction, a workload may lose the last node that accepts its pods.
#[test]
fn the_last_node_that_accepts_a_workload_is_reported_when_it_closes() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    reported.node(node_record("n2", vec![]));
    reported.node(node_record("n3", vec![taint("gpu:NoSchedule")]));
    let dns = OwnerReference { name: "dns-abc", ..WEB };
    reported.pod(PodRecord { spec: spec(vec![]), ..pod_record("web-1", "n1", Some(WEB)) });
    reported
        .pod(PodRecord { spec: spec(vec![tolerates("gpu", None)]), ..pod_record("dns-1", "n1", Some(dns)) });
    reported.pod(PodRecord { spec: spec(vec![]), ..pod_record("logs-1", "n1", Some(LOGS)) });
    reported.pod(PodRecord { spec: spec(vec![]), ..pod_record("alone", "n1", None) });
    let snapshot = reported.finish();
    let closed = |changes: &[PlannedNodeChange]| -> Vec<String> {
        let reported = forecast(&snapshot, changes, ALL);
        reported.closed.iter().map(|at| snapshot.workloads()[*at as usize].to_string()).collect()
    };
    let close = |node, effect| change(&snapshot, node, &[taint_of("db", "", effect)]);
    let cordon = |node| PlannedNodeChange { unschedulable: true, ..change(&snapshot, node, &[]) };
    let web = ["ReplicaSet shop/web-abc".to_string()];
    assert_eq!(closed(&[close(0, "NoSchedule")]), [""; 0], "n2 is open");
    assert_eq!(closed(&[close(0, "NoSchedule"), close(1, "NoSchedule")]), web, "dns-1 may run on n3");
    assert_eq!(closed(&[cordon(0), cordon(1)]), web);
    assert_eq!(closed(&[close(0, "PreferNoSchedule"), close(1, "PreferNoSchedule")]), [""; 0]);
    assert_eq!(closed(&[close(1, "NoSchedule")]), [""; 0], "n1 is open");
    // Then web-1 is reported as unschedulable.
    assert_eq!(closed(&[close(0, "NoExecute"), close(1, "NoSchedule")]), [""; 0]);
    let nothing = ForecastOptions { about: &[false, false, false, false], ..ALL };
    assert!(forecast(&snapshot, &[cordon(0), cordon(1)], nothing).closed.is_empty());
}

/// The Job `shop/train`, of which no pod has failed.
pub(super) fn job(backoff_limit: u32) -> JobRecord {
    JobRecord {
        namespace: "shop".into(),
        name: "train".into(),
        rules: vec![],
        backoff_limit: Some(backoff_limit),
        backoff_limit_per_index: None,
        max_failed_indexes: None,
        failed: 0,
        failed_indexes: 0,
        phase: JobPhase::Active,
    }
}

/// NB-3: a Job that fails recreates none of its pods; one that ignores evictions recreates them all.
#[test]
fn evicted_pods_of_a_job_that_fails_are_not_recreated() {
    let of_job = OwnerReference { group: "batch", kind: "Job", name: "train" };
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    reported.node(node_record("n2", vec![]));
    for name in ["a", "b"] {
        reported.pod(PodRecord { spec: spec(vec![]), ..pod_record(name, "n1", Some(of_job)) });
    }
    let unknown = reported.clone().finish();
    let places = |snapshot: &ClusterSnapshot| -> Vec<Placement> {
        let reported = forecast(snapshot, &[change(snapshot, 0, &[taint("x:NoExecute")])], ALL);
        reported.placements.into_iter().map(|placed| placed.place).collect()
    };
    let with = |limit| {
        let mut reported = reported.clone();
        reported.job(job(limit));
        reported.finish()
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
