//! Mirrors spec and status of a TolerationPolicy. An unknown field of the spec is an error: it may restrict what would
//! be done without it.
//!
//! - See `decode/format/json/policy.rs` for what a policy means.

use super::{Fields, LabelSelectorJson};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// The spec.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicySpecJson<'a> {
    pub priority: Option<i32>,
    #[serde(borrow)]
    pub namespace_selector: Option<Fields<LabelSelectorJson<'a>>>,
    #[serde(borrow)]
    pub not_ready_seconds: Option<&'a RawValue>,
    #[serde(borrow)]
    pub unreachable_seconds: Option<&'a RawValue>,
    pub bounds: Fields<SecondsBoundsJson>,
}

/// The minimum and the maximum that pods may request.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SecondsBoundsJson {
    pub least: Option<i64>,
    pub most: Option<i64>,
}

/// The status, as a whole.
#[derive(Debug, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PolicyStatusJson {
    pub observed_generation: i64,
    pub backfill: BackfillJson,
}

/// The progress of backfill.
#[derive(Debug, Deserialize, Serialize)]
pub struct BackfillJson {
    pub current: i64,
    pub pending: i64,
    pub own: i64,
}
