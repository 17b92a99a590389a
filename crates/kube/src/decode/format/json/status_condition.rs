//! Decodes the conditions in the status of a custom resource.

use crate::api_time::time_from_text;
use crate::wire::{CappedList, StatusConditionJson};
use taintward_core::status_condition::StatusCondition;

/// The conditions; `None` if one cannot be understood, so that the status is written again.
pub(super) fn conditions(written: CappedList<StatusConditionJson>) -> Option<Vec<StatusCondition>> {
    let conditions = written.0.into_iter().map(|one| {
        Some(StatusCondition {
            kind: one.kind,
            status: one.status,
            reason: one.reason,
            message: one.message,
            since: time_from_text(&one.last_transition_time).ok()??,
            observed: one.observed_generation,
        })
    });
    conditions.collect()
}
