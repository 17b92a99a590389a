//! # Shapes of nodes
//! Room:     what serde reads a node into, its labels among it.
//! Comes in: serde_json's events.
//! Goes out: raw values for `json/node.rs` to make facts of.
//! Not here: what all kinds have in common (`shape.rs`).

use super::{Capped, Meta, Object, Text};
use crate::decode::labels::Labels;
use serde::de::{IgnoredAny, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use std::fmt;

impl<'de: 'a, 'a> Deserialize<'de> for Labels<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Labels<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Labels<'de>, A::Error> {
                let mut labels = Labels::default();
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

        deserializer.deserialize_map(Entries)
    }
}

#[derive(Deserialize)]
pub(in crate::decode::json) struct NodeObject<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<Object<Meta<'a, Labels<'a>>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) spec: Option<Object<NodeSpec<'a>>>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Option<Object<NodeStatus<'a>>>,
}

#[derive(Default, Deserialize)]
pub(in crate::decode::json) struct NodeSpec<'a> {
    pub(in crate::decode::json) unschedulable: Option<bool>,
    #[serde(borrow)]
    pub(in crate::decode::json) taints: Option<Capped<TaintEntry<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode::json) struct TaintEntry<'a> {
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
pub(in crate::decode::json) struct NodeStatus<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) conditions: Option<Capped<NodeConditionEntry<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode::json) struct NodeConditionEntry<'a> {
    #[serde(borrow, rename = "type")]
    pub(in crate::decode::json) kind: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) status: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) last_heartbeat_time: Option<Text<'a>>,
}

/// An object once more, for its managed fields alone.
#[derive(Deserialize)]
pub(in crate::decode::json) struct Managed<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) metadata: Option<Object<ManagedMeta<'a>>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::decode::json) struct ManagedMeta<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) managed_fields: Option<Capped<ManagedEntry<'a>>>,
}

#[derive(Deserialize)]
pub(in crate::decode::json) struct ManagedEntry<'a> {
    #[serde(borrow)]
    pub(in crate::decode::json) manager: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) time: Option<Text<'a>>,
    #[serde(borrow)]
    pub(in crate::decode::json) subresource: Option<Text<'a>>,
    #[serde(borrow, rename = "fieldsV1")]
    pub(in crate::decode::json) fields: Option<&'a RawValue>,
}
