//! Removes an installation: webhook configurations first, then pools and policies if requested, then the rest.
//!
//! - Invariant: an object of another owner stays, whatever its name.
//! - Invariant: no pool stays behind without the controller that removes its taints, unless requested; objects of any
//!   choice of flags are found.

use super::api_resources::{called, place};
use super::chart;
use super::install_args::{InstallPart, InstallValues, PoolRemoval, RULES};
use super::{NAME, RenderedObject, quoted};
use crate::args::controllers::KNOWN;
use crate::args::dry_run::DryRun;
use crate::output::{self, PrintError};
use crate::stderr;
use clap::ValueEnum as _;
use serde_json::{Value, json};
use std::time::Duration;
use taintward_kube::node_client::NodeRequestError;
use taintward_kube::object_client::{ObjectClient, ObjectRef};

/// Pools, whatever their name.
const POOLS: ObjectRef<'static> = ObjectRef {
    group: "taintward.io",
    version: "v1alpha1",
    plural: "dedicatedpools",
    namespace: "",
    name: "",
};
/// Policies, whatever their name, by kind.
const POLICIES: [(&str, ObjectRef<'static>); 2] = [
    ("evictionpolicy", ObjectRef { plural: "evictionpolicies", ..POOLS }),
    ("tolerationpolicy", ObjectRef { plural: "tolerationpolicies", ..POOLS }),
];

/// The pause between two lists of the pools that are being deleted.
const PAUSE: Duration = Duration::from_millis(200);

/// Why the removal is incomplete.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UninstallError {
    #[error("cannot delete {object}: {why}{}", remedy(why))]
    Rejected { object: String, why: NodeRequestError },
    #[error(
        "nothing was deleted: dedicated pools exist ({pools}), and only the controller removes their taints from the \
         nodes; use --crds to delete the pools and their definition first, or --keep-pools to keep them and their taints"
    )]
    Pools { pools: String },
    #[error(
        "dedicated pools still exist after {waited:?}: {pools}. The controller has not yet removed their taints and \
         labels from the nodes: check that it runs (kubectl -n {namespace} get pods) and run this command again, or wait \
         longer with --timeout. If no controller runs, remove the taints and the finalizer taintward.io/pool by hand. \
         So far, only the webhook configurations were deleted"
    )]
    Lingering { pools: String, waited: Duration, namespace: String },
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// What the user can do about it.
fn remedy(why: &NodeRequestError) -> &'static str {
    match why {
        NodeRequestError::Status(status) if status.code == 403 => {
            "; use an account that may delete these objects"
        }
        NodeRequestError::Status(_) => "",
        NodeRequestError::NoResponse(_) => "; run the command again",
    }
}

/// The objects to delete, in this order.
fn doomed(values: &InstallValues, leftovers: PoolRemoval) -> Vec<Value> {
    let mut all: Vec<Value> =
        chart::objects(&everything(values)).into_iter().map(|object| object.value).collect();
    // The controller creates its Lease itself; deleted after the account that creates it.
    let metadata = json!({"name": NAME, "namespace": values.common.namespace});
    all.insert(0, json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}));
    all.reverse();
    // The guard is deleted with its definition, because remaining pools rely on it.
    all.retain(|object| match object["kind"].as_str() {
        Some("CustomResourceDefinition") => leftovers == PoolRemoval::Delete,
        kind => kind != Some("PoolGuard"),
    });
    all.sort_by_key(|object| match object["kind"].as_str().unwrap_or_default() {
        kind if is_hook(kind) => 0,
        "CustomResourceDefinition" => 2,
        "Namespace" => 3,
        _ => 1,
    });
    all
}

fn is_hook(kind: &str) -> bool {
    kind.ends_with("WebhookConfiguration")
}

