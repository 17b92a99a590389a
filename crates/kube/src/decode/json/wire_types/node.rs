//! # Shapes of nodes
//! Room:     what serde reads a node into, its labels among it.
//! Comes in: serde_json's events.
//! Goes out: raw values for `json/node.rs` to make facts of.
//! Not here: what all kinds have in common (`wire_types.rs`).

use super::{CappedList, LenientObject, MetaJson, Text};
use crate::decode::labels::SelectedLabels;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;

impl<'de: 'a, 'a> Deserialize<'de> for SelectedLabels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NodeLabelsVisitor;

        impl<'de> Visitor<'de> for NodeLabelsVisitor {
            type Value = SelectedLabels<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<SelectedLabels<'de>, A::Error> {
                let mut labels = SelectedLabels::default();
                while let Some(key) = map.next_key::<Text<'de>>()? {
                    let Some(place) = labels.place(key.as_str()) else {
                        map.next_value::<IgnoredAny>()?;
                        continue;
                    };
                    // In Go's maps of strings `null` is the empty string.
                    *place = Some(
                        map.next_value::<Option<Text<'de>>>()?.map(Text::into_inner).unwrap_or_default(),
                    );
                }
                Ok(labels)
            }
        }

        deserializer.deserialize_map(NodeLabelsVisitor)
    }
}

#[derive(Deserialize)]
pub(in crate::decode::json) struct NodeJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<LenientObject<MetaJson<'a, SelectedLabels<'a>>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) spec: Option<LenientObject<NodeSpecJson<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Option<LenientObject<NodeStatusJson<'a>>>,
}

#[derive(Default, Deserialize)]
pub(in crate::decode::json) struct NodeSpecJson<'a> {
    pub(in crate::decode::json) unschedulable: Option<bool>,
    #[serde(borrow)]
    pub(in crate::decode::json) taints: Option<CappedList<TaintJson<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode::json) struct TaintJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) key: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) value: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) effect: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) time_added: Option<Text<'a>>,
}

#[derive(Default, Deserialize)]
pub(in crate::decode::json) struct NodeStatusJson<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) conditions: Option<CappedList<NodeConditionJson<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode::json) struct NodeConditionJson<'a> {
    #[serde(borrow, rename = "type")]
    pub(in crate::decode::json) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) last_heartbeat_time: Option<Text<'a>>,
}

/// An object once more, for its managed fields alone.
#[derive(Deserialize)]
pub(in crate::decode::json) struct ManagedFieldsObject<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<LenientObject<ManagedFieldsMeta<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode::json) struct ManagedFieldsMeta<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) managed_fields: Option<CappedList<ManagedFieldsEntry<'a>>>,
}

#[derive(Deserialize)]
pub(in crate::decode::json) struct ManagedFieldsEntry<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) manager: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) time: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) subresource: Option<Text<'a>>,
    #[serde(borrow, rename = "fieldsV1")]
    pub(in crate::decode::json) fields: Option<&'a RawValue>,
}
