//! Tests that `pending`, `explain`, `plan` and the board name the same time for a pod, and that it leaves then, as the audit log has
//! it: guarded, released, and evicted by kube-controller-manager.

use crate::board::client::{BoardAddress, board_with};
use crate::harness::{ManagedHarness, NOT_READY, UNREACHABLE, name};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;
use taintward_envtest::audit::AuditTail;
use taintward_envtest::fixtures::{create_node, pod, set_taints};
use taintward_envtest::{Account, Audit, binaries, wait};
use testkit::wait::let_time_pass;

/// Each pod's own seconds for a silent node.
const OWN: i64 = 12;
const CEILING: i64 = 600;
const MAINTENANCE: &str = "example.com/maintenance";
/// Times of objects have whole seconds, and a controller needs a moment.
const LATE_MAX: SignedDuration = SignedDuration::from_secs(3);

/// The result of a command as JSON; remarks follow it on standard error.
async fn object(harness: &ManagedHarness, words: &[&str]) -> Value {
    let (_, message) = harness.command(&[words, &["-o", "json"]].concat()).await;
    let first = serde_json::Deserializer::from_str(&message).into_iter().next();
    first.and_then(Result::ok).unwrap_or_else(|| panic!("{words:?}: {message}"))
}

/// The deadlines in a list, by the names of pods.
fn deadlines(list: &Value) -> BTreeMap<String, Timestamp> {
    let rows = list.as_array().unwrap().iter();
    let at = |row: &Value| Some((row["pod"].as_str()?.to_owned(), row["evictedAt"].as_str()?.parse().ok()?));
    rows.filter_map(at).collect()
}

/// A pod on the board: its phase, time and taint.
type BoardRow = (u64, i64, String);

/// The rows of the board that mean the same as a list of `pending`.
fn as_on_the_board(list: &Value) -> BTreeMap<String, BoardRow> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let counting = list["items"].as_array().unwrap().iter().map(|row| {
        let at: Timestamp = row["evictedAt"].as_str().unwrap().parse().unwrap();
        (text(&row["pod"]), (1, at.as_second(), text(&row["taint"])))
    });
    let held = list["held"].as_array().unwrap().iter();
    counting.chain(held.map(|row| (text(&row["pod"]), (4, 0, String::new())))).collect()
}

/// What a new viewer of the board sees, which has so many pods.
fn on_the_board(board: &BoardAddress, count: usize) -> BTreeMap<String, BoardRow> {
    let (mut rows, mut events) = (BTreeMap::new(), board.events(""));
    while rows.len() < count {
        let (_, _, message) = events.next();
        for pod in message["pods"].as_array().into_iter().flatten() {
            let text = |at: usize| pod[at].as_str().unwrap().to_owned();
            let (phase, at) = (pod[4].as_u64().unwrap(), pod[5].as_i64().unwrap());
            rows.insert(text(2), (phase, at, text(6)));
        }
    }
    rows
}

/// Waits until the board shows these pods, as a watch is a moment behind a list.
async fn the_board_agrees(board: &Arc<BoardAddress>, expected: BTreeMap<String, BoardRow>) {
    let mut shown = BTreeMap::new();
    let agrees = wait::until("the board to agree", Duration::from_secs(3), async || {
        let (board, count) = (Arc::clone(board), expected.len());
        shown = tokio::task::spawn_blocking(move || on_the_board(&board, count)).await?;
        Ok((shown == expected).then_some(()))
    });
    let agrees = agrees.await;
    agrees.unwrap_or_else(|error| panic!("{error}: board {shown:?}, pending {expected:?}"));
}

/// When the DELETE of each pod arrived, and whether Taintward sent it.
fn deletions(tail: &mut AuditTail) -> BTreeMap<String, (Timestamp, bool)> {
    let all = tail.read().unwrap().into_iter();
    let pods = all.filter(|entry| entry.verb == "delete" && entry.resource == "pods" && entry.code == 200);
    pods.map(|entry| (entry.name, (entry.received, entry.agent.starts_with("taintward/")))).collect()
}

/// Every view has the deadlines of `pending`.
async fn every_view_agrees(harness: &ManagedHarness, pending: &BTreeMap<String, Timestamp>) {
    let plan = object(harness, &["plan"]).await;
    assert_eq!(deadlines(&plan["items"]), *pending, "{plan}");
    let mut of_nodes = BTreeMap::new();
    for node in ["a", "b", "c"] {
        let explained = object(harness, &["explain", &format!("node/{node}")]).await;
        of_nodes.append(&mut deadlines(&explained["evictions"]));
    }
    assert_eq!(of_nodes, *pending);
    for (pod, at) in pending {
        let explained = object(harness, &["explain", &format!("pod/{pod}")]).await;
        assert_eq!(explained["evictedAt"], json!(at.to_string()), "{explained}");
    }
}

/// A pod that is being deleted and one that stays are on the board only, and `explain` agrees.
async fn the_board_has_pods_without_a_time(harness: &ManagedHarness, board: &Arc<BoardAddress>) {
    let stays = pod("stays", "c").bearing(MAINTENANCE, None);
    stays.create(&harness.admin).await.unwrap();
    let deleted = pod("deleted", "c").with("/metadata", "finalizers", json!(["example.com/wait"]));
    deleted.create(&harness.admin).await.unwrap();
    harness
        .until("the pod to be deleted", async |harness| {
            harness.on("c").await.iter().any(|pod| pod["metadata"]["deletionTimestamp"].is_string())
        })
        .await;
    let row = |name: &str, phase| (name.to_owned(), (phase, 0, String::new()));
    the_board_agrees(board, BTreeMap::from([row("stays", 0), row("deleted", 5)])).await;
    assert_eq!(object(harness, &["pending", "-A"]).await["items"], json!([]));
    assert_eq!(object(harness, &["explain", "pod/stays"]).await["outcome"], "Stays");
}

