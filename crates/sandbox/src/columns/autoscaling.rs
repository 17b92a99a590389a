//! # Autoscalers as rows
//! Room:     horizontal pod autoscalers of both versions, their metrics in one cell; scales.
//! Comes in: their objects, the time.
//! Goes out: cells.
//! Not here: `autoscaling/v1`'s annotation of metrics, which only that version shows.

use super::age::age;
use super::objects::name;
use super::read::{given, list, number, scalar, string};
use super::{AGE, Column, NAME, Sheet, cells, integer, text};
use jiff::Timestamp;
use serde_json::Value;
use std::borrow::Cow;

pub(super) const SHEETS: &[Sheet] = &[
    Sheet::new(
        "autoscaling horizontalpodautoscalers",
        &[NAME, text("Reference"), text("Targets"), text("MinPods"), text("MaxPods"), text("Replicas"), AGE],
        autoscaler,
    ),
    Sheet::new(
        "autoscaling scales",
        &[Column { format: "", ..NAME }, integer("Desired"), integer("Available"), AGE],
        scale,
    ),
];

/// How many metrics are shown.
const SHOWN: usize = 2;

/// What `autoscaling/v1` aims at when it is not told.
const DEFAULT_TARGET: &str = "80%";

fn autoscaler(object: &Value, now: Timestamp) -> Vec<Value> {
    let target = given(object, "spec.scaleTargetRef").unwrap_or(&Value::Null);
    cells![
        name(object),
        format!("{}/{}", string(target, "kind"), string(target, "name")),
        metrics(object),
        given(object, "spec.minReplicas").map_or_else(|| "<unset>".to_owned(), Value::to_string),
        number(object, "spec.maxReplicas"),
        number(object, "status.currentReplicas"),
        age(object, now),
    ]
}

fn metrics(object: &Value) -> String {
    if string(object, "apiVersion") == "autoscaling/v1" {
        let target = given(object, "spec.targetCPUUtilizationPercentage");
        let current = given(object, "status.currentCPUUtilizationPercentage");
        return format!("cpu: {}/{}", percent(current, "<unknown>"), percent(target, DEFAULT_TARGET));
    }
    let specs = list(object, "spec.metrics");
    let statuses = list(object, "status.currentMetrics");
    let shown: Vec<String> = specs
        .iter()
        .enumerate()
        .take(SHOWN)
        .map(|(place, spec)| metric(spec, statuses.get(place).unwrap_or(&Value::Null)))
        .collect();
    match specs.len().checked_sub(SHOWN) {
        Some(more) if more > 0 => format!("{} + {more} more...", shown.join(", ")),
        _ if shown.is_empty() => "<none>".to_owned(),
        _ => shown.join(", "),
    }
}

/// `current/target`; the status that stands in the same place is the metric's if it is of the same type.
fn metric(spec: &Value, status: &Value) -> String {
    let (field, of_containers) = match string(spec, "type") {
        "External" => ("external", false),
        "Object" => ("object", false),
        "Pods" => ("pods", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let spec = given(spec, field).unwrap_or(&Value::Null);
    let status = given(status, field);
    let current = |of: &str| status.map(|status| quantity(given(status, &format!("current.{of}"))));
    let current = |of: &str| current(of).unwrap_or("<unknown>".into());
    let average = given(spec, "target.averageValue");
    if of_containers {
        let resource = string(spec, "name");
        return match average {
            Some(target) => format!("{resource}: {}/{}", current("averageValue"), scalar(target)),
            None => {
                let used = status.and_then(|status| given(status, "current.averageUtilization"));
                let wanted = given(spec, "target.averageUtilization");
                format!("{resource}: {}/{}", percent(used, "<unknown>"), percent(wanted, "<auto>"))
            }
        };
    }
    match average {
        _ if field == "pods" => format!("{}/{}", current("averageValue"), quantity(average)),
        Some(target) => {
            let now = status.and_then(|status| given(status, "current.averageValue"));
            format!("{}/{} (avg)", now.map_or("<unknown>".into(), scalar), scalar(target))
        }
        None => format!("{}/{}", current("value"), quantity(given(spec, "target.value"))),
    }
}

/// A quantity that is looked at though it is not there is printed as Go prints a pointer to nothing.
fn quantity(value: Option<&Value>) -> Cow<'_, str> {
    value.map_or("<nil>".into(), scalar)
}

fn percent(value: Option<&Value>, otherwise: &str) -> String {
    value.map_or_else(|| otherwise.to_owned(), |value| format!("{value}%"))
}

fn scale(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), number(object, "spec.replicas"), number(object, "status.replicas"), age(object, now),]
}
