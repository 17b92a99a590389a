//! Describes the changes of a node, in the sentences that the board and the sandbox show.

use super::node_object::NodeObject;
use super::views::{NodeHealth, NodeStatusView, NodeTaintView};
use crate::cluster_change::ClusterChange;
use taintward_core::time::Wall;
use taintward_kube::decode::{Decoded, WatchedObject as _};

/// One change of a node; the text follows its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NodeChange {
    pub(crate) kind: ClusterChange,
    pub(crate) text: String,
}

impl NodeChange {
    /// The changes; `None`: the node did not exist before, or no longer exists.
    pub(super) fn between(before: Option<&NodeStatusView>, after: Option<&NodeStatusView>) -> Vec<Self> {
        let (before, after) = match (before, after) {
            (None, None) => return Vec::new(),
            (None, Some(_)) => return vec![Self::new(ClusterChange::Added, "joined the cluster")],
            (Some(_), None) => return vec![Self::new(ClusterChange::Removed, "left the cluster")],
            (Some(before), Some(after)) => (before, after),
        };
        let lacks = |node: &NodeStatusView, taint: &NodeTaintView| {
            !node.taints.iter().any(|known| known.text == taint.text)
        };
        let mut changes = Vec::new();
        for taint in after.taints.iter().filter(|taint| lacks(before, taint)) {
            let by =
                if taint.manager.is_empty() { String::new() } else { format!(" from {}", taint.manager) };
            changes.push(Self::new(ClusterChange::Tainted, format!("got the taint {}{by}", taint.text)));
        }
        for taint in before.taints.iter().filter(|taint| lacks(after, taint)) {
            changes.push(Self::new(ClusterChange::Untainted, format!("lost the taint {}", taint.text)));
        }
        if before.unschedulable != after.unschedulable {
            changes.push(match after.unschedulable {
                true => Self::new(ClusterChange::Cordoned, "was cordoned: unschedulable"),
                false => Self::new(ClusterChange::Uncordoned, "was uncordoned: schedulable"),
            });
        }
        if before.health != after.health {
            changes.push(match after.health {
                NodeHealth::Ready => Self::new(ClusterChange::Ready, "is ready"),
                NodeHealth::NotReady | NodeHealth::Unknown => {
                    Self::new(ClusterChange::NotReady, format!("is not ready: {}", after.reason))
                }
            });
        }
        changes
    }

    /// The changes between two versions of a node in JSON.
    pub(crate) fn between_json(before: Option<&[u8]>, after: Option<&[u8]>) -> Vec<Self> {
        let view = |json: &[u8]| match NodeObject::from_json(json) {
            // No sentence contains the start of a taint.
            Decoded::Object(node) => Some(node.view(Wall::from_secs(0))),
            Decoded::Unbound(_) | Decoded::Undecodable(_) => None,
        };
        Self::between(before.and_then(view).as_ref(), after.and_then(view).as_ref())
    }

    fn new(kind: ClusterChange, text: impl Into<String>) -> Self {
        Self { kind, text: text.into() }
    }
}
