//! Converts HorizontalPodAutoscalers between `autoscaling/v2`, in which they are stored, and `autoscaling/v1`.
//!
//! - Version 1 has a field for the first metric of the processor only. As on a real server, the rest is JSON in
//!   annotations, so that a client of version 1 loses nothing.

use crate::json_ext::{fill, list, object, text};
use crate::resource::ResourceType;
use serde_json::{Map, Value, json};

const GROUP: &str = "autoscaling";

/// The annotations of version 1, and the fields of version 2.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const ANNOTATED: [(&str, &str, &str); 3] = [
    ("autoscaling.alpha.kubernetes.io/behavior", "spec", "behavior"),
    ("autoscaling.alpha.kubernetes.io/conditions", "status", "conditions"),
    ("autoscaling.alpha.kubernetes.io/current-metrics", "status", "currentMetrics"),
];

/// Whether the resource shows autoscalers in version 1.
pub(super) fn is_autoscaler(resource: &ResourceType) -> bool {
    (resource.group, resource.version, resource.kind) == (GROUP, "v1", "HorizontalPodAutoscaler")
}

/// Converts version 1 into version 2.
pub(super) fn to_home(scaler: &mut Value) {
    if scaler["apiVersion"] != "autoscaling/v1" {
        return;
    }
    scaler["apiVersion"] = json!("autoscaling/v2");
    let mut metrics: Vec<Value> = Vec::new();
    if let Some(percent) = take(scaler, "spec", "targetCPUUtilizationPercentage") {
        let target = json!({"type": "Utilization", "averageUtilization": percent});
        metrics.push(json!({"type": "Resource", "resource": {"name": "cpu", "target": target}}));
    }
    if let Some(Value::Array(more)) = annotation(scaler, METRICS) {
        metrics.extend(more.into_iter().map(|metric| metric_to_home(&metric)));
    }
    if !metrics.is_empty() {
        object(scaler, "spec")["metrics"] = json!(metrics);
    }
    take(scaler, "status", "currentCPUUtilizationPercentage");
    for (name, part, field) in ANNOTATED {
        if let Some(value) = annotation(scaler, name) {
            object(scaler, part)[field] = value;
        }
    }
    if scaler["metadata"]["annotations"].as_object().is_some_and(Map::is_empty) {
        object(scaler, "metadata").as_object_mut().map(|metadata| metadata.remove("annotations"));
    }
}

/// Converts version 2 into version 1.
pub(super) fn from_home(mut scaler: Value) -> Value {
    if scaler["apiVersion"] != "autoscaling/v2" {
        return scaler;
    }
    scaler["apiVersion"] = json!("autoscaling/v1");
    for (name, part, field) in ANNOTATED {
        if field == "currentMetrics"
            && let Some(percent) = cpu(list(&scaler["status"], field)).map(|at| percent(&scaler, at))
        {
            object(&mut scaler, "status")["currentCPUUtilizationPercentage"] = percent;
        }
        if let Some(value) = take(&mut scaler, part, field) {
            annotate(&mut scaler, name, &value);
        }
    }
    if let Some(Value::Array(mut metrics)) = take(&mut scaler, "spec", "metrics") {
        let first = metrics.iter().position(|metric| {
            metric["resource"]["name"] == "cpu"
                && !metric["resource"]["target"]["averageUtilization"].is_null()
        });
        if let Some(at) = first {
            let metric = metrics.remove(at);
            let percent = metric["resource"]["target"]["averageUtilization"].clone();
            object(&mut scaler, "spec")["targetCPUUtilizationPercentage"] = percent;
        }
        let rest: Vec<Value> = metrics.iter().map(metric_from_home).collect();
        annotate(&mut scaler, METRICS, &json!(rest));
    }
    if scaler.get("status").is_some() {
        // Version 2 omits it.
        fill(object(&mut scaler, "status"), "currentReplicas", 0);
    }
    scaler
}

fn cpu(metrics: &[Value]) -> Option<usize> {
    metrics.iter().position(|metric| {
        metric["resource"]["name"] == "cpu" && !metric["resource"]["current"]["averageUtilization"].is_null()
    })
}

fn percent(scaler: &Value, at: usize) -> Value {
    scaler["status"]["currentMetrics"][at]["resource"]["current"]["averageUtilization"].clone()
}

fn take(scaler: &mut Value, part: &str, field: &str) -> Option<Value> {
    scaler.get_mut(part)?.as_object_mut()?.remove(field).filter(|value| !value.is_null())
}

/// Takes an annotation, and parses it. One that is not JSON is dropped.
fn annotation(scaler: &mut Value, name: &str) -> Option<Value> {
    let annotations = scaler.get_mut("metadata")?.get_mut("annotations")?.as_object_mut()?;
    serde_json::from_str(annotations.remove(name)?.as_str()?).ok()
}

fn annotate(scaler: &mut Value, name: &str, value: &Value) {
    if value.as_array().is_none_or(|list| !list.is_empty()) {
        object(object(scaler, "metadata"), "annotations")[name] = json!(value.to_string());
    }
}

/// The types of metrics, and the field of each.
const SOURCES: [(&str, &str); 5] = [
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
    ("ContainerResource", "containerResource"),
    ("External", "external"),
];