/// A node, and two pods on it that tolerate each taint for some seconds.
async fn create_node_with_pods(harness: &ManagedHarness, node: &str) {
    create_node(&harness.admin, node, &[]).await.unwrap();
    for at in 0..2 {
        let fixture = pod(&format!("{node}-{at}"), node).bearing(MAINTENANCE, Some(OWN));
        let fixture = fixture.bearing(NOT_READY, Some(OWN)).bearing(UNREACHABLE, Some(OWN));
        fixture.create(&harness.admin).await.unwrap();
    }
}

#[tokio::test(flavor = "current_thread")]
async fn every_view_names_the_time_at_which_a_pod_leaves() {
    let Some(tools) = binaries::for_test("every_view_names_the_time_at_which_a_pod_leaves") else { return };
    let both = "toleration-guard-controller,toleration-hold-controller";
    let harness = ManagedHarness::with_audit(&tools, both, &["--hold-limit=off"], Audit::Full).await;
    let why = "older ones evict only together with node-lifecycle-controller, which removes taints when it restarts";
    if harness.cluster.is_before(33, "every_view_names_the_time_at_which_a_pod_leaves", why) {
        return;
    }
    let mut audit = harness.cluster.audit_tail();
    let kubeconfig = harness.cluster.kubeconfig(Account::Admin, 0).to_str().unwrap().to_owned();
    let (_running, board) = tokio::task::spawn_blocking(move || board_with(&kubeconfig)).await.unwrap();
    let board = Arc::new(board);
    for node in ["a", "b", "c"] {
        create_node_with_pods(&harness, node).await;
    }
    let (code, message) = harness.command(&["guard", "on", "default", "--ceiling", "600s"]).await;
    assert_eq!(code, Some(0), "{message}");
    let (code, message) = harness.command(&["hold", "b", "--for", "1h", "--reason", "a new switch"]).await;
    assert_eq!(code, Some(0), "{message}");
    harness.silence("a").await;
    harness.silence("b").await;
    set_taints(&harness.admin, "c", &[json!({"key": MAINTENANCE, "effect": "NoExecute"})]).await.unwrap();
    let_time_pass(
        Duration::from_secs(1),
        "the processes observe the taints; a pending pod may not be missing",
    )
    .await;

    let list = object(&harness, &["pending", "-A"]).await;
    let pending = deadlines(&list["items"]);
    assert_eq!(pending.keys().collect::<Vec<_>>(), ["a-0", "a-1", "c-0", "c-1"], "{list}");
    for row in list["items"].as_array().unwrap() {
        let ceiling: Option<Timestamp> = row["ceilingAt"].as_str().map(|at| at.parse().unwrap());
        let at = pending[row["pod"].as_str().unwrap()];
        let later = SignedDuration::from_secs(CEILING - OWN);
        assert_eq!(ceiling, (row["node"] == "a").then(|| at + later), "{row}");
    }
    let held: Vec<&Value> = list["held"].as_array().unwrap().iter().map(|row| &row["pod"]).collect();
    assert_eq!(held, ["b-0", "b-1"], "{list}");
    the_board_agrees(&board, as_on_the_board(&list)).await;
    every_view_agrees(&harness, &pending).await;
    let explained = object(&harness, &["explain", "pod/b-0"]).await;
    assert_eq!(
        (&explained["outcome"], &explained["hold"]["reason"]),
        (&json!("Held"), &json!("a new switch"))
    );
    assert_eq!(object(&harness, &["explain", "node/b"]).await["pods"]["held"], 2);

    // They leave at these times, by the controllers that the views name; the held ones stay.
    harness.until("the pods to leave", async |harness| harness.pods().await.len() == 2).await;
    let done = deletions(&mut audit);
    for (pod, at) in &pending {
        let (left, is_ours) = done[pod];
        assert!((SignedDuration::ZERO..=LATE_MAX).contains(&left.duration_since(*at)), "{pod}: {at}, {left}");
        assert_eq!(is_ours, pod.starts_with('a'), "{pod}");
    }
    let past = object(&harness, &["pending", "--past", "-A"]).await;
    let by = |row: &Value| {
        (row["pod"].as_str().unwrap().to_owned(), row["evictedBy"].as_str().unwrap().to_owned())
    };
    let by: BTreeMap<_, _> = past["items"].as_array().unwrap().iter().map(by).collect();
    assert_eq!(by.len(), 4, "{past}");
    for (pod, controller) in by {
        let expected = if done[&pod].1 { "Taintward" } else { "kube-controller-manager" };
        assert_eq!(controller, expected, "{pod}");
    }

    // Released, they count from then.
    assert_eq!(harness.on("b").await.iter().map(name).collect::<Vec<_>>(), ["b-0", "b-1"]);
    let (code, message) = harness.command(&["release", "b"]).await;
    assert_eq!(code, Some(0), "{message}");
    let list = object(&harness, &["pending", "-A"]).await;
    let released = deadlines(&list["items"]);
    assert_eq!(released.len(), 2);
    the_board_agrees(&board, as_on_the_board(&list)).await;
    every_view_agrees(&harness, &released).await;
    harness.until("the released pods to leave", async |harness| harness.pods().await.is_empty()).await;
    let done = deletions(&mut audit);
    for (pod, at) in released {
        let (left, _) = done[&pod];
        assert!((SignedDuration::ZERO..=LATE_MAX).contains(&left.duration_since(at)), "{pod}: {at}, {left}");
    }
    the_board_has_pods_without_a_time(&harness, &board).await;
}
