//! # Written: the fields that are read, as they stand in JSON
//! Room:     types for serde; nothing that is not asked for is kept.
//! Comes in: JSON.
//! Goes out: what stands there; `null` is as nothing.
//! Not here: what it means (`snapshot.rs`).

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};
use std::collections::BTreeMap;

/// What `null` and nothing at all mean alike.
fn or_nothing<'de, D, T>(from: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Option::deserialize(from).map(Option::unwrap_or_default)
}

pub(super) type Texts = BTreeMap<Box<str>, Option<Box<str>>>;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Metadata {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) namespace: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) labels: Texts,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) owner_references: Vec<Owner>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) generation: i64,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Owner {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) api_version: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) kind: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) controller: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PodObject {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) metadata: Metadata,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) spec: PodSpec,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct PodSpec {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) node_selector: Texts,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) affinity: Affinity,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) tolerations: Vec<WrittenToleration>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) containers: Vec<WrittenContainer>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) init_containers: Vec<WrittenContainer>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) resources: Asked,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) overhead: Amounts,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) priority: i32,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) preemption_policy: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) topology_spread_constraints: Vec<IgnoredAny>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) volumes: Vec<Volume>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Volume {
    pub(super) persistent_volume_claim: Option<IgnoredAny>,
    pub(super) ephemeral: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Affinity {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) node_affinity: NodeAffinity,
    pub(super) pod_affinity: Option<IgnoredAny>,
    pub(super) pod_anti_affinity: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeAffinity {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(super) required: Option<Required>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution", deserialize_with = "or_nothing")]
    pub(super) preferred: Vec<Preferred>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Required {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) node_selector_terms: Vec<Term>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Preferred {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) weight: i32,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) preference: Term,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Term {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) match_expressions: Vec<Requirement>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) match_fields: Vec<Requirement>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Requirement {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) key: Box<str>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) operator: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) values: Vec<Box<str>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WrittenToleration {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) key: Box<str>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) operator: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) value: Box<str>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) effect: String,
    pub(super) toleration_seconds: Option<i64>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct WrittenContainer {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) resources: Asked,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) restart_policy: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Asked {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) requests: Amounts,
}

/// `500m`, or a bare number, as people write it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum Scalar {
    Text(String),
    Whole(i64),
    Broken(f64),
}

impl Scalar {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Whole(number) => number.to_string(),
            Self::Broken(number) => number.to_string(),
        }
    }
}

pub(super) type Amounts = BTreeMap<Box<str>, Scalar>;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeObject {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) metadata: Metadata,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) status: NodeStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeStatus {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) allocatable: Amounts,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct BudgetObject {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) metadata: Metadata,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) spec: BudgetSpec,
    pub(super) status: Option<BudgetCounts>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BudgetSpec {
    pub(super) min_available: Option<Scalar>,
    pub(super) max_unavailable: Option<Scalar>,
    pub(super) selector: Option<Selector>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Selector {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) match_labels: Texts,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) match_expressions: Vec<Requirement>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BudgetCounts {
    pub(super) observed_generation: i64,
    pub(super) current_healthy: u32,
    pub(super) desired_healthy: u32,
    pub(super) expected_pods: u32,
}
