//! Tests what a snapshot says of ordered holds, and what a builder says of the objects so far.

use super::*;
use crate::fact::HoldPeriod;
use crate::verdict::{EvictionExemption, StayReason};

/// From now to 500 s from now.
fn period() -> Option<Box<[HoldPeriod]>> {
    Some([HoldPeriod { since: WALL, until: WALL.plus(Span::from_secs(500)) }].into())
}

/// Two pods, of which the second may have a hold, on a node that may have one; and one that is not bound.
fn with_holds(node: bool, pod: bool) -> ClusterSnapshot {
    let mut reported = builder();
    let mut record = node_record("n1", vec![taint(keys::UNREACHABLE).added(WALL)]);
    record.fact.holds = period().filter(|_| node);
    reported.node(record);
    let spec =
        || PodSchedulingSpec { tolerations: vec![toleration(keys::UNREACHABLE, Some(300))], ..pod_spec() };
    reported.pod(PodRecord { spec: spec(), ..pod_record("a", "n1", None) });
    let holds = || period().filter(|_| pod);
    reported.pod(PodRecord { spec: spec(), holds: holds(), ..pod_record("b", "n1", None) });
    reported.pod(PodRecord { spec: spec(), holds: holds(), ..pod_record("waiting", "", None) });
    reported.finish()
}

/// When the pods of the node are due.
fn dues(snapshot: &ClusterSnapshot) -> Vec<Outcome> {
    let taints = snapshot.instances(0);
    snapshot.pods_on(0).map(|at| snapshot.judge(&snapshot.pods()[at], &taints).outcome).collect()
}

#[test]
fn ordered_holds_of_nodes_and_pods_delay_until_they_are_ignored() {
    let (own, held) = (Outcome::StaysUntil(after_now(300)), Outcome::StaysUntil(after_now(800)));
    for (node, pod, expected) in [
        (false, false, [own, own]),
        (true, false, [held, held]),
        (false, true, [own, held]),
        (true, true, [held, held]),
    ] {
        let mut snapshot = with_holds(node, pod);
        assert_eq!(snapshot.has_ordered_holds(), node || pod);
        assert_eq!(snapshot.has_ordered_holds_of_pods(), pod);
        assert_eq!(dues(&snapshot), expected);
        snapshot.ignore_ordered_holds();
        assert!(!snapshot.has_ordered_holds());
        assert_eq!(dues(&snapshot), [own, own]);
    }
}

#[test]
fn holds_of_the_pods_that_a_policy_forbids_are_ignored() {
    let (own, held) = (Outcome::StaysUntil(after_now(300)), Outcome::StaysUntil(after_now(800)));
    for (forbids, expected) in [(false, held), (true, own)] {
        let mut snapshot = with_holds(false, true);
        let mut seen = Vec::new();
        snapshot.ignore_ordered_holds_of_pods(|pod, node, _| {
            seen.push((pod.name.name().to_string(), node.fact.name.to_string()));
            forbids
        });
        assert_eq!(seen, [("b".to_string(), "n1".to_string())], "only pods with a hold, and only bound ones");
        assert_eq!(dues(&snapshot), [own, expected]);
        assert!(snapshot.has_ordered_holds(), "the pod that is not bound keeps its own");
    }
}

#[test]
fn an_exempt_pod_is_judged_as_if_nothing_exempted_it() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![taint("k").added(WALL)]));
    reported.pod(PodRecord { mirror: true, ..pod_record("a", "n1", None) });
    let snapshot = reported.finish();
    let (pod, taints) = (&snapshot.pods()[0], snapshot.instances(0));
    let exempt = Outcome::Stays(StayReason::Exempt(EvictionExemption::Mirror));
    assert_eq!(snapshot.judge(pod, &taints).outcome, exempt);
    assert_eq!(snapshot.judge_exempt(pod, &taints).outcome, Outcome::Leaves { due: after_now(0) });
}

#[test]
fn a_builder_counts_its_objects_and_names_the_nodes_that_it_lacks() {
    let mut reported = builder();
    assert_eq!((reported.node_count(), reported.pod_count()), (0, 0));
    assert!(!reported.has_pods_of_jobs());
    for name in ["n1", "n2"] {
        reported.node(node_record(name, vec![]));
    }
    for (name, node) in [("a", "n1"), ("b", "n9"), ("c", "n1")] {
        reported.pod(pod_record(name, node, None));
    }
    assert_eq!((reported.node_count(), reported.pod_count()), (2, 3));
    assert_eq!(reported.missing_nodes(), [NodeName::new("n9")]);
    assert!(!reported.has_pods_of_jobs());
    let of_job = OwnerReference { group: "batch", kind: "Job", name: "train" };
    reported.pod(pod_record("d", "n2", Some(of_job)));
    assert!(reported.has_pods_of_jobs());
}

#[test]
fn of_two_budgets_with_the_same_name_the_last_counts() {
    let mut reported = builder();
    let budget = |namespace: &str, name: &str, count| DisruptionBudget {
        namespace: namespace.into(),
        name: name.into(),
        selector: None,
        floor: Some(DisruptionLimit::MinAvailable(IntOrPercent::Count(count))),
        status: None,
    };
    let all = [("shop", "a", 1), ("shop", "b", 2), ("bank", "a", 3), ("shop", "a", 4)];
    all.iter().for_each(|&(namespace, name, count)| reported.budget(budget(namespace, name, count)));
    let snapshot = reported.finish();
    assert_eq!(snapshot.budgets(), [budget("shop", "b", 2), budget("bank", "a", 3), budget("shop", "a", 4)]);
}

#[test]
fn numbers_are_compared_if_the_cluster_compares_them() {
    for numeric in [NumericOperators::Off, NumericOperators::On] {
        assert_eq!(SnapshotBuilder::new(WALL, numeric, false).finish().numeric(), numeric);
    }
}
