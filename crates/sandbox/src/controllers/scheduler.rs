//! Binds pods to nodes with the core's scheduling rules, the highest priority first (SC-1..SC-5).
//!
//! - Preemption and topology constraints of pods are not supported.

use super::pods::{name, on, pods};
use super::record_event::EventFields;
use super::{Controller, ReconcileContext};
use crate::core_types;
use fakekube::api::{self, WriteOptions as How};
use fakekube::resource::{Subresource, known};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use taintward_core::scheduling::{NodeInfo, Placer, PodSchedulingSpec, PodToPlace, why_none};
use taintward_core::toleration_matching::NumericOperators;

const NAME: &str = "default-scheduler";

/// How often a pending pod is tried again even if nothing seems to have changed.
const AGAIN: SignedDuration = SignedDuration::from_secs(30);

pub(super) struct Scheduler;

/// A scheduling round: the nodes as they fill up, and what pods have in common.
struct SchedulingRound {
    placer: Placer,
    /// Pods with the same scheduling spec.
    kinds: BTreeMap<PodSchedulingSpec, u32>,
    /// Pods with the same owner, by its UID.
    groups: BTreeMap<String, u32>,
}

impl Controller for Scheduler {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        let waiting = waiting(view);
        if waiting.is_empty() {
            return None;
        }
        let candidates = view.mirror.all(known("", "nodes")).map(|(_, node)| candidate(view, node)).collect();
        let placer = Placer::new(candidates, NumericOperators::Off);
        let mut round = SchedulingRound { placer, kinds: BTreeMap::new(), groups: BTreeMap::new() };
        let mut unplaced = false;
        for pod in waiting {
            unplaced |= !round.place(view, &pod);
        }
        unplaced.then(|| view.now + AGAIN)
    }
}

/// Pending pods, the highest priority first, then the oldest.
fn waiting(view: &ReconcileContext<'_>) -> Vec<Value> {
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

/// A node with the pods on it.
fn candidate(view: &ReconcileContext<'_>, node: &Value) -> NodeInfo {
    let mut candidate = core_types::candidate(node);
    for (_, pod) in view.mirror.pods_on(name(node)).filter(|(_, pod)| !pod.over) {
        candidate.used.add(&pod.load);
        candidate.pods += 1;
    }
    candidate
}

/// The owner over whose pods kube-scheduler's default constraints spread: the ReplicaSet or StatefulSet of a pod without
/// its own constraints.
fn spread_by(pod: &Value) -> Option<&str> {
    let free = core_types::list(&pod["spec"]["topologySpreadConstraints"]).next().is_none();
    let mut owners =
        core_types::list(&pod["metadata"]["ownerReferences"]).filter(|owner| owner["controller"] == true);
    let owner = owners.next().filter(|_| free)?;
    matches!(owner["kind"].as_str(), Some("ReplicaSet" | "StatefulSet")).then(|| owner["uid"].as_str())?
}

impl SchedulingRound {
    /// The number of a pod's owner. For a new owner, its other pods are counted on their nodes, except terminating
    /// ones.
    fn group(&mut self, view: &ReconcileContext<'_>, pod: &Value) -> Option<u32> {
        let owner = spread_by(pod)?;
        if let Some(known) = self.groups.get(owner) {
            return Some(*known);
        }
        let next = u32::try_from(self.groups.len()).ok()?;
        self.groups.insert(owner.to_owned(), next);
        let place = |node: &str| self.placer.candidates().iter().position(|one| one.name.as_str() == node);
        let active = view.mirror.controlled(owner).filter(|(_, pod)| pod.is_active());
        let places: Vec<usize> = active.filter_map(|(_, pod)| place(pod.node.as_deref()?)).collect();
        places.into_iter().for_each(|node| self.placer.count(next, node, 1));
        Some(next)
    }

    /// Schedules a pod. Returns whether a node was found.
    fn place(&mut self, view: &ReconcileContext<'_>, pod: &Value) -> bool {
        let scheduling_spec = core_types::pod_scheduling_spec(pod);
        let group = self.group(view, pod);
        let next = u32::try_from(self.kinds.len()).unwrap_or(u32::MAX);
        let kind = *self.kinds.entry(scheduling_spec.clone()).or_insert(next);
        let tie = view.server.ids().number_of(&format!("{}/{}", super::pods::namespace(pod), name(pod)));
        match self.placer.choose(PodToPlace { kind, spec: &scheduling_spec, group, tie }) {
            Some(at) => {
                let node = self.placer.candidates()[at].name.to_string();
                let binding = json!({"target": {"kind": "Node", "name": node}});
                if view
                    .server
                    .bind(&on(pods(), pod).part(Subresource::Binding), &binding, &How::by(NAME))
                    .is_ok()
                {
                    self.placer.put(at, &scheduling_spec.load);
                    if let Some(group) = group {
                        self.placer.count(group, at, 1);
                    }
                    let (namespace, name) = (super::pods::namespace(pod), name(pod));
                    let message = format!("Successfully assigned {namespace}/{name} to {node}");
                    view.record(
                        pod,
                        &EventFields {
                            by: NAME,
                            kind: "Normal",
                            reason: "Scheduled",
                            action: Some("Binding"),
                            message: &message,
                        },
                    );
                }
                true
            }
            None => {
                let message = why_none(&scheduling_spec, &self.placer.why_not(&scheduling_spec));
                let message = message.trim_end();
                let regarding = on(pods(), pod);
                let conditions = core_types::list(&pod["status"]["conditions"]);
                let same = conditions
                    .filter(|one| one["type"] == "PodScheduled")
                    .any(|one| one["status"] == "False" && one["message"] == message);
                if !same {
                    let now = view.server.clock().time_text();
                    let condition = json!({
                        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message,
                        "observedGeneration": pod["metadata"]["generation"],
                        "lastProbeTime": Value::Null, "lastTransitionTime": now,
                    });
                    let change = |pod: &mut Value| api::set_condition(pod, condition);
                    let _ = view.server.change(&regarding.part(Subresource::Status), NAME, change);
                    view.record(
                        pod,
                        &EventFields {
                            by: NAME,
                            kind: "Warning",
                            reason: "FailedScheduling",
                            action: Some("Scheduling"),
                            message,
                        },
                    );
                }
                false
            }
        }
    }
}
