//! Arranges nodes for the scenarios and asserts which taints they had when.

use crate::harness::{
    HAND, HarnessController, LATE, SandboxHarness, StoreCommit, TestPod, after, alone, nodes, pods, sleep,
};
use fakekube::api::{ApiServer, ResourcePath, WriteOptions};
use fakekube::resource::{ResourceId, Subresource, known};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::time::Duration;
use taintward_controller::settings::{ControllerSettings, ElectionSettings, EnabledControllers};
use taintward_core::node_lifecycle::{NodeLifecycleConfig, NodeLifecycleFlags};
use taintward_sandbox::controllers::{Component, SILENCE};
use taintward_sandbox::world;
use tokio::task::JoinHandle;

/// `--node-monitor-grace-period`, and the pause between two nodes of a zone.
pub(crate) const GRACE: f64 = 50.0;
pub(crate) const TURN: f64 = 10.0;

/// How long a controller must have observed a node before it can declare it silent; scenarios begin after it.
pub(crate) const WATCHED: f64 = 60.0;

pub(crate) const UNREACHABLE: &str = "unreachable:NoExecute";
pub(crate) const NOT_READY: &str = "not-ready:NoExecute";

/// The prefix of Kubernetes' own taints.
const PREFIX: &str = "node.kubernetes.io/";

/// Settings with both controllers, without election.
pub(crate) fn both() -> ControllerSettings {
    flagged(NodeLifecycleFlags::default())
}

/// The same, with other flags.
pub(crate) fn flagged(flags: NodeLifecycleFlags) -> ControllerSettings {
    let node_lifecycle = Some(NodeLifecycleConfig::new(&flags).unwrap());
    ControllerSettings {
        controllers: EnabledControllers { node_lifecycle, ..EnabledControllers::default() },
        ..alone()
    }
}

/// Settings with both controllers, for one of several replicas.
pub(crate) fn elected(seed: u64) -> ControllerSettings {
    ControllerSettings { election: Some(ElectionSettings::default()), seed: Some(seed), ..both() }
}

pub(crate) fn leases() -> ResourceId {
    known("coordination.k8s.io", "leases")
}

/// A taint as kubectl shows it, without its prefix.
fn short(taint: &Value) -> String {
    let text = |field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    format!("{}:{}", text("key").trim_start_matches(PREFIX), text("effect"))
}

/// An own taint from its short form.
pub(crate) fn own(taint: &str) -> Value {
    let (key, effect) = taint.split_once(':').unwrap();
    json!({"key": format!("{PREFIX}{key}"), "effect": effect})
}

/// A kubelet that renews its lease every ten seconds; dropping it silences the node.
pub(crate) struct Heart(JoinHandle<()>);

impl Drop for Heart {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Renews a node's lease.
pub(crate) fn beat(server: &ApiServer, node: &str) {
    let now = server.clock().micro_time();
    set_lease(server, node, &json!({"holderIdentity": node, "leaseDurationSeconds": 40, "renewTime": now}));
}

/// Replaces the content of a node's lease.
pub(crate) fn set_lease(server: &ApiServer, node: &str, spec: &Value) {
    let on = ResourcePath::object(leases(), "kube-node-lease", node);
    if server.change(&on, node, |lease| lease["spec"] = spec.clone()).is_err() {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": node, "namespace": "kube-node-lease"}, "spec": spec,
        });
        server
            .create(&ResourcePath::object(leases(), "kube-node-lease", ""), lease, &WriteOptions::by(node))
            .unwrap();
    }
}

/// A world of `nodes` nodes, `n1` and on, distributed over zones in turn.
fn world(nodes: usize, zones: usize, roles: Vec<Component>) -> world::WorldSettings {
    world::WorldSettings { nodes, zones, roles, ..world::WorldSettings::default() }
}

impl SandboxHarness {
    /// A cluster with kubelets.
    pub(crate) fn lively(nodes: usize, zones: usize) -> Self {
        Self::of(world(nodes, zones, vec![Component::Namespaces, Component::Kubelets]))
    }

    /// A cluster whose nodes are ready, and report only what the scenario writes for them.
    pub(crate) fn still(nodes: usize, zones: usize) -> Self {
        let harness = Self::of(world(nodes, zones, vec![Component::Namespaces]));
        for node in 1..=nodes {
            harness.posts(&format!("n{node}"), "Ready", "True");
        }
        harness
    }

    /// Starts one controller, or two, and waits until it has observed for long enough.
    pub(crate) async fn watched(&self, settings: ControllerSettings) -> HarnessController {
        let controller = self.controller(settings).await;
        sleep(WATCHED).await;
        controller
    }

