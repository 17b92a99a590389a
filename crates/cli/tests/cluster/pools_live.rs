//! Tests dedicated-pool-controller on a real API server, under its installed account.
//!
//! - See `pools_real.rs` for the custom resources.

use crate::pools::harness::PoolHarness;
use crate::pools::{ends, evicting, failures, usual};
use crate::turn;
use std::time::Duration;
use taintward_envtest::{Account, Cluster, ClusterConfig};

/// The timeout of all waits.
const STARTUP_TIMEOUT: Duration = Duration::from_secs(180);

#[test]
fn dedicated_nodes_as_one_object() {
    let Some(tools) = turn::for_test("pools_live") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let cluster = Cluster::start(&tools, ClusterConfig::default()).await.unwrap();
        let harness = PoolHarness::new(&cluster).await;
        tokio::time::timeout(STARTUP_TIMEOUT, all(&harness)).await.expect("done within three minutes");
        harness.checks_the_record();
    });
}

async fn all(harness: &PoolHarness<'_>) {
    let mut taintward = ends::it_waits_for_the_definition_of_pools(harness).await;
    usual::a_pool_dedicates_its_nodes(harness).await;
    usual::nodes_join_and_leave(harness).await;
    usual::pods_are_counted(harness).await;
    failures::what_others_do_meanwhile_stays(harness).await;
    failures::obstacles_are_reported(harness).await;
    failures::a_second_pool_with_the_same_taint_is_refused(harness).await;
    failures::the_last_open_node_stays_open(harness).await;
    evicting::pods_that_run_there_already_are_evicted(harness, &taintward).await;
    usual::deleting_leaves_no_trace(harness).await;
    assert_eq!(taintward.stop().code(), Some(0));
    ends::observing_writes_nothing(harness).await;
    ends::a_pool_is_deleted_while_no_controller_runs(harness).await;
    ends::killed_half_way_another_run_completes_it(harness).await;
    ends::a_follower_takes_over(harness).await;
}

/// The account with the permissions of deploy/.
pub(crate) const OURS: Account = Account::Taintward;
