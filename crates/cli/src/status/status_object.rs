//! Formats the status for programs; docs/status.schema.json describes the object.

use super::cluster_status::{ClusterStatus, EvictionBacklog, PolicyRow};
use crate::active_controllers::LeaseHolder;
use crate::controller_deployment::DeploymentFacts;
use crate::eviction_delays::{DuePod, PodDelay, category, release_command};
use crate::hold_status::HoldStatus;
use crate::messages::{stamp, uid};
use crate::output::{API_VERSION, PrintOptions, Printable};
use serde_json::{Value, json};
use taintward_core::eviction::{BrakedKey, DelayCategory};
use taintward_core::time::Mono;

impl Printable for ClusterStatus {
    fn object(&self) -> Value {
        let read_errors = self.read_errors();
        json!({
            "apiVersion": API_VERSION,
            "kind": "Status",
            "complete": read_errors.is_empty(),
            "from": self.from,
            "asOf": stamp(self.now.mono),
            "leader": self.leader_object(),
            "deployment": self.deployment.known().map(deployment),
            "backlog": self.backlog.known().map(backlog),
            "holds": self.holds.known().map(HoldStatus::items),
            "brake": self.brake.known().map(|keys| keys.iter().map(braked).collect::<Vec<_>>()),
            "policies": self.policies.known().map(|rows| rows.iter().map(policy).collect::<Vec<_>>()),
            "budgets": self.backlog.known().map(budgets),
            "readErrors": read_errors,
        })
    }

    fn names(&self) -> Vec<String> {
        let due = self.backlog.known().map_or(&[][..], |backlog| &backlog.due);
        due.iter().map(|pod| format!("pod/{}", pod.pod)).collect()
    }

    fn human(&self, view: &PrintOptions) -> String {
        self.text(view)
    }
}

impl ClusterStatus {
    fn leader_object(&self) -> Value {
        let (holder, since) = match &self.controllers.ours {
            LeaseHolder::Held { holder, since } => (Some(holder), *since),
            _ => (None, None),
        };
        json!({
            "state": self.controllers.word(),
            "holder": holder,
            "acquiredAt": since.map(|since| stamp(Mono::from_micros(since.as_micros()))),
            "message": self.controllers.remark(),
        })
    }
}

fn deployment(deployment: &DeploymentFacts) -> Value {
    json!({
        "name": deployment.name,
        "mode": if deployment.observes() { "observe" } else { "enforce" },
        "evictionPolicies": deployment.applies_policies(),
        "brakeLimit": deployment.brake_limit(),
    })
}

fn backlog(backlog: &EvictionBacklog) -> Value {
    let waiting = backlog.waiting();
    let categories = DelayCategory::ALL;
    let count = |of: DelayCategory| (category(of), json!(waiting.get(&of).copied().unwrap_or_default()));
    json!({
        "due": backlog.due.len(),
        "countingDown": backlog.counting,
        "waiting": Value::Object(categories.map(count).into_iter().collect()),
        "pods": backlog.due.iter().map(due_pod).collect::<Vec<_>>(),
    })
}

fn due_pod(pod: &DuePod) -> Value {
    json!({
        "namespace": pod.namespace,
        "pod": pod.pod,
        "uid": uid(&pod.uid),
        "node": pod.node,
        "dueAt": stamp(pod.since),
        "delay": pod.delay.as_ref().map(PodDelay::object),
    })
}

fn braked(key: &BrakedKey) -> Value {
    json!({
        "key": key.key,
        "nodes": key.nodes,
        "limit": key.limit,
        "command": release_command(&key.key),
    })
}

fn policy(row: &PolicyRow) -> Value {
    let state = |kind| {
        row.condition(kind).map(|condition| {
            json!({
                "status": condition.status,
                "reason": condition.reason,
                "message": condition.message,
            })
        })
    };
    json!({
        "name": row.name(),
        "governed": row.governed(),
        "waiting": row.waiting(),
        "forced": row.forced(),
        "ready": state("Ready"),
        "blocked": state("Blocked"),
    })
}

fn budgets(backlog: &EvictionBacklog) -> Vec<Value> {
    let budgets = backlog.budgets().into_iter().map(|(budget, waiting)| {
        json!({
            "namespace": budget.namespace,
            "name": budget.name,
            "waiting": waiting,
            "neverAllows": budget.never_allows,
        })
    });
    budgets.collect()
}
