//! Implements the Deployment controller: rolling updates, recreation, revisions, status.

use super::pods::{controlled_by, controller_of, name, namespace, on, uid};
use super::record_event::{EventFields, mix};
use super::{Controller, ReconcileContext};
use fakekube::api::{self, DeleteOptions, ResourcePath, WriteOptions};
use fakekube::resource::{ResourceId, known};
use jiff::Timestamp;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const NAME: &str = "deployment-controller";
const REVISION: &str = "deployment.kubernetes.io/revision";
const HASH: &str = "pod-template-hash";

#[derive(Default)]
pub(super) struct DeploymentController {
    dirty: BTreeSet<String>,
}

fn deployments() -> ResourceId {
    known("apps", "deployments")
}

fn sets() -> ResourceId {
    known("apps", "replicasets")
}

impl Controller for DeploymentController {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        self.dirty.extend(view.changed.of(deployments()).map(String::from));
        if view.changed.any(sets()) {
            self.dirty.extend(view.mirror.all(deployments()).map(|(key, _)| key.to_owned()));
        }
        for key in std::mem::take(&mut self.dirty) {
            if let Some(deployment) = view.mirror.one(deployments(), &key).filter(|one| !api::is_ending(one))
            {
                tend(view, deployment);
            }
        }
        None
    }
}

fn number(value: &Value) -> i64 {
    value.as_i64().unwrap_or(0)
}

/// An absolute number, or a percentage of `of`.
fn share(value: &Value, of: i64, up: bool, or: i64) -> i64 {
    match value {
        Value::Number(count) => count.as_i64().unwrap_or(or),
        Value::String(text) => match text.strip_suffix('%').and_then(|percent| percent.parse::<i64>().ok()) {
            Some(percent) if up => (of * percent + 99) / 100,
            Some(percent) => of * percent / 100,
            None => or,
        },
        _ => or,
    }
}

fn revision(set: &Value) -> i64 {
    set["metadata"]["annotations"][REVISION].as_str().and_then(|text| text.parse().ok()).unwrap_or(0)
}

/// A ReplicaSet's template as the Deployment wrote it. It is compared without its hash, which another cluster's
/// controller may have computed differently.
fn without_hash(template: &Value) -> Value {
    let mut template = template.clone();
    if let Some(labels) = template["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH);
    }
    template
}

fn tend(view: &ReconcileContext<'_>, deployment: &Arc<Value>) {
    let owned = view.mirror.owned(uid(deployment), sets()).map(|(_, set)| set);
    let owned: Vec<&Arc<Value>> = owned.filter(|set| controller_of(set) == Some(uid(deployment))).collect();
    let template = &deployment["spec"]["template"];
    let hash = format!("{:x}", mix(&[&template.to_string()]) & 0xff_ffff_ffff);
    let current = owned.iter().filter(|set| without_hash(&set["spec"]["template"]) == *template);
    let created = |set: &Value| set["metadata"]["creationTimestamp"].as_str().map(String::from);
    let current = current.min_by_key(|set| created(set));
    let wanted = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
    if current.is_none() && deployment["spec"]["paused"] != true {
        let last = owned.iter().map(|set| revision(set)).max().unwrap_or(0);
        begin(view, deployment, &owned, &hash, last + 1);
    } else if let Some(current) = current {
        let last = owned.iter().map(|set| revision(set)).max().unwrap_or(0);
        note_revision(view, deployment, current, last);
        roll(view, deployment, current, &owned, wanted);
    }
    set_status(view, deployment, current.copied(), &owned, wanted);
    forget(view, deployment, current.copied(), &owned);
}

/// The maximum number of pods during a rollout, and the minimum of ready ones.
fn bounds(deployment: &Value, wanted: i64) -> (i64, i64) {
    let rolling = &deployment["spec"]["strategy"]["rollingUpdate"];
    let surge = share(&rolling["maxSurge"], wanted, true, (wanted + 3) / 4);
    let mut unavailable = share(&rolling["maxUnavailable"], wanted, false, wanted / 4);
    if surge == 0 && unavailable == 0 {
        unavailable = 1;
    }
    (wanted + surge, wanted - unavailable.min(wanted))
}

fn is_recreated(deployment: &Value) -> bool {
    deployment["spec"]["strategy"]["type"] == "Recreate"
}

