//! The other way to decode a pod: one struct a kind that derives both encodings, here with the fields of `PodFact` only.
//!
//! - It makes no facts, so that its time is a lower bound.

use prost::Message;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use std::collections::HashMap;

#[derive(Clone, PartialEq, Message, Deserialize)]
pub(crate) struct Pod {
    #[prost(message, optional, tag = "1")]
    pub(crate) metadata: Option<Metadata>,
    #[prost(message, optional, tag = "2")]
    pub(crate) spec: Option<Spec>,
    #[prost(message, optional, tag = "3")]
    pub(crate) status: Option<Status>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Metadata {
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
    creation_timestamp: Option<Time>,
    #[prost(message, optional, tag = "9")]
    #[serde(deserialize_with = "time")]
    deletion_timestamp: Option<Time>,
    #[prost(map = "string, string", tag = "12")]
    annotations: HashMap<String, String>,
    #[prost(message, repeated, tag = "13")]
    owner_references: Vec<OwnerReference>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct OwnerReference {
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
pub(crate) struct Spec {
    #[prost(string, tag = "8")]
    service_account_name: String,
    #[prost(string, tag = "10")]
    node_name: String,
    #[prost(message, repeated, tag = "22")]
    pub(crate) tolerations: Vec<Toleration>,
    #[prost(string, tag = "24")]
    priority_class_name: String,
    #[prost(int32, tag = "25")]
    priority: i32,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Toleration {
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
pub(crate) struct Status {
    #[prost(string, tag = "1")]
    phase: String,
    #[prost(message, repeated, tag = "2")]
    pub(crate) conditions: Vec<Condition>,
    #[prost(message, optional, tag = "7")]
    #[serde(deserialize_with = "time")]
    start_time: Option<Time>,
}

#[derive(Clone, PartialEq, Message, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(crate) struct Condition {
    #[prost(string, tag = "1")]
    r#type: String,
    #[prost(string, tag = "2")]
    status: String,
    #[prost(message, optional, tag = "4")]
    #[serde(deserialize_with = "time")]
    last_transition_time: Option<Time>,
    #[prost(string, tag = "5")]
    reason: String,
}

#[derive(Clone, Copy, PartialEq, Message)]
pub(crate) struct Time {
    #[prost(int64, tag = "1")]
    seconds: i64,
    #[prost(int32, tag = "2")]
    nanos: i32,
}

fn time<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Time>, D::Error> {
    let Some(text) = Option::<&str>::deserialize(deserializer)? else { return Ok(None) };
    let at: jiff::Timestamp = text.parse().map_err(D::Error::custom)?;
    Ok(Some(Time { seconds: at.as_second(), nanos: at.subsec_nanosecond() }))
}
