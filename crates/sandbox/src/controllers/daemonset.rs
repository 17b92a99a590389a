//! Implements the DaemonSet controller (DS-1..DS-5).

use super::pod_summary::PodSummary;
use super::pods::{name, pods, uid};
use super::record_event::mix;
use super::{Controller, ReconcileContext};
use crate::core_types;
use fakekube::api;
use fakekube::resource::{ResourceId, known};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::daemon_tolerations;
use taintward_core::toleration_matching::{NumericOperators, TaintMatch, match_taint};

const NAME: &str = "daemonset-controller";
const HASH: &str = "controller-revision-hash";
/// The generation of the template: an annotation of the DaemonSet, a label of its pods.
const GENERATION: (&str, &str) = ("deprecated.daemonset.template.generation", "pod-template-generation");

#[derive(Default)]
pub(super) struct DaemonSetController {
    dirty: BTreeSet<String>,
}

fn sets() -> ResourceId {
    known("apps", "daemonsets")
}

impl Controller for DaemonSetController {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        self.dirty.extend(view.changed.of(sets()).map(String::from));
        if view.changed.any(known("", "nodes")) || view.changed.any(pods()) {
            self.dirty.extend(view.mirror.all(sets()).map(|(key, _)| key.to_owned()));
        }
        for key in std::mem::take(&mut self.dirty) {
            if let Some(set) = view.mirror.one(sets(), &key).filter(|set| !api::is_ending(set)) {
                tend(view, set);
            }
        }
        None
    }
}

/// Whether a node should get a daemon pod, and whether an existing one may stay (DS-3, DS-4).
fn belongs(pod: &Value, node: &Value) -> (bool, bool) {
    let (scheduling_spec, mut candidate) =
        (core_types::pod_scheduling_spec(pod), core_types::candidate(node));
    let taints = std::mem::take(&mut candidate.taints);
    candidate.unschedulable = false;
    // The scheduler checks the capacity; only the node's properties count here.
    (candidate.pods_max, candidate.allocatable) = (i64::MAX, scheduling_spec.load.requested.clone());
    let fits =
        taintward_core::scheduling::filter(&scheduling_spec, &candidate, NumericOperators::Off).is_ok();
    let borne = |effects: &[TaintEffect]| {
        let mut counted = taints.iter().filter(|taint| effects.contains(&taint.effect));
        counted.all(|taint| {
            matches!(
                match_taint(&scheduling_spec.tolerations, taint, NumericOperators::Off),
                TaintMatch::Tolerated(_)
            )
        })
    };
    (
        fits && borne(&[TaintEffect::NoSchedule, TaintEffect::NoExecute]),
        fits && borne(&[TaintEffect::NoExecute]),
    )
}

fn generation(set: &Value) -> Option<&str> {
    set["metadata"]["annotations"][GENERATION.0].as_str()
}

/// Whether a pod has the present template: by this controller's own hash, or, for pods from another cluster, whose
/// controller hashes differently, by the generation of the template.
fn is_updated(set: &Value, hash: &str, pod: &PodSummary) -> bool {
    let has = |label: &str, value: &str| pod.labels.get(label).is_some_and(|of| **of == *value);
    has(HASH, hash) || generation(set).is_some_and(|generation| has(GENERATION.1, generation))
}

/// A daemon pod for a node.
fn daemon(set: &Value, node: &str, hash: &str) -> Value {
    let mut pod = super::pods::from_template(set, &set["spec"]["template"]);
    pod["metadata"]["labels"][HASH] = json!(hash);
    if let Some(generation) = generation(set) {
        pod["metadata"]["labels"][GENERATION.1] = json!(generation);
    }
    let spec = &mut pod["spec"];
    let host = spec["hostNetwork"] == true;
    let tolerations = daemon_tolerations(&core_types::tolerations(spec), host);
    spec["tolerations"] = Value::Array(tolerations.iter().map(core_types::toleration).collect());
    let named = json!([{"key": "metadata.name", "operator": "In", "values": [node]}]);
    let required = &mut spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    match required["nodeSelectorTerms"].as_array_mut() {
        Some(terms) => terms.iter_mut().for_each(|term| term["matchFields"] = named.clone()),
        None => required["nodeSelectorTerms"] = json!([{"matchFields": named}]),
    }
    pod
}

/// The node that a daemon pod is for, bound or not.
fn node_of(pod: &PodSummary) -> Option<String> {
    if let Some(node) = &pod.node {
        return Some(node.to_string());
    }
    let pod = pod.value();
    let affinity = &pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"];
    affinity["nodeSelectorTerms"][0]["matchFields"][0]["values"][0].as_str().map(String::from)
}

