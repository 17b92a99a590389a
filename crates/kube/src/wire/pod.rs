//! Mirrors the fields of `Pod` that any reader needs.
//!
//! - See `decode/format/json/pod_json.rs` and `snapshot.rs` for what they mean.

use super::{
    AffinityJson, CappedList, Extent, Fields, IfWhole, MetaJson, ObjectJson, QuantitiesJson, ResourcesJson,
    Text, TextMap, TolerationJson,
};
use serde::Deserialize;
use serde::de::IgnoredAny;

/// `Pod`; as a whole, with its scheduling fields.
pub type PodJson<'a, E> =
    ObjectJson<MetaJson<'a, IfWhole<E, TextMap<'a>>>, Fields<PodSpecJson<'a, E>>, Fields<PodStatusJson<'a>>>;

/// The fields that the pods of a template have in common.
pub type PodTemplateJson<'a> = ObjectJson<MetaJson<'a, TextMap<'a>>, Fields<TemplateSpecJson>>;

/// `PodSpec`, as far as eviction policies need it.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct TemplateSpecJson {
    pub termination_grace_period_seconds: Option<i64>,
}

/// `PodSpec`.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", bound = "E: Extent")]
pub struct PodSpecJson<'a, E: Extent> {
    #[serde(borrow, default)]
    pub node_name: Text<'a>,
    #[serde(borrow, default)]
    pub service_account_name: Text<'a>,
    #[serde(borrow, default)]
    pub tolerations: CappedList<TolerationJson<'a>>,
    #[serde(borrow, default)]
    pub priority_class_name: Text<'a>,
    pub priority: Option<i32>,
    #[serde(borrow, default)]
    pub preemption_policy: IfWhole<E, Text<'a>>,
    #[serde(borrow, default)]
    pub node_selector: IfWhole<E, TextMap<'a>>,
    #[serde(borrow, default)]
    pub affinity: IfWhole<E, Option<Fields<AffinityJson<'a>>>>,
    #[serde(default)]
    pub scheduling_gates: IfWhole<E, CappedList<IgnoredAny>>,
    #[serde(default)]
    pub topology_spread_constraints: IfWhole<E, CappedList<IgnoredAny>>,
    #[serde(default)]
    pub host_network: IfWhole<E, Option<bool>>,
    #[serde(borrow, default)]
    pub containers: IfWhole<E, CappedList<ContainerJson<'a>>>,
    #[serde(borrow, default)]
    pub init_containers: IfWhole<E, CappedList<ContainerJson<'a>>>,
    /// Of the pod as a whole.
    #[serde(borrow, default)]
    pub resources: IfWhole<E, Fields<ResourcesJson<'a>>>,
    #[serde(borrow, default)]
    pub overhead: IfWhole<E, QuantitiesJson<'a>>,
    #[serde(default)]
    pub volumes: IfWhole<E, CappedList<VolumeJson>>,
}

/// `Container`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ContainerJson<'a> {
    #[serde(borrow)]
    pub resources: Fields<ResourcesJson<'a>>,
    #[serde(borrow)]
    pub restart_policy: Text<'a>,
}

/// `Volume`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct VolumeJson {
    pub persistent_volume_claim: Option<IgnoredAny>,
    pub ephemeral: Option<IgnoredAny>,
}

/// `PodStatus`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodStatusJson<'a> {
    #[serde(borrow, default)]
    pub phase: Text<'a>,
    #[serde(borrow, default)]
    pub conditions: CappedList<PodConditionJson<'a>>,
    #[serde(borrow)]
    pub start_time: Option<Text<'a>>,
}

/// `PodCondition`.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodConditionJson<'a> {
    #[serde(borrow, rename = "type", default)]
    pub kind: Text<'a>,
    #[serde(borrow, default)]
    pub status: Text<'a>,
    #[serde(borrow, default)]
    pub reason: Text<'a>,
    #[serde(borrow)]
    pub last_transition_time: Option<Text<'a>>,
}
