//! Decodes `PodDisruptionBudget` from JSON.

use super::{read, uid, version};
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::{DecodeError, Decoded};
use crate::snapshot::disruption_budget;
use crate::wire::DisruptionBudgetJson;
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
