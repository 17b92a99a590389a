//! Tests the messages to viewers about taints, countdowns and deleted pods.

mod delays;
mod past;

use super::board_state::{BoardState, PART_PODS};
use super::cluster_model::{ClusterModel, ModelChange, SnapshotFrame};
use super::node_object::NodeObject;
use super::views::Heading;
use super::workload_object::{BudgetObject, Deployment, WorkloadObject};
use crate::cluster_change::ClusterChange;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now, Wall};
use taintward_kube::decode::{Decoded, DecodedPod, ObjectIdentity, WatchedObject};
use testkit::{ObjectExt as _, node, pod, taint, toleration};

const HEADING: Heading<'_> = Heading { now: 0.0, speed: 1.0, problem: None };

/// Of a message.
const PODS_MAX: usize = 6;

/// The moment `TAINTED` as Unix seconds.
const START: i64 = 1_767_225_600;
const TAINTED: &str = "2026-01-01T00:00:00Z";

fn after(seconds: i64) -> Now {
    Now::exact(Mono::from_secs(seconds), Wall::from_secs(START + seconds))
}

fn object<F: WatchedObject>(json: &Value) -> F {
    let Decoded::Object(object) = F::from_json(json.to_string().as_bytes()) else { panic!("{json}") };
    object
}

fn listed<F: WatchedObject>(objects: &[Value]) -> Vec<ObjectEvent<F>> {
    let applied = objects.iter().map(|json| ObjectEvent::Applied { fact: object(json), listed: true });
    let started = ObjectEvent::ListStarted { silent_since: None };
    [started].into_iter().chain(applied).chain([ObjectEvent::ListCompleted]).collect()
}

fn applied<F: WatchedObject>(json: &Value) -> Vec<ObjectEvent<F>> {
    vec![ObjectEvent::Applied { fact: object(json), listed: false }]
}

/// A node of the zone `z1`.
fn node_with(name: &str, ready: &str, is_tainted: bool) -> Value {
    let taint = taint("k=v").with("timeAdded", TAINTED);
    node(name)
        .uid(name)
        .with("metadata.labels", json!({"topology.kubernetes.io/zone": "z1"}))
        .tainted(is_tainted.then_some(taint))
        .with("status.conditions", json!([{"type": "Ready", "status": ready, "message": "kubelet stopped"}]))
}

/// A pod that tolerates the taint for 20 seconds.
fn pod_on(node: &str, name: &str) -> Value {
    let pod = pod(name).namespace("shop").uid(name).on(node).tolerates([toleration("k", Some(20))]);
    pod.with("metadata.creationTimestamp", "2025-12-31T00:00:00Z").with("status.phase", "Running")
}

/// A model that received a node and these pods, and sent them to viewers.
fn followed(pods: &[&str]) -> ClusterModel {
    let mut model = ClusterModel::new(PODS_MAX);
    model.nodes(listed(&[node_with("n1", "True", false)]), after(0));
    assert_eq!(change(&mut model, 0), None, "pods are not listed yet");
    let pods: Vec<Value> = pods.iter().map(|name| pod_on("n1", name)).collect();
    model.pods(listed(&pods), after(0));
    assert_eq!(model.change(after(0), HEADING, false), ModelChange::WholeState, "all of it is new");
    let first = whole_state(&model);
    assert_eq!(first["pods"].as_array().map_or(0, Vec::len), pods.len());
    assert_eq!(first["decisions"], json!([]), "the objects of the first lists are not changes");
    model
}

fn change(model: &mut ClusterModel, seconds: i64) -> Option<Value> {
    match model.change(after(seconds), HEADING, false) {
        ModelChange::Nothing => None,
        ModelChange::Message(text) => Some(serde_json::from_str(&text).expect("JSON")),
        ModelChange::WholeState => panic!("a message with few pods is expected"),
    }
}

