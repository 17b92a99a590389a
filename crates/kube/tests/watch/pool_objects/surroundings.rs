//! Tests namespaces and nodes in both encodings.

use super::sample::fact;
use k8s_pb::api::core::v1 as pb;
use k8s_pb::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::collection::{btree_map, vec};
use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::admission::pod_toleration_restriction::{DEFAULTS, TolerationListAnnotation, WHITELIST};
use taintward_core::admission::policy::{NOT_READY_SECONDS, UNREACHABLE_SECONDS};
use taintward_core::admission::pool::{PoolNode, RECORD};
use taintward_core::dedicated_pools::PoolNodeFact;
use taintward_core::identity::{ResourceVersion, Uid};
use taintward_core::scheduling::Labels;
use taintward_core::testkit::taint_of;
use taintward_kube::decode::{Decoded, NamespaceObject, WatchedObject};

type Texts = BTreeMap<String, String>;

fn meta(labels: &Texts, annotations: &Texts) -> (ObjectMeta, Value) {
    let [name, uid, version] = ["team-a", "uid-1", "7"].map(str::to_owned);
    let json = json!({
        "name": name, "uid": uid, "resourceVersion": version, "labels": labels, "annotations": annotations,
    });
    let meta = ObjectMeta {
        name: Some(name),
        uid: Some(uid),
        resource_version: Some(version),
        labels: labels.clone(),
        annotations: annotations.clone(),
        ..ObjectMeta::default()
    };
    (meta, json)
}

fn namespace(labels: &Texts, annotations: &Texts) -> NamespaceObject {
    let (meta, json) = meta(labels, annotations);
    let message = pb::Namespace { metadata: Some(meta), ..pb::Namespace::default() };
    let binary = fact(NamespaceObject::from_protobuf(&message.encode_to_vec()));
    let json = json!({"kind": "Namespace", "metadata": json}).to_string();
    assert_eq!(fact(NamespaceObject::from_json(json.as_bytes())), binary);
    binary
}

fn texts() -> impl Strategy<Value = Texts> {
    let key = prop_oneof![
        Just(RECORD.to_owned()),
        Just(DEFAULTS.to_owned()),
        Just(WHITELIST.to_owned()),
        Just(NOT_READY_SECONDS.to_owned()),
        Just(UNREACHABLE_SECONDS.to_owned()),
        any::<String>(),
    ];
    btree_map(key, prop_oneof![any::<String>(), Just("[{\"key\":\"a\"}]".to_owned())], 0..6)
}

fn labels(texts: &Texts) -> Labels {
    texts.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn namespaces_are_the_same_in_both_encodings(given in texts(), annotations in texts()) {
        let read = namespace(&given, &annotations);
        prop_assert_eq!(&*read.name, "team-a");
        prop_assert_eq!((read.uid, read.version), (Uid::new("uid-1"), Some(ResourceVersion(7))));
        prop_assert_eq!(read.facts.labels, labels(&given));
        let requested = [read.facts.requested.not_ready, read.facts.requested.unreachable];
        let given = [NOT_READY_SECONDS, UNREACHABLE_SECONDS].map(|key| annotations.get(key).map(|value| value.as_str().into()));
        prop_assert_eq!(requested, given);
        prop_assert_eq!(read.facts.lists.defaults == TolerationListAnnotation::Absent, !annotations.contains_key(DEFAULTS));
        prop_assert_eq!(read.facts.lists.whitelist == TolerationListAnnotation::Absent, !annotations.contains_key(WHITELIST));
    }

    #[test]
    fn members_are_the_same_in_both_encodings(
        given in texts(),
        annotations in texts(),
        taints in vec((any::<String>(), any::<String>(), "NoSchedule|NoExecute|Odd"), 0..4),
        ready in vec("True|False|Unknown", 0..3),
    ) {
        let (meta, json) = meta(&given, &annotations);
        let message = |(key, value, effect): &(String, String, String)| pb::Taint {
            key: Some(key.clone()), value: Some(value.clone()), effect: Some(effect.clone()), ..pb::Taint::default()
        };
        let spec = pb::NodeSpec { taints: taints.iter().map(message).collect(), ..pb::NodeSpec::default() };
        let condition = |status: &String| pb::NodeCondition {
            r#type: Some("Ready".to_owned()), status: Some(status.clone()), ..pb::NodeCondition::default()
        };
        let status = pb::NodeStatus { conditions: ready.iter().map(condition).collect(), ..pb::NodeStatus::default() };
        let node = pb::Node { metadata: Some(meta), spec: Some(spec), status: Some(status) };
        let expected = Decoded::Object(PoolNodeFact {
            uid: Uid::new("uid-1"),
            version: Some(ResourceVersion(7)),
            node: PoolNode {
                name: "team-a".into(),
                labels: labels(&given),
                taints: taints.iter().map(|(key, value, effect)| taint_of(key, value, effect)).collect(),
                record: annotations.get(RECORD).map(|record| record.as_str().into()),
            },
            ready: !ready.is_empty() && ready.iter().all(|status| status == "True"),
        });
        prop_assert_eq!(&PoolNodeFact::from_protobuf(&node.encode_to_vec()), &expected);
        let taints: Vec<Value> = taints.iter()
            .map(|(key, value, effect)| json!({"key": key, "value": value, "effect": effect})).collect();
        let ready: Vec<Value> = ready.iter().map(|status| json!({"type": "Ready", "status": status})).collect();
        let json = json!({"metadata": json, "spec": {"taints": taints}, "status": {"conditions": ready}}).to_string();
        prop_assert_eq!(&PoolNodeFact::from_json(json.as_bytes()), &expected);
    }
}

/// AD-8: the list of an annotation, by the rule.
#[test]
fn lists_of_a_namespace_are_absent_present_or_unreadable() {
    let annotations = [(DEFAULTS, "[]"), (WHITELIST, "{"), (NOT_READY_SECONDS, "forever")];
    let annotations = annotations.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    let facts = namespace(&Texts::new(), &annotations).facts;
    assert_eq!(facts.lists.defaults, TolerationListAnnotation::Present(Vec::new()));
    assert!(matches!(facts.lists.whitelist, TolerationListAnnotation::Unreadable(_)));
    assert_eq!((facts.requested.not_ready.as_deref(), facts.requested.unreachable), (Some("forever"), None));
}

#[test]
fn null_is_the_empty_string_and_an_absent_map_is_an_empty_one() {
    let json = br#"{"metadata":{"name":"n","uid":"u","labels":{"a":null},"annotations":null}}"#;
    let read = fact(NamespaceObject::from_json(json));
    assert_eq!(read.facts.labels, labels(&[("a".to_owned(), String::new())].into()));
    let read = fact(PoolNodeFact::from_json(br#"{"metadata":{"name":"n","uid":"u"},"spec":null}"#));
    assert_eq!(read.node, PoolNode { name: "n".into(), ..PoolNode::default() });
}
