//! Measures the processor time of decoding 20,000 ordinary pods in both encodings, beside that of one derived struct.

#![allow(clippy::unwrap_used, reason = "a measuring tool: its own objects are valid")]

mod one_struct;

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
    let decoders = [
        (
            "protobuf",
            &protobuf,
            protobuf_is_decoded as fn(&[u8]) -> bool,
            protobuf_is_derived as fn(&[u8]) -> bool,
        ),
        ("JSON", &json, json_is_decoded, json_is_derived),
    ];
    for (name, bodies, decoded, derived) in decoders {
        let bytes: usize = bodies.iter().map(Vec::len).sum();
        // In turns, so that both meet the same load of the machine.
        let passes = (0..9).map(|_| (pass(bodies, decoded), pass(bodies, derived)));
        let best = passes.reduce(|best, one| (best.0.min(one.0), best.1.min(one.1))).unwrap();
        println!(
            "{name:8} {:6} ns per pod; one derived struct {:6} ns, {:.2} times as much; {:5} bytes per pod",
            best.0 / PODS as i64,
            best.1 / PODS as i64,
            best.1 as f64 / best.0 as f64,
            bytes / PODS
        );
    }
}

fn protobuf_is_decoded(body: &[u8]) -> bool {
    matches!(black_box(DecodedPod::from_protobuf(body)), Decoded::Object(_))
}

fn json_is_decoded(body: &[u8]) -> bool {
    matches!(black_box(DecodedPod::from_json(body)), Decoded::Object(_))
}

fn protobuf_is_derived(body: &[u8]) -> bool {
    black_box(one_struct::DerivedPod::decode(body)).is_ok_and(|pod| is_whole(&pod))
}

fn json_is_derived(body: &[u8]) -> bool {
    black_box(serde_json::from_slice::<one_struct::DerivedPod>(body)).is_ok_and(|pod| is_whole(&pod))
}

fn is_whole(pod: &one_struct::DerivedPod) -> bool {
    let has_uid = pod.metadata.as_ref().is_some_and(|metadata| !metadata.uid.is_empty());
    let is_tolerant = pod.spec.as_ref().is_some_and(|spec| spec.tolerations.len() == 2);
    has_uid && is_tolerant && pod.status.as_ref().is_some_and(|status| status.conditions.len() == 5)
}

fn pass(bodies: &[Vec<u8>], is_decoded: fn(&[u8]) -> bool) -> i64 {
    let start = processor_nanos();
    for body in bodies {
        assert!(is_decoded(black_box(body)));
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
