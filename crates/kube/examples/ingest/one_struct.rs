//! The other way to decode a pod: one struct a kind that derives both encodings, here with the fields of `PodFact` only.
//!
//! - It makes no facts, so that its time is a lower bound.

use prost::Message;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;

#[derive(Clone, PartialEq, Message, Deserialize)]
pub(crate) struct DerivedPod {
    #[prost(message, optional, tag = "1")]
    pub(crate) metadata: Option<DerivedMetadata>,
    #[prost(message, optional, tag = "2")]
    pub(crate) spec: Option<DerivedSpec>,
    #[prost(message, optional, tag = "3")]
    pub(crate) status: Option<DerivedStatus>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DerivedMetadata {
    #[prost(string, tag = "1")]
    name: String,
    #[prost(string, tag = "3")]
    namespace: String,
    #[prost(string, tag = "5")]
    pub(crate) uid: String,
    #[prost(string, tag = "6")]
    resource_version: String,
    #[prost(int64, tag = "7")]
    generation: i64,
    #[prost(message, optional, tag = "8")]
    #[serde(deserialize_with = "time")]
    creation_timestamp: Option<DerivedTime>,
    #[prost(message, optional, tag = "9")]
    #[serde(deserialize_with = "time")]
    deletion_timestamp: Option<DerivedTime>,
    #[prost(map = "string, string", tag = "12")]
    annotations: HashMap<String, String>,
    #[prost(message, repeated, tag = "13")]
    owner_references: Vec<DerivedOwnerReference>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DerivedOwnerReference {
    #[prost(string, tag = "1")]
    kind: String,
    #[prost(string, tag = "3")]
    name: String,
    #[prost(string, tag = "5")]
    api_version: String,
    #[prost(bool, tag = "6")]
    controller: bool,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DerivedSpec {
    #[prost(string, tag = "8")]
    service_account_name: String,
    #[prost(string, tag = "10")]
    node_name: String,
    #[prost(message, repeated, tag = "22")]
    pub(crate) tolerations: Vec<DerivedToleration>,
    #[prost(string, tag = "24")]
    priority_class_name: String,
    #[prost(int32, tag = "25")]
    priority: i32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DerivedToleration {
    #[prost(string, tag = "1")]
    key: String,
    #[prost(string, tag = "2")]
    operator: String,
    #[prost(string, tag = "3")]
    value: String,
    #[prost(string, tag = "4")]
    effect: String,
    #[prost(int64, optional, tag = "5")]
    toleration_seconds: Option<i64>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DerivedStatus {
    #[prost(string, tag = "1")]
    phase: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) conditions: Vec<DerivedCondition>,
    #[prost(message, optional, tag = "7")]
    #[serde(deserialize_with = "time")]
    start_time: Option<DerivedTime>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct DerivedCondition {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(message, optional, tag = "4")]
    #[serde(deserialize_with = "time")]
    last_transition_time: Option<DerivedTime>,
    #[prost(string, tag = "5")]
    reason: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct DerivedTime {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<DerivedTime>, D::Error> {
    let Some(text) = Option::<&str>::deserialize(deserializer)? else { return Ok(None) };
    let at: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
    Ok(Some(DerivedTime { seconds: at.as_second(), nanos: at.subsec_nanosecond() }))
}
