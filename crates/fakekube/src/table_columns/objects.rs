//! Prints the columns of namespaces, leases, disruption budgets and kinds without columns of their own.

use super::age::age;
use super::read::{given, number, scalar, string};
use super::{AGE, NAME, TableDefinition, cells, integer, text};
use jiff::Timestamp;
use serde_json::Value;
use std::borrow::Cow;

pub(super) const SHEETS: &[TableDefinition] = &[
    TableDefinition::new(" namespaces", &[NAME, text("Status"), AGE], |object, now| {
        cells![name(object), string(object, "status.phase"), age(object, now)]
    }),
    TableDefinition::new("coordination.k8s.io leases", &[NAME, text("Holder"), AGE], |object, now| {
        cells![name(object), string(object, "spec.holderIdentity"), age(object, now)]
    }),
    TableDefinition::new(
        "policy poddisruptionbudgets",
        &[NAME, text("Min Available"), text("Max Unavailable"), integer("Allowed Disruptions"), AGE],
        budget,
    ),
];

pub(super) fn name(object: &Value) -> &str {
    string(object, "metadata.name")
}

/// What has no columns of its own; its time is not an age.
pub(super) fn plain(object: &Value, _now: Timestamp) -> Vec<Value> {
    cells![name(object), string(object, "metadata.creationTimestamp")]
}

fn budget(object: &Value, now: Timestamp) -> Vec<Value> {
    let bound = |path| given(object, path).map_or(Cow::Borrowed("N/A"), scalar);
    cells![
        name(object),
        bound("spec.minAvailable"),
        bound("spec.maxUnavailable"),
        number(object, "status.disruptionsAllowed"),
        age(object, now),
    ]
}
