//! Tests that an apply that changes nothing leaves the object as it is.

use super::*;
use crate::api::ApiServerSettings;
use crate::resource::known;

/// The applied object after the clock has passed a second.
fn applied(server: &ApiServer, on: &ResourcePath, patch: &Value) -> Value {
    let before = server.clock().time_text();
    while server.clock().time_text() == before {
        std::hint::spin_loop();
    }
    let options = WriteOptions::by("me");
    server.patch(on, &PatchBody::Apply(patch.clone()), &options).expect("a valid object").object.value()
}

#[test]
fn an_apply_that_changes_nothing_is_no_write_whatever_second_it_is() {
    let server = ApiServer::new(ApiServerSettings::default());
    server.bootstrap();
    server.clock().set_speed(10_000.0);
    let kind = known("admissionregistration.k8s.io", "validatingwebhookconfigurations");
    let on = ResourcePath::object(kind, "", "a");
    // The list of rules is replaced as a whole, and a default completes each rule again.
    let mut patch = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "a"}, "webhooks": [{
            "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"name": "a", "namespace": "b"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
        }],
    });
    let first = applied(&server, &on, &patch);
    assert_eq!(applied(&server, &on, &patch), first);
    patch["webhooks"][0]["timeoutSeconds"] = 3.into();
    let changed = applied(&server, &on, &patch);
    assert_ne!(changed["metadata"]["resourceVersion"], first["metadata"]["resourceVersion"]);
    assert_ne!(
        changed["metadata"]["managedFields"][0]["time"],
        first["metadata"]["managedFields"][0]["time"]
    );
}
