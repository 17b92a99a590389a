//! Tests forecasts with tables and properties.

mod impact;
mod recreation;
mod spread;

use super::*;
use crate::cluster_snapshot::tests::{builder, labels, node_record, pod_record};
use crate::cluster_snapshot::{
    DisruptionBudget, DisruptionLimit, IntOrPercent, OwnerReference, PodRecord, RecreationPolicy,
};
use crate::fact::PodLifePhase;
use crate::scheduling::{NodeOperator, NodeRequirement, PodSchedulingSpec, ResourceRequests};
use crate::testkit::{pod_spec, taint, taint_of, toleration};
use crate::time::Span;
use crate::toleration::Toleration;
use crate::verdict;
use alloc::string::{String, ToString};
use alloc::vec;
use proptest::prelude::*;

const ALL: ForecastOptions<'_> = ForecastOptions { until: Mono::NEVER, places_max: 1_000, about: &[] };

/// A toleration of every effect.
fn tolerates(key: &str, seconds: Option<i64>) -> Toleration {
    Toleration { effect: None, ..toleration(key, seconds) }
}

fn spec(tolerations: Vec<Toleration>) -> PodSchedulingSpec {
    let load = ResourceRequests { requested: [("cpu".into(), 1_000)].into(), ..ResourceRequests::default() };
    PodSchedulingSpec { tolerations, load, ..pod_spec() }
}

const WEB: OwnerReference<'static> = OwnerReference { group: "apps", kind: "ReplicaSet", name: "web-abc" };
const LOGS: OwnerReference<'static> = OwnerReference { group: "apps", kind: "DaemonSet", name: "logs" };

/// Two nodes of 4 CPUs. The first one has two of three pods of a Deployment, one of which waits 60 s, an agent that
/// tolerates everything, a bare pod, and one that has terminated.
fn shop() -> ClusterSnapshot {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    reported.node(node_record("n2", vec![]));
    let web = labels(&[("app", "web"), ("pod-template-hash", "abc")]);
    let of_web = |name: &'static str, node, tolerations| PodRecord {
        labels: web.clone(),
        spec: spec(tolerations),
        ..pod_record(name, node, Some(WEB))
    };
    reported.pod(of_web("web-1", "n1", vec![]));
    reported.pod(of_web("web-2", "n1", vec![tolerates("db", Some(60))]));
    reported.pod(of_web("web-3", "n2", vec![]));
    reported
        .pod(PodRecord { spec: spec(vec![tolerates("", None)]), ..pod_record("logs-1", "n1", Some(LOGS)) });
    reported.pod(PodRecord { spec: spec(vec![]), ..pod_record("alone", "n1", None) });
    reported.pod(PodRecord { life_phase: PodLifePhase::Finished, ..pod_record("done", "n1", None) });
    reported.budget(DisruptionBudget {
        namespace: "shop".into(),
        name: "web".into(),
        selector: Some(vec![NodeRequirement {
            key: "app".into(),
            operator: NodeOperator::In,
            values: vec!["web".into()],
        }]),
        floor: Some(DisruptionLimit::MinAvailable(IntOrPercent::Count(2))),
        status: None,
    });
    reported.finish()
}

fn change(snapshot: &ClusterSnapshot, node: usize, taints: &[Taint]) -> PlannedNodeChange {
    let from = snapshot.now().mono;
    let taints = taints.iter().map(|taint| PlannedTaint { taint: taint.clone(), from }).collect();
    PlannedNodeChange { node, taints, unschedulable: false, drained: false }
}

fn names(snapshot: &ClusterSnapshot, forecast: &Forecast) -> Vec<(String, Option<i64>)> {
    let after = |at: Mono| at.since(snapshot.now().mono).as_micros() / 1_000_000;
    let fates = forecast.nodes.iter().flat_map(|node| &node.pods);
    fates
        .map(|pod_forecast| {
            (snapshot.pods()[pod_forecast.pod as usize].name.name().to_string(), pod_forecast.at().map(after))
        })
        .collect()
}

#[test]
fn pods_are_evicted_now_or_later_or_stay() {
    let shop = shop();
    let reported = forecast(&shop, &[change(&shop, 0, &[taint("db:NoExecute")])], ALL);
    let named = |name: &str, at| (name.to_string(), at);
    let expected = [
        named("alone", Some(0)),
        named("done", None),
        named("logs-1", None),
        named("web-1", Some(0)),
        named("web-2", Some(60)),
    ];
    assert_eq!(names(&shop, &reported), expected);
    let ForecastTotals { going, later, staying, exempt, anyway, spared, .. } = reported.totals;
    assert_eq!((going, later, staying, exempt, anyway, spared), (2, 1, 1, 1, 0, 0));
    let nothing = forecast(&shop, &[change(&shop, 0, &[taint("db:NoSchedule")])], ALL);
    assert_eq!((nothing.totals.going, nothing.totals.later), (0, 0), "only NoExecute evicts pods (TE-22)");
}

