//! # Shapes of pools and policies
//! Room:     what serde reads a `DedicatedPool` and a `TaintwardPolicy` into. A spec's field that is not known is a fault:
//!           it may forbid what would be done without it.
//! Comes in: serde_json's events.
//! Goes out: raw values for `json/pool.rs`, `json/status.rs` and `json/policy.rs` to make facts of.
//! Not here: selectors (`selector.rs`); what all kinds have in common (`wire_types.rs`).

use super::selector::{LabelSelectorJson, StringList, TextMap};
use super::{CappedList, LenientObject, MetaJson, Text};
use serde::Deserialize;
use serde_json::value::RawValue;

/// An object with a name, finalizers left aside.
#[derive(Deserialize)]
#[serde(bound(deserialize = "S: Deserialize<'de>"))]
pub(in crate::decode::json) struct CustomResourceJson<'a, S> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<LenientObject<MetaJson<'a>>>,
    pub(in crate::decode::json) spec: Option<LenientObject<S>>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Option<&'a RawValue>,
}

/// An object once more, for its finalizers alone.
#[derive(Deserialize)]
pub(in crate::decode::json) struct FinalizersObject {
    pub(in crate::decode::json) metadata: Option<LenientObject<FinalizersMeta>>,
}

#[derive(Default, Deserialize)]
pub(in crate::decode::json) struct FinalizersMeta {
    pub(in crate::decode::json) finalizers: Option<StringList>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct PoolSpecJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) taint: Option<LenientObject<PoolTaintJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) label: Option<LenientObject<PoolLabelJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) nodes: Option<LenientObject<PoolMembersJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) users: Option<LenientObject<PoolUsersJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) placement: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) enforcement: Option<Text<'a>>,
    #[serde(borrow, rename = "daemonSets")]
    pub(in crate::decode::json) daemon_sets: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct PoolTaintJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) value: Option<Text<'a>>,
    pub(in crate::decode::json) effects: Option<StringList>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct PoolLabelJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) value: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct PoolMembersJson<'a> {
    pub(in crate::decode::json) names: Option<StringList>,
    #[serde(borrow)]
    pub(in crate::decode::json) selector: Option<LenientObject<LabelSelectorJson<'a>>>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::decode::json) struct PoolUsersJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) namespace_selector: Option<LenientObject<LabelSelectorJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) service_accounts: Option<CappedList<ServiceAccountJson<'a>>>,
    pub(in crate::decode::json) users: Option<StringList>,
    pub(in crate::decode::json) groups: Option<StringList>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct ServiceAccountJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) namespace: Text<'a>,
    #[serde(borrow)]
    pub(in crate::decode::json) name: Text<'a>,
}

/// The part of a status that decisions rest on.
#[derive(Default, Deserialize)]
pub(in crate::decode::json) struct AppliedMarksJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) past: Option<CappedList<AppliedMarkJson<'a>>>,
}

#[derive(Deserialize)]
pub(in crate::decode::json) struct AppliedMarkJson<'a> {
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
pub(in crate::decode::json) struct PoolStatusJson<'a> {
    pub(in crate::decode::json) observed_generation: i64,
    #[serde(borrow)]
    pub(in crate::decode::json) standing: Option<Text<'a>>,
    pub(in crate::decode::json) node_names: Option<StringList>,
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
    pub(in crate::decode::json) exempt_pods: Option<CappedList<NamedPodJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) offenders: Option<CappedList<NamedPodJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) conditions: Option<CappedList<PoolConditionJson<'a>>>,
}

#[derive(Deserialize)]
pub(in crate::decode::json) struct NamedPodJson<'a> {
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
pub(in crate::decode::json) struct PoolConditionJson<'a> {
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
pub(in crate::decode::json) struct PolicySpecJson<'a> {
    pub(in crate::decode::json) priority: Option<i32>,
    #[serde(borrow)]
    pub(in crate::decode::json) namespace_selector: Option<LenientObject<LabelSelectorJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) not_ready_seconds: Option<&'a RawValue>,
    #[serde(borrow)]
    pub(in crate::decode::json) unreachable_seconds: Option<&'a RawValue>,
    pub(in crate::decode::json) bounds: Option<LenientObject<SecondsBoundsJson>>,
}

#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::decode::json) struct SecondsBoundsJson {
    pub(in crate::decode::json) least: Option<i64>,
    pub(in crate::decode::json) most: Option<i64>,
}

/// A namespace: its maps alone.
#[derive(Deserialize)]
pub(in crate::decode::json) struct NamespaceJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<LenientObject<MetaJson<'a, TextMap, TextMap>>>,
}

/// A node: its maps and taints.
#[derive(Deserialize)]
pub(in crate::decode::json) struct PoolNodeJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<LenientObject<MetaJson<'a, TextMap, TextMap>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) spec: Option<LenientObject<super::node::NodeSpecJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Option<LenientObject<super::node::NodeStatusJson<'a>>>,
}
