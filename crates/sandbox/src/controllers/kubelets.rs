//! Simulates the kubelets of all nodes: leases, node status, and pods that start, are rejected (KU-1) and end.
//!
//! - Invariant: a silent node's kubelet writes nothing.

use super::delay_queue::DelayQueue;
use super::pods::{is_over, name, on, pods, uid};
use super::{Controller, ReconcileContext, endings};
use crate::core_types;
use fakekube::api::{self, DeleteOptions, ResourcePath, WriteOptions};
use fakekube::resource::{Subresource, known};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use taintward_core::taint::TaintEffect;
use taintward_core::toleration_matching::{NumericOperators, TaintMatch, match_taint};

pub(super) const NAME: &str = "kubelet";

/// The annotation that silences a node: always (`"true"`), or in turns (`"flap"`).
pub const SILENCE: &str = "sandbox.taintward.io/silence";
/// The annotation with the pressure that a node reports: `memory`, `disk`, `pid`, separated by commas.
pub const PRESSURE: &str = "sandbox.taintward.io/pressure";

/// How often a kubelet posts the status of its node if nothing has changed.
const REPORT: SignedDuration = SignedDuration::from_mins(5);
/// A flapping node is silent for this long, and then alive for as long.
const FLAP: i64 = 60;
/// How long a pod takes to start and to stop.
const START: SignedDuration = SignedDuration::from_millis(700);
const STOP: SignedDuration = SignedDuration::from_millis(900);

/// When a pod is handled again after a write, or if its node is silent: the write may have failed, and a flapping node
/// comes back without an event.
const AGAIN: SignedDuration = SignedDuration::from_secs(5);
/// The largest number of pods handled in one step, so that other components get their turn; what was read in a step
/// stays in memory until its end.
const AT_ONCE: usize = 1000;

pub(super) struct KubeletFleet {
    /// How often a kubelet renews its lease.
    renew: SignedDuration,
    renew_at: Option<Timestamp>,
    turns: DelayQueue,
}

impl KubeletFleet {
    pub(super) fn new(renew: SignedDuration) -> Self {
        Self { renew, renew_at: None, turns: DelayQueue::default() }
    }
}

impl Controller for KubeletFleet {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        let nodes = known("", "nodes");
        let due = self.renew_at.is_none_or(|at| at <= view.now);
        for (key, node) in view.mirror.all(nodes).filter(|(_, node)| speaks(node, view.now)) {
            if due {
                renew(view, node);
            }
            if due || view.changed.has(nodes, key) {
                post(view, node);
            }
        }
        if due {
            self.renew_at = Some(view.now + self.renew);
        }
        for key in view.changed.keys(pods()) {
            match view.mirror.pod(key).filter(|pod| pod.node.is_some() && pod.is_restless()) {
                Some(pod) => self.turns.want(key, pod.uid(), view.now, pod.ending || pod.belied),
                None => self.turns.forget(key),
            }
        }
        for _ in 0..AT_ONCE {
            let Some((key, begun)) = self.turns.next(view.now) else { break };
            let Some(pod) = view.mirror.pod(&key) else { continue };
            let node = pod.node.as_deref().and_then(|node| view.mirror.one(nodes, node));
            let next = match node.filter(|node| speaks(node, view.now)) {
                Some(node) => tend(view, node, &pod.value(), begun),
                None => Some(AGAIN),
            };
            if let Some(wait) = next {
                let idle = pod.ends && !pod.ending && !pod.belied;
                self.turns.again(&key, pod.uid(), view.now + wait, idle);
            }
        }
        self.renew_at.into_iter().chain(self.turns.wake_at()).min()
    }
}

/// Whether a node's kubelet is alive.
fn speaks(node: &Value, now: Timestamp) -> bool {
    match node["metadata"]["annotations"][SILENCE].as_str() {
        None | Some("" | "false") => true,
        Some("flap") => (now.as_second() / FLAP) % 2 == 0,
        Some(_) => false,
    }
}

