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

pub(super) type StringMap = BTreeMap<Box<str>, Option<Box<str>>>;

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SnapshotMeta {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) name: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) namespace: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) labels: StringMap,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) owner_references: Vec<SnapshotOwner>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) generation: i64,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SnapshotOwner {
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
pub(super) struct SnapshotPodJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) metadata: SnapshotMeta,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) spec: SnapshotPodSpec,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SnapshotPodSpec {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) node_selector: StringMap,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) affinity: AffinityJson,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) tolerations: Vec<SnapshotToleration>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) containers: Vec<ContainerJson>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) init_containers: Vec<ContainerJson>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) resources: ResourceRequirementsJson,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) overhead: QuantitiesJson,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) priority: i32,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) preemption_policy: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) topology_spread_constraints: Vec<IgnoredAny>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) volumes: Vec<SnapshotVolume>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SnapshotVolume {
    pub(super) persistent_volume_claim: Option<IgnoredAny>,
    pub(super) ephemeral: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct AffinityJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) node_affinity: NodeAffinityJson,
    pub(super) pod_affinity: Option<IgnoredAny>,
    pub(super) pod_anti_affinity: Option<IgnoredAny>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeAffinityJson {
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub(super) required: Option<RequiredTermsJson>,
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution", deserialize_with = "or_nothing")]
    pub(super) preferred: Vec<PreferredTermJson>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct RequiredTermsJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) node_selector_terms: Vec<NodeTermJson>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct PreferredTermJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) weight: i32,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) preference: NodeTermJson,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct NodeTermJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) match_expressions: Vec<NodeRequirementJson>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) match_fields: Vec<NodeRequirementJson>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct NodeRequirementJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) key: Box<str>,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) operator: String,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) values: Vec<Box<str>>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct SnapshotToleration {
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
pub(super) struct ContainerJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) resources: ResourceRequirementsJson,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) restart_policy: String,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct ResourceRequirementsJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) requests: QuantitiesJson,
}

/// `500m`, or a bare number, as people write it.
#[derive(Deserialize)]
#[serde(untagged)]
pub(super) enum ScalarJson {
    Text(String),
    Whole(i64),
    Broken(f64),
}

impl ScalarJson {
    pub(super) fn into_text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Whole(number) => number.to_string(),
            Self::Broken(number) => number.to_string(),
        }
    }
}

pub(super) type QuantitiesJson = BTreeMap<Box<str>, ScalarJson>;

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SnapshotNodeJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) metadata: SnapshotMeta,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) status: SnapshotNodeStatus,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct SnapshotNodeStatus {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) allocatable: QuantitiesJson,
}

#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct DisruptionBudgetJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) metadata: SnapshotMeta,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) spec: DisruptionBudgetSpec,
    pub(super) status: Option<BudgetCountsJson>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct DisruptionBudgetSpec {
    pub(super) min_available: Option<ScalarJson>,
    pub(super) max_unavailable: Option<ScalarJson>,
    pub(super) selector: Option<BudgetSelectorJson>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BudgetSelectorJson {
    #[serde(deserialize_with = "or_nothing")]
    pub(super) match_labels: StringMap,
    #[serde(deserialize_with = "or_nothing")]
    pub(super) match_expressions: Vec<NodeRequirementJson>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct BudgetCountsJson {
    pub(super) observed_generation: i64,
    pub(super) current_healthy: u32,
    pub(super) desired_healthy: u32,
    pub(super) expected_pods: u32,
}
