//! Tests which nodes an edit selects, and their taints after it.

use super::node_edits::{NodeEdit, NodeEditError, NodeFailure, NodeSet, apply};
use super::report::PlanReport;
use super::{EXIT_CODES, EditedNodes};
use crate::cluster_state::tests::snapshot;
use crate::cluster_state::{ClusterState, ReadError};
use crate::described::{check, document, schema};
use crate::manifest::TextPosition;
use crate::output::{PrintOptions, Printable as _, Terminal};
use taintward_core::cluster_snapshot::ClusterSnapshot;
use taintward_core::forecast::{ForecastOptions, forecast};
use taintward_core::node_lifecycle::NodeLifecycleConfig;
use taintward_core::taint_edit;
use taintward_core::time::Mono;

const CLUSTER: &str = include_str!("../../tests/cmd/plan.in/cluster.yaml");

fn edit(nodes: &str, spec: &str) -> NodeEdit {
    let change = taint_edit::parse(&[spec]).expect("it is a change");
    NodeEdit::Taints { nodes: NodeSet::parse(nodes).expect("it names nodes"), change }
}

fn edited(snapshot: &ClusterSnapshot, edits: &[NodeEdit]) -> Result<EditedNodes, NodeEditError> {
    apply(snapshot, edits, &NodeLifecycleConfig::default())
}

fn state(snapshot: ClusterSnapshot, gaps: Vec<ReadError>, notes: Vec<String>) -> ClusterState {
    ClusterState { snapshot, from: "x.yaml".into(), gaps, notes, about: Vec::new(), objects: None }
}

/// `n1 key:Effect@seconds`, sorted.
fn result(snapshot: &ClusterSnapshot, edits: &[NodeEdit]) -> Vec<String> {
    let edited = edited(snapshot, edits).expect("the edits can be made");
    let now = snapshot.now().mono;
    let of = |change: &taintward_core::forecast::PlannedNodeChange| {
        let node = snapshot.nodes()[change.node].fact.name.to_string();
        let taints = change
            .taints
            .iter()
            .map(|planned| format!("{}@{}", planned.taint, planned.from.since(now).as_micros() / 1_000_000));
        let taints: Vec<String> = taints.collect();
        let cordon = if change.unschedulable { " cordoned" } else { "" };
        format!("{node}{cordon} {}", taints.join(" "))
    };
    edited.changes.iter().map(of).collect()
}

#[test]
fn nodes_are_selected_by_name_label_or_all() {
    assert_eq!(NodeSet::parse("*"), Ok(NodeSet::All));
    assert_eq!(NodeSet::parse("n1"), Ok(NodeSet::Names(vec!["n1".into()])));
    assert_eq!(NodeSet::parse("node/n1, n2"), Ok(NodeSet::Names(vec!["n1".into(), "n2".into()])));
    assert!(matches!(NodeSet::parse("pool=web"), Ok(NodeSet::Labels(..))));
    assert!(matches!(NodeSet::parse("pool in (web,db)"), Ok(NodeSet::Labels(..))));
    for wrong in ["", "n1,", ",", "a=b=c", "!=x"] {
        assert!(NodeSet::parse(wrong).is_err(), "{wrong}");
    }
}

#[test]
fn later_edits_see_what_earlier_ones_did() {
    let (snapshot, _) = snapshot(CLUSTER);
    assert_eq!(result(&snapshot, &[edit("n1", "a=b:NoExecute")]), ["n1 a=b:NoExecute@0"]);
    let overwritten = [edit("n1", "a=b:NoExecute"), edit("n1", "a=c:NoExecute")];
    assert_eq!(result(&snapshot, &overwritten), ["n1 a=c:NoExecute@0"]);
    let undone = [edit("n1", "a=b:NoExecute"), edit("n1", "a-")];
    assert_eq!(result(&snapshot, &undone), ["n1 "]);
    let cordoned = NodeEdit::Cordon { nodes: NodeSet::parse("pool=web").expect("labels"), cordoned: true };
    let expected = [
        "n1 cordoned node.kubernetes.io/unschedulable:NoSchedule@0",
        "n2 cordoned node.kubernetes.io/unschedulable:NoSchedule@0",
    ];
    assert_eq!(result(&snapshot, &[cordoned]), expected);
}

#[test]
fn nl_46_a_silent_node_is_tainted_after_its_grace_period_and_none_if_everything_is_down() {
    let (snapshot, _) = snapshot(CLUSTER);
    let zone = NodeEdit::Silence(NodeFailure::Zone("b".into()));
    let expected = [
        "n2 node.kubernetes.io/unreachable:NoSchedule@50 node.kubernetes.io/unreachable:NoExecute@50",
        "n3 dedicated=db:NoSchedule@0 node.kubernetes.io/unreachable:NoSchedule@50 node.kubernetes.io/unreachable:NoExecute@60",
    ];
    assert_eq!(result(&snapshot, &[zone]), expected);
    let all = NodeEdit::Silence(NodeFailure::Nodes(NodeSet::All));
    let everything = result(&snapshot, &[all]);
    assert_eq!(everything.len(), 3);
    assert!(everything.iter().all(|node| !node.contains("NoExecute")), "{everything:?}");
}

