//! Reads pods and workloads and waits for their states.

use serde_json::Value;
use std::collections::BTreeSet;
use std::time::Duration;
use taintward_envtest::{TestApi, TestApiError, wait};

/// On a busy machine, everything arrives within this if it arrives at all.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(120);

/// Repeats a check until it returns `Some`.
pub(crate) async fn until<T>(what: &str, question: impl AsyncFn() -> Result<Option<T>, TestApiError>) -> T {
    match wait::until(what, STARTUP_TIMEOUT, async || Ok(question().await?)).await {
        Ok(response) => response,
        Err(error) => panic!("{error:#}"),
    }
}

/// A view of a namespace.
pub(crate) struct PartsCheck<'a> {
    pub(crate) api: &'a TestApi,
    pub(crate) namespace: &'a str,
}

impl PartsCheck<'_> {
    /// The path of an object of the group `apps`.
    pub(crate) fn apps(&self, plural: &str, name: &str) -> String {
        format!("/apis/apps/v1/namespaces/{}/{plural}/{name}", self.namespace)
    }

    /// The path of an object of the core group.
    pub(crate) fn core(&self, plural: &str, name: &str) -> String {
        format!("/api/v1/namespaces/{}/{plural}/{name}", self.namespace)
    }

    pub(crate) fn budget(&self, name: &str) -> String {
        format!("/apis/policy/v1/namespaces/{}/poddisruptionbudgets/{name}", self.namespace)
    }

    /// The live pods of an app; all of them if it is empty.
    pub(crate) async fn pods(&self, app: &str) -> Result<Vec<Value>, TestApiError> {
        let selector = if app.is_empty() { String::new() } else { format!("?labelSelector=app%3D{app}") };
        let list = self.api.get(&format!("{}{selector}", self.core("pods", ""))).await?;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        Ok(items.into_iter().filter(|pod| pod["metadata"]["deletionTimestamp"].is_null()).collect())
    }

    /// The live pods of an app on a node.
    pub(crate) async fn pods_on(&self, app: &str, node: &str) -> Result<Vec<Value>, TestApiError> {
        let mut pods = self.pods(app).await?;
        pods.retain(|pod| node_of(pod) == node);
        Ok(pods)
    }

    /// Waits until a Deployment has exactly this many pods, all of its newest template and running.
    pub(crate) async fn available(&self, name: &str, wanted: usize) {
        until(&format!("{wanted} pods of {name}"), async || {
            let deployment = self.api.get(&self.apps("deployments", name)).await?;
            let message = settled(&deployment, ["replicas", "updatedReplicas", "availableReplicas"], wanted);
            let pods = self.pods(name).await?;
            let running = pods.iter().filter(|pod| is_ready(pod) && !node_of(pod).is_empty()).count();
            Ok((message && running == wanted && pods.len() == wanted).then_some(()))
        })
        .await;
    }

    /// Waits until a DaemonSet has a pod of its newest template on each of this many nodes.
    pub(crate) async fn everywhere(&self, name: &str, nodes: usize) {
        until(&format!("{name} on {nodes} nodes"), async || {
            let set = self.api.get(&self.apps("daemonsets", name)).await?;
            let fields = ["desiredNumberScheduled", "updatedNumberScheduled", "numberAvailable"];
            Ok(settled(&set, fields, nodes).then_some(()))
        })
        .await;
    }

    /// Waits until a budget allows this many disruptions.
    pub(crate) async fn allowed(&self, budget: &str, wanted: u64) {
        until(&format!("{budget} to let {wanted} go"), async || {
            let budget = self.api.get(&self.budget(budget)).await?;
            Ok(settled(&budget, ["disruptionsAllowed"], usize::try_from(wanted).unwrap()).then_some(()))
        })
        .await;
    }
}

/// Whether the status is of the newest generation, and these of its numbers are all as wanted.
fn settled<const N: usize>(object: &Value, fields: [&str; N], wanted: usize) -> bool {
    let status = &object["status"];
    let number = |field: &str| status[field].as_u64().unwrap_or(0);
    status["observedGeneration"] == object["metadata"]["generation"]
        && fields.iter().all(|field| number(field) == u64::try_from(wanted).unwrap())
}

pub(crate) fn is_ready(pod: &Value) -> bool {
    let mut conditions = pod["status"]["conditions"].as_array().into_iter().flatten();
    conditions.any(|one| one["type"] == "Ready" && one["status"] == "True")
}

pub(crate) fn node_of(pod: &Value) -> &str {
    pod["spec"]["nodeName"].as_str().unwrap_or_default()
}

pub(crate) fn name_of(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap()
}

pub(crate) fn uids(objects: &[Value]) -> BTreeSet<String> {
    objects.iter().map(|object| object["metadata"]["uid"].as_str().unwrap().to_owned()).collect()
}
