//! Collects the nodes whose pods must be judged again, from the events of nodes and pods.

use std::collections::BTreeSet;
use taintward_core::fact::NodeFact;
use taintward_core::identity::NodeName;
use taintward_core::object_event::{ObjectEvent, ObjectRef};

/// Nodes with changed facts, or with changed pods.
#[derive(Debug, Default)]
pub(crate) struct StaleNodes {
    nodes: BTreeSet<NodeName>,
    /// A list is complete, or a pod is gone whose node is unknown.
    are_all: bool,
}

impl StaleNodes {
    /// Adds the node of an event.
    pub(crate) fn add_node(&mut self, event: &ObjectEvent<NodeFact>) {
        match event {
            ObjectEvent::Applied { fact, .. } => _ = self.nodes.insert(fact.name.clone()),
            ObjectEvent::Deleted(node) | ObjectEvent::Undecodable(node) => {
                self.nodes.insert(node.node_name());
            }
            ObjectEvent::ListCompleted => self.are_all = true,
            _ => {}
        }
    }

    /// Adds the node of a pod's event.
    pub(crate) fn add_pod<F>(&mut self, event: &ObjectEvent<F>, node_of: impl Fn(&F) -> &NodeName) {
        match event {
            ObjectEvent::Applied { fact, .. } => _ = self.nodes.insert(node_of(fact).clone()),
            ObjectEvent::Deleted(ObjectRef { node: Some(node), .. })
            | ObjectEvent::Undecodable(ObjectRef { node: Some(node), .. }) => {
                self.nodes.insert(node.clone());
            }
            ObjectEvent::Deleted(_) | ObjectEvent::ListCompleted => self.are_all = true,
            _ => {}
        }
    }

    /// The nodes since the last call, with those of `shown` if all may be stale.
    pub(crate) fn take<'n>(&mut self, shown: impl Iterator<Item = &'n NodeName>) -> BTreeSet<NodeName> {
        let Self { mut nodes, are_all } = std::mem::take(self);
        if are_all {
            nodes.extend(shown.cloned());
        }
        nodes
    }
}
