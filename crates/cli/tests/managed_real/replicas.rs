//! Tests two replicas: one takes over when the other is killed during a hold.

use crate::harness::{ManagedHarness, NOT_READY, STARTUP_TIMEOUT, UNREACHABLE, is_held, name, seconds};
use jiff::{SignedDuration, Timestamp};
use taintward_envtest::fixtures::{create_node, pod, set_taints};
use taintward_envtest::{ChildProcess, binaries, wait};

const NODES: usize = 4;
const PODS: usize = 400;
const OWN: i64 = 30;
const ELECTION: [&str; 4] = [
    "--leader-elect-resource-namespace=taintward-system",
    "--leader-elect-lease-duration=6s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
];

async fn contains(replica: &ChildProcess, words: &str) {
    let message = async || Ok(replica.output().contains(words).then_some(()));
    wait::until(words, STARTUP_TIMEOUT, message)
        .await
        .unwrap_or_else(|why| panic!("{why}: {}", replica.last_words()));
}

#[tokio::test(flavor = "current_thread")]
async fn another_leader_continues_what_the_first_has_begun() {
    let Some(tools) = binaries::for_test("another_leader_continues_what_the_first_has_begun") else {
        return;
    };
    let mut harness = ManagedHarness::set(&tools, "toleration-hold-controller", &["--hold-limit=1"]).await;
    harness.ours.take().unwrap().kill().unwrap();
    let mut first = harness.replica(&ELECTION);
    contains(&first, "acting=true").await;
    let second = harness.replica(&ELECTION);
    contains(&second, "toleration seconds synced").await;
    harness.ours = Some(second);
    for at in 0..NODES {
        create_node(&harness.admin, &format!("n{at}"), &[]).await.unwrap();
    }
    for at in 0..PODS {
        let fixture = pod(&format!("p{at}"), &format!("n{}", at % NODES));
        let fixture = fixture.bearing(NOT_READY, Some(OWN)).bearing(UNREACHABLE, Some(OWN));
        fixture.create(&harness.admin).await.unwrap();
    }
    let held =
        async |harness: &ManagedHarness| harness.pods().await.iter().filter(|pod| is_held(pod)).count();
    let silent = Timestamp::now();
    for at in 0..NODES {
        harness.silence(&format!("n{at}")).await;
    }
    harness.until("a part to be held", async |harness| held(harness).await >= 20).await;
    assert!(!harness.ours.as_ref().unwrap().output().contains("pod held"), "the follower has held pods");
    first.kill().unwrap();
    let by_first = held(&harness).await;
    assert!(by_first < PODS, "the second had nothing left to do");
    harness.until("the second to hold the others", async |harness| held(harness).await == PODS).await;
    assert!(Timestamp::now() < silent + SignedDuration::from_secs(OWN - 4));
    contains(harness.ours.as_ref().unwrap(), "pod held").await;

    // It also knows the seconds of pods that the first has held.
    for at in 0..NODES {
        set_taints(&harness.admin, &format!("n{at}"), &[]).await.unwrap();
    }
    harness
        .until("all to be as they were", async |harness| {
            let pods = harness.pods().await;
            let is_well = |pod| seconds(pod) == Some(OWN) && pod["metadata"]["annotations"].is_null();
            assert_eq!(pods.len(), PODS, "{:?}", pods.iter().map(name).collect::<Vec<_>>());
            pods.iter().all(is_well)
        })
        .await;
}
