//! Tests that forecasts come true: random changes are forecast, then made, and every pod is compared.

use crate::harness::{SandboxHarness, TestPod, alone, nodes, pods, sleep};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::{ClusterSnapshot, SnapshotBuilder};
use taintward_core::forecast::{Forecast, ForecastOptions, PlannedNodeChange, PlannedTaint, forecast};
use taintward_core::taint_edit::{self, TaintEdit};
use taintward_core::time::{Mono, Wall};
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::snapshot;

/// The number of worlds.
const WORLDS: u64 = 400;

/// Longer than any finite toleration.
const LONG: f64 = 1_000.0;

/// A random number generator with a seed.
struct CountdownDice(u64);

impl CountdownDice {
    fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % count
    }

    fn of<T: Clone>(&mut self, among: &[T]) -> T {
        among[self.below(among.len())].clone()
    }
}

fn any_toleration(dice: &mut CountdownDice) -> Value {
    let mut one = match dice.below(4) {
        0 => json!({"operator": "Exists"}),
        1 => json!({"key": dice.of(&["a", "b"]), "operator": "Equal", "value": dice.of(&["v", "w"])}),
        _ => json!({"key": dice.of(&["a", "b"]), "operator": "Exists"}),
    };
    let effect = dice.of(&["", "NoExecute", "NoExecute", "NoSchedule"]);
    if !effect.is_empty() {
        one["effect"] = effect.into();
    }
    if effect == "NoExecute" && dice.below(3) > 0 {
        one["tolerationSeconds"] = dice.of(&[-1, 0, 5, 60, 300, 900]).into();
    }
    one
}

fn any_taint(dice: &mut CountdownDice) -> Value {
    json!({"key": dice.of(&["a", "b"]), "value": dice.of(&["v", "w"]), "effect": dice.of(&["NoExecute", "NoSchedule"])})
}

/// A snapshot of the cluster, read as the command line reads it.
fn snapshot_of(harness: &SandboxHarness, subjects: &[TestPod]) -> ClusterSnapshot {
    let wall = Wall::from_micros(harness.now().as_microsecond());
    let mut reported = SnapshotBuilder::new(wall, NumericOperators::Off, false);
    for name in ["n1", "n2", "n3"] {
        let node = harness.server().get(nodes(), "", name).unwrap();
        reported.node(snapshot::node(&serde_json::to_vec(&node).unwrap()).unwrap());
    }
    for pod in subjects.iter().filter_map(|pod| harness.server().get(pods(), "default", &pod.name)) {
        snapshot::pod(&serde_json::to_vec(&pod).unwrap(), "default", &mut reported).unwrap();
    }
    reported.finish()
}

/// When each pod on the nodes of a forecast leaves, by its name.
fn reported(snapshot: &ClusterSnapshot, forecast: &Forecast) -> BTreeMap<String, Option<i64>> {
    let fates = forecast.nodes.iter().flat_map(|node| &node.pods);
    let second = |at: Mono| at.max(snapshot.now().mono).as_micros().div_euclid(1_000_000);
    fates
        .map(|fate| (snapshot.pods()[fate.pod as usize].name.name().to_owned(), fate.at().map(second)))
        .collect()
}

async fn one(seed: u64) -> usize {
    let mut dice = CountdownDice(seed);
    let harness = SandboxHarness::new(3);
    let mut settings = alone();
    // A taint that is first observed in a list counts from the end of the second in its time, so that no pod leaves
    // early.
    settings.cluster.relist_every = None;
    let _controller = harness.controller(settings).await;
    for node in ["n1", "n2"] {
        if dice.below(3) == 0 {
            harness.set_taints(node, &[any_taint(&mut dice)]);
        }
    }
    let mut all: Vec<TestPod> = Vec::new();
    for at in 0..8 {
        let tolerations: Vec<Value> = (0..dice.below(4)).map(|_| any_toleration(&mut dice)).collect();
        all.push(harness.create_pod(&format!("p{at}"), dice.of(&["n1", "n1", "n2"]), &tolerations));
        sleep(dice.below(40) as f64).await;
    }
    // Pods without a toleration have gone.
    sleep(1.0).await;
    let snapshot = snapshot_of(&harness, &all);
    let (add, remove) = (dice.below(4) > 0, dice.below(3) == 0);
    let spec = format!("{}={}:NoExecute", dice.of(&["a", "b"]), dice.of(&["v", "w"]));
    let node = snapshot.node_at("n1").unwrap();
    let before = snapshot.nodes()[node].fact.taints.clone();
    let kept: Vec<_> = if remove { Vec::new() } else { before.clone() };
    let change = if add { taint_edit::parse(&[&spec]).unwrap() } else { TaintEdit::default() };
    let after = change.apply(&kept, true).unwrap().taints;
    let from = snapshot.now().mono;
    let planned = after.iter().map(|taint| PlannedTaint { taint: taint.clone(), from }).collect();
    let changes = [PlannedNodeChange { node, taints: planned, unschedulable: false, drained: false }];
    let question = ForecastOptions { until: Mono::NEVER, places_max: 100, about: &[] };
    // Other nodes' pods leave anyway; the change decides for its own node.
    let mut expected = reported(&snapshot, &forecast(&snapshot, &[], question));
    expected.extend(reported(&snapshot, &forecast(&snapshot, &changes, question)));

    let written: Vec<Value> = after
        .iter()
        .map(|taint| {
            let mut value =
                json!({"key": &*taint.key, "value": &*taint.value, "effect": taint.effect.as_str()});
            if let Some(added) = taint.time_added {
                let at = jiff::Timestamp::from_microsecond(added.as_micros()).unwrap();
                value["timeAdded"] = format!("{at:.0}").into();
            }
            value
        })
        .collect();
    harness.set_taints("n1", &written);
    sleep(LONG).await;
    let mut leavers = 0;
    for pod in all {
        let gone = harness.deleted(&pod).map(|at| at.as_second());
        if gone.is_some_and(|gone| gone <= snapshot.now().wall.as_micros().div_euclid(1_000_000)) {
            // It was leaving when the forecast was made.
            continue;
        }
        // The forecast does not mention nodes without taints: all their pods stay.
        let foreseen = expected.get(&pod.name).copied().flatten();
        leavers += usize::from(gone.is_some());
        assert_eq!(gone, foreseen, "seed {seed}: {} (right: the forecast)", pod.name);
    }
    leavers
}

/// A forecast, and then the change itself: exactly those pods leave, in exactly that second.
#[tokio::test(start_paused = true)]
async fn a_plan_is_what_then_happens() {
    let mut leavers = 0;
    for seed in 1..=WORLDS {
        leavers += one(seed).await;
    }
    println!("{leavers} pods left as predicted in {WORLDS} worlds");
    assert!(leavers > 200, "only {leavers} pods left at all: that shows little");
}