/// Values whose objects include those of any installation.
pub(super) fn everything(values: &InstallValues) -> InstallValues {
    let mut all = values.clone();
    all.webhook.cert_secret = None;
    all.webhook.ca_bundle = None;
    all.webhook.client_ca_config_map = None;
    all.webhook.client_ca_secret = None;
    all.webhook.rules = RULES.join(",");
    all.controller.controllers = format!("*,{}", KNOWN.join(","));
    "enforce".clone_into(&mut all.controller.mode);
    all.controller.stamp_taints = true;
    all.controller.eviction_policies = true;
    all.common.replicas = values.common.replicas.max(2);
    if values.monitoring.with_monitoring {
        all.monitoring.with_everything();
    }
    all
}

/// Whether all parts are removed.
fn is_all(values: &InstallValues) -> bool {
    InstallPart::value_variants().iter().all(|part| values.has(*part))
}

/// The objects to delete, with no fields except those that identify them.
pub(super) fn identities(values: &InstallValues, leftovers: PoolRemoval) -> Vec<RenderedObject> {
    let all = doomed(values, leftovers).into_iter().filter(|object| goes(object, values));
    let named = all.map(|object| {
        let mut metadata = json!({"name": object["metadata"]["name"]});
        let space = &object["metadata"]["namespace"];
        let mut yaml = format!(
            "apiVersion: {}\nkind: {}\nmetadata:\n  name: {}\n",
            word(&object["apiVersion"]),
            word(&object["kind"]),
            word(&metadata["name"])
        );
        if !space.is_null() {
            metadata["namespace"] = space.clone();
            yaml += &format!("  namespace: {}\n", word(space));
        }
        let value = json!({"apiVersion": object["apiVersion"], "kind": object["kind"], "metadata": metadata});
        RenderedObject { yaml, value }
    });
    named.collect()
}

fn word(value: &Value) -> String {
    quoted(value.as_str().unwrap_or_default())
}

/// Whether the object is deleted: the namespace, the definitions, the alerts and the dashboards belong to all parts, the
/// Lease and the policies of pools to the controller.
fn goes(object: &Value, values: &InstallValues) -> bool {
    const SHARED: [&str; 4] = ["Namespace", "CustomResourceDefinition", "PrometheusRule", "ConfigMap"];
    let shared = object["kind"].as_str().is_some_and(|kind| SHARED.contains(&kind));
    let is_policy = object["kind"].as_str().is_some_and(|kind| kind.starts_with("ValidatingAdmissionPolicy"));
    let is_of_pools = is_policy && object["metadata"]["labels"]["app.kubernetes.io/component"] == NAME;
    let is_of_controller = is_of_pools || object["kind"] == "Lease";
    (values.has(InstallPart::Controller) || !is_of_controller) && (!shared || is_all(values))
}

/// Deletes all in order, including monitoring: a kind that the cluster does not serve has no objects.
pub(super) async fn all(
    server: &ObjectClient,
    values: &InstallValues,
    tried: DryRun,
    leftovers: PoolRemoval,
    timeout: Duration,
) -> Result<(), UninstallError> {
    let mut values = values.clone();
    values.monitoring.with_everything();
    let values = &values;
    let pools = names(server, POOLS).await?;
    if leftovers == PoolRemoval::Reject && values.has(InstallPart::Controller) && !pools.is_empty() {
        return Err(UninstallError::Pools { pools: pools.join(", ") });
    }
    let (first, rest): (Vec<Value>, Vec<Value>) = doomed(values, leftovers)
        .into_iter()
        .filter(|object| goes(object, values))
        .partition(|object| is_hook(object["kind"].as_str().unwrap_or_default()));
    for object in first {
        delete_own(server, &object, tried).await?;
    }
    if leftovers == PoolRemoval::Delete && is_all(values) {
        custom(server, values, tried, timeout).await?;
    }
    for object in rest {
        delete_own(server, &object, tried).await?;
    }
    Ok(())
}

