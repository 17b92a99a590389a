//! Mirrors the fields that Deployments, ReplicaSets and StatefulSets have in common.

use super::{Fields, MetaJson, ObjectJson};
use serde::Deserialize;

/// A Deployment, ReplicaSet or StatefulSet.
pub type WorkloadJson<'a> = ObjectJson<MetaJson<'a>, Fields<WorkloadSpecJson>>;

/// The spec.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub struct WorkloadSpecJson {
    pub replicas: Option<i32>,
}
