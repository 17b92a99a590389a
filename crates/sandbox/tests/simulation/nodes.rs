//! Makes random things happen to nodes: silence, odd leases and conditions, cordons, manual taints.

use super::harness::{SimulationHarness, leases, nodes};
use super::script::SCRIPT;
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
use fakekube::resource::Subresource;
use serde_json::{Value, json};
use taintward_sandbox::controllers::{PRESSURE, SILENCE};

/// The label of a node's zone.
const ZONE: &str = "topology.kubernetes.io/zone";

impl SimulationHarness {
    /// Does one random thing to nodes.
    pub(crate) fn node_happens(&mut self) {
        match self.below(20) {
            0..=4 => self.silence_one(json!("true")),
            5..=8 => self.silence_one(Value::Null),
            9 => self.silence_one(json!("flap")),
            10 => self.a_zone_falls_silent(),
            11 if self.below(2) == 0 => self.silence_all(json!("true")),
            11 | 12 => self.silence_all(Value::Null),
            13 => self.last_words(),
            14 => self.pressure(),
            15 => self.network(),
            16 => self.cordon(),
            17 => self.lease(),
            18 => self.own_taint_by_hand(),
            _ => self.move_node(),
        }
    }

    /// Before the time of rest: kubelets keep their state from now on.
    pub(crate) fn settle_nodes(&mut self) {
        for node in self.names(nodes()) {
            let flaps = self
                .world
                .server()
                .get(nodes(), "", &node)
                .is_some_and(|node| node["metadata"]["annotations"][SILENCE] == "flap");
            if flaps {
                let silence = if self.below(2) == 0 { json!("true") } else { Value::Null };
                self.annotate(&node, SILENCE, silence);
            }
        }
    }

    fn annotate(&mut self, node: &str, what: &str, value: Value) {
        self.edit(node, &format!("{what} is {value}"), |node| {
            node["metadata"]["annotations"][what] = value.clone();
        });
    }

    fn edit(&mut self, node: &str, reported: &str, edit: impl FnOnce(&mut Value)) {
        if self.world.server().change(&ResourcePath::object(nodes(), "", node), SCRIPT, edit).is_ok() {
            self.send(format!("node {node}: {reported}"));
        }
    }

    fn silence_one(&mut self, silence: Value) {
        let node = self.pick(nodes());
        node.into_iter().for_each(|node| self.annotate(&node, SILENCE, silence.clone()));
    }

    fn silence_all(&mut self, silence: Value) {
        for node in self.names(nodes()) {
            self.annotate(&node, SILENCE, silence.clone());
        }
    }

    fn a_zone_falls_silent(&mut self) {
        let Some(one) = self.pick(nodes()) else { return };
        let server = self.world.server().clone();
        let zone =
            |name: &str| server.get(nodes(), "", name).map(|node| node["metadata"]["labels"][ZONE].clone());
        for node in self.names(nodes()).into_iter().filter(|node| zone(node) == zone(&one)) {
            self.annotate(&node, SILENCE, json!("true"));
        }
    }

    /// A node reports not ready and then falls silent.
    fn last_words(&mut self) {
        let Some(node) = self.pick(nodes()) else { return };
        self.annotate(&node, SILENCE, json!("true"));
        self.condition(&node, "Ready", "False");
    }

    fn condition(&mut self, node: &str, kind: &str, status: &str) {
        let now = self.world.server().clock().time_text();
        let condition = json!({
            "type": kind, "status": status, "reason": "Script", "message": "", "lastTransitionTime": now,
            "lastHeartbeatTime": now,
        });
        let on = ResourcePath::object(nodes(), "", node).part(Subresource::Status);
        let done = self.world.server().change(&on, SCRIPT, |node| {
            let mut all = node["status"]["conditions"].as_array().cloned().unwrap_or_default();
            all.retain(|one| one["type"] != kind);
            all.push(condition);
            node["status"]["conditions"] = Value::Array(all);
        });
        if done.is_ok() {
            self.send(format!("node {node}: {kind} is {status}"));
        }
    }

    fn pressure(&mut self) {
        let Some(node) = self.pick(nodes()) else { return };
        let kinds = ["", "memory", "disk", "pid", "memory,disk"][self.below(5) as usize];
        self.annotate(&node, PRESSURE, json!(kinds));
    }

    fn network(&mut self) {
        let Some(node) = self.pick(nodes()) else { return };
        let status = ["True", "False", "Unknown"][self.below(3) as usize];
        self.condition(&node, "NetworkUnavailable", status);
    }

    fn cordon(&mut self) {
        let Some(node) = self.pick(nodes()) else { return };
        let on = self.below(2) == 0;
        self.edit(&node, &format!("cordoned: {on}"), |node| node["spec"]["unschedulable"] = json!(on));
    }

    /// A lease is deleted, written twice, or gets odd content; a kubelet repairs that.
    fn lease(&mut self) {
        if !self.mutation.hears_all() {
            // A controller that missed a renewal cannot detect it once it is overwritten.
            return;
        }
        let Some(node) = self.pick(nodes()) else { return };
        let (server, on) =
            (self.world.server().clone(), ResourcePath::object(leases(), "kube-node-lease", &node));
        let what = self.below(5);
        let _ = match what {
            0 => server.delete(&on, &DeleteOptions::default(), &WriteOptions::by(SCRIPT)).map(drop),
            1 => server
                .change(&on, SCRIPT, |lease| lease["metadata"]["labels"]["twice"] = json!("yes"))
                .map(drop),
            2 => server.change(&on, SCRIPT, |lease| lease["spec"]["renewTime"] = Value::Null).map(drop),
            3 => {
                let time = json!("2001-01-01T00:00:00.000000Z");
                server.change(&on, SCRIPT, |lease| lease["spec"]["renewTime"] = time).map(drop)
            }
            _ => {
                let time = json!("2199-01-01T00:00:00.000000Z");
                server.change(&on, SCRIPT, |lease| lease["spec"]["renewTime"] = time).map(drop)
            }
        };
        let reported = ["lost", "written twice", "without a time", "of the past", "of the future"];
        self.send(format!("lease of {node}: {}", reported[what as usize]));
    }

    /// A user sets one of node lifecycle's taints, or removes them all.
    fn own_taint_by_hand(&mut self) {
        let Some(node) = self.pick(nodes()) else { return };
        let name = ["unreachable", "not-ready", "memory-pressure"][self.below(3) as usize];
        let effect = ["NoExecute", "NoSchedule"][self.below(2) as usize];
        let key = format!("node.kubernetes.io/{name}");
        let on = self.below(2) == 0;
        self.edit(&node, &format!("{key}:{effect} by hand: {on}"), |node| {
            let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
            taints.retain(|taint| taint["key"] != key.as_str() || taint["effect"] != effect);
            if on {
                taints.push(json!({"key": key, "effect": effect, "value": "by-hand"}));
            }
            node["spec"]["taints"] = Value::Array(taints);
        });
    }

    fn move_node(&mut self) {
        let Some(node) = self.pick(nodes()) else { return };
        let zone = format!("z{}", 1 + self.below(self.zones as u64));
        self.edit(&node, &format!("moves to {zone}"), |node| node["metadata"]["labels"][ZONE] = json!(zone));
    }
}
