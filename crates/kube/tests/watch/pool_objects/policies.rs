//! Tests that policies are decoded field by field, and that errors name the field.

use super::sample::{fact, why};
use serde_json::{Value, json};
use taintward_core::admission::LabelSelector;
use taintward_core::admission::policy::{SecondsBounds, TolerationDuration, TolerationPolicy};
use taintward_kube::decode::{PolicyObject, WatchedObject};

fn policy(spec: &Value) -> Vec<u8> {
    json!({"metadata": {"name": "team-a", "uid": "uid-1"}, "spec": spec}).to_string().into_bytes()
}

#[test]
fn every_field_is_decoded() {
    let spec = json!({
        "priority": -5,
        "namespaceSelector": {"matchLabels": {"tier": "web"}},
        "notReadySeconds": 30,
        "unreachableSeconds": "forever",
        "bounds": {"least": -1, "most": 600},
    });
    let read = fact(PolicyObject::from_json(&policy(&spec)));
    let expected = TolerationPolicy {
        name: "team-a".into(),
        priority: -5,
        namespaces: LabelSelector::of_labels([("tier", "web")]),
        not_ready: Some(TolerationDuration::For(30)),
        unreachable: Some(TolerationDuration::Forever),
        bounds: SecondsBounds { least: Some(-1), most: Some(600) },
    };
    assert_eq!(read.policy, expected);
    let faults: Vec<&str> = read.policy.errors().iter().map(|fault| fault.reason).collect();
    assert_eq!(faults, ["OutsideOwnBounds"], "no number of seconds, and so more than 600 s");
}

#[test]
fn an_absent_field_is_none() {
    let expected = TolerationPolicy { name: "team-a".into(), ..TolerationPolicy::default() };
    for spec in [
        json!({"namespaceSelector": {}}),
        json!({"namespaceSelector": {}, "priority": null, "notReadySeconds": null, "bounds": {"least": null}}),
    ] {
        assert_eq!(fact(PolicyObject::from_json(&policy(&spec))).policy, expected);
    }
}

#[test]
fn seconds_are_integers_or_forever() {
    for (written, stay) in [
        (json!(i64::MAX), TolerationDuration::For(i64::MAX)),
        (json!(i64::MIN), TolerationDuration::For(i64::MIN)),
        (json!(0), TolerationDuration::For(0)),
        (json!("forever"), TolerationDuration::Forever),
    ] {
        let spec = json!({"namespaceSelector": {}, "unreachableSeconds": written});
        assert_eq!(fact(PolicyObject::from_json(&policy(&spec))).policy.unreachable, Some(stay));
    }
    for odd in
        [json!("30"), json!(1.5), json!("Forever"), json!(true), json!([1]), json!(u64::MAX), json!("")]
    {
        let spec = json!({"namespaceSelector": {}, "unreachableSeconds": odd});
        let why = why(PolicyObject::from_json(&policy(&spec)));
        assert_eq!(why, "spec.unreachableSeconds: neither a whole number of 64 bits nor forever", "{odd}");
    }
}

#[test]
fn an_unknown_value_is_named() {
    for (spec, message) in [
        (json!({}), "spec.namespaceSelector: missing"),
        (json!({"namespaceSelector": null}), "spec.namespaceSelector: missing"),
        (json!({"namespaceSelector": []}), "spec.namespaceSelector: "),
        (json!({"namespaceSelector": {}, "priority": 3_000_000_000_u32}), "spec.priority: "),
        (json!({"namespaceSelector": {}, "bounds": {"least": "1"}}), "spec.bounds.least: "),
        (json!({"namespaceSelector": {}, "bounds": {"lowest": 1}}), "spec.bounds.lowest: "),
        (json!({"namespaceSelector": {}, "seconds": 1}), "spec.seconds: "),
    ] {
        let why = why(PolicyObject::from_json(&policy(&spec)));
        assert!(why.starts_with(message), "{why}");
    }
}
