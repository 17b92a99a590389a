//! Mirrors the fields of `Job` that decide what follows when its pods are evicted.
//!
//! - See `snapshot.rs` for what they mean.

use super::{CappedList, Fields, MetaJson, ObjectJson, StringList, Text};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// `Job`.
pub type JobJson<'a> = ObjectJson<MetaJson<'a>, Fields<JobSpecJson<'a>>, Fields<JobStatusJson<'a>>>;

/// `JobSpec`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JobSpecJson<'a> {
    pub backoff_limit: Option<u32>,
    pub backoff_limit_per_index: Option<u32>,
    pub max_failed_indexes: Option<u32>,
    pub suspend: Option<bool>,
    #[serde(borrow)]
    pub pod_failure_policy: Option<Fields<PodFailurePolicyJson<'a>>>,
}

/// `PodFailurePolicy`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PodFailurePolicyJson<'a> {
    #[serde(borrow)]
    pub rules: CappedList<PodFailureRuleJson<'a>>,
}

/// `PodFailurePolicyRule`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct PodFailureRuleJson<'a> {
    #[serde(borrow)]
    pub action: Text<'a>,
    pub on_exit_codes: Option<IgnoredAny>,
    #[serde(borrow)]
    pub on_pod_conditions: CappedList<JobConditionJson<'a>>,
}

/// `PodFailurePolicyOnPodConditionsPattern`, and `JobCondition`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct JobConditionJson<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
}

/// `JobStatus`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct JobStatusJson<'a> {
    pub failed: Option<u32>,
    #[serde(borrow)]
    pub failed_indexes: Text<'a>,
    #[serde(borrow)]
    pub conditions: CappedList<JobConditionJson<'a>>,
    pub uncounted_terminated_pods: Option<Fields<UncountedPodsJson>>,
}

/// `UncountedTerminatedPods`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct UncountedPodsJson {
    pub failed: StringList,
}