/// Creates a ReplicaSet for a new template.
fn begin(view: &ReconcileContext<'_>, deployment: &Value, owned: &[&Arc<Value>], hash: &str, revision: i64) {
    let wanted = deployment["spec"]["replicas"].as_i64().unwrap_or(1);
    let others: i64 = owned.iter().map(|set| number(&set["spec"]["replicas"])).sum();
    let running: i64 = owned.iter().map(|set| number(&set["status"]["replicas"])).sum();
    if is_recreated(deployment) && others + running > 0 {
        owned.iter().for_each(|set| scale(view, deployment, set, 0));
        return;
    }
    let replicas = wanted.min(bounds(deployment, wanted).0 - others).max(0);
    let mut template = deployment["spec"]["template"].clone();
    template["metadata"]["labels"][HASH] = json!(hash);
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = json!(hash);
    let own = format!("{}-{hash}", name(deployment));
    let set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet",
        "metadata": {
            "name": own, "namespace": namespace(deployment), "labels": template["metadata"]["labels"],
            "annotations": {
                REVISION: revision.to_string(), "deployment.kubernetes.io/desired-replicas": wanted.to_string(),
                "deployment.kubernetes.io/max-replicas": bounds(deployment, wanted).0.to_string(),
            },
            "ownerReferences": controlled_by(deployment),
        },
        "spec": {
            "replicas": replicas, "selector": selector, "template": template,
            "minReadySeconds": deployment["spec"]["minReadySeconds"],
        },
    });
    if view
        .server
        .create(&ResourcePath::object(sets(), namespace(deployment), ""), set, &WriteOptions::by(NAME))
        .is_ok()
    {
        if replicas > 0 {
            record_scaling(view, deployment, &format!("Scaled up replica set {own} from 0 to {replicas}"));
        }
        set_revision(view, deployment, revision);
    }
}

fn record_scaling(view: &ReconcileContext<'_>, deployment: &Value, message: &str) {
    view.record(
        deployment,
        &EventFields { by: NAME, kind: "Normal", reason: "ScalingReplicaSet", action: None, message },
    );
}

fn set_revision(view: &ReconcileContext<'_>, deployment: &Value, revision: i64) {
    let text = json!(revision.to_string());
    if deployment["metadata"]["annotations"][REVISION] != text {
        let _ = view.server.change(&on(deployments(), deployment), NAME, |deployment| {
            deployment["metadata"]["annotations"][REVISION] = text;
        });
    }
}

/// Makes an old ReplicaSet whose template is the present one again the newest revision.
fn note_revision(view: &ReconcileContext<'_>, deployment: &Value, current: &Value, last: i64) {
    if revision(current) < last {
        let text = json!((last + 1).to_string());
        let _ = view
            .server
            .change(&on(sets(), current), NAME, |set| set["metadata"]["annotations"][REVISION] = text);
        set_revision(view, deployment, last + 1);
    } else {
        set_revision(view, deployment, revision(current));
    }
}

fn scale(view: &ReconcileContext<'_>, deployment: &Value, set: &Value, to: i64) {
    let from = number(&set["spec"]["replicas"]);
    if from == to {
        return;
    }
    let scaled = view.server.change(&on(sets(), set), NAME, |set| set["spec"]["replicas"] = json!(to));
    if scaled.is_ok() {
        let how = if to > from { "up" } else { "down" };
        record_scaling(
            view,
            deployment,
            &format!("Scaled {how} replica set {} from {from} to {to}", name(set)),
        );
    }
}

/// Does one step of a rollout.
fn roll(
    view: &ReconcileContext<'_>,
    deployment: &Value,
    current: &Arc<Value>,
    owned: &[&Arc<Value>],
    wanted: i64,
) {
    let mut old: Vec<&&Arc<Value>> = owned.iter().filter(|set| uid(set) != uid(current)).collect();
    old.sort_by_key(|set| revision(set));
    let replicas = |set: &Value| number(&set["spec"]["replicas"]);
    if deployment["spec"]["paused"] == true {
        if old.iter().all(|set| replicas(set) == 0) {
            scale(view, deployment, current, wanted);
        }
        return;
    }
    let others: i64 = old.iter().map(|set| replicas(set)).sum();
    if is_recreated(deployment) {
        old.iter().for_each(|set| scale(view, deployment, set, 0));
        let running: i64 = old.iter().map(|set| number(&set["status"]["replicas"])).sum();
        if others + running == 0 {
            scale(view, deployment, current, wanted);
        }
        return;
    }
    let (most, least) = bounds(deployment, wanted);
    let now = replicas(current);
    if now > wanted {
        return scale(view, deployment, current, wanted);
    }
    let room = (most - others - now).max(0);
    if now < wanted && room > 0 {
        return scale(view, deployment, current, (now + room).min(wanted));
    }
    let ready = |set: &Value| number(&set["status"]["availableReplicas"]);
    let all_ready: i64 = owned.iter().map(|set| ready(set)).sum();
    // Pods that are not ready go first, because they serve no requests.
    let mut spare = (all_ready - least).max(0);
    for set in old.iter().filter(|set| replicas(set) > 0) {
        let idle = (replicas(set) - ready(set)).max(0);
        let cut = (idle + spare).min(replicas(set));
        if cut > 0 {
            spare -= (cut - idle).max(0);
            scale(view, deployment, set, replicas(set) - cut);
        }
    }
}

