//! Tests malformed reviews: each gets an error of one line that names the fault.

use serde_json::{Value, json};
use std::time::{Duration, Instant};
use taintward_admission::review::{
    AdmissionRequest, InvalidReview, RequestOperation, ReviewPhase, ReviewVerdict, Reviewer, decode, judge,
};

struct Allows;

impl Reviewer for Allows {
    fn mutate(&self, _: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        Ok(ReviewVerdict::allow())
    }

    fn validate(&self, _: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        Ok(ReviewVerdict::allow())
    }
}

fn question(object: &str) -> String {
    let named = r#"{"group":"","version":"v1","kind":"Pod","resource":"pods"}"#;
    format!(
        r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u","kind":{named},"resource":{named},"operation":"CREATE","object":{object}}}}}"#
    )
}

/// A valid review with another value under a pointer.
fn with(pointer: &str, value: Value) -> String {
    let mut whole: Value = serde_json::from_str(&question(r#"{"spec":{}}"#)).unwrap();
    let (parent, last) = pointer.rsplit_once('/').unwrap();
    whole.pointer_mut(parent).unwrap()[last] = value;
    whole.to_string()
}

fn unreviewed(body: &[u8]) -> String {
    let message = judge(ReviewPhase::Mutate, body, &Allows).expect_err("it is invalid").to_string();
    assert!(!message.chars().any(char::is_control), "{message:?}");
    assert!(message.len() < 1000, "{message}");
    message
}

#[test]
fn a_valid_review_is_answered() {
    for phase in [ReviewPhase::Mutate, ReviewPhase::Validate] {
        assert!(judge(phase, question("{}").as_bytes(), &Allows).is_ok());
    }
}

#[test]
fn a_missing_or_wrong_field_is_named() {
    for (pointer, value, message) in [
        (
            "/apiVersion",
            json!("admission.k8s.io/v1beta1"),
            "apiVersion must be admission.k8s.io/v1, not admission.k8s.io/v1beta1",
        ),
        ("/apiVersion", json!(null), "apiVersion must be admission.k8s.io/v1, not empty"),
        ("/apiVersion", json!("\u{1b}[31m\n"), "apiVersion must be admission.k8s.io/v1, not \\u001b[31m\\n"),
        ("/kind", json!("Pod"), "kind must be AdmissionReview, not Pod"),
        ("/request", json!(null), "it has no request"),
        ("/request/uid", json!(null), "request.uid is missing"),
        ("/request/uid", json!(""), "request.uid is missing"),
        ("/request/uid", json!("u".repeat(257)), "request.uid has 257 bytes, 256 at most"),
        ("/request/kind", json!(null), "request.kind is missing"),
        ("/request/kind/kind", json!(""), "request.kind.kind is missing"),
        ("/request/kind/version", json!(null), "request.kind.version is missing"),
        ("/request/resource", json!(null), "request.resource is missing"),
        ("/request/resource/resource", json!(""), "request.resource.resource is missing"),
        (
            "/request/operation",
            json!("EAT"),
            "request.operation must be one of CREATE, UPDATE, DELETE, CONNECT, not EAT",
        ),
        (
            "/request/operation",
            json!("create"),
            "request.operation must be one of CREATE, UPDATE, DELETE, CONNECT, not create",
        ),
        (
            "/request/operation",
            json!(null),
            "request.operation must be one of CREATE, UPDATE, DELETE, CONNECT, not empty",
        ),
        ("/request/operation", json!("UPDATE"), "request.oldObject is missing"),
        ("/request/object", json!(null), "request.object is missing"),
        ("/request/object", json!([1]), "request.object must be an object"),
        ("/request/object", json!("x"), "request.object must be an object"),
        ("/request/oldObject", json!(7), "request.oldObject must be an object"),
    ] {
        assert_eq!(unreviewed(with(pointer, value).as_bytes()), message);
    }
}

#[test]
fn values_of_the_wrong_type_are_named_with_their_position() {
    for (pointer, value) in [
        ("/kind", json!(5)),
        ("/request", json!([])),
        ("/request", json!(["u", {"version": "v1", "kind": "Pod"}])),
        ("/request/kind", json!(["", "v1", "Pod", "pods"])),
        ("/request", json!("x")),
        ("/request/uid", json!({})),
        ("/request/dryRun", json!("yes")),
        ("/request/userInfo", json!(1)),
        ("/request/userInfo", json!({"groups": "all"})),
        ("/request/namespace", json!(1e300)),
    ] {
        let message = unreviewed(with(pointer, value).as_bytes());
        assert!(
            message.starts_with("no AdmissionReview of admission.k8s.io/v1: invalid type: "),
            "{message}"
        );
        assert!(message.contains(" at line 1 column "), "{message}");
    }
}

#[test]
fn bytes_that_are_not_json_are_refused() {
    let deep = "[".repeat(10_000);
    let closed = format!("{deep}{}", "]".repeat(10_000));
    for body in [
        "",
        " ",
        "null",
        "5",
        "[]",
        r#"["admission.k8s.io/v1","AdmissionReview",null]"#,
        "\"x\"",
        "{",
        "{}x",
        "{\"a\":1,}",
        "NaN",
        "{'a':1}",
        "\u{feff}{}",
        &deep,
        &closed,
        &"{\"a\":".repeat(10_000),
        &question("NaN"),
        &question("{\"a\":NaN}"),
        &question("{\"a\":Infinity}"),
        &question("{\"a\":01}"),
        &question("{\"a\":\"\u{1}\"}"),
        &question("{\"a\":\"\\ud800x"),
        &question("{\"a\":}"),
        &format!("{}x", question("{}")),
        &question("{}")[..50],
    ] {
        unreviewed(body.as_bytes());
    }
    assert_eq!(unreviewed(b"{\"kind\":\"\xff\"}"), "not UTF-8 at byte 9");
}

#[test]
fn a_duplicate_field_is_refused() {
    let twice = question("{}").replace(r#""uid":"u""#, r#""uid":"u","uid":"v""#);
    assert!(unreviewed(twice.as_bytes()).contains("duplicate field `uid`"));
    let twice = question("{}").replace(r#""request":{"#, r#""request":null,"request":{"#);
    assert!(unreviewed(twice.as_bytes()).contains("duplicate field `request`"));
}

#[test]
fn depth_does_not_matter_and_costs_no_stack() {
    let nested = |depth: usize| format!("{{\"a\":{}{}}}", "[".repeat(depth - 1), "]".repeat(depth - 1));
    for depth in [110, 300, 10_000, 100_000] {
        let object = question(&nested(depth));
        assert!(decode(object.as_bytes()).is_ok(), "{depth}");
        assert!(judge(ReviewPhase::Mutate, object.as_bytes(), &Allows).is_ok(), "{depth}");
        let elsewhere = question("{}").replace(r#""uid""#, &format!(r#""options":{},"uid""#, nested(depth)));
        assert!(judge(ReviewPhase::Mutate, elsewhere.as_bytes(), &Allows).is_ok(), "{depth}");
    }
}

#[test]
fn unusual_but_legal_values_are_passed_on() {
    let huge = question(r#"{"n":123456789012345678901234567890,"m":-1e999999,"a":1,"a":2}"#);
    assert!(decode(huge.as_bytes()).is_ok(), "the object's decoder handles it");
    let subresource = with("/request/subResource", json!("ephemeralcontainers"));
    assert_eq!(decode(subresource.as_bytes()).unwrap().subresource, "ephemeralcontainers");
    let unknown = with("/request/newField", json!({"a": [1, 2]}));
    assert!(decode(unknown.as_bytes()).is_ok());
    let mut delete: Value = serde_json::from_str(&with("/request/operation", json!("DELETE"))).unwrap();
    delete["request"]["oldObject"] = delete["request"]["object"].take();
    let text = delete.to_string();
    let request = decode(text.as_bytes()).unwrap();
    assert_eq!(
        (request.operation, request.object.is_none(), request.old_object.is_some()),
        (RequestOperation::Delete, true, true)
    );
}

#[test]
fn a_large_object_takes_negligible_time_and_is_not_copied() {
    let pod = format!(r#"{{"spec":{{"a":"{}"}}}}"#, "[{\\\"".repeat(800_000));
    let body = question(&pod);
    assert!(body.len() > 3 << 20);
    let began = Instant::now();
    let request = decode(body.as_bytes()).unwrap();
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    let (start, end) = (body.as_ptr() as usize, body.as_ptr() as usize + body.len());
    assert!((start..end).contains(&(request.object.unwrap().get().as_ptr() as usize)));
}

#[test]
fn every_piece_of_a_review_is_refused_or_answered() {
    let body = question(r#"{"spec":{"tolerations":[{"key":"k\u00e9"}]}}"#);
    for end in 0..body.len() {
        unreviewed(&body.as_bytes()[..end]);
    }
    for (at, with) in (0..body.len()).flat_map(|at| b"\0\"{}[],:x\xff1".map(|with| (at, with))) {
        let mut bytes = body.clone().into_bytes();
        bytes[at] = with;
        taintward_admission::review::fuzz_entry(&bytes);
    }
}
