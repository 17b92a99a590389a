//! Tests pods that can run on only one node, by the pool of that node.

use super::{bearing, judged, labels, pool, requested, requester};
use crate::admission::pool::*;
use crate::admission::request::*;
use crate::fact::PodOwnerKind;
use crate::scheduling::{NodeOperator, NodeRequirement, NodeTerm};
use alloc::vec;
use alloc::vec::Vec;

#[test]
fn a_pod_that_names_a_node_of_the_pool_enters_without_a_toleration() {
    let one = pool("a", 1);
    let request = requested(AdmittedPod { node: Some("n1".into()), ..AdmittedPod::default() }, None);
    let reported = judged(&one, &request, NodePoolMembership::Pool("a"));
    assert!(reported[0].message.contains("spec.nodeName names node n1 of the pool"), "{reported:?}");
    assert_eq!(judged(&one, &request, NodePoolMembership::Pool("b")), []);
    assert_eq!(judged(&one, &request, NodePoolMembership::None), []);
    // Its tolerations matter only if the scheduler chooses the node.
    let bearing = requested(AdmittedPod { node: Some("n1".into()), ..bearing("- Exists") }, None);
    assert_eq!(judged(&one, &bearing, NodePoolMembership::None), []);
    let own = violation(&[one], &request, NodePoolMembership::Pool("a"), Some(&labels("team=a"))).0;
    assert_eq!(own, []);
}

#[test]
fn an_unknown_node_may_become_one_of_the_pools() {
    let one = pool("a", 1);
    let request = requested(AdmittedPod { node: Some("n9".into()), ..AdmittedPod::default() }, None);
    let reported = judged(&one, &request, NodePoolMembership::Unknown);
    assert_eq!(reported[0].entry, PoolEntry::UnknownNode);
    assert!(reported[0].message.contains("node n9, which is unknown"), "{reported:?}");
    // It would enter another pool besides its own.
    let (own, _) = violation(
        &[pool("b", 2), one.clone()],
        &request,
        NodePoolMembership::Unknown,
        Some(&labels("team=a")),
    );
    assert_eq!(own.len(), 1);
    let warn = DedicatedPool { enforcement: PoolEnforcement::Warn, ..one };
    assert_eq!(judged(&warn, &request, NodePoolMembership::Unknown), []);
}

#[test]
fn a_daemon_is_judged_by_the_node_it_was_created_for() {
    let one = pool("a", 1);
    let pin = |name: &str| {
        let named = NodeRequirement {
            key: "metadata.name".into(),
            operator: NodeOperator::In,
            values: vec![name.into()],
        };
        NodeTerm { expressions: Vec::new(), fields: vec![named] }
    };
    let daemon = |text: &str, terms: Vec<NodeTerm>| {
        let mut request = requested(AdmittedPod { required: Some(terms), ..bearing(text) }, None);
        request.pod.identity.owner = PodOwnerKind::DaemonSet;
        request.requester = Some(requester("system:serviceaccount:kube-system:daemon-set-controller", &[]));
        request
    };
    let made = daemon("- Exists", vec![pin("n1"), pin("n1")]);
    assert_eq!(made.destination(), Some("n1"));
    let reported = judged(&one, &made, NodePoolMembership::Pool("a"));
    assert!(
        reported[0].message.contains("the DaemonSet controller created this pod for node n1"),
        "{reported:?}"
    );
    assert_eq!(judged(&one, &made, NodePoolMembership::None), []);
    assert_eq!(judged(&one, &made, NodePoolMembership::Unknown)[0].entry, PoolEntry::UnknownNode);
    let allows = DedicatedPool { daemon_sets: DaemonSetPolicy::Allow, ..one.clone() };
    assert_eq!(judged(&allows, &made, NodePoolMembership::Pool("a")), []);
    // Without a toleration it does not get onto the node.
    let plain = daemon("node.kubernetes.io/not-ready Exists - NoExecute", vec![pin("n1")]);
    assert_eq!(judged(&one, &plain, NodePoolMembership::Pool("a")), []);
    assert_eq!(judged(&one, &plain, NodePoolMembership::Unknown), []);
    // If it may run elsewhere, or another client writes the same, its tolerations decide.
    for terms in [vec![], vec![pin("n1"), pin("n2")], vec![NodeTerm::default()]] {
        let request = daemon("- Exists", terms);
        assert_eq!(request.destination(), None);
        assert_eq!(judged(&one, &request, NodePoolMembership::None).len(), 1);
    }
    let forged = PodRequest { requester: Some(requester("bob", &[])), ..made };
    assert_eq!(judged(&one, &forged, NodePoolMembership::None).len(), 1);
    assert_eq!(judged(&allows, &forged, NodePoolMembership::None).len(), 1);
}