#[test]
fn workloads_and_budgets_count_what_they_lose() {
    let shop = shop();
    let reported = forecast(&shop, &[change(&shop, 0, &[taint("db:NoExecute")])], ALL);
    let of = |impact: &WorkloadImpact| {
        (shop.workloads()[impact.workload as usize].to_string(), impact.pods, impact.going, impact.later)
    };
    let hit: Vec<_> = reported.workloads.iter().map(of).collect();
    assert_eq!(hit, [("Deployment shop/web".to_string(), 3, 1, 1), ("Pod shop/alone".to_string(), 1, 1, 0)]);
    let [budget] = &reported.budgets[..] else { panic!("{:?}", reported.budgets) };
    assert_eq!((budget.leaving, budget.healthy, budget.desired), (2, 3, Some(2)));
    assert!(budget.is_broken() && budget.allows() == Some(1));
    // Up to now only one of the Deployment's pods is evicted.
    let soon = ForecastOptions { until: shop.now().mono, ..ALL };
    let reported = forecast(&shop, &[change(&shop, 0, &[taint("db:NoExecute")])], soon);
    assert!(!reported.budgets[0].is_broken());
    assert_eq!(reported.totals.later, 1, "pods that are evicted later are still reported");
}

/// What kubectl drain does: all pods except DaemonSets' are evicted, as budgets permit; NoExecute ignores budgets.
#[test]
fn a_drain_evicts_as_budgets_permit_and_leaves_daemons() {
    let shop = shop();
    let drain = PlannedNodeChange { drained: true, unschedulable: true, ..change(&shop, 0, &[]) };
    let reported = forecast(&shop, &[drain], ALL);
    let going = |reported: &Forecast| -> Vec<String> {
        names(&shop, reported)
            .into_iter()
            .filter_map(|(name, at)| at.map(|at| alloc::format!("{name}@{at}")))
            .collect()
    };
    assert_eq!(going(&reported), ["alone@0", "web-1@0", "web-2@0"]);
    assert!(
        reported.nodes[0]
            .pods
            .iter()
            .filter(|pod_forecast| pod_forecast.at().is_some())
            .all(PodForecast::is_evicted)
    );
    // Three are healthy, two must be, and two would be evicted: one of them waits.
    assert_eq!((reported.budgets[0].blocked(), reported.budgets[0].is_broken()), (1, false));
    // A taint evicts web-1 regardless of the budget: then the drain may evict no pod.
    let both = PlannedNodeChange { drained: true, ..change(&shop, 0, &[taint("db:NoExecute")]) };
    let reported = forecast(&shop, &[both], ALL);
    assert_eq!(going(&reported), ["alone@0", "web-1@0", "web-2@0"]);
    assert_eq!((reported.budgets[0].blocked(), reported.budgets[0].is_broken()), (1, false));
    assert!(
        reported.nodes[0]
            .pods
            .iter()
            .any(|pod_forecast| !pod_forecast.is_evicted() && pod_forecast.at().is_some())
    );
    assert_ne!(reported.placements[0].place, Placement::Node(0), "the node is full of taints");
}

#[test]
fn a_later_moment_counts_the_pods_evicted_by_then() {
    let shop = shop();
    let later = ForecastOptions { until: shop.now().mono.plus(Span::from_secs(60)), ..ALL };
    let reported = forecast(&shop, &[change(&shop, 0, &[taint("db:NoExecute")])], later);
    assert_eq!((reported.totals.going, reported.totals.later), (3, 0));
}

