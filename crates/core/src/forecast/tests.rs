//! Tables and properties of what would happen.

use super::*;
use crate::fact::Standing;
use crate::scheduling::{Load, NodeOperator, NodeRequirement, Wish};
use crate::snapshot::tests::{builder, labels, node, pod};
use crate::snapshot::{Budget, Floor, OwnerRef, PodRead, Portion, Return};
use crate::taint::Effect;
use crate::time::Span;
use crate::toleration::{Operator, Toleration};
use crate::verdict;
use alloc::string::{String, ToString};
use alloc::vec;
use proptest::prelude::*;

const ALL: Question<'_> = Question { until: Mono::NEVER, places_max: 1_000, about: &[] };

fn taint(key: &str, effect: &str) -> Taint {
    Taint { key: key.into(), value: "".into(), effect: Effect::new(effect), time_added: None }
}

fn bears(key: &str, seconds: Option<i64>) -> Toleration {
    let (key, value) = (key.into(), "".into());
    Toleration { key, operator: Operator::Exists, value, effect: None, seconds }
}

fn wish(tolerations: Vec<Toleration>) -> Wish {
    let load = Load { requested: [("cpu".into(), 1_000)].into(), ..Load::default() };
    Wish { tolerations, load, preempts: true, ..Wish::default() }
}

const WEB: OwnerRef<'static> = OwnerRef { group: "apps", kind: "ReplicaSet", name: "web-abc" };
const LOGS: OwnerRef<'static> = OwnerRef { group: "apps", kind: "DaemonSet", name: "logs" };

/// Two nodes of 4 CPUs; on the first two of three pods of a Deployment, one of which waits 60 s, an agent that bears
/// everything, a pod of nobody, and one that is over.
fn shop() -> Snapshot {
    let mut told = builder();
    told.node(node("n1", vec![]));
    told.node(node("n2", vec![]));
    let web = labels(&[("app", "web"), ("pod-template-hash", "abc")]);
    let of_web = |name: &'static str, node, tolerations| PodRead {
        labels: web.clone(),
        wish: wish(tolerations),
        ..pod(name, node, Some(WEB))
    };
    told.pod(of_web("web-1", "n1", vec![]));
    told.pod(of_web("web-2", "n1", vec![bears("db", Some(60))]));
    told.pod(of_web("web-3", "n2", vec![]));
    told.pod(PodRead { wish: wish(vec![bears("", None)]), ..pod("logs-1", "n1", Some(LOGS)) });
    told.pod(PodRead { wish: wish(vec![]), ..pod("alone", "n1", None) });
    told.pod(PodRead { standing: Standing::Finished, ..pod("done", "n1", None) });
    told.budget(Budget {
        namespace: "shop".into(),
        name: "web".into(),
        selector: Some(vec![NodeRequirement {
            key: "app".into(),
            operator: NodeOperator::In,
            values: vec!["web".into()],
        }]),
        floor: Some(Floor::MinAvailable(Portion::Count(2))),
        status: None,
    });
    told.finish()
}

fn change(snapshot: &Snapshot, node: usize, taints: &[Taint]) -> NodeChange {
    let from = snapshot.now().mono;
    let taints = taints.iter().map(|taint| PlannedTaint { taint: taint.clone(), from }).collect();
    NodeChange { node, taints, unschedulable: false, drained: false }
}

fn names(snapshot: &Snapshot, forecast: &Forecast) -> Vec<(String, Option<i64>)> {
    let after = |at: Mono| at.since(snapshot.now().mono).as_micros() / 1_000_000;
    let fates = forecast.nodes.iter().flat_map(|node| &node.fates);
    fates
        .map(|fate| (snapshot.pods()[fate.pod as usize].name.name().to_string(), fate.at().map(after)))
        .collect()
}

#[test]
fn who_goes_now_who_later_and_who_stays() {
    let shop = shop();
    let told = forecast(&shop, &[change(&shop, 0, &[taint("db", "NoExecute")])], ALL);
    let named = |name: &str, at| (name.to_string(), at);
    let expected = [
        named("alone", Some(0)),
        named("done", None),
        named("logs-1", None),
        named("web-1", Some(0)),
        named("web-2", Some(60)),
    ];
    assert_eq!(names(&shop, &told), expected);
    let Totals { going, later, staying, exempt, anyway, spared, .. } = told.totals;
    assert_eq!((going, later, staying, exempt, anyway, spared), (2, 1, 1, 1, 0, 0));
    let nothing = forecast(&shop, &[change(&shop, 0, &[taint("db", "NoSchedule")])], ALL);
    assert_eq!(
        (nothing.totals.going, nothing.totals.later),
        (0, 0),
        "only NoExecute sends anybody away (TE-22)"
    );
}