fn field_of(metric: &Value) -> &'static str {
    let found = SOURCES.into_iter().find(|(kind, _)| *kind == text(metric, "type"));
    found.map_or("resource", |(_, field)| field)
}

/// A metric of an annotation, in which the names of targets and metrics are flat.
fn metric_from_home(metric: &Value) -> Value {
    let field = field_of(metric);
    let source = &metric[field];
    let target = &source["target"];
    let mut flat = Map::new();
    let selector = if field == "external" { "metricSelector" } else { "selector" };
    let average = if matches!(field, "object") { "averageValue" } else { "targetAverageValue" };
    for (name, value) in [
        ("name", &source["name"]),
        ("container", &source["container"]),
        ("target", &source["describedObject"]),
        ("metricName", &source["metric"]["name"]),
        (selector, &source["metric"]["selector"]),
        ("targetValue", &target["value"]),
        (average, &target["averageValue"]),
        ("targetAverageUtilization", &target["averageUtilization"]),
    ] {
        if !value.is_null() {
            flat.insert(name.to_owned(), value.clone());
        }
    }
    json!({"type": metric["type"], field: flat})
}

/// The opposite.
fn metric_to_home(metric: &Value) -> Value {
    let field = field_of(metric);
    let source = &metric[field];
    let first = |names: [&str; 2]| {
        names.into_iter().map(|name| source[name].clone()).find(|value| !value.is_null()).unwrap_or_default()
    };
    let average = first(["targetAverageValue", "averageValue"]);
    let mut target = Map::new();
    for (name, kind, value) in [
        ("value", "Value", source["targetValue"].clone()),
        ("averageValue", "AverageValue", average),
        ("averageUtilization", "Utilization", source["targetAverageUtilization"].clone()),
    ] {
        // Version 1 of a metric of an object always has a value, which is 0 if the average counts.
        let is_absent = value.is_null() || name == "value" && value == "0";
        if !is_absent {
            target.insert("type".to_owned(), json!(kind));
            target.insert(name.to_owned(), value);
        }
    }
    let mut nested = json!({"target": target});
    for (name, value) in [
        ("name", &source["name"]),
        ("container", &source["container"]),
        ("describedObject", &source["target"]),
    ] {
        if !value.is_null() {
            nested[name] = value.clone();
        }
    }
    if !source["metricName"].is_null() {
        nested["metric"] = json!({"name": source["metricName"]});
        let selector = first(["metricSelector", "selector"]);
        if !selector.is_null() {
            nested["metric"]["selector"] = selector;
        }
    }
    json!({"type": metric["type"], field: nested})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scaler(metrics: &Value) -> Value {
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
            "spec": {
                "scaleTargetRef": {"kind": "Deployment", "name": "web"}, "maxReplicas": 9, "metrics": metrics,
                "behavior": {"scaleDown": {"stabilizationWindowSeconds": 60}},
            },
            "status": {"desiredReplicas": 2, "conditions": [{"type": "AbleToScale", "status": "True"}]},
        })
    }

    #[test]
    fn a_client_of_version_1_loses_nothing() {
        let of = |kind: &str, field: &str, source: Value| json!({"type": kind, field: source});
        let utilization = json!({"type": "Utilization", "averageUtilization": 70});
        let average = json!({"type": "AverageValue", "averageValue": "10"});
        let value = json!({"type": "Value", "value": "30"});
        let metric = json!({"name": "queue", "selector": {"matchLabels": {"a": "b"}}});
        let described = json!({"kind": "Ingress", "name": "main", "apiVersion": "networking.k8s.io/v1"});
        let all = json!([
            of("Resource", "resource", json!({"name": "cpu", "target": utilization})),
            of("Resource", "resource", json!({"name": "memory", "target": average})),
            of(
                "ContainerResource",
                "containerResource",
                json!({"name": "cpu", "container": "x", "target": utilization})
            ),
            of("Pods", "pods", json!({"metric": {"name": "rps"}, "target": average})),
            of("External", "external", json!({"metric": metric, "target": value})),
            of("External", "external", json!({"metric": metric, "target": average})),
            of("Object", "object", json!({"metric": metric, "describedObject": described, "target": value})),
            of(
                "Object",
                "object",
                json!({"metric": metric, "describedObject": described, "target": average})
            ),
        ]);
        let stored = scaler(&all);
        let mut shown = from_home(stored.clone());
        assert_eq!(shown["apiVersion"], "autoscaling/v1");
        assert_eq!(shown["spec"]["targetCPUUtilizationPercentage"], 70);
        assert!(shown["spec"].get("metrics").is_none() && shown["spec"].get("behavior").is_none());
        assert_eq!(shown["status"]["currentReplicas"], 0);
        to_home(&mut shown);
        shown["status"].as_object_mut().expect("a map").remove("currentReplicas");
        assert_eq!(shown, stored);
    }

    #[test]
    fn what_kubectl_autoscale_creates_counts_the_processor() {
        let mut created = json!({
            "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "web"},
            "spec": {"maxReplicas": 9, "targetCPUUtilizationPercentage": 80},
        });
        to_home(&mut created);
        let target = json!({"type": "Utilization", "averageUtilization": 80});
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        assert_eq!(created["spec"], json!({"maxReplicas": 9, "metrics": [cpu]}));
        assert_eq!(created["apiVersion"], "autoscaling/v2");
    }
}
