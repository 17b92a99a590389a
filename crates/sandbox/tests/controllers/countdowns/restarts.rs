//! Tests controllers that are killed, suspended and stopped, and changed clocks (D1, S4, L3, L5, TE-24).

use crate::harness::{LATE, RESOLUTION, SandboxHarness, after, alone, no_execute, sleep};
use serde_json::json;
use std::sync::atomic::Ordering;
use testkit::toleration;

/// D1, S4: a controller that crashes and is away for a while moves no deadline. Pods that became due meanwhile leave
/// immediately; pods whose eviction was cancelled meanwhile stay.
#[tokio::test(start_paused = true)]
async fn a_crash_moves_no_deadline() {
    let harness = SandboxHarness::alive(3);
    let first = harness.controller(alone()).await;
    let by_kubectl = harness.create_pod("by-kubectl", "n1", &[toleration("k", Some(1_800))]);
    let overdue = harness.create_pod("overdue", "n1", &[toleration("k", Some(700))]);
    let stamped = harness.create_pod("stamped", "n2", &[toleration("k", Some(1_800))]);
    let reprieved = harness.create_pod("reprieved", "n3", &[toleration("k", Some(1_800))]);
    sleep(5.0).await;
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    let mut with_time = no_execute("k");
    with_time["timeAdded"] = json!(harness.server().clock().time_text());
    harness.set_taints("n2", &[with_time]);
    harness.set_taints("n3", &[no_execute("k")]);
    sleep(600.0).await;
    let (later, came) = (harness.create_pod("later", "n1", &[toleration("k", Some(1_800))]), harness.now());
    sleep(1.0).await;
    first.kill().await;
    sleep(100.0).await;
    harness.set_taints("n3", &[]);
    sleep(500.0).await;
    harness.stays(&overdue);
    let back = harness.now();
    let _second = harness.controller(alone()).await;
    harness.went(&overdue, back, RESOLUTION);
    sleep(3_600.0).await;
    for pod in [&by_kubectl, &stamped] {
        harness.went(pod, after(tainted, 1_800.0), RESOLUTION + LATE);
    }
    // When the pod was bound is read from its status, which the kubelet wrote a moment later.
    harness.went(&later, after(came, 1_800.0), RESOLUTION + 1.0 + LATE);
    harness.stays(&reprieved);
}

/// D1, L3: kube-controller-manager, restarted every four minutes, never evicts a pod that tolerates five. Here a crash loop moves
/// no deadline.
#[tokio::test(start_paused = true)]
async fn a_crash_loop_moves_no_deadline() {
    let harness = SandboxHarness::new(1);
    let mut controller = harness.controller(alone()).await;
    let five_minutes = harness.create_pod("five-minutes", "n1", &[toleration("k", Some(300))]);
    let hour = harness.create_pod("hour", "n1", &[toleration("k", Some(3_600))]);
    sleep(1.0).await;
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    for _ in 0..16 {
        sleep(238.0).await;
        controller.kill().await;
        controller = harness.controller(alone()).await;
    }
    assert!(harness.now() > after(tainted, 3_700.0));
    harness.went(&five_minutes, after(tainted, 300.0), RESOLUTION + LATE);
    harness.went(&hour, after(tainted, 3_600.0), RESOLUTION + LATE);
}

/// A controller that is stopped starts no further requests, though a pod is due the next moment.
#[tokio::test(start_paused = true)]
async fn a_stopped_controller_starts_no_request() {
    let harness = SandboxHarness::new(1);
    let controller = harness.controller(alone()).await;
    let pod = harness.create_pod("p", "n1", &[toleration("k", Some(60))]);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(59.99).await;
    controller.stop().await;
    assert!(harness.now() <= after(tainted, 65.0));
    sleep(3_600.0).await;
    harness.stays(&pod);
}

