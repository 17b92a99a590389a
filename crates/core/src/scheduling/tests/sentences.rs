//! Tests the messages for unschedulable pods.

use super::*;

fn sentence(spec: &PodSchedulingSpec, nodes: &[NodeInfo]) -> alloc::string::String {
    match choose(spec, nodes, Off, 0) {
        SelectedNode::Unschedulable(unfit) => why_none(spec, &unfit),
        SelectedNode::Node(at) => panic!("it goes to {at}"),
    }
}

fn many(count: usize, candidate: &NodeInfo) -> Vec<NodeInfo> {
    vec![candidate.clone(); count]
}

#[test]
fn sc_1_and_sc_4_in_the_events_wording() {
    let small = NodeInfo {
        allocatable: resources(&[(CPU, 2_000), (MEMORY, 8 * GI)]),
        used: load(1_500, 0),
        ..node_info("s")
    };
    let cordoned = NodeInfo { unschedulable: true, ..node_info("c") };
    let tainted = NodeInfo { taints: vec![taint("a:NoExecute")], ..node_info("t") };
    let nodes = [many(1, &small), many(2, &cordoned), many(3, &tainted)].concat();
    let spec = PodSchedulingSpec { load: load(1_000, 0), ..pod_spec() };
    assert_eq!(
        sentence(&spec, &nodes),
        "0/6 nodes are available: 1 Insufficient cpu, 2 node(s) were unschedulable, 3 node(s) had untolerated \
         taint(s). preemption: 0/6 nodes are available: 1 No preemption victims found for incoming pod, 5 Preemption \
         is not helpful for scheduling."
    );
    let never = PodSchedulingSpec { preempts: false, ..spec };
    assert_eq!(
        sentence(&never, &nodes[..1]),
        "0/1 nodes are available: 1 Insufficient cpu. preemption: not eligible due to preemptionPolicy=Never."
    );
}

#[test]
fn reasons_are_sorted_as_text() {
    let tainted = NodeInfo { taints: vec![taint("a:NoSchedule")], ..node_info("t") };
    let full = NodeInfo { pods: 10, used: load(4_000, 8 * GI), ..node_info("f") };
    let spec = PodSchedulingSpec { load: load(1_000, GI), ..pod_spec() };
    assert_eq!(
        sentence(&spec, &[many(10, &tainted), many(2, &full)].concat()),
        "0/12 nodes are available: 10 node(s) had untolerated taint(s), 2 Insufficient cpu, 2 Insufficient memory, 2 \
         Too many pods. preemption: 0/12 nodes are available: 10 Preemption is not helpful for scheduling, 2 No \
         preemption victims found for incoming pod."
    );
}

#[test]
fn affinity() {
    let mut spec =
        PodSchedulingSpec { node_selector: Labels::from([("disk".into(), "ssd".into())]), ..pod_spec() };
    let nodes = [node_info("a"), node_info("b")];
    assert_eq!(
        sentence(&spec, &nodes),
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector. preemption: 0/2 nodes are \
         available: 2 Preemption is not helpful for scheduling."
    );
    spec.node_selector.clear();
    spec.required = Some(vec![named(&["a"])]);
    let cordoned = [NodeInfo { unschedulable: true, ..node_info("a") }, node_info("b")];
    assert_eq!(
        sentence(&spec, &cordoned),
        "0/2 nodes are available: 1 node(s) didn't satisfy plugin(s) [NodeAffinity], 1 node(s) were unschedulable. \
         preemption: 0/2 nodes are available: 2 Preemption is not helpful for scheduling."
    );
    spec.required = Some(vec![NodeTerm {
        fields: [named(&["a"]).fields, named(&["b"]).fields].concat(),
        expressions: vec![],
    }]);
    assert_eq!(
        sentence(&spec, &nodes),
        "0/2 nodes are available: pod affinity terms conflict. preemption: 0/2 nodes are available: 2 Preemption is \
         not helpful for scheduling."
    );
}

#[test]
fn no_nodes_at_all() {
    assert_eq!(sentence(&pod_spec(), &[]), "no nodes available to schedule pods");
}

#[test]
fn every_reason_has_a_text() {
    for (reason, words) in [
        (UnschedulableReason::Unschedulable, "node(s) were unschedulable"),
        (UnschedulableReason::UntoleratedTaint, "node(s) had untolerated taint(s)"),
        (UnschedulableReason::NodeAffinity, "node(s) didn't match Pod's node affinity/selector"),
        (UnschedulableReason::TooManyPods, "Too many pods"),
        (UnschedulableReason::Insufficient("example.com/gpu".into()), "Insufficient example.com/gpu"),
    ] {
        assert_eq!(reason.to_string(), words);
    }
}
