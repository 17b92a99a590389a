//! # JSON status of a pool
//! Room:     what it has stood for, and what is told of it.
//! Comes in: the bytes of a pool's status.
//! Goes out: marks, or a [`DecodeError`] with the field's path: what may be taken off nodes is not guessed; [`RecordedStatus`], or
//!           nothing where that cannot be read: it decides nothing, and is written anew.
//! Not here: writing it (`pools/pool_status.rs`).

use super::wire_types::{
    AppliedMarkJson, AppliedMarksJson, CappedList, LenientObject, NamedPodJson, PoolStatusJson, Text,
};
use super::{read, time};
use crate::decode::DecodeError;
use crate::error_text::sanitize;
use taintward_core::admission::pool::{AppliedMark, NamedPod, PoolStatus, PoolValidity};
use taintward_core::dedicated_pools::{PoolCondition, RecordedStatus};
use taintward_core::identity::PodName;
use taintward_core::taint::TaintEffect;

/// What the pool has stood for.
pub(super) fn past(bytes: &[u8]) -> Result<Vec<AppliedMark>, DecodeError> {
    if bytes == b"null" {
        return Ok(Vec::new());
    }
    let status: AppliedMarksJson<'_> = read(bytes).map_err(|fault| fault.at("status"))?;
    let marks = status.past.unwrap_or_default().0;
    let numbered = marks.iter().enumerate();
    numbered.map(|(at, entry)| mark(entry).map_err(|fault| fault.index(at).at("status.past"))).collect()
}

fn mark(entry: &AppliedMarkJson<'_>) -> Result<AppliedMark, DecodeError> {
    let (key, value) =
        (Text::or_empty(entry.key.as_ref()).into(), Text::or_empty(entry.value.as_ref()).into());
    match (Text::or_empty(entry.kind.as_ref()), &entry.effect) {
        ("Taint", Some(effect)) => {
            Ok(AppliedMark::Taint { key, value, effect: TaintEffect::new(effect.as_str()) })
        }
        ("Taint", None) => Err(DecodeError::new("missing").at("effect")),
        ("Label", _) => Ok(AppliedMark::Label { key, value }),
        (kind, _) => {
            Err(DecodeError::new(format!("{:?} is neither Taint nor Label", sanitize(kind, 32))).at("kind"))
        }
    }
}

const STANDINGS: [PoolValidity; 3] = [PoolValidity::Applied, PoolValidity::Frozen, PoolValidity::Refused];

/// What is told of it.
pub(super) fn told(bytes: &[u8]) -> Option<RecordedStatus> {
    let LenientObject(status) = serde_json::from_slice::<LenientObject<PoolStatusJson<'_>>>(bytes).ok()?;
    let conditions = status.conditions.unwrap_or_default().0;
    let conditions: Result<Vec<PoolCondition>, DecodeError> = conditions
        .iter()
        .map(|one| {
            Ok(PoolCondition {
                kind: one.kind.as_str().into(),
                status: one.status.as_str().into(),
                reason: one.reason.as_str().into(),
                message: one.message.as_str().into(),
                since: time(Some(&one.last_transition_time), "lastTransitionTime")?
                    .ok_or_else(|| DecodeError::new("missing").at("lastTransitionTime"))?,
                observed: one.observed_generation,
            })
        })
        .collect();
    Some(RecordedStatus {
        observed: status.observed_generation,
        status: PoolStatus {
            standing: STANDINGS
                .into_iter()
                .find(|one| one.as_str() == Text::or_empty(status.standing.as_ref()))?,
            members: status.node_names.unwrap_or_default().0,
            nodes: status.nodes,
            conflicts: status.conflicts,
            pods: status.pods,
            elsewhere: status.elsewhere,
            exempt: status.exempt,
            exempt_pods: named(status.exempt_pods),
            unknown: status.unknown,
            offenders: status.offender_count,
            offending_pods: named(status.offenders),
            evicted: Vec::new(),
        },
        conditions: conditions.ok()?,
    })
}

fn named(entries: Option<CappedList<NamedPodJson<'_>>>) -> Vec<NamedPod> {
    let named = |one: &NamedPodJson<'_>| NamedPod {
        pod: PodName::new(one.namespace.as_str(), one.name.as_str()),
        node: one.node.as_str().into(),
        message: one.message.as_str().to_owned(),
    };
    entries.unwrap_or_default().0.iter().map(named).collect()
}
