//! Tests scores and the choice among nodes.

use super::*;

fn scores(spec: &PodSchedulingSpec, candidates: &[NodeInfo]) -> Vec<NodeScore> {
    score(spec, &candidates.iter().collect::<Vec<_>>(), Off)
}

#[test]
fn sc_2_unwanted_taints_are_counted_against_the_worst_node() {
    let with = |effects: &[&str]| {
        let taints = effects.iter().enumerate();
        let taints = taints.map(|(at, effect)| taint_of(&alloc::format!("k{at}"), "", effect)).collect();
        NodeInfo { taints, ..node_info("n") }
    };
    let prefer = "PreferNoSchedule";
    let nodes = [
        with(&[]),
        with(&[prefer]),
        with(&[prefer, prefer, prefer]),
        with(&["NoSchedule", "NoExecute", prefer]),
    ];
    let taints = |tolerations: Vec<Toleration>| -> Vec<i64> {
        scores(&PodSchedulingSpec { tolerations, ..pod_spec() }, &nodes)
            .iter()
            .map(|score| score.taints)
            .collect()
    };
    assert_eq!(taints(vec![]), [100, 67, 0, 67]);
    assert_eq!(taints(vec![toleration_row("k0 Exists")]), [100, 100, 0, 50]);
    assert_eq!(taints(vec![toleration_of("k0", "Exists", "", prefer)]), [100, 100, 0, 50]);
    // Another effect does not match.
    assert_eq!(taints(vec![toleration_row("- Exists - NoSchedule")]), [100, 67, 0, 67]);
    assert_eq!(taints(vec![toleration_row("- Exists")]), [100, 100, 100, 100]);
    assert!(scores(&pod_spec(), &[]).is_empty());
}

#[test]
fn preferred_terms_are_summed_and_scaled() {
    let on = |labels: &[&str]| {
        let labels = labels.iter().map(|&key| (key.into(), "".into())).collect();
        NodeInfo { labels, ..node_info("n") }
    };
    let preferred = |weights: &[(i32, &str)]| {
        let term =
            |&(weight, key): &(i32, &str)| PreferredTerm { weight, term: labelled(key, "Exists", &[]) };
        PodSchedulingSpec { preferred: weights.iter().map(term).collect(), ..pod_spec() }
    };
    let nodes = [on(&["a", "b"]), on(&["a"]), on(&["b"]), on(&[])];
    let affinity = |spec: &PodSchedulingSpec| -> Vec<i64> {
        scores(spec, &nodes).iter().map(|score| score.affinity).collect()
    };
    assert_eq!(affinity(&pod_spec()), [0, 0, 0, 0]);
    assert_eq!(affinity(&preferred(&[(80, "a"), (10, "b")])), [100, 88, 11, 0]);
    assert_eq!(affinity(&preferred(&[(1, "a")])), [100, 100, 0, 0]);
    assert_eq!(affinity(&preferred(&[(0, "a")])), [0, 0, 0, 0]);
    assert_eq!(affinity(&preferred(&[(-5, "a"), (10, "b")])), [50, 0, 100, 0]);
    assert_eq!(affinity(&preferred(&[(i32::MAX, "a"), (i32::MAX, "b")])), [100, 50, 50, 0]);
}

#[test]
fn room_and_balance() {
    let used = |cpu, memory| NodeInfo { used: load(cpu, memory), ..node_info("n") };
    let without_memory = NodeInfo { allocatable: resources(&[(CPU, 4_000)]), ..node_info("n") };
    for (wished, candidate, room, balance) in [
        (load(0, 0), node_info("n"), 100, 0),
        (load(1_000, 2 * GI), node_info("n"), 75, 75),
        (load(1_000, 2 * GI), used(1_000, 2 * GI), 50, 75),
        (load(2_000, 0), node_info("n"), 75, 62),
        (load(2_000, 0), used(0, 4 * GI), 50, 87),
        (load(4_000, 8 * GI), node_info("n"), 0, 75),
        (load(4_000, 0), used(4_000, 0), 50, 75),
        (load(1_000, GI), without_memory, 75, 75),
        (load(1, 1), NodeInfo { allocatable: Resources::new(), ..node_info("n") }, 0, 75),
        (load(i64::MAX, i64::MAX), used(i64::MAX, i64::MAX), 0, 75),
    ] {
        let score = scores(
            &PodSchedulingSpec { load: wished.clone(), ..pod_spec() },
            core::slice::from_ref(&candidate),
        )[0];
        assert_eq!((score.room, score.balance), (room, balance), "{wished:?} {:?}", candidate.used);
    }
}

#[test]
fn weights() {
    let of = |taints, affinity, room, balance| NodeScore { taints, affinity, room, balance }.total();
    assert_eq!((of(1, 0, 0, 0), of(0, 1, 0, 0), of(0, 0, 1, 0), of(0, 0, 0, 1)), (3, 2, 1, 1));
    assert_eq!(of(100, 100, 100, 100), 700);
}

#[test]
fn the_best_node_and_among_equals_the_one_the_number_picks() {
    let full = NodeInfo { pods: 10, ..node_info("full") };
    let busy = NodeInfo { used: load(3_000, 6 * GI), ..node_info("busy") };
    let nodes = [full, node_info("a"), busy, node_info("b"), node_info("c")];
    let spec = PodSchedulingSpec { load: load(100, GI), ..pod_spec() };
    for (tie, at) in [(0, 1), (1, 3), (2, 4), (3, 1), (u64::MAX, 1)] {
        assert_eq!(choose(&spec, &nodes, Off, tie), SelectedNode::Node(at), "{tie}");
    }
    let prefers = PodSchedulingSpec {
        preferred: vec![PreferredTerm {
            weight: 1,
            term: NodeTerm { fields: named(&["busy"]).fields, ..NodeTerm::default() },
        }],
        ..spec
    };
    for tie in 0..5 {
        assert_eq!(choose(&prefers, &nodes, Off, tie), SelectedNode::Node(2));
    }
}

#[test]
fn no_node_is_feasible() {
    assert_eq!(choose(&pod_spec(), &[], Off, 7), SelectedNode::Unschedulable(vec![]));
    let nodes = [NodeInfo { unschedulable: true, ..node_info("a") }, NodeInfo { pods: 10, ..node_info("b") }];
    let SelectedNode::Unschedulable(unfit) = choose(&pod_spec(), &nodes, Off, 0) else {
        panic!("a node was found")
    };
    assert_eq!(unfit[0].by, SchedulerPlugin::NodeUnschedulable);
    assert_eq!(unfit[1].by, SchedulerPlugin::NodeResourcesFit);
    assert_eq!(unfit.len(), 2);
}
