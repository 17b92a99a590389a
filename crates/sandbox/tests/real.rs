//! # Real: what a real server answered
//! Room:     objects as they were sent to kube-apiserver v1.36.3, and its answers in JSON and in protobuf.
//! Comes in: tests/golden/objects.jsonl, recorded.
//! Goes out: equality: of our normal form and its JSON, of our bytes and its bytes.
//! Not here: defaults, which a real server adds to what was sent.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use taintward_sandbox::{normal, protobuf};

struct Recorded {
    input: Option<Value>,
    answer: Value,
    bytes: Vec<u8>,
}

fn recorded() -> Vec<Recorded> {
    let lines = include_str!("golden/objects.jsonl").lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| Recorded {
            input: line.get("input").cloned(),
            answer: line["answer"].clone(),
            bytes: STANDARD.decode(line["protobuf"].as_str().unwrap()).unwrap(),
        })
        .collect()
}

fn kind(object: &Value) -> (&str, &str) {
    (object["apiVersion"].as_str().unwrap(), object["kind"].as_str().unwrap())
}

#[test]
fn its_answers_are_normal_already() {
    for Recorded { answer, .. } in recorded() {
        let (api_version, kind) = kind(&answer);
        let ours = normal::normal(api_version, kind, answer.clone()).unwrap();
        assert_eq!(ours.value, answer, "{kind}");
        assert!(ours.unknown.is_empty());
    }
}

#[test]
fn its_protobuf_says_what_its_json_says() {
    for Recorded { answer, bytes, .. } in recorded() {
        let mut answer = answer;
        // Its protobuf has no kinds within an object.
        for claim in answer.pointer_mut("/spec/volumeClaimTemplates").and_then(Value::as_array_mut).into_iter().flatten() {
            claim.as_object_mut().unwrap().retain(|name, _| name != "apiVersion" && name != "kind");
        }
        assert_eq!(protobuf::decode(&bytes).unwrap(), answer, "{}", answer["kind"]);
    }
}

#[test]
fn our_bytes_are_its_bytes() {
    for Recorded { answer, bytes, .. } in recorded() {
        let (api_version, kind) = kind(&answer);
        let ours = protobuf::encode(api_version, kind, &answer);
        assert!(ours == bytes, "{kind}: {:?}\n{:?}", String::from_utf8_lossy(&ours), String::from_utf8_lossy(&bytes));
    }
}

/// What was sent stands in the answer, in the form we give it. A default may fill in what was sent empty.
#[test]
fn what_was_sent_comes_back_in_our_form() {
    let mut compared = 0;
    for Recorded { input, answer, .. } in recorded() {
        let Some(input) = input else { continue };
        let (api_version, kind) = kind(&input);
        let ours = normal::normal(api_version, kind, input.clone()).unwrap().value;
        stands_in(&ours, &answer, kind);
        compared += 1;
    }
    assert!(compared >= 25, "{compared}");
}

/// Every value of ours that is set is there, and the same.
fn stands_in(ours: &Value, theirs: &Value, place: &str) {
    match (ours, theirs) {
        (Value::Object(ours), Value::Object(theirs)) => {
            for (name, value) in ours {
                let place = format!("{place}.{name}");
                match theirs.get(name) {
                    Some(theirs) => stands_in(value, theirs, &place),
                    // The server owns the status of what is created.
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
        // A default filled it in.
        (Value::Null, _) => {}
        (Value::String(text), _) if text.is_empty() => {}
        _ => assert_eq!(ours, theirs, "{place}"),
    }
}
