//! Tests that thousands of concurrent taint edits lose no taint of another client and restore none (S8).

use super::fleet::{Rate, RealFleet};
use super::fleet_controller::FleetController;
use crate::real::harness::AuditExceptions;
use crate::real::witness::Witness;
use futures::future::{join, join_all};
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::heartbeats::{cordon, plans, set_conditions};
use taintward_envtest::{Cluster, wait};
use testkit::wait::let_time_pass;

const RATE: Rate = Rate {
    monitor: Duration::from_secs(1),
    grace: Duration::from_secs(10),
    renew: Duration::from_secs(2),
    rate: 50.0,
};

const NODES: usize = 12;
const WRITERS: usize = 12;

/// Nodes that the real kubectl edits: it sends no version and may overwrite other edits (VAL-10), so it is their only
/// writer.
const BY_KUBECTL: [&str; 2] = ["node-00000", "node-00001"];

/// The number of edits: `TAINTWARD_LIFECYCLE_EDITS`, or 3,000.
fn edits() -> usize {
    let requested = std::env::var("TAINTWARD_LIFECYCLE_EDITS").ok();
    requested.map_or(3_000, |number| number.parse().expect("TAINTWARD_LIFECYCLE_EDITS is a number"))
}

/// The expected taints of other clients at the end, by node.
type Model = BTreeMap<String, BTreeSet<String>>;

/// Random numbers with a fixed seed.
struct StormDice(u64);

impl StormDice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % bound
    }
}

/// S8, NL-6.
pub(crate) async fn no_taint_of_another_client_is_lost_or_resurrected(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(NODES + BY_KUBECTL.len(), 2, 0), RATE).await;
    let ours = FleetController::start(cluster, &fleet).await;
    let nodes: Vec<String> = fleet.heartbeats.all().split_off(BY_KUBECTL.len());
    let stop = AtomicBool::new(false);
    let storm = async {
        let writers = (0..WRITERS).map(|writer| write(&fleet, &nodes, writer, edits() / WRITERS));
        let models = join_all(writers).await;
        stop.store(true, Ordering::Relaxed);
        models
    };
    let kubectl = async { by_kubectl(cluster, &stop).await };
    let ((models, by_kubectl), tossed) = join(join(storm, kubectl), toss(&fleet, &stop)).await;
    let mut model: Model = by_kubectl;
    for (node, taints) in models.into_iter().flatten() {
        model.entry(node).or_default().extend(taints);
    }
    settle(&fleet).await;
    for node in fleet.heartbeats.all() {
        let sight = fleet.record.sight(&node).unwrap();
        let there: BTreeSet<String> = sight.foreign().into_iter().map(str::to_owned).collect();
        assert_eq!(there, model.get(&node).cloned().unwrap_or_default(), "S8: {node}");
        assert_eq!(there.len(), sight.foreign().len(), "each once: {node}");
    }
    check_writes(witness, tossed);
    fleet.expect_punctual();
    ours.stop();
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}

/// One user that adds and removes its own taints without losing other users' edits.
async fn write(fleet: &RealFleet, nodes: &[String], writer: usize, edits: usize) -> Model {
    let mut dice = StormDice(writer as u64 + 1);
    let mut model = Model::new();
    for edit in 0..edits {
        let node = &nodes[dice.below(nodes.len())];
        let effect = ["NoSchedule", "NoExecute", "PreferNoSchedule"][dice.below(3)];
        let taint = format!("w{writer}.example/{}:{effect}", dice.below(4));
        let mine = model.entry(node.clone()).or_default();
        let put = !mine.remove(&taint);
        if put {
            mine.insert(taint.clone());
        }
        edit_taint(fleet, node, &taint, put, edit % 2 == 0).await;
    }
    model
}

/// Adds or removes a taint: with the version, as `kubectl edit`, or as a JSON Patch that tests the list.
async fn edit_taint(fleet: &RealFleet, node: &str, taint: &str, put: bool, strategic: bool) {
    let path = format!("/api/v1/nodes/{node}");
    let (key, effect) = taint.split_once(':').unwrap();
    loop {
        let seen = fleet.admin.get(&path).await.unwrap();
        let old = seen["spec"]["taints"].as_array().cloned();
        let mut new = old.clone().unwrap_or_default();
        new.retain(|one| one["key"] != key || one["effect"] != effect);
        if put {
            // Prepended, so that indexes change.
            new.insert(0, json!({"key": key, "effect": effect, "value": "v"}));
        }
        let version = &seen["metadata"]["resourceVersion"];
        let response = if strategic {
            let body = json!({"metadata": {"resourceVersion": version}, "spec": {"taints": new}});
            fleet.admin.patch(&path, PatchType::Strategic, &body.to_string()).await
        } else {
            let test = match old {
                Some(old) => json!({"op": "test", "path": "/spec/taints", "value": old}),
                None => json!({"op": "test", "path": "/metadata/resourceVersion", "value": version}),
            };
            let body = json!([test, {"op": "add", "path": "/spec/taints", "value": new}]);
            fleet.admin.patch(&path, PatchType::Json, &body.to_string()).await
        };
        match response {
            Ok(_) => return,
            Err(error) if matches!(error.code(), Some(409 | 422)) => {}
            Err(error) => panic!("{node}: {error}"),
        }
    }
}

