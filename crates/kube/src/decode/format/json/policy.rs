//! Decodes `TaintwardPolicy` from JSON; unknown values in its spec are errors with a path.

use super::{read, uid, version};
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::{DecodeError, Decoded, PolicyObject};
use crate::wire::{Fields, MetaJson, ObjectJson, PolicySpecJson};
use serde_json::value::RawValue;
use taintward_core::admission::policy::{SecondsBounds, TolerationDuration, TolerationPolicy};

impl DecodeFrom<Json> for PolicyObject {
    fn decode_from(object: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let ObjectJson { metadata: meta, spec: Fields(spec), .. }: ObjectJson<
            MetaJson<'_>,
            Fields<PolicySpecJson<'_>>,
        > = read(object)?;
        let uid = uid(&meta)?;
        // None at all would be one for all: that has to be written.
        let Some(Fields(namespaces)) = spec.namespace_selector else {
            return Err(DecodeError::new("missing").at("spec.namespaceSelector"));
        };
        let policy = TolerationPolicy {
            name: (&meta.name).into(),
            priority: spec.priority.unwrap_or_default(),
            namespaces: namespaces.into(),
            not_ready: stay(spec.not_ready_seconds).map_err(|fault| fault.at("spec.notReadySeconds"))?,
            unreachable: stay(spec.unreachable_seconds)
                .map_err(|fault| fault.at("spec.unreachableSeconds"))?,
            bounds: SecondsBounds { least: spec.bounds.least, most: spec.bounds.most },
        };
        Ok(Decoded::Object(Self { uid, version: version(&meta), policy }))
    }
}

/// A whole number, or the word.
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
