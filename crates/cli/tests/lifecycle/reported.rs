//! Tests events, pod conditions, metrics and rights (NL-17, NL-19, NL-29, NL-60), with evictions in the same process.

use super::fleet::{Rate, RealFleet};
use super::fleet_controller::FleetController;
use super::side::CONTROLLER;
use crate::real::harness::{AuditExceptions, ScenarioHarness, seconds};
use crate::real::witness::Witness;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use taintward_envtest::api::PatchType;
use taintward_envtest::fixtures::{delete_node, pod};
use taintward_envtest::heartbeats::{label, plans};
use taintward_envtest::{Account, Cluster, wait};

pub(crate) const RATE: Rate = Rate {
    monitor: Duration::from_secs(1),
    grace: Duration::from_secs(6),
    renew: Duration::from_secs(1),
    rate: 10.0,
};

const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Taintward's events about an object: reason, note, type, and reporter.
fn events(witness: &Witness, uid: &str) -> Vec<[String; 4]> {
    let about = witness.events_on(uid);
    let texts = about.iter().filter(|entry| entry.code == 201).map(|entry| {
        ["reason", "note", "type", "reportingController"]
            .map(|field| entry.request[field].as_str().unwrap_or_default().to_owned())
    });
    texts.collect()
}

async fn reported(witness: &Witness, uid: &str, what: [&str; 4]) {
    let message = async || Ok(events(witness, uid).iter().any(|event| *event == what).then_some(()));
    if let Err(error) = wait::until(&format!("the event {what:?}"), STARTUP_TIMEOUT, message).await {
        panic!("{error}; there are {:?}", events(witness, uid));
    }
}

fn uid(fleet: &RealFleet, node: &str) -> String {
    fleet.record.sight(node).unwrap().uid
}

/// Whether the pod's condition Ready has this status.
async fn is_ready(harness: &ScenarioHarness<'_>, name: &str, status: &str) -> bool {
    let pod = harness.admin.get(&format!("/api/v1/namespaces/default/pods/{name}")).await.unwrap();
    pod["status"]["conditions"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["type"] == "Ready" && one["status"] == status))
}

/// NL-8, NL-17, NL-19, NL-29, NL-60: upstream's messages and series; and the permissions in deploy/ are all used, and
/// sufficient.
pub(crate) async fn upstreams_words_and_series(cluster: &mut Cluster, witness: &Witness) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let fleet = RealFleet::start(cluster, plans(6, 2, 0), RATE).await;
    let ready = harness
        .create_pod(pod("told-ready", "node-00000").bearing("node.kubernetes.io/unreachable", None))
        .await;
    let condition = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}).to_string();
    let path = "/api/v1/namespaces/default/pods/told-ready/status";
    harness.admin.patch(path, PatchType::Strategic, &condition).await.unwrap();
    label(&fleet.admin, "node-00002", "beta.kubernetes.io/os", Some("other")).await.unwrap();
    let ours = FleetController::start(cluster, &fleet).await;
    for node in fleet.heartbeats.all() {
        let words = format!("Node {node} event: Registered Node {node} in Controller");
        reported(witness, &uid(&fleet, &node), ["RegisteredNode", &words, "Normal", "node-controller"]).await;
    }
    assert_eq!(ours.it().metric_with("node_collector_evictions_total", "zone-0"), 0.0, "created with 0");

    let dead = uid(&fleet, "node-00000");
    fleet.silence(&["node-00000"]);
    fleet.until("it to be tainted", STARTUP_TIMEOUT, |fleet| !fleet.evicting().is_empty()).await;
    let words = "Node node-00000 status is now: NodeNotReady";
    reported(witness, &dead, ["NodeNotReady", words, "Normal", "node-controller"]).await;
    reported(witness, &ready.uid, ["NodeNotReady", "Node is not ready", "Warning", "node-controller"]).await;
    assert!(is_ready(&harness, "told-ready", "False").await, "NL-17");
    let sight = fleet.record.sight("node-00000").unwrap();
    let unknown = ["Ready", "MemoryPressure", "DiskPressure", "PIDPressure"];
    assert!(unknown.iter().all(|kind| sight.conditions[*kind] == "Unknown"), "NL-12: {sight:?}");
    assert_eq!(sight.reason, "NodeStatusUnknown", "NL-12");
    series(&ours).await;

    let gone = uid(&fleet, "node-00001");
    delete_node(&fleet.admin, "node-00001").await.unwrap();
    let words = "Node node-00001 event: Removing Node node-00001 from Controller";
    reported(witness, &gone, ["RemovingNode", words, "Normal", "node-controller"]).await;
    fleet.expect_punctual();
    rights(witness);
    let node = fleet.admin.get("/api/v1/nodes/node-00002").await.unwrap();
    assert_eq!(node["metadata"]["labels"]["beta.kubernetes.io/os"], "linux", "NL-8");
    ours.stop();
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}

