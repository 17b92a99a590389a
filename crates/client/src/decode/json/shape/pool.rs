//! # Shapes of pools and policies
//! Room:     what serde reads a `DedicatedPool` and a `TaintwardPolicy` into. A spec's field that is not known is a fault:
//!           it may forbid what would be done without it.
//! Comes in: serde_json's events.
//! Goes out: raw values for `json/pool.rs`, `json/status.rs` and `json/policy.rs` to make facts of.
//! Not here: selectors (`selector.rs`); what all kinds have in common (`shape.rs`).

use super::selector::{SelectorEntry, TextMap, Texts};
use super::{Capped, Meta, Object, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

/// An object with a name, finalizers left aside.
#[derive(Deserialize)]
#[serde(bound(deserialize = "S: Deserialize<'de>"))]
pub(in crate::decode::json) struct Custom<'a, S> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<Object<Meta<'a>>>,
    pub(in crate::decode::json) spec: Option<Object<S>>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Option<&'a RawValue>,
}

/// An object once more, for its finalizers alone.
#[derive(Deserialize)]
pub(in crate::decode::json) struct Kept {
    pub(in crate::decode::json) metadata: Option<Object<KeptMeta>>,
}

#[derive(Default, Deserialize)]
pub(in crate::decode::json) struct KeptMeta {
    pub(in crate::decode::json) finalizers: Option<Texts>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct PoolSpec<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) taint: Option<Object<PoolTaintEntry<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) label: Option<Object<PoolLabelEntry<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) nodes: Option<Object<MembersEntry<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) users: Option<Object<UsersEntry<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) placement: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) enforcement: Option<Text<'a>>,
    #[serde(borrow, rename = "daemonSets")]
    pub(in crate::decode::json) daemon_sets: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct PoolTaintEntry<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) value: Option<Text<'a>>,
    pub(in crate::decode::json) effects: Option<Texts>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct PoolLabelEntry<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) value: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct MembersEntry<'a> {
    pub(in crate::decode::json) names: Option<Texts>,
    #[serde(borrow)]
    pub(in crate::decode::json) selector: Option<Object<SelectorEntry<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::decode::json) struct UsersEntry<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) namespace_selector: Option<Object<SelectorEntry<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) service_accounts: Option<Capped<AccountEntry<'a>>>,
    pub(in crate::decode::json) users: Option<Texts>,
    pub(in crate::decode::json) groups: Option<Texts>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct AccountEntry<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) namespace: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) name: Text<'a>,
}

/// The part of a status that decisions rest on.
#[derive(Default, Deserialize)]
pub(in crate::decode::json) struct PastStatus<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) past: Option<Capped<MarkEntry<'a>>>,
}

#[derive(Deserialize)]
pub(in crate::decode::json) struct MarkEntry<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) value: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) effect: Option<Text<'a>>,
}

/// The part of it that is only told.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode::json) struct ToldStatus<'a> {
    pub(in crate::decode::json) observed_generation: i64,
    #[serde(borrow)]
    pub(in crate::decode::json) standing: Option<Text<'a>>,
    pub(in crate::decode::json) node_names: Option<Texts>,
    #[serde(default)]
    pub(in crate::decode::json) nodes: u32,
    #[serde(default)]
    pub(in crate::decode::json) conflicts: u32,
    #[serde(default)]
    pub(in crate::decode::json) pods: u32,
    #[serde(default)]
    pub(in crate::decode::json) elsewhere: u32,
    #[serde(default)]
    pub(in crate::decode::json) exempt: u32,
    #[serde(default)]
    pub(in crate::decode::json) unknown: u32,
    #[serde(default)]
    pub(in crate::decode::json) offender_count: u32,
    #[serde(borrow)]
    pub(in crate::decode::json) exempt_pods: Option<Capped<NamedEntry<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) offenders: Option<Capped<NamedEntry<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) conditions: Option<Capped<ToldCondition<'a>>>,
}

#[derive(Deserialize)]
pub(in crate::decode::json) struct NamedEntry<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) namespace: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) name: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) node: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) message: Text<'a>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode::json) struct ToldCondition<'a> {
    #[serde(borrow, rename = "type")]
    pub(in crate::decode::json) kind: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) reason: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) message: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) last_transition_time: Text<'a>,
    #[serde(default)]
    pub(in crate::decode::json) observed_generation: i64,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::decode::json) struct PolicySpec<'a> {
    pub(in crate::decode::json) priority: Option<i32>,
    #[serde(borrow)]
    pub(in crate::decode::json) namespace_selector: Option<Object<SelectorEntry<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) not_ready_seconds: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::decode::json) unreachable_seconds: Option<&'a RawValue>,
    pub(in crate::decode::json) bounds: Option<Object<BoundsEntry>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct BoundsEntry {
    pub(in crate::decode::json) least: Option<i64>,
    pub(in crate::decode::json) most: Option<i64>,
}

/// A namespace: its maps alone.
#[derive(Deserialize)]
pub(in crate::decode::json) struct NamespaceObject<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<Object<Meta<'a, TextMap, TextMap>>>,
}

/// A node: its maps and taints.
#[derive(Deserialize)]
pub(in crate::decode::json) struct MemberObject<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<Object<Meta<'a, TextMap, TextMap>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) spec: Option<Object<super::node::NodeSpec<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Option<Object<super::node::NodeStatus<'a>>>,
}
