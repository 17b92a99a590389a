//! Tests which plugin rejects a node, why, and whether preemption could help.

use super::*;

fn rejection(
    spec: &PodSchedulingSpec,
    candidate: &NodeInfo,
    numeric: NumericOperators,
) -> Option<(SchedulerPlugin, Vec<UnschedulableReason>, bool)> {
    let unfit = filter(spec, candidate, numeric).err()?;
    Some((unfit.by, unfit.reasons, unfit.preemption_may_help))
}

fn taints_reject(tolerations: &[Toleration], taints: &[Taint], numeric: NumericOperators) -> bool {
    let spec = PodSchedulingSpec { tolerations: tolerations.to_vec(), ..pod_spec() };
    let found = rejection(&spec, &NodeInfo { taints: taints.to_vec(), ..node_info("n") }, numeric);
    let no = Some((SchedulerPlugin::TaintToleration, vec![UnschedulableReason::UntoleratedTaint], false));
    assert!(found.is_none() || found == no, "{found:?}");
    found.is_some()
}

#[test]
fn sc_1_no_schedule_and_no_execute_repel() {
    for (effect, no) in [
        ("NoSchedule", true),
        ("NoExecute", true),
        ("PreferNoSchedule", false),
        ("noschedule", false),
        ("", false),
    ] {
        assert_eq!(taints_reject(&[], &[taint_of("k", "v", effect)], Off), no, "{effect}");
    }
}

/// MATCH-8: one untolerated taint is enough, at any position.
#[test]
fn sc_1_each_taint_needs_a_toleration() {
    let taints = [taint("a=1:NoSchedule"), taint("b=2:NoExecute"), taint("c:PreferNoSchedule")];
    for (tolerations, no) in [
        (vec![toleration_row("a Exists")], true),
        (vec![toleration_row("a Exists - NoSchedule"), toleration_row("b Equal 2 NoExecute")], false),
        (vec![toleration_row("a Exists - NoExecute"), toleration_row("b Equal 2 NoExecute")], true),
        (vec![toleration_row("a - 1"), toleration_row("b Equal x")], true),
        (vec![toleration_row("- Exists")], false),
        (vec![toleration_row("- Exists - NoSchedule")], true),
        (vec![toleration_row("a exists"), toleration_row("b Exists")], true),
        (vec![toleration_row("a exists"), toleration_row("- Exists")], false),
        (vec![toleration_row("- Exists - ?"), toleration_row("- Exists")], false),
        (vec![toleration_row("- Exists - ?")], true),
    ] {
        assert_eq!(taints_reject(&tolerations, &taints, Off), no, "{tolerations:?}");
    }
}

#[test]
fn sc_1_numeric_operators_count_with_the_gate_on() {
    let taints = [taint("a=5:NoSchedule")];
    let less = [toleration_row("a Lt 6")];
    assert!(taints_reject(&less, &taints, Off));
    assert!(!taints_reject(&less, &taints, On));
}

#[test]
fn sc_4_a_cordoned_node_is_for_pods_that_tolerate_its_taint() {
    let cordoned = NodeInfo { unschedulable: true, ..node_info("n") };
    let key = "node.kubernetes.io/unschedulable";
    for (tolerations, no) in [
        (vec![], true),
        (vec![toleration_of(key, "Exists", "", "NoSchedule")], false),
        (vec![toleration_of(key, "", "", "")], false),
        (vec![toleration_of(key, "Equal", "x", "")], true),
        (vec![toleration_of(key, "Exists", "", "NoExecute")], true),
        (vec![toleration_row("- Exists")], false),
        (vec![toleration_row("other Exists")], true),
    ] {
        let found = rejection(&PodSchedulingSpec { tolerations, ..pod_spec() }, &cordoned, Off);
        assert_eq!(
            found,
            no.then(|| (SchedulerPlugin::NodeUnschedulable, vec![UnschedulableReason::Unschedulable], false))
        );
    }
    // The taint that belongs to the cordon is not counted a second time.
    let both = NodeInfo { taints: vec![taint_of(key, "", "NoSchedule")], ..cordoned };
    assert_eq!(
        rejection(&pod_spec(), &both, Off).map(|found| found.0),
        Some(SchedulerPlugin::NodeUnschedulable)
    );
}

#[test]
fn sc_5_seconds_do_not_matter() {
    for seconds in [None, Some(0), Some(-1), Some(300)] {
        let bearing = Toleration { seconds, ..toleration_row("a Exists - NoExecute") };
        assert!(!taints_reject(&[bearing], &[taint("a:NoExecute")], Off), "{seconds:?}");
    }
}

