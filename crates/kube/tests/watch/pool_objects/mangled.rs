//! Tests that damaged objects make no decoder panic.

use super::sample::pool;
use k8s_pb::api::core::v1 as pb;
use k8s_pb::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use prost::Message as _;
use serde_json::json;
use taintward_core::dedicated_pools::{PoolFact, PoolNodeFact};
use taintward_kube::decode::{Decoded, NamespaceObject, PolicyObject, WatchedObject};
use taintward_kube::pools::PoolNodeBody;

fn read_all(bytes: &[u8]) -> usize {
    let understood = [
        matches!(PoolFact::from_json(bytes), Decoded::Object(_)),
        matches!(PolicyObject::from_json(bytes), Decoded::Object(_)),
        matches!(NamespaceObject::from_json(bytes), Decoded::Object(_)),
        matches!(PoolNodeFact::from_json(bytes), Decoded::Object(_)),
        matches!(NamespaceObject::from_protobuf(bytes), Decoded::Object(_)),
        matches!(PoolNodeFact::from_protobuf(bytes), Decoded::Object(_)),
        PoolNodeBody::read(bytes).is_ok(),
    ];
    understood.into_iter().filter(|&one| one).count()
}

#[test]
fn no_bytes_do_harm() {
    let mut object = pool();
    object["status"] = json!({"observedGeneration": 1, "past": [{"kind": "Label", "key": "a"}]});
    let policy = json!({"metadata": {"name": "p", "uid": "u"}, "spec": {
        "namespaceSelector": {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
        "notReadySeconds": 30, "unreachableSeconds": "forever", "bounds": {"least": 1, "most": 2},
    }});
    let node = json!({"kind": "Node", "metadata": {"name": "n", "uid": "u", "labels": {"a": "b"},
        "annotations": {"taintward.io/pool": "p taint:a=b:NoSchedule"}},
        "spec": {"taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}});
    let binary = binary_node();
    for bytes in [object.to_string(), policy.to_string(), node.to_string()].map(String::into_bytes) {
        assert!(read_all(&bytes) > 0, "{}", String::from_utf8_lossy(&bytes));
        mangle(&bytes);
    }
    assert!(read_all(&binary) > 0);
    mangle(&binary);
}

fn binary_node() -> Vec<u8> {
    let text = |text: &str| Some(text.to_owned());
    let map = |key: &str| [(key.to_owned(), "b c".to_owned())].into();
    let metadata = ObjectMeta {
        name: text("n"),
        uid: text("u"),
        labels: map("a"),
        annotations: map("taintward.io/pool"),
        ..ObjectMeta::default()
    };
    let taint = pb::Taint { key: text("k"), effect: text("NoSchedule"), ..pb::Taint::default() };
    let spec = pb::NodeSpec { taints: vec![taint], ..pb::NodeSpec::default() };
    pb::Node { metadata: Some(metadata), spec: Some(spec), ..pb::Node::default() }.encode_to_vec()
}

fn mangle(bytes: &[u8]) {
    for at in 0..bytes.len() {
        read_all(&bytes[..at]);
        for bits in [1, 0x20, 0x80, 0xff] {
            let mut turned = bytes.to_vec();
            turned[at] ^= bits;
            read_all(&turned);
        }
        let doubled = [&bytes[..at], &bytes[at / 2..]].concat();
        read_all(&doubled);
    }
}
