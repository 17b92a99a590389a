//! Generates pods as protobuf (k8s-pb), JSON (k8s-openapi) and the expected fact, with hostile values.

use k8s_openapi::api::core::v1 as api;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use k8s_openapi::jiff::Timestamp;
use k8s_pb::api::core::v1 as pb;
use k8s_pb::apimachinery::pkg::apis::meta::v1 as pbmeta;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use prost::Message;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::admission::no_execute_guard::ALLOW;
use taintward_core::admission::policy::{NOT_READY_SECONDS, RequestedSeconds, UNREACHABLE_SECONDS};
use taintward_core::admission::pool::MADE_FOR;
use taintward_core::fact::{BindingTimes, PodFact, PodLifePhase, PodOwnerKind, RESPECT_BUDGETS};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::ConditionStatus;
use taintward_core::taint::TaintEffect;
use taintward_core::toleration::{Toleration, TolerationOperator};
use taintward_kube::decode::DecodedPod;
use taintward_kube::guard_annotation::GUARD;
use taintward_kube::hold_annotations::HELD;
use taintward_kube::hold_request::{HOLD, decode_periods};

/// The known ones; [`text`] adds others.
const ANNOTATIONS: [&str; 9] = [
    "kubernetes.io/config.mirror",
    MADE_FOR,
    HELD,
    GUARD,
    NOT_READY_SECONDS,
    UNREACHABLE_SECONDS,
    ALLOW,
    RESPECT_BUDGETS,
    HOLD,
];

/// Valid values of [`HOLD`] and [`RESPECT_BUDGETS`].
const ORDER: &str = r#"{"action":"hold","since":"2026-11-22T10:00:00Z","until":"2026-11-22T11:00:00Z"}"#;
const RESPECT: &str = r#"[{"key":"k","deadlineSeconds":60}]"#;

mod lease;
mod moment;
mod node;
mod pod_fact;

pub(crate) use lease::sample_lease;
pub(crate) use node::sample_node;

use moment::{api_time, moment, pb_time, wall};

/// Text: known words, and anything at all.
fn text(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    prop_oneof![
        3 => proptest::sample::select(words).prop_map(str::to_owned),
        1 => any::<String>(),
        1 => Just("\u{1b}[31m\n\"\\\u{0}\u{2028}é€😀".to_owned()),
    ]
}

fn named(words: &'static [&'static str]) -> impl Strategy<Value = String> {
    text(words).prop_filter("not empty", |text| !text.is_empty())
}

#[derive(Clone, Debug)]
pub(crate) struct SampleMeta {
    name: String,
    namespace: String,
    uid: String,
    version: String,
    generation: Option<i64>,
    created: Option<i64>,
    deleted: Option<i64>,
    labels: BTreeMap<String, String>,
    annotations: Vec<(String, String)>,
    owners: Vec<(String, String, Option<bool>)>,
    managed: Vec<(Option<i64>, Value, String)>,
}

fn mark_fields(field: &str) -> Value {
    json!({"f:status": {"f:conditions": {"k:{\"type\":\"DisruptionTarget\"}": {".": {}, field: {}}}}})
}

/// Another client writes the status; Taintward writes the rest.
fn manager(subresource: &str) -> Option<String> {
    Some(if subresource.is_empty() { "taintward" } else { "m" }.to_owned())
}

fn fields() -> impl Strategy<Value = Value> {
    proptest::sample::select(vec![
        json!({"f:spec": {"f:taints": {}}}),
        json!({"f:spec": {"f:taints": {".": {}, "k:{\"key\":\"a\"}": {}}, "f:unschedulable": {}}}),
        json!({"f:spec": {"f:unschedulable": {}}}),
        json!({"f:status": {"f:taints": {}}}),
        mark_fields("f:reason"),
        mark_fields("f:lastTransitionTime"),
        mark_fields("f:status"),
        json!({"f:spec": 1}),
        json!([[["f:spec"]]]),
        json!({}),
    ])
}

pub(crate) fn sample_meta() -> impl Strategy<Value = SampleMeta> {
    let who = (
        named(&["web-0", "n1"]),
        named(&["shop", "kube-system"]).prop_filter("no slash", |text| !text.contains('/')),
        named(&["0d4a1c5e-7b1f-4f0e-9c3d-1234567890ab", "odd"]),
        text(&["1", "42", "18446744073709551615", "0", ""]),
    );
    let when = (option::of(any::<i64>()), option::of(moment()), option::weighted(0.2, moment()));
    let label = text(&["topology.kubernetes.io/zone", "kubernetes.io/os", "app"]);
    let labels = prop_oneof![3 => Just(BTreeMap::new()), 1 => btree_map(label, text(&["z1", ""]), 0..4)];
    let notes = vec((text(&ANNOTATIONS), text(&["true", "60", "", ORDER, RESPECT])), 0..3);
    let group = text(&["apps/v1", "apps/v1beta2", "batch/v1", "v1", "apps"]);
    let owners = vec((group, text(&["DaemonSet", "Job", "ReplicaSet"]), option::of(any::<bool>())), 0..3);
    let managed = vec((option::of(moment()), fields(), proptest::sample::select(vec!["", "status"])), 0..4);
    (who, (when, labels), notes, owners, managed).prop_map(
        |(who, (when, labels), annotations, owners, managed)| SampleMeta {
            name: who.0,
            namespace: who.1,
            uid: who.2,
            version: who.3,
            generation: when.0,
            created: when.1,
            deleted: when.2,
            labels,
            annotations,
            owners,
            managed: managed.into_iter().map(|(at, fields, sub)| (at, fields, sub.to_owned())).collect(),
        },
    )
}

