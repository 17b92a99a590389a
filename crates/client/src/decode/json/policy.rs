//! # JSON policies
//! Room:     `TaintwardPolicy`.
//! Comes in: the bytes of one policy.
//! Goes out: a [`SeenPolicy`]; a [`Fault`] with the field's path where its spec says what is not known.
//! Not here: what is wrong with a policy that can be read (the core).

use super::shape::{Custom, Object, PolicySpec, Text};
use super::{read, uid, version};
use crate::decode::{Decoded, Fault, SeenPolicy};
use serde_json::value::RawValue;
use taintward_core::admission::policy::{SecondsBounds, TolerationDuration, TolerationPolicy};

/// Reads a `TaintwardPolicy`.
pub(in crate::decode) fn policy(bytes: &[u8]) -> Result<Decoded<SeenPolicy>, Fault> {
    let object: Custom<'_, PolicySpec<'_>> = read(bytes)?;
    let Object(meta) = object.metadata.unwrap_or_default();
    let Object(spec) = object.spec.unwrap_or_default();
    let uid = uid(&meta)?;
    // None at all would be one for all: that has to be written.
    let Some(Object(namespaces)) = spec.namespace_selector else {
        return Err(Fault::new("missing").at("spec.namespaceSelector"));
    };
    let Object(bounds) = spec.bounds.unwrap_or_default();
    let policy = TolerationPolicy {
        name: Text::or_empty(meta.name.as_ref()).into(),
        priority: spec.priority.unwrap_or_default(),
        namespaces: namespaces.selector(),
        not_ready: stay(spec.not_ready_seconds).map_err(|fault| fault.at("spec.notReadySeconds"))?,
        unreachable: stay(spec.unreachable_seconds).map_err(|fault| fault.at("spec.unreachableSeconds"))?,
        bounds: SecondsBounds { least: bounds.least, most: bounds.most },
    };
    Ok(Decoded::Fact(SeenPolicy { uid, version: version(&meta), policy }))
}

/// A whole number, or the word.
fn stay(raw: Option<&RawValue>) -> Result<Option<TolerationDuration>, Fault> {
    let Some(raw) = raw.map(RawValue::get).filter(|raw| *raw != "null") else { return Ok(None) };
    if serde_json::from_str::<&str>(raw).is_ok_and(|word| word == "forever") {
        return Ok(Some(TolerationDuration::Forever));
    }
    let seconds = serde_json::from_str::<i64>(raw);
    seconds
        .map(|seconds| Some(TolerationDuration::For(seconds)))
        .map_err(|_| Fault::new("neither a whole number of 64 bits nor forever"))
}
