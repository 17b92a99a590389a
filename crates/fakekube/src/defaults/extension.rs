//! Sets defaults of webhook configurations, custom resource definitions and autoscalers, which are stored but not acted on.

use crate::custom;
use crate::json_ext::{fill, has, list, list_mut, object, text};
use serde_json::{Value, json};

/// A webhook configuration, or a definition of a custom kind.
pub(super) fn extension(resource: &str, object: &mut Value) {
    match resource {
        "mutatingwebhookconfigurations" => webhooks(object, true),
        "validatingwebhookconfigurations" => webhooks(object, false),
        "customresourcedefinitions" => definition(object),
        _ => {}
    }
}

/// A HorizontalPodAutoscaler: without metrics it counts the processor. Version 1 gets its metrics when it is converted.
pub(super) fn autoscaler(scaler: &mut Value) {
    let is_stored = scaler["apiVersion"] == "autoscaling/v2";
    let spec = object(scaler, "spec");
    fill(spec, "minReplicas", 1);
    if is_stored && list(spec, "metrics").is_empty() {
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        spec["metrics"] = json!([{"type": "Resource", "resource": {"name": "cpu", "target": target}}]);
    }
}

/// A webhook configuration.
fn webhooks(configuration: &mut Value, mutating: bool) {
    for webhook in list_mut(configuration, "webhooks") {
        fill(webhook, "failurePolicy", "Fail");
        fill(webhook, "matchPolicy", "Equivalent");
        fill(webhook, "namespaceSelector", json!({}));
        fill(webhook, "objectSelector", json!({}));
        fill(webhook, "timeoutSeconds", 10);
        if mutating {
            fill(webhook, "reinvocationPolicy", "Never");
        }
        list_mut(webhook, "rules").for_each(|rule| fill(rule, "scope", "*"));
        service(object(webhook, "clientConfig"));
    }
}

/// Where a webhook is.
fn service(client: &mut Value) {
    if has(client, "service") {
        fill(object(client, "service"), "port", 443);
    }
}

/// A definition of a custom kind.
fn definition(definition: &mut Value) {
    let spec = object(definition, "spec");
    let names = object(spec, "names");
    let kind = text(names, "kind").to_owned();
    fill(names, "singular", kind.to_lowercase());
    if !kind.is_empty() {
        fill(names, "listKind", format!("{kind}List"));
    }
    fill(spec, "conversion", json!({"strategy": "None"}));
    if has(&spec["conversion"], "webhook") {
        service(object(object(object(spec, "conversion"), "webhook"), "clientConfig"));
    }
    let stored = list(&definition["spec"], "versions").iter().find(|version| version["storage"] == true);
    let stored: Vec<Value> = stored.map(|version| version["name"].clone()).into_iter().collect();
    fill(object(definition, "status"), "storedVersions", stored);
}

/// Sets the status of a new definition: registered kinds are established, others will not be.
pub(super) fn defined(definition: &mut Value) {
    let (spec, now) = (&definition["spec"], definition["metadata"]["creationTimestamp"].clone());
    let same = |known: &Value| {
        (&known["group"], &known["names"]["plural"]) == (&spec["group"], &spec["names"]["plural"])
    };
    let served = custom::definitions().iter().any(|one| same(&one.object["spec"]));
    let condition = |kind: &str, is: bool, reason: &str, message: &str| {
        let status = if is { "True" } else { "False" };
        json!({"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": now})
    };
    let established = match served {
        true => {
            condition("Established", true, "InitialNamesAccepted", "the initial names have been accepted")
        }
        false => condition(
            "Established",
            false,
            "NotServed",
            "no custom kinds are served but those that the server began with",
        ),
    };
    let names = condition("NamesAccepted", true, "NoConflicts", "no conflicts found");
    let accepted = if served { spec["names"].clone() } else { json!({"kind": "", "plural": ""}) };
    let status = object(definition, "status");
    status["conditions"] = json!([names, established]);
    status["acceptedNames"] = accepted;
}
