//! Follows the watches of the board, and combines the changes into one message for all viewers.
//!
//! - See `pod_table.rs` for verdicts, `decision_log.rs` for the timeline.

use super::decision_log::DecisionLog;
use super::limits::{self, ZoneCounts};
use super::node_object::NodeObject;
use super::object_table::{ObjectTable, TableChange};
use super::pod_table::{PodChange, PodPart, PodTable};
use super::views::{
    ChangeView, Heading, LimitView, NodeHealth, NodeStatusView, PodPhase, PodView, SnapshotView, WorkloadView,
};
use super::workload_object::{BudgetObject, WorkloadObject};
use crate::eviction_delays::DueDelays;
use crate::history::HistoryEntry;
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use taintward_core::identity::{NodeName, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::object_event::ObjectIndex as _;
use taintward_core::time::Now;
use taintward_kube::decode::DecodedPod;

/// The state of a cluster, as the board shows it.
pub(crate) struct ClusterModel {
    pods: PodTable,
    nodes: ObjectTable<NodeStatusView>,
    workloads: ObjectTable<WorkloadView>,
    /// The name of a budget, and why it permits no eviction.
    budgets: ObjectTable<(String, Option<String>)>,
    limits: Vec<LimitView>,
    delays: Vec<LimitView>,
    decisions: DecisionLog,
    pending: PendingChange,
    /// The maximum number of pods in a message.
    pods_max: usize,
    /// The log begins after the first complete state, whose objects are not changes.
    is_followed: bool,
}

/// What viewers that have received everything before it lack.
#[derive(Debug, PartialEq)]
pub(crate) enum ModelChange {
    Nothing,
    /// As JSON.
    Message(String),
    /// So many pods that viewers get the whole state, in parts: a message would take many times their memory.
    WholeState,
}

/// The changes that viewers have not received yet.
#[derive(Default)]
struct PendingChange {
    nodes: BTreeSet<Uid>,
    deleted_nodes: Vec<String>,
    workloads: BTreeSet<Uid>,
    deleted_workloads: Vec<String>,
    pods: BTreeMap<Uid, PodChange>,
    /// The pods are too many for a message, and are not listed above.
    is_whole: bool,
    /// Whether limits may have changed.
    is_any: bool,
    /// The first decision that viewers have not received.
    decision: u64,
}

impl PendingChange {
    /// Adds changes of pods: of several changes of a pod, viewers get the last state.
    fn add_pods(&mut self, changes: Vec<PodChange>, pods_max: usize) {
        if self.is_whole {
            return;
        }
        self.pods.extend(changes.into_iter().map(|change| (change.id.uid().clone(), change)));
        self.is_whole = self.pods.len() > pods_max;
        if self.is_whole {
            self.pods.clear();
        }
    }
}

/// The header of a snapshot: the cluster, and the token for its buttons.
pub(crate) struct SnapshotFrame<'a> {
    pub(crate) cluster: &'a str,
    /// The token for the buttons of a sandbox.
    pub(crate) token: Option<&'a str>,
    pub(crate) heading: Heading<'a>,
}

/// The whole state, or the part of it that follows another.
#[derive(Serialize)]
struct PartView<'a> {
    #[serde(flatten)]
    snapshot: Option<SnapshotView<'a>>,
    pods: PodPart<'a>,
}

/// A part of the whole state.
pub(crate) struct SnapshotPart {
    pub(crate) json: String,
    /// The node after whose pods the next part begins; `None`: this is the last part.
    pub(crate) next: Option<NodeName>,
}

impl ClusterModel {
    /// A message to viewers has at most `pods_max` pods.
    pub(crate) fn new(pods_max: usize) -> Self {
        Self {
            pods: PodTable::new(),
            nodes: ObjectTable::default(),
            workloads: ObjectTable::default(),
            budgets: ObjectTable::default(),
            limits: Vec::new(),
            delays: Vec::new(),
            decisions: DecisionLog::default(),
            pending: PendingChange::default(),
            pods_max,
            is_followed: false,
        }
    }

    /// Adds decisions of the time before.
    pub(crate) fn remember(&mut self, past: &[HistoryEntry]) {
        self.decisions.past(past);
    }

    /// Whether nodes and pods were listed once.
    pub(crate) fn is_synced(&self) -> bool {
        self.pods.is_synced()
    }

