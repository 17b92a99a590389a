//! Compares HorizontalPodAutoscalers in both versions, and the tables of kinds with columns of their own.

use super::cases;
use super::harness::{ConformanceHarness, MERGE};
use serde_json::{Value, json};

cases![
    a_scaler_of_version_1,
    a_scaler_of_version_2,
    metrics_survive_version_1,
    a_scaler_without_metrics,
    a_table_of_scalers,
    a_table_of_config_maps,
    a_table_of_secrets,
    a_table_of_cron_jobs,
    a_table_of_events_in_both_groups,
];

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io";

fn path(harness: &ConformanceHarness, version: &str, rest: &str) -> String {
    harness.group(&format!("autoscaling/{version}"), rest)
}

fn scaler(spec: &Value) -> Value {
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"});
    let mut scaler =
        json!({"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, "maxReplicas": 9}});
    for (field, value) in spec.as_object().into_iter().flatten() {
        scaler["spec"][field] = value.clone();
    }
    scaler
}

fn a_scaler_of_version_1(harness: &mut ConformanceHarness) {
    let (first, second) =
        (path(harness, "v1", "horizontalpodautoscalers"), path(harness, "v2", "horizontalpodautoscalers"));
    let made =
        harness.post(&first, &scaler(&json!({"minReplicas": 2, "targetCPUUtilizationPercentage": 70})));
    made.is(201).has("/apiVersion", "autoscaling/v1").has("/spec/targetCPUUtilizationPercentage", 70);
    let places = &["/apiVersion", "/kind", "/spec", "/metadata/annotations", "/metadata/generation"];
    let read = harness.check(places, format!("{second}/web")).is(200);
    read.has("/spec/metrics/0/resource/target/averageUtilization", 70);
    harness.check(places, format!("{first}/web")).is(200).has("/spec/minReplicas", 2);
    let patch = json!({"spec": {"targetCPUUtilizationPercentage": 50}});
    harness.keeping(places).patch(format!("{first}/web"), MERGE, &patch).is(200);
    let read = harness.check(places, format!("{second}/web")).is(200);
    read.has("/spec/metrics/0/resource/target/averageUtilization", 50);
    harness.keeping(&["/apiVersion", "/kind", "/items/*/spec"]).get(&first).is(200);
}

fn a_scaler_of_version_2(harness: &mut ConformanceHarness) {
    let (first, second) =
        (path(harness, "v1", "horizontalpodautoscalers"), path(harness, "v2", "horizontalpodautoscalers"));
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}});
    harness.post(&second, &scaler(&json!({"metrics": [cpu]}))).is(201);
    let places = &["/apiVersion", "/kind", "/spec"];
    let read = harness.check(places, format!("{first}/web")).is(200);
    read.has("/spec/targetCPUUtilizationPercentage", 60).has("/spec/minReplicas", 1);
}

fn metrics_survive_version_1(harness: &mut ConformanceHarness) {
    let (first, second) =
        (path(harness, "v1", "horizontalpodautoscalers"), path(harness, "v2", "horizontalpodautoscalers"));
    let average = json!({"type": "AverageValue", "averageValue": "10"});
    let metrics = json!([
        {"type": "Resource", "resource": {"name": "memory", "target": average}},
        {"type": "External", "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "30"}}},
        {"type": "Pods", "pods": {"metric": {"name": "rps"}, "target": average}},
    ]);
    harness.given(&second, &scaler(&json!({"metrics": metrics})));
    let patch = json!({"spec": {"maxReplicas": 20}});
    let places = &["/apiVersion", "/kind", "/spec"];
    harness.keeping(places).patch(format!("{first}/web"), MERGE, &patch).is(200).has("/spec/maxReplicas", 20);
    let read = harness.check(places, format!("{second}/web")).is(200);
    read.has("/spec/metrics/1/external/metric/name", "queue").has("/spec/metrics/2/pods/metric/name", "rps");
}

fn a_scaler_without_metrics(harness: &mut ConformanceHarness) {
    let (first, second) =
        (path(harness, "v1", "horizontalpodautoscalers"), path(harness, "v2", "horizontalpodautoscalers"));
    let places = &["/apiVersion", "/kind", "/spec"];
    harness.keeping(places).post(&second, &scaler(&json!({}))).is(201);
    harness.check(places, format!("{first}/web")).is(200).has("/spec/targetCPUUtilizationPercentage", 80);
}

/// The columns and the cells, without the times.
const CELLS: &[&str] = &[
    "/kind",
    "/columnDefinitions/*/name",
    "/columnDefinitions/*/priority",
    "/rows/*/cells/0",
    "/rows/*/cells/1",
    "/rows/*/cells/2",
];

fn a_table_of_scalers(harness: &mut ConformanceHarness) {
    let (first, second) =
        (path(harness, "v1", "horizontalpodautoscalers"), path(harness, "v2", "horizontalpodautoscalers"));
    harness.given(&first, &scaler(&json!({"targetCPUUtilizationPercentage": 70})));
    for path in [first, second] {
        let table = harness.keeping(CELLS).get_as(path, TABLE).is(200);
        table.has("/rows/0/cells/2", "cpu: <unknown>/70%");
    }
}

fn a_table_of_config_maps(harness: &mut ConformanceHarness) {
    let path = harness.core("configmaps");
    harness.given(&path, &json!({"metadata": {"name": "a"}, "data": {"x": "1", "y": "2"}}));
    let one = format!("{path}/a");
    harness.keeping(&CELLS[..5]).get_as(one, TABLE).is(200).has("/rows/0/cells/1", 2);
}

fn a_table_of_secrets(harness: &mut ConformanceHarness) {
    let path = harness.core("secrets");
    harness.given(&path, &json!({"metadata": {"name": "a"}, "stringData": {"x": "1"}}));
    let table = harness.keeping(CELLS).get_as(format!("{path}/a"), TABLE).is(200);
    table.has("/rows/0/cells/1", "Opaque").has("/rows/0/cells/2", 1);
}

fn a_table_of_cron_jobs(harness: &mut ConformanceHarness) {
    let path = harness.group("batch/v1", "cronjobs");
    let template = json!({"spec": {"restartPolicy": "Never", "containers": [{"name": "x", "image": "x:1"}]}});
    let spec = json!({"schedule": "@hourly", "timeZone": "Etc/UTC", "jobTemplate": {"spec": {"template": template}}});
    harness.given(&path, &json!({"metadata": {"name": "a"}, "spec": spec}));
    let table = harness.keeping(&[
        "/columnDefinitions/*/name",
        "/rows/*/cells/1",
        "/rows/*/cells/2",
        "/rows/*/cells/3",
    ]);
    table.get_as(path, TABLE).is(200).has("/rows/0/cells/3", "False");
}

fn a_table_of_events_in_both_groups(harness: &mut ConformanceHarness) {
    let path = harness.core("events");
    let about = json!({"kind": "Pod", "name": "p", "namespace": harness.core("").split('/').nth(4)});
    let event = json!({"metadata": {"name": "e"}, "involvedObject": about, "reason": "Seen", "message": "a", "type": "Normal"});
    harness.given(&path, &event);
    for path in [path, harness.group("events.k8s.io/v1", "events")] {
        let places = &["/columnDefinitions/*/name", "/rows/*/cells/1", "/rows/*/cells/2", "/rows/*/cells/3"];
        harness.keeping(places).get_as(path, TABLE).is(200).has("/rows/0/cells/2", "Seen");
    }
}
