//! Decodes metadata and spec of `DedicatedPool` from JSON; unknown values in its spec are errors with a path.
//!
//! - See `status.rs` for the status.

use super::{read, status, time, uid, version};
use crate::decode::{DecodeError, Decoded};
use crate::error_text::sanitize;
use crate::wire::{
    Fields, MetaJson, ObjectJson, PoolMembersJson, PoolSpecJson, PoolTaintJson, PoolUsersJson, StringList,
    Text, member_at,
};
use serde_json::value::RawValue;
use taintward_core::admission::pool::{
    DaemonSetPolicy, DedicatedPool, PoolEnforcement, PoolLabel, PoolMembers, PoolPlacement, PoolTaint,
    PoolUsers, ServiceAccount,
};
use taintward_core::dedicated_pools::PoolFact;
use taintward_core::taint::TaintEffect;

/// Reads a `DedicatedPool`.
pub(in crate::decode) fn pool(bytes: &[u8]) -> Result<Decoded<PoolFact>, DecodeError> {
    let object: ObjectJson<MetaJson<'_>, Option<Fields<PoolSpecJson<'_>>>, Option<&RawValue>> = read(bytes)?;
    let Fields(meta) = object.metadata;
    let Some(Fields(spec)) = object.spec else { return Err(DecodeError::new("missing").at("spec")) };
    let uid = uid(&meta)?;
    let label =
        spec.label.map(|Fields(label)| PoolLabel { key: (&label.key).into(), value: (&label.value).into() });
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
            .map_err(|fault| fault.at("spec.placement"))?,
        enforcement: variant(spec.enforcement.as_ref(), &ENFORCEMENTS)
            .map_err(|fault| fault.at("spec.enforcement"))?,
        daemon_sets: variant(spec.daemon_sets.as_ref(), &DAEMON_SETS)
            .map_err(|fault| fault.at("spec.daemonSets"))?,
        applied_marks: object
            .status
            .map_or(Ok(Vec::new()), |raw| status::applied_marks(raw.get().as_bytes()))?,
    };
    let recorded = object.status.and_then(|raw| status::recorded(raw.get().as_bytes()));
    let finalizers = member_at(bytes, &["metadata", "finalizers"]).map_or(Ok(Vec::new()), |raw| {
        let list = serde_json::from_str::<StringList>(raw.get());
        list.map(|StringList(names)| names)
            .map_err(|_| DecodeError::new("not a list of names").at("metadata.finalizers"))
    })?;
    let (version, generation) = (version(&meta), meta.generation.unwrap_or_default());
    Ok(Decoded::Object(PoolFact { uid, version, generation, finalizers, pool, recorded }))
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

/// One of these words; the default where there is none.
fn variant<T: Copy + Default>(text: Option<&Text<'_>>, variants: &[(&str, T)]) -> Result<T, DecodeError> {
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
