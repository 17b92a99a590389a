//! Decodes `TolerationPolicy` from JSON; unknown values in its spec are errors with a path.

use super::{read, uid, version};
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::{DecodeError, Decoded, PolicyObject};
use crate::wire::{BackfillJson, Fields, MetaJson, ObjectJson, PolicySpecJson, PolicyStatusJson};
use serde_json::value::RawValue;
use taintward_core::admission::policy::{SecondsBounds, TolerationDuration, TolerationPolicy};
use taintward_core::toleration_seconds::BackfillProgress;

impl DecodeFrom<Json> for PolicyObject {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let ObjectJson { metadata: meta, spec: Fields(spec), status }: ObjectJson<
            MetaJson<'_>,
            Fields<PolicySpecJson<'_>>,
            Option<&RawValue>,
        > = read(object)?;
        let uid = uid(&meta)?;
        // An absent selector would mean all namespaces: that has to be written explicitly.
        let Some(Fields(namespaces)) = spec.namespace_selector else {
            return Err(DecodeError::new("missing").at("spec.namespaceSelector"));
        };
        let policy = TolerationPolicy {
            name: (&meta.name).into(),
            priority: spec.priority.unwrap_or_default(),
            namespaces: namespaces.into(),
            not_ready: stay(spec.not_ready_seconds).map_err(|error| error.at("spec.notReadySeconds"))?,
            unreachable: stay(spec.unreachable_seconds)
                .map_err(|error| error.at("spec.unreachableSeconds"))?,
            bounds: SecondsBounds { least: spec.bounds.least, most: spec.bounds.most },
        };
        let generation = meta.generation.unwrap_or_default();
        Ok(Decoded::Object(Self {
            uid,
            version: version(&meta),
            generation,
            policy,
            progress: status.and_then(progress),
        }))
    }
}

/// The status of backfill. If it cannot be decoded, it is written again.
fn progress(status: &RawValue) -> Option<BackfillProgress> {
    let PolicyStatusJson { observed_generation, backfill } = serde_json::from_str(status.get()).ok()?;
    let BackfillJson { current, pending, own } = backfill;
    Some(BackfillProgress { generation: observed_generation, current, pending, own })
}

/// An integer, or `forever`.
fn stay(raw: Option<&RawValue>) -> Result<Option<TolerationDuration>, DecodeError> {
    let Some(raw) = raw.map(RawValue::get).filter(|raw| *raw != "null") else { return Ok(None) };
    if serde_json::from_str::<&str>(raw).is_ok_and(|word| word == "forever") {
        return Ok(Some(TolerationDuration::Forever));
    }
    let seconds = serde_json::from_str::<i64>(raw);
    seconds
        .map(|seconds| Some(TolerationDuration::For(seconds)))
        .map_err(|_| DecodeError::new("neither a whole number of 64 bits nor forever"))
}
