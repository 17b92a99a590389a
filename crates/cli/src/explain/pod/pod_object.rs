//! Builds the JSON of the explanation of a pod.

use super::taint_explanation::{TaintExplanation, miss};
use super::{PodExplanation, blockers, ending, possible_nodes};
use crate::explain::object_parts;
use crate::held_pod;
use crate::messages::{self, stamp};
use crate::past_eviction::PastEviction;
use serde_json::{Value, json};
use taintward_core::taint_start::BindingSource;
use taintward_core::time::Now;
use taintward_core::toleration::Toleration;
use taintward_core::toleration_matching::TaintMatch;
use taintward_core::verdict::{Outcome, StayReason};

pub(super) fn object(explanation: &PodExplanation<'_>) -> Value {
    let details = explanation.details;
    let outcome = match explanation.outcome() {
        Some(Outcome::Stays(StayReason::OnHold)) => "Held",
        Some(Outcome::Stays(_)) => "Stays",
        Some(Outcome::StaysUntil(_)) => "CountingDown",
        Some(Outcome::Leaves { .. }) => "Due",
        None if details.node.is_empty() => "Unscheduled",
        None => "Unknown",
    };
    let evicted_at = match explanation.outcome() {
        Some(Outcome::StaysUntil(at) | Outcome::Leaves { due: at }) => Some(at),
        _ => None,
    };
    let parts = explanation.parts();
    let (events, earlier) = explanation.events();
    let earlier = PastEviction::last(explanation.snapshot(), &earlier);
    let mut object = json!({
        "kind": "Explanation",
        "object": {
            "kind": "Pod", "namespace": details.namespace, "name": details.name, "uid": details.uid,
        },
        "outcome": outcome,
        "summary": explanation.summary(),
        "node": (!details.node.is_empty()).then_some(&details.node),
        "workload": explanation.workload().map(messages::workload),
        "evictedAt": evicted_at.map(stamp),
        "evictedAtLatest": explanation.latest().map(|latest| stamp(latest.expected_at)),
        "remainingSeconds": evicted_at.map(|at| (at.as_micros() - explanation.now().mono.as_micros()) / 1_000_000),
        "taint": parts.iter().find(|part| part.decisive).map(|part| part.instance.taint.to_string()),
        "ceilingAt": explanation.ceiling().map(stamp),
        "hold": explanation.pod.map(|pod| held_pod::object(&pod.record, explanation.hold_reason().as_deref())),
        "binding": explanation.pod.filter(|pod| pod.node.is_some()).map(|pod| {
            json!({ "boundAt": stamp(pod.arrival.at), "source": binding_source(pod.arrival.source) })
        }),
        "taints": parts.iter().map(|part| taint(part, explanation.now())).collect::<Vec<_>>(),
        "otherTaints": explanation
            .others()
            .into_iter()
            .map(|(taint, tolerated)| json!({ "taint": taint.to_string(), "tolerated": tolerated }))
            .collect::<Vec<_>>(),
        "ended": ending::object(explanation),
        "blockedBy": blockers::of(explanation),
        "events": object_parts::events(&events),
        "earlierEviction": earlier.as_ref().map(PastEviction::object),
    });
    if let Some(scheduling) = possible_nodes::object(explanation) {
        object["scheduling"] = scheduling;
    }
    object
}

fn toleration(tolerations: &[Toleration], at: usize) -> Value {
    let one = &tolerations[at];
    messages::toleration_object(at, Some(messages::toleration(one)), Some(one.period()))
}

fn taint(part: &TaintExplanation<'_>, now: Now) -> Value {
    let (instance, reason) = (part.instance, part.reason);
    let mut object = part.description.object(now);
    object["corrected"] = json!(instance.start.clamped);
    object["countdownStartedAt"] = stamp(reason.counts_from);
    object["evictedAt"] = reason.due.map_or(Value::Null, stamp);
    object["decisive"] = json!(part.decisive);
    object["toleration"] = match reason.taint_match {
        TaintMatch::Tolerated(at) | TaintMatch::Unsupported(at) => toleration(part.tolerations, at),
        TaintMatch::Untolerated => Value::Null,
    };
    object["tolerationSupported"] = json!(!matches!(reason.taint_match, TaintMatch::Unsupported(_)));
    object["nearestToleration"] = part.nearest.as_ref().map_or(Value::Null, |found| {
        let mut nearest = toleration(part.tolerations, found.position);
        nearest["reason"] = json!(miss(found, part.tolerations, &instance.taint));
        nearest
    });
    object["longerToleration"] = part.longer.map_or(Value::Null, |at| toleration(part.tolerations, at));
    object
}

const fn binding_source(source: BindingSource) -> &'static str {
    match source {
        BindingSource::SeenLive => "Observed",
        BindingSource::PodScheduled => "PodScheduled",
        BindingSource::StartTime => "StartTime",
        BindingSource::Created => "CreationTimestamp",
        BindingSource::FirstSight => "FirstObserved",
    }
}
