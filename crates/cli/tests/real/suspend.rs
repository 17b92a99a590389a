//! Tests a process that is paused with SIGSTOP and resumed (D4, D5, S1, S2, S5).

use super::harness::{
    AuditExceptions, BEYOND, LATE_MAX, ScenarioHarness, let_controllers_observe, let_seconds_pass,
    let_time_pass_until, seconds,
};
use super::program::Taintward;
use super::witness::Witness;
use jiff::Timestamp;
use taintward_envtest::fixtures::{delete_pod, no_execute, pod};
use taintward_envtest::{Account, Cluster};

/// D4, D5, S1, S2, D10: it sleeps past the deadlines, so its state is outdated. Pods that were saved, replaced or lost
/// their node meanwhile stay; pods that are still due leave.
pub(crate) async fn a_resumed_process_reads_before_it_acts(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    let mut taintward = Taintward::acting(cluster, &["--leader-elect=false"]).await;
    for node in ["sleep", "sleep-saved"] {
        harness.create_node(node).await;
    }
    let bearing = |name: &str, node: &str| pod(name, node).bearing("sleep", Some(3));
    let due = harness.create_pod(bearing("sleep-due", "sleep")).await;
    let saved = harness.create_pod(bearing("sleep-saved", "sleep-saved")).await;
    let old = harness.create_pod(bearing("sleep-again", "sleep")).await;
    let_controllers_observe().await;
    let done = harness.set_taints("sleep", &[no_execute("sleep", "v")]).await;
    harness.set_taints("sleep-saved", &[no_execute("sleep", "v")]).await;
    let_seconds_pass(1.0, "the countdowns are under way").await;
    taintward.program().pause().unwrap();
    harness.set_taints("sleep-saved", &[]).await;
    delete_pod(&harness.admin, &old.name).await.unwrap();
    let successor = harness.create_pod(pod("sleep-again", "sleep").bearing("sleep", Some(60))).await;
    let_time_pass_until(done.before + seconds(4.0), "the pod is due while the controller is paused").await;
    let woken = Timestamp::now();
    taintward.program().resume().unwrap();
    harness.goes_within(&due, woken, woken + LATE_MAX).await;
    for pod in [&saved, &successor] {
        harness.stays_until(pod, woken + BEYOND).await;
        assert!(witness.writes_on_pod(&pod.name).is_empty(), "{}", pod.name);
    }
    assert_eq!(taintward.stop().code(), Some(0));
    AuditExceptions::default()
}

/// S5, S10, L8: a leader that sleeps through its lease is replaced, and does not act when it wakes up.
pub(crate) async fn a_leader_that_overslept_follows(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let quick = [
        "--leader-elect-lease-duration=5s",
        "--leader-elect-renew-deadline=4s",
        "--leader-elect-retry-period=1s",
    ];
    let harness = ScenarioHarness::of(cluster, witness).await;
    let mut first = Taintward::acting(cluster, &quick).await;
    let mut second = Taintward::start(cluster, &cluster.kubeconfig(Account::Taintward, 0), &quick);
    second.ready().await;
    harness.create_node("overslept").await;
    let mut pods = Vec::new();
    for number in 0..10 {
        pods.push(
            harness.create_pod(pod(&format!("overslept-{number}"), "overslept").bearing("o", Some(3))).await,
        );
    }
    let later = harness.create_pod(pod("overslept-later", "overslept").bearing("o", Some(12))).await;
    let_controllers_observe().await;
    let done = harness.set_taints("overslept", &[no_execute("o", "v")]).await;
    let_seconds_pass(1.0, "the countdowns are under way").await;
    first.program().pause().unwrap();
    second.leads().await;
    first.program().resume().unwrap();
    let woken = Timestamp::now();
    for pod in &pods {
        harness.goes_within(pod, done.after + seconds(3.0), woken + LATE_MAX).await;
    }
    let_time_pass_until(woken + seconds(1.5), "the former leader may not lead again").await;
    assert_eq!((first.is_leading(), second.is_leading()), (false, true));
    assert!(Timestamp::now() < done.after + seconds(12.0), "this machine is too slow for this scenario");
    harness.goes(&later, done, 12.0).await;
    assert_eq!((first.stop().code(), second.stop().code()), (Some(0), Some(0)));
    AuditExceptions::default()
}