/// Handles a pod that is new or due. Returns how long to wait.
fn tend(view: &ReconcileContext<'_>, node: &Value, pod: &Value, begun: bool) -> Option<SignedDuration> {
    if api::is_ending(pod) {
        if api::is_held(pod) && is_over(pod) {
            return None;
        }
        let grace = pod["metadata"]["deletionGracePeriodSeconds"].as_i64().unwrap_or(0);
        let length = STOP.min(SignedDuration::from_secs(grace));
        if !begun && length.is_positive() {
            return Some(length);
        }
        stop(view, pod);
        return Some(AGAIN);
    }
    if is_belied(pod) {
        set_ready(view, pod);
        return Some(AGAIN);
    }
    if let Some(end) = endings::ends_at(pod) {
        if end > view.now {
            return Some(end.duration_since(view.now));
        }
        view.complete(NAME, pod);
        return Some(AGAIN);
    }
    if pod["status"]["phase"] != "Pending" {
        return None;
    }
    if rejects(node, pod) {
        reject(view, pod);
    } else if begun {
        start(view, node, pod);
    } else {
        return Some(START);
    }
    Some(AGAIN)
}

/// KU-1: only NoExecute taints count.
fn rejects(node: &Value, pod: &Value) -> bool {
    let tolerations = core_types::tolerations(&pod["spec"]);
    let mut taints =
        core_types::taints(node).into_iter().filter(|taint| taint.effect == TaintEffect::NoExecute);
    taints.any(|taint| {
        matches!(match_taint(&tolerations, &taint, NumericOperators::Off), TaintMatch::Untolerated)
    })
}

fn reject(view: &ReconcileContext<'_>, pod: &Value) {
    let message =
        "Pod was rejected: Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate";
    let started = view.server.clock().time_text();
    let _ = view.server.change(&on(pods(), pod).part(Subresource::Status), NAME, |pod| {
        pod["status"]["phase"] = json!("Failed");
        pod["status"]["reason"] = json!("TaintToleration");
        pod["status"]["message"] = json!(message);
        pod["status"]["startTime"] = json!(started);
    });
}

fn start(view: &ReconcileContext<'_>, node: &Value, pod: &Value) {
    let now = view.server.clock().time_text();
    let address = node["status"]["addresses"][0]["address"].clone();
    let number = view.server.ids().number();
    let ip = format!("10.244.{}.{}", number % 250, 2 + (number >> 16) % 250);
    let container = |one: &Value| {
        let image = one["image"].as_str().unwrap_or_default();
        json!({
            "name": one["name"], "image": image, "imageID": format!("sandbox://{image}"), "ready": true, "started": true,
            "restartCount": 0, "lastState": {}, "state": {"running": {"startedAt": now}},
            "containerID": format!("sandbox://{:016x}", view.server.ids().number()),
        })
    };
    let statuses: Vec<Value> = core_types::list(&pod["spec"]["containers"]).map(container).collect();
    let generation = pod["metadata"]["generation"].clone();
    let _ = view.server.change(&on(pods(), pod).part(Subresource::Status), NAME, |pod| {
        for kind in ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady"] {
            api::set_condition(
                pod,
                json!({
                    "type": kind, "status": "True", "observedGeneration": generation,
                    "lastProbeTime": Value::Null, "lastTransitionTime": now,
                }),
            );
        }
        let status = &mut pod["status"];
        status["phase"] = json!("Running");
        status["startTime"] = json!(now);
        status["hostIP"] = address.clone();
        status["hostIPs"] = json!([{"ip": address}]);
        status["podIP"] = json!(ip);
        status["podIPs"] = json!([{"ip": ip}]);
        status["containerStatuses"] = json!(statuses);
        status["observedGeneration"] = generation;
    });
}

/// Whether a pod runs but was set to not ready because its node was silent (NL-17).
pub(super) fn is_belied(pod: &Value) -> bool {
    let condition_is = |kind: &str, status: &str| {
        core_types::list(&pod["status"]["conditions"])
            .any(|one| one["type"] == kind && one["status"] == status)
    };
    pod["status"]["phase"] == "Running"
        && condition_is("Ready", "False")
        && condition_is("ContainersReady", "True")
}

fn set_ready(view: &ReconcileContext<'_>, pod: &Value) {
    let now = view.server.clock().time_text();
    let _ = view.server.change(&on(pods(), pod).part(Subresource::Status), NAME, |pod| {
        for condition in pod["status"]["conditions"].as_array_mut().into_iter().flatten() {
            if condition["type"] == "Ready" {
                condition["status"] = json!("True");
                condition["lastTransitionTime"] = json!(now);
            }
        }
    });
}

