//! Builds the JSON of the explanation of a node.

use super::{ExplainedTaint, NodeExplanation};
use crate::explain::object_parts;
use crate::messages::{self, stamp};
use serde_json::{Value, json};
use taintward_core::forecast::PodForecast;
use taintward_core::taint::TaintEffect;
use taintward_core::time::Mono;

pub(super) fn object(explanation: &NodeExplanation<'_>) -> Value {
    let (node, totals, now) = (explanation.node(), &explanation.forecast.totals, explanation.now().mono);
    let taints = explanation.taints();
    let taint = |each: &ExplainedTaint<'_>| {
        let mut object = object_parts::taint(each.taint);
        // The first sight of a taint that evicts no pod starts nothing.
        let is_known = each.taint.effect == TaintEffect::NoExecute || each.taint.time_added.is_some();
        object["since"] = if is_known { stamp(each.start.at) } else { Value::Null };
        object["source"] =
            if is_known { json!(object_parts::source(each.start.source)) } else { Value::Null };
        object["meaning"] = object_parts::meaning(each.meaning.as_ref());
        object["note"] = object_parts::note(each.note.as_ref());
        object
    };
    let leaving = explanation.leaving();
    let pod = |(fate, at): &(&PodForecast, Mono)| {
        let pod = &explanation.snapshot().pods()[fate.pod as usize];
        let taint = fate.decisive.map(|at| explanation.fates().after[at as usize].taint.to_string());
        json!({
            "namespace": pod.name.namespace(),
            "pod": pod.name.name(),
            "node": explanation.name(),
            "leavesAt": stamp(*at),
            "inSeconds": (at.as_micros() - now.as_micros()) / 1_000_000,
            "taint": taint,
            "why": messages::leaves(explanation.snapshot(), explanation.fates(), fate),
        })
    };
    let writers = explanation.details.map(|details| &details.writers[..]).unwrap_or_default();
    let stays = messages::stays(explanation.snapshot(), explanation.fates());
    json!({
        "kind": "Explanation",
        "about": { "kind": "Node", "namespace": null, "name": explanation.name(), "uid": node.fact.uid.to_string() },
        "outcome": "Node",
        "unschedulable": node.unschedulable,
        "ready": node.ready,
        "taints": taints.iter().map(taint).collect::<Vec<_>>(),
        "taintsWrittenBy": writers.iter().map(|(who, at)| json!({ "manager": who, "at": object_parts::wall(*at) })).collect::<Vec<_>>(),
        "pods": {
            "all": explanation.fates().pods.len(),
            "leavingNow": totals.going,
            "leavingLater": totals.later,
            "staying": totals.staying + totals.exempt + totals.not_understood,
        },
        "leaving": leaving.iter().map(pod).collect::<Vec<_>>(),
        "stays": stays.iter().map(|(why, pods)| json!({ "why": why, "pods": pods })).collect::<Vec<_>>(),
        "conditions": explanation
            .ailments()
            .iter()
            .map(|one| json!({
                "type": one.kind, "status": one.status, "reason": one.reason, "message": one.message,
                "since": object_parts::wall(one.since),
            }))
            .collect::<Vec<_>>(),
    })
}
