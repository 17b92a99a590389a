//! Tests the rules about several tolerations of a workload and about its scheduling.

use super::*;
use crate::scheduling::{NodeOperator, NodeRequirement};

#[test]
fn tl202_duplicate() {
    rows(&[
        ("k Equal v NoSchedule | k Equal v NoSchedule", "TL202@1.Whole"),
        ("k Equal v NoSchedule | k - v NoSchedule", "TL202@1.Whole"),
        ("k Exists | k Exists", "TL202@1.Whole"),
        ("k Equal v NoSchedule | k Equal w NoSchedule", ""),
        ("k Equal v NoSchedule | k Equal v PreferNoSchedule", ""),
    ]);
}

#[test]
fn tl203_shadowed() {
    rows(&[
        ("k Exists - NoSchedule | k Equal v NoSchedule", "TL203@1.Whole"),
        ("k Exists | k Equal v NoSchedule", "TL203@1.Whole"),
        ("- Exists - NoSchedule | k Exists - NoSchedule", "TL203@1.Whole"),
        (
            "k Exists - NoSchedule | k Exists - PreferNoSchedule | k Exists - NoExecute | k Exists",
            "TL203@3.Whole",
        ),
        // The general one last is how exceptions are written.
        ("k Equal v NoSchedule | k Exists - NoSchedule", ""),
        ("k Exists - NoSchedule | k Exists - NoExecute", ""),
        ("k Exists - NoSchedule | k Exists", ""),
        ("k Exists - NoSchedule | l Exists - NoSchedule", ""),
    ]);
    let numeric = |row| reported(&LintInput { numeric: NumericOperators::On, ..alone(workload(row)) });
    for (row, expected) in [
        ("k Lt 5 NoSchedule | k Lt 4 NoSchedule", "TL203@1.Whole"),
        ("k Lt 5 NoSchedule | k Lt 6 NoSchedule", ""),
        ("k Lt 5 | k Lt 5 NoSchedule", "TL203@1.Whole"),
        ("k Gt 5 | k Gt 5 NoSchedule", "TL203@1.Whole"),
        ("k Gt 5 NoSchedule | k Gt 6 NoSchedule", "TL203@1.Whole"),
        ("k Gt 5 NoSchedule | k Gt 4 NoSchedule", ""),
        ("k Lt 5 NoSchedule | k Equal 4 NoSchedule", "TL203@1.Whole"),
        ("k Lt 5 NoSchedule | k Equal 5 NoSchedule", ""),
        ("k Gt 5 NoSchedule | k Lt 5 NoSchedule", ""),
    ] {
        assert_eq!(numeric(row), expected, "{row}");
    }
}

#[test]
fn tl204_match_9_first_match_trap() {
    rows(&[
        ("k Exists - NoExecute 300 | k Exists - NoExecute", "TL204@1.Whole"),
        ("k Exists - NoExecute | k Exists - NoExecute 300", "TL204@1.Whole"),
        ("k Exists - NoExecute 300 | k Equal v NoExecute 60", "TL204@1.Whole"),
        ("k Exists - NoExecute 300 | k Exists", "TL204@1.Whole"),
        ("- Exists - NoExecute 300 | k Exists - NoExecute 60", "TL204@1.Whole"),
        ("k Exists - NoExecute 300 | k Exists - NoExecute 300", "TL202@1.Whole"),
        ("k Equal v NoExecute 60 | k Exists - NoExecute 300", ""),
        ("k Exists - NoExecute 60 | - Exists - NoExecute 300", ""),
        ("k Exists - NoExecute 300 | k Exists - NoSchedule", ""),
        ("k Exists - NoExecute 300 | l Exists - NoExecute", ""),
    ]);
}

fn requiring(key: &str, operator: NodeOperator) -> Option<Vec<NodeTerm>> {
    let one = NodeRequirement { key: key.into(), operator, values: Vec::new() };
    Some(vec![NodeTerm { expressions: vec![one], fields: Vec::new() }])
}

#[test]
fn tl210_control_plane() {
    const ROLE: &str = "node-role.kubernetes.io/control-plane";
    let selecting = |tolerations: &str| LintedWorkload {
        node_selector: [(ROLE.into(), "".into())].into(),
        ..workload(tolerations)
    };
    assert_eq!(reported(&alone(selecting(""))), "TL210@Selection");
    assert_eq!(reported(&alone(selecting(&format!("{ROLE} Exists - NoExecute")))), "TL210@Selection");
    assert_eq!(reported(&alone(selecting(&format!("{ROLE} Exists - NoSchedule")))), "");
    assert_eq!(reported(&alone(selecting(&format!("{ROLE} Exists")))), "");
    assert_eq!(reported(&alone(LintedWorkload { bound: true, ..selecting("") })), "");
    let affine = |operator| alone(LintedWorkload { required: requiring(ROLE, operator), ..workload("") });
    assert_eq!(reported(&affine(NodeOperator::Exists)), "TL210@Selection");
    assert_eq!(reported(&affine(NodeOperator::DoesNotExist)), "");
    let part = |tolerations: &str| alone(LintedWorkload { control_plane: true, ..workload(tolerations) });
    assert_eq!(reported(&part("")), "TL210@Whole");
    assert_eq!(reported(&part("k Exists - NoExecute")), "TL210@Whole");
    assert_eq!(reported(&part("- Exists - NoExecute")), "TL201@0.Whole");
    let kubeadm =
        LintedWorkload { control_plane: true, node_critical: true, ..workload("- Exists - NoExecute") };
    assert_eq!(reported(&alone(kubeadm)), "");
}
