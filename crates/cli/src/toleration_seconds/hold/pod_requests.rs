//! Writes the annotation of a hold, or of its end, to pods.

use super::hold_args::HoldAction;
use super::node_requests::{TRIES, hold_value};
use serde_json::{Value, json};
use taintward_core::fact::HoldPeriod;
use taintward_kube::clock::Clock;
use taintward_kube::hold_request::{HOLD, decode_periods};
use taintward_kube::node_client::{NodeRequestError, PatchOptions};
use taintward_kube::object_client::{ObjectClient, ObjectRef};

/// Writes the annotation to each pod, in the order of their names on the command line. Returns the errors by pod.
pub(super) async fn write(
    pods: &ObjectClient,
    namespace: &str,
    names: &[String],
    action: &HoldAction,
) -> Vec<String> {
    let mut failures = Vec::new();
    for name in names {
        let written = write_one(pods, namespace, name, action).await;
        failures.extend(written.err().map(|why| format!("pod {namespace}/{name}: {why}")));
    }
    failures
}

/// The periods that a pod's annotation orders, and the version of the pod.
fn periods_and_version(pod: &Value) -> (Option<Box<[HoldPeriod]>>, &Value) {
    let metadata = &pod["metadata"];
    (metadata["annotations"][HOLD].as_str().and_then(decode_periods), &metadata["resourceVersion"])
}

async fn write_one(
    pods: &ObjectClient,
    namespace: &str,
    name: &str,
    action: &HoldAction,
) -> Result<(), String> {
    let object = ObjectRef { group: "", version: "v1", plural: "pods", namespace, name };
    let writing = PatchOptions { field_manager: "taintward".to_owned(), ..PatchOptions::default() };
    let mut tries = 1;
    loop {
        let response = pods.read(object).await.map_err(|why| why.to_string())?;
        let response = response.ok_or("it does not exist; check the name and -n")?;
        let pod: Value = serde_json::from_slice(&response.body).map_err(|why| why.to_string())?;
        let now = response.date.unwrap_or_else(|| Clock::system().now().wall);
        let (periods, version) = periods_and_version(&pod);
        let value = hold_value(action, periods.as_deref(), now);
        let patch = json!({ "metadata": { "resourceVersion": version, "annotations": { HOLD: value } } });
        match pods.merge(object, patch.to_string(), &writing).await {
            Ok(_) => return Ok(()),
            Err(why) if NodeRequestError::is_conflict(&why) && tries < TRIES => tries += 1,
            Err(why) => return Err(why.to_string()),
        }
    }
}
