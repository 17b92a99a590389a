//! Tests well-formed reviews and their responses.

use super::*;
use serde_json::{Value, json};

/// Returns a fixed verdict.
struct FixedVerdict(ReviewVerdict);

impl Reviewer for FixedVerdict {
    fn mutate(&self, _: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        Ok(self.0.clone())
    }

    fn validate(&self, _: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        Ok(self.0.clone())
    }
}

struct Breaks;

impl Reviewer for Breaks {
    fn mutate(&self, request: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        panic!("no rule for {}", request.name)
    }

    fn validate(&self, _: &AdmissionRequest<'_>) -> Result<ReviewVerdict, InvalidReview> {
        panic!("broken")
    }
}

fn question() -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
            "name": "a\u{e9}", "namespace": "b", "operation": "CREATE", "dryRun": true,
            "userInfo": {"username": "me", "uid": "x", "groups": ["g", "h"], "extra": {"k": ["v"]}},
            "object": {"spec": {"containers": []}}, "oldObject": null, "options": {"kind": "CreateOptions"},
        },
    })
}

fn judged(verdict: ReviewVerdict, phase: ReviewPhase) -> (Value, Outcome) {
    let judged = judge(phase, question().to_string().as_bytes(), &FixedVerdict(verdict)).unwrap();
    (serde_json::from_slice(&judged.body).unwrap(), judged.outcome)
}

#[test]
fn a_review_is_decoded() {
    let text = question().to_string();
    let request = decode(text.as_bytes()).unwrap();
    assert_eq!((request.operation, request.dry_run), (RequestOperation::Create, true));
    assert_eq!((&*request.kind.kind, &*request.resource.resource), ("Pod", "pods"));
    assert_eq!((&*request.namespace, &*request.name, &*request.subresource), ("b", "aé", ""));
    assert_eq!((&*request.user.username, request.user.groups.len()), ("me", 2));
    assert_eq!(request.object.unwrap().get(), r#"{"spec":{"containers":[]}}"#);
    assert!(request.old_object.is_none());
    assert!(matches!(request.uid, std::borrow::Cow::Borrowed(_)), "nothing is copied");
}

#[test]
fn a_response_has_the_required_fields_and_no_more() {
    let (response, outcome) = judged(ReviewVerdict::allow(), ReviewPhase::Mutate);
    let expected = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": true},
    });
    assert_eq!((response, outcome), (expected, Outcome::Allowed));
}

#[test]
fn a_denial_has_a_reason_and_no_patch() {
    let mut verdict = ReviewVerdict::deny("not\nfor you").warn("look");
    verdict.patch.add_tolerations(None, &[PatchedToleration::default()]);
    verdict.audit.push(("pool", "gpu".into()));
    let (response, outcome) = judged(verdict, ReviewPhase::Mutate);
    let expected = json!({
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002", "allowed": false, "warnings": ["look"],
        "status": {"status": "Failure", "message": "not for you", "reason": "Forbidden", "code": 403},
        "auditAnnotations": {"pool": "gpu"},
    });
    assert_eq!((&response["response"], outcome), (&expected, Outcome::Denied));
}

#[test]
fn only_an_object_that_may_still_change_is_patched() {
    let mut verdict = ReviewVerdict::allow();
    verdict.patch.add_tolerations(Some(1), &[PatchedToleration { key: "k", ..PatchedToleration::default() }]);
    let (response, outcome) = judged(verdict.clone(), ReviewPhase::Mutate);
    assert_eq!(outcome, Outcome::Patched);
    assert_eq!(response["response"]["patchType"], "JSONPatch");
    let (response, outcome) = judged(verdict, ReviewPhase::Validate);
    assert_eq!(outcome, Outcome::Allowed);
    assert_eq!(response["response"].get("patch"), None);
    assert_eq!(response["response"].get("patchType"), None);
}

#[test]
fn a_rule_that_panics_refuses_nothing() {
    for phase in [ReviewPhase::Mutate, ReviewPhase::Validate] {
        let judged = judge(phase, question().to_string().as_bytes(), &Breaks).unwrap();
        assert_eq!(judged.outcome, Outcome::Panicked);
        let response: Value = serde_json::from_slice(&judged.body).unwrap();
        let uid = "705ab4f5-6393-11e8-b7cc-42010a800002";
        assert_eq!(response["response"], json!({"uid": uid, "allowed": true}));
    }
}

#[test]
fn a_status_that_is_not_an_error_becomes_one() {
    let mut verdict = ReviewVerdict::deny("x");
    verdict.denial = Some(ReviewDenial { code: 200, ..ReviewDenial::forbidden("x") });
    assert_eq!(judged(verdict, ReviewPhase::Validate).0["response"]["status"]["code"], 403);
}
