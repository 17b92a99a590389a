//! Mirrors spec and status of an EvictionPolicy. An unknown field of the spec is an error: it may delay evictions that
//! would happen without it.
//!
//! - See `decode/format/json/eviction_policy.rs` for what a policy means.

use super::{CappedList, Fields, LabelSelectorJson, ScalarJson, StatusConditionJson, StringList, Text};
use serde::Deserialize;

/// The spec.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct EvictionPolicySpecJson<'a> {
    pub priority: Option<i32>,
    #[serde(borrow)]
    pub taints: CappedList<SelectedTaintJson<'a>>,
    #[serde(borrow)]
    pub node_selector: Fields<LabelSelectorJson<'a>>,
    #[serde(borrow)]
    pub namespace_selector: Fields<LabelSelectorJson<'a>>,
    #[serde(borrow)]
    pub pod_selector: Fields<LabelSelectorJson<'a>>,
    pub respect_budgets: Option<Fields<BudgetRespectJson>>,
    pub max_pods_per_minute: Option<u32>,
    pub max_nodes_at_once: Option<u32>,
    #[serde(borrow)]
    pub max_unavailable_per_workload: Option<ScalarJson<'a>>,
    #[serde(borrow)]
    pub order: Option<Text<'a>>,
    pub wave_timeout_seconds: Option<i64>,
    pub max_termination_grace_period_seconds: Option<u32>,
    pub allow_holds: Option<bool>,
}

/// A taint that the policy selects.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SelectedTaintJson<'a> {
    #[serde(borrow)]
    pub key: Text<'a>,
    pub values: StringList,
}

/// How long budgets are respected.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct BudgetRespectJson {
    pub deadline_seconds: Option<i64>,
}

/// The part of its status that the next one depends on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct EvictionPolicyStatusJson {
    pub forced: u64,
    pub conditions: CappedList<StatusConditionJson>,
}
