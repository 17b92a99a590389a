//! # What extends an API server as rows
//! Room:     webhook configurations, the sharing of requests.
//! Comes in: their objects, the time.
//! Goes out: cells.
//! Not here: definitions of custom kinds, which have no columns of their own.

use super::age::age;
use super::objects::name;
use super::read::{condition, given, list, number, string, string_or};
use super::{AGE, Column, NAME, Sheet, cells, integer, text};
use jiff::Timestamp;
use serde_json::Value;

pub(super) const SHEETS: &[Sheet] = &[
    Sheet::new("admissionregistration.k8s.io mutatingwebhookconfigurations", WEBHOOKS, webhooks),
    Sheet::new("admissionregistration.k8s.io validatingwebhookconfigurations", WEBHOOKS, webhooks),
    Sheet::new(
        "flowcontrol.apiserver.k8s.io flowschemas",
        &[
            NAME,
            text("PriorityLevel"),
            text("MatchingPrecedence"),
            text("DistinguisherMethod"),
            AGE,
            text("MissingPL"),
        ],
        flow_schema,
    ),
    Sheet::new(
        "flowcontrol.apiserver.k8s.io prioritylevelconfigurations",
        &[
            NAME,
            text("Type"),
            text("NominalConcurrencyShares"),
            text("Queues"),
            text("HandSize"),
            text("QueueLengthLimit"),
            AGE,
        ],
        priority_level,
    ),
];

const WEBHOOKS: &[Column] = &[NAME, integer("Webhooks"), AGE];

fn webhooks(object: &Value, now: Timestamp) -> Vec<Value> {
    cells![name(object), list(object, "webhooks").len(), age(object, now)]
}

fn flow_schema(object: &Value, now: Timestamp) -> Vec<Value> {
    let dangling = condition(object, "status.conditions", "Dangling");
    cells![
        name(object),
        string(object, "spec.priorityLevelConfiguration.name"),
        number(object, "spec.matchingPrecedence"),
        string_or(object, "spec.distinguisherMethod.type", "<none>"),
        age(object, now),
        dangling.map_or("?", |dangling| string(dangling, "status")),
    ]
}

fn priority_level(object: &Value, now: Timestamp) -> Vec<Value> {
    let limit = |path| given(object, path).cloned().unwrap_or_else(|| "<none>".into());
    cells![
        name(object),
        string(object, "spec.type"),
        limit("spec.limited.nominalConcurrencyShares"),
        limit("spec.limited.limitResponse.queuing.queues"),
        limit("spec.limited.limitResponse.queuing.handSize"),
        limit("spec.limited.limitResponse.queuing.queueLengthLimit"),
        age(object, now),
    ]
}
