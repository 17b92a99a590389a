//! Defines the JSON that the board sends to its viewers.
//!
//! - See `page/board.js` for its reader.

use crate::cluster_change::ClusterChange;
use serde::{Serialize, Serializer};
use std::sync::Arc;
use taintward_core::eviction::DelayCategory;
use taintward_core::identity::{NodeName, PodId};
use taintward_core::time::Wall;

/// The health of a node by its condition `Ready`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) enum NodeHealth {
    Ready,
    NotReady,
    /// Its condition `Ready` is `Unknown` or missing.
    Unknown,
}

impl NodeHealth {
    /// The health for a status of the condition `Ready`.
    pub(crate) fn of(ready: Option<&str>) -> Self {
        match ready {
            Some("True") => Self::Ready,
            Some("False") => Self::NotReady,
            _ => Self::Unknown,
        }
    }

    /// The state of a node in words.
    pub(crate) fn in_words(self, unschedulable: bool, silenced: bool) -> String {
        let health = match self {
            Self::Ready => "Ready",
            Self::NotReady => "Not ready",
            Self::Unknown => "Unknown",
        };
        let cordoned = if unschedulable { ", cordoned" } else { "" };
        let silenced = if silenced { ", silenced" } else { "" };
        format!("{health}{cordoned}{silenced}")
    }
}

/// A node.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct NodeStatusView {
    /// Its UID.
    pub(crate) id: String,
    pub(crate) name: String,
    /// Its zone; without a zone, its region; empty: it has neither.
    pub(crate) zone: String,
    pub(crate) health: NodeHealth,
    /// Its state in words.
    pub(crate) state: String,
    /// The conditions that differ from those of a healthy node; empty: none.
    pub(crate) reason: String,
    /// Since when it is silent, in Unix seconds: its kubelet sends no heartbeats.
    pub(crate) since: Option<f64>,
    pub(crate) unschedulable: bool,
    /// A fault of the sandbox: its kubelet does not report.
    pub(crate) silenced: bool,
    pub(crate) taints: Vec<NodeTaintView>,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct NodeTaintView {
    /// `key=value:Effect`
    pub(crate) text: String,
    pub(crate) key: String,
    pub(crate) value: String,
    pub(crate) effect: String,
    /// Unix seconds.
    pub(crate) added_at: f64,
    /// The manager that wrote the node's taints last; empty: unknown.
    pub(crate) manager: String,
    /// The reason in the note of the taint; empty: none.
    pub(crate) note: String,
}

/// The state of a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum PodPhase {
    #[default]
    Stays = 0,
    /// It has a deadline.
    Counting = 1,
    /// It is due for eviction, and is not deleted yet.
    Due = 2,
    /// It is due, and an eviction policy or the brake delays its eviction.
    Delayed = 3,
    /// A hold has cleared its seconds.
    Held = 4,
    Terminating = 5,
}

impl PodPhase {
    /// The words for each phase, of one pod and of several, and what it means.
    pub(crate) const WORDS: [[&str; 3]; 6] = [
        ["stays", "stay", "no taint of its node evicts it"],
        ["counting down", "counting down", "it is evicted when its time is over, as the ring shows"],
        ["due", "due", "its time is over, and it is deleted now"],
        ["delayed", "delayed", "it is due, and an eviction policy or the brake delays it"],
        ["held", "held", "its countdown is paused until a hold ends"],
        ["terminating", "terminating", "it is deleted, and its containers stop"],
    ];
}

/// The state of a pod, with the time and the reason.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct PodState {
    pub(crate) phase: PodPhase,
    /// The deadline, or the time since which it is due; in whole seconds, because two clocks differ a little.
    pub(crate) at: Option<i64>,
    /// The taint that decides.
    pub(crate) taint: Option<Arc<str>>,
    /// What delays it, if it is due.
    pub(crate) delay: Option<DelayCategory>,
    /// Its containers have ended, and its object still exists.
    pub(crate) is_finished: bool,
}

/// A pod, as `[uid, namespace, name, node, phase, at, taint]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodView {
    pub(crate) id: PodId,
    pub(crate) node: NodeName,
    pub(crate) state: PodState,
}

impl Serialize for PodView {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (uid, name, node) = (self.id.uid().to_string(), self.id.name(), self.node.as_str());
        let PodState { phase, at, taint, .. } = &self.state;
        let (phase, at, taint) = (*phase as u8, at.unwrap_or_default(), taint.as_deref().unwrap_or_default());
        (uid, name.namespace(), name.name(), node, phase, at, taint).serialize(serializer)
    }
}

/// A workload.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct WorkloadView {
    /// Its UID.
    pub(crate) id: String,
    pub(crate) kind: &'static str,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// Pods that are ready.
    pub(crate) healthy: i64,
    pub(crate) desired: i64,
}

/// A reason that delays evictions or taints.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub(crate) struct LimitView {
    pub(crate) id: String,
    /// `held`, `delayed`, `slowed`, `blocked`.
    pub(crate) kind: &'static str,
    pub(crate) about: String,
    pub(crate) text: String,
}

/// One line of the timeline.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct DecisionView {
    pub(crate) id: u64,
    /// Unix seconds.
    pub(crate) at: f64,
    pub(crate) kind: ClusterChange,
    /// The words for it.
    pub(crate) label: &'static str,
    pub(crate) node: String,
    /// `namespace/name`; empty: about the node, or several pods of it.
    pub(crate) pod: String,
    pub(crate) text: String,
}

/// The fields of every message.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Heading<'a> {
    /// The cluster's time, in Unix seconds.
    pub(crate) now: f64,
    /// Seconds of the cluster in one second.
    pub(crate) speed: f64,
    /// Why the shown state may be incomplete or old.
    pub(crate) problem: Option<&'a str>,
}

/// Everything but the pods.
#[derive(Serialize)]
pub(crate) struct SnapshotView<'a> {
    pub(crate) cluster: &'a str,
    pub(crate) sandbox: bool,
    pub(crate) phases: [[&'static str; 3]; 6],
    /// What the page shows, and what a user can do.
    pub(crate) hint: &'static str,
    /// For requests that change the sandbox.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) token: Option<&'a str>,
    #[serde(flatten)]
    pub(crate) heading: Heading<'a>,
    pub(crate) nodes: Vec<&'a NodeStatusView>,
    pub(crate) workloads: Vec<&'a WorkloadView>,
    pub(crate) limits: &'a [LimitView],
    pub(crate) decisions: Vec<&'a DecisionView>,
}

/// The changes; a missing list has none.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ChangeView<'a> {
    #[serde(flatten)]
    pub(crate) heading: Heading<'a>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) nodes: Vec<&'a NodeStatusView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) pods: Vec<PodView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) workloads: Vec<&'a WorkloadView>,
    /// The whole list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) limits: Option<&'a [LimitView]>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) decisions: Vec<&'a DecisionView>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deleted_nodes: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deleted_pods: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) deleted_workloads: Vec<String>,
}

impl ChangeView<'_> {
    /// Whether nothing has changed.
    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
            && self.pods.is_empty()
            && self.workloads.is_empty()
            && self.limits.is_none()
            && self.decisions.is_empty()
            && self.deleted_nodes.is_empty()
            && self.deleted_pods.is_empty()
            && self.deleted_workloads.is_empty()
    }
}

/// Unix seconds, to the millisecond.
pub(crate) fn seconds(at: Wall) -> f64 {
    (at.as_micros() / 1000) as f64 / 1000.0
}
