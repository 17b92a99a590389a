//! Builds the JSON of the explanation of a node.

use super::NodeExplanation;
use crate::explain::object_parts;
use crate::messages::{self, stamp};
use crate::past_eviction::PastEviction;
use serde_json::{Value, json};
use taintward_core::forecast::PodForecast;
use taintward_core::time::Mono;

pub(super) fn object(explanation: &NodeExplanation<'_>) -> Value {
    let (node, totals, now) = (explanation.node(), &explanation.forecast.totals, explanation.now().mono);
    let taints = explanation.taints();
    let evictions = explanation.leaving();
    let pod = |(fate, at): &(&PodForecast, Mono)| {
        let pod = &explanation.snapshot().pods()[fate.pod as usize];
        let taint = fate.decisive.map(|at| explanation.fates().after[at as usize].taint.to_string());
        json!({
            "namespace": pod.name.namespace(),
            "pod": pod.name.name(),
            "node": explanation.node_name(),
            "evictedAt": stamp(*at),
            "remainingSeconds": (at.as_micros() - now.as_micros()) / 1_000_000,
            "taint": taint,
            "reason": messages::leaves(explanation.snapshot(), explanation.fates(), fate),
        })
    };
    let writers = explanation.details.map(|details| &details.writers[..]).unwrap_or_default();
    let stays = messages::stays(explanation.snapshot(), explanation.fates());
    json!({
        "kind": "Explanation",
        "object": { "kind": "Node", "namespace": null, "name": explanation.node_name(), "uid": node.fact.uid.to_string() },
        "outcome": "Node",
        "unschedulable": node.unschedulable,
        "ready": node.ready,
        "taints": taints.iter().map(|taint| taint.object(explanation.now())).collect::<Vec<_>>(),
        "taintManagers": writers.iter().map(|(manager, at)| json!({ "manager": manager, "updatedAt": object_parts::wall(*at) })).collect::<Vec<_>>(),
        "pods": {
            "total": explanation.fates().pods.len(),
            "due": totals.going,
            "countingDown": totals.later,
            "staying": totals.staying + totals.exempt + totals.not_understood - explanation.held(),
            "held": explanation.held(),
        },
        "evictions": evictions.iter().map(pod).collect::<Vec<_>>(),
        "stayingReasons": stays.iter().map(|(reason, pods)| json!({ "reason": reason, "pods": pods })).collect::<Vec<_>>(),
        "pastEvictions": explanation.past_evictions().iter().map(PastEviction::object).collect::<Vec<_>>(),
        "conditions": explanation
            .ailments()
            .iter()
            .map(|one| json!({
                "type": one.kind, "status": one.status, "reason": one.reason, "message": one.message,
                "lastTransitionTime": object_parts::wall(one.since),
            }))
            .collect::<Vec<_>>(),
    })
}
