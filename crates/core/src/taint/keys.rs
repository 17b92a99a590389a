//! Names the taints that Kubernetes itself adds to nodes (MATCH-10).
//!
//! - Matching and eviction treat them like any other taint.

/// The node is not ready.
pub const NOT_READY: &str = "node.kubernetes.io/not-ready";
/// The node is unreachable.
pub const UNREACHABLE: &str = "node.kubernetes.io/unreachable";
/// The node is cordoned.
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";
/// The node is short of memory.
pub const MEMORY_PRESSURE: &str = "node.kubernetes.io/memory-pressure";
/// The node is short of disk.
pub const DISK_PRESSURE: &str = "node.kubernetes.io/disk-pressure";
/// The node is short of process ids.
pub const PID_PRESSURE: &str = "node.kubernetes.io/pid-pressure";
/// The node's network is not configured.
pub const NETWORK_UNAVAILABLE: &str = "node.kubernetes.io/network-unavailable";
/// An administrator declares that the node is shut down.
pub const OUT_OF_SERVICE: &str = "node.kubernetes.io/out-of-service";
/// The cloud provider has not initialized the node yet.
pub const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// The cloud provider reports that the node is shut down.
pub const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
/// The node belongs to the control plane.
pub const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// All of them.
pub const ALL: [&str; 11] = [
    NOT_READY,
    UNREACHABLE,
    UNSCHEDULABLE,
    MEMORY_PRESSURE,
    DISK_PRESSURE,
    PID_PRESSURE,
    NETWORK_UNAVAILABLE,
    OUT_OF_SERVICE,
    UNINITIALIZED,
    SHUTDOWN,
    CONTROL_PLANE,
];

/// Names from old releases, and their current replacements (MATCH-10).
pub const OLD: [(&str, Option<&str>); 9] = [
    ("node.alpha.kubernetes.io/notReady", Some(NOT_READY)),
    ("node.alpha.kubernetes.io/unreachable", Some(UNREACHABLE)),
    ("node.kubernetes.io/memoryPressure", Some(MEMORY_PRESSURE)),
    ("node.kubernetes.io/diskPressure", Some(DISK_PRESSURE)),
    ("node.kubernetes.io/networkUnavailable", Some(NETWORK_UNAVAILABLE)),
    ("node.kubernetes.io/outOfDisk", None),
    ("node.kubernetes.io/out-of-disk", None),
    ("node-role.kubernetes.io/master", Some(CONTROL_PLANE)),
    ("node-role.alpha.kubernetes.io/master", Some(CONTROL_PLANE)),
];
