//! Tests budgets, workloads, labels of namespaces and templates of pods, which eviction policies need.

use super::sample::{fact, why};
use k8s_pb::api::apps::v1 as apps;
use k8s_pb::api::core::v1 as pb;
use k8s_pb::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use prost::Message as _;
use serde_json::{Value, json};
use taintward_core::cluster_snapshot::{BudgetStatus, DisruptionLimit, IntOrPercent, Workload, WorkloadKind};
use taintward_core::eviction_policy::{BudgetFact, NamespaceLabelsFact, PodTemplateFact, WorkloadFact};
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::scheduling::Labels;
use taintward_kube::decode::{
    Decoded, DecodedPod, DeploymentObject, ReplicaSetObject, StatefulSetObject, TemplatedPod, WatchedObject,
};

/// Metadata in both encodings, with the labels, and the owner's `apiVersion`, kind and name.
fn meta(labels: &[(&str, &str)], owner: Option<[&str; 3]>) -> (ObjectMeta, Value) {
    let [name, namespace, uid, version] = ["team-a", "shop", "uid-1", "7"].map(|text| Some(text.to_owned()));
    let owners = owner
        .into_iter()
        .flat_map(|[version, kind, name]| [(version, kind, name, true), ("v1", "Other", "o", false)]);
    let reference = |(version, kind, name, controller): (&str, &str, &str, bool)| OwnerReference {
        api_version: Some(version.to_owned()),
        kind: Some(kind.to_owned()),
        name: Some(name.to_owned()),
        controller: Some(controller),
        ..OwnerReference::default()
    };
    let references = owners.clone().rev().map(|(version, kind, name, controller)| {
        json!({"apiVersion": version, "kind": kind, "name": name, "controller": controller})
    });
    let map: serde_json::Map<String, Value> =
        labels.iter().map(|(key, value)| ((*key).to_owned(), json!(value))).collect();
    let json = json!({
        "name": name, "namespace": namespace, "uid": uid, "resourceVersion": version, "labels": map,
        "ownerReferences": references.collect::<Vec<_>>(),
    });
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    let owner_references = owners.rev().map(reference).collect();
    let resource_version = version;
    (
        ObjectMeta {
            name,
            namespace,
            uid,
            resource_version,
            labels,
            owner_references,
            ..ObjectMeta::default()
        },
        json,
    )
}

fn workload(kind: WorkloadKind, name: &str) -> Workload {
    Workload { namespace: "shop".into(), kind, name: name.into() }
}

/// The same from both encodings.
fn both<F: WatchedObject + PartialEq + std::fmt::Debug>(protobuf: &[u8], json: &Value) -> Decoded<F> {
    let binary = F::from_protobuf(protobuf);
    assert_eq!(F::from_json(json.to_string().as_bytes()), binary);
    binary
}

#[test]
fn workloads_have_their_replicas() {
    let (pb_meta, json_meta) = meta(&[], None);
    for (replicas, expected) in [(Some(3), 3), (Some(0), 0), (None, 1), (Some(-1), 0)] {
        let json = json!({"metadata": json_meta, "spec": {"replicas": replicas}});
        let expected = |kind| WorkloadFact {
            uid: Uid::new("uid-1"),
            version: Some(ResourceVersion(7)),
            workload: workload(kind, "team-a"),
            replicas: expected,
        };
        let metadata = Some(pb_meta.clone());
        let spec = Some(apps::DeploymentSpec { replicas, ..apps::DeploymentSpec::default() });
        let message = apps::Deployment { metadata, spec, ..apps::Deployment::default() }.encode_to_vec();
        assert_eq!(fact(both::<DeploymentObject>(&message, &json)).0, expected(WorkloadKind::Deployment));
        let metadata = Some(pb_meta.clone());
        let spec = Some(apps::ReplicaSetSpec { replicas, ..apps::ReplicaSetSpec::default() });
        let message = apps::ReplicaSet { metadata, spec, ..apps::ReplicaSet::default() }.encode_to_vec();
        assert_eq!(fact(both::<ReplicaSetObject>(&message, &json)).0, expected(WorkloadKind::ReplicaSet));
        let metadata = Some(pb_meta.clone());
        let spec = Some(apps::StatefulSetSpec { replicas, ..apps::StatefulSetSpec::default() });
        let message = apps::StatefulSet { metadata, spec, ..apps::StatefulSet::default() }.encode_to_vec();
        assert_eq!(fact(both::<StatefulSetObject>(&message, &json)).0, expected(WorkloadKind::StatefulSet));
    }
    let odd = json!({"metadata": json_meta, "spec": {"replicas": "3"}}).to_string();
    assert!(why(DeploymentObject::from_json(odd.as_bytes())).starts_with("spec.replicas: "));
}