    pub(crate) fn nodes(&mut self, batch: Vec<ObjectEvent<NodeObject>>, now: Now) {
        for event in batch {
            let (fact, object) = event.split(|object| (object.fact().clone(), object));
            self.pods.handle_node(fact, now);
            let shown = |object: NodeObject| (object.fact().uid.clone(), object.view(now.wall));
            self.nodes.apply(object.map(shown), now);
            for change in self.nodes.take_changes() {
                self.node(change, now);
            }
        }
        self.judge(now);
    }

    fn node(&mut self, change: TableChange<NodeStatusView>, now: Now) {
        self.pending.is_any = true;
        let (before, after) = match &change {
            TableChange::Applied(uid, before) => {
                let Some(after) = self.nodes.get_mut(uid) else { return };
                if let Some(before) = before {
                    after.keep_starts(before);
                }
                if before.as_ref() == Some(&*after) {
                    return;
                }
                self.pending.nodes.insert(uid.clone());
                (before.as_ref(), Some(&*after))
            }
            TableChange::Gone(uid, before) => {
                self.pending.nodes.remove(uid);
                self.pending.deleted_nodes.push(uid.to_string());
                (Some(before), None)
            }
        };
        if self.is_followed {
            self.decisions.node(now, before, after);
        }
    }

    pub(crate) fn pods(&mut self, batch: Vec<ObjectEvent<DecodedPod>>, now: Now) {
        batch.into_iter().for_each(|event| self.pods.handle_pod(event, now));
        self.judge(now);
    }

    /// Judges pods after each batch, so that the log has also the states that end before viewers get a message.
    fn judge(&mut self, now: Now) {
        if !self.is_synced() {
            return;
        }
        let was_followed = std::mem::replace(&mut self.is_followed, true);
        let mut changes = Vec::new();
        self.pods.judge_stale(now, |change| {
            if was_followed {
                changes.push(change);
            }
        });
        self.add_pods(changes, now);
        if !was_followed {
            self.pending.is_whole = true;
            self.pods.take_overdue(now);
        }
    }

    pub(crate) fn workloads<K>(&mut self, batch: Vec<ObjectEvent<WorkloadObject<K>>>, now: Now) {
        for event in batch {
            self.workloads.apply(event.map(WorkloadObject::into_view), now);
        }
        for change in self.workloads.take_changes() {
            match change {
                TableChange::Applied(uid, before) => {
                    if before.as_ref() != self.workloads.get(&uid) {
                        self.pending.workloads.insert(uid);
                    }
                }
                TableChange::Gone(uid, _) => {
                    self.pending.workloads.remove(&uid);
                    self.pending.deleted_workloads.push(uid.to_string());
                }
            }
        }
    }

    pub(crate) fn budgets(&mut self, batch: Vec<ObjectEvent<BudgetObject>>, now: Now) {
        for event in batch {
            self.budgets.apply(event.map(BudgetObject::blocked), now);
        }
        self.pending.is_any |= !self.budgets.take_changes().is_empty();
    }

    /// What delays due pods was read again; pods of one namespace are shown, or all if it is empty.
    pub(crate) fn set_delays(&mut self, delays: DueDelays, namespace: &str, now: Now) {
        self.delays = limits::delays(&delays, namespace, Now::of_wall(now.wall));
        self.pending.is_any = true;
        let mut changes = Vec::new();
        self.pods.set_delays(delays, now, |change| changes.push(change));
        self.add_pods(changes, now);
    }

    fn add_pods(&mut self, changes: Vec<PodChange>, now: Now) {
        self.decisions.pods(now, &changes, &[]);
        self.pending.add_pods(changes, self.pods_max);
    }

    /// Whether a pod is due or held, and the number of pods.
    pub(crate) fn due_or_held(&self, now: Now) -> (bool, usize) {
        self.pods.due_or_held(now)
    }

