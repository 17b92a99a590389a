//! # Replicas: ReplicaSets
//! Room:     as many pods as are asked for; adoption of those without an owner; status.
//! Comes in: ReplicaSets and pods.
//! Goes out: pods made and deleted.
//! Not here: templates that change (`deployments.rs`).

use super::pods::{controlled_by, controller_of, is_active, on, pods, uid};
use super::{Part, View};
use crate::api;
use crate::resource::{Number, known};
use crate::select;
use jiff::Timestamp;
use serde_json::{Value, json};
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

const NAME: &str = "replicaset-controller";

/// Pods made in one step for one ReplicaSet, at most.
const BURST: usize = 500;

#[derive(Default)]
pub(super) struct ReplicaSets {
    dirty: BTreeSet<String>,
}

fn sets() -> Number {
    known("apps", "replicasets")
}

impl Part for ReplicaSets {
    fn step(&mut self, view: &View<'_>) -> Option<Timestamp> {
        self.dirty.extend(view.changed.of(sets()).map(String::from));
        if view.changed.any(pods()) {
            // A pod that is gone no longer names its owner: everything of its namespace is looked at.
            let touched: BTreeSet<&str> =
                view.changed.of(pods()).filter_map(|key| key.split('/').next()).collect();
            let inside =
                |key: &&str| key.split('/').next().is_some_and(|namespace| touched.contains(namespace));
            self.dirty.extend(view.mirror.all(sets()).map(|(key, _)| key).filter(inside).map(String::from));
        }
        for key in std::mem::take(&mut self.dirty) {
            if let Some(set) = view.mirror.get(sets(), &key) {
                tend(view, set);
            }
        }
        None
    }
}

fn tend(view: &View<'_>, set: &Arc<Value>) {
    adopt(view, set);
    let all = view.mirror.owned(uid(set), pods()).map(|(_, pod)| pod);
    let mine: Vec<&Arc<Value>> =
        all.filter(|pod| controller_of(pod) == Some(uid(set)) && is_active(pod)).collect();
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
            order.sort_by_key(|pod| rank(pod));
            order.iter().take(mine.len() - wanted).for_each(|pod| view.delete_pod(NAME, set, pod));
        }
    }
    let ready = mine.iter().filter(|pod| api::is_ready(pod)).count();
    let labels = &set["spec"]["template"]["metadata"]["labels"];
    let labelled = |pod: &&&Arc<Value>| {
        labels.as_object().is_none_or(|labels| {
            labels.iter().all(|(key, value)| pod["metadata"]["labels"].get(key) == Some(value))
        })
    };
    let fully = mine.iter().filter(labelled).count();
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

/// Who goes first when there are too many: who does least.
fn rank(pod: &Value) -> (bool, u8, bool, Reverse<String>) {
    let bound = pod["spec"]["nodeName"].as_str().is_some_and(|node| !node.is_empty());
    let phase = match pod["status"]["phase"].as_str() {
        Some("Pending") => 0,
        Some("Unknown") => 1,
        _ => 2,
    };
    let created = pod["metadata"]["creationTimestamp"].as_str().unwrap_or_default().to_owned();
    (bound, phase, api::is_ready(pod), Reverse(created))
}

/// Takes in pods that match and belong to nobody.
fn adopt(view: &View<'_>, set: &Value) {
    if api::is_ending(set) {
        return;
    }
    let labels = select::from_object(&set["spec"]["selector"]);
    let namespace = super::pods::namespace(set);
    for key in view.changed.of(pods()) {
        let Some(pod) = view.mirror.get(pods(), key) else { continue };
        let orphan =
            controller_of(pod).is_none() && is_active(pod) && super::pods::namespace(pod) == namespace;
        if orphan && labels.match_object(pod) {
            let _ = view.server.change(&on(pods(), pod), NAME, |pod| {
                pod["metadata"]["ownerReferences"] = controlled_by(set);
            });
        }
    }
}