#[test]
fn workloads_and_budgets_count_what_they_lose() {
    let shop = shop();
    let told = forecast(&shop, &[change(&shop, 0, &[taint("db", "NoExecute")])], ALL);
    let of = |impact: &WorkloadImpact| {
        (shop.workloads()[impact.workload as usize].to_string(), impact.pods, impact.going, impact.later)
    };
    let hit: Vec<_> = told.workloads.iter().map(of).collect();
    assert_eq!(hit, [("Deployment shop/web".to_string(), 3, 1, 1), ("Pod shop/alone".to_string(), 1, 1, 0)]);
    let [budget] = &told.budgets[..] else { panic!("{:?}", told.budgets) };
    assert_eq!((budget.leaving, budget.healthy, budget.desired), (2, 3, Some(2)));
    assert!(budget.is_broken() && budget.allows() == Some(1));
    // Up to now only one of the Deployment's goes.
    let soon = Question { until: shop.now().mono, ..ALL };
    let told = forecast(&shop, &[change(&shop, 0, &[taint("db", "NoExecute")])], soon);
    assert!(!told.budgets[0].is_broken());
    assert_eq!(told.totals.later, 1, "who goes later is still told");
}

/// What kubectl drain does: everybody but a DaemonSet's is evicted, as budgets permit; NoExecute asks none.
#[test]
fn a_drain_evicts_as_budgets_permit_and_leaves_daemons() {
    let shop = shop();
    let drain = NodeChange { drained: true, unschedulable: true, ..change(&shop, 0, &[]) };
    let told = forecast(&shop, &[drain], ALL);
    let going = |told: &Forecast| -> Vec<String> {
        names(&shop, told)
            .into_iter()
            .filter_map(|(name, at)| at.map(|at| alloc::format!("{name}@{at}")))
            .collect()
    };
    assert_eq!(going(&told), ["alone@0", "web-1@0", "web-2@0"]);
    assert!(told.nodes[0].fates.iter().filter(|fate| fate.at().is_some()).all(Fate::is_evicted));
    // Three are well, two have to be, and two would go: one of them waits.
    assert_eq!((told.budgets[0].refuses(), told.budgets[0].is_broken()), (1, false));
    // A taint takes web-1 without asking: then the drain may take nobody.
    let both = NodeChange { drained: true, ..change(&shop, 0, &[taint("db", "NoExecute")]) };
    let told = forecast(&shop, &[both], ALL);
    assert_eq!(going(&told), ["alone@0", "web-1@0", "web-2@0"]);
    assert_eq!((told.budgets[0].refuses(), told.budgets[0].is_broken()), (1, false));
    assert!(told.nodes[0].fates.iter().any(|fate| !fate.is_evicted() && fate.at().is_some()));
    assert_ne!(told.homes[0].place, Place::Node(0), "the node is full of taints");
}

#[test]
fn a_later_moment_counts_who_is_gone_by_then() {
    let shop = shop();
    let later = Question { until: shop.now().mono.plus(Span::from_secs(60)), ..ALL };
    let told = forecast(&shop, &[change(&shop, 0, &[taint("db", "NoExecute")])], later);
    assert_eq!((told.totals.going, told.totals.later), (3, 0));
}

#[test]
fn those_that_leave_get_places_that_have_room() {
    let mut told = builder();
    told.node(node("n1", vec![]));
    told.node(node("n2", vec![taint("db", "NoSchedule")]));
    told.node(node("n3", vec![]));
    for name in ["a", "b", "c", "d", "e"] {
        told.pod(PodRead { wish: wish(vec![]), ..pod(name, "n1", Some(WEB)) });
    }
    told.pod(PodRead { wish: wish(vec![]), ..pod("agent", "n1", Some(LOGS)) });
    told.pod(PodRead { wish: wish(vec![]), ..pod("alone", "n1", None) });
    let snapshot = told.finish();
    let told = forecast(&snapshot, &[change(&snapshot, 0, &[taint("x", "NoExecute")])], ALL);
    let place = |name: &str| {
        let home = told.homes.iter().find(|home| snapshot.pods()[home.pod as usize].name.name() == name);
        &home.expect("each has an answer").place
    };
    assert_eq!(*place("agent"), Place::None(Return::SameNode));
    assert_eq!(*place("alone"), Place::None(Return::Never));
    for name in ["a", "b", "c", "d"] {
        assert_eq!(*place(name), Place::Node(2), "{name}: four CPUs are free on n3");
    }
    let expected = "0/3 nodes are available: 1 Insufficient cpu, 2 node(s) had untolerated taint(s)";
    assert_eq!(*place("e"), Place::Nowhere(expected.into()));
    let few = forecast(
        &snapshot,
        &[change(&snapshot, 0, &[taint("x", "NoExecute")])],
        Question { places_max: 2, ..ALL },
    );
    assert_eq!((few.homes.len(), few.homeless), (2, 5), "who is not looked at is counted");
}