    /// The changes since the last call.
    pub(crate) fn change(&mut self, now: Now, heading: Heading<'_>, is_heading_new: bool) -> ModelChange {
        if !self.is_synced() {
            // The heading says why the board is still empty.
            return if is_heading_new { ModelChange::Message(json(&heading)) } else { ModelChange::Nothing };
        }
        let overdue = self.pods.take_overdue(now);
        self.decisions.pods(now, &[], &overdue);
        let pending = std::mem::take(&mut self.pending);
        self.pending.decision = self.decisions.next();
        if pending.is_whole {
            self.limits = self.current_limits();
            return ModelChange::WholeState;
        }
        let mut limits = None;
        if pending.is_any || !pending.pods.is_empty() {
            let current = self.current_limits();
            if current != self.limits {
                self.limits = current;
                limits = Some(self.limits.as_slice());
            }
        }
        let (mut pods, mut deleted_pods) = (Vec::new(), Vec::new());
        for change in pending.pods.into_values() {
            match change.after {
                Some(state) => pods.push(PodView { id: change.id, node: change.node, state }),
                None => deleted_pods.push(change.id.uid().to_string()),
            }
        }
        let view = ChangeView {
            heading,
            nodes: pending.nodes.iter().filter_map(|uid| self.nodes.get(uid)).collect(),
            pods,
            workloads: pending.workloads.iter().filter_map(|uid| self.workloads.get(uid)).collect(),
            limits,
            decisions: self.decisions.iter().filter(|decision| decision.id >= pending.decision).collect(),
            deleted_nodes: pending.deleted_nodes,
            deleted_pods,
            deleted_workloads: pending.deleted_workloads,
        };
        let is_new = is_heading_new || !view.is_empty();
        if is_new { ModelChange::Message(json(&view)) } else { ModelChange::Nothing }
    }

    /// The whole state after the last change: everything but the pods, and the first `most` of them.
    pub(crate) fn snapshot(&self, frame: SnapshotFrame<'_>, most: usize) -> SnapshotPart {
        let SnapshotFrame { cluster, token, heading } = frame;
        let snapshot = SnapshotView {
            cluster,
            sandbox: token.is_some(),
            phases: PodPhase::WORDS,
            hint: if token.is_some() { SANDBOX_HINT } else { HINT },
            token,
            heading,
            nodes: self.nodes.values().collect(),
            workloads: self.workloads.values().collect(),
            limits: &self.limits,
            decisions: self.decisions.iter().collect(),
        };
        self.part(Some(snapshot), None, most)
    }

    /// The next part of the whole state: about `most` pods, of the nodes after this one.
    pub(crate) fn pods_after(&self, node: &NodeName, most: usize) -> SnapshotPart {
        self.part(None, Some(node), most)
    }

    fn part(
        &self,
        snapshot: Option<SnapshotView<'_>>,
        after: Option<&NodeName>,
        most: usize,
    ) -> SnapshotPart {
        let view = PartView { snapshot, pods: self.pods.part(after, most) };
        SnapshotPart { json: json(&view), next: view.pods.next().cloned() }
    }

    fn current_limits(&self) -> Vec<LimitView> {
        let mut zones: BTreeMap<&str, ZoneCounts> = BTreeMap::new();
        for node in self.nodes.values() {
            let counts = zones.entry(&node.zone).or_default();
            let is_ready = node.health == NodeHealth::Ready;
            *(if is_ready { &mut counts.ready } else { &mut counts.not_ready }) += 1;
        }
        let of_nodes: HashMap<&str, &str> =
            self.nodes.values().map(|node| (node.name.as_str(), node.zone.as_str())).collect();
        let mut all = limits::holds(self.pods.iter(), &of_nodes);
        all.extend(self.delays.iter().cloned());
        all.extend(limits::brakes(&zones));
        all.extend(limits::blocked(self.budgets.values()));
        all
    }
}

/// What the page shows, and what a user can do.
const HINT: &str = "Each mark is a pod: a ring counts down to its eviction, a diamond is due now, two bars are held. Open a \
                    node to see what a taint would do.";
const SANDBOX_HINT: &str = "A sandbox: open a node, taint it, and watch its pods. Each mark is a pod: a ring counts down to \
                            its eviction, a diamond is due now, two bars are held.";

impl NodeStatusView {
    /// Keeps the earlier start of a known taint, because a later write of other taints has a later time.
    fn keep_starts(&mut self, before: &Self) {
        for taint in &mut self.taints {
            let known = before.taints.iter().find(|known| known.text == taint.text);
            if let Some(known) = known.filter(|known| known.added_at < taint.added_at) {
                (taint.added_at, taint.manager) = (known.added_at, known.manager.clone());
            }
        }
    }
}

pub(super) fn json(view: &impl Serialize) -> String {
    serde_json::to_string(view).expect("texts, numbers and lists are JSON")
}
