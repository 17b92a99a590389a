//! Compares health endpoints, unsupported verbs, reviews and request parameters.

use super::cases;
use super::harness::{ConformanceHarness, RecordedRequest};
use serde_json::{Value, json};

cases![
    health,
    health_in_verbose_form,
    verbs_a_resource_has_not,
    unsupported_verbs,
    head,
    options,
    may_i,
    what_may_i,
    who_am_i,
    queries_that_are_odd,
    paths_that_are_odd,
    methods_by_query,
];

fn health(harness: &mut ConformanceHarness) {
    for path in ["/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/ping", "/healthz/ping"] {
        let response = harness.get(path).is(200);
        assert_eq!(response.body, "ok", "{path}");
    }
    harness.get("/readyz/none-such").is(404);
}

fn health_in_verbose_form(harness: &mut ConformanceHarness) {
    let reported = harness.check(&["/none"], "/readyz?verbose").is(200);
    let text = reported.body.as_str().unwrap();
    assert!(text.starts_with("[+]ping ok\n") && text.ends_with("readyz check passed\n"), "{text}");
}

fn verbs_a_resource_has_not(harness: &mut ConformanceHarness) {
    let paths = [harness.core("configmaps/c"), harness.core("pods/p/status")];
    for path in &paths {
        harness.post(path, &json!({})).rejected(405, "MethodNotAllowed");
    }
    harness.put(harness.core("configmaps"), &json!({})).rejected(405, "MethodNotAllowed");
    harness
        .patch(harness.core("configmaps"), super::harness::MERGE, &json!({}))
        .rejected(405, "MethodNotAllowed");
    harness.delete(harness.core("pods/p/status")).rejected(405, "MethodNotAllowed");
    harness.get(harness.core("pods/p/binding")).rejected(405, "MethodNotAllowed");
    harness.get(harness.core("pods/p/eviction")).rejected(405, "MethodNotAllowed");
    harness.get(harness.core("bindings")).rejected(405, "MethodNotAllowed");
    harness.delete("/api/v1/namespaces").rejected(405, "MethodNotAllowed");
    harness.post("/api/v1/pods", &json!({})).rejected(405, "MethodNotAllowed");
    harness.delete("/api/v1/pods").rejected(405, "MethodNotAllowed");
    harness.get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").rejected(405, "MethodNotAllowed");
}

fn unsupported_verbs(harness: &mut ConformanceHarness) {
    for verb in ["DANCE", "TRACE", "PROPFIND"] {
        harness.send(RecordedRequest::new(verb, harness.core("configmaps"))).is(405);
    }
    harness.send(RecordedRequest::new("POST", "/api")).is(405);
    harness.send(RecordedRequest::new("DELETE", "/version"));
    harness.send(RecordedRequest::new("POST", "/healthz"));
}

fn head(harness: &mut ConformanceHarness) {
    harness.send(RecordedRequest::new("HEAD", harness.core("configmaps"))).is(405);
    harness.send(RecordedRequest::new("HEAD", "/version"));
    harness.send(RecordedRequest::new("HEAD", "/healthz"));
}

fn options(harness: &mut ConformanceHarness) {
    harness.send(RecordedRequest::new("OPTIONS", harness.core("configmaps"))).is(405);
    harness.send(RecordedRequest::new("OPTIONS", "/api"));
}

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

fn may_i(harness: &mut ConformanceHarness) {
    let request = |attributes: Value| json!({"spec": {"resourceAttributes": attributes}});
    let path = REVIEWS;
    for attributes in [
        json!({"verb": "delete", "resource": "pods", "namespace": "default"}),
        json!({"verb": "patch", "resource": "pods", "subresource": "status"}),
        json!({"verb": "*", "group": "*", "resource": "*"}),
    ] {
        let review = harness.keeping(&["/kind", "/apiVersion", "/metadata/name", "/spec", "/status/allowed"]);
        review.post(path, &request(attributes)).is(201).has("/status/allowed", true);
    }
    // Clients before 1.33 send empty fields explicitly.
    for metadata in [json!({"creationTimestamp": null}), json!({"name": "", "labels": {}})] {
        let mut review = request(json!({"verb": "delete", "resource": "pods"}));
        review["metadata"] = metadata;
        let response = harness.keeping(&["/spec", "/status/allowed"]).post(path, &review);
        response.is(201).has("/status/allowed", true);
    }
    let other = json!({"spec": {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}});
    harness.keeping(&["/spec", "/status/allowed"]).post(path, &other).is(201).has("/status/allowed", true);
}

fn what_may_i(harness: &mut ConformanceHarness) {
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let review =
        harness.keeping(&["/kind", "/spec"]).post(path, &json!({"spec": {"namespace": "default"}})).is(201);
    review.some("/status/resourceRules/0");
}

fn who_am_i(harness: &mut ConformanceHarness) {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    harness
        .keeping(&["/kind", "/apiVersion"])
        .post(path, &json!({}))
        .is(201)
        .some("/status/userInfo/username");
}

fn queries_that_are_odd(harness: &mut ConformanceHarness) {
    for query in ["?&limit=1", "limit=1&limit=2", "labelSelector=%zz", "a;b=c", "="] {
        harness.check(&["/kind"], harness.core(&format!("configmaps?{query}")));
    }
    harness.get(harness.core("configmaps?&&limit=1")).is(200);
}

fn paths_that_are_odd(harness: &mut ConformanceHarness) {
    let own = harness.own.clone();
    for path in [
        format!("/api/v1//namespaces/{own}/configmaps"),
        format!("/api/v1/namespaces/{own}/configmaps/"),
        format!("/api/v1/namespaces/{own}/configmaps/a%2Fb"),
        format!("/api/v1/namespaces/{own}/configmaps/a%20b"),
        format!("/api/v1/namespaces/{own}/configmaps/../pods"),
        format!("/api/v1/namespaces/{own}/"),
        "/api/v1/namespaces//configmaps".into(),
    ] {
        harness.check(&["/kind"], path);
    }
}

fn methods_by_query(harness: &mut ConformanceHarness) {
    harness.given(&harness.core("configmaps"), &json!({"metadata": {"name": "c"}}));
    harness.check(&["/kind"], harness.core("configmaps/c?watch=true&timeoutSeconds=1"));
    harness.send(RecordedRequest::new("DELETE", harness.core("configmaps/c?watch=true"))).is(200);
}
