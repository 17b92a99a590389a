//! Tests single odd values of pods and taints, in both encodings.

use super::bytes::{field, integer};
use serde_json::{Value, json};
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::taint::TaintEffect;
use taintward_kube::decode::{
    ApiStatus, Decoded, ObjectBody, UndecodableObject, WatchedObject, object_from_body, status_from_body,
};

fn meta(more: &[u8]) -> Vec<u8> {
    field(1, &[&field(1, b"p")[..], &field(3, b"ns"), &field(5, b"uid-1"), more].concat())
}

fn protobuf_pod(more_meta: &[u8], spec: &[u8], status: &[u8]) -> Vec<u8> {
    [meta(more_meta), field(2, &[&field(10, b"n1")[..], spec].concat()), field(3, status)].concat()
}

fn fact<F: std::fmt::Debug>(decoded: Decoded<F>) -> F {
    match decoded {
        Decoded::Object(fact) => fact,
        other => panic!("{other:?}"),
    }
}

fn unreadable<F: std::fmt::Debug>(decoded: Decoded<F>) -> UndecodableObject {
    match decoded {
        Decoded::Undecodable(unreadable) => unreadable,
        other => panic!("{other:?}"),
    }
}

fn json_pod(spec: &Value) -> Value {
    let mut pod =
        json!({"metadata": {"name": "p", "namespace": "ns", "uid": "uid-1"}, "spec": {"nodeName": "n1"}});
    pod["spec"].as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    pod
}

fn from_json(value: &Value) -> Decoded<PodFact> {
    PodFact::from_json(value.to_string().as_bytes())
}

#[test]
fn zero_seconds_are_not_unlimited() {
    for (seconds, json) in [(Some(0), json!(0)), (None, Value::Null), (Some(-5), json!(-5))] {
        let toleration = seconds.map_or_else(Vec::new, |seconds| integer(5, seconds));
        let protobuf = fact(PodFact::from_protobuf(&protobuf_pod(&[], &field(22, &toleration), &[])));
        let json = fact(from_json(&json_pod(&json!({"tolerations": [{"tolerationSeconds": json}]}))));
        assert_eq!(protobuf.tolerations[0].seconds, seconds);
        assert_eq!(protobuf.tolerations, json.tolerations);
    }
}

#[test]
fn seconds_beyond_64_bits_or_not_integers_are_undecodable() {
    for seconds in ["9223372036854775808", "1.5", "1e2", "\"300\"", "true", "[]"] {
        let text = json_pod(&json!({"tolerations": [{"tolerationSeconds": 7}]})).to_string();
        let text = text.replace(":7", &format!(":{seconds}"));
        let why = unreadable(PodFact::from_json(text.as_bytes())).why;
        assert!(why.starts_with("spec.tolerations[0].tolerationSeconds: "), "{seconds}: {why}");
    }
}

#[test]
fn a_known_field_of_a_wrong_type_is_reported_with_object_and_path() {
    let bad_seconds = field(22, &field(5, b"300"));
    for (bytes, path) in [
        (protobuf_pod(&[], &bad_seconds, &[]), "spec.tolerations[0].tolerationSeconds"),
        (
            protobuf_pod(&[], &[field(22, &[]), field(22, &field(4, &[0xff]))].concat(), &[]),
            "spec.tolerations[1].effect",
        ),
        (protobuf_pod(&[], &field(25, b"x"), &[]), "spec.priority"),
        (protobuf_pod(&integer(12, 3), &[], &[]), "metadata.annotations"),
        (protobuf_pod(&field(13, &field(6, b"")), &[], &[]), "metadata.ownerReferences[0].controller"),
        (protobuf_pod(&field(8, &integer(1, i64::MAX)), &[], &[]), "metadata.creationTimestamp"),
        (protobuf_pod(&[], &[], &field(7, &[0x08])), "status.startTime"),
        (protobuf_pod(&[], &[], &field(2, &field(1, &[0xc0, 0x80]))), "status.conditions[0].type"),
        (protobuf_pod(&[], &[0x13], &[]), "spec"),
    ] {
        let unreadable = unreadable(PodFact::from_protobuf(&bytes));
        assert!(unreadable.why.starts_with(&format!("{path}: ")), "{path}: {}", unreadable.why);
        let identity = unreadable.identity.unwrap();
        assert_eq!((identity.namespace.as_str(), identity.name.as_str()), ("ns", "p"));
        assert_eq!(identity.uid.unwrap().to_string(), "uid-1");
        assert_eq!(identity.node.unwrap().as_str(), "n1");
    }
}

