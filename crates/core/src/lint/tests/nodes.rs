//! Tests the rules that need nodes, and that they report nothing without nodes.

use super::*;
use crate::scheduling::{NodeOperator, NodeRequirement};

fn on(nodes: Vec<LintedNode>, workload: LintedWorkload) -> LintInput {
    LintInput { nodes, ..alone(workload) }
}

#[test]
fn tl301_unneeded() {
    let nodes = || vec![linted_node("a", "dedicated=db:NoSchedule"), linted_node("b", "")];
    let led = |row: &str| LintedWorkload { bound: true, ..workload(row) };
    for (row, expected) in [
        ("spot Exists - NoSchedule", "TL301@0.Whole"),
        ("dedicatd Equal db NoSchedule", "TL301@0.Whole"),
        ("dedicated Equal web NoSchedule", "TL301@0.Whole"),
        ("dedicated Equal db NoExecute", "TL301@0.Whole"),
        ("dedicated Equal db NoSchedule", ""),
        ("dedicated Exists", ""),
        ("- Exists - NoSchedule", ""),
        ("node.kubernetes.io/disk-pressure Exists - NoSchedule", ""),
    ] {
        assert_eq!(reported(&on(nodes(), led(row))), expected, "{row}");
        assert_eq!(reported(&alone(led(row))), "", "{row} without nodes");
    }
    let reason = |row: &str| lint(&on(nodes(), led(row)))[0].reason.clone();
    assert_eq!(reason("dedicatd Exists"), "no node has a taint \"dedicatd\"; one has \"dedicated\"");
    assert!(reason("dedicated Equal web").ends_with("there is dedicated=db:NoSchedule"));
}

#[test]
fn tl302_no_tolerant_daemon() {
    let daemon = |row: &str| LintedWorkload { daemon: true, ..workload(row) };
    let facts = |taints: &str, row: &str| LintInput {
        nodes: vec![linted_node("a", ""), linted_node("b", taints), linted_node("c", taints)],
        daemons_known: true,
        ..alone(daemon(row))
    };
    let hit = "TL302@node 0.Whole";
    assert_eq!(reported(&facts("maintenance:NoExecute", "")), hit);
    assert_eq!(lint(&facts("maintenance:NoExecute", ""))[0].subject, LintSubject::Node(1));
    assert_eq!(
        reported(&facts("maintenance=a:NoExecute", "maintenance Equal b NoExecute")),
        format!("TL301@0.Whole, {hit}")
    );
    assert_eq!(reported(&facts("maintenance:NoExecute", "maintenance Exists - NoExecute 5")), "");
    assert_eq!(reported(&facts("maintenance:NoExecute", "- Exists")), "");
    assert_eq!(reported(&facts("maintenance:NoSchedule", "")), "");
    // Every daemon tolerates it implicitly.
    assert_eq!(reported(&facts("node.kubernetes.io/unreachable:NoExecute", "")), "");
    let unsure = LintInput { daemons_known: false, ..facts("maintenance:NoExecute", "") };
    assert_eq!(reported(&unsure), "");
    let none = LintInput { workloads: Vec::new(), ..facts("maintenance:NoExecute", "") };
    assert_eq!(reported(&none), "");
    let elsewhere = LintInput { other_daemons: vec![daemon("- Exists")], ..none };
    assert_eq!(reported(&elsewhere), "");
}

#[test]
fn tl303_nothing_leads_there() {
    let nodes = || vec![linted_node("a", "pool=gpu:NoSchedule pool=gpu:NoExecute"), linted_node("b", "")];
    let gpu = || workload("pool Equal gpu");
    assert_eq!(reported(&on(nodes(), gpu())), "TL303@0.Whole");
    assert!(lint(&on(nodes(), gpu()))[0].reason.contains("1 of 2 nodes"));
    let led = [
        LintedWorkload { node_selector: [("kubernetes.io/hostname".into(), "a".into())].into(), ..gpu() },
        LintedWorkload { prefers: true, ..gpu() },
        LintedWorkload { special_resources: true, ..gpu() },
        LintedWorkload { bound: true, ..gpu() },
        LintedWorkload { daemon: true, ..gpu() },
    ];
    for led in led {
        assert_eq!(reported(&on(nodes(), led.clone())), "", "{led:?}");
    }
    // No other node; nodes unknown; only preferred.
    assert_eq!(reported(&on(vec![linted_node("a", "pool=gpu:NoSchedule")], gpu())), "");
    assert_eq!(reported(&alone(gpu())), "");
    let preferred = vec![linted_node("a", "pool=gpu:PreferNoSchedule"), linted_node("b", "")];
    assert_eq!(reported(&on(preferred, gpu())), "");
    // The key names its purpose.
    assert_eq!(reported(&alone(workload("dedicated Equal db NoSchedule"))), "TL303@0.Whole");
    assert_eq!(reported(&alone(workload("example.com/dedicated Exists"))), "TL303@0.Whole");
    assert_eq!(reported(&alone(workload("dedicated Equal db PreferNoSchedule"))), "");
    assert_eq!(reported(&alone(workload("dedicated-to Equal db NoSchedule"))), "");
}