/// NL-29.
async fn series(ours: &FleetController) {
    let is = async |name: &str, value: f64| {
        let requested =
            async || Ok(((ours.it().metric_with(name, "zone-0") - value).abs() < 0.1).then_some(()));
        wait::until(&format!("{name} to be {value}"), STARTUP_TIMEOUT, requested).await.unwrap();
    };
    is("node_collector_zone_size", 3.0).await;
    is("node_collector_unhealthy_nodes_in_zone", 1.0).await;
    is("node_collector_zone_health", 66.7).await;
    is("node_collector_evictions_total", 1.0).await;
    for histogram in ["update_node_health", "update_all_nodes_health"] {
        let name = format!("node_collector_{histogram}_duration_seconds_count");
        assert!(ours.it().metric(&name) >= 1.0, "{name}");
    }
    // Counts are published once a second.
    let counted = async || Ok((ours.it().metric("taintward_unhealthy_tainted_nodes") == 1.0).then_some(()));
    wait::until("the tainted node to be counted", STARTUP_TIMEOUT, counted).await.unwrap();
}

/// NL-60: everything granted by deploy/rbac-node-lifecycle.yaml is needed; a later check shows that no request was
/// rejected.
fn rights(witness: &Witness) {
    let used: BTreeSet<(String, String)> = witness
        .ours(|entry| entry.code < 300)
        .into_iter()
        .map(|entry| (entry.verb, entry.resource))
        .collect();
    for (verb, resource) in [
        ("patch", "nodes"),
        ("patch", "nodes/status"),
        ("patch", "pods/status"),
        ("get", "leases"),
        ("watch", "leases"),
        ("get", "nodes"),
        ("create", "events"),
    ] {
        assert!(
            used.contains(&(verb.into(), resource.into())),
            "{verb} on {resource} was not used: {used:?}"
        );
    }
}

/// L1 after S7: with both controllers in one process a pod leaves when its seconds after the taint are over.
pub(crate) async fn its_pods_go_when_their_time_is_over(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let fleet = RealFleet::start(cluster, plans(6, 2, 0), RATE).await;
    let bearing = pod("both", "node-00003").bearing("node.kubernetes.io/unreachable", Some(3));
    let goes = harness.create_pod(bearing).await;
    let both = format!("--controllers=taint-eviction-controller,{CONTROLLER}");
    let way = cluster.kubeconfig(Account::Taintward, 0);
    let ours = FleetController::with(cluster, &fleet, &way, &[&both, "--leader-elect=false"]).await;
    fleet.silence(&["node-00003"]);
    let tainted =
        fleet.until("it to be tainted", STARTUP_TIMEOUT, |fleet| !fleet.evicting().is_empty()).await;
    let due = tainted + seconds(3.0);
    // The record receives the taint about as late as the test does.
    harness.goes_within(&goes, due - seconds(0.5), due + seconds(2.0)).await;
    fleet.expect_punctual();
    ours.stop();
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}