#[test]
fn an_object_without_identity_is_undecodable() {
    for bytes in [&b""[..], b"\x0a\x00", b"\xff\xff"] {
        assert_eq!(unreadable(PodFact::from_protobuf(bytes)).identity, None);
        assert_eq!(unreadable(NodeFact::from_protobuf(bytes)).identity, None);
    }
    for text in ["", "{}", "null", "[]", "{\"metadata\":7}", "{\"metadata\":{\"uid\":\"\",\"name\":\"\"}}"] {
        assert_eq!(unreadable(PodFact::from_json(text.as_bytes())).identity, None, "{text}");
        assert_eq!(unreadable(NodeFact::from_json(text.as_bytes())).identity, None, "{text}");
    }
}

#[test]
fn duplicate_keys_are_undecodable_and_keep_the_identity() {
    let text = r#"{"metadata":{"name":"p","namespace":"ns","uid":"uid-1"},
        "spec":{"nodeName":"n1","tolerations":[{"operator":"Exists"}],"tolerations":[]}}"#;
    let unreadable_pod = unreadable(PodFact::from_json(text.as_bytes()));
    assert!(unreadable_pod.why.contains("duplicate field"), "{}", unreadable_pod.why);
    assert_eq!(unreadable_pod.identity.unwrap().node.unwrap().as_str(), "n1");
    let text = r#"{"metadata":{"name":"p","uid":"uid-1"},"spec":{"taints":[]},"spec":{"taints":[]}}"#;
    assert_eq!(unreadable(NodeFact::from_json(text.as_bytes())).identity.unwrap().name, "p");
}

#[test]
fn a_list_of_values_is_not_an_object() {
    let text = r#"[["p","ns","uid-1"],["n1"]]"#;
    assert!(matches!(PodFact::from_json(text.as_bytes()), Decoded::Undecodable(_)));
    let text = json_pod(&json!({"tolerations": [["key", "Exists"]]})).to_string();
    let why = unreadable(PodFact::from_json(text.as_bytes())).why;
    assert!(why.starts_with("spec.tolerations") && why.contains("expected an object"), "{why}");
}

#[test]
fn the_reason_is_short_and_harmless() {
    let key = "\u{1b}]0;owned\u{7}\n".repeat(50);
    let text = json_pod(&json!({"tolerations": [{ "tolerationSeconds": key }]})).to_string();
    let why = unreadable(PodFact::from_json(text.as_bytes())).why;
    assert!(why.len() < 400 && !why.contains(char::is_control), "{why}");
    let body = json!({"kind": "Status", "message": key, "reason": "\u{1b}[0m", "code": 500}).to_string();
    let status = status_from_body("application/json", body.as_bytes()).unwrap();
    assert!(!status.to_string().contains(char::is_control) && !status.reason.contains('\u{1b}'), "{status}");
}

