//! Mirrors the fields of `PodDisruptionBudget` that a snapshot and eviction policies need.
//!
//! - See `snapshot.rs` and `decode/format/json/disruption_budget.rs` for what they mean.

use super::{Fields, LabelSelectorJson, MetaJson, ObjectJson, ScalarJson};
use serde::Deserialize;

/// `PodDisruptionBudget`.
pub type DisruptionBudgetJson<'a> =
    ObjectJson<MetaJson<'a>, Fields<DisruptionBudgetSpecJson<'a>>, Option<Fields<BudgetCountsJson>>>;

/// `PodDisruptionBudgetSpec`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct DisruptionBudgetSpecJson<'a> {
    #[serde(borrow)]
    pub min_available: Option<ScalarJson<'a>>,
    #[serde(borrow)]
    pub max_unavailable: Option<ScalarJson<'a>>,
    #[serde(borrow)]
    pub selector: Option<Fields<LabelSelectorJson<'a>>>,
}

/// `PodDisruptionBudgetStatus`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct BudgetCountsJson {
    pub observed_generation: i64,
    pub disruptions_allowed: u32,
    pub current_healthy: u32,
    pub desired_healthy: u32,
    pub expected_pods: u32,
}
