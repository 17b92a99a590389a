//! Tests holds of two thousand pods: none is evicted while it is held, whatever is killed, and each leaves in its time.

use crate::harness::{HELD, ManagedHarness, NOT_READY, UNREACHABLE, due, is_held, name};
use futures::stream::{self, StreamExt as _};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_envtest::fixtures::{PodFixture, create_node, pod};
use taintward_envtest::{TestApi, binaries};
use testkit::wait::{let_time_pass, until_true};

const NODES: usize = 40;
const PODS: usize = 2_000;
/// Pods that are skipped because of their annotation.
const NOT_HELD: usize = 10;
/// The range of the pods' own seconds, so that not all are due at the same time.
const OWN_MIN: usize = 35;
const OWN_MAX: usize = 85;
/// Each pod leaves within this many seconds of the time in its record.
const IN_TIME: f64 = 2.0;
/// The time after the last pod is due.
const STARTUP_TIMEOUT: SignedDuration = SignedDuration::from_secs(60);
const AT_ONCE: usize = 32;

fn node_name(at: usize) -> String {
    format!("n{}", at % NODES)
}

fn bearing(name: &str, at: usize) -> PodFixture {
    let own = i64::try_from(OWN_MIN + at / NODES % (OWN_MAX - OWN_MIN)).unwrap();
    pod(name, &node_name(at)).bearing(NOT_READY, Some(own)).bearing(UNREACHABLE, Some(own))
}

/// When each pod was deleted, by the watch.
async fn departures(admin: &TestApi) -> Arc<Mutex<BTreeMap<String, Timestamp>>> {
    const PODS: &str = "/api/v1/namespaces/default/pods";
    let list = admin.get(&format!("{PODS}?limit=1")).await.unwrap();
    let version = list["metadata"]["resourceVersion"].as_str().unwrap();
    let mut events = admin.watch(&format!("{PODS}?watch=true&resourceVersion={version}")).await.unwrap();
    let departures = Arc::<Mutex<BTreeMap<String, Timestamp>>>::default();
    let known = Arc::clone(&departures);
    tokio::spawn(async move {
        while let Some(Ok(line)) = events.next().await {
            let event: Value = serde_json::from_str(&line).unwrap();
            if event["type"] == "DELETED" {
                known.lock().unwrap().insert(name(&event["object"]), Timestamp::now());
            }
        }
    });
    departures
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "minutes: cargo xtask nightly"]
async fn two_thousand_pods_outlive_kill_9_of_both_sides_and_leave_in_time() {
    const TEST: &str = "two_thousand_pods_outlive_kill_9_of_both_sides_and_leave_in_time";
    let Some(tools) = binaries::for_test(TEST) else { return };
    let mut harness =
        ManagedHarness::set(&tools, "toleration-hold-controller", &["--hold-limit=10,30%"]).await;
    let why = "older ones evict only together with node-lifecycle-controller, which removes taints when it restarts";
    if harness.cluster.is_before(33, TEST, why) {
        return;
    }
    for at in 0..NODES {
        create_node(&harness.admin, &node_name(at), &[]).await.unwrap();
    }
    let held = (0..PODS).map(|at| bearing(&format!("held-{at}"), at));
    let odd = (0..NOT_HELD)
        .map(|at| bearing(&format!("odd-{at}"), at).with("/metadata", "annotations", json!({ HELD: "odd" })));
    let fixtures: Vec<PodFixture> = held.chain(odd).collect();
    let admin = &harness.admin;
    let created = stream::iter(&fixtures).map(|fixture| fixture.create(admin)).buffer_unordered(AT_ONCE);
    created.for_each(async |created| _ = created.unwrap()).await;
    let departures = departures(&harness.admin).await;
    let gone = || departures.lock().unwrap().clone();
    let took = |from: Timestamp, until: Timestamp| until.duration_since(from).as_secs_f64();

    // Both are killed while pods are being held.
    let silent = Timestamp::now();
    let stage_now = &harness;
    let all = stream::iter(0..NODES).map(async |at| stage_now.silence(&node_name(at)).await);
    all.buffer_unordered(AT_ONCE).for_each(async |()| ()).await;
    until_held(&harness, PODS / 4, silent).await;
    harness.kill_both();
    let killed = harness.pods().await.iter().filter(|pod| is_held(pod)).count();
    assert!(killed < PODS, "there was nothing left to do");
    harness.start_both().await;
    until_held(&harness, PODS, silent).await;
    let all_held = Timestamp::now();
    let held_after = took(silent, all_held);
    eprintln!(
        "killed when {killed} of {PODS} pods were held; all held {held_after:.1} s after the first taint"
    );
    assert!(all_held < silent + SignedDuration::from_secs(OWN_MIN as i64));

    // Once more, while all are held; and then for longer than the longest countdown.
    harness.kill_both();
    harness.start_both().await;
    let outlived = silent + SignedDuration::from_secs(OWN_MAX as i64 + 5);
    let left = (outlived - Timestamp::now()).try_into().unwrap_or(Duration::ZERO);
    let_time_pass(left, "no held pod may leave when its countdown ends").await;
    let evicted = gone();
    assert_eq!(evicted.len(), NOT_HELD, "left: {:?}", evicted.keys());
    assert!(evicted.keys().all(|name| !name.starts_with("held-")));
    let (watched, others) = (took(silent, outlived), evicted.len());
    eprintln!("0 of {PODS} held pods evicted within {watched:.0} s; {others} others left");

    let released = Timestamp::now();
    let (code, message) = harness.command(&["release", "--all", "--timeout", "60s"]).await;
    assert_eq!(code, Some(0), "{message}");
    let due: BTreeMap<String, Timestamp> =
        harness.pods().await.iter().map(|pod| (name(pod), due(pod).unwrap())).collect();
    assert_eq!(due.len(), PODS, "a pod left before it could be released");
    eprintln!("all released after {:.1} s", took(released, Timestamp::now()));
    let last = *due.values().max().unwrap();
    let left = (last + STARTUP_TIMEOUT - Timestamp::now()).try_into().unwrap_or(Duration::ZERO);
    until_true("all to leave", left, async || gone().len() >= PODS + NOT_HELD).await;
    let gone = gone();
    let late: Vec<f64> = due.iter().map(|(name, due)| took(*due, gone[name])).collect();
    let (least, most) =
        late.iter().fold((f64::MAX, f64::MIN), |(least, most), one| (least.min(*one), most.max(*one)));
    eprintln!("each left {least:.2} s to {most:.2} s after it was due");
    assert!(late.iter().all(|late| late.abs() <= IN_TIME), "{least} s to {most} s");
}

async fn until_held(harness: &ManagedHarness, number: usize, silent: Timestamp) {
    let limit = silent + SignedDuration::from_secs(OWN_MIN as i64);
    loop {
        let held = harness.pods().await.iter().filter(|pod| is_held(pod)).count();
        if held >= number {
            return;
        }
        assert!(Timestamp::now() < limit, "{held} of {number} are held");
        let_time_pass(Duration::from_millis(500), "listing two thousand pods burdens the API server").await;
    }
}