fn set_status(
    view: &ReconcileContext<'_>,
    deployment: &Value,
    current: Option<&Arc<Value>>,
    owned: &[&Arc<Value>],
    wanted: i64,
) {
    let sum = |field: &str| owned.iter().map(|set| number(&set["status"][field])).sum::<i64>();
    let (replicas, ready, available) = (sum("replicas"), sum("readyReplicas"), sum("availableReplicas"));
    let updated = current.map_or(0, |set| number(&set["status"]["replicas"]));
    let mut status = json!({
        "observedGeneration": deployment["metadata"]["generation"],
        "conditions": deployment["status"]["conditions"],
    });
    let counts = [
        ("replicas", replicas),
        ("updatedReplicas", updated),
        ("readyReplicas", ready),
        ("availableReplicas", available),
        ("unavailableReplicas", (wanted.max(replicas) - available).max(0)),
    ];
    counts.iter().filter(|(_, count)| *count > 0).for_each(|(field, count)| status[field] = json!(count));
    let mut shown = json!({"status": status});
    let enough = available >= bounds(deployment, wanted).1;
    let done = updated == wanted && replicas == wanted && available == wanted;
    let set = current.map_or_else(String::new, |set| name(set).to_owned());
    let words = match enough {
        true => ("True", "MinimumReplicasAvailable", "Deployment has minimum availability."),
        false => ("False", "MinimumReplicasUnavailable", "Deployment does not have minimum availability."),
    };
    let progress = match done {
        true => ("NewReplicaSetAvailable", format!("ReplicaSet \"{set}\" has successfully progressed.")),
        false => ("ReplicaSetUpdated", format!("ReplicaSet \"{set}\" is progressing.")),
    };
    condition(view, &mut shown, "Available", words.0, words.1, words.2);
    condition(view, &mut shown, "Progressing", "True", progress.0, &progress.1);
    view.set_status(deployments(), deployment, NAME, &shown["status"]);
}

fn condition(
    view: &ReconcileContext<'_>,
    object: &mut Value,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
) {
    let now = view.server.clock().time_text();
    let old = object["status"]["conditions"].as_array();
    let old = old.and_then(|all| all.iter().find(|one| one["type"] == kind));
    let same = old
        .is_some_and(|old| old["status"] == status && old["reason"] == reason && old["message"] == message);
    if !same {
        let condition = json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastUpdateTime": now, "lastTransitionTime": now,
        });
        api::set_condition(object, condition);
    }
}

/// Deletes old ReplicaSets beyond the history limit.
fn forget(
    view: &ReconcileContext<'_>,
    deployment: &Value,
    current: Option<&Arc<Value>>,
    owned: &[&Arc<Value>],
) {
    let kept =
        usize::try_from(deployment["spec"]["revisionHistoryLimit"].as_i64().unwrap_or(10)).unwrap_or(0);
    let idle = |set: &&&Arc<Value>| {
        number(&set["spec"]["replicas"]) == 0
            && number(&set["status"]["replicas"]) == 0
            && current.is_none_or(|current| uid(set) != uid(current))
    };
    let mut old: Vec<&&Arc<Value>> = owned.iter().filter(idle).collect();
    old.sort_by_key(|set| revision(set));
    for set in old.iter().take(old.len().saturating_sub(kept)) {
        let how = DeleteOptions { uid: Some(uid(set).to_owned()), ..DeleteOptions::default() };
        let _ = view.server.delete(&on(sets(), set), &how, &WriteOptions::by(NAME));
    }
}