#[test]
fn a_replica_set_of_a_deployment_is_no_workload_of_its_own() {
    for (owner, is_own) in [
        (["apps/v1", "Deployment", "web"], false),
        (["argoproj.io/v1alpha1", "Rollout", "web"], true),
        (["example.com/v1", "Deployment", "web"], true),
    ] {
        let (pb_meta, json_meta) = meta(&[], Some(owner));
        let message = apps::ReplicaSet { metadata: Some(pb_meta), ..apps::ReplicaSet::default() };
        let read = both::<ReplicaSetObject>(&message.encode_to_vec(), &json!({"metadata": json_meta}));
        match read {
            Decoded::Object(_) => assert!(is_own, "{owner:?}"),
            Decoded::Unbound(identity) => {
                assert!(!is_own, "{owner:?}");
                assert_eq!((identity.uid, &*identity.namespace), (Some(Uid::new("uid-1")), "shop"));
            }
            Decoded::Undecodable(why) => panic!("{why:?}"),
        }
    }
}

#[test]
fn a_namespace_has_its_labels() {
    let (pb_meta, json_meta) = meta(&[("team", "shop")], None);
    let message = pb::Namespace { metadata: Some(pb_meta), ..pb::Namespace::default() }.encode_to_vec();
    let read = fact(both::<NamespaceLabelsFact>(&message, &json!({"metadata": json_meta})));
    assert_eq!((&*read.name, read.labels), ("team-a", Labels::from([("team".into(), "shop".into())])));
}

#[test]
fn a_pod_has_what_its_template_says() {
    let hash = [("app", "web"), ("pod-template-hash", "7d4b9")];
    for (labels, owner, expected) in [
        (
            &hash[..],
            Some(["apps/v1", "ReplicaSet", "web-7d4b9"]),
            Some(workload(WorkloadKind::Deployment, "web")),
        ),
        (&hash[..1], Some(["apps/v1", "ReplicaSet", "web"]), Some(workload(WorkloadKind::ReplicaSet, "web"))),
        (&[], Some(["apps/v1", "DaemonSet", "agent"]), Some(workload(WorkloadKind::DaemonSet, "agent"))),
        (&[], None, None),
    ] {
        for grace in [None, Some(0), Some(600)] {
            let (pb_meta, json_meta) = meta(labels, owner);
            let spec = pb::PodSpec {
                node_name: Some("n1".to_owned()),
                termination_grace_period_seconds: grace,
                ..pb::PodSpec::default()
            };
            let message = pb::Pod { metadata: Some(pb_meta), spec: Some(spec), ..pb::Pod::default() };
            let mut json = json!({"metadata": json_meta, "spec": {"nodeName": "n1"}});
            json["spec"]["terminationGracePeriodSeconds"] = json!(grace);
            let read = fact(both::<TemplatedPod>(&message.encode_to_vec(), &json));
            let labels = labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
            assert_eq!(
                read.template,
                PodTemplateFact { labels, workload: expected.clone(), grace_seconds: grace }
            );
            assert_eq!(read.pod, fact(both::<DecodedPod>(&message.encode_to_vec(), &json)));
        }
    }
    let (_, json_meta) = meta(&[], None);
    let unbound = json!({"metadata": json_meta, "spec": {}}).to_string();
    assert!(matches!(TemplatedPod::from_json(unbound.as_bytes()), Decoded::Unbound(_)));
    let odd =
        json!({"metadata": json_meta, "spec": {"nodeName": "n1", "terminationGracePeriodSeconds": "3"}});
    assert!(why(TemplatedPod::from_json(odd.to_string().as_bytes())).starts_with("spec.termination"));
}

#[test]
fn a_budget_allows_what_was_counted_for_its_generation() {
    for (observed, allowed) in
        [(json!(2), Some(1)), (json!(3), Some(1)), (json!(1), None), (json!(null), None)]
    {
        let (_, mut metadata) = meta(&[], None);
        metadata["generation"] = json!(2);
        let mut status =
            json!({"disruptionsAllowed": 1, "currentHealthy": 3, "desiredHealthy": 2, "expectedPods": 3});
        match observed.as_i64() {
            Some(observed) => status["observedGeneration"] = json!(observed),
            None => status = json!(null),
        }
        let spec = json!({"minAvailable": "50%", "selector": {"matchLabels": {"app": "web"}}});
        let json = json!({"metadata": metadata, "spec": spec, "status": status}).to_string();
        let read = fact(BudgetFact::from_json(json.as_bytes()));
        assert_eq!(read.allowed, allowed, "{observed}");
        let budget = read.budget;
        assert_eq!((&*budget.namespace, &*budget.name), ("shop", "team-a"));
        assert_eq!(budget.floor, Some(DisruptionLimit::MinAvailable(IntOrPercent::Percent(50))));
        assert_eq!(budget.status, allowed.map(|_| BudgetStatus { healthy: 3, desired: 2 }));
        assert!(
            budget.selects(&Labels::from([("app".into(), "web".into())])) && !budget.selects(&Labels::new())
        );
    }
    let (_, metadata) = meta(&[], None);
    let odd = json!({"metadata": metadata, "spec": {"minAvailable": "half"}}).to_string();
    assert!(why(BudgetFact::from_json(odd.as_bytes())).starts_with("minAvailable: "));
}
