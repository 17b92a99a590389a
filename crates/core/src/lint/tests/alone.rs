//! Tests the rules about one toleration or one workload.

use super::*;

#[test]
fn tl101_exists_with_value() {
    rows(&[
        ("k Exists v NoSchedule", "TL101@0.Value"),
        ("k Exists - NoSchedule", ""),
        ("k Equal v NoSchedule", ""),
        ("k - v NoSchedule", ""),
    ]);
}

#[test]
fn tl102_empty_key() {
    rows(&[
        ("- Equal v NoSchedule", "TL102@0.Operator"),
        ("- - - NoSchedule", "TL102@0.Operator"),
        ("- Exists - NoSchedule", ""),
        ("k - - NoSchedule", ""),
    ]);
}

#[test]
fn tl103_seconds_without_no_execute() {
    rows(&[
        ("k Exists - NoSchedule 60", "TL103@0.Seconds"),
        ("k Exists - - 60", "TL103@0.Seconds"),
        ("k Exists - PreferNoSchedule 0", "TL103@0.Seconds"),
        ("k Exists - NoExecute 60", ""),
        ("k Exists - NoSchedule", ""),
    ]);
}

#[test]
fn tl104_unknown_operator() {
    rows(&[
        ("k exists - NoSchedule", "TL104@0.Operator"),
        ("k In v NoSchedule", "TL104@0.Operator"),
        ("k Exists - NoSchedule", ""),
        ("k - - NoSchedule", ""),
    ]);
    let fix = |operator: &str| lint(&alone(workload(&format!("k {operator} v NoSchedule"))))[0].fix.clone();
    assert_eq!(fix("exists"), "write operator: Exists");
    assert_eq!(fix("Equals"), "write operator: Equal");
    for unlike in ["Contains", "In", "=", "gt", "GreaterThan"] {
        assert_eq!(
            fix(unlike),
            "write Equal for one value, or Exists for any",
            "{unlike}: Lt and Gt need a gate"
        );
    }
    let on = |operator: &str| {
        let workload = workload(&format!("k {operator} 5 NoSchedule"));
        lint(&LintInput { numeric: NumericOperators::On, ..alone(workload) })[0].fix.clone()
    };
    assert_eq!(on("gt"), "write operator: Gt");
}

#[test]
fn tl105_unknown_effect() {
    rows(&[
        ("k Exists - noexecute", "TL105@0.Effect"),
        ("k Exists - NoScheduleNoAdmit", "TL105@0.Effect"),
        ("k Exists - NoExecute", ""),
        ("k Exists", ""),
    ]);
    let nodes =
        |taints| reported(&LintInput { nodes: vec![linted_node("n", taints)], ..LintInput::default() });
    assert_eq!(nodes("k:Noschedule k:"), "TL105@node 0.Effect, TL105@node 1.Effect");
    assert_eq!(nodes("k:NoSchedule k:PreferNoSchedule"), "");
    let fix = |effect: &str| lint(&alone(workload(&format!("k Exists - {effect}"))))[0].fix.clone();
    for (written, expected) in [
        ("noexecute", "write effect: NoExecute"),
        ("NO_SCHEDULE", "write effect: NoSchedule"),
        ("PREFER_NO_SCHEDULE", "write effect: PreferNoSchedule"),
        ("no-execute", "write effect: NoExecute"),
        ("NoShedule", "write effect: NoSchedule"),
        ("Evict", "write one of NoSchedule, PreferNoSchedule, NoExecute"),
    ] {
        assert_eq!(fix(written), expected, "{written}");
    }
}

#[test]
fn tl106_tl107_numeric_operators() {
    rows(&[
        ("k Lt 5 NoSchedule", "TL106@0.Operator"),
        ("k Gt five NoSchedule", "TL106@0.Operator"),
        ("k Equal 5 NoSchedule", ""),
    ]);
    let on = |row| reported(&LintInput { numeric: NumericOperators::On, ..alone(workload(row)) });
    for (row, expected) in [
        ("k Lt 5 NoSchedule", ""),
        ("k Gt -9223372036854775808 NoSchedule", ""),
        ("k Gt 05 NoSchedule", "TL107@0.Value"),
        ("k Gt +5 NoSchedule", "TL107@0.Value"),
        ("k Lt - NoSchedule", "TL107@0.Value"),
        ("k Lt 9223372036854775808 NoSchedule", "TL107@0.Value"),
    ] {
        assert_eq!(on(row), expected, "{row}");
    }
}