/// A pod with its key.
type DaemonPod<'a> = (&'a str, &'a PodSummary);

#[derive(Default)]
struct DaemonSetCounts {
    desired: i64,
    current: i64,
    misplaced: i64,
    ready: i64,
    updated: i64,
}

fn tend(view: &ReconcileContext<'_>, set: &Arc<Value>) {
    let hash = format!("{:x}", mix(&[&set["spec"]["template"].to_string()]) & 0xff_ffff_ffff);
    let mut by_node: BTreeMap<String, Vec<DaemonPod<'_>>> = BTreeMap::new();
    for (key, pod) in view.mirror.controlled(uid(set)) {
        if let Some(node) = node_of(pod) {
            by_node.entry(node).or_default().push((key, pod));
        }
    }
    let mut count = DaemonSetCounts::default();
    let mut old = Vec::new();
    for (_, node) in view.mirror.all(known("", "nodes")) {
        let name = name(node);
        let wanted = daemon(set, name, &hash);
        let (runs, stays) = belongs(&wanted, node);
        let here = by_node.remove(name).unwrap_or_default();
        tend_node(view, set, (runs, stays), &here, wanted);
        let active: Vec<DaemonPod<'_>> = here.into_iter().filter(|(_, pod)| pod.is_active()).collect();
        count.desired += i64::from(runs);
        match (runs, active.first()) {
            (true, Some((key, pod))) => {
                count.current += 1;
                count.ready += i64::from(pod.ready);
                let updated = is_updated(set, &hash, pod);
                count.updated += i64::from(updated);
                if !updated {
                    old.push((*key, *pod));
                }
            }
            (false, Some(_)) => count.misplaced += 1,
            _ => {}
        }
    }
    // Daemon pods of nodes that are gone.
    let stray = by_node.values().flatten().filter(|(_, pod)| pod.is_active());
    stray.for_each(|(key, pod)| view.delete_pod(NAME, set, key, pod));
    renew(view, set, &count, &old);
    set_status(view, set, &count);
}

fn tend_node(
    view: &ReconcileContext<'_>,
    set: &Value,
    (runs, stays): (bool, bool),
    here: &[DaemonPod<'_>],
    wanted: Value,
) {
    let (over, alive): (Vec<DaemonPod<'_>>, Vec<DaemonPod<'_>>) = here.iter().partition(|(_, pod)| pod.over);
    let settled = over.iter().filter(|(_, pod)| !pod.ending);
    settled.for_each(|(key, pod)| view.delete_pod(NAME, set, key, pod));
    let mut active = alive.iter().filter(|(_, pod)| !pod.ending);
    let keep = usize::from(runs || stays);
    if keep == 1 && alive.is_empty() && over.is_empty() && runs {
        view.create_pod(NAME, set, wanted);
    } else {
        // The oldest pod stays.
        active.by_ref().take(keep).for_each(drop);
        active.for_each(|(key, pod)| view.delete_pod(NAME, set, key, pod));
    }
}

/// Deletes pods of older templates, as many at the same time as may be unavailable.
fn renew(view: &ReconcileContext<'_>, set: &Value, count: &DaemonSetCounts, old: &[DaemonPod<'_>]) {
    if set["spec"]["updateStrategy"]["type"] == "OnDelete" {
        return;
    }
    let share = &set["spec"]["updateStrategy"]["rollingUpdate"]["maxUnavailable"];
    let most = match share {
        Value::String(text) => {
            let percent = text.trim_end_matches('%').parse::<i64>().unwrap_or(0);
            (count.desired * percent + 99) / 100
        }
        other => other.as_i64().unwrap_or(1),
    };
    let missing = count.desired - count.ready;
    let (busy, idle): (Vec<DaemonPod<'_>>, Vec<DaemonPod<'_>>) = old.iter().partition(|(_, pod)| pod.ready);
    idle.iter().for_each(|(key, pod)| view.delete_pod(NAME, set, key, pod));
    let room = usize::try_from(most.max(1) - missing).unwrap_or(0);
    busy.iter().take(room).for_each(|(key, pod)| view.delete_pod(NAME, set, key, pod));
}

fn set_status(view: &ReconcileContext<'_>, set: &Value, count: &DaemonSetCounts) {
    let mut status = json!({
        "currentNumberScheduled": count.current, "numberMisscheduled": count.misplaced,
        "desiredNumberScheduled": count.desired, "numberReady": count.ready,
        "observedGeneration": set["metadata"]["generation"],
    });
    let missing = count.desired - count.ready;
    for (field, count) in [
        ("updatedNumberScheduled", count.updated),
        ("numberAvailable", count.ready),
        ("numberUnavailable", missing),
    ] {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    view.set_status(sets(), set, NAME, &status);
}
