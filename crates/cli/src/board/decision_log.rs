//! Keeps the last decisions about pods and nodes.
//!
//! - Invariant: kinds and order are those of `pending -w`; see `cluster_change.rs` for the words and labels.

use super::node_change::NodeChange;
use super::pod_table::PodChange;
use super::views::{DecisionView, NodeStatusView, PodPhase, PodState, PodView, seconds};
use crate::cluster_change::ClusterChange;
use crate::history::{HistoryEntry, HistoryEvent, HistoryObject};
use std::collections::{BTreeMap, VecDeque};
use taintward_core::identity::{NodeName, PodName};
use taintward_core::time::{Now, Wall};

/// The number of decisions that the log keeps.
const DECISIONS_MAX: usize = 200;

/// The maximum number of pods of a node that have a line each; more share one line.
const NAMED_MAX: usize = 5;

/// The timeline.
#[derive(Debug, Default)]
pub(crate) struct DecisionLog {
    decisions: VecDeque<DecisionView>,
    next: u64,
}

/// One thing that happened to a pod.
struct PodDecision<'a> {
    pod: &'a PodName,
    text: String,
    /// The state with the taint that decides.
    state: Option<&'a PodState>,
}

impl<'a> PodDecision<'a> {
    fn order(&self) -> (&'a str, &'a str) {
        (self.pod.namespace(), self.pod.name())
    }
}

impl DecisionLog {
    /// The decisions, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &DecisionView> {
        self.decisions.iter()
    }

    /// The number of the next decision.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    fn push(
        &mut self,
        at: Wall,
        (kind, label): (ClusterChange, &'static str),
        node: &str,
        pod: &str,
        text: String,
    ) {
        let (node, pod) = (node.to_owned(), pod.to_owned());
        self.decisions.push_back(DecisionView {
            id: self.next,
            at: seconds(at),
            kind,
            label,
            node,
            pod,
            text,
        });
        self.next += 1;
        if self.decisions.len() > DECISIONS_MAX {
            self.decisions.pop_front();
        }
    }

    /// Adds what a record says about the time before.
    pub(crate) fn past(&mut self, entries: &[HistoryEntry]) {
        for entry in entries {
            let Some(kind) = past_change(entry.event) else { continue };
            let (node, pod) = match &entry.object {
                HistoryObject::Cluster => (String::new(), String::new()),
                HistoryObject::Node(node) => (node.to_string(), String::new()),
                HistoryObject::Pod { name, node, .. } => (node.to_string(), name.to_string()),
            };
            self.push(entry.at, kind, &node, &pod, entry.message.clone());
        }
    }

    /// Adds the changes of pods at one moment, in the order of their names.
    pub(crate) fn pods(&mut self, now: Now, changes: &[PodChange], overdue: &[PodView]) {
        type Group<'a> = (&'a NodeName, ClusterChange, &'static str);
        let mut groups: BTreeMap<Group<'_>, Vec<PodDecision<'_>>> = BTreeMap::new();
        for change in changes {
            if let Some((kind, label, text)) = entry(change, now) {
                let state = change.after.as_ref().filter(|state| state.leaves()).or(change.before.as_ref());
                let decision = PodDecision { pod: change.id.name(), text, state };
                groups.entry((&change.node, kind, label)).or_default().push(decision);
            }
        }
        for PodView { id, node, state } in overdue {
            let text = ClusterChange::Overdue.of_pod(seconds_left(state, now), "");
            let decision = PodDecision { pod: id.name(), text, state: Some(state) };
            groups.entry((node, ClusterChange::Overdue, "Overdue")).or_default().push(decision);
        }
        let mut lines = Vec::new();
        for ((node, kind, label), mut pods) in groups {
            pods.sort_by_key(PodDecision::order);
            match pods.len() {
                0..=NAMED_MAX => lines.extend(
                    pods.into_iter()
                        .map(|one| (one.order(), node, (kind, label), one.pod.as_str(), one.text)),
                ),
                number => {
                    let taint = pods[0].state.and_then(|state| state.taint.as_deref()).unwrap_or_default();
                    let text = format!("{number} pods {} ({taint})", plural(kind, label));
                    lines.push((pods[0].order(), node, (kind, label), "", text));
                }
            }
        }
        lines.sort_by_key(|(order, ..)| *order);
        for (_, node, kind, pod, text) in lines {
            self.push(now.wall, kind, node.as_str(), pod, text);
        }
    }

    /// Adds the changes of a node; `None`: it did not exist before, or no longer exists.
    pub(crate) fn node(&mut self, now: Now, before: Option<&NodeStatusView>, after: Option<&NodeStatusView>) {
        let Some(node) = after.or(before) else { return };
        for NodeChange { kind, text } in NodeChange::between(before, after) {
            self.push(now.wall, (kind, kind.label(0)), &node.name, "", text);
        }
    }
}

