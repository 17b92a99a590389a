//! Compares health endpoints, unsupported verbs, reviews and request parameters.

use super::cases;
use super::play::{Play, Request};
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

fn health(play: &mut Play) {
    for path in ["/healthz", "/livez", "/readyz", "/livez/ping", "/readyz/ping", "/healthz/ping"] {
        let response = play.get(path).is(200);
        assert_eq!(response.body, "ok", "{path}");
    }
    play.get("/readyz/none-such").is(404);
}

fn health_in_verbose_form(play: &mut Play) {
    let reported = play.check(&["/none"], "/readyz?verbose").is(200);
    let text = reported.body.as_str().unwrap();
    assert!(text.starts_with("[+]ping ok\n") && text.ends_with("readyz check passed\n"), "{text}");
}

fn verbs_a_resource_has_not(play: &mut Play) {
    let paths = [play.core("configmaps/c"), play.core("pods/p/status")];
    for path in &paths {
        play.post(path, &json!({})).rejected(405, "MethodNotAllowed");
    }
    play.put(play.core("configmaps"), &json!({})).rejected(405, "MethodNotAllowed");
    play.patch(play.core("configmaps"), super::play::MERGE, &json!({})).rejected(405, "MethodNotAllowed");
    play.delete(play.core("pods/p/status")).rejected(405, "MethodNotAllowed");
    play.get(play.core("pods/p/binding")).rejected(405, "MethodNotAllowed");
    play.get(play.core("pods/p/eviction")).rejected(405, "MethodNotAllowed");
    play.get(play.core("bindings")).rejected(405, "MethodNotAllowed");
    play.delete("/api/v1/namespaces").rejected(405, "MethodNotAllowed");
    play.post("/api/v1/pods", &json!({})).rejected(405, "MethodNotAllowed");
    play.delete("/api/v1/pods").rejected(405, "MethodNotAllowed");
    play.get("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews").rejected(405, "MethodNotAllowed");
}

fn unsupported_verbs(play: &mut Play) {
    for verb in ["DANCE", "TRACE", "PROPFIND"] {
        play.send(Request::new(verb, play.core("configmaps"))).is(405);
    }
    play.send(Request::new("POST", "/api")).is(405);
    play.send(Request::new("DELETE", "/version"));
    play.send(Request::new("POST", "/healthz"));
}

fn head(play: &mut Play) {
    play.send(Request::new("HEAD", play.core("configmaps"))).is(405);
    play.send(Request::new("HEAD", "/version"));
    play.send(Request::new("HEAD", "/healthz"));
}

fn options(play: &mut Play) {
    play.send(Request::new("OPTIONS", play.core("configmaps"))).is(405);
    play.send(Request::new("OPTIONS", "/api"));
}

const REVIEWS: &str = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";

fn may_i(play: &mut Play) {
    let request = |attributes: Value| json!({"spec": {"resourceAttributes": attributes}});
    let path = REVIEWS;
    for attributes in [
        json!({"verb": "delete", "resource": "pods", "namespace": "default"}),
        json!({"verb": "patch", "resource": "pods", "subresource": "status"}),
        json!({"verb": "*", "group": "*", "resource": "*"}),
    ] {
        let review = play.keeping(&["/kind", "/apiVersion", "/metadata/name", "/spec", "/status/allowed"]);
        review.post(path, &request(attributes)).is(201).has("/status/allowed", true);
    }
    // Clients before 1.33 send empty fields explicitly.
    for metadata in [json!({"creationTimestamp": null}), json!({"name": "", "labels": {}})] {
        let mut review = request(json!({"verb": "delete", "resource": "pods"}));
        review["metadata"] = metadata;
        let response = play.keeping(&["/spec", "/status/allowed"]).post(path, &review);
        response.is(201).has("/status/allowed", true);
    }
    let other = json!({"spec": {"nonResourceAttributes": {"path": "/metrics", "verb": "get"}}});
    play.keeping(&["/spec", "/status/allowed"]).post(path, &other).is(201).has("/status/allowed", true);
}

fn what_may_i(play: &mut Play) {
    let path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
    let review =
        play.keeping(&["/kind", "/spec"]).post(path, &json!({"spec": {"namespace": "default"}})).is(201);
    review.some("/status/resourceRules/0");
}

fn who_am_i(play: &mut Play) {
    let path = "/apis/authentication.k8s.io/v1/selfsubjectreviews";
    play.keeping(&["/kind", "/apiVersion"]).post(path, &json!({})).is(201).some("/status/userInfo/username");
}

fn queries_that_are_odd(play: &mut Play) {
    for query in ["?&limit=1", "limit=1&limit=2", "labelSelector=%zz", "a;b=c", "="] {
        play.check(&["/kind"], play.core(&format!("configmaps?{query}")));
    }
    play.get(play.core("configmaps?&&limit=1")).is(200);
}

fn paths_that_are_odd(play: &mut Play) {
    let own = play.own.clone();
    for path in [
        format!("/api/v1//namespaces/{own}/configmaps"),
        format!("/api/v1/namespaces/{own}/configmaps/"),
        format!("/api/v1/namespaces/{own}/configmaps/a%2Fb"),
        format!("/api/v1/namespaces/{own}/configmaps/a%20b"),
        format!("/api/v1/namespaces/{own}/configmaps/../pods"),
        format!("/api/v1/namespaces/{own}/"),
        "/api/v1/namespaces//configmaps".into(),
    ] {
        play.check(&["/kind"], path);
    }
}

fn methods_by_query(play: &mut Play) {
    play.given(&play.core("configmaps"), &json!({"metadata": {"name": "c"}}));
    play.check(&["/kind"], play.core("configmaps/c?watch=true&timeoutSeconds=1"));
    play.send(Request::new("DELETE", play.core("configmaps/c?watch=true"))).is(200);
}