#[test]
fn evicted_pods_are_placed_where_there_is_room() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    reported.node(node_record("n2", vec![taint("db:NoSchedule")]));
    reported.node(node_record("n3", vec![]));
    for name in ["a", "b", "c", "d", "e"] {
        reported.pod(PodRecord { spec: spec(vec![]), ..pod_record(name, "n1", Some(WEB)) });
    }
    reported.pod(PodRecord { spec: spec(vec![]), ..pod_record("agent", "n1", Some(LOGS)) });
    reported.pod(PodRecord { spec: spec(vec![]), ..pod_record("alone", "n1", None) });
    let snapshot = reported.finish();
    let reported = forecast(&snapshot, &[change(&snapshot, 0, &[taint("x:NoExecute")])], ALL);
    let place = |name: &str| {
        let placement = reported
            .placements
            .iter()
            .find(|placement| snapshot.pods()[placement.pod as usize].name.name() == name);
        &placement.expect("each pod has a result").place
    };
    assert_eq!(*place("agent"), Placement::None(RecreationPolicy::SameNode));
    assert_eq!(*place("alone"), Placement::None(RecreationPolicy::Never));
    for name in ["a", "b", "c", "d"] {
        assert_eq!(*place(name), Placement::Node(2), "{name}: four CPUs are free on n3");
    }
    let expected = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s)";
    assert_eq!(*place("e"), Placement::Nowhere(expected.into()));
    let few = forecast(
        &snapshot,
        &[change(&snapshot, 0, &[taint("x:NoExecute")])],
        ForecastOptions { places_max: 2, ..ALL },
    );
    assert_eq!((few.placements.len(), few.unplaced), (2, 5), "pods that are not placed are counted");
}

/// Pods that are not reported are evicted anyway, and their resources are freed.
#[test]
fn a_reported_pod_is_placed_where_the_others_freed_room() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    reported.node(node_record("n2", vec![]));
    let large = |cpu| PodSchedulingSpec {
        load: ResourceRequests { requested: [("cpu".into(), cpu)].into(), ..ResourceRequests::default() },
        ..spec(vec![])
    };
    reported.pod(PodRecord { spec: large(3_800), ..pod_record("fat", "n2", Some(WEB)) });
    reported.pod(pod_record("first", "n1", Some(WEB)));
    reported.pod(PodRecord { spec: large(1_000), ..pod_record("thin", "n1", Some(WEB)) });
    let snapshot = reported.finish();
    let changes = [change(&snapshot, 0, &[taint("x:NoExecute")])];
    let about: Vec<bool> = snapshot.pods().iter().map(|pod| pod.name.name() == "thin").collect();
    let all = forecast(&snapshot, &changes, ALL);
    let reported = forecast(&snapshot, &changes, ForecastOptions { about: &about, ..ALL });
    assert_eq!(names(&snapshot, &reported), [("thin".to_string(), Some(0))]);
    assert_eq!(
        (reported.totals.going, reported.workloads[0].going, reported.placements.len(), reported.unplaced),
        (1, 1, 1, 0)
    );
    assert!(matches!(reported.placements[0].place, Placement::Nowhere(_)), "{:?}", reported.placements);
    assert!(all.placements.contains(&reported.placements[0]), "the result is the same as among all pods");
}

/// Three of one owner go to three nodes of two zones, as the scheduler's default constraints require; not all to the
/// node with most room.
#[test]
fn pods_of_one_owner_are_spread_over_hosts_and_zones() {
    let mut reported = builder();
    reported.node(node_record("n0", vec![]));
    for (name, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b")] {
        let at = [("kubernetes.io/hostname", name), ("topology.kubernetes.io/zone", zone)];
        reported.node(crate::cluster_snapshot::NodeRecord {
            labels: labels(&at),
            allocatable: [("cpu".into(), if name == "n2" { 64_000 } else { 32_000 })].into(),
            ..node_record(name, vec![])
        });
    }
    for name in ["web-1", "web-2", "web-3"] {
        reported.pod(PodRecord { spec: spec(vec![]), ..pod_record(name, "n0", Some(WEB)) });
    }
    let snapshot = reported.finish();
    let reported = forecast(&snapshot, &[change(&snapshot, 0, &[taint("x:NoExecute")])], ALL);
    let mut places: Vec<_> = reported.placements.iter().map(|placement| placement.place.clone()).collect();
    places.sort_by_key(|place| alloc::format!("{place:?}"));
    assert_eq!(places, [Placement::Node(1), Placement::Node(2), Placement::Node(3)]);
}

/// DS-4: a node whose taints the pod tolerates only for a while is reported as such, whichever node it is.
#[test]
fn a_node_that_evicts_the_pod_again_is_reported_as_such() {
    let mut reported = builder();
    reported.node(node_record("n1", vec![]));
    reported.node(node_record("n2", vec![taint("db:NoExecute")]));
    reported.pod(PodRecord {
        spec: spec(vec![tolerates("db", Some(600))]),
        ..pod_record("db-0", "n1", Some(WEB))
    });
    let snapshot = reported.finish();
    let place = |changes: &[PlannedNodeChange]| forecast(&snapshot, changes, ALL).placements[0].place.clone();
    let gets = change(&snapshot, 0, &[taint("x:NoExecute")]);
    assert_eq!(place(core::slice::from_ref(&gets)), Placement::Again(1));
    let heals = change(&snapshot, 1, &[]);
    assert_eq!(place(&[gets, heals]), Placement::Node(1));
}

