//! Tests the findings about fields that are repeated, misplaced or of a wrong type, and about partial lists.

use super::*;

fn one(problem: FieldProblem) -> LintFinding {
    let facts = alone(LintedWorkload { problems: vec![problem.clone()], ..LintedWorkload::default() });
    let found = lint(&facts);
    assert_eq!((found.len(), found[0].place), (1, FindingPlace::Field(0)), "{problem:?}");
    let nodes = vec![LintedNode { problems: vec![problem], ..LintedNode::default() }];
    let of_node = lint(&LintInput { nodes, ..LintInput::default() });
    assert_eq!((of_node[0].rule, &of_node[0].reason), (found[0].rule, &found[0].reason));
    found.into_iter().next().unwrap()
}

fn misplaced(list: LintedList, found: &str, meant: Option<&str>) -> FieldProblem {
    FieldProblem::Misplaced { list, found: found.into(), meant: meant.map(Into::into) }
}

#[test]
fn names_that_are_almost_those_of_the_lists_are_known() {
    for (field, meant) in [
        ("tolerations", Some(LintedList::Tolerations)),
        ("toleration", Some(LintedList::Tolerations)),
        ("Tolerations", Some(LintedList::Tolerations)),
        ("tolerance", Some(LintedList::Tolerations)),
        ("tolerences", Some(LintedList::Tolerations)),
        ("taints", Some(LintedList::Taints)),
        ("taint", Some(LintedList::Taints)),
        ("Taints", Some(LintedList::Taints)),
        ("tains", Some(LintedList::Taints)),
        ("limits", None),
        ("hints", None),
        ("terminations", None),
        ("template", None),
        ("tolerationSeconds", None),
        ("", None),
    ] {
        assert_eq!(LintedList::meant_by(field), meant, "{field}");
    }
}

#[test]
fn tl113_repeated_field() {
    let found = one(FieldProblem::Repeated { field: "tolerations".into(), line: 9 });
    assert_eq!(found.rule, Rule::RepeatedField);
    assert!(found.reason.contains("\"tolerations\"") && found.reason.contains("line 9"), "{}", found.reason);
}

#[test]
fn tl114_misplaced_field() {
    let meant = "spec.template.spec.tolerations";
    for (found, expected) in [
        ("spec.tolerations", "move it to spec.template.spec.tolerations"),
        ("spec.template.spec.toleration", "write tolerations"),
        ("spec.template.spec.containers[0].tolerations", "move it to spec.template.spec.tolerations"),
    ] {
        let finding = one(misplaced(LintedList::Tolerations, found, Some(meant)));
        assert_eq!((finding.rule, finding.fix.as_str()), (Rule::MisplacedField, expected));
        assert!(finding.reason.contains(found), "{}", finding.reason);
    }
    let of_node = one(misplaced(LintedList::Tolerations, "spec.tolerations", None));
    assert!(of_node.fix.contains("spec.taints"), "{}", of_node.fix);
    let of_pod = one(misplaced(LintedList::Taints, "spec.taints", None));
    assert!(of_pod.fix.contains("a pod has tolerations"), "{}", of_pod.fix);
}

#[test]
fn tl115_wrong_type() {
    let list = LintedList::Tolerations;
    for (problem, reason, fix) in [
        (
            FieldProblem::NoList { list, actual: ValueType::Map, is_known: true },
            "a map instead of a list; an API server answers: cannot unmarshal object into []v1.Toleration",
            "begin each toleration with \"- \"",
        ),
        (
            FieldProblem::NoList { list, actual: ValueType::Text, is_known: false },
            "text instead of a list",
            "write a list",
        ),
        (
            FieldProblem::NoMap { list, actual: ValueType::List, is_known: true },
            "a list instead of a map; an API server answers: cannot unmarshal array into v1.Toleration",
            "remove one \"- \"",
        ),
        (
            FieldProblem::NoMap { list, actual: ValueType::Text, is_known: true },
            "text instead of a map",
            "key, operator",
        ),
        (
            FieldProblem::NoMap { list: LintedList::Taints, actual: ValueType::Truth, is_known: false },
            "this taint is a truth value instead of a map",
            "key, value and effect",
        ),
        (
            FieldProblem::NoScalar { field: "effect".into(), actual: ValueType::List },
            "\"effect\" is a list instead of text",
            "one element for each effect",
        ),
        (
            FieldProblem::NoScalar { field: "tolerationSeconds".into(), actual: ValueType::Map },
            "is a map instead of a number",
            "write a number",
        ),
    ] {
        let finding = one(problem);
        assert_eq!(finding.rule, Rule::WrongType);
        assert!(finding.reason.contains(reason), "{}", finding.reason);
        assert!(finding.fix.contains(fix), "{}", finding.fix);
    }
}

#[test]
fn tl212_dead_annotation() {
    let finding = one(FieldProblem::DeadAnnotation { annotation: "a/b".into(), successor: "spec.taints" });
    assert_eq!(
        (finding.rule, finding.fix.as_str()),
        (Rule::DeadAnnotation, "remove it, and use spec.taints")
    );
}

#[test]
fn of_a_partial_list_each_toleration_is_checked_by_itself() {
    let rows = "a Exists v | node.kubernetes.io/notready Exists | - Exists | - Exists | dedicated Exists";
    let whole = reported(&alone(workload(rows)));
    for rule in ["TL101@0", "TL205@1", "TL201@2", "TL202@3", "TL303@4"] {
        assert!(whole.contains(rule), "{whole}");
    }
    assert_eq!(reported(&alone(LintedWorkload { partial: true, ..workload(rows) })), "TL101@0.Value");
    let nodes = |partial| {
        let kubernetes = "node.kubernetes.io/notready:NoSchedule";
        let taints = format!("k:Never {kubernetes} maintenance:NoExecute");
        LintInput {
            nodes: vec![LintedNode { partial, ..linted_node("a", &taints) }],
            workloads: vec![LintedWorkload { daemon: true, ..LintedWorkload::default() }],
            daemons_known: true,
            ..LintInput::default()
        }
    };
    assert_eq!(reported(&nodes(true)), "TL105@node 0.Effect", "it does not count as a node either");
    let whole = reported(&nodes(false));
    for rule in ["TL304@Selection", "TL105@node 0", "TL205@node 1", "TL302@node 2"] {
        assert!(whole.contains(rule), "{whole}");
    }
}