#[test]
fn an_edit_that_selects_nothing_is_an_error() {
    let (snapshot, _) = snapshot(CLUSTER);
    let why = |edit: NodeEdit| edited(&snapshot, &[edit]).expect_err("it selects nothing").to_string();
    assert_eq!(why(edit("n9", "a:NoExecute")), "node \"n9\" does not exist; there are: n1, n2, n3");
    assert_eq!(
        why(edit("pool=none", "a:NoExecute")),
        "no node matches the label selector pool=none; kubectl get nodes --show-labels shows the labels"
    );
    assert_eq!(why(edit("n1", "a-")), "cannot change node n1: it has no taint a");
    let zone = NodeEdit::Silence(NodeFailure::Zone("c".into()));
    assert_eq!(why(zone), "zone \"c\" does not exist; the zones are: a, b");
}

#[test]
fn the_plan_of_a_snapshot_is_its_verdicts() {
    let (snapshot, gaps) = snapshot(CLUSTER);
    assert_eq!(gaps, [""; 0]);
    let edited = edited(&snapshot, &[edit("n1", "dedicated=db:NoExecute")]).expect("it can be made");
    let question = ForecastOptions { until: Mono::NEVER, places_max: 100, about: &[] };
    let totals = forecast(&snapshot, &edited.changes, question).totals;
    assert_eq!((totals.going, totals.later, totals.staying, totals.exempt), (3, 1, 1, 1));
}

/// Many pods on a node that gets a taint: the output for people and for programs.
#[test]
fn a_terminal_is_not_flooded() {
    let pods: String = (0..250)
        .map(|at| {
            format!(
                "---\n{{apiVersion: v1, kind: Pod, metadata: {{name: p{at:03}, namespace: shop, uid: u{at}}}, \
                 spec: {{nodeName: n1, containers: [{{name: a}}]}}}}\n"
            )
        })
        .collect();
    let node = "{apiVersion: v1, kind: Node, metadata: {name: n1, uid: n}}\n";
    let (snapshot, gaps) = snapshot(&format!("{node}{pods}"));
    assert_eq!(gaps, [""; 0]);
    let state = state(snapshot, Vec::new(), Vec::new());
    let edited = edited(&state.snapshot, &[edit("n1", "x:NoExecute")]).expect("it can be made");
    let question = ForecastOptions { until: Mono::NEVER, places_max: 10, about: &[] };
    let forecast = forecast(&state.snapshot, &edited.changes, question);
    for (is_terminal, limit, shown) in
        [(true, None, 100), (true, Some(0), 250), (true, Some(3), 3), (false, None, 250), (false, Some(3), 3)]
    {
        let (descriptions, until) = (&edited.descriptions[..], Mono::NEVER);
        let report = PlanReport::new(&state, &forecast, descriptions, until, limit, None);
        let text = report.human(&PrintOptions::on(Terminal { width: 80, paints: false, is_terminal }));
        // Each is a row of both tables, because these pods have no owner.
        let rows = |begins: &str| text.lines().filter(|line| line.starts_with(begins)).count();
        assert_eq!((rows("now "), rows("Pod ")), (shown, shown), "{is_terminal} {limit:?}\n{text}");
        let remark = format!("... and {} more, 250 in all; --limit 0 shows them", 250 - shown);
        assert_eq!(rows(&remark), if shown == 250 { 0 } else { 2 }, "{text}");
        assert_eq!(report.object()["items"].as_array().expect("a list").len(), 250, "programs get all");
    }
}

#[test]
fn the_schema_describes_what_is_printed() {
    let (snapshot, _) = snapshot(CLUSTER);
    let gaps =
        vec![ReadError { file: "x.yaml".into(), at: TextPosition::default(), why: "is not there".into() }];
    let state = state(snapshot, gaps, vec!["told".to_owned()]);
    for until in [Mono::NEVER, state.snapshot.now().mono] {
        let edited = edited(&state.snapshot, &[edit("*", "x:NoExecute")]).expect("it can be made");
        let question = ForecastOptions { until, places_max: 100, about: &[] };
        let forecast = forecast(&state.snapshot, &edited.changes, question);
        let report = PlanReport::new(&state, &forecast, &edited.descriptions, until, None, None);
        let printed = report.object();
        for list in ["changes", "items", "nodes", "workloads", "budgets", "readErrors"] {
            assert!(!printed[list].as_array().expect("a list").is_empty(), "{list}");
        }
        check(&schema("plan.schema.json"), &printed);
    }
}

#[test]
fn the_document_names_the_exit_codes() {
    for (code, meaning) in EXIT_CODES {
        assert!(document("plan.md").contains(&format!("| {code} | {meaning} |")), "{code}");
    }
}
