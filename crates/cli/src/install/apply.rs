//! Applies the objects of an installation one after the other with server-side apply.
//!
//! - Invariant: the first refusal ends it, so that webhook configurations, which come last, never name a webhook that
//!   could not be installed; running it again continues.
//! - See `apply/replace.rs` for objects that are replaced.

mod replace;

use super::RenderedObject;
use super::api_resources::{MONITORING, called, place};
use super::install_options::{ConflictPolicy, DryRunKind};
use crate::output::{self, PrintError};
use crate::say;
use serde_json::Value;
use std::time::Duration;
use taintward_kube::node_client::{NodeRequestError, PatchOptions};
use taintward_kube::object_client::ObjectClient;

/// The field manager of an installation, as `managedFields` names it.
const MANAGER: &str = "taintward-install";

/// The kinds whose objects are replaced as a whole.
const REPLACED: [&str; 4] = [
    "MutatingWebhookConfiguration",
    "ValidatingWebhookConfiguration",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionPolicyBinding",
];

/// The kind of what defines a kind.
const DEFINITION: &str = "CustomResourceDefinition";

/// How often a definition is looked at.
const PAUSE: Duration = Duration::from_millis(200);

/// Why an object is not as it should be.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    #[error("{object}: {why}{}", way_out(why))]
    Refused { object: String, why: NodeRequestError },
    #[error("{object} is not established after {waited:?}: {said}; ask again, or wait longer with --timeout")]
    NotEstablished { object: String, waited: Duration, said: String },
    #[error(
        "this cluster does not serve {kinds} of {MONITORING}/v1, of which --with-monitoring creates objects: install the \
         Prometheus operator, or at least its custom resource definitions, and ask again, or leave --with-monitoring out. \
         Nothing was changed"
    )]
    NoOperator { kinds: String },
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// What can be done about it.
fn way_out(why: &NodeRequestError) -> &'static str {
    match why {
        NodeRequestError::Status(said) if said.code == 409 => {
            "; these fields are somebody else's: --force-conflicts takes them, --dry-run=server tries it first"
        }
        NodeRequestError::Status(said) if said.code == 403 => {
            "; whoever installs needs the right to create such objects, and every right they grant"
        }
        NodeRequestError::Status(said) if said.code == 404 => {
            "; this server does not serve such objects: is it the API server of a cluster?"
        }
        _ => "",
    }
}

/// Applies all, in order.
pub(super) async fn all(
    server: &ObjectClient,
    namespace: &str,
    objects: &[RenderedObject],
    tried: DryRunKind,
    conflicts: ConflictPolicy,
    patience: Duration,
) -> Result<(), ApplyError> {
    let missing = missing_kinds(server, objects).await?;
    if !missing.is_empty() {
        return Err(ApplyError::NoOperator { kinds: missing.join(", ") });
    }
    // A server that serves no such kinds is found out before anything is written.
    if let Some(definition) = objects.iter().find(|object| object.value["kind"] == DEFINITION)
        && tried == DryRunKind::No
    {
        one(server, &definition.value, DryRunKind::Server, conflicts).await?;
    }
    let homeless = tried != DryRunKind::No && !is_there(server, namespace).await?;
    let mut undefined = Vec::new();
    for object in objects {
        let value = &object.value;
        // Nothing can be tried in a namespace that is not there, nor of a kind that is not.
        let word = match tried {
            DryRunKind::Server if homeless && !place(value).namespace.is_empty() => {
                format!("not tried: there is no namespace {namespace} yet")
            }
            DryRunKind::Server if undefined.contains(&&value["kind"]) => {
                "not tried: there is no such kind yet".to_owned()
            }
            _ => one(server, value, tried, conflicts).await?.to_owned(),
        };
        if value["kind"] == DEFINITION && word == "created" {
            undefined.push(&value["spec"]["names"]["kind"]);
        }
        let suffix = match tried {
            DryRunKind::No => "",
            DryRunKind::Client => " (dry run)",
            DryRunKind::Server => " (server dry run)",
        };
        output::print(&format!("{} {word}{suffix}\n", called(value)))?;
        if tried == DryRunKind::No && value["kind"] == DEFINITION {
            established(server, value, patience).await?;
        }
    }
    Ok(())
}