/// Removes a pod whose containers have stopped.
fn stop(view: &ReconcileContext<'_>, pod: &Value) {
    view.complete(NAME, pod);
    let how = DeleteOptions { uid: Some(uid(pod).to_owned()), grace: Some(0), ..DeleteOptions::default() };
    let _ = view.server.delete(&on(pods(), pod), &how, &WriteOptions::by(NAME));
}

/// Renews the node's lease.
fn renew(view: &ReconcileContext<'_>, node: &Value) {
    let leases = known("coordination.k8s.io", "leases");
    let on = ResourcePath::object(leases, "kube-node-lease", name(node));
    let now = view.server.clock().micro_time();
    let renewed = view.server.change(&on, NAME, |lease| lease["spec"]["renewTime"] = json!(now));
    if renewed.is_err() {
        let lease = json!({
            "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
            "metadata": {"name": name(node), "namespace": "kube-node-lease", "ownerReferences": [{
                "apiVersion": "v1", "kind": "Node", "name": name(node), "uid": uid(node),
            }]},
            "spec": {"holderIdentity": name(node), "leaseDurationSeconds": 40, "renewTime": now},
        });
        let _ =
            view.server.create(&ResourcePath { name: String::new(), ..on }, lease, &WriteOptions::by(NAME));
    }
}

/// Posts the node's conditions if they are wrong or have not been posted for long.
fn post(view: &ReconcileContext<'_>, node: &Value) {
    let pressure = node["metadata"]["annotations"][PRESSURE].as_str().unwrap_or_default();
    let under = |what: &str| pressure.split(',').any(|one| one.trim() == what);
    let now = view.server.clock().time_text();
    let mut after = node.clone();
    if is_old(node, view.now) {
        let conditions = after["status"]["conditions"].as_array_mut();
        // The kubelet does not own the condition of the network.
        for condition in conditions.into_iter().flatten().filter(|one| one["type"] != "NetworkUnavailable") {
            condition["lastHeartbeatTime"] = json!(now);
        }
    }
    for (kind, what, good, bad) in [
        ("MemoryPressure", "memory", "KubeletHasSufficientMemory", "KubeletHasInsufficientMemory"),
        ("DiskPressure", "disk", "KubeletHasNoDiskPressure", "KubeletHasDiskPressure"),
        ("PIDPressure", "pid", "KubeletHasSufficientPID", "KubeletHasInsufficientPID"),
    ] {
        let (status, reason) = if under(what) { ("True", bad) } else { ("False", good) };
        let condition = json!({
            "type": kind, "status": status, "reason": reason, "message": words(reason),
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        });
        report(&mut after, condition);
    }
    report(
        &mut after,
        json!({
            "type": "Ready", "status": "True", "reason": "KubeletReady", "message": "kubelet is posting ready status",
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        }),
    );
    if after["status"] != node["status"] {
        let status = after["status"].clone();
        let on = on(known("", "nodes"), node).part(Subresource::Status);
        let _ =
            view.server.change(&on, NAME, |node| node["status"]["conditions"] = status["conditions"].clone());
    }
}

/// Whether a new heartbeat in the node's status is due. An invalid time stays unchanged.
fn is_old(node: &Value, now: Timestamp) -> bool {
    let ready = core_types::list(&node["status"]["conditions"]).find(|one| one["type"] == "Ready");
    let posted = ready.and_then(|one| one["lastHeartbeatTime"].as_str()?.parse::<Timestamp>().ok());
    posted.is_some_and(|posted| now.duration_since(posted) >= REPORT)
}

/// Sets a condition unless it is there already; heartbeats in between use the lease.
fn report(node: &mut Value, condition: Value) {
    let same = core_types::list(&node["status"]["conditions"]).any(|old| {
        old["type"] == condition["type"]
            && old["status"] == condition["status"]
            && old["reason"] == condition["reason"]
    });
    if !same {
        api::set_condition(node, condition);
    }
}

fn words(reason: &str) -> &'static str {
    match reason {
        "KubeletHasSufficientMemory" => "kubelet has sufficient memory available",
        "KubeletHasInsufficientMemory" => "kubelet has insufficient memory available",
        "KubeletHasNoDiskPressure" => "kubelet has no disk pressure",
        "KubeletHasDiskPressure" => "kubelet has disk pressure",
        "KubeletHasSufficientPID" => "kubelet has sufficient PID available",
        _ => "kubelet has insufficient PID available",
    }
}
