//! Tests that evictions continue while everything is listed again by pages (L4, L1).

use super::harness::{AuditExceptions, ScenarioHarness, seconds};
use super::program::Taintward;
use super::witness::Witness;
use jiff::Timestamp;
use std::time::{Duration, Instant};
use taintward_envtest::Cluster;
use taintward_envtest::fixtures::{no_execute, pod};

/// It includes a relist for age, which comes after 24 to 28.5 s.
const LONG_ENOUGH: Duration = Duration::from_secs(34);

/// L1, L4: all due pods leave in time during a relist; countdowns and pods that may stay survive it.
pub(crate) async fn evictions_continue_while_everything_is_listed_again(
    cluster: &mut Cluster,
    witness: &Witness,
) -> AuditExceptions {
    let harness = ScenarioHarness::of(cluster, witness).await;
    harness.create_node("again-still").await;
    harness.create_node("again-counts").await;
    // More than fit a page.
    for number in 0..520 {
        harness.create_pod(pod(&format!("again-still-{number}"), "again-still")).await;
    }
    let stays = harness.create_pod(pod("again-stays", "again-still")).await;
    let counts = harness.create_pod(pod("again-counts", "again-counts").bearing("again", Some(32))).await;
    let flags = ["--leader-elect=false", "--relist-interval=30s"];
    let mut taintward = Taintward::acting(cluster, &flags).await;
    let begun = Instant::now();
    let counting = harness.set_taints("again-counts", &[no_execute("again", "v")]).await;
    for round in 0.. {
        let name = format!("again-{round}");
        harness.create_node(&name).await;
        let goes = harness.create_pod(pod(&name, &name)).await;
        let done = harness.set_taints(&name, &[no_execute("again", "v")]).await;
        harness.goes(&goes, done, 0.0).await;
        if begun.elapsed() >= LONG_ENOUGH {
            break;
        }
    }
    harness.goes(&counts, counting, 32.0).await;
    harness.stays_until(&stays, Timestamp::now() + seconds(1.0)).await;
    assert!(taintward.metric_with("taintward_watch_restarts_total", "relist") >= 2.0, "nodes and pods");
    assert_eq!(taintward.stop().code(), Some(0));
    let pages = witness.ours(|entry| entry.verb == "list" && entry.resource == "pods");
    assert!(pages.len() >= 4, "two pages each of two lists: {}", pages.len());
    AuditExceptions::default()
}
