//! Tests properties of scheduling for random pods and nodes.

use super::*;
use proptest::prelude::*;

fn any_taint() -> impl Strategy<Value = Taint> {
    let effect = prop::sample::select(vec!["NoSchedule", "PreferNoSchedule", "NoExecute", "?"]);
    (prop::sample::select(vec!["a", "b"]), prop::sample::select(vec!["", "5"]), effect)
        .prop_map(|(key, value, effect)| taint_of(key, value, effect))
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let operator = prop::sample::select(vec!["", "Exists", "Lt", "?"]);
    let effect = prop::sample::select(vec!["", "NoSchedule", "PreferNoSchedule", "NoExecute", "?"]);
    (prop::sample::select(vec!["", "a", "b"]), operator, prop::sample::select(vec!["", "5", "6"]), effect)
        .prop_map(|(key, operator, value, effect)| toleration_of(key, operator, value, effect))
}

fn any_term() -> impl Strategy<Value = NodeTerm> {
    let operator = prop::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "?"]);
    let values = prop::collection::vec(prop::sample::select(vec!["n0", "n1", "5"]), 0..3);
    let one = (prop::sample::select(vec!["l", "m", "metadata.name"]), operator, values);
    let some = || {
        prop::collection::vec(
            one.clone().prop_map(|(key, operator, values)| requirement(key, operator, &values)),
            0..3,
        )
    };
    (some(), some()).prop_map(|(expressions, fields)| NodeTerm { expressions, fields })
}

fn any_load() -> impl Strategy<Value = ResourceRequests> {
    let amount = || prop_oneof![8 => 0..6_000_i64, 1 => any::<i64>()];
    (amount(), amount(), amount(), amount()).prop_map(|(cpu, memory, assumed_cpu, assumed_memory)| {
        ResourceRequests {
            requested: resources(&[(CPU, cpu), (MEMORY, memory)]),
            assumed: resources(&[(CPU, assumed_cpu), (MEMORY, assumed_memory)]),
        }
    })
}

fn any_pod() -> impl Strategy<Value = PodSchedulingSpec> {
    let preferred = (any::<i32>(), any_term()).prop_map(|(weight, term)| PreferredTerm { weight, term });
    let tolerations = prop::collection::vec(any_toleration(), 0..4);
    let required = prop::option::weighted(0.3, prop::collection::vec(any_term(), 0..3));
    (tolerations, required, prop::collection::vec(preferred, 0..3), any_load(), any::<bool>()).prop_map(
        |(tolerations, required, preferred, load, preempts)| PodSchedulingSpec {
            tolerations,
            required,
            preferred,
            load,
            preempts,
            ..pod_spec()
        },
    )
}

fn any_node() -> impl Strategy<Value = NodeInfo> {
    let label = prop::option::of(prop::sample::select(vec!["n0", "5", "x"]));
    let taints = prop::collection::vec(any_taint(), 0..3);
    (0..3_u8, label, any::<bool>(), taints, any_load(), any_load(), 0..12_i64).prop_map(
        |(name, label, unschedulable, taints, allocatable, used, pods)| NodeInfo {
            labels: label.into_iter().map(|value| ("l".into(), value.into())).collect(),
            unschedulable,
            taints,
            allocatable: allocatable.requested,
            used,
            pods,
            ..node_info(&alloc::format!("n{name}"))
        },
    )
}

proptest! {
    /// The chosen node is feasible and no feasible node has a higher score; an unschedulable pod fits no node.
    #[test]
    fn the_choice_is_feasible_and_best(
        spec in any_pod(),
        nodes in prop::collection::vec(any_node(), 0..8),
        numeric in prop::sample::select(vec![Off, On]),
        tie: u64,
    ) {
        let possible: Vec<&NodeInfo> = nodes.iter().filter(|node| filter(&spec, node, numeric).is_ok()).collect();
        let scores = score(&spec, &possible, numeric);
        for one in &scores {
            for part in [one.taints, one.affinity, one.room, one.balance] {
                prop_assert!((0..=100).contains(&part), "{:?}", one);
            }
        }
        match choose(&spec, &nodes, numeric, tie) {
            SelectedNode::Node(at) => {
                let place = possible.iter().position(|node| core::ptr::eq(*node, &nodes[at]));
                let chosen = scores[place.expect("it is possible")].total();
                prop_assert_eq!(Some(chosen), scores.iter().map(NodeScore::total).max());
            }
            SelectedNode::Unschedulable(unfit) => {
                prop_assert!(possible.is_empty() && unfit.len() == nodes.len());
                prop_assert!(unfit.iter().all(|one| !one.reasons.is_empty()));
                let message = why_none(&spec, &unfit);
                let start = alloc::format!("0/{} nodes are available: ", nodes.len());
                prop_assert!(nodes.is_empty() || message.starts_with(&start), "{}", message);
            }
        }
    }

    /// Many pods, placed one after the other, get the nodes that each would get alone.
    #[test]
    fn a_placer_chooses_as_if_it_looked_at_every_node(
        wishes in prop::collection::vec(any_pod(), 1..4),
        nodes in prop::collection::vec(any_node(), 0..8),
        numeric in prop::sample::select(vec![Off, On]),
        steps in prop::collection::vec((0..4_usize, 0..9_usize, any::<bool>(), any::<u64>()), 0..24),
    ) {
        let wishes: Vec<PodSchedulingSpec> = wishes.into_iter().map(|mut spec| {
            // No pod requests less than nothing.
            spec.load.requested.values_mut().for_each(|amount| *amount = (*amount).max(0));
            spec
        }).collect();
        let mut placer = Placer::new(nodes, numeric);
        for (kind, node, leaves, tie) in steps {
            let kind = kind % wishes.len();
            let spec = &wishes[kind];
            let alone = match choose(spec, placer.candidates(), numeric, tie) {
                SelectedNode::Node(at) => Some(at),
                SelectedNode::Unschedulable(unfit) => {
                    prop_assert_eq!(placer.why_not(spec), unfit);
                    None
                }
            };
            let kind = u32::try_from(kind).expect("few kinds");
            let chosen = placer.choose(PodToPlace { kind, spec, group: None, tie });
            prop_assert_eq!(chosen, alone);
            match chosen {
                _ if leaves && node < placer.candidates().len() => placer.take(node, &spec.load),
                Some(at) => placer.put(at, &spec.load),
                None => {}
            }
        }
    }

    /// SC-3: there is a hint exactly if the filter's result about taints changes from no to yes.
    #[test]
    fn a_hint_is_a_rejection_that_is_resolved(
        tolerations in prop::collection::vec(any_toleration(), 0..4),
        before in prop::collection::vec(any_taint(), 0..3),
        after in prop::collection::vec(any_taint(), 0..3),
    ) {
        let spec = PodSchedulingSpec { tolerations, ..pod_spec() };
        let may = |taints: &[Taint]| filter(&spec, &NodeInfo { taints: taints.to_vec(), ..node_info("n") }, On).is_ok();
        prop_assert_eq!(taints_help(&spec, Some(&before), &after, On), !may(&before) && may(&after));
        prop_assert_eq!(taints_help(&spec, None, &after, On), may(&after));
    }
}