#[test]
fn tl108_unreadable_seconds() {
    rows(&[
        ("k Exists - NoExecute 5m", "TL108@0.Seconds"),
        ("k Exists - NoExecute 9223372036854775808", "TL108@0.Seconds"),
        ("k Exists - NoSchedule 1.5", "TL103@0.Seconds, TL108@0.Seconds"),
        // An unreadable value is not treated as missing seconds.
        ("- Exists - NoExecute 5m", "TL108@0.Seconds"),
        ("k Exists - NoExecute 300", ""),
    ]);
}

#[test]
fn tl109_malformed() {
    let long = "x".repeat(64);
    rows(&[
        ("a/b/c Exists - NoSchedule", "TL109@0.Key"),
        ("-k Exists - NoSchedule", "TL109@0.Key"),
        ("Example.com/k Exists - NoSchedule", "TL109@0.Key"),
        (&format!("{long} Exists - NoSchedule"), "TL109@0.Key"),
        ("k Equal a:b NoSchedule", "TL109@0.Value"),
        (&format!("k Equal {long} NoSchedule"), "TL109@0.Value"),
        ("example.com/k Equal a_b.c-D NoSchedule", ""),
        (&format!("k Equal {} NoSchedule", &long[1..]), ""),
        ("k - - NoSchedule", ""),
    ]);
    let nodes =
        |taints| reported(&LintInput { nodes: vec![linted_node("n", taints)], ..LintInput::default() });
    assert_eq!(nodes("/k=v:NoSchedule k=!:NoSchedule"), "TL109@node 0.Key, TL109@node 1.Value");
}

#[test]
fn tl110_duplicate_taint() {
    let nodes =
        |taints| reported(&LintInput { nodes: vec![linted_node("n", taints)], ..LintInput::default() });
    assert_eq!(nodes("k=a:NoSchedule k=b:NoSchedule"), "TL110@node 1.Whole");
    assert_eq!(nodes("k=a:NoSchedule k=a:PreferNoSchedule l=a:NoSchedule"), "");
}

#[test]
fn tl111_unknown_field() {
    let with = |names: &[&str]| {
        let mut one = linted_toleration("k Exists - NoExecute");
        one.odd_fields = names.iter().map(|name| (*name).into()).collect();
        alone(LintedWorkload { tolerations: vec![one], ..LintedWorkload::default() })
    };
    assert_eq!(reported(&with(&["seconds", "Key"])), "TL111@0.Odd(0), TL111@0.Odd(1)");
    assert_eq!(reported(&with(&[])), "");
    let fixes = |names| lint(&with(names)).into_iter().map(|finding| finding.fix).collect::<Vec<_>>();
    assert_eq!(
        fixes(&["seconds", "Key", "tolerationSecond", "foo"]),
        [
            "write tolerationSeconds",
            "write key",
            "write tolerationSeconds",
            "remove it; the fields are key, operator, value, effect, tolerationSeconds"
        ]
    );
}

#[test]
fn tl112_not_text() {
    let mut one = linted_toleration("k Equal true NoSchedule");
    one.not_text = vec![TolerationPart::Value];
    let reported_of =
        |one| reported(&alone(LintedWorkload { tolerations: vec![one], ..LintedWorkload::default() }));
    assert_eq!(reported_of(one), "TL112@0.Value");
    assert_eq!(reported_of(linted_toleration("k Equal true NoSchedule")), "");
    let tainted =
        LintedNode { not_text: vec![(0, TolerationPart::Value)], ..linted_node("n", "k=1:NoSchedule") };
    assert_eq!(reported(&LintInput { nodes: vec![tainted], ..LintInput::default() }), "TL112@node 0.Value");
}

