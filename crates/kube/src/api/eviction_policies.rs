//! Writes the status of eviction policies.
//!
//! - Invariant: the body names every field that an earlier status may have, so that nothing old is left.

use super::{ApiClient, MANAGED, RequestError, RequestSpec, ResourcePath, bodies};
use crate::api_time::second_time;
use crate::status_condition::condition;
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};
use taintward_core::eviction::{DelayCategory, EvictionPolicyStatus, OldestDelay};
use taintward_core::identity::Uid;

impl ApiClient {
    /// Replaces the status of an `EvictionPolicy`.
    ///
    /// # Errors
    /// A [`RequestError`]; [`ApiFailure::Conflict`](taintward_core::api_error::ApiFailure::Conflict) if the policy of
    /// this name has another UID now.
    pub async fn write_eviction_policy_status(
        &self,
        (name, uid): (&str, &Uid),
        status: &EvictionPolicyStatus,
    ) -> Result<(), RequestError> {
        let resource = ResourcePath::eviction_policy(name, "status")?;
        let body = json!({ "metadata": { "uid": uid.to_string() }, "status": status_body(status) });
        let body = Bytes::from(body.to_string());
        let spec = RequestSpec { content: bodies::MERGE_PATCH, body, ..RequestSpec::default() };
        self.send(Method::PATCH, &resource, MANAGED, spec).await.map(drop)
    }
}

fn status_body(status: &EvictionPolicyStatus) -> Value {
    let waiting = DelayCategory::OF_POLICIES.map(|category| {
        let pods = status.waiting.get(&category).copied().unwrap_or_default();
        (category.as_str().to_lowercase(), json!(pods))
    });
    json!({
        "observedGeneration": status.observed,
        "governed": status.governed,
        "waiting": Value::Object(waiting.into_iter().collect()),
        "forced": status.forced,
        "oldest": status.oldest.as_ref().map(oldest),
        "names": status.names.iter().map(|name| name.as_str()).collect::<Vec<_>>(),
        "conditions": status.conditions.iter().map(condition).collect::<Vec<_>>(),
    })
}

fn oldest(oldest: &OldestDelay) -> Value {
    json!({
        "namespace": oldest.pod.namespace(),
        "name": oldest.pod.name(),
        "node": oldest.node.as_str(),
        "reason": oldest.category.as_str(),
        "message": oldest.message,
        "since": second_time(oldest.since),
    })
}
