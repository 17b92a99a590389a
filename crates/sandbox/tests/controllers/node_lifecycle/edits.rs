//! Tests concurrent edits of other taints on the same node (S8, NL-6, P45).

use super::assertions::{GRACE, UNREACHABLE, both, own};
use crate::harness::{HAND, SandboxHarness, after, no_execute, nodes, sleep};
use fakekube::api::{ApiServer, ResourcePath};
use http::Method;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn taints(harness: &SandboxHarness, node: &str) -> Vec<Value> {
    harness.get_node(node)["spec"]["taints"].as_array().cloned().unwrap_or_default()
}

/// Prepends a taint, as a user of kubectl might.
fn put(server: &ApiServer, node: &str, taint: &Value) {
    let on = ResourcePath::object(nodes(), "", node);
    let changed = server.change(&on, HAND, |node| {
        let mut all = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        all.insert(0, taint.clone());
        node["spec"]["taints"] = Value::Array(all);
    });
    changed.unwrap();
}

/// S8: other controllers' taints survive everything that happens to the node, including their order, values and times.
#[tokio::test(start_paused = true)]
async fn foreign_taints_stay() {
    let harness = SandboxHarness::lively(4, 1);
    let foreign = [
        json!({"key": "mine", "value": "v", "effect": "NoSchedule"}),
        json!({"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "PreferNoSchedule"}),
        json!({"key": "node.kubernetes.io/unreachable", "effect": "PreferNoSchedule"}),
        json!({"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"}),
    ];
    harness.set_taints("n1", &foreign);
    let _controller = harness.watched(both()).await;
    let ours = |harness: &SandboxHarness| {
        taints(harness, "n1").into_iter().filter(|one| foreign.contains(one)).count()
    };
    assert_eq!(taints(&harness, "n1"), foreign);
    harness.silence(&["n1"]);
    sleep(100.0).await;
    assert_eq!((ours(&harness), taints(&harness, "n1").len()), (4, 6));
    assert_eq!(taints(&harness, "n1")[..4], foreign);
    harness.recover(&["n1"]);
    sleep(10.0).await;
    assert_eq!(taints(&harness, "n1"), foreign);
}

/// NL-6: a user's value on a managed key stays as long as the taint has a reason, and is removed with it. A managed
/// taint that a user adds without reason is removed immediately.
#[tokio::test(start_paused = true)]
async fn a_value_on_an_own_key() {
    let harness = SandboxHarness::lively(4, 1);
    let _controller = harness.watched(both()).await;
    let mut with_value = own("unschedulable:NoSchedule");
    with_value["value"] = json!("for-maintenance");
    harness.change_node("n1", |node| {
        node["spec"]["unschedulable"] = json!(true);
        node["spec"]["taints"] = json!([with_value]);
    });
    sleep(100.0).await;
    assert_eq!(taints(&harness, "n1"), [with_value.clone()]);
    harness.change_node("n1", |node| node["spec"]["unschedulable"] = json!(false));
    sleep(5.0).await;
    assert_eq!(taints(&harness, "n1"), Vec::<Value>::new());
    for taint in ["unschedulable:NoSchedule", "not-ready:NoExecute", UNREACHABLE] {
        let put_on = harness.set_taints("n2", &[no_execute("mine"), own(taint)]);
        sleep(5.0).await;
        harness.bore("n2", taint, &[put_on, put_on]);
        assert_eq!(taints(&harness, "n2"), [no_execute("mine")]);
        harness.set_taints("n2", &[]);
    }
}

/// NL-49, the end: a taint that a user removes from a node that is still dead is added again, at the rate.
#[tokio::test(start_paused = true)]
async fn removed_by_a_user() {
    let harness = SandboxHarness::lively(4, 1);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1"]);
    sleep(200.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    let off = harness.set_taints("n1", &[no_execute("mine")]);
    sleep(50.0).await;
    harness.bore("n1", UNREACHABLE, &[dead, off, off]);
    let again = harness.set_taints("n1", &[no_execute("mine")]);
    sleep(1.0).await;
    let at_once = harness.set_taints("n1", &[no_execute("mine")]);
    sleep(50.0).await;
    harness.bore("n1", UNREACHABLE, &[dead, off, off, again, again, at_once, after(again, 10.0)]);
    assert_eq!(taints(&harness, "n1")[0], no_execute("mine"));
}

/// S8: another client edits the taints each time between the controller's read and its write, up to a limit. No edit is
/// ever lost, and the write succeeds as soon as the edits stop.
#[tokio::test(start_paused = true)]
async fn edits_between_read_and_write_are_never_lost() {
    for (times, late) in [(1, 1.0), (3, 5.0), (6, 30.0)] {
        let harness = SandboxHarness::lively(4, 1);
        let _controller = harness.watched(both()).await;
        harness.silence(&["n1"]);
        sleep(20.0).await;
        let (server, edits) = (harness.server().clone(), Arc::new(AtomicUsize::new(0)));
        let made = Arc::clone(&edits);
        harness.meddler.after_each(move |sent| {
            let number = made.load(Ordering::Relaxed);
            if sent.method == Method::GET && sent.path == "/api/v1/nodes/n1" && number < times {
                let key = format!("edit-{}", server.clock().now().as_nanosecond() + number as i128);
                put(&server, "n1", &json!({"key": key, "effect": "NoSchedule"}));
                made.fetch_add(1, Ordering::Relaxed);
            }
        });
        sleep(200.0).await;
        let dead = after(harness.last_word("n1"), GRACE);
        assert_eq!(edits.load(Ordering::Relaxed), times);
        let keys: Vec<String> =
            taints(&harness, "n1").iter().map(|one| one["key"].as_str().unwrap().to_owned()).collect();
        let edited = keys.iter().filter(|key| key.starts_with("edit-")).count();
        assert_eq!(edited, times, "{keys:?}");
        harness.bore_within("n1", UNREACHABLE, &[dead], late);
        let conflicts = harness
            .writes()
            .iter()
            .filter(|sent| sent.path.starts_with("/api/v1/nodes/n1") && sent.code != 200)
            .count();
        assert!(conflicts > 0, "there were concurrent edits");
        edits.store(0, Ordering::Relaxed);
        let back = harness.now();
        harness.recover(&["n1"]);
        sleep(60.0).await;
        assert!(taints(&harness, "n1").iter().all(|one| one["key"].as_str().unwrap().starts_with("edit-")));
        assert_eq!(taints(&harness, "n1").len(), 2 * times);
        harness.bore_within("n1", UNREACHABLE, &[dead, back], 170.0);
        assert!(harness.turns_of("n1", UNREACHABLE)[1] <= after(back, late), "L7");
    }
}

/// D4: the node is replaced under the same name before the controller's write. The new node gets none of it.
#[tokio::test(start_paused = true)]
async fn replaced_between_read_and_write() {
    let harness = SandboxHarness::lively(4, 1);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1"]);
    sleep(20.0).await;
    let server = harness.server().clone();
    let mut fresh = harness.get_node("n1");
    fresh["metadata"] = json!({"name": "n1", "labels": fresh["metadata"]["labels"]});
    let is_status_read =
        |sent: &crate::wire::Sent| sent.method == Method::PATCH && sent.path == "/api/v1/nodes/n1/status";
    harness.meddler.once(is_status_read, move || {
        use fakekube::api::{DeleteOptions, WriteOptions};
        server
            .delete(
                &ResourcePath::object(nodes(), "", "n1"),
                &DeleteOptions::default(),
                &WriteOptions::by(HAND),
            )
            .unwrap();
        server.create(&ResourcePath::object(nodes(), "", ""), fresh, &WriteOptions::by(HAND)).unwrap();
    });
    sleep(400.0).await;
    harness.never("n1", UNREACHABLE);
    assert!(taints(&harness, "n1").is_empty(), "{:?}", taints(&harness, "n1"));
    harness.only(&[]);
}
