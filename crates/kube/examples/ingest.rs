//! Measures the processor time of decoding 20,000 ordinary pods in both encodings.

#![allow(clippy::unwrap_used, reason = "a measuring tool: its own objects are valid")]

use k8s_pb::api::core::v1::{
    Container, ContainerStatus, EnvVar, Pod, PodCondition, PodSpec, PodStatus, Toleration, Volume,
    VolumeMount,
};
use k8s_pb::apimachinery::pkg::apis::meta::v1::{
    FieldsV1, ManagedFieldsEntry, ObjectMeta, OwnerReference, Time,
};
use prost::Message;
use serde_json::json;
use std::hint::black_box;
use taintward_kube::decode::{Decoded, DecodedPod, WatchedObject};

const PODS: usize = 20_000;

fn main() {
    let protobuf: Vec<Vec<u8>> = (0..PODS).map(|number| protobuf_pod(number).encode_to_vec()).collect();
    let json: Vec<Vec<u8>> = (0..PODS).map(json_pod).collect();
    for (name, bodies, decode) in [
        ("protobuf", &protobuf, DecodedPod::from_protobuf as fn(&[u8]) -> Decoded<DecodedPod>),
        ("JSON", &json, DecodedPod::from_json),
    ] {
        let bytes: usize = bodies.iter().map(Vec::len).sum();
        let best = (0..5).map(|_| pass(bodies, decode)).min().unwrap_or_default();
        println!("{name:8} {:6} ns per pod, {:5} bytes per pod", best / PODS as i64, bytes / PODS);
    }
}

fn pass(bodies: &[Vec<u8>], decode: fn(&[u8]) -> Decoded<DecodedPod>) -> i64 {
    let start = processor_nanos();
    for body in bodies {
        assert!(matches!(black_box(decode(black_box(body))), Decoded::Object(_)));
    }
    processor_nanos() - start
}

/// Other load on the machine does not count.
fn processor_nanos() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    now.tv_sec * 1_000_000_000 + now.tv_nsec
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

fn managed_fields() -> String {
    let statuses: serde_json::Map<_, _> = (0..8)
        .map(|number| {
            (format!("k:{{\"type\":\"Condition{number}\"}}"), json!({".": {}, "f:status": {}, "f:type": {}}))
        })
        .collect();
    json!({"f:metadata": {"f:labels": {".": {}, "f:app": {}}}, "f:spec": {"f:containers": statuses}})
        .to_string()
}

fn protobuf_pod(number: usize) -> Pod {
    let time = Some(Time { seconds: Some(1_795_251_600 + number as i64), nanos: Some(0) });
    let managed = |manager: &str| ManagedFieldsEntry {
        manager: some(manager),
        operation: some("Update"),
        time,
        fields_v1: Some(FieldsV1 { raw: Some(managed_fields().into_bytes()) }),
        ..ManagedFieldsEntry::default()
    };
    Pod {
        metadata: Some(ObjectMeta {
            name: Some(format!("web-7c9f8d6b5-{number:05}")),
            namespace: Some(format!("team-{}", number % 200)),
            uid: Some(format!("0d4a1c5e-7b1f-4f0e-9c3d-{number:012x}")),
            resource_version: Some((100_000 + number).to_string()),
            generation: Some(1),
            creation_timestamp: time,
            labels: [("app", "web"), ("pod-template-hash", "7c9f8d6b5"), ("team", "shop")]
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            owner_references: vec![OwnerReference {
                api_version: some("apps/v1"),
                kind: some("ReplicaSet"),
                name: some("web-7c9f8d6b5"),
                controller: Some(true),
                ..OwnerReference::default()
            }],
            managed_fields: vec![managed("kube-controller-manager"), managed("kubelet")],
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            containers: vec![container()],
            volumes: vec![Volume { name: some("kube-api-access-x"), ..Volume::default() }],
            node_name: Some(format!("node-{}", number % 700)),
            tolerations: ["not-ready", "unreachable"].map(protobuf_toleration).into(),
            priority: Some(0),
            ..PodSpec::default()
        }),
        status: Some(PodStatus {
            phase: some("Running"),
            start_time: time,
            conditions: [
                "PodReadyToStartContainers",
                "Initialized",
                "Ready",
                "ContainersReady",
                "PodScheduled",
            ]
            .map(|kind| PodCondition {
                r#type: some(kind),
                status: some("True"),
                last_transition_time: time,
                ..PodCondition::default()
            })
            .into(),
            container_statuses: vec![ContainerStatus {
                name: some("web"),
                image_id: some(&"sha256:0123456789abcdef".repeat(4)),
                ..ContainerStatus::default()
            }],
            ..PodStatus::default()
        }),
    }
}

