//! Compares canonical form and protobuf with recorded objects of kube-apiserver v1.36.3.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use fakekube::{canonicalize, protobuf};
use serde_json::Value;

struct Recorded {
    input: Option<Value>,
    response: Value,
    bytes: Vec<u8>,
}

fn recorded() -> Vec<Recorded> {
    let lines = include_str!("../golden/objects.jsonl")
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("the recording is JSON"));
    lines
        .map(|line| Recorded {
            input: line.get("input").cloned(),
            response: line["answer"].clone(),
            bytes: STANDARD.decode(text(&line["protobuf"])).expect("the recording is base64"),
        })
        .collect()
}

fn text(value: &Value) -> &str {
    value.as_str().expect("the recording has text here")
}

fn kind(object: &Value) -> (&str, &str) {
    (text(&object["apiVersion"]), text(&object["kind"]))
}

#[test]
fn its_answers_are_normal_already() {
    for Recorded { response, .. } in recorded() {
        let (api_version, kind) = kind(&response);
        let ours = canonicalize::normal(api_version, kind, response.clone()).unwrap();
        assert_eq!(ours.value, response, "{kind}");
        assert!(ours.unknown.is_empty());
    }
}

#[test]
fn its_protobuf_says_what_its_json_says() {
    for Recorded { response, bytes, .. } in recorded() {
        let mut response = response;
        // Protobuf has no kinds within an object.
        for claim in response
            .pointer_mut("/spec/volumeClaimTemplates")
            .and_then(Value::as_array_mut)
            .into_iter()
            .flatten()
        {
            claim.as_object_mut().unwrap().retain(|name, _| name != "apiVersion" && name != "kind");
        }
        assert_eq!(protobuf::decode(&bytes).unwrap(), response, "{}", response["kind"]);
    }
}

#[test]
fn encoded_bytes_equal_those_of_a_real_server() {
    for Recorded { response, bytes, .. } in recorded() {
        let (api_version, kind) = kind(&response);
        let ours = protobuf::encode(api_version, kind, &response);
        assert!(
            ours == bytes,
            "{kind}: {:?}\n{:?}",
            String::from_utf8_lossy(&ours),
            String::from_utf8_lossy(&bytes)
        );
    }
}

#[test]
fn an_encoded_frame_equals_that_of_a_real_server() {
    let frame = include_bytes!("../golden/watch.bin");
    let at = frame.windows(4).position(|window| window == b"k8s\0").unwrap();
    let object = protobuf::decode(&frame[at..]).unwrap();
    assert_eq!(protobuf::encode("v1", "ConfigMap", &object), frame[at..]);
    assert_eq!(protobuf::encode_watch_event("ADDED", &frame[at..]), frame);
}

/// The response contains what was sent, in fakekube's form. A default may replace what was sent empty.
#[test]
fn the_response_has_the_sent_fields_in_normal_form() {
    let mut compared = 0;
    for Recorded { input, response, .. } in recorded() {
        let Some(input) = input else { continue };
        let (api_version, kind) = kind(&input);
        let ours = canonicalize::normal(api_version, kind, input.clone()).unwrap().value;
        stands_in(&ours, &response, kind);
        compared += 1;
    }
    assert!(compared >= 25, "{compared}");
}

/// Checks that the real server's object has each value of fakekube's object.
fn stands_in(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (name, value) in ours {
                let place = format!("{place}.{name}");
                match theirs.get(name) {
                    Some(theirs) => stands_in(value, theirs, &place),
                    // The server owns the status of a new object.
                    None if place.contains(".status.") => {}
                    None => panic!("{place} is not in the answer: {value}"),
                }
            }
        }
        (Value::Array(ours), Value::Array(theirs)) => {
            assert!(ours.len() <= theirs.len(), "{place}");
            for (at, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
                stands_in(ours, theirs, &format!("{place}[{at}]"));
            }
        }
        _ if place.contains(".status.") => {}
        // A default replaced it.
        (Value::Null, _) => {}
        (Value::String(text), _) if text.is_empty() => {}
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}
