//! Mirrors the affinity to nodes; of pod affinity, only whether it exists.

use super::{CappedList, Fields, StringList, Text};
use serde::Deserialize;
use serde::de::IgnoredAny;
use taintward_core::scheduling::{NodeOperator, NodeRequirement, NodeTerm};

/// `Affinity`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct AffinityJson<'a> {
    #[serde(borrow)]
    pub node_affinity: Option<Fields<NodeAffinityJson<'a>>>,
    pub pod_affinity: Option<IgnoredAny>,
    pub pod_anti_affinity: Option<IgnoredAny>,
}

/// `NodeAffinity`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct NodeAffinityJson<'a> {
    #[serde(borrow, rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<Fields<RequiredTermsJson<'a>>>,
    #[serde(borrow, rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: CappedList<PreferredTermJson<'a>>,
}

/// `NodeSelector`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct RequiredTermsJson<'a> {
    #[serde(borrow)]
    pub node_selector_terms: CappedList<NodeTermJson<'a>>,
}

/// `PreferredSchedulingTerm`.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct PreferredTermJson<'a> {
    pub weight: Option<i32>,
    #[serde(borrow)]
    pub preference: Fields<NodeTermJson<'a>>,
}

/// `NodeSelectorTerm`.
#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct NodeTermJson<'a> {
    #[serde(borrow)]
    match_expressions: CappedList<NodeRequirementJson<'a>>,
    #[serde(borrow)]
    match_fields: CappedList<NodeRequirementJson<'a>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct NodeRequirementJson<'a> {
    #[serde(borrow)]
    key: Text<'a>,
    #[serde(borrow)]
    operator: Text<'a>,
    values: StringList,
}

impl From<NodeTermJson<'_>> for NodeTerm {
    fn from(json: NodeTermJson<'_>) -> Self {
        let all = |list: CappedList<NodeRequirementJson<'_>>| list.0.into_iter().map(requirement).collect();
        Self { expressions: all(json.match_expressions), fields: all(json.match_fields) }
    }
}

fn requirement(json: NodeRequirementJson<'_>) -> NodeRequirement {
    NodeRequirement {
        key: (&json.key).into(),
        operator: NodeOperator::new(&json.operator),
        values: json.values.0,
    }
}
