//! Tests which nodes a node selector term matches.

use super::*;

fn labels() -> Labels {
    [("disk", "ssd"), ("rank", "5"), ("low", "-5"), ("big", "9223372036854775807"), ("empty", "")]
        .into_iter()
        .map(|(key, value)| (key.into(), value.into()))
        .collect()
}

#[test]
fn labels_are_compared() {
    for (key, operator, values, expected) in [
        ("disk", "In", &["hdd", "ssd"][..], true),
        ("disk", "In", &["hdd"], false),
        ("none", "In", &["", "x"], false),
        ("empty", "In", &[""], true),
        ("disk", "NotIn", &["hdd"], true),
        ("disk", "NotIn", &["ssd", "hdd"], false),
        ("none", "NotIn", &["x"], true),
        ("disk", "Exists", &[], true),
        ("none", "Exists", &[], false),
        ("disk", "DoesNotExist", &[], false),
        ("none", "DoesNotExist", &[], true),
        ("rank", "Gt", &["4"], true),
        ("rank", "Gt", &["5"], false),
        ("rank", "Lt", &["6"], true),
        ("rank", "Lt", &["5"], false),
        ("rank", "Gt", &["-1"], true),
        ("low", "Lt", &["-4"], true),
        ("big", "Gt", &["9223372036854775806"], true),
        ("rank", "Gt", &["+4"], true),
        ("rank", "Gt", &["04"], true),
        ("disk", "Gt", &["4"], false),
        ("none", "Gt", &["4"], false),
        ("none", "Lt", &["4"], false),
        // An invalid requirement matches nothing.
        ("disk", "In", &[], false),
        ("none", "NotIn", &[], false),
        ("disk", "Exists", &["ssd"], false),
        ("none", "DoesNotExist", &["x"], false),
        ("rank", "Gt", &[], false),
        ("rank", "Gt", &["1", "2"], false),
        ("rank", "Gt", &["x"], false),
        ("rank", "Lt", &["9223372036854775808"], false),
        ("rank", "Lt", &["6.0"], false),
        ("disk", "in", &["ssd"], false),
        ("disk", "", &["ssd"], false),
        ("disk", "Equal", &["ssd"], false),
    ] {
        assert_eq!(
            labelled(key, operator, values).matches("n", &labels()),
            expected,
            "{key} {operator} {values:?}"
        );
    }
}

#[test]
fn the_only_field_is_the_name() {
    for (key, operator, values, expected) in [
        ("metadata.name", "In", &["n"][..], true),
        ("metadata.name", "In", &["m"], false),
        ("metadata.name", "NotIn", &["m"], true),
        ("metadata.name", "NotIn", &["n"], false),
        ("metadata.name", "In", &["n", "m"], false),
        ("metadata.name", "In", &[], false),
        ("metadata.name", "Exists", &[], false),
        ("metadata.name", "Gt", &["1"], false),
        ("metadata.uid", "In", &["n"], false),
        ("metadata.uid", "In", &[""], true),
        ("metadata.uid", "NotIn", &["n"], true),
    ] {
        let term = NodeTerm { expressions: vec![], fields: vec![requirement(key, operator, values)] };
        assert_eq!(term.matches("n", &labels()), expected, "{key} {operator} {values:?}");
    }
}

#[test]
fn all_requirements_of_one_of_the_terms() {
    let both = |name: &str, value: &str| NodeTerm {
        expressions: vec![requirement("disk", "In", &[value]), requirement("rank", "Exists", &[])],
        ..named(&[name])
    };
    assert!(both("n", "ssd").matches("n", &labels()));
    assert!(!both("n", "hdd").matches("n", &labels()));
    assert!(!both("m", "ssd").matches("n", &labels()));
    assert!(!NodeTerm::default().matches("n", &labels()));

    let candidate = NodeInfo { labels: labels(), ..node_info("n") };
    let fits = |selector: &[(&str, &str)], required: Option<Vec<NodeTerm>>| {
        let node_selector = selector.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        filter(&PodSchedulingSpec { node_selector, required, ..pod_spec() }, &candidate, Off).is_ok()
    };
    let (yes, no) = (labelled("disk", "Exists", &[]), labelled("disk", "In", &[]));
    assert!(fits(&[], None));
    assert!(!fits(&[], Some(vec![])));
    assert!(!fits(&[], Some(vec![NodeTerm::default()])));
    assert!(fits(&[], Some(vec![no.clone(), yes.clone()])));
    assert!(!fits(&[], Some(vec![no.clone()])));
    assert!(fits(&[("disk", "ssd"), ("rank", "5")], Some(vec![yes.clone()])));
    assert!(!fits(&[("disk", "hdd")], Some(vec![yes])));
    assert!(!fits(&[("disk", "ssd")], Some(vec![no])));
    assert!(!fits(&[("none", "")], None));
    assert!(fits(&[("empty", "")], None));
}

#[test]
fn a_pod_that_names_nodes_gets_no_other_node() {
    let reason = |required: Vec<NodeTerm>| {
        let spec = PodSchedulingSpec { required: Some(required), ..pod_spec() };
        filter(&spec, &NodeInfo { labels: labels(), ..node_info("n") }, Off)
            .err()
            .map(|unfit| unfit.reasons[0].clone())
    };
    let twice = |first: &[&str], second: &[&str]| NodeTerm {
        fields: [named(first).fields, named(second).fields].concat(),
        expressions: vec![],
    };
    for (required, expected) in [
        (vec![named(&["n"])], None),
        (vec![named(&["m"])], Some(UnschedulableReason::NotNamed)),
        (vec![named(&["m"]), named(&["n"])], None),
        (vec![named(&["m"]), labelled("disk", "Exists", &[])], None),
        (vec![named(&["m"]), labelled("disk", "DoesNotExist", &[])], Some(UnschedulableReason::NodeAffinity)),
        (vec![twice(&["n"], &["m"])], Some(UnschedulableReason::AffinityConflict)),
        (vec![twice(&["n"], &["m"]), named(&["n"])], None),
        (vec![twice(&["n"], &["m"]), named(&["m"])], Some(UnschedulableReason::NotNamed)),
        (vec![twice(&["n"], &["n"])], None),
        (vec![named(&[])], Some(UnschedulableReason::AffinityConflict)),
        // Named, but a field with two values makes the term itself invalid.
        (vec![named(&["n", "m"])], Some(UnschedulableReason::NodeAffinity)),
    ] {
        assert_eq!(reason(required.clone()), expected, "{required:?}");
    }
}