fn whole_state(model: &ClusterModel) -> Value {
    let frame = SnapshotFrame { cluster: "c", token: None, heading: HEADING };
    serde_json::from_str(&model.snapshot(frame, 1_000).json).expect("JSON")
}

/// Kind, pod and text of each decision.
fn decisions(change: &Value) -> Vec<(&str, &str, &str)> {
    let all = change["decisions"].as_array().into_iter().flatten();
    all.map(|one| ["kind", "pod", "text"].map(|name| one[name].as_str().unwrap_or_default()).into()).collect()
}

fn gone(model: &mut ClusterModel, name: &str, seconds: i64) {
    let identity: ObjectIdentity = object::<DecodedPod>(&pod_on("n1", name)).identity();
    model.pods(vec![ObjectEvent::Deleted(identity.into())], after(seconds));
}

#[test]
fn viewers_get_the_begin_and_the_end_of_a_countdown_only() {
    let mut model = followed(&["web"]);
    assert_eq!(change(&mut model, 1), None);
    model.nodes(applied(&node_with("n1", "True", true)), after(0));
    let changes = change(&mut model, 0).unwrap();
    assert_eq!(changes["pods"], json!([["web", "shop", "web", "n1", 1, START + 20, "k=v:NoExecute"]]));
    assert_eq!(changes["nodes"][0]["taints"][0]["addedAt"], json!(START as f64));
    let expected = [
        ("Tainted", "", "got the taint k=v:NoExecute"),
        ("CountingDown", "shop/web", "is evicted in 20s because of k=v:NoExecute"),
    ];
    assert_eq!(decisions(&changes), expected);
    for seconds in [1, 10, 19, 20, 24] {
        assert_eq!(change(&mut model, seconds), None, "{seconds}");
    }
    let late = change(&mut model, 25).unwrap();
    assert_eq!(decisions(&late), [("Overdue", "shop/web", "is overdue: its deadline was 5s ago")]);
    assert_eq!(change(&mut model, 60), None, "once");
    gone(&mut model, "web", 61);
    let changes = change(&mut model, 61).unwrap();
    assert_eq!(changes["deletedPods"], json!(["web"]));
    assert_eq!(decisions(&changes), [("Deleted", "shop/web", "was evicted because of k=v:NoExecute")]);
}

#[test]
fn a_pod_that_is_evicted_before_the_next_message_is_in_the_log() {
    let mut model = followed(&["web"]);
    let mut now = pod_on("n1", "now");
    now["spec"]["tolerations"] = json!([]);
    model.pods(applied(&now), after(0));
    change(&mut model, 0).unwrap();
    model.nodes(applied(&node_with("n1", "True", true)), after(1));
    now["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:01Z");
    model.pods(applied(&now), after(1));
    gone(&mut model, "now", 1);
    let changes = change(&mut model, 1).unwrap();
    let expected = [
        ("Tainted", "", "got the taint k=v:NoExecute"),
        ("CountingDown", "shop/now", "is due now because of k=v:NoExecute"),
        // It counts from the second of the taint's timeAdded.
        ("CountingDown", "shop/web", "is evicted in 19s because of k=v:NoExecute"),
        ("Deleted", "shop/now", "was evicted because of k=v:NoExecute"),
    ];
    assert_eq!(decisions(&changes), expected);
    assert_eq!(changes["deletedPods"], json!(["now"]));
}

#[test]
fn a_removed_taint_cancels_countdowns_of_old_and_new_pods() {
    let mut model = followed(&["web"]);
    model.nodes(applied(&node_with("n1", "True", true)), after(0));
    change(&mut model, 0).unwrap();
    model.pods(applied(&pod_on("n1", "api")), after(5));
    let changes = change(&mut model, 5).unwrap();
    assert_eq!(changes["pods"].as_array().unwrap().len(), 1, "the other has the same deadline");
    assert_eq!(decisions(&changes)[0].0, "CountingDown");
    model.nodes(applied(&node_with("n1", "True", false)), after(6));
    let changes = change(&mut model, 6).unwrap();
    let kinds: Vec<&str> = decisions(&changes).iter().map(|(kind, ..)| *kind).collect();
    assert_eq!(kinds, ["Untainted", "Cancelled", "Cancelled"]);
    assert!(changes["pods"].as_array().unwrap().iter().all(|pod| pod[4] == 0 && pod[5] == 0));
}

