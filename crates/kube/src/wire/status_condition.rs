//! Mirrors a condition in the status of a custom resource.

use serde::Deserialize;

/// A condition.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusConditionJson {
    #[serde(rename = "type")]
    pub kind: Box<str>,
    pub status: Box<str>,
    pub reason: Box<str>,
    pub message: Box<str>,
    pub last_transition_time: Box<str>,
    #[serde(default)]
    pub observed_generation: i64,
}
