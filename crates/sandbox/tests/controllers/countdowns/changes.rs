//! Tests changes during a countdown: taints removed and added, tolerations added and changed (D2, TE-13, TE-17, TE-18).

use crate::harness::{LATE, SandboxHarness, after, alone, no_execute, sleep};
use serde_json::{Value, json};
use testkit::toleration;

fn tolerations(pod: &mut Value) -> &mut Vec<Value> {
    pod["spec"]["tolerations"].as_array_mut().unwrap()
}

/// TE-13: a pod whose node is untainted a moment before the deadline stays; when the node is tainted again, the pod
/// gets its full time.
#[tokio::test(start_paused = true)]
async fn untainted_in_time() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let pod = harness.create_pod("p", "n1", &[toleration("k", Some(600))]);
    harness.set_taints("n1", &[no_execute("k")]);
    sleep(599.9).await;
    harness.set_taints("n1", &[]);
    sleep(3_600.0).await;
    harness.stays(&pod);
    assert_eq!(harness.writes_on("p").len(), 1, "one event says that the countdown is over");
    let again = harness.set_taints("n1", &[no_execute("k")]);
    sleep(700.0).await;
    harness.went(&pod, after(again, 600.0), LATE);
}

/// D2, MATCH-9: a toleration that is added in time counts by its place in the list: the first match decides.
#[tokio::test(start_paused = true)]
async fn tolerated_in_time() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let saved = harness.create_pod("saved", "n1", &[toleration("k", Some(600))]);
    let too_far_behind = harness.create_pod("behind", "n1", &[toleration("k", Some(600))]);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(599.0).await;
    harness.change_pod(&saved, |pod| tolerations(pod).insert(0, json!({"key": "k", "operator": "Exists"})));
    harness
        .change_pod(&too_far_behind, |pod| tolerations(pod).push(json!({"key": "k", "operator": "Exists"})));
    sleep(3_600.0).await;
    harness.stays(&saved);
    harness.went(&too_far_behind, after(tainted, 600.0), LATE);
}

/// D2 (TE-18): changed seconds count from the same start: longer, shorter, and shorter than the elapsed time.
#[tokio::test(start_paused = true)]
async fn other_seconds() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let named = |name: &str| harness.create_pod(name, "n1", &[toleration("k", Some(600))]);
    let [longer, shorter, passed] = ["longer", "shorter", "passed"].map(named);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(300.0).await;
    for (pod, seconds) in [(&longer, 900), (&shorter, 400), (&passed, 200)] {
        harness.change_pod(pod, |pod| tolerations(pod)[0]["tolerationSeconds"] = seconds.into());
    }
    let changed = harness.now();
    sleep(1_000.0).await;
    harness.went(&passed, changed, LATE);
    harness.went(&shorter, after(tainted, 400.0), LATE);
    harness.went(&longer, after(tainted, 900.0), LATE);
}

/// D2: a second taint with a shorter toleration brings the deadline forward, and its removal moves the deadline back;
/// each counts from its own start. A taint without a toleration ends the countdown.
#[tokio::test(start_paused = true)]
async fn a_second_taint() {
    let harness = SandboxHarness::new(3);
    let _controller = harness.controller(alone()).await;
    let both = [toleration("k", Some(600)), toleration("l", Some(60))];
    let sooner = harness.create_pod("sooner", "n1", &both);
    let back = harness.create_pod("back", "n2", &both);
    let at_once = harness.create_pod("at-once", "n3", &both);
    let mut tainted = harness.now();
    for node in ["n1", "n2", "n3"] {
        tainted = harness.set_taints(node, &[no_execute("k")]);
    }
    sleep(100.0).await;
    let second = harness.set_taints("n1", &[no_execute("k"), no_execute("l")]);
    harness.set_taints("n2", &[no_execute("k"), no_execute("l")]);
    let third = harness.set_taints("n3", &[no_execute("k"), no_execute("m")]);
    sleep(59.0).await;
    harness.stays(&sooner);
    harness.set_taints("n2", &[no_execute("k")]);
    sleep(600.0).await;
    harness.went(&sooner, after(second, 60.0), LATE);
    harness.went(&back, after(tainted, 600.0), LATE);
    harness.went(&at_once, third, LATE);
}

/// MATCH-1: a changed value does not start a new instance, so the deadline stays. A pod that does not tolerate the new
/// value goes immediately.
#[tokio::test(start_paused = true)]
async fn another_value() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let any = harness.create_pod("any", "n1", &[toleration("k", Some(600))]);
    let equal = json!({"key": "k", "operator": "Equal", "value": "v", "effect": "NoExecute"});
    let only_old = harness.create_pod("only-old", "n1", &[equal]);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(300.0).await;
    harness.stays(&only_old);
    let changed = harness.set_taints("n1", &[json!({"key": "k", "value": "w", "effect": "NoExecute"})]);
    sleep(600.0).await;
    harness.went(&only_old, changed, LATE);
    harness.went(&any, after(tainted, 600.0), LATE);
}

/// TE-22: taints with other effects evict no pod, however long they stay.
#[tokio::test(start_paused = true)]
async fn other_effects() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let pod = harness.create_pod("p", "n1", &[]);
    let soft = ["NoSchedule", "PreferNoSchedule"].map(|effect| json!({"key": "k", "effect": effect}));
    harness.set_taints("n1", &soft);
    sleep(3_600.0).await;
    harness.stays(&pod);
    assert!(harness.writes().is_empty());
}
