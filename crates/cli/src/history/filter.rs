//! Defines which objects a history is about, and from when on.

use std::time::Duration;
use taintward_core::identity::{NodeName, PodName};
use taintward_core::time::Wall;
use taintward_kube::clock::Clock;

/// The objects, and the time. Without objects, a history has the decisions about all of them, without the details.
#[derive(Clone, Debug, Default)]
pub(crate) struct HistoryFilter {
    /// Names of pods.
    pub(crate) pods: Vec<String>,
    /// The namespace of pods; `None`: any.
    pub(crate) namespace: Option<String>,
    /// Names of nodes.
    pub(crate) nodes: Vec<String>,
    /// Older entries are left out.
    pub(crate) since: Option<Wall>,
}

impl HistoryFilter {
    /// All objects, for so long until now.
    pub(crate) fn since(length: Duration) -> Self {
        let micros = i64::try_from(length.as_micros()).unwrap_or(i64::MAX);
        let since = Clock::system().now().wall.as_micros().saturating_sub(micros);
        Self { since: Some(Wall::from_micros(since)), ..Self::default() }
    }

    /// Whether objects are named.
    pub(crate) const fn is_detailed(&self) -> bool {
        !self.pods.is_empty() || !self.nodes.is_empty()
    }

    /// Whether the pod, or its node, is named.
    pub(crate) fn names_pod(&self, pod: &PodName, node: &NodeName) -> bool {
        let is_named = self.pods.iter().any(|name| name == pod.name()) && self.admits_namespace(pod);
        is_named || self.names_node(node)
    }

    /// Whether the node is named.
    pub(crate) fn names_node(&self, node: &NodeName) -> bool {
        self.nodes.iter().any(|name| name == node.as_str())
    }

    /// Whether a decision about a pod belongs to the history.
    pub(crate) fn admits_pod(&self, pod: &PodName, node: &NodeName) -> bool {
        if self.is_detailed() { self.names_pod(pod, node) } else { self.admits_namespace(pod) }
    }

    fn admits_namespace(&self, pod: &PodName) -> bool {
        self.namespace.as_deref().is_none_or(|namespace| namespace == pod.namespace())
    }
}
