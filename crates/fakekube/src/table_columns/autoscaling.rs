//! Prints the columns of HorizontalPodAutoscalers, from their form in `autoscaling/v2`.

use super::{AGE, Made, MadeNow, NAME, TableColumn, given, list, number, some_of, string, string_or, text};
use serde_json::Value;

pub(super) const AUTOSCALERS: &[TableColumn] = &[
    NAME,
    text(
        "Reference",
        Made(|scaler| {
            format!(
                "{}/{}",
                string(scaler, "spec.scaleTargetRef.kind"),
                string(scaler, "spec.scaleTargetRef.name")
            )
        }),
    ),
    text("Targets", Made(targets)),
    text(
        "MinPods",
        Made(|scaler| {
            given(scaler, "spec.minReplicas").map_or_else(|| "<unset>".to_owned(), Value::to_string)
        }),
    ),
    text("MaxPods", MadeNow(|scaler, _| number(scaler, "spec.maxReplicas").into())),
    text("Replicas", MadeNow(|scaler, _| number(scaler, "status.currentReplicas").into())),
    AGE,
];

fn targets(scaler: &Value) -> String {
    let statuses = list(scaler, "status.currentMetrics");
    let metrics = list(scaler, "spec.metrics").iter().enumerate();
    let targets: Vec<String> = metrics.map(|(at, metric)| target(metric, statuses.get(at))).collect();
    if targets.is_empty() { "<none>".to_owned() } else { some_of(&targets, 2, ", ") }
}

/// `cpu: 40%/80%`, `12/30 (avg)`
fn target(metric: &Value, status: Option<&Value>) -> String {
    let (source, is_resource) = match string(metric, "type") {
        "External" => ("external", false),
        "Pods" => ("pods", false),
        "Object" => ("object", false),
        "Resource" => ("resource", true),
        "ContainerResource" => ("containerResource", true),
        _ => return "<unknown type>".to_owned(),
    };
    let status = status.and_then(|status| given(status, source));
    let current =
        |field: &str| status.map_or("<unknown>", |status| string_or(&status["current"], field, "0"));
    let wanted = &metric[source]["target"];
    let percent = |of: Option<&Value>, unknown: &str| {
        let found = of.and_then(|of| given(of, "averageUtilization"));
        found.map_or_else(|| unknown.to_owned(), |found| format!("{found}%"))
    };
    match (given(wanted, "averageValue").and_then(Value::as_str), is_resource) {
        (Some(average), true) => {
            format!("{}: {}/{average}", string(&metric[source], "name"), current("averageValue"))
        }
        (None, true) => format!(
            "{}: {}/{}",
            string(&metric[source], "name"),
            percent(status.map(|status| &status["current"]), "<unknown>"),
            percent(Some(wanted), "<auto>")
        ),
        (average, false) if source == "pods" => {
            format!("{}/{}", current("averageValue"), average.unwrap_or("0"))
        }
        (Some(average), false) => {
            let known =
                status.and_then(|status| given(&status["current"], "averageValue")).and_then(Value::as_str);
            format!("{}/{average} (avg)", known.unwrap_or("<unknown>"))
        }
        (None, false) => format!("{}/{}", current("value"), string_or(wanted, "value", "0")),
    }
}
