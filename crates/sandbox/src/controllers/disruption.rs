//! Computes the status of PodDisruptionBudgets.
//!
//! - See `write/eviction.rs` of `fakekube` for evictions that use it.

use super::pod_summary::PodSummary;
use super::pods::{controller_of, namespace, pods};
use super::{Controller, ReconcileContext};
use fakekube::api;
use fakekube::resource::{ResourceId, known};
use fakekube::select;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

const NAME: &str = "disruption-controller";

/// A pod that was evicted but still exists after this time counts as staying.
const GOING: SignedDuration = SignedDuration::from_secs(120);

#[derive(Default)]
pub(super) struct DisruptionController {
    checked_at: bool,
}

/// A pod of a budget, with its name.
type BudgetPod<'a> = (&'a str, &'a PodSummary);

fn budgets() -> ResourceId {
    known("policy", "poddisruptionbudgets")
}

impl Controller for DisruptionController {
    fn step(&mut self, view: &ReconcileContext<'_>) -> Option<Timestamp> {
        let touched = !self.checked_at
            || [budgets(), pods(), known("apps", "replicasets"), known("apps", "deployments")]
                .iter()
                .any(|number| view.changed.any(*number));
        self.checked_at = true;
        let mut wake: Option<Timestamp> = None;
        for (_, budget) in view.mirror.all(budgets()) {
            if touched || view.changed.is_empty() {
                let next = tend(view, budget);
                wake = wake.into_iter().chain(next).min();
            }
        }
        wake
    }
}

fn tend(view: &ReconcileContext<'_>, budget: &Arc<Value>) -> Option<Timestamp> {
    let labels = select::from_object(&budget["spec"]["selector"]);
    let inside = view.mirror.pods(Some(namespace(budget)));
    let all: Vec<BudgetPod<'_>> = inside
        .filter(|(_, pod)| !pod.over && labels.match_map(&pod.labels))
        .map(|(key, pod)| (key.split_once('/').map_or(key, |(_, name)| name), pod))
        .collect();
    let expected = expected(view, budget, &all);
    let desired = desired(&budget["spec"], expected);
    let (going, next) = going(view, budget, &all);
    let healthy = all.iter().filter(|(name, pod)| pod.is_active() && pod.ready && !going.contains(*name));
    let healthy = i64::try_from(healthy.count()).unwrap_or(i64::MAX);
    let allowed = if expected == 0 { 0 } else { (healthy - desired).max(0) };
    let mut shown = Value::clone(budget);
    let status = &mut shown["status"];
    status["expectedPods"] = json!(expected);
    status["desiredHealthy"] = json!(desired);
    status["currentHealthy"] = json!(healthy);
    status["disruptionsAllowed"] = json!(allowed);
    status["observedGeneration"] = budget["metadata"]["generation"].clone();
    let disrupted = budget["status"]["disruptedPods"].as_object().into_iter().flatten();
    let disrupted: serde_json::Map<_, _> = disrupted
        .filter(|(name, _)| going.contains(name.as_str()))
        .map(|(name, at)| (name.clone(), at.clone()))
        .collect();
    match disrupted.is_empty() {
        true => _ = status.as_object_mut().map(|status| status.remove("disruptedPods")),
        false => status["disruptedPods"] = Value::Object(disrupted),
    }
    let words = if allowed > 0 { ("True", "SufficientPods") } else { ("False", "InsufficientPods") };
    let same = budget["status"]["conditions"]
        .as_array()
        .is_some_and(|all| all.iter().any(|one| one["status"] == words.0 && one["reason"] == words.1));
    if !same {
        api::set_condition(
            &mut shown,
            json!({
                "type": "DisruptionAllowed", "status": words.0, "reason": words.1, "message": "",
                "observedGeneration": budget["metadata"]["generation"],
                "lastTransitionTime": view.server.clock().time_text(),
            }),
        );
    }
    view.set_status(budgets(), budget, NAME, &shown["status"]);
    next
}

/// Evicted pods that have not been deleted yet.
fn going(
    view: &ReconcileContext<'_>,
    budget: &Value,
    all: &[BudgetPod<'_>],
) -> (BTreeSet<String>, Option<Timestamp>) {
    let (mut going, mut next) = (BTreeSet::new(), None);
    for (pod, at) in budget["status"]["disruptedPods"].as_object().into_iter().flatten() {
        let there = all.iter().any(|(name, one)| *name == pod.as_str() && !one.ending);
        let until = at.as_str().and_then(|at| at.parse::<Timestamp>().ok()).map(|at| at + GOING);
        if let Some(until) = until.filter(|until| there && *until > view.now) {
            going.insert(pod.clone());
            next = next.into_iter().chain([until]).min();
        }
    }
    (going, next)
}

/// The expected number of pods: the sum of what the owners want; pods without an owner count themselves.
fn expected(view: &ReconcileContext<'_>, budget: &Value, all: &[BudgetPod<'_>]) -> i64 {
    let share = |value: &Value| value.as_str().is_some_and(|text| text.ends_with('%'));
    let spec = &budget["spec"];
    let count = i64::try_from(all.len()).unwrap_or(i64::MAX);
    if !share(&spec["minAvailable"]) && spec["maxUnavailable"].is_null() {
        return count;
    }
    let owners: BTreeSet<&str> = all.iter().filter_map(|(_, pod)| pod.controller.as_deref()).collect();
    let mut wanted = 0;
    let mut counted = BTreeSet::new();
    for number in ["replicasets", "statefulsets"].map(|plural| known("apps", plural)) {
        for (_, set) in view.mirror.all(number).filter(|(_, set)| owners.contains(super::pods::uid(set))) {
            // Several ReplicaSets of a Deployment share its replicas.
            let deployment = controller_of(set).and_then(|uid| {
                let all = view.mirror.all(known("apps", "deployments"));
                all.map(|(_, one)| one).find(|one| super::pods::uid(one) == uid)
            });
            let owner = deployment.unwrap_or(set);
            if counted.insert(super::pods::uid(owner).to_owned()) {
                wanted += owner["spec"]["replicas"].as_i64().unwrap_or(1);
            }
        }
    }
    if counted.is_empty() { count } else { wanted }
}

fn desired(spec: &Value, expected: i64) -> i64 {
    let of = |value: &Value| match value {
        Value::String(text) => {
            let percent = text.trim_end_matches('%').parse::<i64>().unwrap_or(0);
            (expected * percent + 99) / 100
        }
        other => other.as_i64().unwrap_or(0),
    };
    match (&spec["minAvailable"], &spec["maxUnavailable"]) {
        (Value::Null, Value::Null) => 0,
        (Value::Null, most) => (expected - of(most)).max(0),
        (least, _) => of(least),
    }
}
