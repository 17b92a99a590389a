//! Decodes `DedicatedPool` from JSON; unknown values in its spec are errors with a path.
//!
//! - Invariant: marks in its status that may be removed from nodes are never guessed (an error); other unreadable parts
//!   of it are absent, and are written again.

use super::status_condition::conditions;
use super::{read, time, uid, version};
use crate::decode::format::{DecodeFrom, Json};
use crate::decode::{DecodeError, Decoded};
use crate::error_text::sanitize;
use crate::wire::{
    AppliedMarkJson, AppliedMarksJson, CappedList, Fields, MetaJson, NamedPodJson, ObjectJson,
    PoolMembersJson, PoolSpecJson, PoolStatusJson, PoolTaintJson, PoolUsersJson, StringList, Text, member_at,
    object_from_slice,
};
use serde_json::value::RawValue;
use taintward_core::admission::pool::{
    AppliedMark, DaemonSetPolicy, DedicatedPool, NamedPod, PoolEnforcement, PoolLabel, PoolMembers,
    PoolPlacement, PoolStatus, PoolTaint, PoolUsers, PoolValidity, ServiceAccount,
};
use taintward_core::dedicated_pools::{GUARD_LABEL, PoolFact, RecordedStatus};
use taintward_core::identity::PodName;
use taintward_core::taint::TaintEffect;

impl DecodeFrom<Json> for PoolFact {
    fn decode_from(bytes: &[u8]) -> Result<Decoded<Self>, DecodeError> {
        let object: ObjectJson<MetaJson<'_>, Option<Fields<PoolSpecJson<'_>>>, Option<&RawValue>> =
            read(bytes)?;
        let Fields(meta) = object.metadata;
        let Some(Fields(spec)) = object.spec else { return Err(DecodeError::new("missing").at("spec")) };
        let uid = uid(&meta)?;
        let label = spec
            .label
            .map(|Fields(label)| PoolLabel { key: (&label.key).into(), value: (&label.value).into() });
        let pool = DedicatedPool {
            name: (&meta.name).into(),
            uid: uid.to_string().into(),
            created: time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?,
            leaving: meta.deletion_timestamp.is_some(),
            taint: taint(spec.taint.0),
            label,
            members: members(spec.nodes.0),
            users: users(spec.users.0),
            placement: variant(spec.placement.as_ref(), &PLACEMENTS)
                .map_err(|error| error.at("spec.placement"))?,
            enforcement: variant(spec.enforcement.as_ref(), &ENFORCEMENTS)
                .map_err(|error| error.at("spec.enforcement"))?,
            daemon_sets: variant(spec.daemon_sets.as_ref(), &DAEMON_SETS)
                .map_err(|error| error.at("spec.daemonSets"))?,
            applied_marks: object.status.map_or(Ok(Vec::new()), |raw| applied_marks(raw.get().as_bytes()))?,
        };
        let recorded = object.status.and_then(|raw| recorded(raw.get().as_bytes()));
        let finalizers = member_at(bytes, &["metadata", "finalizers"]).map_or(Ok(Vec::new()), |raw| {
            let list = serde_json::from_str::<StringList>(raw.get());
            list.map(|StringList(names)| names)
                .map_err(|_| DecodeError::new("not a list of names").at("metadata.finalizers"))
        })?;
        let has_guard_label = member_at(bytes, &["metadata", "labels", GUARD_LABEL]).is_some();
        let (version, generation) = (version(&meta), meta.generation.unwrap_or_default());
        Ok(Decoded::Object(Self { uid, version, generation, finalizers, has_guard_label, pool, recorded }))
    }
}

const PLACEMENTS: [(&str, PoolPlacement); 2] =
    [("Exclusive", PoolPlacement::Exclusive), ("Allowed", PoolPlacement::Allowed)];

const ENFORCEMENTS: [(&str, PoolEnforcement); 4] = [
    ("Deny", PoolEnforcement::Deny),
    ("Evict", PoolEnforcement::Evict),
    ("Warn", PoolEnforcement::Warn),
    ("Off", PoolEnforcement::Off),
];

const DAEMON_SETS: [(&str, DaemonSetPolicy); 2] =
    [("Deny", DaemonSetPolicy::Deny), ("Allow", DaemonSetPolicy::Allow)];

/// Parses one of these words; the default if absent.
pub(super) fn variant<T: Copy + Default>(
    text: Option<&Text<'_>>,
    variants: &[(&str, T)],
) -> Result<T, DecodeError> {
    let Some(text) = text else { return Ok(T::default()) };
    let found = variants.iter().find(|(variant, _)| **variant == **text);
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let names: Vec<&str> = variants.iter().map(|(variant, _)| *variant).collect();
        DecodeError::new(format!("{:?} is none of {}", sanitize(text, 32), names.join(", ")))
    })
}

fn taint(entry: PoolTaintJson<'_>) -> PoolTaint {
    PoolTaint {
        key: (&entry.key).into(),
        value: (&entry.value).into(),
        effects: entry.effects.0.iter().map(|effect| TaintEffect::new(effect)).collect(),
    }
}

fn members(entry: PoolMembersJson<'_>) -> PoolMembers {
    PoolMembers { names: entry.names.0, selector: entry.selector.map(|Fields(selector)| selector.into()) }
}

fn users(entry: PoolUsersJson<'_>) -> PoolUsers {
    let accounts = entry.service_accounts.0.into_iter();
    PoolUsers {
        namespaces: entry.namespace_selector.map(|Fields(selector)| selector.into()),
        service_accounts: accounts
            .map(|account| ServiceAccount { namespace: account.namespace, name: account.name })
            .collect(),
        users: entry.users.0,
        groups: entry.groups.0,
    }
}

/// The marks that the pool has declared.
fn applied_marks(bytes: &[u8]) -> Result<Vec<AppliedMark>, DecodeError> {
    if bytes == b"null" {
        return Ok(Vec::new());
    }
    let status: AppliedMarksJson<'_> = read(bytes).map_err(|error| error.at("status"))?;
    let numbered = status.past.iter().enumerate();
    numbered.map(|(at, entry)| mark(entry).map_err(|error| error.index(at).at("status.past"))).collect()
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

const VALIDITIES: [PoolValidity; 3] = [PoolValidity::Applied, PoolValidity::Frozen, PoolValidity::Rejected];

/// Its recorded status.
fn recorded(bytes: &[u8]) -> Option<RecordedStatus> {
    let status: PoolStatusJson<'_> = object_from_slice(bytes).ok()?;
    let conditions = conditions(status.conditions)?;
    Some(RecordedStatus {
        observed: status.observed_generation,
        status: PoolStatus {
            validity: VALIDITIES.into_iter().find(|one| *one.as_str() == *status.validity)?,
            members: status.node_names.0,
            nodes: status.nodes,
            conflicts: status.conflicts,
            pods: status.pods,
            elsewhere: status.elsewhere,
            exempt: status.exempt,
            exempt_pods: named(status.exempt_pods),
            unknown: status.unknown,
            violations: status.violation_count,
            violating_pods: named(status.violations),
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
