//! Tests an etcd restored from a backup: later writes do not count (S1, S2, S4, L4).

use super::harness::{AuditExceptions, ScenarioHarness, let_controllers_observe, let_seconds_pass, seconds};
use super::program::Taintward;
use super::witness::Witness;
use jiff::Timestamp;
use std::time::Duration;
use taintward_envtest::fixtures::{no_execute, pod};
use taintward_envtest::{Cluster, wait};

/// How much is written after the backup: more than an API server writes at its start.
const LATER_WRITES: usize = 300;

/// A taint that the restored store lacks evicts no pod; a pod that was evicted after the backup exists again, and is
/// evicted again; a new taint takes effect within five seconds.
pub(crate) async fn only_what_the_restored_store_says_counts(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let _taintward = Taintward::acting(cluster, &["--leader-elect=false"]).await;
    let harness = ScenarioHarness::of(cluster, witness).await;
    for node in ["restored-free", "restored-back", "restored-new"] {
        harness.create_node(node).await;
    }
    let spared = harness.create_pod(pod("restored-spared", "restored-free").bearing("r", Some(20))).await;
    let back = harness.create_pod(pod("restored-back", "restored-back").bearing("r", Some(6))).await;
    let new = harness.create_pod(pod("restored-new", "restored-new")).await;
    let_controllers_observe().await;
    let taint = [no_execute("r", "v")];
    let before = harness.set_taints("restored-back", &taint).await;
    drop(harness);
    cluster.back_up().await.unwrap();
    cluster.ready(0).await.unwrap();

    let harness = ScenarioHarness::of(cluster, witness).await;
    let undone = harness.set_taints("restored-free", &taint).await;
    harness.goes_within(&back, before.after + seconds(6.0), before.before + seconds(16.0)).await;
    let_seconds_pass(0.5, "the controller observes what the backup lacks").await;
    drop(harness);
    cluster.restore().await.unwrap();
    let ready = Timestamp::now();

    let harness = ScenarioHarness::of(cluster, witness).await;
    let done = harness.set_taints("restored-new", &taint).await;
    harness.goes_within(&new, done.after, done.before + seconds(5.0)).await;
    let again = async || Ok((witness.deletions_of(&back.uid) == 2).then_some(()));
    wait::until("the pod that came back to go again", Duration::from_secs(20), again).await.unwrap();
    eprintln!("{:#} after the restored server was ready", Timestamp::now().duration_since(ready));
    harness.stays_until(&spared, undone.before + seconds(27.0)).await;
    assert_eq!(witness.deletions_of(&spared.uid), 0);
    AuditExceptions { restored: true, forbidden: true, ..AuditExceptions::default() }
}

/// Nothing counts down, so that no live read contradicts the watches: only their versions do. With leader election, a
/// new taint takes effect once the lease is held again.
pub(crate) async fn a_taint_after_a_restore_counts_although_nothing_counted_down(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    for (name, election) in [("alone", "--leader-elect=false"), ("elected", "--leader-elect=true")] {
        let _taintward = Taintward::acting(cluster, &[election]).await;
        let (node, other) = (format!("restored-idle-{name}"), format!("restored-busy-{name}"));
        let harness = ScenarioHarness::of(cluster, witness).await;
        harness.create_node(&node).await;
        harness.create_node(&other).await;
        let idle = harness.create_pod(pod(&node, &node)).await;
        let_controllers_observe().await;
        drop(harness);
        cluster.back_up().await.unwrap();
        cluster.ready(0).await.unwrap();

        let harness = ScenarioHarness::of(cluster, witness).await;
        for number in 0..LATER_WRITES {
            harness.set_taints(&other, &[no_execute("n", &number.to_string())]).await;
        }
        drop(harness);
        cluster.restore().await.unwrap();

        let harness = ScenarioHarness::of(cluster, witness).await;
        let done = harness.set_taints(&node, &[no_execute("r", "v")]).await;
        harness.goes_within(&idle, done.after, done.before + seconds(5.0)).await;
    }
    AuditExceptions { restored: true, forbidden: true, ..AuditExceptions::default() }
}