/// D4, D5, S2, L5: the controller sleeps past the deadlines, so its state is outdated. Pods saved or replaced meanwhile
/// stay; pods that are due leave; pods with time left keep their deadline.
#[tokio::test(start_paused = true)]
async fn a_resumed_process_reads_before_it_acts() {
    let harness = SandboxHarness::new(2);
    let _controller = harness.controller(alone()).await;
    let tolerations = |seconds| [toleration("k", Some(seconds))];
    let due = harness.create_pod("due", "n1", &tolerations(600));
    let hour = harness.create_pod("hour", "n1", &tolerations(3_600));
    let replaced = harness.create_pod("replaced", "n1", &tolerations(600));
    let saved = harness.create_pod("saved", "n2", &tolerations(600));
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    harness.set_taints("n2", &[no_execute("k")]);
    sleep(599.0).await;
    harness.slumber(300.0);
    harness.set_taints("n2", &[]);
    harness.delete_pod(&replaced);
    let (successor, came) = (harness.create_pod("replaced", "n1", &tolerations(600)), harness.now());
    harness.slumber(200.0);
    let woke = harness.now();
    assert_eq!(harness.deleted(&due), None, "no controller was awake");
    sleep(3_600.0).await;
    harness.went(&due, woke, 1.0);
    harness.went(&hour, after(tainted, 3_600.0), LATE);
    // A pod created during the sleep counts as just bound when the controller wakes up.
    harness.went(&successor, after(came, 600.0), 200.0 + LATE);
    harness.stays(&saved);
}

/// L5: the machine's clock is set one hour back and one hour ahead: no deadline moves.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_moves_no_deadline() {
    const HOUR: i64 = 3_600_000_000;
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let numbers: Vec<i64> = (1..=6).collect();
    let all: Vec<_> = numbers
        .iter()
        .map(|number| harness.create_pod(&format!("p{number}"), "n1", &[toleration("k", Some(number * 600))]))
        .collect();
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    for step in [HOUR, -HOUR, 0, 2 * HOUR, -2 * HOUR, HOUR, 0] {
        harness.steps.store(step, Ordering::Relaxed);
        sleep(550.0).await;
    }
    for (number, pod) in numbers.iter().zip(&all) {
        harness.went(pod, after(tainted, *number as f64 * 600.0), LATE);
    }
}

/// S3, S4: a controller starts with a wall clock ten minutes ahead of the server's, ten minutes behind, or nearly
/// right. No pod leaves early, and none later than the uncertainty of the clocks allows.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_wrong_at_the_start_moves_no_deadline() {
    /// Half a second for the resolution of `Date`, one second for the writers' clocks, one for API times.
    const ALLOWED: f64 = 2.6;
    for seconds in [600, -600, 3, 0] {
        let harness = SandboxHarness::new(1);
        let pod = harness.create_pod("p", "n1", &[toleration("k", Some(300))]);
        let tainted = harness.set_taints("n1", &[no_execute("k")]);
        sleep(100.3).await;
        harness.steps.store(seconds * 1_000_000, Ordering::Relaxed);
        let _controller = harness.start_by(harness.clock().by_the_server(), alone());
        sleep(500.0).await;
        harness.went(&pod, after(tainted, 300.0), ALLOWED);
    }
}

/// S3, S4, L3: a controller starts behind a link where each response takes seconds. No pod leaves early, and none later
/// than by the time of a response and the uncertainty that this leaves.
#[tokio::test(start_paused = true)]
async fn a_slow_link_at_the_start_moves_no_deadline() {
    for each_way in [0.0, 0.3, 0.7, 1.0, 1.6] {
        let harness = SandboxHarness::new(1);
        let pod = harness.create_pod("p", "n1", &[toleration("k", Some(300))]);
        let tainted = harness.set_taints("n1", &[no_execute("k")]);
        sleep(100.3).await;
        harness.slow_link(each_way);
        let _controller = harness.start_by(harness.clock().by_the_server(), alone());
        sleep(100.0).await;
        harness.slow_link(0.0);
        sleep(500.0).await;
        harness.went(&pod, after(tainted, 300.0), 2.6 + 2.0 * each_way);
    }
}
