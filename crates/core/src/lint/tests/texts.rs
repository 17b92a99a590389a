//! Tests what findings say: the reason, and the fix for the case at hand.

use super::*;
use crate::scheduling::{NodeOperator, NodeRequirement};

const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";

/// Reason and fix of the only finding of a rule.
fn texts(facts: &LintInput, rule: Rule) -> (String, String) {
    let mut found: Vec<_> = lint(facts).into_iter().filter(|finding| finding.rule == rule).collect();
    assert_eq!(found.len(), 1, "{found:?}");
    found.pop().map(|finding| (finding.reason, finding.fix)).unwrap()
}

fn of_rows(rows: &str, rule: Rule) -> (String, String) {
    texts(&alone(workload(rows)), rule)
}

fn on(nodes: &[(&str, &str)], workload: LintedWorkload) -> LintInput {
    let nodes = nodes.iter().map(|(name, taints)| linted_node(name, taints)).collect();
    LintInput { nodes, ..alone(workload) }
}

#[test]
fn severities_have_their_names() {
    let names = [Severity::Info, Severity::Warning, Severity::Error].map(Severity::as_str);
    assert_eq!(names, ["info", "warning", "error"]);
}

#[test]
fn a_toleration_that_is_never_used_says_for_how_long_the_pod_stays() {
    let trap = |rows| of_rows(rows, Rule::FirstMatchTrap);
    let (reason, fix) = trap("k Exists - NoExecute 300 | k Exists");
    assert_eq!(
        reason,
        "for NoExecute, toleration 0 matches first, so the pod stays for 300 s; this one (an unlimited time) is never \
         used"
    );
    assert!(fix.starts_with("write effect: NoSchedule here if that is what it is for"), "{fix}");
    let (reason, fix) = trap("k Exists - NoExecute | k Exists - NoExecute 60");
    assert!(
        reason.ends_with("the pod stays for an unlimited time; this one (60 s) is never used"),
        "{reason}"
    );
    assert_eq!(fix, "keep only the one that you need");
    let (_, fix) = trap("- Exists - NoExecute 300 | k Exists - NoExecute 60");
    assert_eq!(fix, "move it before toleration 0, or keep only the correct one");
}

#[test]
fn tl203_a_number_that_a_comparison_accepts() {
    let numeric = |row| reported(&LintInput { numeric: NumericOperators::On, ..alone(workload(row)) });
    assert_eq!(numeric("k Gt 5 NoSchedule | k Equal 6 NoSchedule"), "TL203@1.Whole");
    assert_eq!(numeric("k Gt 5 NoSchedule | k Equal 5 NoSchedule"), "");
}

#[test]
fn an_impossible_effect_says_which_is_possible_or_that_kubelets_evict_by_themselves() {
    let fix = |row: &str| of_rows(&format!("node.kubernetes.io/{row}"), Rule::ImpossibleEffect).1;
    assert!(fix("memory-pressure Exists - NoExecute").starts_with("remove it: kubelets evict"));
    assert_eq!(fix("memory-pressure Exists - PreferNoSchedule"), "write effect: NoSchedule");
    assert_eq!(fix("network-unavailable Exists - NoExecute"), "write effect: NoSchedule");
    assert_eq!(fix("not-ready Exists - PreferNoSchedule"), "write effect: NoSchedule or NoExecute");
}

#[test]
fn an_old_key_names_its_successor() {
    let (reason, fix) = of_rows("node.alpha.kubernetes.io/notReady Exists", Rule::OldKey);
    assert_eq!(reason, "no current release puts \"node.alpha.kubernetes.io/notReady\" on a node");
    assert_eq!(fix, "write node.kubernetes.io/not-ready");
    let (_, fix) = of_rows("node.kubernetes.io/outOfDisk Exists", Rule::OldKey);
    assert_eq!(fix, "remove it; it has no successor");
}

#[test]
fn an_unneeded_toleration_is_shown_as_the_taint_that_it_is_for() {
    let nodes = [("a", "dedicated=db:NoSchedule"), ("b", "")];
    let reason = |row| {
        let led = LintedWorkload { bound: true, ..workload(row) };
        texts(&on(&nodes, led), Rule::UnneededToleration).0
    };
    let there = "although there is dedicated=db:NoSchedule";
    assert_eq!(
        reason("dedicated Equal web NoSchedule"),
        format!("no node has a taint for \"dedicated=web:NoSchedule\", {there}")
    );
    assert_eq!(
        reason("dedicated Exists - NoExecute"),
        format!("no node has a taint for \"dedicated:NoExecute\", {there}")
    );
    assert_eq!(reason("dedicated Equal web"), format!("no node has a taint for \"dedicated=web\", {there}"));
}