#[test]
fn ten_thousand_taints_are_decoded_and_absurdly_many_tolerations_are_not() {
    let taints = field(3, b"NoExecute");
    let node = [meta(&[]), field(2, &field(5, &taints).repeat(10_000))].concat();
    let fact = fact(NodeFact::from_protobuf(&node));
    assert_eq!((fact.taints.len(), &fact.taints[9999].effect), (10_000, &TaintEffect::NoExecute));

    let why =
        unreadable(PodFact::from_protobuf(&protobuf_pod(&[], &field(22, &[]).repeat(200_001), &[]))).why;
    assert!(why.contains("more than 200000 entries"), "{why}");
    let text = json_pod(&json!({"tolerations": []})).to_string();
    let text = text.replace("[]", &format!("[{}{{}}]", "{},".repeat(200_000)));
    let why = unreadable(PodFact::from_json(text.as_bytes())).why;
    assert!(why.contains("more than 200000 entries"), "{why}");
}

#[test]
fn deep_nesting_is_skipped_or_refused_but_never_followed() {
    let deep = "[".repeat(100_000) + &"]".repeat(100_000);
    let text = json_pod(&json!({"volumes": 7})).to_string().replace(":7", &format!(":{deep}"));
    assert!(matches!(PodFact::from_json(text.as_bytes()), Decoded::Object(_)));
    let text = json_pod(&json!({"tolerations": 7})).to_string().replace(":7", &format!(":{deep}"));
    assert!(matches!(PodFact::from_json(text.as_bytes()), Decoded::Undecodable(_)));
}

#[test]
fn terminating_precedes_finished_and_any_deletion_time_counts() {
    let failed = field(1, b"Failed");
    assert_eq!(
        fact(PodFact::from_protobuf(&protobuf_pod(&[], &[], &failed))).life_phase,
        PodLifePhase::Finished
    );
    // Go writes a pointer to a zero time as an empty message: the pod is still being deleted.
    assert_eq!(
        fact(PodFact::from_protobuf(&protobuf_pod(&field(9, &[]), &[], &failed))).life_phase,
        PodLifePhase::Terminating
    );
    let mut pod = json_pod(&json!({}));
    pod["status"] = json!({"phase": "Failed"});
    assert_eq!(fact(from_json(&pod)).life_phase, PodLifePhase::Finished);
    pod["metadata"]["deletionTimestamp"] = json!("9999-12-31T23:59:59Z");
    assert_eq!(fact(from_json(&pod)).life_phase, PodLifePhase::Terminating);
}

#[test]
fn year_1_is_not_a_time() {
    let zero = field(8, &integer(1, -62_135_596_800));
    assert_eq!(fact(PodFact::from_protobuf(&protobuf_pod(&zero, &[], &[]))).arrival.created, None);
    let mut pod = json_pod(&json!({}));
    pod["metadata"]["creationTimestamp"] = json!("0001-01-01T00:00:00Z");
    assert_eq!(fact(from_json(&pod)).arrival.created, None);
    pod["metadata"]["creationTimestamp"] = json!("soon");
    assert!(unreadable(from_json(&pod)).why.starts_with("metadata.creationTimestamp: "));
}

#[test]
fn managed_fields_are_read_only_if_a_start_is_missing() {
    let node = |time: Value| {
        json!({"metadata": {"name": "n", "uid": "u", "managedFields": [
            {"manager": "kubectl-taint", "operation": "Update", "time": "2026-11-21T10:00:00Z",
             "fieldsV1": {"f:spec": {"f:taints": {}}}},
            {"manager": "kubelet", "time": "2026-11-21T11:00:00Z", "subresource": "status",
             "fieldsV1": {"f:spec": {"f:taints": {}}}},
            {"manager": "other", "time": "2026-11-21T12:00:00Z", "fieldsV1": "nonsense"}]},
            "spec": {"taints": [{"key": "k", "effect": "NoExecute", "timeAdded": time}]}})
    };
    let changed = |time| fact(NodeFact::from_json(node(time).to_string().as_bytes())).taints_changed;
    assert_eq!(changed(Value::Null).unwrap().as_micros(), 1_795_255_200_000_000);
    assert_eq!(changed(json!("2026-11-21T09:00:00Z")), None);
}

