//! Finds the eviction that a pod's events report: when, from which node, by which controller, and because of which taint.
//!
//! - Invariant: only an event of the same UID says something about a pod; a StatefulSet reuses names.

use crate::cluster_state::details::EventDetails;
use crate::explain::{ExplainContext, object_parts, text_parts};
use serde_json::{Value, json};
use taintward_core::taint_start::{TaintStart, TaintStartSource};
use taintward_core::time::{Now, Span, Wall};
use taintward_core::verdict::TaintInstance;

/// The reason of the events of a taint eviction (TE-34), and the begin of the message; cancellations have another one.
const EVICTED: &str = "TaintManagerEviction";
const MARKING: &str = "Marking for deletion";

/// The controller that reports evictions.
const CONTROLLER: &str = "taint-eviction-controller";

/// A taint that appears this long after the event did not cause it: times of events have no fractions.
const ROUNDING: Span = Span::from_secs(1);

/// An eviction that an event reports.
pub(super) struct EvictionTrace<'s> {
    event: &'s EventDetails,
    /// The node from which the pod was evicted, if an event names it.
    node: Option<&'s str>,
    /// Taints that the node still has and that can be the cause.
    taints: Vec<TaintTrace>,
}

/// A NoExecute taint, and since when the node has it.
struct TaintTrace {
    taint: String,
    since: Option<Wall>,
}

impl<'s> EvictionTrace<'s> {
    /// The last eviction in the events of one pod, the newest of which are last.
    pub(super) fn of(context: &'s ExplainContext, events: &[&'s EventDetails]) -> Option<Self> {
        let is_eviction =
            |event: &&&EventDetails| event.reason == EVICTED && event.message.starts_with(MARKING);
        let event = *events.iter().rev().find(is_eviction)?;
        let node = events.iter().rev().find_map(|event| event.bound_to());
        let taints = node.map(|node| taints(context, node, event.last)).unwrap_or_default();
        Some(Self { event, node, taints })
    }

    /// The controller that evicted the pod: both report under the same name, and only Taintward names its process and
    /// the reason.
    pub(super) fn by(&self) -> &'static str {
        match self.event.by.as_str() {
            CONTROLLER if self.event.instance.is_empty() && self.reason().is_none() => {
                "kube-controller-manager"
            }
            CONTROLLER => "Taintward",
            _ => "an unknown controller",
        }
    }

    /// The reason in Taintward's events.
    fn reason(&self) -> Option<&str> {
        self.event.message.split_once(": ").map(|(_, reason)| reason)
    }

    /// `kube-controller-manager evicted it at 15:08:10. It ran on n1, which has k=v:NoExecute since 15:08:10.`
    pub(super) fn summary(&self, now: Now) -> String {
        let at = self.event.last.map(|at| format!(" at {}", text_parts::wall(now, at))).unwrap_or_default();
        let by = self.by();
        if let Some(why) = self.reason() {
            return format!("{by} evicted it{at}: {why}.");
        }
        let Some(node) = self.node else {
            return format!("{by} evicted it{at} because of a NoExecute taint; no event names its node.");
        };
        let taints: Vec<String> = self.taints.iter().map(|one| one.text(now)).collect();
        let cause = match taints[..] {
            [] => "which has no NoExecute taint now that is older".to_owned(),
            _ => format!("which has {}", taints.join(", ")),
        };
        format!("{by} evicted it{at} because of a NoExecute taint. It ran on {node}, {cause}.")
    }

    pub(super) fn object(&self) -> Value {
        json!({
            "evictedAt": object_parts::wall(self.event.last),
            "evictedBy": self.by(),
            "node": self.node,
            "taints": self.taints.iter().map(|one| one.taint.as_str()).collect::<Vec<_>>(),
        })
    }
}

impl TaintTrace {
    fn text(&self, now: Now) -> String {
        let since = self.since.map(|since| format!(" since {}", text_parts::wall(now, since)));
        format!("{}{}", self.taint, since.unwrap_or_default())
    }
}

/// The NoExecute taints of a node that are not younger than the eviction.
fn taints(context: &ExplainContext, node: &str, evicted: Option<Wall>) -> Vec<TaintTrace> {
    let snapshot = context.snapshot();
    let Some(at) = snapshot.node_at(node) else { return Vec::new() };
    let trace = |instance: TaintInstance| {
        let TaintStart { at, source, .. } = instance.start;
        let since = (source != TaintStartSource::FirstSight).then(|| Wall::from_micros(at.as_micros()));
        TaintTrace { taint: instance.taint.to_string(), since }
    };
    let is_older = |one: &TaintTrace| match (one.since, evicted) {
        (Some(since), Some(evicted)) => since <= evicted.plus(ROUNDING),
        _ => true,
    };
    snapshot.instances(at).into_iter().map(trace).filter(is_older).collect()
}