/// Among equally good nodes the choice is not always the same.
#[test]
fn ties_are_not_always_resolved_the_same_way() {
    let mut reported = builder();
    ["n1", "n2", "n3", "n4"].iter().for_each(|name| assert!(!reported.node(node_record(name, vec![]))));
    for at in 0..16 {
        reported.pod(pod_record(
            &alloc::format!("p{at}"),
            "n1",
            Some(OwnerReference { group: "batch", kind: "Job", name: "j" }),
        ));
    }
    let snapshot = reported.finish();
    let changes = [change(&snapshot, 0, &[taint("x:NoExecute")])];
    let reported = forecast(&snapshot, &changes, ALL);
    let places: alloc::collections::BTreeSet<_> =
        reported.placements.iter().map(|placement| alloc::format!("{:?}", placement.place)).collect();
    assert_eq!(places.len(), 3, "{places:?}");
    assert_eq!(reported, forecast(&snapshot, &changes, ALL), "the same options give the same result");
}

#[test]
fn a_removed_taint_spares_pods_and_a_remaining_one_keeps_its_start() {
    let added = crate::time::Wall::from_secs(1_800_000_000 - 100);
    let old = Taint { time_added: Some(added), ..taint("db:NoExecute") };
    let mut reported = builder();
    reported.node(node_record("n1", vec![old.clone()]));
    reported.pod(PodRecord { spec: spec(vec![tolerates("db", Some(300))]), ..pod_record("a", "n1", None) });
    let snapshot = reported.finish();
    let anyway = forecast(&snapshot, &[], ALL);
    assert_eq!(names(&snapshot, &anyway)[0].1, Some(200));
    assert_eq!(anyway.totals.anyway, 1);
    let same = forecast(&snapshot, &[change(&snapshot, 0, &[old])], ALL);
    assert_eq!(names(&snapshot, &same), names(&snapshot, &anyway));
    let gone = forecast(&snapshot, &[change(&snapshot, 0, &[])], ALL);
    assert_eq!((names(&snapshot, &gone)[0].1, gone.totals.spared), (None, 1));
}

proptest! {
    /// A forecast agrees with the verdict for each pod, and counts every pod once.
    #[test]
    fn the_forecast_agrees_with_the_verdict(
        lists in prop::collection::vec(
            prop::collection::vec((0..4_usize, prop::option::of(-5..500_i64)), 0..3), 1..12),
        before in prop::collection::vec(0..3_usize, 0..3),
        after in prop::collection::vec((0..3_usize, 0..100_i64), 0..3),
    ) {
        let keys = ["a", "b", "c", ""];
        let mut reported = builder();
        reported.node(node_record("n1", before.iter().map(|&at| taint(keys[at])).collect()));
        for (at, list) in lists.iter().enumerate() {
            let tolerations = list.iter().map(|&(key, seconds)| tolerates(keys[key], seconds)).collect();
            reported.pod(PodRecord { spec: spec(tolerations), ..pod_record(&at.to_string(), "n1", None) });
        }
        let snapshot = reported.finish();
        let from = |seconds| snapshot.now().mono.plus(Span::from_secs(seconds));
        let taints = after.iter()
            .map(|&(at, seconds)| PlannedTaint { taint: taint(keys[at]), from: from(seconds) })
            .collect();
        let change = PlannedNodeChange { node: 0, taints, unschedulable: false, drained: false };
        let reported = forecast(&snapshot, &[change], ALL);
        let [node] = &reported.nodes[..] else { panic!() };
        for pod_forecast in &node.pods {
            let pod = &snapshot.pods()[pod_forecast.pod as usize];
            let of = |taints: &[TaintInstance]| {
                verdict::judge(&snapshot.subject(pod), taints, snapshot.numeric(), snapshot.now())
            };
            let (before, after) = (of(&node.before), of(&node.after));
            prop_assert_eq!(pod_forecast.before, before.outcome);
            prop_assert_eq!(pod_forecast.after, after.outcome);
            prop_assert_eq!(pod_forecast.decisive.map(|at| at as usize), after.decisive);
        }
        let ForecastTotals { going, later, staying, exempt, not_understood, .. } = reported.totals;
        prop_assert_eq!(going + later + staying + exempt + not_understood, lists.len());
        prop_assert_eq!(reported.placements.len() + reported.unplaced, going + later);
        let hit: u32 = reported.workloads.iter().map(|impact| impact.going + impact.later).sum();
        prop_assert_eq!(hit as usize, going + later);
    }
}