/// P39: with the managed fields of a real server, if upstream writes first, second, or not at all; a client that once
/// wrote the condition for another reason is not mistaken for it.
#[test]
fn the_author_of_a_mark_is_read_from_managed_fields() {
    let all = json!({".": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {}, "f:status": {}, "f:type": {}});
    let time = json!({"f:lastTransitionTime": {}});
    let old = json!({".": {}, "f:status": {}, "f:type": {}});
    let original = "kube-controller-manager";
    let reported = |reason: &str, entries: &[(&str, &Value)]| {
        let entry = |&(manager, fields): &(&str, &Value)| {
            json!({"manager": manager, "operation": "Update", "subresource": "status", "fieldsV1":
                {"f:status": {"f:conditions": {"k:{\"type\":\"DisruptionTarget\"}": fields}, "f:phase": {}}}})
        };
        let conditions = json!([{"type": "DisruptionTarget", "status": "True", "reason": reason}]);
        let mut pod = json_pod(&json!({}));
        pod["status"]["conditions"] = conditions;
        pod["metadata"]["managedFields"] = entries.iter().map(entry).collect();
        let fact = fact(from_json(&pod));
        (fact.marked, fact.marked_by_another)
    };
    let ours = "DeletionByTaintManager";
    assert_eq!(reported(ours, &[("taintward", &all)]), (true, false));
    assert_eq!(reported(ours, &[(original, &all)]), (true, true));
    assert_eq!(reported(ours, &[("taintward", &all), (original, &time)]), (true, true));
    assert_eq!(reported(ours, &[("taintward", &all), ("kube-scheduler", &old)]), (true, false));
    assert_eq!(reported(ours, &[]), (true, false), "without an entry it is not another client's");
    assert_eq!(reported(ours, &[("", &all), (original, &json!(1))]), (true, false));
    assert_eq!(reported("EvictionByEvictionAPI", &[(original, &all)]), (false, false), "not read");
}

#[test]
fn a_status_is_decoded_in_both_encodings() {
    let details = field(5, &integer(5, 7));
    let message = [field(3, b"too old"), field(4, b"Expired"), details, integer(6, 410)].concat();
    let unknown = [field(1, &field(2, b"Status")), field(2, &message)].concat();
    let protobuf = [&b"k8s\0"[..], &unknown].concat();
    let json = json!({"kind": "Status", "message": "too old", "reason": "Expired", "code": 410,
                      "details": {"retryAfterSeconds": 7}})
    .to_string();
    let expected = ApiStatus {
        code: 410,
        reason: "Expired".to_owned(),
        message: "too old".to_owned(),
        retry_after_seconds: Some(7),
    };
    for (content_type, bytes) in
        [("application/vnd.kubernetes.protobuf", protobuf), ("application/json", json.into_bytes())]
    {
        assert_eq!(status_from_body(content_type, &bytes), Some(expected.clone()));
        assert_eq!(object_from_body::<PodFact>(content_type, &bytes), ObjectBody::Status(expected.clone()));
    }
    assert_eq!(status_from_body("text/html", b"<html>"), None);
    assert_eq!(status_from_body("application/json", br#"{"kind":"Pod"}"#), None);
}

#[test]
fn a_body_of_another_kind_is_reported_as_such() {
    for (content_type, bytes, reason) in [
        ("text/html", &b"<html>"[..], "content type"),
        ("application/json", br#"{"kind":"Node","metadata":{}}"#, "a Node where a Pod was expected"),
        ("application/json", b"{", "not a Kubernetes object"),
        ("application/vnd.kubernetes.protobuf", b"{}", "no Kubernetes protobuf"),
    ] {
        match object_from_body::<PodFact>(content_type, bytes) {
            ObjectBody::Foreign(why) => assert!(why.contains(reason), "{why}"),
            other => panic!("{other:?}"),
        }
    }
}
