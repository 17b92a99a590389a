//! Finds evictions in events: when, from which node, by which controller, and because of which taint.
//!
//! - Invariant: only an event of the same UID says something about a pod; a StatefulSet reuses names.

use crate::cluster_state::details::EventDetails;
use crate::messages::{at_moment, stamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::taint_start::{TaintStart, TaintStartSource};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::verdict::TaintInstance;

/// The controller that reports evictions.
const CONTROLLER: &str = "taint-eviction-controller";

/// A taint that appears this long after the event did not cause it: times of events have no fractions.
const ROUNDING: Span = Span::from_secs(1);

/// An eviction that an event reports.
pub(crate) struct PastEviction<'e> {
    event: &'e EventDetails,
    /// The node from which the pod was evicted, if an event names it.
    node: Option<&'e str>,
    /// Taints that the node still has and that can be the cause.
    taints: Vec<PastTaint>,
}

/// A NoExecute taint, and since when the node has it.
struct PastTaint {
    taint: String,
    since: Option<Wall>,
}

/// The snapshot's moment of an event.
const fn moment(at: Wall) -> Mono {
    Mono::from_micros(at.as_micros())
}

impl<'e> PastEviction<'e> {
    /// The last eviction in the events of one pod, the newest of which are last.
    pub(crate) fn last(snapshot: &ClusterSnapshot, events: &[&'e EventDetails]) -> Option<Self> {
        let event = *events.iter().rev().find(|event| event.is_eviction())?;
        let node = events.iter().rev().find_map(|event| event.node());
        let taints = node.map(|node| taints(snapshot, node, event.last)).unwrap_or_default();
        Some(Self { event, node, taints })
    }

    /// The last eviction of each pod, the newest last.
    pub(crate) fn all(snapshot: &ClusterSnapshot, events: &'e [EventDetails]) -> Vec<Self> {
        let mut by_pod: BTreeMap<(&str, &str, &str), Vec<&EventDetails>> = BTreeMap::new();
        for event in events {
            by_pod.entry((&event.namespace, &event.about, &event.uid)).or_default().push(event);
        }
        by_pod.values_mut().for_each(|events| events.sort_by_key(|event| event.last));
        let mut all: Vec<Self> = by_pod.values().filter_map(|events| Self::last(snapshot, events)).collect();
        all.sort_by_key(|eviction| eviction.event.last);
        all
    }

    pub(crate) fn namespace(&self) -> &'e str {
        &self.event.namespace
    }

    pub(crate) fn pod(&self) -> &'e str {
        &self.event.about
    }

    pub(crate) const fn node(&self) -> Option<&'e str> {
        self.node
    }

    /// When the controller reported it, for people.
    pub(crate) fn time(&self, now: Now) -> String {
        self.event.last.map_or_else(|| "<unknown>".to_owned(), |at| at_moment(now, moment(at)))
    }

    /// The controller that evicted the pod: both report under the same name, and only Taintward names its process and
    /// the reason.
    pub(crate) fn by(&self) -> &'static str {
        match self.event.by.as_str() {
            CONTROLLER if self.event.instance.is_empty() && self.reason().is_none() => {
                "kube-controller-manager"
            }
            CONTROLLER => "Taintward",
            _ => "an unknown controller",
        }
    }

    /// The reason in Taintward's events.
    fn reason(&self) -> Option<&'e str> {
        self.event.message.split_once(": ").map(|(_, reason)| reason)
    }

    /// The taints that are the cause, or one of which is; empty if none is known.
    pub(crate) fn causes(&self) -> Vec<&str> {
        let named = self.reason().and_then(|reason| reason.split_once(" has taint "));
        match named.and_then(|(_, taint)| taint.split_whitespace().next()) {
            Some(taint) => vec![taint],
            None => self.taints.iter().map(|one| one.taint.as_str()).collect(),
        }
    }

    /// `kube-controller-manager evicted it at 15:08:10 because of a NoExecute taint. It ran on n1, which has
    /// k=v:NoExecute since 15:08:10.`
    pub(crate) fn summary(&self, now: Now) -> String {
        let at = self.event.last.map(|at| format!(" at {}", at_moment(now, moment(at)))).unwrap_or_default();
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

    /// `13:46:00, 14m ago: shop/web-1 by kube-controller-manager, maintenance=now:NoExecute`
    pub(crate) fn line(&self, now: Now) -> String {
        let causes = self.causes();
        let cause = if causes.is_empty() { String::new() } else { format!(", {}", causes.join(", ")) };
        format!("{}: {}/{} by {}{cause}", self.time(now), self.namespace(), self.pod(), self.by())
    }

    /// The JSON for programs.
    pub(crate) fn object(&self) -> Value {
        json!({
            "namespace": self.namespace(),
            "pod": self.pod(),
            "uid": (!self.event.uid.is_empty()).then_some(&self.event.uid),
            "node": self.node,
            "evictedAt": self.event.last.map(|at| stamp(moment(at))),
            "evictedBy": self.by(),
            "taints": self.causes(),
            "reason": self.reason(),
        })
    }
}

impl PastTaint {
    fn text(&self, now: Now) -> String {
        let since = self.since.map(|since| format!(" since {}", at_moment(now, moment(since))));
        format!("{}{}", self.taint, since.unwrap_or_default())
    }
}

/// The NoExecute taints of a node that are not younger than the eviction.
fn taints(snapshot: &ClusterSnapshot, node: &str, evicted: Option<Wall>) -> Vec<PastTaint> {
    let Some(at) = snapshot.node_at(node) else { return Vec::new() };
    let past = |instance: TaintInstance| {
        let TaintStart { at, source, .. } = instance.start;
        let since = (source != TaintStartSource::FirstSight).then(|| Wall::from_micros(at.as_micros()));
        PastTaint { taint: instance.taint.to_string(), since }
    };
    let is_older = |one: &PastTaint| match (one.since, evicted) {
        (Some(since), Some(evicted)) => since <= evicted.plus(ROUNDING),
        _ => true,
    };
    snapshot.instances(at).into_iter().map(past).filter(is_older).collect()
}
