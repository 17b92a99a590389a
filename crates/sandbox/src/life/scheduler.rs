//! # Scheduler: a node for every pod
//! Room:     the pods without a node, the most important first; binding; saying why there is none (SC-1..SC-5).
//! Comes in: pods and nodes.
//! Goes out: bindings, conditions, events.
//! Not here: which node is best (the core's `scheduling`); preemption, which this scheduler does not do.

use super::pods::{name, on, pods};
use super::tell::Told;
use super::{Part, View};
use crate::api::{self, Wish as How};
use crate::facts;
use crate::resource::{Sub, known};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use taintward_core::matching::NumericOperators;
use taintward_core::scheduling::{Candidate, Choice, choose, why_none};

const NAME: &str = "default-scheduler";

/// How often a pod without a place is looked at again though nothing seems to have changed.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);

#[derive(Default)]
pub(super) struct Scheduler {
    candidates: BTreeMap<String, Candidate>,
}

impl Part for Scheduler {
    fn step(&mut self, view: &View<'_>) -> Option<Timestamp> {
        let nodes = known("", "nodes");
        let waiting = waiting(view);
        if waiting.is_empty() {
            self.candidates.clear();
            return None;
        }
        self.candidates =
            view.mirror.all(nodes).map(|(key, node)| (key.to_owned(), candidate(view, node))).collect();
        let mut unplaced = false;
        for pod in waiting {
            unplaced |= !self.place(view, &pod);
        }
        unplaced.then(|| view.now + AGAIN)
    }
}

/// Pods that want a place, the most important first, then the oldest.
fn waiting(view: &View<'_>) -> Vec<Value> {
    let unbound = view.mirror.restless().filter(|(_, pod)| pod.node.is_none() && pod.is_active());
    let ours = |pod: &Value| {
        let spec = &pod["spec"];
        matches!(spec["schedulerName"].as_str(), None | Some("" | NAME))
            && spec["schedulingGates"].as_array().is_none_or(Vec::is_empty)
    };
    let mut waiting: Vec<_> = unbound.map(|(_, pod)| pod.value()).filter(ours).collect();
    waiting.sort_by_key(|pod| {
        let created = pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
        (Reverse(pod["spec"]["priority"].as_i64().unwrap_or(0)), created)
    });
    waiting
}

/// A node with what is on it.
fn candidate(view: &View<'_>, node: &Value) -> Candidate {
    let mut candidate = facts::candidate(node);
    for (_, pod) in view.mirror.pods_on(name(node)).filter(|(_, pod)| !pod.over) {
        candidate.used.add(&pod.load);
        candidate.pods += 1;
    }
    candidate
}

impl Scheduler {
    /// Finds a place for a pod; says whether there was one.
    fn place(&mut self, view: &View<'_>, pod: &Value) -> bool {
        let wish = facts::wish(pod);
        let keys: Vec<String> = self.candidates.keys().cloned().collect();
        let candidates: Vec<Candidate> = self.candidates.values().cloned().collect();
        let chance = view.server.ids().number_of(&format!("{}/{}", super::pods::namespace(pod), name(pod)));
        match choose(&wish, &candidates, NumericOperators::Off, chance) {
            Choice::Node(at) => {
                let node = &keys[at];
                let binding = json!({"target": {"kind": "Node", "name": node}});
                if view.server.bind(&on(pods(), pod).part(Sub::Binding), &binding, &How::by(NAME)).is_ok() {
                    if let Some(candidate) = self.candidates.get_mut(node) {
                        candidate.used.add(&wish.load);
                        candidate.pods += 1;
                    }
                    let (namespace, name) = (super::pods::namespace(pod), name(pod));
                    let message = format!("Successfully assigned {namespace}/{name} to {node}");
                    view.tell(
                        pod,
                        &Told { by: NAME, kind: "Normal", reason: "Scheduled", message: &message },
                    );
                }
                true
            }
            Choice::Nowhere(unfit) => {
                let message = why_none(&wish, &unfit);
                let message = message.trim_end();
                let told = on(pods(), pod);
                let conditions = facts::list(&pod["status"]["conditions"]);
                let same = conditions
                    .filter(|one| one["type"] == "PodScheduled")
                    .any(|one| one["status"] == "False" && one["message"] == message);
                if !same {
                    let now = view.server.clock().stamp();
                    let condition = json!({
                        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
                        "observedGeneration": pod["metadata"]["generation"],
                        "lastProbeTime": Value::Null, "lastTransitionTime": now,
                    });
                    let change = |pod: &mut Value| api::set_condition(pod, condition);
                    let _ = view.server.change(&told.part(Sub::Status), NAME, change);
                    view.tell(pod, &Told { by: NAME, kind: "Warning", reason: "FailedScheduling", message });
                }
                false
            }
        }
    }
}
