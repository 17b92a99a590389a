//! Builds the JSON of a condition in the status of a custom resource.

use crate::api_time::second_time;
use serde_json::{Value, json};
use taintward_core::status_condition::StatusCondition;

/// The condition as the API has it.
pub(crate) fn condition(one: &StatusCondition) -> Value {
    json!({
        "type": one.kind,
        "status": one.status,
        "reason": one.reason,
        "message": one.message,
        "lastTransitionTime": second_time(one.since),
        "observedGeneration": one.observed,
    })
}
