//! Tests lint with arbitrary input: no panic, and every finding agrees with toleration matching.

use super::*;
use crate::taint::TaintEffect;
use crate::toleration::TolerationOperator;
use crate::toleration_matching::{TaintMatch, match_taint};
use proptest::prelude::*;

fn word() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => prop::sample::select(vec!["", "a", "b", "node.kubernetes.io/not-ready", "dedicated", "3", "7"])
            .prop_map(String::from),
        1 => any::<String>(),
    ]
}

fn written() -> impl Strategy<Value = LintedToleration> {
    let operator = prop_oneof![
        5 => prop::sample::select(vec!["", "Equal", "Exists", "Lt", "Gt"]).prop_map(String::from),
        1 => any::<String>(),
    ];
    let effect = prop_oneof![
        5 => prop::sample::select(vec!["", "NoSchedule", "PreferNoSchedule", "NoExecute"]).prop_map(String::from),
        1 => any::<String>(),
    ];
    let seconds = prop::option::of(prop_oneof![Just(5), Just(60), any::<i64>()]);
    (word(), operator, word(), effect, seconds, prop::option::of(any::<String>()), any::<bool>()).prop_map(
        |(key, operator, value, effect, seconds, odd, odd_seconds)| LintedToleration {
            read: Toleration { seconds, ..toleration_of(&key, &operator, &value, &effect) },
            odd_seconds: odd.as_deref().filter(|_| odd_seconds).map(Into::into),
            octal_seconds: None,
            odd_fields: odd.into_iter().map(Into::into).collect(),
            not_text: Vec::new(),
        },
    )
}

fn any_taint() -> impl Strategy<Value = Taint> {
    (word(), word(), prop::sample::select(vec!["NoSchedule", "NoExecute", "PreferNoSchedule", "odd"]))
        .prop_map(|(key, value, effect)| taint_of(&key, &value, effect))
}

fn facts() -> impl Strategy<Value = LintInput> {
    let workload = (prop::collection::vec(written(), 0..6), any::<[bool; 4]>()).prop_map(
        |(tolerations, [daemon, control_plane, host_network, selects])| LintedWorkload {
            tolerations,
            daemon,
            control_plane,
            host_network,
            node_selector: selects.then(|| ("pool".into(), "a".into())).into_iter().collect(),
            ..LintedWorkload::default()
        },
    );
    let node =
        (prop::collection::vec(any_taint(), 0..4), any::<bool>()).prop_map(|(taints, pool)| LintedNode {
            name: "n".into(),
            labels: pool.then(|| ("pool".into(), "a".into())).into_iter().collect(),
            taints,
            ..LintedNode::default()
        });
    let many = (prop::collection::vec(workload, 0..3), prop::collection::vec(node, 0..3), any::<bool>());
    many.prop_map(|(workloads, nodes, on)| LintInput {
        workloads,
        nodes,
        other_daemons: Vec::new(),
        daemons_known: true,
        numeric: if on { NumericOperators::On } else { NumericOperators::Off },
    })
}

proptest! {
    /// Lint always ends, and every finding points at something that exists.
    #[test]
    fn findings_point_at_existing_fields(facts in facts()) {
        for finding in lint(&facts) {
            let (tolerations, taints) = match finding.subject {
                LintSubject::Workload(at) => (facts.workloads[at].tolerations.len(), 0),
                LintSubject::Node(at) => (0, facts.nodes[at].taints.len()),
            };
            match finding.place {
                FindingPlace::Toleration(at, _) => prop_assert!(at < tolerations),
                FindingPlace::Taint(at, _) => prop_assert!(at < taints),
                FindingPlace::Whole | FindingPlace::Selection => prop_assert_eq!(taints, 0),
                FindingPlace::Field(at) => prop_assert!(false, "there is no problem {at}"),
            }
            prop_assert!(finding.reason.len() < 2_000 && finding.fix.len() < 500, "{:?}", finding);
        }
    }

    /// MATCH-9: a toleration that is reported as never used matches no taint; one in the trap matches none that evicts
    /// pods.
    #[test]
    fn a_toleration_reported_as_useless_never_matches(facts in facts(), taint in any_taint()) {
        for finding in lint(&facts) {
            let (LintSubject::Workload(at), FindingPlace::Toleration(index, _)) = (finding.subject, finding.place) else {
                continue;
            };
            let tolerations: Vec<Toleration> = facts.workloads[at].read().cloned().collect();
            let used = match_taint(&tolerations, &taint, facts.numeric) == TaintMatch::Tolerated(index);
            match finding.rule {
                Rule::DuplicateToleration | Rule::ShadowedToleration if taint.effect.as_str() != "odd" => {
                    prop_assert!(!used, "{:?} answers {}", finding, taint);
                }
                Rule::FirstMatchTrap if taint.effect == TaintEffect::NoExecute => {
                    prop_assert!(!used, "{:?} answers {}", finding, taint);
                }
                _ => {}
            }
        }
    }

    /// Whatever an API server rejects (VAL-1 to VAL-5) gets an error; whatever it accepts gets none.
    #[test]
    fn errors_are_exactly_what_an_api_server_refuses(one in written()) {
        let read = &one.read;
        let rejected = (read.key.is_empty() && read.operator != TolerationOperator::Exists)
            || (!read.key.is_empty() && !crate::label::is_key(&read.key))
            || (read.operator == TolerationOperator::Exists && !read.value.is_empty())
            || matches!(read.operator, TolerationOperator::Unknown(_) | TolerationOperator::Lt | TolerationOperator::Gt)
            || (matches!(read.operator, TolerationOperator::Unset | TolerationOperator::Equal)
                && !crate::label::is_value(&read.value))
            || matches!(read.effect, Some(TaintEffect::Unknown(_)))
            || ((read.seconds.is_some() || one.odd_seconds.is_some()) && read.effect != Some(TaintEffect::NoExecute))
            || one.odd_seconds.is_some()
            || !one.odd_fields.is_empty();
        let found = lint(&alone(LintedWorkload { tolerations: vec![one], ..LintedWorkload::default() }));
        prop_assert_eq!(rejected, found.iter().any(|finding| finding.rule.severity() == Severity::Error));
    }
}

#[test]
fn many_tolerations_take_negligible_time() {
    let tolerations =
        (0..20_000).map(|at| linted_toleration(&format!("k{at} Exists - NoExecute {at}"))).collect();
    let facts = alone(LintedWorkload { tolerations, ..LintedWorkload::default() });
    assert_eq!(lint(&facts).len(), 1, "only that 0 seconds are none");
}
