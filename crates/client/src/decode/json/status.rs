//! # JSON status of a pool
//! Room:     what it has stood for, and what is told of it.
//! Comes in: the bytes of a pool's status.
//! Goes out: marks, or a [`Fault`] with the field's path: what may be taken off nodes is not guessed; [`Told`], or
//!           nothing where that cannot be read: it decides nothing, and is written anew.
//! Not here: writing it (`pools/status.rs`).

use super::shape::{Capped, MarkEntry, NamedEntry, Object, PastStatus, Text, ToldStatus};
use super::{read, time};
use crate::decode::{Condition, Fault, Told, harmless};
use taintward_core::admission::pool::{AppliedMark, NamedPod, PoolStatus, PoolValidity};
use taintward_core::identity::PodName;
use taintward_core::taint::TaintEffect;

/// What the pool has stood for.
pub(super) fn past(bytes: &[u8]) -> Result<Vec<AppliedMark>, Fault> {
    if bytes == b"null" {
        return Ok(Vec::new());
    }
    let status: PastStatus<'_> = read(bytes).map_err(|fault| fault.at("status"))?;
    let marks = status.past.unwrap_or_default().0;
    let numbered = marks.iter().enumerate();
    numbered.map(|(at, entry)| mark(entry).map_err(|fault| fault.index(at).at("status.past"))).collect()
}

fn mark(entry: &MarkEntry<'_>) -> Result<AppliedMark, Fault> {
    let (key, value) =
        (Text::or_empty(entry.key.as_ref()).into(), Text::or_empty(entry.value.as_ref()).into());
    match (Text::or_empty(entry.kind.as_ref()), &entry.effect) {
        ("Taint", Some(effect)) => {
            Ok(AppliedMark::Taint { key, value, effect: TaintEffect::new(effect.as_str()) })
        }
        ("Taint", None) => Err(Fault::new("missing").at("effect")),
        ("Label", _) => Ok(AppliedMark::Label { key, value }),
        (kind, _) => {
            Err(Fault::new(format!("{:?} is neither Taint nor Label", harmless(kind, 32))).at("kind"))
        }
    }
}

const STANDINGS: [PoolValidity; 3] = [PoolValidity::Applied, PoolValidity::Frozen, PoolValidity::Refused];

/// What is told of it.
pub(super) fn told(bytes: &[u8]) -> Option<Told> {
    let Object(status) = serde_json::from_slice::<Object<ToldStatus<'_>>>(bytes).ok()?;
    let conditions = status.conditions.unwrap_or_default().0;
    let conditions: Result<Vec<Condition>, Fault> = conditions
        .iter()
        .map(|one| {
            Ok(Condition {
                kind: one.kind.as_str().into(),
                status: one.status.as_str().into(),
                reason: one.reason.as_str().into(),
                message: one.message.as_str().into(),
                since: time(Some(&one.last_transition_time), "lastTransitionTime")?
                    .ok_or_else(|| Fault::new("missing").at("lastTransitionTime"))?,
                observed: one.observed_generation,
            })
        })
        .collect();
    Some(Told {
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

fn named(entries: Option<Capped<NamedEntry<'_>>>) -> Vec<NamedPod> {
    let named = |one: &NamedEntry<'_>| NamedPod {
        pod: PodName::new(one.namespace.as_str(), one.name.as_str()),
        node: one.node.as_str().into(),
        message: one.message.as_str().to_owned(),
    };
    entries.unwrap_or_default().0.iter().map(named).collect()
}
