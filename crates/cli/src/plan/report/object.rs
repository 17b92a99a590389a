//! Builds the JSON of a plan (`Plan`) that docs/plan.schema.json describes.
//!
//! - Invariant: fields are only added, and always present unless the schema makes them optional.

use super::delays::{EvictionWave, PlanDelays};
use super::{PlanReport, PlanRow, WorkloadOutcome};
use crate::eviction_delays::PodDelay;
use crate::messages::{self, stamp};
use crate::output::API_VERSION;
use serde_json::{Value, json};
use taintward_core::eviction::PriorityClass;
use taintward_core::forecast::{NodeForecast, PlacedPod, Placement, WorkloadImpact};
use taintward_core::time::Mono;

pub(super) fn plan(report: &PlanReport<'_>) -> Value {
    let totals = &report.forecast.totals;
    let homes = report.homes();
    let rows = report.rows();
    let items: Vec<Value> =
        rows.iter().map(|row| item(report, row, homes.get(&row.fate.pod).copied())).collect();
    let mut plan = json!({
        "apiVersion": API_VERSION,
        "kind": "Plan",
        "complete": report.state.gaps.is_empty(),
        "from": report.state.from,
        "asOf": stamp(report.snapshot().now().mono),
        "changes": report.descriptions,
        "summary": {
            "evictedNow": totals.going,
            "evictedLater": totals.later,
            "staying": totals.staying,
            "skipped": totals.exempt,
            "unsupportedToleration": totals.not_understood,
            "noLongerEvicted": totals.spared,
            "evictedWithoutChange": totals.anyway,
            "nextNodeNotComputed": report.forecast.unplaced,
            "constraintsNotConsidered": report.beyond(),
        },
        "items": items,
        "nodes": report.forecast.nodes.iter().map(|forecast| node(report, forecast)).collect::<Vec<_>>(),
        "workloads": workloads(report),
        "budgets": budgets(report),
        "workloadsWithoutNode": report
            .forecast
            .closed
            .iter()
            .map(|workload| messages::workload(&report.snapshot().workloads()[*workload as usize]))
            .collect::<Vec<_>>(),
        "notes": report.state.notes,
        "readErrors": report.state.gaps.iter().map(ToString::to_string).collect::<Vec<_>>(),
    });
    if let Some(delays) = PlanDelays::of(report, &rows) {
        plan["delays"] = delays_object(report, &delays);
    }
    if report.until != Mono::NEVER {
        plan["at"] = stamp(report.until);
    }
    plan
}

fn item(report: &PlanReport<'_>, row: &PlanRow<'_>, home: Option<&PlacedPod>) -> Value {
    let (snapshot, pod) = (report.snapshot(), report.pod(row));
    let now = snapshot.now().mono;
    let taint = row.fate.decisive.map(|at| row.node.after[at as usize].taint.to_string());
    let mut item = json!({
        "node": report.node_name(row.node.node),
        "namespace": pod.name.namespace(),
        "pod": pod.name.name(),
        "uid": messages::uid(&pod.uid),
        "workload": messages::workload(&snapshot.workloads()[pod.workload as usize]),
        "evictedAt": stamp(row.at.max(now)),
        "remainingSeconds": row.at.since(now).as_micros() / 1_000_000,
        "mayBeEarlier": row.is_at_the_latest(now),
        "evictedWithoutChange": row.fate.leaves_anyway(),
        "taint": taint,
        "reason": report.why(row),
        "nextNode": home.map(|home| next_node(report, &home.place)),
    });
    if let Some(departure) = report.departure(row) {
        item["delay"] = json!({
            "policy": departure.policy,
            "leavesWithReplacements": departure.with_replacements.map(stamp),
            "leavesWithoutReplacements": departure.without_replacements.map(stamp),
            "forced": departure.is_forced,
            "waitsFor": departure.waits_for.as_ref().map(PodDelay::object),
        });
    }
    item
}

fn delays_object(report: &PlanReport<'_>, delays: &PlanDelays<'_>) -> Value {
    let wave = |wave: EvictionWave| {
        json!({
            "class": class(wave.order.class),
            "priority": wave.order.priority,
            "pods": wave.pods,
            "firstLeavesAt": wave.first.map(stamp),
            "lastLeavesAt": wave.last.map(stamp),
        })
    };
    json!({
        "delayed": delays.delayed,
        "forced": delays.forced,
        "neverLeaving": delays.never,
        "leavingOnlyWithReplacements": delays.undecided,
        "predictedUntil": stamp(report.horizon()),
        "lastLeavesWithReplacements": delays.last_with.map(stamp),
        "lastLeavesWithoutReplacements": delays.last_without.map(stamp),
        "waves": delays.waves().into_iter().map(wave).collect::<Vec<_>>(),
    })
}

const fn class(class: PriorityClass) -> &'static str {
    match class {
        PriorityClass::Ordinary => "Ordinary",
        PriorityClass::DaemonSet => "DaemonSet",
        PriorityClass::NodeCritical => "NodeCritical",
    }
}

fn next_node(report: &PlanReport<'_>, place: &Placement) -> Value {
    match place {
        Placement::Node(node) => json!({ "node": report.node_name(*node) }),
        Placement::Again(node) => json!({ "node": report.node_name(*node), "evictedAgain": true }),
        Placement::Nowhere(why) => json!({ "unschedulable": why.as_ref() }),
        Placement::None(returns) => json!({ "recreation": messages::returns(*returns) }),
    }
}

fn node(report: &PlanReport<'_>, forecast: &NodeForecast) -> Value {
    let reasons =
        report.stays(forecast).into_iter().map(|(reason, pods)| json!({ "reason": reason, "pods": pods }));
    json!({
        "name": report.node_name(forecast.node),
        "drained": forecast.drained,
        "noExecuteTaints": forecast.after.iter().map(|instance| instance.taint.to_string()).collect::<Vec<_>>(),
        "pods": forecast.pods.len(),
        "evicted": forecast.pods.iter().filter(|fate| fate.at().is_some()).count(),
        "stayingReasons": reasons.collect::<Vec<_>>(),
    })
}

fn workloads(report: &PlanReport<'_>) -> Vec<Value> {
    let snapshot = report.snapshot();
    let one = |(impact, outcome): (&WorkloadImpact, WorkloadOutcome)| {
        let workload = &snapshot.workloads()[impact.workload as usize];
        let mut object = messages::workload(workload);
        object["pods"] = json!(impact.pods);
        object["evictedNow"] = json!(impact.going);
        object["evictedLater"] = json!(impact.later);
        object["firstEvictedAt"] = stamp(impact.first.max(snapshot.now().mono));
        object["lastEvictedAt"] = stamp(impact.last.max(snapshot.now().mono));
        object["notRecreated"] = json!(outcome.is_lost);
        object["recreation"] = json!(outcome.text);
        object["unschedulable"] = json!(report.unschedulable(impact.workload));
        object
    };
    report.outcomes().into_iter().map(one).collect()
}

fn budgets(report: &PlanReport<'_>) -> Vec<Value> {
    let one = |impact: &taintward_core::forecast::BudgetImpact| {
        let budget = &report.snapshot().budgets()[impact.budget];
        json!({
            "namespace": budget.namespace,
            "name": budget.name,
            "evicted": impact.leaving,
            "evictedHealthy": impact.leaving_healthy,
            "currentHealthy": impact.healthy,
            "desiredHealthy": impact.desired,
            "disruptionsAllowed": impact.allows(),
            "violated": report.violates(impact),
            "evictionsRefused": impact.blocked(),
        })
    };
    report.forecast.budgets.iter().map(one).collect()
}
