//! Builds the JSON of the explanation of a pod.

use super::{PodExplanation, TaintExplanation, blockers, miss, possible_nodes};
use crate::explain::object_parts;
use crate::messages::{self, stamp};
use serde_json::{Value, json};
use taintward_core::taint_start::BindingSource;
use taintward_core::toleration::Toleration;
use taintward_core::toleration_matching::TaintMatch;
use taintward_core::verdict::Outcome;

pub(super) fn object(explanation: &PodExplanation<'_>) -> Value {
    let details = explanation.details;
    let outcome = match explanation.outcome() {
        Some(Outcome::Stays(_)) => "Stays",
        Some(Outcome::StaysUntil(_)) => "StaysUntil",
        Some(Outcome::Leaves { .. }) => "Goes",
        None if details.node.is_empty() => "Unbound",
        None => "Unknown",
    };
    let leaves = match explanation.outcome() {
        Some(Outcome::StaysUntil(at) | Outcome::Leaves { due: at }) => Some(at),
        _ => None,
    };
    let parts = explanation.parts();
    let events = explanation.context.events(Some(&details.namespace), &details.name);
    let mut object = json!({
        "kind": "Explanation",
        "about": {
            "kind": "Pod", "namespace": details.namespace, "name": details.name, "uid": details.uid,
        },
        "outcome": outcome,
        "summary": explanation.summary(),
        "node": (!details.node.is_empty()).then_some(&details.node),
        "workload": explanation.workload().map(messages::workload),
        "leavesAt": leaves.map(stamp),
        "inSeconds": leaves.map(|at| (at.as_micros() - explanation.now().mono.as_micros()) / 1_000_000),
        "taint": parts.iter().find(|part| part.decides).map(|part| part.instance.taint.to_string()),
        "arrival": explanation.pod.filter(|pod| pod.node.is_some()).map(|pod| {
            json!({ "at": stamp(pod.arrival.at), "source": arrival(pod.arrival.source) })
        }),
        "taints": parts.iter().map(taint).collect::<Vec<_>>(),
        "otherTaints": explanation
            .others()
            .into_iter()
            .map(|(taint, tolerated)| json!({ "taint": taint.to_string(), "tolerated": tolerated }))
            .collect::<Vec<_>>(),
        "inTheWay": blockers::of(explanation),
        "events": object_parts::events(&events),
    });
    if let Some(places) = possible_nodes::object(explanation) {
        object["places"] = places;
    }
    object
}

fn toleration(tolerations: &[Toleration], at: usize) -> Value {
    let one = &tolerations[at];
    messages::toleration_object(at, Some(messages::toleration(one)), Some(one.patience()))
}

fn taint(part: &TaintExplanation<'_>) -> Value {
    let (instance, reason) = (part.instance, part.reason);
    let mut object = part.description.object();
    object["corrected"] = json!(instance.start.clamped);
    object["countsFrom"] = stamp(reason.counts_from);
    object["leavesAt"] = reason.due.map_or(Value::Null, stamp);
    object["decides"] = json!(part.decides);
    object["toleration"] = match reason.taint_match {
        TaintMatch::Tolerated(at) | TaintMatch::Unsupported(at) => toleration(part.tolerations, at),
        TaintMatch::Untolerated => Value::Null,
    };
    object["understood"] = json!(!matches!(reason.taint_match, TaintMatch::Unsupported(_)));
    object["nearest"] = part.near.as_ref().map_or(Value::Null, |near| {
        let mut nearest = toleration(part.tolerations, near.position);
        nearest["why"] = json!(miss(near, part.tolerations, &instance.taint));
        nearest
    });
    object["morePatient"] = part.trap.map_or(Value::Null, |at| toleration(part.tolerations, at));
    object
}

const fn arrival(source: BindingSource) -> &'static str {
    match source {
        BindingSource::SeenLive => "SeenLive",
        BindingSource::PodScheduled => "PodScheduled",
        BindingSource::StartTime => "StartTime",
        BindingSource::Created => "Created",
        BindingSource::FirstSight => "FirstSight",
    }
}
