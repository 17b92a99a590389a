//! Tests encoding and decoding of all kinds, and malformed bytes.

mod oracle;

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::{ProtobufError, decode, encode, encode_watch_event};
use crate::canonicalize::normal;
use crate::schema::{Schema, Shape, TypeId};

/// A small random number generator, reproducible by its seed.
struct ProtobufRandom(u64);

impl ProtobufRandom {
    fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }

    fn one_of<T: Clone>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize].clone()
    }

    fn object(&mut self, of: TypeId) -> Value {
        let mut object = Map::new();
        self.fields(of, 0, &mut object);
        Value::Object(object)
    }

    fn fields(&mut self, of: TypeId, depth: u64, object: &mut Map<String, Value>) {
        for field in &Schema::get().at(of).fields {
            match &field.shape {
                Shape::Object(inner) if field.inline => self.fields(*inner, depth, object),
                shape if self.below(2 + depth) == 0 => {
                    let value = self.value(shape, depth + 1);
                    object.insert(field.name.clone(), value);
                }
                _ => {}
            }
        }
    }

    fn value(&mut self, shape: &Shape, depth: u64) -> Value {
        match shape {
            Shape::Bool => self.one_of(&[true, false]).into(),
            Shape::Int32 => self.one_of(&[0, 1, -1, 300, i32::MAX, i32::MIN]).into(),
            Shape::Int64 => self.one_of(&[0, 1, -1, 1 << 40, i64::MAX, i64::MIN]).into(),
            Shape::Float64 => self.one_of(&[0.5, -1.25, 1e300]).into(),
            Shape::String => self.one_of(&["", "x", "a.b/c", "\u{e9}\u{1f600}\0\""]).into(),
            Shape::Bytes => self.one_of(&["", "AA==", "AAEC", "//79"]).into(),
            Shape::Time => self.one_of(&[
                Value::Null,
                "2024-02-29T23:59:59Z".into(),
                "1969-12-31T23:59:58Z".into(),
                "1970-01-01T00:00:00Z".into(),
            ]),
            Shape::MicroTime => self.one_of(&[
                Value::Null,
                "2024-02-29T23:59:59.000001Z".into(),
                "1969-12-31T23:59:58.999999Z".into(),
            ]),
            Shape::Quantity => self.one_of(&["0", "1", "100m", "1Gi", "-5", "1500m", "1e3"]).into(),
            Shape::IntOrString => self.one_of(&[json!(0), json!(-80), json!(""), json!("25%"), json!("7")]),
            Shape::Raw | Shape::Fields => {
                self.one_of(&[json!({"a": [1, null, "x"]}), json!({}), json!({"f:x": {}})])
            }
            Shape::Object(of) => {
                let mut object = Map::new();
                self.fields(*of, depth, &mut object);
                Value::Object(object)
            }
            Shape::List(of) => {
                let length = self.below(4);
                (0..length).map(|_| self.value(of, depth + 1)).collect()
            }
            Shape::Map(of) => {
                let length = self.below(4);
                Value::Object((0..length).map(|at| (format!("k{at}"), self.value(of, depth + 1))).collect())
            }
        }
    }
}

fn enveloped(kind: &str, raw: &[u8]) -> Vec<u8> {
    let mut bytes = b"k8s\0\x0a".to_vec();
    bytes.push(kind.len() as u8 + 6);
    bytes.extend(b"\x0a\x02v1\x12");
    bytes.push(kind.len() as u8);
    bytes.extend(kind.as_bytes());
    bytes.push(0x12);
    let mut length = raw.len();
    while length >= 0x80 {
        bytes.push(length as u8 | 0x80);
        length >>= 7;
    }
    bytes.push(length as u8);
    bytes.extend(raw);
    bytes
}

/// All kinds with a form in protobuf, which custom kinds do not have.
fn kinds() -> impl Iterator<Item = (&'static str, &'static str, TypeId)> {
    Schema::get().kinds()
}

#[test]
fn an_object_has_its_zero_values() {
    assert_eq!(
        decode(&enveloped("Pod", b"")),
        Ok(
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}, "spec": {"containers": null}, "status": {}})
        )
    );
    assert_eq!(decode(&enveloped("PodList", b"")).unwrap()["items"], json!([]));
}

#[test]
fn unknown_fields_are_stepped_over() {
    // Field 100 as a varint, as eight bytes, as a piece, as a group with a group in it, as four bytes; then data.
    let raw = b"\xa0\x06\x05\xa1\x06abcdefgh\xa2\x06\x02xy\xa3\x06\x0b\x08\x01\x0c\xa4\x06\xa5\x06abcd\x12\x06\x0a\x01a\x12\x01b";
    assert_eq!(decode(&enveloped("ConfigMap", raw)).unwrap()["data"], json!({"a": "b"}));
}

#[test]
fn packed_numbers_are_numbers() {
    // spec.securityContext.supplementalGroups, packed and then one more.
    let groups = b"\x22\x02\x01\x02\x20\x03";
    let spec = [&b"\x72\x06"[..], groups].concat();
    let raw = [&b"\x12\x08"[..], &spec].concat();
    let pod = decode(&enveloped("Pod", &raw)).unwrap();
    assert_eq!(pod["spec"]["securityContext"]["supplementalGroups"], json!([1, 2, 3]));
}

