//! Tests the node lifecycle engine with simulated kubelets, API server and time.

#![allow(unreachable_pub, reason = "modules of one test crate")]

mod counts;
mod disruption;
mod events;
mod exhaustive;
mod fuzz;
mod gaps;
mod harness;
mod input;
mod invariants;
mod observer;
mod properties;
mod removed;
mod restarts;
mod silent_on_purpose;
mod single_facts;
mod timeline;
mod turns;

use taintward_core::node_lifecycle::{NodeLifecycleInput, WatchedKind};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Mono;

/// A list of a kind starts.
fn list_started(kind: WatchedKind, silent_since: Option<Mono>) -> NodeLifecycleInput {
    match kind {
        WatchedKind::Nodes => NodeLifecycleInput::Nodes(ObjectEvent::ListStarted { silent_since }),
        WatchedKind::Leases => NodeLifecycleInput::Leases(ObjectEvent::ListStarted { silent_since }),
        WatchedKind::Pods => NodeLifecycleInput::Pods(ObjectEvent::ListStarted { silent_since }),
    }
}

/// A list of a kind is complete.
fn list_completed(kind: WatchedKind) -> NodeLifecycleInput {
    match kind {
        WatchedKind::Nodes => NodeLifecycleInput::Nodes(ObjectEvent::ListCompleted),
        WatchedKind::Leases => NodeLifecycleInput::Leases(ObjectEvent::ListCompleted),
        WatchedKind::Pods => NodeLifecycleInput::Pods(ObjectEvent::ListCompleted),
    }
}

/// A list of a kind was aborted.
fn list_aborted(kind: WatchedKind) -> NodeLifecycleInput {
    match kind {
        WatchedKind::Nodes => NodeLifecycleInput::Nodes(ObjectEvent::ListAborted),
        WatchedKind::Leases => NodeLifecycleInput::Leases(ObjectEvent::ListAborted),
        WatchedKind::Pods => NodeLifecycleInput::Pods(ObjectEvent::ListAborted),
    }
}
