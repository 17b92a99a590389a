//! Implements the ReplicaSet controller: replicas, adoption, status.

use super::pod_summary::PodSummary;
use super::pods::{controlled_by, pods, uid};
use super::{Controller, ReconcileContext};
use crate::core_types;
use fakekube::api::{self, ResourcePath};
use fakekube::resource::{ResourceId, known};
use fakekube::select;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

const NAME: &str = "replicaset-controller";

/// The largest number of pods created for one ReplicaSet in one step.
const BURST: usize = 500;

#[derive(Default)]
pub(super) struct ReplicaSetController {
    dirty: BTreeSet<String>,
}

fn sets() -> ResourceId {
    known("apps", "replicasets")
}

impl Controller for ReplicaSetController {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        self.dirty.extend(view.changed.of(sets()).map(String::from));
        if view.changed.any(pods()) {
            // A deleted pod no longer names its owner, so every ReplicaSet of its namespace is reconciled.
            let touched: BTreeSet<&str> =
                view.changed.of(pods()).filter_map(|key| key.split('/').next()).collect();
            let inside =
                |key: &&str| key.split('/').next().is_some_and(|namespace| touched.contains(namespace));
            self.dirty.extend(view.mirror.all(sets()).map(|(key, _)| key).filter(inside).map(String::from));
        }
        for key in std::mem::take(&mut self.dirty) {
            if let Some(set) = view.mirror.one(sets(), &key) {
                tend(view, set);
            }
        }
        None
    }
}

fn tend(view: &ReconcileContext<'_>, set: &Arc<Value>) {
    adopt(view, set);
    let mine: Vec<(&str, &PodSummary)> =
        view.mirror.controlled(uid(set)).filter(|(_, pod)| pod.is_active()).collect();
    let wanted = usize::try_from(set["spec"]["replicas"].as_i64().unwrap_or(1)).unwrap_or(0);
    if !api::is_ending(set) {
        if mine.len() < wanted {
            for _ in 0..(wanted - mine.len()).min(BURST) {
                let pod = super::pods::from_template(set, &set["spec"]["template"]);
                if !view.create_pod(NAME, set, pod) {
                    break;
                }
            }
        } else if mine.len() > wanted {
            let mut order = mine.clone();
            order.sort_by_cached_key(|(_, pod)| rank(pod));
            let surplus = order.iter().take(mine.len() - wanted);
            surplus.for_each(|(key, pod)| view.delete_pod(NAME, set, key, pod));
        }
    }
    let ready = mine.iter().filter(|(_, pod)| pod.ready).count();
    let labels = core_types::labels(&set["spec"]["template"]["metadata"]["labels"]);
    let labelled = |pod: &PodSummary| labels.iter().all(|(key, value)| pod.labels.get(key) == Some(value));
    let fully = mine.iter().filter(|(_, pod)| labelled(pod)).count();
    let mut status = json!({"replicas": mine.len(), "observedGeneration": set["metadata"]["generation"]});
    for (field, count) in
        [("fullyLabeledReplicas", fully), ("readyReplicas", ready), ("availableReplicas", ready)]
    {
        if count > 0 {
            status[field] = json!(count);
        }
    }
    view.set_status(sets(), set, NAME, &status);
}

/// The order in which surplus pods are deleted: the least useful ones first.
fn rank(pod: &PodSummary) -> (bool, u8, bool, Reverse<String>) {
    let value = pod.value();
    let phase = match value["status"]["phase"].as_str() {
        Some("Pending") => 0,
        Some("Unknown") => 1,
        _ => 2,
    };
    let created = value["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
    (pod.node.is_some(), phase, pod.ready, Reverse(created))
}

/// Adopts matching pods without a controller.
fn adopt(view: &ReconcileContext<'_>, set: &Value) {
    if api::is_ending(set) {
        return;
    }
    let labels = select::from_object(&set["spec"]["selector"]);
    let namespace = super::pods::namespace(set);
    for key in view.changed.of(pods()) {
        let Some((of, name)) = key.split_once('/').filter(|(of, _)| *of == namespace) else { continue };
        let Some(pod) = view.mirror.pod(key) else { continue };
        if pod.controller.is_none() && pod.is_active() && labels.match_map(&pod.labels) {
            let _ = view.server.change(&ResourcePath::object(pods(), of, name), NAME, |pod| {
                pod["metadata"]["ownerReferences"] = controlled_by(set);
            });
        }
    }
}