/// Names the definitions that stay, if there are any.
pub(super) async fn report_kept(
    server: &ObjectClient,
    values: &InstallValues,
    leftovers: PoolRemoval,
) -> Result<(), UninstallError> {
    if leftovers == PoolRemoval::Delete || !is_all(values) {
        return Ok(());
    }
    let mut kept = Vec::new();
    for object in chart::objects(&everything(values)) {
        if object.value["kind"] == "CustomResourceDefinition" {
            let rejected = |why| UninstallError::Rejected { object: called(&object.value), why };
            if server.read(place(&object.value)).await.map_err(rejected)?.is_some() {
                kept.push(object.value["metadata"]["name"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    if !kept.is_empty() {
        let kept = kept.join(", ");
        stderr::line(
            "",
            format!("keeping the definitions {kept} with their objects; --crds deletes them too"),
        );
    }
    Ok(())
}

/// Deletes pools, waits until the controller has cleaned their nodes, and deletes policies.
async fn custom(
    server: &ObjectClient,
    values: &InstallValues,
    tried: DryRun,
    timeout: Duration,
) -> Result<(), UninstallError> {
    delete_all(server, "dedicatedpool", POOLS, tried).await?;
    if tried == DryRun::No {
        gone(server, values, timeout).await?;
    }
    for (kind, policies) in POLICIES {
        delete_all(server, kind, policies, tried).await?;
    }
    Ok(())
}

async fn delete_all(
    server: &ObjectClient,
    kind: &str,
    of: ObjectRef<'_>,
    tried: DryRun,
) -> Result<(), UninstallError> {
    for name in names(server, of).await? {
        let called = format!("{kind}.{}/{name}", of.group);
        delete(server, ObjectRef { name: &name, ..of }, &called, tried).await?;
    }
    Ok(())
}

/// Waits until no pool exists.
async fn gone(
    server: &ObjectClient,
    values: &InstallValues,
    timeout: Duration,
) -> Result<(), UninstallError> {
    let mut left = Vec::new();
    let until = async {
        loop {
            left = names(server, POOLS).await?;
            if left.is_empty() {
                return Ok(());
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    let ended = tokio::time::timeout(timeout, until).await;
    ended.unwrap_or_else(|_| {
        let namespace = values.common.namespace.clone();
        Err(UninstallError::Lingering { pools: left.join(", "), waited: timeout, namespace })
    })
}

/// Deletes an object of the installation, unless another owner's has the same name.
async fn delete_own(server: &ObjectClient, object: &Value, tried: DryRun) -> Result<(), UninstallError> {
    let known = object["metadata"]["labels"].as_object().into_iter().flatten();
    let known: Vec<_> = known.filter(|(key, _)| key.starts_with("app.kubernetes.io/")).collect();
    if !known.is_empty() {
        let rejected = |why| UninstallError::Rejected { object: called(object), why };
        let found = server.read(place(object)).await.map_err(rejected)?;
        let found: Option<Value> = found.and_then(|found| serde_json::from_slice(&found.body).ok());
        let has =
            |found: &Value| known.iter().all(|(key, value)| found["metadata"]["labels"][key] == **value);
        if found.is_some_and(|found| !has(&found)) {
            let message =
                format!("keeping {}: it does not have the labels of an installation", called(object));
            stderr::line("", message);
            return Ok(());
        }
    }
    delete(server, place(object), &called(object), tried).await
}

async fn delete(
    server: &ObjectClient,
    place: ObjectRef<'_>,
    called: &str,
    tried: DryRun,
) -> Result<(), UninstallError> {
    let rejected = |why| UninstallError::Rejected { object: called.to_owned(), why };
    let was_there = match tried {
        DryRun::Client => server.read(place).await.map_err(rejected)?.is_some(),
        _ => server.delete(place, tried == DryRun::Server).await.map_err(rejected)?,
    };
    if was_there {
        output::print(&format!("{called} deleted{}\n", tried.suffix()))?;
    }
    Ok(())
}

/// The names of all objects of a kind; none if the API server does not serve the kind.
async fn names(server: &ObjectClient, of: ObjectRef<'_>) -> Result<Vec<String>, UninstallError> {
    let response = server.all(of).await;
    let response = response.map_err(|why| UninstallError::Rejected { object: of.plural.to_owned(), why })?;
    let list: Value =
        response.and_then(|response| serde_json::from_slice(&response.body).ok()).unwrap_or_default();
    let items = list["items"].as_array().into_iter().flatten();
    Ok(items.filter_map(|item| Some(item["metadata"]["name"].as_str()?.to_owned())).collect())
}
