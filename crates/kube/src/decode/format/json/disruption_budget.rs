//! Decodes `PodDisruptionBudget` from JSON.

use super::{read, uid, version};
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::{DecodeError, Decoded};
use crate::wire::{DisruptionBudgetJson, Fields, ScalarJson};
use taintward_core::admission::LabelSelector;
use taintward_core::cluster_snapshot::{BudgetStatus, DisruptionBudget, DisruptionLimit, IntOrPercent};
use taintward_core::eviction_policy::BudgetFact;

impl DecodeFrom<Json> for BudgetFact {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let budget: DisruptionBudgetJson<'_> = read(object)?;
        let (uid, version) = (uid(&budget.metadata)?, version(&budget.metadata));
        let generation = budget.metadata.generation.unwrap_or_default();
        // Counts of an earlier generation are about another selector or limit.
        let counts = budget.status.as_ref().filter(|counts| counts.observed_generation >= generation);
        let allowed = counts.map(|counts| counts.disruptions_allowed);
        let budget = disruption_budget(budget, "")?;
        Ok(Decoded::Object(Self { uid, version, budget, allowed }))
    }
}

/// Converts a disruption budget. Budgets without a namespace are placed in `home`.
pub(crate) fn disruption_budget(
    budget: DisruptionBudgetJson<'_>,
    home: &str,
) -> Result<DisruptionBudget, DecodeError> {
    let DisruptionBudgetJson { metadata: Fields(metadata), spec: Fields(spec), status } = budget;
    let portion =
        |written: Option<ScalarJson<'_>>, field: &str| -> Result<Option<IntOrPercent>, DecodeError> {
            let Some(ScalarJson(text)) = written else { return Ok(None) };
            let text = text.unwrap_or_default();
            let portion = IntOrPercent::parse(&text);
            portion.map(Some).ok_or_else(|| {
                DecodeError::new(format!("{text:?} is neither a number nor a percentage")).at(field)
            })
        };
    let least = portion(spec.min_available, "minAvailable")?.map(DisruptionLimit::MinAvailable);
    let most = portion(spec.max_unavailable, "maxUnavailable")?.map(DisruptionLimit::MaxUnavailable);
    // Missing counts, or those of an earlier generation, are ignored.
    let generation = metadata.generation.unwrap_or_default();
    let counted =
        status.filter(|counts| counts.observed_generation >= generation && counts.expected_pods > 0);
    let namespace = if metadata.namespace.is_empty() { home } else { &metadata.namespace };
    Ok(DisruptionBudget {
        namespace: namespace.into(),
        name: (&metadata.name).into(),
        selector: spec.selector.map(|Fields(selector)| LabelSelector::from(selector).0),
        floor: least.or(most),
        status: counted
            .map(|counts| BudgetStatus { healthy: counts.current_healthy, desired: counts.desired_healthy }),
    })
}
