//! Keeps the last decisions about pods and nodes, in the words that `pending -w` uses.

use super::pod_table::PodChange;
use super::views::{
    DecisionKind, DecisionView, NodeHealth, NodeStatusView, PodPhase, PodState, PodView, seconds,
};
use std::collections::{BTreeMap, VecDeque};
use taintward_core::identity::NodeName;
use taintward_core::time::Now;

/// Decisions that are kept.
const DECISIONS_MAX: usize = 200;

/// Pods of one node that are named one by one; more are told of together.
const NAMED_MAX: usize = 5;

/// The timeline.
#[derive(Debug, Default)]
pub(crate) struct DecisionLog {
    decisions: VecDeque<DecisionView>,
    next: u64,
}

/// One thing that happened to a pod.
struct PodDecision {
    pod: String,
    text: String,
    taint: String,
}

impl DecisionLog {
    /// All that are kept, the oldest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &DecisionView> {
        self.decisions.iter()
    }

    /// The number of the next decision.
    pub(crate) const fn next(&self) -> u64 {
        self.next
    }

    fn push(&mut self, now: Now, kind: DecisionKind, node: &str, pod: &str, text: String) {
        let (node, pod) = (node.to_owned(), pod.to_owned());
        self.decisions.push_back(DecisionView {
            id: self.next,
            at: seconds(now.wall),
            kind,
            node,
            pod,
            text,
        });
        self.next += 1;
        if self.decisions.len() > DECISIONS_MAX {
            self.decisions.pop_front();
        }
    }

    /// What became of pods at one moment.
    pub(crate) fn pods(&mut self, now: Now, changes: &[PodChange], overdue: &[PodView]) {
        let mut groups: BTreeMap<(&NodeName, DecisionKind), Vec<PodDecision>> = BTreeMap::new();
        let mut add = |node, kind, pod: &str, text: String, state: Option<&PodState>| {
            let taint = state.and_then(|state| state.taint.as_deref()).unwrap_or_default().to_owned();
            groups.entry((node, kind)).or_default().push(PodDecision { pod: pod.to_owned(), text, taint });
        };
        for change in changes {
            if let Some((kind, text)) = told(change, now) {
                let state = change.after.as_ref().filter(|state| state.leaves()).or(change.before.as_ref());
                add(&change.node, kind, change.id.name().as_str(), text, state);
            }
        }
        for pod in overdue {
            let late = now.wall.as_micros() / 1_000_000 - pod.state.at.unwrap_or_default();
            let text = format!("had to leave {late}s ago and is still there");
            add(&pod.node, DecisionKind::Overdue, pod.id.name().as_str(), text, Some(&pod.state));
        }
        for ((node, kind), pods) in groups {
            match pods.len() {
                0..=NAMED_MAX => {
                    for PodDecision { pod, text, .. } in pods {
                        self.push(now, kind, node.as_str(), &pod, text);
                    }
                }
                number => {
                    let text = format!("{number} pods {} ({})", plural(kind), pods[0].taint);
                    self.push(now, kind, node.as_str(), "", text);
                }
            }
        }
    }

    /// What became of a node; `None`: it was not there before, or is not any more.
    pub(crate) fn node(&mut self, now: Now, before: Option<&NodeStatusView>, after: Option<&NodeStatusView>) {
        let (before, after) = match (before, after) {
            (None, None) => return,
            (None, Some(node)) => {
                return self.push(now, DecisionKind::Added, &node.name, "", "joined the cluster".to_owned());
            }
            (Some(node), None) => {
                return self.push(now, DecisionKind::Removed, &node.name, "", "left the cluster".to_owned());
            }
            (Some(before), Some(after)) => (before, after),
        };
        let name = &after.name;
        let has = |node: &NodeStatusView, text: &str| node.taints.iter().any(|taint| taint.text == text);
        for taint in after.taints.iter().filter(|taint| !has(before, &taint.text)) {
            let by = if taint.by.is_empty() { String::new() } else { format!(" by {}", taint.by) };
            self.push(now, DecisionKind::Tainted, name, "", format!("got the taint {}{by}", taint.text));
        }
        for taint in before.taints.iter().filter(|taint| !has(after, &taint.text)) {
            self.push(now, DecisionKind::Untainted, name, "", format!("lost the taint {}", taint.text));
        }
        if before.unschedulable != after.unschedulable {
            let (kind, text) = match after.unschedulable {
                true => (DecisionKind::Cordoned, "was cordoned: unschedulable"),
                false => (DecisionKind::Uncordoned, "was uncordoned: schedulable"),
            };
            self.push(now, kind, name, "", text.to_owned());
        }
        if before.health != after.health {
            let (kind, text) = match after.health {
                NodeHealth::Ready => (DecisionKind::Ready, "is ready".to_owned()),
                NodeHealth::NotReady | NodeHealth::Unknown => {
                    (DecisionKind::NotReady, format!("is not ready: {}", after.why))
                }
            };
            self.push(now, kind, name, "", text);
        }
    }
}

/// What a change of a pod is called; `None`: it neither leaves nor left.
fn told(change: &PodChange, now: Now) -> Option<(DecisionKind, String)> {
    let left = |state: &PodState| state.at.unwrap_or_default() - now.wall.as_micros() / 1_000_000;
    let because = |state: &PodState| state.taint.as_deref().unwrap_or_default().to_owned();
    let (before, after) = (change.before.as_ref(), change.after.as_ref());
    match (before.filter(|state| state.leaves()), after) {
        (None, Some(state)) if state.phase == PodPhase::Counting => Some((
            DecisionKind::Counting,
            format!("leaves in {}s because of {}", left(state).max(0), because(state)),
        )),
        (None, Some(state)) if state.phase == PodPhase::Due => {
            Some((DecisionKind::Counting, format!("has to leave now because of {}", because(state))))
        }
        (None, _) => None,
        (Some(old), Some(new)) if new.leaves() => ((old.at, &old.taint) != (new.at, &new.taint)).then(|| {
            (DecisionKind::Changed, format!("leaves in {}s because of {}", left(new).max(0), because(new)))
        }),
        (Some(_), Some(new)) if new.phase == PodPhase::Held => {
            Some((DecisionKind::Cancelled, "is held: its countdown stands still".to_owned()))
        }
        (Some(_), Some(new)) if new.phase == PodPhase::Stays => {
            Some((DecisionKind::Cancelled, "stays".to_owned()))
        }
        (Some(old), _) => Some((DecisionKind::Gone, format!("left because of {}", because(old)))),
    }
}

/// What several pods do.
const fn plural(kind: DecisionKind) -> &'static str {
    match kind {
        DecisionKind::Counting => "count down",
        DecisionKind::Changed => "have another deadline",
        DecisionKind::Cancelled => "stay",
        DecisionKind::Overdue => "had to leave and are still there",
        _ => "left",
    }
}