/// The line for a change of a pod; `None`: the change does not concern an eviction.
fn entry(change: &PodChange, now: Now) -> Option<(ClusterChange, &'static str, String)> {
    let line = |kind: ClusterChange, state: &PodState| {
        let taint = state.taint.as_deref().unwrap_or_default();
        let left = seconds_left(state, now);
        Some((kind, kind.label(left), kind.of_pod(left, taint)))
    };
    match (change.before.as_ref().filter(|state| state.leaves()), change.after.as_ref()) {
        (None, Some(state)) if state.leaves() => line(ClusterChange::CountingDown, state),
        (None, _) => None,
        (Some(old), Some(new)) if new.delay.is_some() && new.delay != old.delay => {
            line(ClusterChange::Delayed, new)
        }
        (Some(old), Some(new)) if new.leaves() => ((old.at, &old.taint) != (new.at, &new.taint))
            .then(|| line(ClusterChange::Changed, new))
            .flatten(),
        (Some(_), Some(new)) if new.phase == PodPhase::Held => {
            Some((ClusterChange::Cancelled, "Held", "is held: its countdown is paused".to_owned()))
        }
        (Some(_), Some(new)) if new.is_finished => line(ClusterChange::Finished, new),
        (Some(_), Some(new)) if new.phase == PodPhase::Stays => line(ClusterChange::Cancelled, new),
        (Some(old), _) => line(ClusterChange::Deleted, old),
    }
}

/// The kind and the label of an entry of a record; `None`: it is a detail.
const fn past_change(event: HistoryEvent) -> Option<(ClusterChange, &'static str)> {
    Some(match event {
        HistoryEvent::CountdownStarted => (ClusterChange::CountingDown, "Counting down"),
        HistoryEvent::CountdownMoved => (ClusterChange::Changed, "Changed"),
        HistoryEvent::CountdownCancelled => (ClusterChange::Cancelled, "Countdown cancelled"),
        HistoryEvent::CountdownsHeld => (ClusterChange::Cancelled, "Held"),
        HistoryEvent::BecameDue => (ClusterChange::CountingDown, "Due"),
        HistoryEvent::EvictionDelayed | HistoryEvent::BrakeBegan => (ClusterChange::Delayed, "Delayed"),
        HistoryEvent::RequestFailed => (ClusterChange::Overdue, "Request failed"),
        HistoryEvent::PodEvicted => (ClusterChange::Deleted, "Evicted"),
        HistoryEvent::TaintsChanged | HistoryEvent::NodeTainted => (ClusterChange::Tainted, "Taints changed"),
        HistoryEvent::NodeNotReady | HistoryEvent::NodeSilent => (ClusterChange::NotReady, "Not ready"),
        HistoryEvent::StoreRestored => (ClusterChange::Changed, "Restored"),
        _ => return None,
    })
}

/// The whole seconds until the deadline of a pod; negative: since it.
fn seconds_left(state: &PodState, now: Now) -> i64 {
    let at = state.at.unwrap_or_default().saturating_mul(1_000_000);
    at.saturating_sub(now.wall.as_micros()) / 1_000_000
}

/// The words for several pods.
fn plural(kind: ClusterChange, label: &str) -> &'static str {
    match kind {
        ClusterChange::CountingDown if label == "Due" => "are due now",
        ClusterChange::CountingDown => "are counting down",
        ClusterChange::Cancelled if label == "Held" => "are held",
        ClusterChange::Changed => "have another deadline",
        ClusterChange::Cancelled => "stay",
        ClusterChange::Delayed => "are due, and wait",
        ClusterChange::Overdue => "are overdue",
        ClusterChange::Finished => "are finished",
        _ if label == "Evicted" => "were evicted",
        _ => "were deleted before their deadlines",
    }
}