fn container() -> Container {
    let env = |number| EnvVar {
        name: Some(format!("VARIABLE_{number}")),
        value: some("value"),
        ..EnvVar::default()
    };
    let mount =
        |path: &str| VolumeMount { name: some("v"), mount_path: some(path), ..VolumeMount::default() };
    Container {
        name: some("web"),
        image: some("registry.example/shop/web:v1.2.3"),
        env: (0..12).map(env).collect(),
        volume_mounts: ["/var/run/secrets/kubernetes.io/serviceaccount", "/data"].map(mount).into(),
        ..Container::default()
    }
}

fn protobuf_toleration(condition: &str) -> Toleration {
    Toleration {
        key: Some(format!("node.kubernetes.io/{condition}")),
        operator: some("Exists"),
        effect: some("NoExecute"),
        toleration_seconds: Some(300),
        ..Toleration::default()
    }
}

/// The same pod in JSON, with its fields in the API server's order.
fn json_pod(number: usize) -> Vec<u8> {
    let time = "2026-11-21T10:00:00Z";
    let fields: serde_json::Value = serde_json::from_str(&managed_fields()).unwrap_or_default();
    let managed =
        |manager: &str| json!({"manager": manager, "operation": "Update", "time": time, "fieldsV1": fields});
    let tolerations = ["not-ready", "unreachable"].map(|condition| {
        json!({"key": format!("node.kubernetes.io/{condition}"), "operator": "Exists", "effect": "NoExecute",
               "tolerationSeconds": 300})
    });
    let conditions = ["PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled"]
        .map(
            |kind| json!({"type": kind, "status": "True", "lastProbeTime": null, "lastTransitionTime": time}),
        );
    let env: Vec<_> =
        (0..12).map(|number| json!({"name": format!("VARIABLE_{number}"), "value": "value"})).collect();
    json!({
        "kind": "Pod", "apiVersion": "v1",
        "metadata": {
            "name": format!("web-7c9f8d6b5-{number:05}"), "namespace": format!("team-{}", number % 200),
            "uid": format!("0d4a1c5e-7b1f-4f0e-9c3d-{number:012x}"),
            "resourceVersion": (100_000 + number).to_string(), "generation": 1, "creationTimestamp": time,
            "labels": {"app": "web", "pod-template-hash": "7c9f8d6b5", "team": "shop"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7c9f8d6b5",
                                 "controller": true}],
            "managedFields": [managed("kube-controller-manager"), managed("kubelet")],
        },
        "spec": {
            "volumes": [{"name": "kube-api-access-x"}],
            "containers": [{"name": "web", "image": "registry.example/shop/web:v1.2.3", "env": env,
                            "volumeMounts": [{"name": "v", "mountPath": "/data"}]}],
            "nodeName": format!("node-{}", number % 700), "tolerations": tolerations, "priority": 0,
        },
        "status": {
            "phase": "Running", "conditions": conditions, "startTime": time,
            "containerStatuses": [{"name": "web", "imageID": "sha256:0123456789abcdef".repeat(4)}],
        },
    })
    .to_string()
    .into_bytes()
}
