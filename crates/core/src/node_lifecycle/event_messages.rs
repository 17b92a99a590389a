//! Holds upstream's reasons and messages of events and conditions, verbatim (NL-12, NL-17, NL-19).

use crate::identity::NodeName;
use alloc::format;
use alloc::string::String;

/// The event source (NL-1).
pub const COMPONENT: &str = "node-controller";

/// Reason of the event about a node observed for the first time.
pub const REGISTERED: &str = "RegisteredNode";
/// Reason of the event about a node that is gone.
pub const REMOVING: &str = "RemovingNode";
/// Reason of the event about a node, or a pod, that is no longer ready.
pub const NOT_READY: &str = "NodeNotReady";
/// Message of the event about a pod.
pub const POD_NOT_READY: &str = "Node is not ready";

/// Message of the event about a node observed for the first time.
pub fn registered(node: &NodeName) -> String {
    format!("Node {node} event: Registered Node {node} in Controller")
}

/// Message of the event about a node that is gone.
pub fn removing(node: &NodeName) -> String {
    format!("Node {node} event: Removing Node {node} from Controller")
}

/// Message of the event about a node that is no longer ready.
pub fn not_ready(node: &NodeName) -> String {
    format!("Node {node} status is now: {NOT_READY}")
}

/// Reason and message of a condition that a silent node never had.
pub const NEVER_POSTED: (&str, &str) = ("NodeStatusNeverUpdated", "Kubelet never posted node status.");
/// Reason and message of a condition that a silent node had.
pub const STOPPED: (&str, &str) = ("NodeStatusUnknown", "Kubelet stopped posting node status.");