#[test]
fn tl201_tolerates_everything() {
    rows(&[
        ("- Exists", "TL201@0.Whole"),
        ("- Exists - NoExecute", "TL201@0.Whole"),
        ("- Exists - NoExecute 300", ""),
        ("- Exists - NoSchedule", ""),
        ("k Exists", ""),
    ]);
    let everything = workload("- Exists");
    assert_eq!(reported(&alone(LintedWorkload { daemon: true, ..everything.clone() })), "");
    assert_eq!(reported(&alone(LintedWorkload { node_critical: true, ..everything })), "");
}

#[test]
fn tl205_misspelt_key() {
    rows(&[
        ("node.kubernetes.io/notready Exists - NoExecute 5", "TL205@0.Key"),
        ("node.kubernetes.io/not_ready Exists - NoExecute 5", "TL205@0.Key"),
        ("node.kubernetes.io/unreachabel Exists - NoExecute 5", "TL205@0.Key"),
        ("nodes.kubernetes.io/unreachable Exists - NoExecute 5", "TL205@0.Key"),
        ("kubernetes.io/unreachable Exists - NoExecute 5", "TL205@0.Key"),
        ("unreachable Exists - NoExecute 5", "TL205@0.Key"),
        ("node-role.kubernetes.io/controlplane Exists - NoSchedule", "TL205@0.Key"),
        ("node.kubernetes.io/not-ready Exists - NoExecute 5", ""),
        ("node.kubernetes.io/unreachable Exists - NoExecute 5", ""),
        ("example.com/unreachable Exists - NoExecute 5", ""),
        ("node.kubernetes.io/something-else Exists - NoExecute 5", ""),
        ("nvidia.com/gpu Exists - NoSchedule", ""),
        ("CriticalAddonsOnly Exists", ""),
    ]);
    let taint = "node.kubernetes.io/unreachble:NoExecute";
    let there = LintInput {
        nodes: vec![linted_node("n", taint)],
        ..alone(workload("node.kubernetes.io/unreachble Exists - NoExecute 5"))
    };
    assert_eq!(reported(&there), "TL205@node 0.Key", "a key that a node has is right in a toleration");
}

#[test]
fn tl206_old_key() {
    rows(&[
        ("node.alpha.kubernetes.io/notReady Exists - NoExecute 5", "TL206@0.Key"),
        ("node.alpha.kubernetes.io/whatever Exists - NoExecute 5", "TL206@0.Key"),
        ("node.kubernetes.io/out-of-disk Exists - NoSchedule", "TL206@0.Key"),
        ("node.kubernetes.io/memoryPressure Exists - NoSchedule", "TL206@0.Key"),
        ("node-role.kubernetes.io/master Exists - NoSchedule", "TL206@0.Key"),
        // For both old and new clusters.
        (
            "node-role.kubernetes.io/master Exists - NoSchedule | node-role.kubernetes.io/control-plane Exists",
            "",
        ),
        ("node.kubernetes.io/disk-pressure Exists - NoSchedule", ""),
        ("node.cloudprovider.kubernetes.io/uninitialized Equal true NoSchedule", ""),
    ]);
}

#[test]
fn tl207_value_for_valueless() {
    rows(&[
        ("node.kubernetes.io/not-ready Equal true NoExecute 5", "TL207@0.Value"),
        ("node-role.kubernetes.io/control-plane - true NoSchedule", "TL207@0.Value"),
        ("node.kubernetes.io/not-ready Equal - NoExecute 5", ""),
        ("node.kubernetes.io/out-of-service Equal nodeshutdown NoExecute", ""),
        ("dedicated-to Equal true NoExecute 5", ""),
    ]);
    let there = LintInput {
        nodes: vec![linted_node("n", "node-role.kubernetes.io/control-plane=true:NoSchedule")],
        ..alone(workload("node-role.kubernetes.io/control-plane Equal true NoSchedule"))
    };
    assert_eq!(reported(&there), "");
}

