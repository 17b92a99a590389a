//! Tests the pods that pools count, in both encodings.

use super::sample::fact;
use k8s_pb::api::core::v1 as pb;
use k8s_pb::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use prost::Message as _;
use serde_json::{Value, json};
use taintward_core::admission::pool::PodOnNodeFact;
use taintward_core::fact::PodOwnerKind;
use taintward_kube::decode::{Decoded, DecodedPod, WatchedObject};

fn json_pod() -> Value {
    json!({
        "kind": "Pod",
        "metadata": {
            "name": "web-0", "namespace": "shop", "uid": "uid-1", "resourceVersion": "7",
            "annotations": {"kubernetes.io/config.mirror": "x"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "u", "controller": true}],
        },
        "spec": {
            "nodeName": "n1", "serviceAccountName": "runner", "priorityClassName": "high",
            "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
        },
        "status": {"phase": "Running"},
    })
}

fn binary_pod(node: &str, phase: &str) -> Vec<u8> {
    let text = |text: &str| Some(text.to_owned());
    let owner = OwnerReference {
        api_version: text("apps/v1"),
        kind: text("DaemonSet"),
        name: text("d"),
        uid: text("u"),
        controller: Some(true),
        ..OwnerReference::default()
    };
    let metadata = ObjectMeta {
        name: text("web-0"),
        namespace: text("shop"),
        uid: text("uid-1"),
        resource_version: text("7"),
        annotations: [("kubernetes.io/config.mirror".to_owned(), "x".to_owned())].into(),
        owner_references: vec![owner],
        ..ObjectMeta::default()
    };
    let toleration = pb::Toleration {
        key: text("k"),
        operator: text("Exists"),
        effect: text("NoExecute"),
        toleration_seconds: Some(5),
        ..pb::Toleration::default()
    };
    let spec = pb::PodSpec {
        node_name: text(node),
        service_account_name: text("runner"),
        priority_class_name: text("high"),
        tolerations: vec![toleration],
        ..pb::PodSpec::default()
    };
    let status = pb::PodStatus { phase: text(phase), ..pb::PodStatus::default() };
    let pod = pb::Pod { metadata: Some(metadata), spec: Some(spec), status: Some(status) };
    pod.encode_to_vec()
}

fn resident(decoded: Decoded<DecodedPod>) -> Option<PodOnNodeFact> {
    fact(decoded).resident()
}

#[test]
fn both_encodings_have_the_pods_identity() {
    let seen = resident(DecodedPod::from_json(json_pod().to_string().as_bytes())).unwrap();
    assert_eq!(resident(DecodedPod::from_protobuf(&binary_pod("n1", "Running"))).as_ref(), Some(&seen));
    assert_eq!(
        (seen.id.name().as_str(), seen.node.as_str(), seen.tolerations.len()),
        ("shop/web-0", "n1", 1)
    );
    let identity = &seen.identity;
    assert_eq!((&*identity.namespace, &*identity.service_account), ("shop", "runner"));
    assert_eq!((&*identity.priority_class, identity.owner), ("high", PodOwnerKind::DaemonSet));
    assert!(identity.mirror && !seen.leaving);
}

#[test]
fn a_pod_that_is_being_deleted_is_marked_as_such() {
    let mut pod = json_pod();
    pod["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
    assert!(resident(DecodedPod::from_json(pod.to_string().as_bytes())).unwrap().leaving);
}

#[test]
fn a_terminated_or_unbound_pod_is_not_counted() {
    for phase in ["Succeeded", "Failed"] {
        let mut pod = json_pod();
        pod["status"]["phase"] = json!(phase);
        assert_eq!(resident(DecodedPod::from_protobuf(&binary_pod("n1", phase))), None);
        assert_eq!(resident(DecodedPod::from_json(pod.to_string().as_bytes())), None);
        pod["metadata"]["deletionTimestamp"] = json!("2027-01-15T08:00:00Z");
        assert_eq!(
            resident(DecodedPod::from_json(pod.to_string().as_bytes())),
            None,
            "it has terminated anyway"
        );
    }
    assert!(matches!(DecodedPod::from_protobuf(&binary_pod("", "Pending")), Decoded::Unbound(_)));
}
