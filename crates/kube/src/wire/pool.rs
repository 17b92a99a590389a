//! Mirrors spec and status of a DedicatedPool. An unknown field of the spec is an error: it may restrict what would be
//! done without it.
//!
//! - See `decode/format/json/pool.rs` for what a pool means, and `pools/pool_status.rs` for writing its status.

use super::{CappedList, Fields, LabelSelectorJson, StatusConditionJson, StringList, Text};
use serde::Deserialize;

/// The spec.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolSpecJson<'a> {
    #[serde(borrow)]
    pub taint: Fields<PoolTaintJson<'a>>,
    #[serde(borrow)]
    pub label: Option<Fields<PoolLabelJson<'a>>>,
    #[serde(borrow)]
    pub nodes: Fields<PoolMembersJson<'a>>,
    #[serde(borrow)]
    pub users: Fields<PoolUsersJson<'a>>,
    #[serde(borrow)]
    pub placement: Option<Text<'a>>,
    #[serde(borrow)]
    pub enforcement: Option<Text<'a>>,
    #[serde(borrow)]
    pub daemon_sets: Option<Text<'a>>,
}

/// The taint of its nodes.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolTaintJson<'a> {
    #[serde(borrow)]
    pub key: Text<'a>,
    #[serde(borrow)]
    pub value: Text<'a>,
    pub effects: StringList,
}

/// The label of its nodes.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolLabelJson<'a> {
    #[serde(borrow)]
    pub key: Text<'a>,
    #[serde(borrow)]
    pub value: Text<'a>,
}

/// Its nodes.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolMembersJson<'a> {
    pub names: StringList,
    #[serde(borrow)]
    pub selector: Option<Fields<LabelSelectorJson<'a>>>,
}

/// The pods that may run there.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolUsersJson<'a> {
    #[serde(borrow)]
    pub namespace_selector: Option<Fields<LabelSelectorJson<'a>>>,
    pub service_accounts: CappedList<ServiceAccountJson>,
    pub users: StringList,
    pub groups: StringList,
}

/// A service account.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServiceAccountJson {
    pub namespace: Box<str>,
    pub name: Box<str>,
}

/// The part of a status that decisions depend on.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppliedMarksJson<'a> {
    #[serde(borrow)]
    pub past: CappedList<AppliedMarkJson<'a>>,
}

/// A taint or a label that the pool has declared.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct AppliedMarkJson<'a> {
    #[serde(borrow)]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub key: Text<'a>,
    #[serde(borrow)]
    pub value: Text<'a>,
    #[serde(borrow)]
    pub effect: Option<Text<'a>>,
}

/// The part of a status that is only shown.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PoolStatusJson<'a> {
    pub observed_generation: i64,
    #[serde(borrow, default, rename = "standing")]
    pub validity: Text<'a>,
    #[serde(default)]
    pub node_names: StringList,
    #[serde(default)]
    pub nodes: u32,
    #[serde(default)]
    pub conflicts: u32,
    #[serde(default)]
    pub pods: u32,
    #[serde(default)]
    pub elsewhere: u32,
    #[serde(default)]
    pub exempt: u32,
    #[serde(default)]
    pub unknown: u32,
    #[serde(default, rename = "offenderCount")]
    pub violation_count: u32,
    #[serde(default)]
    pub exempt_pods: CappedList<NamedPodJson>,
    #[serde(default, rename = "offenders")]
    pub violations: CappedList<NamedPodJson>,
    #[serde(default)]
    pub conditions: CappedList<StatusConditionJson>,
}

/// A pod that a status names.
#[derive(Debug, Deserialize)]
pub struct NamedPodJson {
    pub namespace: Box<str>,
    pub name: Box<str>,
    pub node: Box<str>,
    pub message: String,
}