impl SampleMeta {
    fn pb(&self) -> pbmeta::ObjectMeta {
        let owner = |(group, kind, controller): &(String, String, Option<bool>)| pbmeta::OwnerReference {
            api_version: Some(group.clone()),
            kind: Some(kind.clone()),
            controller: *controller,
            ..pbmeta::OwnerReference::default()
        };
        let managed = |(at, fields, sub): &(Option<i64>, Value, String)| pbmeta::ManagedFieldsEntry {
            manager: manager(sub),
            time: pb_time(*at),
            fields_v1: Some(pbmeta::FieldsV1 { raw: Some(fields.to_string().into_bytes()) }),
            subresource: Some(sub.clone()),
            ..pbmeta::ManagedFieldsEntry::default()
        };
        pbmeta::ObjectMeta {
            name: Some(self.name.clone()),
            namespace: Some(self.namespace.clone()),
            uid: Some(self.uid.clone()),
            resource_version: Some(self.version.clone()),
            generation: self.generation,
            creation_timestamp: Some(pb_time(self.created).unwrap_or_default()),
            deletion_timestamp: pb_time(self.deleted),
            labels: self.labels.clone(),
            annotations: self.annotations.iter().cloned().collect(),
            owner_references: self.owners.iter().map(owner).collect(),
            managed_fields: self.managed.iter().map(managed).collect(),
            ..pbmeta::ObjectMeta::default()
        }
    }

    fn api(&self) -> meta::ObjectMeta {
        let owner = |(group, kind, controller): &(String, String, Option<bool>)| meta::OwnerReference {
            api_version: group.clone(),
            kind: kind.clone(),
            controller: *controller,
            ..meta::OwnerReference::default()
        };
        let managed = |(at, fields, sub): &(Option<i64>, Value, String)| meta::ManagedFieldsEntry {
            manager: manager(sub),
            time: api_time(*at),
            fields_v1: Some(meta::FieldsV1(fields.clone())),
            subresource: Some(sub.clone()),
            ..meta::ManagedFieldsEntry::default()
        };
        meta::ObjectMeta {
            name: Some(self.name.clone()),
            namespace: Some(self.namespace.clone()),
            uid: Some(self.uid.clone()),
            resource_version: Some(self.version.clone()),
            generation: self.generation,
            creation_timestamp: api_time(self.created),
            deletion_timestamp: api_time(self.deleted),
            labels: Some(self.labels.clone()),
            annotations: Some(self.annotations.iter().cloned().collect()),
            owner_references: Some(self.owners.iter().map(owner).collect()),
            managed_fields: Some(self.managed.iter().map(managed).collect()),
            ..meta::ObjectMeta::default()
        }
    }

    fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.iter().rev().find(|(own, _)| own == key).map(|(_, value)| value.as_str())
    }

    fn owner(&self) -> PodOwnerKind {
        let controlling = self.owners.iter().find(|(_, _, controller)| *controller == Some(true));
        controlling.map_or(PodOwnerKind::Other, |(group, kind, _)| match kind.as_str() {
            "DaemonSet" if group.starts_with("apps/") => PodOwnerKind::DaemonSet,
            "Job" if group.starts_with("batch/") => PodOwnerKind::Job,
            _ => PodOwnerKind::Other,
        })
    }
}

type SampleToleration = (Option<String>, Option<String>, Option<String>, Option<String>, Option<i64>);
type SampleCondition = (String, String, String, Option<i64>);

#[derive(Clone, Debug)]
pub(crate) struct SamplePod {
    meta: SampleMeta,
    node: String,
    tolerations: Vec<SampleToleration>,
    class: Option<String>,
    priority: Option<i32>,
    phase: String,
    started: Option<i64>,
    conditions: Vec<SampleCondition>,
}