#[test]
fn a_pod_that_ends_by_itself_is_gone() {
    let mut model = followed(&["web"]);
    model.nodes(applied(&node_with("n1", "True", true)), after(0));
    change(&mut model, 0).unwrap();
    let mut finished = pod_on("n1", "web");
    finished["status"]["phase"] = json!("Succeeded");
    model.pods(applied(&finished), after(1));
    assert_eq!(decisions(&change(&mut model, 1).unwrap()), [("Finished", "shop/web", "is finished")]);
}

#[test]
fn the_stylesheet_has_a_color_for_each_important_kind() {
    let style = include_str!("page/board.css");
    for kind in [
        ClusterChange::CountingDown,
        ClusterChange::Overdue,
        ClusterChange::Tainted,
        ClusterChange::Ready,
        ClusterChange::NotReady,
    ] {
        let rule = [",", "{"].map(|end| format!(".{kind}{end}"));
        assert!(rule.iter().any(|rule| style.contains(rule)), "{kind}");
    }
}

#[test]
fn many_pods_of_a_node_share_one_line() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut model = followed(&names);
    model.nodes(applied(&node_with("n1", "True", true)), after(0));
    let changes = change(&mut model, 0).unwrap();
    assert_eq!(decisions(&changes)[1], ("CountingDown", "", "6 pods are counting down (k=v:NoExecute)"));
    assert_eq!(changes["pods"].as_array().unwrap().len(), 6);
}

#[test]
fn a_change_of_more_pods_is_the_whole_state() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let mut model = followed(&names);
    model.nodes(applied(&node_with("n1", "True", true)), after(0));
    assert_eq!(model.change(after(0), HEADING, false), ModelChange::WholeState);
    let changes = whole_state(&model);
    assert!(changes["pods"].as_array().unwrap().iter().all(|pod| pod[4] == 1), "{changes}");
    assert_eq!(decisions(&changes)[1], ("CountingDown", "", "7 pods are counting down (k=v:NoExecute)"));
    assert_eq!(change(&mut model, 0), None);
    gone(&mut model, "a", 1);
    assert_eq!(change(&mut model, 1).unwrap()["deletedPods"], json!(["a"]));
}

#[test]
fn no_more_than_two_hundred_decisions_are_kept() {
    let mut model = followed(&[]);
    for round in 0..150 {
        model.nodes(applied(&node_with("n1", "True", round % 2 == 0)), after(round));
        change(&mut model, round).unwrap();
        model.nodes(applied(&node_with("n1", "False", round % 2 == 0)), after(round));
        change(&mut model, round).unwrap();
    }
    let all = whole_state(&model);
    let kept = all["decisions"].as_array().unwrap();
    assert_eq!(kept.len(), 200);
    assert_eq!(kept[199]["id"].as_u64().unwrap() - kept[0]["id"].as_u64().unwrap(), 199);
    assert_eq!((&all["sandbox"], all.get("token")), (&json!(false), None), "only a sandbox has buttons");
}