#[test]
fn a_pod_that_no_node_lets_in_is_shown_what_the_first_of_the_best_nodes_has() {
    let (reason, fix) = texts(&on(&[("a", "x:NoSchedule")], workload("")), Rule::NotLetIn);
    assert_eq!(reason, "the only node has x:NoSchedule, which it does not tolerate");
    assert_eq!(fix, "add the toleration, or ask for other nodes");
    let nodes = [("a", "x:NoSchedule y:NoSchedule"), ("b", "z:NoSchedule y:NoSchedule")];
    let (reason, fix) = texts(&on(&nodes, workload("")), Rule::NotLetIn);
    assert_eq!(
        reason,
        "all 2 nodes of the input have taints that it does not tolerate; a has x:NoSchedule, y:NoSchedule"
    );
    assert_eq!(fix, "add all of these tolerations, or ask for other nodes");
    let hostname = "kubernetes.io/hostname";
    let exists = NodeRequirement { key: hostname.into(), operator: NodeOperator::Exists, values: Vec::new() };
    let term = NodeTerm { expressions: vec![exists], fields: Vec::new() };
    let required = LintedWorkload { required: Some(vec![term]), ..workload("") };
    let (reason, _) = texts(&on(&nodes, required), Rule::NotLetIn);
    assert!(reason.starts_with("all 2 nodes that it selects have taints"), "{reason}");
    let selecting = LintedWorkload { node_selector: [(hostname.into(), "a".into())].into(), ..workload("") };
    let (reason, _) = texts(&on(&nodes, selecting), Rule::NotLetIn);
    assert!(reason.starts_with("the only node that it selects has x:NoSchedule"), "{reason}");
}

/// Without the toleration for control planes, TL210 reports all of it.
#[test]
fn another_taint_of_a_control_plane_is_reported() {
    let control = |taints: &str| labelled(linted_node("c", taints), CONTROL_PLANE, "");
    let wants = || LintedWorkload {
        node_selector: [(CONTROL_PLANE.into(), "".into())].into(),
        ..workload(&format!("{CONTROL_PLANE} Exists - NoSchedule"))
    };
    let role = format!("{CONTROL_PLANE}:NoSchedule");
    let facts = |taints: &str| LintInput { nodes: vec![control(taints)], ..alone(wants()) };
    assert_eq!(reported(&facts(&role)), "");
    assert_eq!(reported(&facts(&format!("{role} x:NoSchedule"))), "TL304@Selection");
    let elsewhere = LintInput { nodes: vec![linted_node("c", &role)], ..alone(workload("")) };
    assert_eq!(reported(&elsewhere), "TL304@Selection", "a pod that does not want the control plane");
}

#[test]
fn a_taint_that_no_daemon_tolerates_says_how_many_nodes_have_it() {
    let reason = |nodes| {
        let daemon = LintedWorkload { daemon: true, ..workload("") };
        let facts = LintInput { daemons_known: true, ..on(nodes, daemon) };
        texts(&facts, Rule::NoTolerantDaemon).0
    };
    let begin = "no DaemonSet tolerates x:NoExecute: ";
    assert_eq!(reason(&[("a", "x:NoExecute")]), format!("{begin}1 node loses logs, network and monitoring"));
    assert_eq!(
        reason(&[("a", "x:NoExecute"), ("b", "x:NoExecute"), ("c", "")]),
        format!("{begin}2 nodes lose logs, network and monitoring")
    );
}

#[test]
fn only_a_runtime_class_that_selects_nodes_or_is_unknown_leads_to_them() {
    let gpu = |is_known, selector: &[(&str, &str)]| {
        let node_selector = selector.iter().map(|&(key, value)| (key.into(), value.into())).collect();
        let class =
            RuntimeScheduling { class: "c".into(), is_known, node_selector, ..RuntimeScheduling::default() };
        let workload = LintedWorkload { runtime: Some(class), ..workload("pool Equal gpu") };
        reported(&on(&[("a", "pool=gpu:NoSchedule"), ("b", "")], workload))
    };
    assert_eq!(gpu(true, &[]), "TL303@0.Whole");
    assert_eq!(gpu(true, &[("kubernetes.io/hostname", "a")]), "");
    assert_eq!(gpu(false, &[]), "");
}
