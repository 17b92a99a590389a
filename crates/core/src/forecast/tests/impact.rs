//! Tests what a forecast says of budgets, workloads and the pods that it is asked about.

use super::recreation::job;
use super::*;

const BUDGET: BudgetImpact = BudgetImpact {
    budget: 0,
    leaving: 3,
    leaving_healthy: 3,
    evicted_healthy: 0,
    healthy: 5,
    desired: Some(2),
};

#[test]
fn a_budget_is_broken_by_evictions_that_ignore_it_and_blocks_the_others() {
    assert_eq!((BUDGET.is_broken(), BUDGET.blocked(), BUDGET.allows()), (false, 0, Some(3)));
    let narrow = BudgetImpact { desired: Some(3), ..BUDGET };
    assert_eq!((narrow.is_broken(), narrow.blocked(), narrow.allows()), (true, 0, Some(2)));
    let drained = BudgetImpact { evicted_healthy: 3, ..narrow };
    assert_eq!((drained.is_broken(), drained.blocked()), (false, 1));
    let broken = BudgetImpact { desired: Some(6), ..drained };
    assert_eq!((broken.is_broken(), broken.blocked(), broken.allows()), (false, 3, Some(0)));
    let unknown = BudgetImpact { desired: None, ..BUDGET };
    assert_eq!((unknown.is_broken(), unknown.blocked(), unknown.allows()), (false, 0, None));
}

const fn owner(name: &'static str) -> Option<OwnerReference<'static>> {
    Some(OwnerReference { group: "apps", kind: "StatefulSet", name })
}

fn workloads(snapshot: &ClusterSnapshot, of: &[u32]) -> Vec<String> {
    of.iter().map(|at| snapshot.workloads()[*at as usize].to_string()).collect()
}

/// By the number of evicted pods, now and later: not by one of the two.
#[test]
fn the_workload_that_loses_most_pods_comes_first() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    let waiting = || spec(vec![tolerates("k", Some(60))]);
    for (name, set, spec) in [
        ("a-0", "a", spec(vec![])),
        ("a-1", "a", waiting()),
        ("b-0", "b", spec(vec![])),
        ("b-1", "b", spec(vec![])),
        ("b-2", "b", spec(vec![])),
        ("c-0", "c", waiting()),
        ("d-0", "d", spec(vec![])),
        ("d-1", "d", waiting()),
        ("d-2", "d", waiting()),
    ] {
        reported.pod(PodRecord { spec, ..pod_record(name, "n1", owner(set)) });
    }
    let snapshot = reported.finish();
    let reported = forecast(&snapshot, &[change(&snapshot, 0, &[taint("k")])], ALL);
    let order: Vec<u32> = reported.workloads.iter().map(|impact| impact.workload).collect();
    let expected = ["b", "d", "a", "c"].map(|name| alloc::format!("StatefulSet shop/{name}"));
    assert_eq!(workloads(&snapshot, &order), expected);
}

fn budget(name: &str, app: &str) -> DisruptionBudget {
    let is_app = NodeRequirement { key: "app".into(), operator: NodeOperator::In, values: vec![app.into()] };
    DisruptionBudget {
        namespace: "shop".into(),
        name: name.into(),
        selector: Some(vec![is_app]),
        floor: Some(DisruptionLimit::MinAvailable(IntOrPercent::Count(1))),
        status: None,
    }
}

/// The pods of others count in a budget that selects one of the reported pods, as they are evicted, too.
#[test]
fn only_the_budgets_of_reported_pods_are_reported() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    for (name, app) in [("a", "web"), ("b", "web"), ("c", "db")] {
        reported.pod(PodRecord { labels: labels(&[("app", app)]), ..pod_record(name, "n1", None) });
    }
    reported.budget(budget("db", "db"));
    reported.budget(budget("web", "web"));
    let snapshot = reported.finish();
    let changes = [change(&snapshot, 0, &[taint("k")])];
    let impacts = |about: &[bool]| -> Vec<(String, u32)> {
        let reported = forecast(&snapshot, &changes, ForecastOptions { about, ..ALL });
        let name = |impact: &BudgetImpact| snapshot.budgets()[impact.budget].name.to_string();
        reported.budgets.iter().map(|impact| (name(impact), impact.leaving)).collect()
    };
    assert_eq!(impacts(&[]), [("db".to_string(), 1), ("web".to_string(), 2)]);
    assert_eq!(impacts(&[true, false, false]), [("web".to_string(), 2)]);
    assert_eq!(impacts(&[false, false, true]), [("db".to_string(), 1)]);
}

/// A workload with an evicted pod that no node accepts is reported with that pod; the others are reported as closed.
#[test]
fn a_workload_is_closed_although_a_pod_of_another_one_is_placed_nowhere() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    for (name, set, tolerations) in [
        ("a-0", "a", vec![tolerates("k", None)]),
        ("b-0", "b", vec![]),
        ("c-0", "c", vec![tolerates("", None)]),
    ] {
        reported.pod(PodRecord { spec: spec(tolerations), ..pod_record(name, "n1", owner(set)) });
    }
    let snapshot = reported.finish();
    let taints = [taint("k"), taint_of("other", "", "NoSchedule")];
    let reported = forecast(&snapshot, &[change(&snapshot, 0, &taints)], ALL);
    assert!(matches!(reported.placements[..], [PlacedPod { place: Placement::Nowhere(_), .. }]));
    assert_eq!(workloads(&snapshot, &reported.closed), ["StatefulSet shop/a"], "c-0 tolerates both taints");
}

