//! # JSON pools
//! Room:     `DedicatedPool`: metadata and spec.
//! Comes in: the bytes of one pool.
//! Goes out: a [`PoolFact`]; a [`DecodeError`] with the field's path where a spec says what is not known.
//! Not here: the status (`json/status.rs`); whether what is wanted makes sense: the core's `assess` says so, of what is
//!           missing, too.

use super::wire_types::{
    CustomResourceJson, FinalizersObject, LenientObject, PoolMembersJson, PoolSpecJson, PoolTaintJson,
    PoolUsersJson, Text,
};
use super::{read, status, time, uid, version};
use crate::decode::{DecodeError, Decoded};
use crate::error_text::sanitize;
use taintward_core::admission::pool::{
    DaemonSetPolicy, DedicatedPool, PoolEnforcement, PoolLabel, PoolMembers, PoolPlacement, PoolTaint,
    PoolUsers, ServiceAccount,
};
use taintward_core::dedicated_pools::PoolFact;
use taintward_core::taint::TaintEffect;

/// Reads a `DedicatedPool`.
pub(in crate::decode) fn pool(bytes: &[u8]) -> Result<Decoded<PoolFact>, DecodeError> {
    let object: CustomResourceJson<'_, PoolSpecJson<'_>> = read(bytes)?;
    let LenientObject(meta) = object.metadata.unwrap_or_default();
    let Some(LenientObject(spec)) = object.spec else { return Err(DecodeError::new("missing").at("spec")) };
    let uid = uid(&meta)?;
    let label = spec.label.map(|LenientObject(label)| PoolLabel {
        key: Text::or_empty(label.key.as_ref()).into(),
        value: Text::or_empty(label.value.as_ref()).into(),
    });
    let pool = DedicatedPool {
        name: Text::or_empty(meta.name.as_ref()).into(),
        uid: uid.to_string().into(),
        created: time(meta.creation_timestamp.as_ref(), "metadata.creationTimestamp")?,
        leaving: meta.deletion_timestamp.is_some(),
        taint: taint(spec.taint.unwrap_or_default().0),
        label,
        members: members(spec.nodes.unwrap_or_default().0),
        users: users(spec.users.unwrap_or_default().0),
        placement: word(spec.placement.as_ref(), &PLACEMENTS).map_err(|fault| fault.at("spec.placement"))?,
        enforcement: word(spec.enforcement.as_ref(), &ENFORCEMENTS)
            .map_err(|fault| fault.at("spec.enforcement"))?,
        daemon_sets: word(spec.daemon_sets.as_ref(), &DAEMON_SETS)
            .map_err(|fault| fault.at("spec.daemonSets"))?,
        applied_marks: object.status.map_or(Ok(Vec::new()), |raw| status::past(raw.get().as_bytes()))?,
    };
    let told = object.status.and_then(|raw| status::told(raw.get().as_bytes()));
    let finalizers =
        read::<FinalizersObject>(bytes)?.metadata.unwrap_or_default().0.finalizers.unwrap_or_default().0;
    let (version, generation) = (version(&meta), meta.generation.unwrap_or_default());
    Ok(Decoded::Object(PoolFact { uid, version, generation, finalizers, pool, recorded: told }))
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
fn word<T: Copy + Default>(text: Option<&Text<'_>>, words: &[(&str, T)]) -> Result<T, DecodeError> {
    let Some(text) = text else { return Ok(T::default()) };
    let found = words.iter().find(|(word, _)| *word == text.as_str());
    found.map(|(_, meaning)| *meaning).ok_or_else(|| {
        let known: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
        DecodeError::new(format!("{:?} is none of {}", sanitize(text.as_str(), 32), known.join(", ")))
    })
}

fn taint(entry: PoolTaintJson<'_>) -> PoolTaint {
    PoolTaint {
        key: Text::or_empty(entry.key.as_ref()).into(),
        value: Text::or_empty(entry.value.as_ref()).into(),
        effects: entry.effects.unwrap_or_default().0.iter().map(|effect| TaintEffect::new(effect)).collect(),
    }
}

fn members(entry: PoolMembersJson<'_>) -> PoolMembers {
    PoolMembers {
        names: entry.names.unwrap_or_default().0,
        selector: entry.selector.map(|LenientObject(selector)| selector.selector()),
    }
}

fn users(entry: PoolUsersJson<'_>) -> PoolUsers {
    let accounts = entry.service_accounts.unwrap_or_default().0;
    PoolUsers {
        namespaces: entry.namespace_selector.map(|LenientObject(selector)| selector.selector()),
        service_accounts: accounts
            .iter()
            .map(|account| ServiceAccount {
                namespace: account.namespace.as_str().into(),
                name: account.name.as_str().into(),
            })
            .collect(),
        users: entry.users.unwrap_or_default().0,
        groups: entry.groups.unwrap_or_default().0,
    }
}
