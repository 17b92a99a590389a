//! Prints the columns of Pods, with the status computed from phase, conditions and containers.

use super::{
    AGE, Made, MadeNow, NAME, TableColumn, TextOr, condition, flag, given, is_true, list, number, or_none,
    string, string_or, text, time, wide,
};
use crate::age::ago;
use jiff::Timestamp;
use serde_json::{Value, json};

pub(super) const PODS: &[TableColumn] = &[
    NAME,
    text("Ready", Made(|pod| format!("{}/{}", summary(pod).ready, total(pod)))),
    text("Status", Made(|pod| summary(pod).reason)),
    text("Restarts", MadeNow(|pod, now| restarts(pod, now).into())),
    AGE,
    wide("IP", Made(ip)),
    wide("Node", TextOr("spec.nodeName", "<none>")),
    wide("Nominated Node", TextOr("status.nominatedNodeName", "<none>")),
    wide("Readiness Gates", Made(readiness_gates)),
];

fn restarts(pod: &Value, now: Timestamp) -> String {
    match summary(pod).restarts {
        RestartCount { count, last: Some(last) } if count != 0 => {
            format!("{count} ({} ago)", ago(Some(last), now))
        }
        RestartCount { count, .. } => count.to_string(),
    }
}

/// A summary of the containers' states.
struct PodStatusSummary {
    reason: String,
    ready: usize,
    restarts: RestartCount,
}

#[derive(Default)]
struct RestartCount {
    count: i64,
    last: Option<Timestamp>,
}

impl RestartCount {
    fn add(&mut self, status: &Value) {
        self.count += number(status, "restartCount");
        self.last = self.last.max(time(status, "lastState.terminated.finishedAt"));
    }
}

fn summary(pod: &Value) -> PodStatusSummary {
    let reason = string_or(pod, "status.reason", string(pod, "status.phase"));
    let gated = list(pod, "status.conditions").iter().any(|condition| {
        string(condition, "type") == "PodScheduled" && string(condition, "reason") == "SchedulingGated"
    });
    let mut summary = PodStatusSummary {
        reason: if gated { "SchedulingGated" } else { reason }.to_owned(),
        ready: 0,
        restarts: RestartCount::default(),
    };
    let of_sidecars = initializing(pod, &mut summary);
    let initialized = condition(pod, "Initialized");
    match of_sidecars {
        // While a pod is initializing, the restarts that count are those of all its init containers.
        Err(_) if !is_true(initialized) => {}
        Ok(restarts) | Err(restarts) => {
            summary.restarts = restarts;
            running(pod, &mut summary);
        }
    }
    leaving(pod, &mut summary);
    summary
}

/// Summarizes the init containers up to the first that is not done. Returns the restarts of the sidecars among them, as
/// an error if one was not done.
fn initializing(pod: &Value, summary: &mut PodStatusSummary) -> Result<RestartCount, RestartCount> {
    let mut of_sidecars = RestartCount::default();
    for (place, status) in list(pod, "status.initContainerStatuses").iter().enumerate() {
        let sidecar = is_sidecar(pod, string(status, "name"));
        summary.restarts.add(status);
        if sidecar {
            of_sidecars.add(status);
        }
        let terminated = given(status, "state.terminated");
        if terminated.is_some_and(|state| number(state, "exitCode") == 0) {
            continue;
        }
        if sidecar && flag(status, "started") {
            summary.ready += usize::from(flag(status, "ready"));
            continue;
        }
        let why = match (terminated, string(status, "state.waiting.reason")) {
            (Some(state), _) => end(state),
            (None, "" | "PodInitializing") => format!("{place}/{}", list(pod, "spec.initContainers").len()),
            (None, waiting) => waiting.to_owned(),
        };
        summary.reason = format!("Init:{why}");
        return Err(of_sidecars);
    }
    Ok(of_sidecars)
}

/// Summarizes the containers; the first one takes precedence.
fn running(pod: &Value, summary: &mut PodStatusSummary) {
    let (mut runs, mut failure) = (false, None);
    for status in list(pod, "status.containerStatuses").iter().rev() {
        summary.restarts.add(status);
        let waiting = string(status, "state.waiting.reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut summary.reason);
        } else if let Some(state) = given(status, "state.terminated") {
            summary.reason = end(state);
            if number(state, "exitCode") != 0 {
                failure = Some(summary.reason.clone());
            }
        } else if flag(status, "ready") && given(status, "state.running").is_some() {
            runs = true;
            summary.ready += 1;
        }
    }
    if summary.reason != "Completed" {
        return;
    }
    let is_ready = is_true(condition(pod, "Ready"));
    summary.reason = match failure {
        _ if runs && is_ready => "Running".to_owned(),
        Some(failure) => failure,
        None if runs => "NotReady".to_owned(),
        None => return,
    };
}

/// The status of a pod that is being deleted, unless it has ended: `Terminating`, or `Unknown` on a lost node.
fn leaving(pod: &Value, summary: &mut PodStatusSummary) {
    if given(pod, "metadata.deletionTimestamp").is_none() {
        return;
    }
    if string(pod, "status.reason") == "NodeLost" {
        "Unknown".clone_into(&mut summary.reason);
    } else if !matches!(string(pod, "status.phase"), "Succeeded" | "Failed") {
        "Terminating".clone_into(&mut summary.reason);
    }
}

/// How a container ended.
fn end(state: &Value) -> String {
    match (string(state, "reason"), number(state, "signal")) {
        ("", 0) => format!("ExitCode:{}", number(state, "exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

/// An init container that is always restarted runs alongside the others.
fn is_sidecar(pod: &Value, name: &str) -> bool {
    let mut named = list(pod, "spec.initContainers").iter().rev();
    named.find(|container| string(container, "name") == name).is_some_and(runs_always)
}

fn runs_always(container: &Value) -> bool {
    string(container, "restartPolicy") == "Always"
}

fn total(pod: &Value) -> usize {
    let sidecars = list(pod, "spec.initContainers").iter().filter(|container| runs_always(container));
    list(pod, "spec.containers").len() + sidecars.count()
}

/// `podIP` takes precedence; a list that begins with another address comes from an old kubelet.
fn ip(pod: &Value) -> String {
    let first = list(pod, "status.podIPs").first().map_or("", |ip| string(ip, "ip"));
    or_none(string_or(pod, "status.podIP", first).to_owned())
}

fn readiness_gates(pod: &Value) -> String {
    let gates = list(pod, "spec.readinessGates");
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let open = gates.iter().filter(|gate| is_true(condition(pod, string(gate, "conditionType"))));
    format!("{}/{}", open.count(), gates.len())
}

/// The condition by which kubectl can leave out the rows of pods that have ended.
pub(super) fn ended(pod: &Value) -> Option<Value> {
    let (reason, message) = match string(pod, "status.phase") {
        "Succeeded" => ("Succeeded", "The pod has completed successfully."),
        "Failed" => ("Failed", "The pod failed."),
        _ => return None,
    };
    Some(json!([{"type": "Completed", "status": "True", "reason": reason, "message": message}]))
}
