//! Explains how a pod that has succeeded or failed ended, in the words of its status.

use super::PodExplanation;
use crate::cluster_state::details::{ConditionDetails, PodDetails};
use crate::explain::object_parts;
use crate::explain::text_parts::wall;
use serde_json::{Value, json};

/// The condition of a pod that is about to be deleted, or that its kubelet has ended.
const DISRUPTED: &str = "DisruptionTarget";

/// That condition, if it is true (TE-31).
pub(super) fn disruption(details: &PodDetails) -> Option<&ConditionDetails> {
    details.condition(DISRUPTED).filter(|mark| mark.status == "True")
}

/// Sentences for people; none about a pod that has not finished.
pub(super) fn of(explanation: &PodExplanation<'_>) -> Vec<String> {
    let details = explanation.details;
    if !details.has_finished() {
        return Vec::new();
    }
    let by = if details.reason.is_empty() { String::new() } else { format!(", reason {}", details.reason) };
    let mut sentences = vec![format!("phase {}{by}{}", details.phase, quoted(&details.message))];
    if let Some(mark) = disruption(details) {
        let at = mark.since.map(|at| format!(", at {}", wall(explanation.now(), at))).unwrap_or_default();
        let what = meaning(&mark.reason).map(|what| format!(": {what}")).unwrap_or_default();
        // The message of the kubelet begins the one of the status.
        let is_repeated = !mark.message.is_empty() && details.message.starts_with(mark.message.trim_end());
        let message = if is_repeated { String::new() } else { quoted(&mark.message) };
        sentences.push(format!("condition {DISRUPTED} ({}{at}){what}{message}", mark.reason));
    }
    sentences
}

/// The object for programs; `null` for a pod that has not finished.
pub(super) fn object(explanation: &PodExplanation<'_>) -> Value {
    let details = explanation.details;
    if !details.has_finished() {
        return Value::Null;
    }
    let disruption = disruption(details).map(|mark| {
        json!({ "reason": mark.reason, "message": mark.message, "at": object_parts::wall(mark.since) })
    });
    json!({
        "phase": details.phase, "reason": details.reason, "message": details.message, "disruption": disruption,
    })
}

/// `: out of memory`
fn quoted(message: &str) -> String {
    match message.trim() {
        "" => String::new(),
        message => format!(": {message}"),
    }
}

/// Which component ended the pod.
fn meaning(reason: &str) -> Option<&'static str> {
    Some(match reason {
        "DeletionByTaintManager" => "Taintward or kube-controller-manager evicted it because of a taint",
        "EvictionByEvictionAPI" => {
            "a client evicted it through the Eviction API, as kubectl drain and autoscalers do"
        }
        "PreemptionByScheduler" => "the scheduler preempted it for a pod of higher priority",
        "DeletionByPodGC" => {
            "the pod garbage collector ended it: its node no longer existed, or was out of service"
        }
        "TerminationByKubelet" => "its kubelet ended it: the node ran out of a resource, or shut down",
        _ => return None,
    })
}
