//! Says what holds a pod without a node, other than taints: scheduling gates, or a scheduler whose rules are unknown.

use crate::cluster_state::details::PodDetails;

/// The scheduler of pods that name none, whose rules are known.
const DEFAULT_SCHEDULER: &str = "default-scheduler";

/// The pod's scheduler.
pub(super) const fn scheduler(details: &PodDetails) -> &str {
    let name = details.scheduler.as_str();
    if name.is_empty() { DEFAULT_SCHEDULER } else { name }
}

/// The pod's scheduler, if its rules are unknown.
fn unknown_scheduler(details: &PodDetails) -> Option<&str> {
    Some(scheduler(details)).filter(|name| *name != DEFAULT_SCHEDULER)
}

/// `the scheduling gate a`, `the scheduling gates a, b`
fn gates(details: &PodDetails) -> Option<String> {
    match &details.gates[..] {
        [] => None,
        [one] => Some(format!("the scheduling gate {one}")),
        several => Some(format!("the scheduling gates {}", several.join(", "))),
    }
}

/// The forecast for the pod, in sentences.
pub(super) fn summary(details: &PodDetails) -> String {
    let held = gates(details).map(|gates| {
        let (verb, taint, rest) = match details.gates.len() {
            1 => ("holds", "a taint", "it is removed"),
            _ => ("hold", "taints", "all of them are removed"),
        };
        format!("{gates} {verb} it, not {taint}: no scheduler considers it until {rest}.")
    });
    let scheduled = unknown_scheduler(details)
        .map(|name| format!("It is scheduled by {name}, whose rules are not known here."));
    match (held, scheduled) {
        (None, None) => "Not scheduled yet: taints can block it, but cannot evict it.".to_owned(),
        (Some(held), None) => format!("Not scheduled yet: {held}"),
        (None, Some(scheduled)) => format!("Not scheduled yet. {scheduled}"),
        (Some(held), Some(scheduled)) => format!("Not scheduled yet: {held} {scheduled}"),
    }
}

/// The same in a few words, for a list.
pub(super) fn why(details: &PodDetails) -> String {
    match (gates(details), unknown_scheduler(details)) {
        (Some(gates), _) => format!("is held by {gates}"),
        (None, Some(name)) => format!("has no node; it is scheduled by {name}"),
        (None, None) => "has no node".to_owned(),
    }
}

/// The condition of a sentence about the nodes that would accept the pod; `None` if its scheduler applies the known
/// rules now.
pub(super) fn condition(details: &PodDetails) -> Option<&'static str> {
    match (details.gates.len(), unknown_scheduler(details)) {
        (0, None) => None,
        (1, None) => Some("Without its gate,"),
        (_, None) => Some("Without its gates,"),
        (0, Some(_)) => Some("By the rules of default-scheduler,"),
        (1, Some(_)) => Some("By the rules of default-scheduler, and without its gate,"),
        (_, Some(_)) => Some("By the rules of default-scheduler, and without its gates,"),
    }
}