    /// From now on this node renews its lease.
    pub(crate) fn heart(&self, node: &str) -> Heart {
        let (server, node) = (self.server().clone(), node.to_owned());
        beat(&server, &node);
        Heart(tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_secs(10)).await;
                beat(&server, &node);
            }
        }))
    }

    /// Writes a condition of a node, as a kubelet or another client.
    pub(crate) fn posts(&self, node: &str, kind: &str, status: &str) {
        let now = self.server().clock().time_text();
        let condition = json!({
            "type": kind, "status": status, "reason": "Said", "message": "a condition of the test",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        });
        self.change_status(node, |node| {
            let conditions = &mut node["status"]["conditions"];
            let mut all = conditions.as_array().cloned().unwrap_or_default();
            all.retain(|one| one["type"] != kind);
            all.push(condition);
            *conditions = Value::Array(all);
        });
    }

    pub(crate) fn change_status(&self, node: &str, change: impl FnOnce(&mut Value)) {
        let on = ResourcePath::object(nodes(), "", node).part(Subresource::Status);
        self.server().change(&on, "kubelet", change).unwrap();
    }

    pub(crate) fn change_node(&self, node: &str, change: impl FnOnce(&mut Value)) {
        self.server().change(&ResourcePath::object(nodes(), "", node), HAND, change).unwrap();
    }

    pub(crate) fn get_node(&self, node: &str) -> Value {
        self.server().get(nodes(), "", node).unwrap()
    }

    /// Stops the kubelets of these nodes.
    pub(crate) fn silence(&self, all: &[&str]) {
        all.iter().for_each(|node| self.annotate(node, json!("true")));
    }

    /// Restarts them.
    pub(crate) fn recover(&self, all: &[&str]) {
        all.iter().for_each(|node| self.annotate(node, Value::Null));
    }

    pub(crate) fn annotate(&self, node: &str, silence: Value) {
        self.change_node(node, |node| node["metadata"]["annotations"][SILENCE] = silence);
    }

    /// When the node last renewed its lease.
    pub(crate) fn last_word(&self, node: &str) -> Timestamp {
        let renewals = self.commits_of(|one| {
            one.number == leases()
                && one.object["metadata"]["name"] == node
                && one.object["metadata"]["namespace"] == "kube-node-lease"
        });
        renewals.last().unwrap().at
    }

    /// All commits of a node, up to its deletion.
    pub(crate) fn life_of(&self, node: &str) -> Vec<StoreCommit> {
        self.commits_of(|one| one.number == nodes() && one.object["metadata"]["name"] == node)
    }

    /// When a property of a node changed, and to what; its initial value is not a change.
    fn turns<T: PartialEq>(&self, node: &str, what: impl Fn(&Value) -> T) -> Vec<(Timestamp, T)> {
        let mut turns: Vec<(Timestamp, T)> = Vec::new();
        for commit in self.life_of(node) {
            let now = what(&commit.object);
            if turns.last().is_none_or(|(_, last)| *last != now) {
                turns.push((commit.at, now));
            }
        }
        turns.drain(..1.min(turns.len()));
        turns
    }

    /// When a taint was added and removed, alternating.
    pub(crate) fn turns_of(&self, node: &str, taint: &str) -> Vec<Timestamp> {
        let has = |node: &Value| {
            node["spec"]["taints"].as_array().is_some_and(|all| all.iter().any(|one| short(one) == taint))
        };
        self.turns(node, has).into_iter().map(|(at, _)| at).collect()
    }

    /// Asserts that the taint was added at the first of these times, removed at the second, and so on, and at no other.
    #[track_caller]
    pub(crate) fn bore(&self, node: &str, taint: &str, expected: &[Timestamp]) {
        self.bore_within(node, taint, expected, LATE);
    }

    #[track_caller]
    pub(crate) fn bore_within(&self, node: &str, taint: &str, expected: &[Timestamp], late: f64) {
        let turns = self.turns_of(node, taint);
        let fits = turns.len() == expected.len()
            && turns.iter().zip(expected).all(|(at, due)| at >= due && *at <= after(*due, late));
        assert!(fits, "{node} had {taint} from and until {turns:?}, not {expected:?}; it is {}", self.now());
    }

    /// Asserts that the taint was never added.
    #[track_caller]
    pub(crate) fn never(&self, node: &str, taint: &str) {
        self.bore(node, taint, &[]);
    }

    /// Asserts that no other node ever had a NoExecute taint of node lifecycle.
    #[track_caller]
    pub(crate) fn only(&self, tainted: &[&str]) {
        let names: Vec<String> = self.names();
        for node in names.iter().filter(|node| !tainted.contains(&node.as_str())) {
            [UNREACHABLE, NOT_READY].iter().for_each(|taint| self.never(node, taint));
        }
    }

    pub(crate) fn names(&self) -> Vec<String> {
        let mut names: Vec<String> = Vec::new();
        for commit in &self.commits_of(|one| one.number == nodes()) {
            let name = commit.object["metadata"]["name"].as_str().unwrap().to_owned();
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    /// When the status of a condition changed, and to what.
    pub(crate) fn message(&self, node: &str, kind: &str) -> Vec<(Timestamp, String)> {
        self.turns(node, |node| status(node, kind))
    }

    /// Whether a pod's conditions say that it is ready.
    pub(crate) fn is_ready(&self, pod: &TestPod) -> bool {
        let pod = self.server().get(pods(), "default", &pod.name).unwrap();
        status(&pod, "Ready") == "True"
    }

    /// Writes to a node, in order.
    pub(crate) fn writes_to(&self, node: &str) -> usize {
        let path = format!("/api/v1/nodes/{node}");
        let status = format!("{path}/status");
        let all = self.writes();
        all.iter().filter(|sent| (sent.path == path || sent.path == status) && sent.code == 200).count()
    }

    /// Events about an object: reason, note and type.
    pub(crate) fn reported_about(&self, name: &str) -> Vec<(String, String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let all = self.writes();
        let about = all.iter().filter(|sent| sent.body["regarding"]["name"] == name);
        about
            .map(|sent| [&sent.body["reason"], &sent.body["note"], &sent.body["type"]].map(text).into())
            .collect()
    }
}

/// The status of a condition; empty if it is absent.
fn status(object: &Value, kind: &str) -> String {
    let conditions = object["status"]["conditions"].as_array();
    let found = conditions.into_iter().flatten().find(|one| one["type"] == kind);
    found.and_then(|one| one["status"].as_str()).unwrap_or_default().to_owned()
}
