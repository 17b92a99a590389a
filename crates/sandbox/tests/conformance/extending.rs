//! Compares webhook configurations, custom resource definitions and flow control objects.

use super::cases;
use super::discovery::only;
use super::harness::{APPLY, ConformanceHarness, RecordedRequest};
use serde_json::{Value, json};

cases![
    discovery_lists_them,
    webhook_configurations,
    an_applied_webhook_configuration,
    a_flow_schema,
    a_priority_level,
    a_definition,
];

const ADMISSION: &str = "/apis/admissionregistration.k8s.io/v1";
const FLOWS: &str = "/apis/flowcontrol.apiserver.k8s.io/v1";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

fn discovery_lists_them(harness: &mut ConformanceHarness) {
    harness.get(ADMISSION).is(200);
    only(
        harness,
        "/resources",
        "/name",
        &["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
    );
    harness.get(FLOWS).is(200);
    let flows = [
        "flowschemas",
        "flowschemas/status",
        "prioritylevelconfigurations",
        "prioritylevelconfigurations/status",
    ];
    only(harness, "/resources", "/name", &flows);
    harness.get("/apis/apiextensions.k8s.io/v1").is(200);
    only(harness, "/resources", "/name", &["customresourcedefinitions", "customresourcedefinitions/status"]);
}

/// A configuration for a resource that does not exist, so that no webhook is called.
fn configuration(name: &str) -> Value {
    json!({"metadata": {"name": name}, "webhooks": [{
        "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
        "clientConfig": {"service": {"name": "a", "namespace": "b", "path": "/c"}},
        "rules": [{"apiGroups": ["none.example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}],
    }]})
}

fn webhook_configurations(harness: &mut ConformanceHarness) {
    for (kind, unlike) in
        [("validatingwebhookconfigurations", false), ("mutatingwebhookconfigurations", true)]
    {
        let (path, name) = (format!("{ADMISSION}/{kind}"), harness.named("a"));
        let made =
            harness.post(&path, &configuration(&name)).is(201).has("/webhooks/0/failurePolicy", "Fail");
        let made = made.has("/webhooks/0/clientConfig/service/port", 443).has("/metadata/generation", 1);
        assert_eq!(made.body.pointer("/webhooks/0/reinvocationPolicy").is_some(), unlike);
        let mut body = configuration(&name);
        body["webhooks"][0]["timeoutSeconds"] = 3.into();
        let put = harness.put(format!("{path}/{name}"), &body);
        assert!(matches!(put.code, 200 | 422), "{}", put.body);
        harness.get(format!("{path}/{name}")).is(200);
        harness.delete(format!("{path}/{name}")).is(200);
        harness.get(format!("{path}/{name}")).rejected(404, "NotFound");
    }
}

fn an_applied_webhook_configuration(harness: &mut ConformanceHarness) {
    let name = harness.named("a");
    let mut body = configuration(&name);
    body["apiVersion"] = "admissionregistration.k8s.io/v1".into();
    body["kind"] = "ValidatingWebhookConfiguration".into();
    let path = format!("{ADMISSION}/validatingwebhookconfigurations/{name}?fieldManager=me");
    for code in [201, 200] {
        harness
            .send(RecordedRequest::new("PATCH", &path).body(APPLY, body.to_string()))
            .is(code)
            .has("/metadata/generation", 1);
    }
    body["webhooks"][0]["timeoutSeconds"] = 3.into();
    harness
        .send(RecordedRequest::new("PATCH", &path).body(APPLY, body.to_string()))
        .is(200)
        .has("/metadata/generation", 2);
}

fn a_flow_schema(harness: &mut ConformanceHarness) {
    let name = harness.named("a");
    let schema = json!({"metadata": {"name": name}, "spec": {"priorityLevelConfiguration": {"name": "exempt"}, "matchingPrecedence": 1000, "rules": [{
        "subjects": [{"kind": "User", "user": {"name": "nobody-at-all"}}],
        "resourceRules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get"], "clusterScope": true}],
    }]}});
    let made = harness.post(format!("{FLOWS}/flowschemas"), &schema).is(201);
    made.has("/metadata/generation", 1);
    harness.check(&["/spec"], format!("{FLOWS}/flowschemas/{name}")).is(200);
}

fn a_priority_level(harness: &mut ConformanceHarness) {
    let path = format!("{FLOWS}/prioritylevelconfigurations");
    for (name, response) in [
        ("a", json!({"type": "Reject"})),
        ("b", json!({"type": "Queue", "queuing": {"handSize": 8, "queues": 64, "queueLengthLimit": 50}})),
    ] {
        let limited = json!({"nominalConcurrencyShares": 1, "lendablePercent": 0, "limitResponse": response});
        let level = json!({"metadata": {"name": harness.named(name)}, "spec": {"type": "Limited", "limited": limited}});
        harness.keeping(&["/spec", "/metadata/generation"]).post(&path, &level).is(201);
    }
}

fn a_definition(harness: &mut ConformanceHarness) {
    let group = format!("{}.example.com", harness.own);
    let name = format!("things.{group}");
    let definition = json!({"metadata": {"name": name}, "spec": {
        "group": group, "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": {"type": "object", "properties": {
                "size": {"type": "integer", "default": 3, "minimum": 1},
                "words": {"type": "array", "items": {"type": "string", "enum": ["a", "b"]}},
                "rest": {"type": "object", "additionalProperties": {"type": "string"}},
            }}},
        }}}],
    }});
    let places = ["/spec", "/metadata/generation", "/status/storedVersions"];
    harness.keeping(&places).post(DEFINITIONS, &definition).is(201).has("/spec/names/listKind", "ThingList");
    let path = format!("{DEFINITIONS}/{name}");
    harness.check(&places, &path).is(200).has("/spec/names/singular", "thing");
    // The response of a real server depends on the progress of its own controllers.
    harness.request(&RecordedRequest::new("DELETE", &path)).is(200);
}
