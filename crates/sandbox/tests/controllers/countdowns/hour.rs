//! Tests which pods leave when, over an hour: with long, short, odd and indefinite toleration seconds (TE-17, TE-19,
//! TE-20, TE-25, D7).

use crate::harness::{LATE, SandboxHarness, TestPod, after, alone, no_execute, sleep};
use http::Method;
use serde_json::json;
use std::time::Instant;
use testkit::toleration;

/// The processor time that an hour may take, and the real time on a shared machine.
const WORK_MAX: f64 = 1.0;
const WALL_MAX: f64 = 20.0;

/// The processor seconds of this thread, if the system reports them.
fn work() -> Option<f64> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(text.split(' ').next()?.parse::<f64>().ok()? / 1e9)
}

/// TE-17, TE-25: a hundred countdowns over an hour, each of which ends when it should and none before. It takes less
/// than a second.
#[tokio::test(start_paused = true)]
async fn an_hour_of_countdowns() {
    let (began, worked) = (Instant::now(), work());
    let harness = SandboxHarness::new(5);
    let _controller = harness.controller(alone()).await;
    let pod = |number: i64, seconds| {
        let node = format!("n{}", number % 5 + 1);
        harness.create_pod(&format!("p{number}"), &node, &[toleration("k", seconds)])
    };
    let counting: Vec<(i64, TestPod)> =
        (1..=100).map(|number| (number * 36, pod(number, Some(number * 36)))).collect();
    let endless: Vec<TestPod> = (101..=110).map(|number| pod(number, None)).collect();
    sleep(1.0).await;
    let tainted: Vec<_> =
        (1..=5).map(|node| harness.set_taints(&format!("n{node}"), &[no_execute("k")])).collect();
    sleep(3_599.9).await;
    let (hour, last) = counting.last().unwrap();
    assert_eq!(*hour, 3_600);
    harness.stays(last);
    sleep(1.0).await;
    for (seconds, pod) in &counting {
        harness.went(pod, after(tainted[0], *seconds as f64), LATE);
    }
    endless.iter().for_each(|pod| harness.stays(pod));
    let deletions = harness.writes().iter().filter(|sent| sent.method == Method::DELETE).count();
    assert_eq!(deletions, counting.len(), "S10: one DELETE each");
    let wall = began.elapsed().as_secs_f64();
    let work = work().zip(worked).map_or(wall, |(now, then)| now - then);
    println!("an hour with {} countdowns: {wall:.2} s, {work:.2} s of a processor", counting.len());
    assert!(work < WORK_MAX && wall < WALL_MAX, "an hour took {wall:.2} s, {work:.2} s of a processor");
}

/// TE-19, TE-20, D7: absent, zero and negative seconds mean immediately; very large ones are very long.
#[tokio::test(start_paused = true)]
async fn odd_seconds() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let at_once = [None, Some(0), Some(-1), Some(-3_600), Some(i64::MIN)];
    let at_once = at_once.into_iter().enumerate().map(|(number, seconds)| {
        let toleration = seconds.map(|seconds| toleration("k", Some(seconds)));
        harness.create_pod(&format!("now-{number}"), "n1", toleration.as_slice())
    });
    let at_once: Vec<TestPod> = at_once.collect();
    // Where nanoseconds in 64 bits overflow, and where the result is a third of a second.
    let long = [9_223_372_036, 9_223_372_037, 18_446_744_073, 18_446_744_074, i64::MAX - 1, i64::MAX];
    let long = long.into_iter().enumerate().map(|(number, seconds)| {
        harness.create_pod(&format!("long-{number}"), "n1", &[toleration("k", Some(seconds))])
    });
    let long: Vec<TestPod> = long.collect();
    let one = harness.create_pod("one", "n1", &[toleration("k", Some(1))]);
    sleep(10.0).await;
    at_once.iter().chain(&long).for_each(|pod| harness.stays(pod));
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(7_200.0).await;
    at_once.iter().for_each(|pod| harness.went(pod, tainted, LATE));
    harness.went(&one, after(tainted, 1.0), LATE);
    long.iter().for_each(|pod| harness.stays(pod));
}

/// TE-46: pods due at the same instant leave a node in a fixed order: ordinary pods, daemons, node-critical pods;
/// within each, lower priority first; then by UID. The pods of a node wait only for their own node's confirmation.
#[tokio::test(start_paused = true)]
async fn equals_leave_in_order() {
    let harness = SandboxHarness::new(2);
    harness.world.create(
        "scheduling.k8s.io",
        "priorityclasses",
        "",
        json!({
            "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "high"},
            "value": 1_000, "preemptionPolicy": "PreemptLowerPriority",
        }),
    );
    let _controller = harness.controller(alone()).await;
    let daemon = json!([{
        "apiVersion": "apps/v1", "kind": "DaemonSet", "name": "d", "uid": "d", "controller": true,
    }]);
    let mut expected = Vec::new();
    for number in 0..4 {
        // Created in a different order from that in which they leave.
        for (class, (name, priority)) in
            [("critical", "system-node-critical"), ("daemon", ""), ("high", "high"), ("plain", "")]
                .into_iter()
                .enumerate()
        {
            let node = if number % 2 == 0 { "n2" } else { "n1" };
            let pod = harness.create_pod_with(
                &format!("{name}-{number}"),
                node,
                &[toleration("k", Some(30))],
                |pod| {
                    if !priority.is_empty() {
                        pod["spec"]["priorityClassName"] = priority.into();
                    }
                    if name == "daemon" {
                        pod["metadata"]["ownerReferences"] = daemon.clone();
                    }
                },
            );
            expected.push((3 - class, node, pod));
        }
    }
    expected.sort_by(|(a, m, p), (b, n, q)| (m, a, &p.uid).cmp(&(n, b, &q.uid)));
    sleep(1.0).await;
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    assert_eq!(harness.set_taints("n2", &[no_execute("k")]), tainted);
    sleep(31.0).await;
    expected.iter().for_each(|(_, _, pod)| harness.went(pod, after(tainted, 30.0), LATE));
    let writes = harness.writes();
    let deletions = writes.iter().filter(|sent| sent.method == Method::DELETE);
    let order: Vec<&str> = deletions.map(|sent| sent.path.rsplit('/').next().unwrap()).collect();
    let expected: Vec<&str> = expected.iter().map(|(_, _, pod)| pod.name.as_str()).collect();
    assert_eq!(order, expected);
}
