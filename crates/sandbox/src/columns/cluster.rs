//! # A cluster's own objects as rows
//! Room:     classes of priority, of runtimes and of devices, claims of devices, signing requests, components.
//! Comes in: their objects, the time.
//! Goes out: cells.
//! Not here: nodes (`nodes`), volumes (`storage`).

use super::age::{age, human};
use super::objects::name;
use super::read::{condition, flag, given, list, number, string, string_or};
use super::{AGE, NAME, Sheet, boolean, cells, integer, text};
use jiff::Timestamp;
use serde_json::Value;

pub(super) const SHEETS: &[Sheet] = &[
    Sheet::new(
        "scheduling.k8s.io priorityclasses",
        &[NAME, integer("Value"), boolean("Global-Default"), AGE, text("PreemptionPolicy")],
        priority_class,
    ),
    Sheet::new("node.k8s.io runtimeclasses", &[NAME, text("Handler"), AGE], |object, now| {
        cells![name(object), string(object, "handler"), age(object, now)]
    }),
    Sheet::new("resource.k8s.io deviceclasses", &[NAME, AGE], |object, now| {
        cells![name(object), age(object, now)]
    }),
    Sheet::new("resource.k8s.io resourceclaims", &[NAME, text("State"), AGE], |object, now| {
        cells![name(object), claim_state(object), age(object, now)]
    }),
    Sheet::new("resource.k8s.io resourceclaimtemplates", &[NAME, AGE], |object, now| {
        cells![name(object), age(object, now)]
    }),
    Sheet::new(
        "resource.k8s.io resourceslices",
        &[NAME, text("Node"), text("Driver"), text("Pool"), AGE],
        resource_slice,
    ),
    Sheet::new(
        "certificates.k8s.io certificatesigningrequests",
        &[NAME, AGE, text("SignerName"), text("Requestor"), text("RequestedDuration"), text("Condition")],
        signing_request,
    ),
    Sheet::new(" componentstatuses", &[NAME, text("Status"), text("Message"), text("Error")], component),
];

fn priority_class(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(object),
        number(object, "value"),
        flag(object, "globalDefault"),
        age(object, now),
        string(object, "preemptionPolicy"),
    ]
}

fn claim_state(object: &Value) -> String {
    let deleted = given(object, "metadata.deletionTimestamp").is_some();
    let allocated = given(object, "status.allocation").is_some();
    let states = [
        ("deleted", deleted),
        ("pending", !allocated && !deleted),
        ("allocated", allocated),
        ("reserved", allocated && !list(object, "status.reservedFor").is_empty()),
    ];
    let states: Vec<&str> = states.into_iter().filter(|(_, is)| *is).map(|(state, _)| state).collect();
    states.join(",")
}

fn resource_slice(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![
        name(object),
        string(object, "spec.nodeName"),
        string(object, "spec.driver"),
        string(object, "spec.pool.name"),
        age(object, now),
    ]
}

fn signing_request(object: &Value, now: Timestamp) -> Vec<Value> {
    let duration = given(object, "spec.expirationSeconds")
        .map_or_else(|| "<none>".to_owned(), |_| human(number(object, "spec.expirationSeconds")));
    cells![
        name(object),
        age(object, now),
        string_or(object, "spec.signerName", "<none>"),
        string(object, "spec.username"),
        duration,
        signing_state(object),
    ]
}

fn signing_state(object: &Value) -> String {
    let is = |type_| condition(object, "status.conditions", type_).is_some();
    let mut state = match () {
        () if is("Denied") => "Denied",
        () if is("Approved") => "Approved",
        () => "Pending",
    }
    .to_owned();
    if is("Failed") {
        state.push_str(",Failed");
    }
    if !string(object, "status.certificate").is_empty() {
        state.push_str(",Issued");
    }
    state
}

fn component(object: &Value, _now: Timestamp) -> Vec<Value> {
    let Some(healthy) = condition(object, "conditions", "Healthy") else {
        return cells![name(object), "Unknown", "", ""];
    };
    let status = if string(healthy, "status") == "True" { "Healthy" } else { "Unhealthy" };
    cells![name(object), status, string(healthy, "message"), string(healthy, "error")]
}
