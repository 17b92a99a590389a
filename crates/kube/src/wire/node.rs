//! Mirrors the fields of `Node` and `Lease` that any reader needs.
//!
//! - See `decode/format/json/node.rs` for what they mean.

use super::{CappedList, Essential, Extent, IfWhole, QuantitiesJson, Text};
use serde::Deserialize;
use taintward_core::taint::{Taint, TaintEffect};

/// `NodeSpec`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeSpecJson<'a> {
    pub unschedulable: Option<bool>,
    #[serde(borrow)]
    pub taints: CappedList<TaintJson<'a>>,
}

/// `Taint`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TaintJson<'a> {
    #[serde(borrow)]
    pub key: Text<'a>,
    #[serde(borrow)]
    pub value: Text<'a>,
    #[serde(borrow)]
    pub effect: Text<'a>,
    #[serde(borrow)]
    pub time_added: Option<Text<'a>>,
}

/// Without its time, which may be invalid.
impl From<&TaintJson<'_>> for Taint {
    fn from(json: &TaintJson<'_>) -> Self {
        Self {
            key: (&json.key).into(),
            value: (&json.value).into(),
            effect: TaintEffect::new(&json.effect),
            time_added: None,
        }
    }
}

/// `NodeStatus`; as a whole, with the allocatable resources.
#[derive(Default, Deserialize)]
#[serde(default, bound = "E: Extent")]
pub struct NodeStatusJson<'a, E: Extent = Essential> {
    #[serde(borrow)]
    pub conditions: CappedList<NodeConditionJson<'a>>,
    #[serde(borrow)]
    pub allocatable: IfWhole<E, QuantitiesJson<'a>>,
}

/// `NodeCondition`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeConditionJson<'a> {
    #[serde(borrow, rename = "type")]
    pub kind: Text<'a>,
    #[serde(borrow)]
    pub status: Text<'a>,
    #[serde(borrow)]
    pub last_heartbeat_time: Option<Text<'a>>,
}

/// `LeaseSpec`; as a whole, with the fields of leader election.
#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase", bound = "E: Extent")]
pub struct LeaseSpecJson<'a, E: Extent = Essential> {
    #[serde(borrow)]
    pub renew_time: Option<Text<'a>>,
    #[serde(borrow)]
    pub acquire_time: IfWhole<E, Text<'a>>,
    #[serde(borrow)]
    pub holder_identity: IfWhole<E, Text<'a>>,
    pub lease_duration_seconds: IfWhole<E, Option<i32>>,
    pub lease_transitions: IfWhole<E, Option<i32>>,
}
