//! # Plain objects as rows
//! Room:     what is in every namespace: config maps, secrets, accounts, leases, budgets, quotas, bindings of roles; also
//!           namespaces, and whatever has no columns of its own.
//! Comes in: their objects, the time.
//! Goes out: cells.
//! Not here: what belongs to a cluster as a whole (`cluster`).

use super::age::age;
use super::read::{given, list, number, scalar, size, string, time};
use super::{AGE, Column, NAME, Sheet, cells, integer, text, wide};
use jiff::Timestamp;
use serde_json::Value;
use std::borrow::Cow;

pub(super) const SHEETS: &[Sheet] = &[
    Sheet::new(" namespaces", &[NAME, text("Status"), AGE], |object, now| {
        cells![name(object), string(object, "status.phase"), age(object, now)]
    }),
    Sheet::new(" configmaps", &[NAME, text("Data"), AGE], |object, now| {
        cells![name(object), size(object, "data") + size(object, "binaryData"), age(object, now)]
    }),
    Sheet::new(" secrets", &[NAME, text("Type"), text("Data"), AGE], |object, now| {
        cells![name(object), string(object, "type"), size(object, "data"), age(object, now)]
    }),
    Sheet::new(" serviceaccounts", &[NAME, AGE], |object, now| cells![name(object), age(object, now)]),
    Sheet::new(" resourcequotas", &[NAME, text("Request"), text("Limit"), AGE], quota),
    Sheet::new("coordination.k8s.io leases", &[NAME, text("Holder"), AGE], |object, now| {
        cells![name(object), string(object, "spec.holderIdentity"), age(object, now)]
    }),
    Sheet::new(
        "policy poddisruptionbudgets",
        &[NAME, text("Min Available"), text("Max Unavailable"), integer("Allowed Disruptions"), AGE],
        budget,
    ),
    Sheet::new("rbac.authorization.k8s.io rolebindings", BINDING, binding),
    Sheet::new("rbac.authorization.k8s.io clusterrolebindings", BINDING, binding),
];

const BINDING: &[Column] = &[NAME, text("Role"), AGE, wide("Users"), wide("Groups"), wide("ServiceAccounts")];

pub(super) fn name(object: &Value) -> &str {
    string(object, "metadata.name")
}

/// What has no columns of its own; its time is not an age.
pub(super) fn plain(object: &Value, _now: Timestamp) -> Vec<Value> {
    let created = time(object, "metadata.creationTimestamp");
    cells![
        name(object),
        created.map_or_else(
            || "0001-01-01T00:00:00Z".to_owned(),
            |created| created.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
        ),
    ]
}

fn quota(object: &Value, now: Timestamp) -> Vec<Value> {
    let (mut requests, mut limits) = (Vec::new(), Vec::new());
    let used = given(object, "status.used").unwrap_or(&Value::Null);
    for (resource, hard) in given(object, "status.hard").and_then(Value::as_object).into_iter().flatten() {
        let used = used.get(resource).map_or("0".into(), scalar);
        let text = format!("{resource}: {used}/{}", scalar(hard));
        if resource.starts_with("limits.") { &mut limits } else { &mut requests }.push(text);
    }
    cells![name(object), requests.join(", "), limits.join(", "), age(object, now)]
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

fn binding(object: &Value, now: Timestamp) -> Vec<Value> {
    let subjects = |kind: &str| {
        let subjects = list(object, "subjects").iter().filter(|subject| string(subject, "kind") == kind);
        let names: Vec<String> = subjects
            .map(|subject| match kind {
                "ServiceAccount" => format!("{}/{}", string(subject, "namespace"), string(subject, "name")),
                _ => string(subject, "name").to_owned(),
            })
            .collect();
        names.join(", ")
    };
    cells![
        name(object),
        format!("{}/{}", string(object, "roleRef.kind"), string(object, "roleRef.name")),
        age(object, now),
        subjects("User"),
        subjects("Group"),
        subjects("ServiceAccount"),
    ]
}
