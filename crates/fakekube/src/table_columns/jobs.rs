//! Prints the columns of Jobs.

use super::age::{age, human, seconds};
use super::read::{condition, given, number, string, time};
use super::selector::selector;
use super::workloads::{images, names};
use super::{AGE, NAME, TableDefinition, cells, text, wide};
use jiff::Timestamp;
use serde_json::Value;

pub(super) const SHEETS: &[TableDefinition] = &[TableDefinition::new(
    "batch jobs",
    &[
        NAME,
        text("Status"),
        text("Completions"),
        text("Duration"),
        AGE,
        wide("Containers"),
        wide("Images"),
        wide("Selector"),
    ],
    job,
)];

fn job(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        string(object, "metadata.name"),
        status(object),
        completions(object),
        duration(object, now),
        age(object, now),
        names(object, "spec.template.spec.containers"),
        images(object, "spec.template.spec.containers"),
        selector(object, "spec.selector"),
    ]
}

fn status(object: &Value) -> &'static str {
    let is = |type_| {
        condition(object, "status.conditions", type_).is_some_and(|found| string(found, "status") == "True")
    };
    match () {
        () if is("Complete") => "Complete",
        () if is("Failed") => "Failed",
        () if given(object, "metadata.deletionTimestamp").is_some() => "Terminating",
        () if is("Suspended") => "Suspended",
        () if is("FailureTarget") => "FailureTarget",
        () if is("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(object: &Value) -> String {
    let succeeded = number(object, "status.succeeded");
    let parallelism = number(object, "spec.parallelism");
    match given(object, "spec.completions") {
        Some(wanted) => format!("{succeeded}/{wanted}"),
        None if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        None => format!("{succeeded}/1"),
    }
}

/// A job that has not ended takes until now.
fn duration(object: &Value, now: Timestamp) -> String {
    time(object, "status.startTime").map_or_else(String::new, |start| {
        human(seconds(start, time(object, "status.completionTime").unwrap_or(now)))
    })
}