#[test]
fn tl208_tl209_seconds() {
    rows(&[
        ("k Exists - NoExecute 0", "TL208@0.Seconds"),
        ("k Exists - NoExecute -1", "TL208@0.Seconds"),
        ("k Exists - NoExecute 1", ""),
        ("k Exists - NoExecute 9223372036", ""),
        ("k Exists - NoExecute 9223372037", "TL209@0.Seconds"),
        ("k Exists - NoExecute 9223372036854775807", "TL209@0.Seconds"),
    ]);
}

#[test]
fn tl211_stays_on_dead_node() {
    rows(&[
        ("node.kubernetes.io/unreachable Exists - NoExecute", "TL211@0.Whole"),
        ("node.kubernetes.io/not-ready Exists", "TL211@0.Whole"),
        ("node.kubernetes.io/unreachable Exists - NoExecute 86400", ""),
        ("node.kubernetes.io/unreachable Exists - NoSchedule", ""),
        ("node.kubernetes.io/memory-pressure Exists", ""),
    ]);
    let daemon = LintedWorkload { daemon: true, ..workload("node.kubernetes.io/not-ready Exists") };
    assert_eq!(reported(&alone(daemon)), "");
}

#[test]
fn letters_that_only_look_right_are_named() {
    let reason = |row: &str| lint(&alone(workload(row)))[0].reason.clone();
    assert!(reason("p\u{43e}ol Exists").contains("U+043E"), "{}", reason("p\u{43e}ol Exists"));
    assert!(reason("pool Equal d\u{fc}").contains("U+00FC"));
    assert!(!reason("pool/ Exists").contains("U+"));
    let nodes = vec![linted_node("n", "p\u{43e}ol=\u{430}:NoSchedule")];
    let found = lint(&LintInput { nodes, ..LintInput::default() });
    assert!(found[0].reason.contains("U+043E") && found[1].reason.contains("U+0430"), "{found:?}");
}

#[test]
fn tl213_impossible_effect() {
    rows(&[
        ("node.kubernetes.io/disk-pressure Exists - NoExecute", "TL213@0.Effect"),
        ("node.kubernetes.io/memory-pressure Exists - NoExecute 60", "TL213@0.Effect"),
        ("node.kubernetes.io/unschedulable Exists - NoExecute", "TL213@0.Effect"),
        ("node.kubernetes.io/network-unavailable Exists - PreferNoSchedule", "TL213@0.Effect"),
        ("node.kubernetes.io/out-of-service Exists - NoSchedule", "TL213@0.Effect"),
        ("node.kubernetes.io/not-ready Exists - PreferNoSchedule", "TL213@0.Effect"),
        ("node.kubernetes.io/not-ready Exists - NoExecute 60", ""),
        ("node.kubernetes.io/unreachable Exists - NoSchedule", ""),
        ("node.kubernetes.io/disk-pressure Exists - NoSchedule", ""),
        ("node.kubernetes.io/disk-pressure Exists", ""),
        ("node-role.kubernetes.io/control-plane Exists - NoExecute", ""),
        ("disk-pressure-of-mine Exists - NoExecute", ""),
    ]);
    let finding = lint(&alone(workload("node.kubernetes.io/disk-pressure Exists - NoExecute"))).remove(0);
    assert!(finding.fix.contains("kubelets evict"), "{}", finding.fix);
    // An administrator may add any taint.
    let nodes = vec![linted_node("n", "node.kubernetes.io/out-of-service=x:NoSchedule")];
    let carried =
        LintInput { nodes, ..alone(workload("node.kubernetes.io/out-of-service Exists - NoSchedule")) };
    assert_eq!(reported(&carried), "");
}

#[test]
fn tl214_octal_seconds() {
    let mut written = workload("k Exists - NoExecute 192");
    written.tolerations[0].octal_seconds = Some("0300".into());
    let found = lint(&alone(written));
    assert_eq!(reported(&alone(workload("k Exists - NoExecute 192"))), "");
    assert_eq!(found[0].rule, Rule::OctalSeconds);
    assert!(found[0].reason.contains("0300") && found[0].reason.contains("192 s"), "{}", found[0].reason);
}