#[test]
fn the_first_rejection_counts() {
    let spec = PodSchedulingSpec {
        node_selector: Labels::from([("disk".into(), "ssd".into())]),
        load: load(9_000, 0),
        ..pod_spec()
    };
    let mut candidate =
        NodeInfo { unschedulable: true, taints: vec![taint("a:NoSchedule")], ..node_info("n") };
    let by = |candidate: &NodeInfo| rejection(&spec, candidate, Off).map(|found| found.0);
    assert_eq!(by(&candidate), Some(SchedulerPlugin::NodeUnschedulable));
    candidate.unschedulable = false;
    assert_eq!(by(&candidate), Some(SchedulerPlugin::TaintToleration));
    candidate.taints.clear();
    assert_eq!(by(&candidate), Some(SchedulerPlugin::NodeAffinity));
    candidate.labels.insert("disk".into(), "ssd".into());
    assert_eq!(by(&candidate), Some(SchedulerPlugin::NodeResourcesFit));
    candidate.allocatable.insert(CPU.into(), 9_000);
    assert_eq!(by(&candidate), None);
}

#[test]
fn missing_resources_and_whether_preemption_could_help() {
    let gpu = "example.com/gpu";
    let full = NodeInfo { used: load(3_000, 7 * GI), pods: 9, ..node_info("n") };
    let insufficient = |name: &str| UnschedulableReason::Insufficient(name.into());
    for (requested, pods, expected) in [
        (vec![], 9, None),
        (vec![(CPU, 1_000), (MEMORY, GI)], 9, None),
        (vec![(CPU, 1_001)], 9, Some((vec![insufficient(CPU)], true))),
        (vec![(CPU, 4_000)], 9, Some((vec![insufficient(CPU)], true))),
        (vec![(CPU, 4_001)], 9, Some((vec![insufficient(CPU)], false))),
        (vec![(MEMORY, GI + 1)], 9, Some((vec![insufficient(MEMORY)], true))),
        (
            vec![(CPU, 2_000), (MEMORY, 9 * GI)],
            9,
            Some((vec![insufficient(CPU), insufficient(MEMORY)], false)),
        ),
        (vec![], 10, Some((vec![UnschedulableReason::TooManyPods], true))),
        (vec![(CPU, 2_000)], 11, Some((vec![UnschedulableReason::TooManyPods, insufficient(CPU)], true))),
        (vec![(gpu, 1)], 9, Some((vec![insufficient(gpu)], false))),
        (vec![(gpu, 0)], 9, None),
        (vec![(CPU, -5)], 9, None),
        (vec![(CPU, i64::MAX)], 9, Some((vec![insufficient(CPU)], false))),
    ] {
        let load = ResourceRequests { requested: resources(&requested), assumed: Resources::new() };
        let found =
            rejection(&PodSchedulingSpec { load, ..pod_spec() }, &NodeInfo { pods, ..full.clone() }, Off);
        let expected =
            expected.map(|(reasons, may_help)| (SchedulerPlugin::NodeResourcesFit, reasons, may_help));
        assert_eq!(found, expected, "{requested:?} {pods}");
    }
}

#[test]
fn an_overcommitted_node_still_accepts_a_pod_without_requests() {
    let over = NodeInfo { used: load(9_000, i64::MAX), ..node_info("n") };
    assert_eq!(rejection(&pod_spec(), &over, Off), None);
    assert!(rejection(&PodSchedulingSpec { load: load(1, 0), ..pod_spec() }, &over, Off).is_some());
    let hostile =
        NodeInfo { allocatable: resources(&[(CPU, i64::MIN)]), used: load(i64::MAX, 0), ..node_info("n") };
    assert!(rejection(&PodSchedulingSpec { load: load(1, 0), ..pod_spec() }, &hostile, Off).is_some());
}

#[test]
fn sc_3_only_a_change_that_lets_the_pod_in_gives_a_hint() {
    let spec = PodSchedulingSpec { tolerations: vec![toleration_row("borne Exists")], ..pod_spec() };
    let off = [taint("other:NoSchedule")];
    let open = [taint("borne:NoExecute"), taint("other:PreferNoSchedule")];
    for (before, after, expected) in [
        (None, &open[..], true),
        (None, &off[..], false),
        (Some(&off[..]), &open[..], true),
        (Some(&off[..]), &[], true),
        (Some(&off[..]), &off[..], false),
        (Some(&open[..]), &off[..], false),
        (Some(&open[..]), &[], false),
    ] {
        assert_eq!(taints_help(&spec, before, after, Off), expected, "{before:?} {after:?}");
    }
}