pub(crate) fn sample_pod() -> impl Strategy<Value = SamplePod> {
    let toleration = (
        option::of(text(&["dedicated", ""])),
        option::of(text(&["", "Equal", "Exists", "Lt", "Gt", "equal"])),
        option::of(text(&["v", ""])),
        option::of(text(&["", "NoExecute", "NoSchedule", "noexecute"])),
        option::of(prop_oneof![any::<i64>(), Just(0), Just(300), Just(i64::MAX), Just(i64::MIN)]),
    );
    let condition = (
        text(&["PodScheduled", "DisruptionTarget", "Ready"]),
        text(&["True", "False", "Unknown"]),
        text(&["DeletionByTaintManager", "PreemptionByScheduler"]),
        option::of(moment()),
    );
    let spec = (named(&["n1"]), vec(toleration, 0..5), option::of(text(&["system-node-critical", "x"])));
    let status =
        (text(&["Running", "Succeeded", "Failed", "Pending"]), option::of(moment()), vec(condition, 0..5));
    (sample_meta(), spec, option::of(any::<i32>()), status).prop_map(|(meta, spec, priority, status)| {
        SamplePod {
            meta,
            node: spec.0,
            tolerations: spec.1,
            class: spec.2,
            priority,
            phase: status.0,
            started: status.1,
            conditions: status.2,
        }
    })
}

impl SamplePod {
    pub(crate) fn protobuf(&self) -> Vec<u8> {
        let toleration = |of: &SampleToleration| pb::Toleration {
            key: of.0.clone(),
            operator: of.1.clone(),
            value: of.2.clone(),
            effect: of.3.clone(),
            toleration_seconds: of.4,
        };
        let condition = |of: &SampleCondition| pb::PodCondition {
            r#type: Some(of.0.clone()),
            status: Some(of.1.clone()),
            reason: Some(of.2.clone()),
            last_transition_time: pb_time(of.3),
            last_probe_time: Some(pbmeta::Time::default()),
            ..pb::PodCondition::default()
        };
        pb::Pod {
            metadata: Some(self.meta.pb()),
            spec: Some(pb::PodSpec {
                containers: vec![pb::Container { name: Some("c".to_owned()), ..pb::Container::default() }],
                node_name: Some(self.node.clone()),
                tolerations: self.tolerations.iter().map(toleration).collect(),
                priority_class_name: self.class.clone(),
                service_account_name: self.account(),
                priority: self.priority,
                ..pb::PodSpec::default()
            }),
            status: Some(pb::PodStatus {
                phase: Some(self.phase.clone()),
                start_time: pb_time(self.started),
                conditions: self.conditions.iter().map(condition).collect(),
                host_ip: Some("10.0.0.1".to_owned()),
                ..pb::PodStatus::default()
            }),
        }
        .encode_to_vec()
    }

    pub(crate) fn json(&self) -> Vec<u8> {
        let toleration = |of: &SampleToleration| api::Toleration {
            key: of.0.clone(),
            operator: of.1.clone(),
            value: of.2.clone(),
            effect: of.3.clone(),
            toleration_seconds: of.4,
        };
        let condition = |of: &SampleCondition| api::PodCondition {
            type_: of.0.clone(),
            status: of.1.clone(),
            reason: Some(of.2.clone()),
            last_transition_time: api_time(of.3),
            ..api::PodCondition::default()
        };
        let pod = api::Pod {
            metadata: self.meta.api(),
            spec: Some(api::PodSpec {
                containers: vec![api::Container { name: "c".to_owned(), ..api::Container::default() }],
                node_name: Some(self.node.clone()),
                tolerations: Some(self.tolerations.iter().map(toleration).collect()),
                priority_class_name: self.class.clone(),
                service_account_name: self.account(),
                priority: self.priority,
                ..api::PodSpec::default()
            }),
            status: Some(api::PodStatus {
                phase: Some(self.phase.clone()),
                start_time: api_time(self.started),
                conditions: Some(self.conditions.iter().map(condition).collect()),
                ..api::PodStatus::default()
            }),
        };
        serde_json::to_vec(&pod).unwrap()
    }

    /// A condition given twice with different values is not understood.
    fn ready(&self) -> Option<ConditionStatus> {
        let reported: Vec<_> = self
            .conditions
            .iter()
            .filter(|of| of.0 == "Ready")
            .map(|of| ConditionStatus::new(&of.1))
            .collect();
        let first = *reported.first()?;
        Some(if reported.iter().all(|status| *status == first) { first } else { ConditionStatus::Other })
    }

    pub(crate) fn seen(&self) -> DecodedPod {
        DecodedPod {
            pod: self.fact(),
            ready: self.ready(),
            over: ["Succeeded", "Failed"].contains(&&*self.phase),
            service_account: self.account().unwrap_or_default().into(),
            priority_class: self.class.as_deref().unwrap_or_default().into(),
            made_for: self.meta.annotation(MADE_FOR).unwrap_or_default().into(),
            held: self.meta.annotation(HELD).map(Box::from),
            guard: self.meta.annotation(GUARD).map(Box::from),
            is_annotated: !self.meta.annotations.is_empty(),
            requested: self.requested().map(Box::new),
        }
    }

    fn requested(&self) -> Option<RequestedSeconds> {
        let of = |key| self.meta.annotation(key).map(Box::from);
        let requested =
            RequestedSeconds { not_ready: of(NOT_READY_SECONDS), unreachable: of(UNREACHABLE_SECONDS) };
        (requested != RequestedSeconds::default()).then_some(requested)
    }

    fn account(&self) -> Option<String> {
        self.class.as_ref().map(|class| format!("of {class}"))
    }
}