#[test]
fn a_message_in_two_parts_is_one() {
    // metadata.name, then metadata.namespace.
    let pod = decode(&enveloped("Pod", b"\x0a\x03\x0a\x01n\x0a\x03\x1a\x01s")).unwrap();
    assert_eq!(pod["metadata"], json!({"name": "n", "namespace": "s"}));
}

#[test]
fn negative_numbers_have_ten_bytes() {
    let class = json!({"value": -7});
    let bytes = encode("scheduling.k8s.io/v1", "PriorityClass", &class);
    assert!(bytes.windows(11).any(|window| window == b"\x10\xf9\xff\xff\xff\xff\xff\xff\xff\xff\x01"));
    assert_eq!(decode(&bytes).unwrap()["value"], -7);
}

#[test]
fn a_watch_event_is_a_frame() {
    let object = json!({"metadata": {"name": "cm"}, "data": {"a": "b"}});
    let object = encode("v1", "ConfigMap", &object);
    let frame = encode_watch_event("ADDED", &object);
    let (length, event) = frame.split_first_chunk().unwrap();
    assert_eq!(u32::from_be_bytes(*length) as usize, event.len());
    assert_eq!(&event[..8], b"\x0a\x05ADDED\x12");
    assert!(event.ends_with(&object));
}

#[test]
fn faults_say_what_is_wrong() {
    assert_eq!(decode(b"{}"), Err(ProtobufError::NoEnvelope));
    assert_eq!(decode(b""), Err(ProtobufError::NoEnvelope));
    assert_eq!(decode(&enveloped("Pod", b"\x0a\x05\x0a")), Err(ProtobufError::Truncated));
    assert_eq!(decode(&enveloped("Pod", b"\x00")), Err(ProtobufError::BadTag(0)));
    assert_eq!(
        decode(&enveloped("Pod", b"\x0c")),
        Err(ProtobufError::WrongWireType { field: "metadata".into(), found: 4 })
    );
    assert_eq!(decode(&enveloped("Pod", &[0xff; 11])), Err(ProtobufError::Overflow));
    assert!(matches!(decode(&enveloped("Pot", b"")), Err(ProtobufError::UnknownKind { .. })));
    let groups = [0x0b].repeat(1000);
    assert_eq!(decode(&enveloped("Pod", &[&b"\xa3\x06"[..], &groups].concat())), Err(ProtobufError::TooDeep));
    // creationTimestamp in the year 292 billion.
    assert!(matches!(
        decode(&enveloped("Pod", b"\x0a\x0c\x42\x0a\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f")),
        Err(ProtobufError::BadTime(_))
    ));
    let mut nested = b"{}".to_vec();
    for _ in 0..100 {
        let mut item = Vec::new();
        prost::encoding::bytes::encode(1, &nested, &mut item);
        let mut list = Vec::new();
        prost::encoding::bytes::encode(2, &item, &mut list);
        nested = enveloped("List", &list);
    }
    assert_eq!(decode(&nested), Err(ProtobufError::TooDeep));
}

#[test]
fn too_many_messages_are_refused() {
    let many = b"\x12\x00".repeat(super::MAX_MESSAGES as usize + 1);
    assert_eq!(decode(&enveloped("ConfigMapList", &many)), Err(ProtobufError::TooMany));
}

#[test]
fn every_kind_has_a_form_when_it_is_empty() {
    for (api_version, kind, _) in kinds() {
        let empty = normal(api_version, kind, json!({})).unwrap().value;
        assert_eq!(decode(&encode(api_version, kind, &empty)), Ok(empty), "{api_version} {kind}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    /// For every kind: a canonical object survives the round trip through protobuf unchanged.
    #[test]
    fn random_objects_of_all_kinds_come_back(seed in any::<u64>()) {
        let mut random = ProtobufRandom::new(seed);
        for (api_version, kind, of) in kinds() {
            let object = random.object(of);
            let first = normal(api_version, kind, object.clone()).unwrap();
            prop_assert!(first.unknown.is_empty(), "{:?}", first.unknown);
            let again = normal(api_version, kind, first.value.clone()).unwrap();
            prop_assert_eq!(&again.value, &first.value);
            let bytes = encode(api_version, kind, &first.value);
            prop_assert_eq!(decode(&bytes).unwrap(), first.value, "{} {}", api_version, kind);
        }
    }

    /// Changed, truncated and random bytes are rejected or decoded, and never panic.
    #[test]
    fn mangled_bytes_are_harmless(seed in any::<u64>(), changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..8), cut in any::<prop::sample::Index>()) {
        let mut random = ProtobufRandom::new(seed);
        for (api_version, kind, of) in kinds() {
            let mut bytes = encode(api_version, kind, &random.object(of));
            for (at, byte) in &changes {
                let at = at.index(bytes.len());
                bytes[at] = *byte;
            }
            let _ = decode(&bytes);
            let _ = decode(&bytes[..cut.index(bytes.len())]);
        }
    }

    #[test]
    fn any_bytes_are_harmless(raw in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = decode(&raw);
        for kind in ["Pod", "Status", "List", "ConfigMap"] {
            let _ = decode(&enveloped(kind, &raw));
        }
    }

    /// Values of a wrong type are left out, and never panic.
    #[test]
    fn random_values_are_harmless(seed in any::<u64>()) {
        let mut random = ProtobufRandom::new(seed);
        for (api_version, kind, _) in kinds() {
            let (_, _, other) = kinds().nth(seed as usize % 100).unwrap();
            let foreign: Value = random.object(other);
            prop_assert!(decode(&encode(api_version, kind, &foreign)).is_ok());
        }
    }
}
