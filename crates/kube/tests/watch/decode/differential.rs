//! Compares the facts of both encodings for generated objects.
//!
//! - See `mangled.rs` for malformed bytes.

use super::sample::{sample_lease, sample_node, sample_pod};
use k8s_pb::apimachinery::pkg::runtime::{TypeMeta, Unknown};
use proptest::prelude::*;
use prost::Message;
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::node_lifecycle::LeaseFact;
use taintward_kube::decode::{Decoded, DecodedNode, DecodedPod, ObjectBody, WatchedObject, object_from_body};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

fn config() -> ProptestConfig {
    ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() }
}

fn body(kind: &str, message: Vec<u8>) -> Vec<u8> {
    let types = TypeMeta { api_version: Some("v1".to_owned()), kind: Some(kind.to_owned()) };
    let unknown = Unknown { type_meta: Some(types), raw: Some(message), ..Unknown::default() };
    [&b"k8s\0"[..], &unknown.encode_to_vec()].concat()
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn pods_are_the_same_in_both_encodings(pod in sample_pod()) {
        let expected = Decoded::Object(pod.seen());
        prop_assert_eq!(&DecodedPod::from_protobuf(&pod.protobuf()), &expected);
        prop_assert_eq!(&DecodedPod::from_json(&pod.json()), &expected);
        let expected = ObjectBody::Object(expected);
        prop_assert_eq!(&object_from_body(PROTOBUF, &body("Pod", pod.protobuf())), &expected);
        prop_assert_eq!(object_from_body("application/json; charset=utf-8", &pod.json()), expected);
    }

    #[test]
    fn nodes_are_the_same_in_both_encodings(node in sample_node()) {
        let expected = Decoded::Object(node.seen());
        prop_assert_eq!(&DecodedNode::from_protobuf(&node.protobuf()), &expected);
        prop_assert_eq!(&DecodedNode::from_json(&node.json()), &expected);
        prop_assert_eq!(object_from_body(PROTOBUF, &body("Node", node.protobuf())), ObjectBody::Object(expected));
    }

    #[test]
    fn leases_are_the_same_in_both_encodings(lease in sample_lease()) {
        let expected = Decoded::Object(lease.fact());
        prop_assert_eq!(&LeaseFact::from_protobuf(&lease.protobuf()), &expected);
        prop_assert_eq!(&LeaseFact::from_json(&lease.json()), &expected);
        prop_assert_eq!(object_from_body(PROTOBUF, &body("Lease", lease.protobuf())), ObjectBody::Object(expected));
    }

    #[test]
    fn a_part_alone_is_the_part(pod in sample_pod(), node in sample_node()) {
        prop_assert_eq!(PodFact::from_protobuf(&pod.protobuf()), Decoded::Object(pod.fact()));
        prop_assert_eq!(PodFact::from_json(&pod.json()), Decoded::Object(pod.fact()));
        prop_assert_eq!(NodeFact::from_protobuf(&node.protobuf()), Decoded::Object(node.fact()));
        prop_assert_eq!(NodeFact::from_json(&node.json()), Decoded::Object(node.fact()));
    }

    #[test]
    fn pretty_and_reordered_json_is_the_same(pod in sample_pod()) {
        let value: serde_json::Value = serde_json::from_slice(&pod.json()).unwrap();
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(PodFact::from_json(pretty.as_bytes()), Decoded::Object(pod.fact()));
    }
}
