//! Makes random things happen to what delays evictions: a policy, a budget, holds of nodes and pods, and the brake.

use super::harness::{SimulationHarness, nodes, pods};
use super::script::SCRIPT;
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
use fakekube::resource::{ResourceId, known};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use taintward_sandbox::controllers::SILENCE;

/// The annotation of a hold.
pub(crate) const HOLD: &str = "taintward.io/hold";

/// The annotation of nodes that the brake does not concern.
const ALLOW: &str = "taintward.io/allow-no-execute";

/// The taint keys that the policy of a world selects; the script also uses another one.
pub(crate) const SELECTED: [&str; 2] = ["a", "b"];

/// The longest hold, in seconds.
const HOLD_MAX: u64 = 60;

pub(crate) fn policies() -> ResourceId {
    known("taintward.io", "evictionpolicies")
}

/// How evictions are delayed in a world.
#[derive(Clone, Debug)]
pub(crate) struct SimulatedDelays {
    /// The spec of the policy.
    spec: Value,
    /// The brake allows one node.
    pub(crate) has_brake: bool,
}

impl SimulatedDelays {
    /// Each combination of limits in turn.
    pub(crate) fn new(number: u64) -> Self {
        let mut spec = json!({"taints": SELECTED.map(|key| json!({"key": key}))});
        let has = |bit: u32| number >> bit & 1 == 1;
        match number % 3 {
            0 => {}
            1 => spec["respectBudgets"] = json!({}),
            _ => spec["respectBudgets"] = json!({"deadlineSeconds": 60}),
        }
        if has(0) {
            spec["maxPodsPerMinute"] = json!(6);
        }
        if has(1) {
            spec["maxNodesAtOnce"] = json!(1);
        }
        if has(2) {
            spec["order"] = json!("PriorityClass");
        }
        Self { spec, has_brake: has(3) }
    }

    /// Whether pods wait until others are gone.
    fn awaits_empty_nodes(&self) -> bool {
        self.spec.get("maxNodesAtOnce").is_some() || self.spec.get("order").is_some()
    }
}

impl SimulationHarness {
    /// The policy and the budget that exist at first.
    pub(crate) fn begin_delays(&mut self) {
        let Some(delays) = self.delays.clone() else { return };
        self.send(format!("policy {}, brake: {}", delays.spec, delays.has_brake));
        self.create_policy();
        let budget = json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": {"name": "all"},
            "spec": {"minAvailable": 3, "selector": {}},
        });
        self.world.create("policy", "poddisruptionbudgets", "default", budget);
    }

    /// Does one random thing to what delays evictions.
    pub(crate) fn delay_happens(&mut self) {
        match self.below(8) {
            0 | 1 => self.hold(nodes()),
            2 | 3 => self.hold(pods()),
            4 => self.release_all(),
            5 | 6 => {
                let needed = self.below(10);
                self.set_budget(needed);
            }
            _ if self.world.server().get(policies(), "", "gentle").is_some() => self.delete_policy(),
            _ => self.create_policy(),
        }
    }

    /// Before the time of rest: nothing delays for good, but the policy and its limits.
    pub(crate) fn settle_delays(&mut self) {
        if self.delays.is_none() {
            return;
        }
        self.release_all();
        // Even a budget that requires no pod allows no eviction while all its pods are unhealthy, as on silent nodes.
        let on = ResourcePath::object(known("policy", "poddisruptionbudgets"), "default", "all");
        let _ = self.world.server().delete(&on, &DeleteOptions::default(), &WriteOptions::by(SCRIPT));
        for node in self.names(nodes()) {
            self.annotate_object(nodes(), &node, ALLOW, json!("*"));
            // A node is not empty while a pod terminates that its silent kubelet never ends.
            if self.delays.as_ref().is_some_and(SimulatedDelays::awaits_empty_nodes) {
                self.annotate_object(nodes(), &node, SILENCE, Value::Null);
            }
        }
    }

    fn create_policy(&mut self) {
        let Some(SimulatedDelays { spec, .. }) = self.delays.clone() else { return };
        let policy = json!({
            "apiVersion": "taintward.io/v1alpha1", "kind": "EvictionPolicy", "metadata": {"name": "gentle"},
            "spec": spec,
        });
        self.world.create("taintward.io", "evictionpolicies", "", policy);
        self.send("the policy is created".to_owned());
    }

    fn delete_policy(&mut self) {
        let on = ResourcePath::object(policies(), "", "gentle");
        let _ = self.world.server().delete(&on, &DeleteOptions::default(), &WriteOptions::by(SCRIPT));
        self.send("the policy is deleted".to_owned());
    }

    fn set_budget(&mut self, needed: u64) {
        let on = ResourcePath::object(known("policy", "poddisruptionbudgets"), "default", "all");
        let _ =
            self.world.server().change(&on, SCRIPT, |budget| budget["spec"]["minAvailable"] = json!(needed));
        self.send(format!("the budget needs {needed} pods"));
    }

    fn hold(&mut self, kind: ResourceId) {
        let Some(name) = self.pick(kind) else { return };
        let seconds = 1 + self.below(HOLD_MAX).cast_signed();
        let (since, until) = (self.now(), self.now() + SignedDuration::from_secs(seconds));
        let order = json!({"action": "hold", "since": micro_time(since), "until": micro_time(until)});
        self.annotate_object(kind, &name, HOLD, json!(order.to_string()));
        self.send(format!("{name} is held for {seconds} s"));
    }

    /// Releases every hold that is not over.
    fn release_all(&mut self) {
        for kind in [nodes(), pods()] {
            for name in self.names(kind) {
                let namespace = if kind == pods() { "default" } else { "" };
                let object = self.world.server().get(kind, namespace, &name).unwrap_or_default();
                let now = micro_time(self.now());
                let Some(since) = held_since(&object, &now) else { continue };
                let release =
                    json!({"action": "release", "at": now, "past": [{"since": since, "until": now}]});
                self.annotate_object(kind, &name, HOLD, json!(release.to_string()));
                self.send(format!("{name} is released"));
            }
        }
    }

    fn annotate_object(&self, kind: ResourceId, name: &str, key: &str, value: Value) {
        let namespace = if kind == pods() { "default" } else { "" };
        let on = ResourcePath::object(kind, namespace, name);
        let _ = self
            .world
            .server()
            .change(&on, SCRIPT, |object| object["metadata"]["annotations"][key] = value.clone());
    }
}

/// Since when an object is held, if it is.
fn held_since(object: &Value, now: &str) -> Option<String> {
    let text = object["metadata"]["annotations"][HOLD].as_str()?;
    let order: Value = serde_json::from_str(text).ok()?;
    let is_on = order["action"] == "hold" && order["until"].as_str()? > now;
    is_on.then(|| order["since"].as_str().map(str::to_owned))?
}

/// The time as the annotation has it.
fn micro_time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S.%6fZ").to_string()
}
