//! Defines PodMonitor and PrometheusRule with the fields that the chart uses, in the place of the Prometheus operator.

use serde_json::{Value, json};

/// Both definitions, in a `List`.
pub(crate) fn definitions() -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": [
        definition("PodMonitor", "podmonitors", &pod_monitor()),
        definition("PrometheusRule", "prometheusrules", &prometheus_rule()),
    ]})
}

fn definition(kind: &str, plural: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.monitoring.coreos.com")},
        "spec": {
            "group": "monitoring.coreos.com",
            "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": object(&json!({"spec": spec}))},
            }],
        },
    })
}

fn object(properties: &Value) -> Value {
    json!({"type": "object", "properties": properties})
}

fn text() -> Value {
    json!({"type": "string"})
}

fn texts() -> Value {
    json!({"type": "object", "additionalProperties": text()})
}

fn list(items: &Value) -> Value {
    json!({"type": "array", "items": items})
}

fn pod_monitor() -> Value {
    let credentials = object(&json!({"name": text(), "key": text()}));
    let endpoint = object(&json!({
        "port": text(),
        "scheme": text(),
        "path": text(),
        "interval": {"type": "string", "pattern": "^[0-9]+(ms|s|m|h)$"},
        "tlsConfig": object(&json!({"insecureSkipVerify": {"type": "boolean"}})),
        "authorization": object(&json!({"type": text(), "credentials": credentials})),
    }));
    object(&json!({
        "selector": object(&json!({"matchLabels": texts()})),
        "podMetricsEndpoints": list(&endpoint),
    }))
}

fn prometheus_rule() -> Value {
    let rule = object(&json!({
        "alert": text(),
        "expr": text(),
        "for": text(),
        "labels": texts(),
        "annotations": texts(),
    }));
    object(&json!({"groups": list(&object(&json!({"name": text(), "rules": list(&rule)})))}))
}