#[test]
fn parts_of_the_pods_have_each_pod_once() {
    let mut model = ClusterModel::new(PODS_MAX);
    model.nodes(listed(&["n1", "n2", "n3"].map(|name| node_with(name, "True", false))), after(0));
    let pods: Vec<Value> =
        (0..9).map(|at| pod_on(&format!("n{}", at % 3 + 1), &format!("web-{at}"))).collect();
    model.pods(listed(&pods), after(0));
    model.change(after(0), HEADING, false);
    let parts = |most: usize| {
        let mut part = model.snapshot(SnapshotFrame { cluster: "c", token: None, heading: HEADING }, most);
        let mut parts = Vec::new();
        loop {
            let json: Value = serde_json::from_str(&part.json).unwrap();
            assert_eq!(json.get("nodes").is_some(), parts.is_empty(), "the first part has everything else");
            let names = |pod: &Value| pod[2].as_str().unwrap().to_owned();
            parts.push(json["pods"].as_array().unwrap().iter().map(names).collect::<Vec<_>>());
            let Some(node) = part.next else { return parts };
            part = model.pods_after(&node, most);
        }
    };
    assert_eq!(parts(9).len(), 1, "no empty part follows");
    let [first, second] = &parts(4)[..] else { panic!() };
    assert_eq!((first.len(), second.len()), (6, 3));
    let three = parts(1);
    assert_eq!(three.len(), 3);
    let all: BTreeSet<String> = three.concat().into_iter().collect();
    assert_eq!((all.len(), three.concat().len()), (9, 9));
}

#[tokio::test(start_paused = true)]
async fn the_whole_state_has_its_id_in_its_last_part() {
    let state = BoardState::new("a cluster".to_owned(), None, after(0));
    let pods: Vec<Value> = (0..=PART_PODS)
        .map(|at| pod_on(if at < PART_PODS { "n1" } else { "n2" }, &format!("web-{at}")))
        .collect();
    state.update(|model| {
        model.nodes(listed(&[node_with("n1", "True", false), node_with("n2", "True", false)]), after(0));
        model.pods(listed(&pods), after(0));
    });
    state.publish(after(0), 1.0, None);
    let mut viewer = state.viewer(None);
    let mut next = async || String::from_utf8(viewer.next(&state, || after(0)).await.to_vec()).unwrap();
    let first = next().await;
    assert!(first.starts_with("id\nevent: part\ndata: {\"cluster\":\"a cluster\""), "{}", &first[..100]);
    assert!(!first.contains("\"n2\",0"), "its pods are in the next part");
    // What happens in between.
    state.update(|model| model.nodes(applied(&node_with("n1", "True", true)), after(1)));
    state.publish(after(1), 1.0, None);
    let last = next().await;
    assert!(last.contains("-1\nevent: snapshot\ndata: {\"pods\":[["), "{}", &last[..100]);
    assert!(last.contains(&format!("web-{PART_PODS}")));
    let change = next().await;
    assert!(change.contains("-2\nevent: change\n"), "what the first part lacked follows: {}", &change[..100]);
    assert_eq!(change.matches("\"n1\",1,").count(), PART_PODS, "all pods of the node count down");
}

#[tokio::test(start_paused = true)]
async fn a_waiting_viewer_gets_the_whole_state_after_a_change_of_very_many_pods() {
    let state = BoardState::new("a cluster".to_owned(), None, after(0));
    let pods: Vec<Value> = (0..=PART_PODS).map(|at| pod_on("n1", &format!("web-{at}"))).collect();
    let mut early = state.viewer(None);
    early.next(&state, || after(0)).await;
    state.update(|model| {
        model.nodes(listed(&[node_with("n1", "True", false)]), after(0));
        model.pods(listed(&pods), after(0));
    });
    state.publish(after(0), 1.0, None);
    let listed = early.next(&state, || after(0)).await;
    assert!(listed.starts_with(b"id: 1767225600000000-1\nevent: snapshot\n"));
    state.update(|model| model.nodes(applied(&node_with("n1", "True", true)), after(1)));
    state.publish(after(1), 1.0, None);
    let all = String::from_utf8(early.next(&state, || after(1)).await.to_vec()).unwrap();
    assert!(all.starts_with("id: 1767225600000000-2\nevent: snapshot\n"), "{}", &all[..100]);
    assert_eq!(all.matches("\"n1\",1,").count(), PART_PODS + 1, "all pods of the node count down");
    let waits = tokio::time::timeout(std::time::Duration::from_secs(60), early.next(&state, || after(1)));
    assert!(waits.await.is_err(), "once");
}

