//! Makes random things happen in a cluster: pods, taints, tolerations, nodes, crashes.

use super::harness::{SimulationHarness, nodes, pods};
use super::mutation::ControllerMutation;
use fakekube::api::{DeleteOptions, ResourcePath, WriteOptions};
use serde_json::{Value, json};
use taintward_sandbox::world;
use testkit::{ObjectExt as _, pod};

/// The script's own field manager.
pub(crate) const SCRIPT: &str = "script";

impl SimulationHarness {
    /// Does one random thing.
    pub(crate) async fn act(&mut self) {
        match self.below(22) {
            15 if !self.peaceful => self.crash().await,
            16 if !self.peaceful => self.stop(),
            16 => self.set_clocks(),
            20 if !self.peaceful => self.slumber(),
            21 if !self.peaceful => self.change_link(),
            _ => self.happen(),
        }
        if self.below(2) == 0 {
            self.start_one().await;
        }
    }

    /// Does one random thing that takes no time.
    pub(crate) fn happen(&mut self) {
        if self.delays.is_some() && self.below(4) == 0 {
            return self.delay_happens();
        }
        if self.health && self.below(5) < 3 {
            return self.node_happens();
        }
        match self.below(18) {
            0..=6 => self.new_pod(),
            7..=10 => self.add_taint(),
            11..=12 => self.untaint(),
            13 => self.tolerate(),
            14 => self.recreate(),
            15 => self.replace_node(),
            16 if self.mutation == ControllerMutation::EarlyEvictions => self.wrong_eviction(),
            16 | 17 if self.mutation == ControllerMutation::NoDelays => self.undelayed_evictions(),
            _ => {}
        }
    }

    fn new_pod(&mut self) {
        let Some(node) = self.pick(nodes()) else { return };
        self.new_pod_of(&format!("p{}", self.below(12)), &node);
    }

    fn new_pod_of(&mut self, name: &str, node: &str) {
        let tolerations = self.tolerations();
        let pod = pod(name).on(node).with("spec.tolerations", tolerations.clone());
        let pod = pod.with("spec.terminationGracePeriodSeconds", self.below(3));
        if self
            .world
            .server()
            .create(&ResourcePath::object(pods(), "default", ""), pod, &WriteOptions::by(SCRIPT))
            .is_ok()
        {
            self.send(format!("pod {name} on {node}: {tolerations}"));
        }
    }

    fn tolerations(&self) -> Value {
        let one = || {
            let mut one = match self.below(4) {
                0 => json!({"operator": "Exists"}),
                1 => json!({"key": self.key(), "operator": "Equal", "value": "v"}),
                _ => json!({"key": self.key(), "operator": "Exists"}),
            };
            if self.below(3) > 0 {
                one["effect"] = json!("NoExecute");
                if self.below(4) > 0 {
                    one["tolerationSeconds"] = json!([0, 1, 5, 30, 120, 300, -5][self.below(7) as usize]);
                }
            }
            one
        };
        (0..self.below(4)).map(|_| one()).collect()
    }

    fn key(&self) -> &'static str {
        ["a", "b", "c"][self.below(3) as usize]
    }

    fn edit_taints(&mut self, what: &str, edit: impl FnOnce(&mut Vec<Value>)) {
        let Some(node) = self.pick(nodes()) else { return };
        let on = ResourcePath::object(nodes(), "", &node);
        let done = self.world.server().change(&on, SCRIPT, |node| {
            let mut taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
            edit(&mut taints);
            node["spec"]["taints"] = Value::Array(taints);
        });
        if let Ok(made) = done {
            self.send(format!("{what} {node}: {}", made.object.value()["spec"]["taints"]));
        }
    }

    fn add_taint(&mut self) {
        let key = self.key();
        let value = ["", "v", "w"][self.below(3) as usize];
        let effect = ["NoExecute", "NoExecute", "NoExecute", "NoSchedule"][self.below(4) as usize];
        let time_text = self.below(3) == 0;
        let now = self.world.server().clock().time_text();
        self.edit_taints("taint", |taints| {
            taints.retain(|taint| taint["key"] != key || taint["effect"] != effect);
            let mut taint = json!({"key": key, "value": value, "effect": effect});
            if time_text {
                taint["timeAdded"] = json!(now);
            }
            taints.push(taint);
        });
    }

    fn untaint(&mut self) {
        let key = self.key();
        self.edit_taints("untaint", |taints| taints.retain(|taint| taint["key"] != key));
    }

    /// Adds a toleration.
    fn tolerate(&mut self) {
        let Some(pod) = self.pick(pods()) else { return };
        let more = json!({"key": self.key(), "operator": "Exists", "effect": "NoExecute"});
        let done =
            self.world.server().change(&ResourcePath::object(pods(), "default", &pod), SCRIPT, |pod| {
                let mut all = pod["spec"]["tolerations"].as_array().cloned().unwrap_or_default();
                all.push(more.clone());
                pod["spec"]["tolerations"] = Value::Array(all);
            });
        if done.is_ok() {
            self.send(format!("pod {pod} tolerates {more}"));
        }
    }

    /// Deletes the pod by hand; a new one may get its name.
    fn recreate(&mut self) {
        let Some(pod) = self.pick(pods()) else { return };
        self.delete_pod(&pod);
        self.send(format!("pod {pod} deleted by hand"));
        if self.below(2) == 0 {
            let node = self.pick(nodes());
            node.into_iter().for_each(|node| self.new_pod_of(&pod, &node));
        }
    }

    fn delete_pod(&self, pod: &str) {
        let how = DeleteOptions { grace: Some(0), ..DeleteOptions::default() };
        self.by_hand(true);
        let _ = self.world.server().delete(
            &ResourcePath::object(pods(), "default", pod),
            &how,
            &WriteOptions::by(SCRIPT),
        );
        self.by_hand(false);
    }

    /// Replaces a node by another of the same name.
    fn replace_node(&mut self) {
        if self.below(3) > 0 {
            return;
        }
        let Some(node) = self.pick(nodes()) else { return };
        let server = self.world.server().clone();
        // Sometimes its pods survive it, and belong to the new one.
        let with_pods = self.below(3) > 0;
        for pod in self.names(pods()).into_iter().filter(|_| with_pods) {
            if server.get(pods(), "default", &pod).is_some_and(|pod| pod["spec"]["nodeName"] == node.as_str())
            {
                self.delete_pod(&pod);
            }
        }
        let _ = server.delete(
            &ResourcePath::object(nodes(), "", &node),
            &DeleteOptions::default(),
            &WriteOptions::by(SCRIPT),
        );
        let index = node.trim_start_matches('n').parse().unwrap_or(1_usize) - 1;
        self.world.create("", "nodes", "", world::node(index, self.zones));
        self.send(format!("node {node} replaced by another of its name"));
    }

    fn undelayed_evictions(&mut self) {
        let how = DeleteOptions { grace: Some(0), ..DeleteOptions::default() };
        for pod in self.names(pods()) {
            let on = ResourcePath::object(pods(), "default", &pod);
            let _ = self.world.server().delete(&on, &how, &WriteOptions::by("somebody"));
        }
        self.send("a user evicts all pods, whatever delays them".to_owned());
    }

    fn wrong_eviction(&mut self) {
        let Some(pod) = self.pick(pods()) else { return };
        let how = DeleteOptions { grace: Some(0), ..DeleteOptions::default() };
        let _ = self.world.server().delete(
            &ResourcePath::object(pods(), "default", &pod),
            &how,
            &WriteOptions::by("somebody"),
        );
        self.send(format!("a user evicts {pod} for no reason"));
    }
}
