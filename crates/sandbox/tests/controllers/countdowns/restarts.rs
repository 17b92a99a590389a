//! Tests controllers that are killed, suspended and stopped, and changed clocks (D1, S4, L3, L5, TE-24).

use crate::stage::{LATE, RESOLUTION, Stage, after, alone, bears, no_execute, sleep};
use serde_json::json;
use std::sync::atomic::Ordering;

/// D1, S4: a controller that crashes and is away for a while moves no deadline. Pods that became due meanwhile leave
/// immediately; pods whose eviction was cancelled meanwhile stay.
#[tokio::test(start_paused = true)]
async fn a_crash_moves_no_deadline() {
    let stage = Stage::alive(3);
    let first = stage.controller(alone()).await;
    let by_kubectl = stage.pod("by-kubectl", "n1", &[bears("k", Some(1_800))]);
    let overdue = stage.pod("overdue", "n1", &[bears("k", Some(700))]);
    let stamped = stage.pod("stamped", "n2", &[bears("k", Some(1_800))]);
    let reprieved = stage.pod("reprieved", "n3", &[bears("k", Some(1_800))]);
    sleep(5.0).await;
    let tainted = stage.taint("n1", &[no_execute("k")]);
    let mut with_time = no_execute("k");
    with_time["timeAdded"] = json!(stage.server().clock().time_text());
    stage.taint("n2", &[with_time]);
    stage.taint("n3", &[no_execute("k")]);
    sleep(600.0).await;
    let (later, came) = (stage.pod("later", "n1", &[bears("k", Some(1_800))]), stage.now());
    sleep(1.0).await;
    first.kill().await;
    sleep(100.0).await;
    stage.taint("n3", &[]);
    sleep(500.0).await;
    stage.stays(&overdue);
    let back = stage.now();
    let _second = stage.controller(alone()).await;
    stage.went(&overdue, back, RESOLUTION);
    sleep(3_600.0).await;
    for pod in [&by_kubectl, &stamped] {
        stage.went(pod, after(tainted, 1_800.0), RESOLUTION + LATE);
    }
    // When the pod was bound is read from its status, which the kubelet wrote a moment later.
    stage.went(&later, after(came, 1_800.0), RESOLUTION + 1.0 + LATE);
    stage.stays(&reprieved);
}

/// D1, L3: kube-controller-manager, restarted every four minutes, never evicts a pod that tolerates five. Here a crash loop moves
/// no deadline.
#[tokio::test(start_paused = true)]
async fn a_crash_loop_moves_no_deadline() {
    let stage = Stage::new(1);
    let mut controller = stage.controller(alone()).await;
    let five_minutes = stage.pod("five-minutes", "n1", &[bears("k", Some(300))]);
    let hour = stage.pod("hour", "n1", &[bears("k", Some(3_600))]);
    sleep(1.0).await;
    let tainted = stage.taint("n1", &[no_execute("k")]);
    for _ in 0..16 {
        sleep(238.0).await;
        controller.kill().await;
        controller = stage.controller(alone()).await;
    }
    assert!(stage.now() > after(tainted, 3_700.0));
    stage.went(&five_minutes, after(tainted, 300.0), RESOLUTION + LATE);
    stage.went(&hour, after(tainted, 3_600.0), RESOLUTION + LATE);
}

/// A controller that is stopped starts no further requests, though a pod is due the next moment.
#[tokio::test(start_paused = true)]
async fn a_stopped_controller_starts_no_request() {
    let stage = Stage::new(1);
    let controller = stage.controller(alone()).await;
    let pod = stage.pod("p", "n1", &[bears("k", Some(60))]);
    let tainted = stage.taint("n1", &[no_execute("k")]);
    sleep(59.99).await;
    controller.stop().await;
    assert!(stage.now() <= after(tainted, 65.0));
    sleep(3_600.0).await;
    stage.stays(&pod);
}

/// D4, D5, S2, L5: the controller sleeps past the deadlines, so its state is outdated. Pods saved or replaced meanwhile
/// stay; pods that are due leave; pods with time left keep their deadline.
#[tokio::test(start_paused = true)]
async fn a_resumed_process_reads_before_it_acts() {
    let stage = Stage::new(2);
    let _controller = stage.controller(alone()).await;
    let tolerations = |seconds| [bears("k", Some(seconds))];
    let due = stage.pod("due", "n1", &tolerations(600));
    let hour = stage.pod("hour", "n1", &tolerations(3_600));
    let replaced = stage.pod("replaced", "n1", &tolerations(600));
    let saved = stage.pod("saved", "n2", &tolerations(600));
    let tainted = stage.taint("n1", &[no_execute("k")]);
    stage.taint("n2", &[no_execute("k")]);
    sleep(599.0).await;
    stage.slumber(300.0);
    stage.taint("n2", &[]);
    stage.delete_pod(&replaced);
    let (successor, came) = (stage.pod("replaced", "n1", &tolerations(600)), stage.now());
    stage.slumber(200.0);
    let woke = stage.now();
    assert_eq!(stage.deleted(&due), None, "no controller was awake");
    sleep(3_600.0).await;
    stage.went(&due, woke, 1.0);
    stage.went(&hour, after(tainted, 3_600.0), LATE);
    // A pod created during the sleep counts as just bound when the controller wakes up.
    stage.went(&successor, after(came, 600.0), 200.0 + LATE);
    stage.stays(&saved);
}

/// L5: the machine's clock is set one hour back and one hour ahead: no deadline moves.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_set_moves_no_deadline() {
    const HOUR: i64 = 3_600_000_000;
    let stage = Stage::new(1);
    let _controller = stage.controller(alone()).await;
    let numbers: Vec<i64> = (1..=6).collect();
    let all: Vec<_> = numbers
        .iter()
        .map(|number| stage.pod(&format!("p{number}"), "n1", &[bears("k", Some(number * 600))]))
        .collect();
    let tainted = stage.taint("n1", &[no_execute("k")]);
    for step in [HOUR, -HOUR, 0, 2 * HOUR, -2 * HOUR, HOUR, 0] {
        stage.steps.store(step, Ordering::Relaxed);
        sleep(550.0).await;
    }
    for (number, pod) in numbers.iter().zip(&all) {
        stage.went(pod, after(tainted, *number as f64 * 600.0), LATE);
    }
}

/// S3, S4: a controller starts with a wall clock ten minutes ahead of the server's, ten minutes behind, or nearly
/// right. No pod leaves early, and none later than the uncertainty of the clocks allows.
#[tokio::test(start_paused = true)]
async fn a_clock_that_is_wrong_at_the_start_moves_no_deadline() {
    /// Half a second for the resolution of `Date`, one second for the writers' clocks, one for API times.
    const ALLOWED: f64 = 2.6;
    for seconds in [600, -600, 3, 0] {
        let stage = Stage::new(1);
        let pod = stage.pod("p", "n1", &[bears("k", Some(300))]);
        let tainted = stage.taint("n1", &[no_execute("k")]);
        sleep(100.3).await;
        stage.steps.store(seconds * 1_000_000, Ordering::Relaxed);
        let _controller = stage.start_by(stage.clock().by_the_server(), alone());
        sleep(500.0).await;
        stage.went(&pod, after(tainted, 300.0), ALLOWED);
    }
}
