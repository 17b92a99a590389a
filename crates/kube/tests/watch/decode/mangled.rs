//! Tests that damaged objects and noise make no decoder panic.

use super::sample::{sample_lease, sample_node, sample_pod};
use k8s_pb::apimachinery::pkg::apis::meta::v1::WatchEvent;
use k8s_pb::apimachinery::pkg::runtime::{RawExtension, TypeMeta, Unknown};
use proptest::collection::vec;
use proptest::prelude::*;
use prost::Message;
use taintward_kube::decode::fuzz_entry;

fn config() -> ProptestConfig {
    ProptestConfig { cases: 1000, failure_persistence: None, ..ProptestConfig::default() }
}

/// Encodings of valid objects of every form that the decoders know.
fn valid() -> impl Strategy<Value = Vec<u8>> {
    let objects = prop_oneof![
        sample_pod().prop_map(|pod| (pod.protobuf(), pod.json())),
        sample_node().prop_map(|node| (node.protobuf(), node.json())),
        sample_lease().prop_map(|lease| (lease.protobuf(), lease.json())),
    ];
    (objects, 0..7_u8).prop_map(|((protobuf, json), form)| {
        let json = String::from_utf8(json).unwrap();
        let envelope = |kind: &str, raw| {
            let types = TypeMeta { api_version: Some("v1".to_owned()), kind: Some(kind.to_owned()) };
            let unknown = Unknown { type_meta: Some(types), raw: Some(raw), ..Unknown::default() };
            [&b"k8s\0"[..], &unknown.encode_to_vec()].concat()
        };
        match form {
            0 => protobuf,
            1 => json.into_bytes(),
            2 => envelope("Pod", protobuf),
            3 => {
                let object = RawExtension { raw: Some(envelope("Pod", protobuf)) };
                let event =
                    WatchEvent { r#type: Some("ADDED".to_owned()), object: Some(object) }.encode_to_vec();
                [&u32::try_from(event.len()).unwrap().to_be_bytes()[..], &event].concat()
            }
            4 => format!("{{\"type\":\"MODIFIED\",\"object\":{json}}}\n").into_bytes(),
            5 => {
                let mut list = vec![0x0a, 3, 0x12, 1, b'7', 0x12];
                prost::encoding::encode_varint(protobuf.len() as u64, &mut list);
                list.extend(&protobuf);
                envelope("PodList", list)
            }
            _ => format!(
                r#"{{"kind":"PodList","metadata":{{"resourceVersion":"7"}},"items":[{json},{json}]}}"#
            )
            .into_bytes(),
        }
    })
}

#[derive(Clone, Debug)]
enum Damage {
    Flip(prop::sample::Index, u8),
    Cut(prop::sample::Index),
    Double(prop::sample::Index, u8),
    Insert(prop::sample::Index, Vec<u8>),
}

fn damage() -> impl Strategy<Value = Damage> {
    use prop::sample::Index;
    let nasty = prop_oneof![vec(any::<u8>(), 1..12), Just(vec![0xff; 10]), Just(b"[{".repeat(200))];
    prop_oneof![
        4 => (any::<Index>(), 1..=255_u8).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        1 => any::<Index>().prop_map(Damage::Cut),
        1 => (any::<Index>(), any::<u8>()).prop_map(|(at, length)| Damage::Double(at, length)),
        2 => (any::<Index>(), nasty).prop_map(|(at, bytes)| Damage::Insert(at, bytes)),
    ]
}

fn mangle(mut bytes: Vec<u8>, damages: &[Damage]) -> Vec<u8> {
    for damage in damages.iter() {
        if bytes.is_empty() {
            break;
        }
        match damage {
            Damage::Flip(at, bits) => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Damage::Cut(at) => bytes.truncate(at.index(bytes.len())),
            Damage::Double(at, length) => {
                let at = at.index(bytes.len());
                let piece = bytes[at..bytes.len().min(at + usize::from(*length))].to_vec();
                bytes.splice(at..at, piece);
            }
            Damage::Insert(at, piece) => {
                let at = at.index(bytes.len());
                bytes.splice(at..at, piece.iter().copied());
            }
        }
    }
    bytes
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn damaged_bytes_do_no_harm(bytes in valid(), damages in vec(damage(), 1..6)) {
        fuzz_entry(&mangle(bytes, &damages));
    }

    #[test]
    fn noise_does_no_harm(bytes in vec(any::<u8>(), 0..300)) {
        fuzz_entry(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..config() })]

    #[test]
    fn valid_bytes_are_understood(bytes in valid()) {
        prop_assert!(fuzz_entry(&bytes) > 0);
    }
}
