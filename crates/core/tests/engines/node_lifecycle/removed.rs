//! Tests what follows when nodes, leases and pods are gone: nothing is written to them, and nothing of them is kept.

use crate::node_lifecycle::harness::{NodeLifecycleHarness, What};
use taintward_core::identity::{NodeName, Uid};
use taintward_core::node_lifecycle::NodeLifecycleInput;
use taintward_core::object_event::{ObjectEvent, ObjectRef};

fn nodes(harness: &NodeLifecycleHarness) -> usize {
    harness.engine.as_ref().expect("it runs").stats().nodes
}

/// Whether the engine knows anything of an object with this name.
fn knows(harness: &NodeLifecycleHarness, name: &str) -> bool {
    format!("{:?}", harness.engine.as_deref().expect("it runs")).contains(name)
}

fn deleted(name: &str, uid: Option<&str>) -> ObjectRef {
    ObjectRef::node(&NodeName::new(name), uid.map(Uid::new))
}

/// The pods that were marked as not ready, in order.
fn marked(harness: &NodeLifecycleHarness) -> Vec<&str> {
    let marks = harness.commits.iter().filter_map(|commit| match &commit.what {
        What::Mark(pod) => Some(pod.as_str()),
        _ => None,
    });
    let mut marked: Vec<&str> = marks.collect();
    marked.sort_unstable();
    marked
}

#[test]
fn a_node_that_is_gone_is_not_written_and_not_kept() {
    let mut harness = NodeLifecycleHarness::new(&[("alpha", 3)]);
    harness.kill(&["alpha0"]);
    harness.submit(NodeLifecycleInput::Nodes(ObjectEvent::Deleted(deleted("alpha0", Some("earlier")))));
    assert_eq!(nodes(&harness), 3, "an earlier node of the same name was deleted");
    harness.remove_node("alpha0");
    harness.pass(1);
    assert_eq!(nodes(&harness), 2);
    assert!(knows(&harness, "alpha0"), "its lease is left");
    harness.submit(NodeLifecycleInput::Leases(ObjectEvent::Deleted(deleted("alpha0", None))));
    assert!(!knows(&harness, "alpha0") && knows(&harness, "alpha1"));
    harness.pass(200);
    assert_eq!(harness.commits, []);
}

#[test]
fn pods_that_are_gone_are_not_marked() {
    let mut harness = NodeLifecycleHarness::new(&[("alpha", 3)]);
    ["kept", "deleted", "unlisted"].iter().for_each(|pod| harness.bind(pod, "alpha0"));
    harness.pass(1);
    let (_, gone) = harness.pods.remove("deleted").expect("it was bound");
    let object = ObjectRef::pod(gone.id.uid().clone(), Some(gone.node));
    harness.submit(NodeLifecycleInput::Pods(ObjectEvent::Deleted(object)));
    assert!(!knows(&harness, "default/deleted") && knows(&harness, "default/unlisted"));
    harness.pods.remove("unlisted");
    harness.list(false);
    assert!(!knows(&harness, "default/unlisted") && knows(&harness, "default/kept"));
    harness.kill(&["alpha0"]);
    harness.pass(120);
    assert_eq!(marked(&harness), ["kept"]);
}

#[test]
fn a_list_of_pods_that_is_aborted_removes_none() {
    let mut harness = NodeLifecycleHarness::new(&[("alpha", 3)]);
    harness.bind("kept", "alpha0");
    harness.pass(1);
    for event in [
        ObjectEvent::ListStarted { silent_since: None },
        ObjectEvent::ListAborted,
        ObjectEvent::ListCompleted,
    ] {
        harness.submit(NodeLifecycleInput::Pods(event));
    }
    harness.kill(&["alpha0"]);
    harness.pass(120);
    assert_eq!(marked(&harness), ["kept"], "without a list that runs, its end means nothing");
}

#[test]
fn a_lease_that_is_not_listed_is_gone_and_an_empty_zone_is_not_kept() {
    let mut harness = NodeLifecycleHarness::new(&[("alpha", 3), ("beta", 3)]);
    ["beta0", "beta1", "beta2"].iter().for_each(|name| harness.set_ready(name, false));
    harness.pass(1);
    let waiting: usize = {
        let engine = harness.engine.as_ref().expect("it runs");
        engine.zones().map(|zone| zone.waiting).sum()
    };
    assert!(waiting > 0 && knows(&harness, "beta0") && knows(&harness, "beta"));
    for name in ["beta0", "beta1", "beta2"] {
        harness.stored.remove(name);
        harness.kubelets.remove(name);
    }
    harness.list(false);
    assert!(!knows(&harness, "beta") && knows(&harness, "alpha"));
}
