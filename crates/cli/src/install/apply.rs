//! Applies the objects of an installation one after the other with server-side apply.
//!
//! - Invariant: the first rejected object stops the command, so that webhook configurations, which come last, never
//!   name a webhook that is not installed; the same command continues later.
//! - See `apply/replace.rs` for objects that are replaced.

mod replace;

use super::RenderedObject;
use super::api_resources::{MONITORING, called, place};
use super::install_args::ConflictPolicy;
use crate::args::dry_run::DryRun;
use crate::output::{self, PrintError};
use crate::stderr;
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

/// The kind whose objects define other kinds.
const DEFINITION: &str = "CustomResourceDefinition";

/// The pause between two reads of a definition.
const PAUSE: Duration = Duration::from_millis(200);

/// How often an object is sent while the API server makes a policy of the installation ready: for ten seconds.
const TRIES: usize = 50;

/// Why an object could not be applied.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ApplyError {
    #[error("cannot apply {object}: {why}{}", remedy(why))]
    Rejected { object: String, why: NodeRequestError },
    #[error(
        "all objects are applied, but {object} of an earlier installation is not deleted: {why}{}",
        remedy(why)
    )]
    NotPruned { object: String, why: NodeRequestError },
    #[error(
        "{object} is not established after {waited:?}: {condition}; run the command again, or wait longer with --timeout"
    )]
    NotEstablished { object: String, waited: Duration, condition: String },
    #[error(
        "cannot create the objects of --with-monitoring: this cluster does not serve {kinds} of {MONITORING}/v1; install \
         the Prometheus operator or its custom resource definitions, or omit --with-monitoring. Nothing was changed"
    )]
    NoOperator { kinds: String },
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// What the user can do about it.
fn remedy(why: &NodeRequestError) -> &'static str {
    match why {
        NodeRequestError::Status(status) if status.code == 409 => {
            "; --force-conflicts overwrites these fields, which another client manages; add --dry-run=server to try it"
        }
        NodeRequestError::Status(status) if status.code == 403 => {
            "; use an account that may create these objects and that has every permission that they grant"
        }
        NodeRequestError::Status(status) if status.code == 404 => {
            "; this server does not serve objects of this kind: check that it is the API server of a cluster"
        }
        _ => "",
    }
}

/// Applies all objects in order.
pub(super) async fn all(
    server: &ObjectClient,
    namespace: &str,
    objects: &[RenderedObject],
    tried: DryRun,
    conflicts: ConflictPolicy,
    timeout: Duration,
) -> Result<(), ApplyError> {
    let missing = missing_kinds(server, objects).await?;
    if !missing.is_empty() {
        return Err(ApplyError::NoOperator { kinds: missing.join(", ") });
    }
    // A server that does not serve definitions fails here, before the first write.
    if let Some(definition) = objects.iter().find(|object| object.value["kind"] == DEFINITION)
        && tried == DryRun::No
    {
        one(server, &definition.value, DryRun::Server, conflicts).await?;
    }
    let homeless = tried != DryRun::No && !is_there(server, namespace).await?;
    let mut undefined = Vec::new();
    for object in objects {
        let value = &object.value;
        // A server dry run fails for a namespace or a kind that does not exist yet.
        let word = match tried {
            DryRun::Server if homeless && !place(value).namespace.is_empty() => {
                format!("not checked: the namespace {namespace} does not exist yet")
            }
            DryRun::Server if undefined.contains(&&value["kind"]) => {
                "not checked: its kind does not exist yet".to_owned()
            }
            _ => one(server, value, tried, conflicts).await?.to_owned(),
        };
        if value["kind"] == DEFINITION && word == "created" {
            undefined.push(&value["spec"]["names"]["kind"]);
        }
        output::print(&format!("{} {word}{}\n", called(value), tried.suffix()))?;
        if tried == DryRun::No && value["kind"] == DEFINITION {
            established(server, value, timeout).await?;
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
            // The API server lists a kind that it serves, even in a namespace that does not exist.
            let served = server.all(place(object)).await.map_err(|why| rejected(object, why))?;
            missing.extend(served.is_none().then(|| kind.to_owned()));
        }
    }
    Ok(missing)
}