#[test]
fn tl304_not_let_in() {
    let nodes = || {
        let db = |name| labelled(linted_node(name, "dedicated=db:NoSchedule"), "pool", "db");
        vec![db("a"), db("b"), linted_node("c", "")]
    };
    let selecting = |pool: &str, row: &str| LintedWorkload {
        node_selector: [("pool".into(), pool.into())].into(),
        ..workload(row)
    };
    assert_eq!(reported(&on(nodes(), selecting("db", ""))), "TL304@Selection");
    assert!(lint(&on(nodes(), selecting("db", "")))[0].reason.contains("all 2 nodes"));
    assert_eq!(reported(&on(nodes(), selecting("db", "dedicated Equal db NoSchedule"))), "");
    assert_eq!(reported(&on(nodes(), selecting("web", ""))), "", "without nodes no taint is the cause");
    assert_eq!(reported(&on(nodes(), LintedWorkload { bound: true, ..selecting("db", "") })), "");
    assert_eq!(reported(&on(nodes(), workload(""))), "");
    let one = NodeRequirement { key: "pool".into(), operator: NodeOperator::Exists, values: Vec::new() };
    let required = Some(vec![NodeTerm { expressions: vec![one], fields: Vec::new() }]);
    assert_eq!(reported(&on(nodes(), LintedWorkload { required, ..workload("") })), "TL304@Selection");
    let open = [nodes(), vec![labelled(linted_node("d", ""), "pool", "db")]].concat();
    assert_eq!(reported(&on(open, selecting("db", ""))), "", "one node is open");
    let passing = vec![labelled(linted_node("d", "node.kubernetes.io/not-ready:NoSchedule"), "pool", "db")];
    assert_eq!(reported(&on(passing, selecting("db", ""))), "", "that taint is temporary");
    let role = "node-role.kubernetes.io/control-plane";
    let control = vec![labelled(linted_node("d", &format!("{role}:NoSchedule")), role, "")];
    let wants = LintedWorkload { node_selector: [(role.into(), "".into())].into(), ..workload("") };
    assert_eq!(reported(&on(control, wants)), "TL210@Selection", "said once");
}

#[test]
fn tl304_names_every_taint_of_the_best_node() {
    let reason = |nodes: Vec<LintedNode>, row: &str| {
        let found = lint(&on(nodes, workload(row)));
        let one = found.into_iter().find(|finding| finding.rule == Rule::NotLetIn);
        one.map(|finding| finding.reason).unwrap_or_default()
    };
    let server =
        || linted_node("s", "control=x:NoSchedule etcd=x:NoExecute node.kubernetes.io/not-ready:NoExecute");
    let worse = || linted_node("t", "a:NoSchedule b:NoSchedule c:NoSchedule");
    assert_eq!(
        reason(vec![worse(), server()], "other Exists"),
        "all 2 nodes of the input have taints that it does not tolerate; s has control=x:NoSchedule, etcd=x:NoExecute \
         and, for some time, node.kubernetes.io/not-ready:NoExecute"
    );
    assert_eq!(
        reason(vec![worse(), server()], "control Exists"),
        reason(vec![worse(), server()], "control Equal x")
    );
    assert!(reason(vec![worse(), server()], "control Exists").contains("s has etcd=x:NoExecute and"));
    assert_eq!(reason(vec![worse(), linted_node("free", "a:PreferNoSchedule")], ""), "", "a node is open");
    assert_eq!(reason(vec![worse(), linted_node("free", "node.kubernetes.io/not-ready:NoSchedule")], ""), "");
    // A toleration that misses by its case is named.
    let windows = || vec![linted_node("w", "node.kubernetes.io/os=Windows:NoSchedule")];
    let near = reason(windows(), "x Exists | node.kubernetes.io/os Equal windows NoSchedule");
    assert!(near.contains("(toleration 1 misses it: value windows≠Windows)"), "{near}");
    let effect = reason(windows(), "node.kubernetes.io/os Exists - NoExecute");
    assert!(effect.contains("(toleration 0 misses it: effect NoExecute≠NoSchedule)"), "{effect}");
}

/// The domain of a key does not make it one of Kubernetes' own.
#[test]
fn own_taints_under_domains_of_kubernetes_are_own() {
    let nodes = || vec![linted_node("a", "node.kubernetes.io/os=Windows:NoSchedule"), linted_node("b", "")];
    assert_eq!(
        reported(&on(nodes(), workload("node.kubernetes.io/os Equal windows NoSchedule"))),
        "TL301@0.Whole"
    );
    assert_eq!(reported(&on(nodes(), workload("node.kubernetes.io/os Exists"))), "TL303@0.Whole");
    assert_eq!(reported(&on(nodes(), workload("node.kubernetes.io/not-ready Exists - NoExecute 5"))), "");
    assert_eq!(
        reported(&on(nodes(), workload("node.kubernetes.io/notready Exists - NoExecute 5"))),
        "TL205@0.Key"
    );
}

/// Admission adds a class's tolerations and node selector to pods.
#[test]
fn a_runtime_class_counts_as_admission_adds_it() {
    let nodes = || {
        vec![
            labelled(linted_node("s", "sealed=1:NoSchedule"), "runtime", ""),
            linted_node("o", "other=1:NoSchedule"),
        ]
    };
    let class = |is_known, tolerations: &str| LintedWorkload {
        runtime: Some(RuntimeScheduling {
            class: "sealed".into(),
            is_known,
            tolerations: workload(tolerations).read().cloned().collect(),
            node_selector: [("runtime".into(), "".into())].into(),
        }),
        ..workload("")
    };
    assert_eq!(reported(&on(nodes(), workload(""))), "TL304@Selection");
    assert_eq!(reported(&on(nodes(), class(true, "sealed Exists"))), "");
    // The selector of the class leads to the one node, whose taint nothing tolerates.
    let other = on(nodes(), class(true, "other Exists"));
    assert_eq!(reported(&other), "TL304@Selection");
    assert_eq!(reported(&on(nodes(), class(false, ""))), "", "nothing is known about an unknown class");
}
