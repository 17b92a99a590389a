//! Tests what events of nodes, leases and pods change: deletions, objects that cannot be decoded, and whole and aborted lists.

use crate::node_lifecycle::harness::NodeLifecycleHarness;
use crate::node_lifecycle::{list_aborted, list_completed, list_started};
use taintward_core::identity::{NodeName, PodRef, Uid};
use taintward_core::node_lifecycle::{
    NodeLifecycleFlags, NodeLifecycleInput as Input, NodeLifecycleNotice, NodeLifecycleStats, WatchedKind,
};
use taintward_core::object_event::{ObjectEvent, ObjectRef};

fn stats(harness: &NodeLifecycleHarness) -> NodeLifecycleStats {
    harness.engine.as_ref().expect("it runs").stats()
}

fn removed(harness: &NodeLifecycleHarness) -> Vec<&str> {
    let name = |notice: &_| match notice {
        (_, NodeLifecycleNotice::Removed(node)) => Some(node.name.to_string()),
        _ => None,
    };
    let names: Vec<String> = harness.notices.iter().filter_map(name).collect();
    ["a0", "a1", "a2", "a3"].into_iter().filter(|known| names.iter().any(|name| name == known)).collect()
}

#[test]
fn only_the_deletion_of_this_node_removes_it() {
    let object = |harness: &NodeLifecycleHarness, uid: Option<Uid>| {
        Input::Nodes(ObjectEvent::Deleted(ObjectRef::node(&harness.stored["a1"].node.name, uid)))
    };
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    let another = object(&harness, Some(Uid::new("another")));
    harness.submit(another);
    assert_eq!((stats(&harness).nodes, removed(&harness)), (4, vec![]));
    let its_own = object(&harness, Some(harness.stored["a1"].node.uid.clone()));
    harness.submit(its_own);
    assert_eq!((stats(&harness).nodes, removed(&harness)), (3, vec!["a1"]));
    // Without a UID, the node of this name is meant.
    let fact = harness.stored["a1"].node.clone();
    harness.submit(Input::Nodes(ObjectEvent::Applied { fact, listed: false }));
    assert_eq!(stats(&harness).nodes, 4);
    let nameless = object(&harness, None);
    harness.submit(nameless);
    assert_eq!(stats(&harness).nodes, 3);
}

/// A node that is not in a whole list is gone; what a list that was aborted does not contain stays.
#[test]
fn a_whole_list_removes_nodes_and_an_aborted_one_does_not() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    harness.submit(list_started(WatchedKind::Nodes, None));
    harness.submit(list_aborted(WatchedKind::Nodes));
    harness.submit(list_completed(WatchedKind::Nodes));
    assert_eq!(stats(&harness).nodes, 4);
    harness.submit(list_started(WatchedKind::Nodes, None));
    let listed: Vec<_> = ["a0", "a2"].map(|name| harness.stored[name].node.clone()).into();
    for fact in listed {
        harness.submit(Input::Nodes(ObjectEvent::Applied { fact, listed: true }));
    }
    // What the watch delivers meanwhile, or has delivered before, need not be repeated by the list.
    let mut late = harness.stored["a3"].node.clone();
    late.version = late.version.map(|version| taintward_core::identity::ResourceVersion(version.0 - 1));
    harness.submit(Input::Nodes(ObjectEvent::Applied { fact: late, listed: false }));
    harness.submit(list_completed(WatchedKind::Nodes));
    assert_eq!((stats(&harness).nodes, removed(&harness)), (3, vec!["a1"]));
}

/// Marks that wait for two pods of a node that is not ready.
fn with_marks() -> NodeLifecycleHarness {
    let flags = NodeLifecycleFlags {
        eviction_rate: 0.0,
        secondary_eviction_rate: 0.0,
        ..NodeLifecycleFlags::default()
    };
    let mut harness = NodeLifecycleHarness::unsettled(&[("a", 4)], flags);
    harness.pass(100);
    ["web", "db"].iter().for_each(|pod| harness.bind(pod, "a1"));
    harness.leading = false;
    harness.set_ready("a1", false);
    harness.pass(1);
    assert_eq!(stats(&harness).marks, 2);
    harness
}

fn reference(harness: &NodeLifecycleHarness, name: &str) -> ObjectRef {
    let (node, fact) = &harness.pods[name];
    ObjectRef::pod(fact.id.uid().clone(), Some(NodeName::new(node)))
}

#[test]
fn a_pod_that_is_gone_needs_no_mark_and_one_that_cannot_be_decoded_does() {
    let mut harness = with_marks();
    let web = reference(&harness, "web");
    harness.submit(Input::Pods(ObjectEvent::Undecodable(web.clone())));
    assert_eq!(stats(&harness).marks, 2);
    harness.submit(Input::Pods(ObjectEvent::Deleted(web)));
    assert_eq!(stats(&harness).marks, 1);
}

#[test]
fn a_whole_list_removes_pods_and_an_aborted_one_does_not() {
    let mut harness = with_marks();
    harness.submit(list_started(WatchedKind::Pods, None));
    harness.submit(list_aborted(WatchedKind::Pods));
    harness.submit(list_completed(WatchedKind::Pods));
    assert_eq!(stats(&harness).marks, 2);
    harness.submit(list_started(WatchedKind::Pods, None));
    let fact = harness.pods["db"].1.clone();
    harness.submit(Input::Pods(ObjectEvent::Applied { fact, listed: true }));
    harness.submit(list_completed(WatchedKind::Pods));
    assert_eq!(stats(&harness).marks, 1);
    let left = PodRef { node: NodeName::new("a1"), uid: harness.pods["db"].1.id.uid().clone() };
    harness.submit(Input::Pods(ObjectEvent::Deleted(left.into())));
    assert_eq!(stats(&harness).marks, 0, "the other one was not in the list");
}

/// Nothing is known of a node whose node and lease are gone; a lease alone does not make a node.
#[test]
fn a_lease_that_outlives_its_node_is_no_node() {
    let mut harness = NodeLifecycleHarness::new(&[("a", 4)]);
    let lease = harness.stored["a1"].lease.clone().expect("it has one");
    harness.remove_node("a1");
    harness.pass(1);
    assert_eq!(stats(&harness).nodes, 3);
    harness.submit(Input::Leases(ObjectEvent::Applied { fact: lease, listed: false }));
    harness.pass(100);
    let now = harness.clock().mono;
    let engine = harness.engine.as_ref().expect("it runs");
    assert_eq!((engine.nodes().count(), stats(&harness).silent), (3, 0));
    assert!(engine.explain(&NodeName::new("a1"), now).is_none());
}