/// Who is not asked about leaves all the same, and takes its room.
#[test]
fn who_is_asked_about_gets_the_place_that_the_others_leave() {
    let mut told = builder();
    told.node(node("n1", vec![]));
    told.node(node("n2", vec![]));
    let large = |cpu| Wish {
        load: Load { requested: [("cpu".into(), cpu)].into(), ..Load::default() },
        ..wish(vec![])
    };
    told.pod(PodRead { wish: large(3_800), ..pod("fat", "n2", Some(WEB)) });
    told.pod(pod("first", "n1", Some(WEB)));
    told.pod(PodRead { wish: large(1_000), ..pod("thin", "n1", Some(WEB)) });
    let snapshot = told.finish();
    let changes = [change(&snapshot, 0, &[taint("x", "NoExecute")])];
    let about: Vec<bool> = snapshot.pods().iter().map(|pod| pod.name.name() == "thin").collect();
    let all = forecast(&snapshot, &changes, ALL);
    let told = forecast(&snapshot, &changes, Question { about: &about, ..ALL });
    assert_eq!(names(&snapshot, &told), [("thin".to_string(), Some(0))]);
    assert_eq!((told.totals.going, told.workloads[0].going, told.homes.len(), told.homeless), (1, 1, 1, 0));
    assert!(matches!(told.homes[0].place, Place::Nowhere(_)), "{:?}", told.homes);
    assert!(all.homes.contains(&told.homes[0]), "it is what is said of it among all");
}

/// Three of one owner go to three nodes of two zones, as the scheduler's default constraints have it; not all to the one
/// that has most room.
#[test]
fn pods_of_one_owner_are_spread_over_hosts_and_zones() {
    let mut told = builder();
    told.node(node("n0", vec![]));
    for (name, zone) in [("n1", "a"), ("n2", "a"), ("n3", "b")] {
        let at = [("kubernetes.io/hostname", name), ("topology.kubernetes.io/zone", zone)];
        told.node(crate::snapshot::NodeRead {
            labels: labels(&at),
            allocatable: [("cpu".into(), if name == "n2" { 64_000 } else { 32_000 })].into(),
            ..node(name, vec![])
        });
    }
    for name in ["web-1", "web-2", "web-3"] {
        told.pod(PodRead { wish: wish(vec![]), ..pod(name, "n0", Some(WEB)) });
    }
    let snapshot = told.finish();
    let told = forecast(&snapshot, &[change(&snapshot, 0, &[taint("x", "NoExecute")])], ALL);
    let mut places: Vec<_> = told.homes.iter().map(|home| home.place.clone()).collect();
    places.sort_by_key(|place| alloc::format!("{place:?}"));
    assert_eq!(places, [Place::Node(1), Place::Node(2), Place::Node(3)]);
}

/// DS-4: a place whose taints the pod bears only for a while is told apart, whichever node it is.
#[test]
fn a_place_that_has_to_be_left_again_is_said_to_be_one() {
    let mut told = builder();
    told.node(node("n1", vec![]));
    told.node(node("n2", vec![taint("db", "NoExecute")]));
    told.pod(PodRead { wish: wish(vec![bears("db", Some(600))]), ..pod("db-0", "n1", Some(WEB)) });
    let snapshot = told.finish();
    let place = |changes: &[NodeChange]| forecast(&snapshot, changes, ALL).homes[0].place.clone();
    let gets = change(&snapshot, 0, &[taint("x", "NoExecute")]);
    assert_eq!(place(core::slice::from_ref(&gets)), Place::Again(1));
    let heals = change(&snapshot, 1, &[]);
    assert_eq!(place(&[gets, heals]), Place::Node(1));
}