/// It is not recreated although its kind would be, and a bare pod is not, whatever the Job does.
#[test]
fn whether_a_pod_is_recreated_follows_from_its_job_and_its_kind() {
    let of_job = OwnerReference { group: "batch", kind: "Job", name: "train" };
    let recreation = |backoff_limit| {
        let mut reported = builder();
        reported.node(node_record("n1", vec![]));
        reported.pod(pod_record("a", "n1", Some(of_job)));
        reported.pod(pod_record("b", "n1", None));
        reported.pod(pod_record("c", "n1", Some(WEB)));
        reported.job(job(backoff_limit));
        let snapshot = reported.finish();
        let reported = forecast(&snapshot, &[change(&snapshot, 0, &[taint("k")])], ALL);
        [0, 1, 2].map(|pod| reported.recreation(&snapshot, pod))
    };
    let (job, replica) = (recreation(6)[0], recreation(6)[2]);
    assert_ne!(job, RecreationPolicy::Never);
    assert_eq!(recreation(6), [job, RecreationPolicy::Never, replica]);
    assert_eq!(recreation(0), [RecreationPolicy::Never, RecreationPolicy::Never, replica]);
    assert_ne!(replica, RecreationPolicy::Never);
}

/// The earliest evictions are placed; of simultaneous ones, those of less important pods.
#[test]
fn the_first_evictions_are_placed_if_there_are_too_many() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    reported.node(node_record("n2", vec![]));
    for (name, priority, seconds) in
        [("late", 0, Some(60)), ("high", 9, None), ("low", 1, None), ("later", 0, Some(90)), ("mid", 5, None)]
    {
        let tolerations = seconds.map(|seconds| tolerates("k", Some(seconds))).into_iter().collect();
        let spec = PodSchedulingSpec { priority, ..spec(tolerations) };
        reported.pod(PodRecord { spec, ..pod_record(name, "n1", owner("s")) });
    }
    let snapshot = reported.finish();
    let first = |places_max| {
        let options = ForecastOptions { places_max, ..ALL };
        let reported = forecast(&snapshot, &[change(&snapshot, 0, &[taint("k")])], options);
        let name = |placed: &PlacedPod| snapshot.pods()[placed.pod as usize].name.name().to_string();
        (reported.placements.iter().map(name).collect::<Vec<_>>().join(" "), reported.unplaced)
    };
    assert_eq!(first(0), (String::new(), 5));
    assert_eq!(first(1), ("low".into(), 4));
    assert_eq!(first(2), ("low mid".into(), 3));
    assert_eq!(first(4), ("low mid high late".into(), 1));
    assert_eq!(first(5), ("low mid high late later".into(), 0));
}

/// DS-4: also by a taint that the change adds.
#[test]
fn a_node_that_the_change_taints_evicts_the_pod_again() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    reported.node(node_record("n2", vec![]));
    reported.pod(PodRecord {
        spec: spec(vec![tolerates("db", Some(600))]),
        ..pod_record("db-0", "n1", Some(WEB))
    });
    let snapshot = reported.finish();
    let place = |changes: &[PlannedNodeChange]| forecast(&snapshot, changes, ALL).placements[0].place.clone();
    let gets = change(&snapshot, 0, &[taint("x")]);
    assert_eq!(place(core::slice::from_ref(&gets)), Placement::Node(1));
    assert_eq!(place(&[gets, change(&snapshot, 1, &[taint("db")])]), Placement::Again(1));
}

/// Two replicas leave the first node, which would take them again, and one stays on the second.
#[test]
fn replicas_that_leave_together_no_longer_count_where_they_were() {
    let places = |number: usize| {
        let mut reported = builder();
        for name in ["n1", "n2"] {
            let labels = labels(&[("kubernetes.io/hostname", name)]);
            reported.node(crate::cluster_snapshot::NodeRecord { labels, ..node_record(name, vec![]) });
        }
        let replica = |name, node| PodRecord {
            spec: spec(vec![tolerates("k", Some(60))]),
            ..pod_record(name, node, owner("s"))
        };
        let name = alloc::format!("s-{number}");
        reported.pod(replica(&name, "n1"));
        reported.pod(replica("s-x", "n1"));
        reported.pod(replica("s-y", "n2"));
        let snapshot = reported.finish();
        let reported = forecast(&snapshot, &[change(&snapshot, 0, &[taint("k")])], ALL);
        reported.placements.into_iter().map(|placed| placed.place).collect::<Vec<_>>()
    };
    for number in 0..8 {
        assert!(places(number).contains(&Placement::Again(0)), "{:?}", places(number));
    }
}