/// The kinds of the Prometheus operator that are wanted and not served.
async fn missing_kinds(server: &ObjectClient, objects: &[RenderedObject]) -> Result<Vec<String>, ApplyError> {
    let mut missing: Vec<String> = Vec::new();
    for object in objects.iter().map(|object| &object.value) {
        let kind = object["kind"].as_str().unwrap_or_default();
        if place(object).group == MONITORING && !missing.iter().any(|known| known == kind) {
            // A list of a kind that is served is found, in a namespace that is not there too.
            let served = server.all(place(object)).await.map_err(|why| refused(object, why))?;
            missing.extend(served.is_none().then(|| kind.to_owned()));
        }
    }
    Ok(missing)
}

async fn is_there(server: &ObjectClient, namespace: &str) -> Result<bool, ApplyError> {
    let object = serde_json::json!({"kind": "Namespace", "metadata": {"name": namespace}});
    Ok(server.read(place(&object)).await.map_err(|why| refused(&object, why))?.is_some())
}

fn refused(object: &Value, why: NodeRequestError) -> ApplyError {
    ApplyError::Refused { object: called(object), why }
}

/// Whether it is replaced as a whole.
fn is_whole(object: &Value) -> bool {
    object["kind"].as_str().is_some_and(|kind| REPLACED.contains(&kind))
}

/// What became of it, as kubectl says it.
async fn one(
    server: &ObjectClient,
    object: &Value,
    tried: DryRunKind,
    conflicts: ConflictPolicy,
) -> Result<&'static str, ApplyError> {
    let refused = |why| refused(object, why);
    let before = server.read(place(object)).await.map_err(refused)?;
    let created = if before.is_none() { "created" } else { "configured" };
    if tried == DryRunKind::Client {
        return Ok(created);
    }
    let how = PatchOptions {
        field_manager: MANAGER.to_owned(),
        field_validation: "Strict",
        dry_run: tried == DryRunKind::Server,
    };
    let take = conflicts == ConflictPolicy::Take;
    let response = match &before {
        Some(before) if is_whole(object) => replace::replace(server, object, before, &how, take).await,
        _ => server.apply(place(object), object.to_string(), &how, take).await,
    };
    let response = response.map_err(refused)?;
    for warning in &response.warnings {
        say::line("Warning: ", format!("{}: {warning}", called(object)));
    }
    let same = before.is_some_and(|before| {
        let [before, after] = [&before.body, &response.body].map(|body| meaning(body));
        before == after
    });
    Ok(if same { "unchanged" } else { created })
}

/// An object without what changes by itself.
fn meaning(body: &[u8]) -> Value {
    let mut object: Value = serde_json::from_slice(body).unwrap_or_default();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields");
        metadata.remove("resourceVersion");
        metadata.remove("generation");
    }
    if let Some(fields) = object.as_object_mut() {
        fields.remove("status");
    }
    object
}

/// Until the API server serves the kind.
async fn established(
    server: &ObjectClient,
    definition: &Value,
    patience: Duration,
) -> Result<(), ApplyError> {
    let mut said = "the server says nothing of it".to_owned();
    let until = async {
        loop {
            let response = server.read(place(definition)).await.map_err(|why| refused(definition, why))?;
            let object: Value =
                response.and_then(|response| serde_json::from_slice(&response.body).ok()).unwrap_or_default();
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            if conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True") {
                return Ok(());
            }
            if let Some(message) = conditions.iter().find_map(|one| one["message"].as_str()) {
                said = message.to_owned();
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    match tokio::time::timeout(patience, until).await {
        Ok(done) => done,
        Err(_) => Err(ApplyError::NotEstablished { object: called(definition), waited: patience, said }),
    }
}