/// The real kubectl, until the storm is over.
async fn by_kubectl(cluster: &Cluster, stop: &AtomicBool) -> Model {
    let mut model = Model::new();
    for turn in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let (node, key) = (BY_KUBECTL[turn % 2], format!("kubectl.example/{}", turn % 5));
        let mine: &mut BTreeSet<String> = model.entry(node.to_owned()).or_default();
        let taint = format!("{key}:NoSchedule");
        let word = if mine.remove(&taint) {
            format!("{taint}-")
        } else {
            mine.insert(taint.clone());
            format!("{key}=v:NoSchedule")
        };
        // Blocks for a moment: heartbeats and the record have their own threads.
        cluster.kubectl(["taint", "nodes", node, &word]).unwrap();
        let_time_pass(Duration::from_millis(300), "about three edits a second").await;
    }
    model
}

/// Meanwhile every node gives reasons for managed taints, and withdraws them. Returns how often.
async fn toss(fleet: &RealFleet, stop: &AtomicBool) -> usize {
    let nodes = fleet.heartbeats.all();
    let mut turns = 0;
    while !stop.load(Ordering::Relaxed) {
        let node = &nodes[turns % nodes.len()];
        let bad = (turns / nodes.len()).is_multiple_of(2);
        // At most a third is not ready at a time, so that no zone is stopped.
        if (turns % nodes.len()).is_multiple_of(3) {
            set_conditions(&fleet.admin, node, &[("Ready", if bad { "False" } else { "True" })])
                .await
                .unwrap();
        } else {
            set_conditions(&fleet.admin, node, &[("DiskPressure", if bad { "True" } else { "False" })])
                .await
                .unwrap();
            cordon(&fleet.admin, node, bad).await.unwrap();
        }
        turns += 1;
        let_time_pass(Duration::from_millis(20), "at most fifty nodes a second").await;
    }
    turns
}

/// Makes all nodes ready again, and waits until they lose the managed taints.
async fn settle(fleet: &RealFleet) {
    for node in fleet.heartbeats.all() {
        cordon(&fleet.admin, &node, false).await.unwrap();
        set_conditions(&fleet.admin, &node, &[("Ready", "True"), ("DiskPressure", "False")]).await.unwrap();
    }
    let none = async || Ok(fleet.record.those(|sight| !sight.own().is_empty()).is_empty().then_some(()));
    wait::until("the managed taints to be gone", Duration::from_secs(20), none).await.unwrap();
}

/// S8: operations on own taints only, with tests of what was read; never the whole list.
fn check_writes(witness: &Witness, tossed: usize) {
    let writes = witness.ours(|entry| entry.is_write() && entry.resource == "nodes");
    let worked = writes.iter().filter(|entry| entry.code == 200).count();
    let conflicts = writes.iter().filter(|entry| matches!(entry.code, 409 | 422)).count();
    println!("storm: {tossed} reasons came and went, {worked} writes of Taintward, {conflicts} conflicts");
    assert!(worked > NODES && conflicts > 0, "too few edits for a conclusion");
    for entry in &writes {
        let operations = entry.request.as_array().unwrap_or_else(|| panic!("S8: no JSON Patch: {entry:?}"));
        assert!(operations.iter().any(|one| one["op"] == "test"), "S8: without a test: {entry:?}");
        let whole = |one: &Value| one["op"] != "test" && one["path"] == "/spec/taints" && entry.code == 200;
        for operation in operations.iter().filter(|one| whole(one)) {
            // The whole list is written if there was none before, or if none is left.
            let left = operation["value"].as_array().cloned().unwrap_or_default();
            let own =
                |taint: &Value| taint["key"].as_str().unwrap_or_default().starts_with("node.kubernetes.io/");
            assert!(left.iter().all(own), "S8: the whole list: {entry:?}");
        }
    }
}
