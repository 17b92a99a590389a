//! Decodes `EvictionPolicy` from JSON; unknown values in its spec are errors with a path.

use super::pool::variant;
use super::status_condition::conditions;
use super::{read, uid, version};
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::{DecodeError, Decoded};
use crate::wire::{
    BudgetRespectJson, EvictionPolicySpecJson, EvictionPolicyStatusJson, Fields, MetaJson, ObjectJson,
    ScalarJson, SelectedTaintJson, object_from_slice,
};
use serde_json::value::RawValue;
use taintward_core::eviction_policy::{
    BudgetRespect, EvictionPolicy, EvictionPolicyFact, RecordedPolicyStatus, SelectedTaint, UnavailableLimit,
    WaveOrder,
};
use taintward_core::time::Span;

impl DecodeFrom<Json> for EvictionPolicyFact {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        type EvictionPolicyJson<'a> =
            ObjectJson<MetaJson<'a>, Option<Fields<EvictionPolicySpecJson<'a>>>, Option<&'a RawValue>>;

        let ObjectJson { metadata: meta, spec, status }: EvictionPolicyJson<'_> = read(object)?;
        let Some(Fields(spec)) = spec else { return Err(DecodeError::new("missing").at("spec")) };
        let policy = EvictionPolicy {
            name: (&meta.name).into(),
            priority: spec.priority.unwrap_or_default(),
            order: order(&spec)?,
            unavailable_per_workload: spec
                .max_unavailable_per_workload
                .map(|written| unavailable(&written))
                .transpose()
                .map_err(|error| error.at("spec.maxUnavailablePerWorkload"))?,
            taints: spec.taints.0.into_iter().map(taint).collect(),
            nodes: spec.node_selector.0.into(),
            namespaces: spec.namespace_selector.0.into(),
            pods: spec.pod_selector.0.into(),
            budgets: spec.respect_budgets.map(respect),
            pods_per_minute: spec.max_pods_per_minute,
            nodes_at_once: spec.max_nodes_at_once,
            grace_seconds_max: spec.max_termination_grace_period_seconds,
            allow_holds: spec.allow_holds.unwrap_or(true),
        };
        let (uid, version, generation) = (uid(&meta)?, version(&meta), meta.generation.unwrap_or_default());
        let recorded = status.and_then(|raw| recorded(raw.get().as_bytes())).unwrap_or_default();
        Ok(Decoded::Object(Self { uid, version, generation, policy: policy.into(), recorded }))
    }
}

/// Its recorded status, as far as the next one depends on it.
fn recorded(bytes: &[u8]) -> Option<RecordedPolicyStatus> {
    let status: EvictionPolicyStatusJson = object_from_slice(bytes).ok()?;
    Some(RecordedPolicyStatus { forced: status.forced, conditions: conditions(status.conditions)? })
}

fn respect(Fields(budgets): Fields<BudgetRespectJson>) -> BudgetRespect {
    BudgetRespect { deadline: budgets.deadline_seconds.map(Span::from_secs) }
}

fn taint(entry: SelectedTaintJson<'_>) -> SelectedTaint {
    SelectedTaint { key: (&entry.key).into(), values: entry.values.0 }
}

fn order(spec: &EvictionPolicySpecJson<'_>) -> Result<Option<WaveOrder>, DecodeError> {
    let in_waves = variant(spec.order.as_ref(), &[("PriorityClass", true)]);
    match (in_waves.map_err(|error| error.at("spec.order"))?, spec.wave_timeout_seconds) {
        (true, timeout) => Ok(Some(WaveOrder { timeout: timeout.map(Span::from_secs) })),
        (false, None) => Ok(None),
        (false, Some(_)) => {
            let why = "has no effect without order: PriorityClass";
            Err(DecodeError::new(why).at("spec.waveTimeoutSeconds"))
        }
    }
}

/// A number, a percentage, or both with a comma, in any order.
fn unavailable(ScalarJson(written): &ScalarJson<'_>) -> Result<UnavailableLimit, DecodeError> {
    let misfit =
        || DecodeError::new("neither a number of replicas, nor a percentage, nor both, such as 2,10%");
    let mut limit = UnavailableLimit::default();
    for part in written.as_deref().ok_or_else(misfit)?.split(',') {
        let (slot, number) = match part.strip_suffix('%') {
            Some(percent) => (&mut limit.percent, percent),
            None => (&mut limit.replicas, part),
        };
        let number = number.parse().map_err(|_| misfit())?;
        if slot.replace(number).is_some() {
            return Err(misfit());
        }
    }
    Ok(limit)
}