#[test]
fn an_object_that_a_complete_list_lacks_is_gone() {
    let mut model = followed(&["web", "api"]);
    model.pods(listed(&[pod_on("n1", "api")]), after(1));
    model.nodes(listed(&[node_with("n1", "True", false), node_with("n2", "Unknown", false)]), after(1));
    let changes = change(&mut model, 1).unwrap();
    assert_eq!(changes["deletedPods"], json!(["web"]));
    assert_eq!(decisions(&changes), [("Added", "", "joined the cluster")]);
    assert_eq!(changes["nodes"][0]["health"], "Unknown");
    assert_eq!(changes["nodes"][0]["reason"], "silent");
    model.nodes(listed(&[node_with("n1", "True", false)]), after(2));
    let changes = change(&mut model, 2).unwrap();
    assert_eq!((&changes["deletedNodes"], decisions(&changes)[0].0), (&json!(["n2"]), "Removed"));
}

#[test]
fn a_held_pod_and_a_budget_that_blocks_are_limits() {
    let mut model = followed(&[]);
    let mut held = pod_on("n1", "web");
    held["metadata"]["annotations"] = json!({"taintward.io/held": "{}"});
    held["spec"]["tolerations"] = json!([{"key": "k", "operator": "Exists"}]);
    model.nodes(applied(&node_with("n1", "True", true)), after(0));
    model.pods(applied(&held), after(0));
    let status =
        json!({"disruptionsAllowed": 0, "currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 3});
    let budget = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "b"}, "status": status});
    model.budgets(applied::<BudgetObject>(&budget), after(0));
    let changes = change(&mut model, 0).unwrap();
    assert_eq!(changes["pods"][0][4], 4);
    let limits = changes["limits"].as_array().unwrap();
    let kinds: Vec<(&str, &str)> =
        limits.iter().map(|one| (one["kind"].as_str().unwrap(), one["about"].as_str().unwrap())).collect();
    assert_eq!(kinds, [("held", "zone z1"), ("blocked", "shop/web")]);
    let allowed = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "b"}, "status": {"disruptionsAllowed": 1}});
    model.budgets(applied::<BudgetObject>(&allowed), after(1));
    assert_eq!(change(&mut model, 1).unwrap()["limits"].as_array().unwrap().len(), 1);
}

#[test]
fn viewers_get_a_workload_when_its_numbers_change() {
    let mut model = followed(&[]);
    let web = |ready: i64| {
        json!({"metadata": {"name": "web", "namespace": "shop", "uid": "w"}, "spec": {"replicas": 3},
            "status": {"readyReplicas": ready}})
    };
    model.workloads(applied::<WorkloadObject<Deployment>>(&web(2)), after(0));
    let changes = change(&mut model, 0).unwrap();
    assert_eq!(
        (&changes["workloads"][0]["healthy"], &changes["workloads"][0]["desired"]),
        (&json!(2), &json!(3))
    );
    model.workloads(applied::<WorkloadObject<Deployment>>(&web(2)), after(1));
    assert_eq!(change(&mut model, 1), None);
}

#[test]
fn texts_from_the_cluster_stay_texts() {
    let mut model = followed(&[]);
    let mut odd = node_with("n1", "False", false);
    odd["status"]["conditions"][0]["message"] = json!("</script><b>\u{202e}\u{0}\"");
    model.nodes(applied::<NodeObject>(&odd), after(0));
    let ModelChange::Message(text) = model.change(after(0), HEADING, false) else { panic!() };
    assert!(!text.contains('\n') && !text.contains('\0'), "one line of an event stream: {text}");
    let changes: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(changes["nodes"][0]["reason"], "Ready is False: </script><b>\u{202e}\u{0}\"");
}
