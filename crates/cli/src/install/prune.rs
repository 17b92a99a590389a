//! Deletes the permissions that an earlier installation with other flags has left bound.
//!
//! - Invariant: only objects with a name and the labels of an installation by some flags, printed before; those of a part
//!   that the flags do not name stay as long as that part is installed.

use super::RenderedObject;
use super::api_resources::{called, place};
use super::apply::ApplyError;
use super::chart;
use super::install_args::{InstallPart, InstallValues};
use super::uninstall::everything;
use crate::args::dry_run::DryRun;
use crate::output;
use crate::stderr;
use serde_json::{Value, json};
use taintward_kube::object_client::ObjectClient;

/// What binds permissions, and what can be bound; bindings are deleted first.
const PERMISSIONS: [&str; 4] = ["ClusterRoleBinding", "RoleBinding", "ClusterRole", "Role"];

/// The parts with an account, with their label and the name of their Deployment.
const DEPLOYED: [(InstallPart, &str, &str); 2] = [
    (InstallPart::Controller, "controller", "taintward"),
    (InstallPart::Webhook, "webhook", "taintward-webhook"),
];

/// Deletes what `applied` does not contain.
pub(super) async fn all(
    server: &ObjectClient,
    values: &InstallValues,
    applied: &[RenderedObject],
    tried: DryRun,
) -> Result<(), ApplyError> {
    let left = left(server, values, applied).await?;
    if left.is_empty() {
        return Ok(());
    }
    let names: Vec<String> = left.iter().map(called).collect();
    stderr::line(
        "",
        format!(
            "an earlier installation granted what these flags do not need; deleting {}",
            names.join(", ")
        ),
    );
    for object in &left {
        if tried != DryRun::Client {
            let deleted = server.delete(place(object), tried == DryRun::Server).await;
            deleted.map_err(|why| ApplyError::NotPruned { object: called(object), why })?;
        }
        output::print(&format!("{} pruned{}\n", called(object), tried.suffix()))?;
    }
    Ok(())
}

/// The permissions of any choice of flags that exist and that no applied object is.
async fn left(
    server: &ObjectClient,
    values: &InstallValues,
    applied: &[RenderedObject],
) -> Result<Vec<Value>, ApplyError> {
    let mut of_all_parts = everything(values);
    of_all_parts.common.parts.extend([InstallPart::Controller, InstallPart::Webhook]);
    of_all_parts.monitoring.with_everything();
    let mut known: Vec<Value> =
        chart::objects(&of_all_parts).into_iter().map(|object| object.value).collect();
    let rank = |object: &Value| PERMISSIONS.iter().position(|kind| object["kind"] == *kind);
    known.retain(|object| rank(object).is_some() && !applied.iter().any(|one| is_same(&one.value, object)));
    known.sort_by_key(rank);
    let mut installed = Vec::new();
    for (part, label, name) in DEPLOYED {
        let metadata = json!({"name": name, "namespace": values.common.namespace});
        let deployment = json!({"kind": "Deployment", "metadata": metadata});
        if !values.has(part) && read(server, &deployment).await?.is_some() {
            installed.push(label);
        }
    }
    let mut left = Vec::new();
    for object in known {
        // Prometheus may read the metrics of any part.
        let part = object["metadata"]["labels"]["app.kubernetes.io/component"].as_str().unwrap_or_default();
        if installed.contains(&part) || (part == "monitoring" && !installed.is_empty()) {
            continue;
        }
        if read(server, &object).await?.is_some_and(|found| has_labels_of(&found, &object)) {
            left.push(object);
        }
    }
    Ok(left)
}

async fn read(server: &ObjectClient, object: &Value) -> Result<Option<Value>, ApplyError> {
    let found = server.read(place(object)).await;
    let found = found.map_err(|why| ApplyError::NotPruned { object: called(object), why })?;
    Ok(found.and_then(|found| serde_json::from_slice(&found.body).ok()))
}

fn is_same(one: &Value, other: &Value) -> bool {
    let id = |object: &Value| {
        [&object["kind"], &object["metadata"]["namespace"], &object["metadata"]["name"]].map(Value::clone)
    };
    id(one) == id(other)
}

/// Whether it has all labels of the known object; an object of another owner may have the same name.
fn has_labels_of(found: &Value, known: &Value) -> bool {
    let labels = known["metadata"]["labels"].as_object();
    labels.is_some_and(|labels| {
        !labels.is_empty() && labels.iter().all(|(key, value)| found["metadata"]["labels"][key] == *value)
    })
}
