//! Decodes the status of a pool from JSON.
//!
//! - Invariant: marks that may be removed from nodes are never guessed (an error); other unreadable parts are absent,
//!   and are written again.

use super::read;
use crate::decode::{DecodeError, timestamps};
use crate::error_text::sanitize;
use crate::wire::{
    AppliedMarkJson, AppliedMarksJson, CappedList, NamedPodJson, PoolStatusJson, object_from_slice,
};
use taintward_core::admission::pool::{AppliedMark, NamedPod, PoolStatus, PoolValidity};
use taintward_core::dedicated_pools::{PoolCondition, RecordedStatus};
use taintward_core::identity::PodName;
use taintward_core::taint::TaintEffect;

/// What the pool has stood for.
pub(super) fn applied_marks(bytes: &[u8]) -> Result<Vec<AppliedMark>, DecodeError> {
    if bytes == b"null" {
        return Ok(Vec::new());
    }
    let status: AppliedMarksJson<'_> = read(bytes).map_err(|fault| fault.at("status"))?;
    let numbered = status.past.iter().enumerate();
    numbered.map(|(at, entry)| mark(entry).map_err(|fault| fault.index(at).at("status.past"))).collect()
}

fn mark(entry: &AppliedMarkJson<'_>) -> Result<AppliedMark, DecodeError> {
    let (key, value) = ((&entry.key).into(), (&entry.value).into());
    match (&*entry.kind, &entry.effect) {
        ("Taint", Some(effect)) => Ok(AppliedMark::Taint { key, value, effect: TaintEffect::new(effect) }),
        ("Taint", None) => Err(DecodeError::new("missing").at("effect")),
        ("Label", _) => Ok(AppliedMark::Label { key, value }),
        (kind, _) => {
            Err(DecodeError::new(format!("{:?} is neither Taint nor Label", sanitize(kind, 32))).at("kind"))
        }
    }
}

const STANDINGS: [PoolValidity; 3] = [PoolValidity::Applied, PoolValidity::Frozen, PoolValidity::Refused];

/// What is told of it.
pub(super) fn recorded(bytes: &[u8]) -> Option<RecordedStatus> {
    let status: PoolStatusJson<'_> = object_from_slice(bytes).ok()?;
    let conditions = status.conditions.0.into_iter().map(|one| {
        Some(PoolCondition {
            kind: one.kind,
            status: one.status,
            reason: one.reason,
            message: one.message,
            since: timestamps::from_text(&one.last_transition_time).ok()??,
            observed: one.observed_generation,
        })
    });
    let conditions = conditions.collect::<Option<_>>()?;
    Some(RecordedStatus {
        observed: status.observed_generation,
        status: PoolStatus {
            standing: STANDINGS.into_iter().find(|one| *one.as_str() == *status.standing)?,
            members: status.node_names.0,
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
        conditions,
    })
}

fn named(entries: CappedList<NamedPodJson>) -> Vec<NamedPod> {
    let named = |one: NamedPodJson| NamedPod {
        pod: PodName::new(&one.namespace, &one.name),
        node: one.node,
        message: one.message,
    };
    entries.0.into_iter().map(named).collect()
}