/// Of nodes that are equally good, not always the same one.
#[test]
fn ties_do_not_always_fall_the_same_way() {
    let mut told = builder();
    ["n1", "n2", "n3", "n4"].iter().for_each(|name| assert!(!told.node(node(name, vec![]))));
    for at in 0..16 {
        told.pod(pod(
            &alloc::format!("p{at}"),
            "n1",
            Some(OwnerRef { group: "batch", kind: "Job", name: "j" }),
        ));
    }
    let snapshot = told.finish();
    let changes = [change(&snapshot, 0, &[taint("x", "NoExecute")])];
    let told = forecast(&snapshot, &changes, ALL);
    let places: alloc::collections::BTreeSet<_> =
        told.homes.iter().map(|home| alloc::format!("{:?}", home.place)).collect();
    assert_eq!(places.len(), 3, "{places:?}");
    assert_eq!(told, forecast(&snapshot, &changes, ALL), "the same question has the same answer");
}

#[test]
fn a_taint_that_goes_spares_and_one_that_stays_keeps_its_start() {
    let added = crate::time::Wall::from_secs(1_800_000_000 - 100);
    let old = Taint { time_added: Some(added), ..taint("db", "NoExecute") };
    let mut told = builder();
    told.node(node("n1", vec![old.clone()]));
    told.pod(PodRead { wish: wish(vec![bears("db", Some(300))]), ..pod("a", "n1", None) });
    let snapshot = told.finish();
    let anyway = forecast(&snapshot, &[], ALL);
    assert_eq!(names(&snapshot, &anyway)[0].1, Some(200));
    assert_eq!(anyway.totals.anyway, 1);
    let same = forecast(&snapshot, &[change(&snapshot, 0, &[old])], ALL);
    assert_eq!(names(&snapshot, &same), names(&snapshot, &anyway));
    let gone = forecast(&snapshot, &[change(&snapshot, 0, &[])], ALL);
    assert_eq!((names(&snapshot, &gone)[0].1, gone.totals.spared), (None, 1));
}

proptest! {
    /// A forecast says of each pod what the verdict says, and counts everybody once.
    #[test]
    fn the_forecast_is_the_verdict(
        lists in prop::collection::vec(
            prop::collection::vec((0..4_usize, prop::option::of(-5..500_i64)), 0..3), 1..12),
        before in prop::collection::vec(0..3_usize, 0..3),
        after in prop::collection::vec((0..3_usize, 0..100_i64), 0..3),
    ) {
        let keys = ["a", "b", "c", ""];
        let mut told = builder();
        told.node(node("n1", before.iter().map(|&at| taint(keys[at], "NoExecute")).collect()));
        for (at, list) in lists.iter().enumerate() {
            let tolerations = list.iter().map(|&(key, seconds)| bears(keys[key], seconds)).collect();
            told.pod(PodRead { wish: wish(tolerations), ..pod(&at.to_string(), "n1", None) });
        }
        let snapshot = told.finish();
        let from = |seconds| snapshot.now().mono.plus(Span::from_secs(seconds));
        let taints = after.iter()
            .map(|&(at, seconds)| PlannedTaint { taint: taint(keys[at], "NoExecute"), from: from(seconds) })
            .collect();
        let change = NodeChange { node: 0, taints, unschedulable: false, drained: false };
        let told = forecast(&snapshot, &[change], ALL);
        let [node] = &told.nodes[..] else { panic!() };
        for fate in &node.fates {
            let pod = &snapshot.pods()[fate.pod as usize];
            let of = |taints: &[TaintInstance]| {
                verdict::judge(&snapshot.subject(pod), taints, snapshot.numeric(), snapshot.now())
            };
            let (before, after) = (of(&node.before), of(&node.after));
            prop_assert_eq!(fate.before, before.outcome);
            prop_assert_eq!(fate.after, after.outcome);
            prop_assert_eq!(fate.decisive.map(|at| at as usize), after.decisive);
        }
        let Totals { going, later, staying, exempt, not_understood, .. } = told.totals;
        prop_assert_eq!(going + later + staying + exempt + not_understood, lists.len());
        prop_assert_eq!(told.homes.len() + told.homeless, going + later);
        let hit: u32 = told.workloads.iter().map(|impact| impact.going + impact.later).sum();
        prop_assert_eq!(hit as usize, going + later);
    }
}