async fn is_there(server: &ObjectClient, namespace: &str) -> Result<bool, ApplyError> {
    let object = serde_json::json!({"kind": "Namespace", "metadata": {"name": namespace}});
    Ok(server.read(place(&object)).await.map_err(|why| rejected(&object, why))?.is_some())
}

fn rejected(object: &Value, why: NodeRequestError) -> ApplyError {
    ApplyError::Rejected { object: called(object), why }
}

/// Whether the object is replaced as a whole.
fn is_whole(object: &Value) -> bool {
    object["kind"].as_str().is_some_and(|kind| REPLACED.contains(&kind))
}

/// Applies one object and returns the outcome in kubectl's word: `created`, `configured` or `unchanged`.
async fn one(
    server: &ObjectClient,
    object: &Value,
    tried: DryRun,
    conflicts: ConflictPolicy,
) -> Result<&'static str, ApplyError> {
    let rejected = |why| rejected(object, why);
    let before = server.read(place(object)).await.map_err(rejected)?;
    let created = if before.is_none() { "created" } else { "configured" };
    if tried == DryRun::Client {
        return Ok(created);
    }
    let how = PatchOptions {
        field_manager: MANAGER.to_owned(),
        field_validation: "Strict",
        dry_run: tried == DryRun::Server,
    };
    let take = conflicts == ConflictPolicy::Take;
    let send = async || match &before {
        Some(before) if is_whole(object) => replace::replace(server, object, before, &how, take).await,
        _ => server.apply(place(object), object.to_string(), &how, take).await,
    };
    let mut response = send().await;
    for _ in 1..TRIES {
        if !response.as_ref().is_err_and(is_policy_starting) {
            break;
        }
        tokio::time::sleep(PAUSE).await;
        response = send().await;
    }
    let response = response.map_err(rejected)?;
    for warning in &response.warnings {
        stderr::line("Warning: ", format!("{}: {warning}", called(object)));
    }
    let same = before.is_some_and(|before| {
        let [before, after] = [&before.body, &response.body].map(|body| meaning(body));
        before == after
    });
    Ok(if same { "unchanged" } else { created })
}

/// Whether a policy rejects the object only because the API server has not yet read the objects that its rules name.
/// The code is 403 or 422, as the policy says.
fn is_policy_starting(why: &NodeRequestError) -> bool {
    matches!(why, NodeRequestError::Status(status) if status.message.contains("not yet synced"))
}

/// An object without the fields that the API server maintains.
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

/// Waits until the API server serves the kind.
async fn established(server: &ObjectClient, definition: &Value, timeout: Duration) -> Result<(), ApplyError> {
    let mut condition = "the API server reports no condition".to_owned();
    let until = async {
        loop {
            let response = server.read(place(definition)).await.map_err(|why| rejected(definition, why))?;
            let object: Value =
                response.and_then(|response| serde_json::from_slice(&response.body).ok()).unwrap_or_default();
            let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
            if conditions.iter().any(|one| one["type"] == "Established" && one["status"] == "True") {
                return Ok(());
            }
            if let Some(message) = conditions.iter().find_map(|one| one["message"].as_str()) {
                condition = message.to_owned();
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    match tokio::time::timeout(timeout, until).await {
        Ok(done) => done,
        Err(_) => Err(ApplyError::NotEstablished { object: called(definition), waited: timeout, condition }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_kube::node_client::ApiFailureStatus;

    #[test]
    fn a_policy_that_is_not_ready_is_waited_for_and_a_rejection_is_not() {
        let status = |code, message: &str| {
            let status =
                ApiFailureStatus { code, message: message.to_owned(), ..ApiFailureStatus::default() };
            NodeRequestError::Status(Box::new(status))
        };
        // The policy of pools' definitions has no reason of its own, so an API server answers 422.
        let starting = "ValidatingAdmissionPolicy 'a' with binding 'a' denied request: failed to configure binding: \
                        paramKind kind `K` not yet synced to use for admission";
        assert!([403, 422].into_iter().all(|code| is_policy_starting(&status(code, starting))));
        assert!(!is_policy_starting(&status(
            403,
            "ValidatingAdmissionPolicy 'a' with binding 'a' denied request: no"
        )));
    }
}
