//! Finds what blocks the eviction of a pod: finalizers, marks of other controllers, no running controller.
//!
//! - Invariant: only what objects show is reported.

use super::{PodExplanation, PodLocation, ending};
use crate::active_controllers::ActiveControllers;
use crate::explain::eviction_policies;
use crate::explain::text_parts::wall;
use taintward_core::time::{Span, Wall};
use taintward_core::verdict::Outcome;

pub(super) fn of(explanation: &PodExplanation<'_>) -> Vec<String> {
    let mut sentences = deletion(explanation);
    if explanation.details.has_finished() {
        return sentences;
    }
    sentences.extend(disruption(explanation));
    let policies = &explanation.context.policies;
    let leaving = explanation.pod.filter(|_| explanation.leaves().is_some());
    sentences.extend(leaving.and_then(|pod| eviction_policies::forbidden_hold(policies, &pod.uid)));
    if let (Some(Outcome::Leaves { .. }), None) = (explanation.outcome(), explanation.details.deletion) {
        sentences.extend(policy(explanation));
        let delay = delay(explanation);
        sentences.extend(undone(explanation, delay.is_some()));
        sentences.extend(delay.or_else(|| unread(explanation)));
    }
    sentences
}

/// What eviction policies do with it.
fn policy(explanation: &PodExplanation<'_>) -> Vec<String> {
    let (Some(pod), PodLocation::On(node)) = (explanation.pod, explanation.place) else { return Vec::new() };
    let (snapshot, Some(due)) = (explanation.snapshot(), explanation.leaves()) else { return Vec::new() };
    let policies = &explanation.context.policies;
    eviction_policies::sentences(policies, snapshot, (pod, &snapshot.nodes()[node].labels), due)
}

/// What the due pod waits for, by what the controller's engine decides.
fn delay(explanation: &PodExplanation<'_>) -> Option<String> {
    let pod = explanation.pod?;
    let delay = explanation.context.delays.of(&pod.uid.to_string())?;
    Some(format!("it {}", delay.sentence(explanation.now())))
}

/// What could not be read of what may delay it, if that is not reported about policies already.
fn unread(explanation: &PodExplanation<'_>) -> Option<String> {
    let unread = &explanation.context.delays.unread;
    (explanation.context.policies.error.is_none() && !unread.is_empty()).then(|| unread.join("; "))
}

/// A terminating pod is removed when its containers have ended and its finalizers are gone.
fn deletion(explanation: &PodExplanation<'_>) -> Vec<String> {
    let Some(deletion) = explanation.details.deletion else { return Vec::new() };
    let (now, finalizers) = (explanation.now(), &explanation.details.finalizers);
    let mut sentences = Vec::new();
    let is_over = deletion.by.is_none_or(|by| by <= now.wall);
    if let Some(by) = deletion.by {
        let grace = Span::from_secs(deletion.grace_seconds);
        let begun = Wall::from_micros(by.as_micros().saturating_sub(grace.as_micros()));
        sentences.push(format!(
            "it has been terminating since {}; its grace period of {}s {} at {}",
            wall(now, begun),
            deletion.grace_seconds,
            if is_over { "ended" } else { "ends" },
            wall(now, by)
        ));
    }
    if !finalizers.is_empty() {
        sentences.push(format!(
            "{} {}: it stays until the controller that set {} removes {}",
            if finalizers.len() == 1 {
                "a finalizer blocks its deletion:"
            } else {
                "finalizers block its deletion:"
            },
            finalizers.join(", "),
            if finalizers.len() == 1 { "it" } else { "them" },
            if finalizers.len() == 1 { "it" } else { "them" },
        ));
    } else if is_over {
        sentences.push(unconfirmed(explanation));
    }
    sentences
}

fn unconfirmed(explanation: &PodExplanation<'_>) -> String {
    let PodLocation::On(node) = explanation.place else {
        return "no kubelet has confirmed that its containers have stopped".to_owned();
    };
    let node = &explanation.snapshot().nodes()[node];
    let name = &node.fact.name;
    match node.ready {
        Some(true) => format!("the kubelet of {name} has not confirmed that its containers have stopped"),
        _ => format!(
            "the kubelet of {name} has not confirmed that its containers have stopped, and that node is not ready: it will \
             stay until the node recovers, is deleted, or gets the taint node.kubernetes.io/out-of-service"
        ),
    }
}

/// The heading of the sentences.
pub(super) fn heading(explanation: &PodExplanation<'_>) -> &'static str {
    match explanation.details.has_finished() {
        true => "What delays its deletion:",
        false => "What delays the eviction:",
    }
}

/// Which controller has set its mark (TE-31).
fn disruption(explanation: &PodExplanation<'_>) -> Option<String> {
    let mark = ending::disruption(explanation.details)?;
    let whose = match mark.reason.as_str() {
        "DeletionByTaintManager" => "Taintward or kube-controller-manager is evicting it because of a taint",
        "EvictionByEvictionAPI" => {
            "a client evicts it through the Eviction API, as kubectl drain and autoscalers do"
        }
        "PreemptionByScheduler" => "the scheduler preempts it for a pod of higher priority",
        "DeletionByPodGC" => {
            "the pod garbage collector deletes it: its node no longer exists, or is out of \
         service"
        }
        "TerminationByKubelet" => "its kubelet stops it: the node runs out of a resource, or shuts down",
        _ => "a client is about to delete it",
    };
    let since = mark.since.map(|at| format!(", since {}", wall(explanation.now(), at))).unwrap_or_default();
    let yet = if explanation.details.deletion.is_some() {
        ""
    } else {
        "; the API server has not accepted a deletion yet"
    };
    Some(format!("it has the condition {} ({}{since}): {whose}{yet}", mark.kind, mark.reason))
}

/// Why the due pod has not been deleted, if nothing that is known delays it, or no controller would delete it then.
fn undone(explanation: &PodExplanation<'_>, is_delayed: bool) -> Option<String> {
    let remark = explanation.context.controllers.as_ref().map(ActiveControllers::remark);
    match (remark, is_delayed) {
        (Some(Some(remark)), _) => Some(format!("no controller has deleted it yet: {remark}")),
        (_, true) => None,
        (Some(None), false) => Some(
            "no controller has deleted it yet: Taintward holds its lease; its log and metrics show why it has not deleted the \
             pod, such as an admission webhook that rejects the deletion, or countdowns on hold while all zones are fully \
             disrupted"
                .to_owned(),
        ),
        (None, false) => Some(
            "it had not been deleted by then; files do not show whether a taint eviction controller runs".to_owned(),
        ),
    }
}
