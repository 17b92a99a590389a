//! Tests on a real API server that pools are kept when the PoolGuard is too large, rejected or gone, and against kubelets.
//!
//! - A whole installation runs; the webhook answers, is paused, or is absent.

pub(crate) mod definitions;
pub(crate) mod full;
pub(crate) mod harness;
pub(crate) mod kubelets;
pub(crate) mod price;

use crate::pool_attacks::installation::Installation;
use crate::turn;
use harness::GuardLimitsHarness;
use std::time::Duration;
use taintward_envtest::{Audit, Cluster, ClusterConfig};

/// The timeout of everything; on an idle machine it takes a minute.
const WHOLE: Duration = Duration::from_secs(600);

#[test]
fn pools_are_kept_whatever_happens_to_the_guard() {
    let Some(tools) = turn::for_test("guard_limits") else { return };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let options = ClusterConfig { audit: Audit::Off, ..ClusterConfig::default() };
        let mut cluster = Cluster::start(&tools, options).await.unwrap();
        tokio::time::timeout(WHOLE, all(&mut cluster)).await.expect("done in time");
    });
}

async fn all(cluster: &mut Cluster) {
    let server = cluster.server(0).pid();
    let harness = GuardLimitsHarness::lay(cluster).await;
    let installed = Installation::apply(cluster, "").await;
    let mut controller = installed.controller().await;
    price::many_tolerations_cost_little(&harness, server).await;
    full::the_largest_pools_are_left_out(&harness, &installed).await;
    full::a_guard_that_cannot_be_written_is_not_relied_on(&harness).await;
    kubelets::a_kubelet_writes_no_record_of_its_pods(&harness).await;
    kubelets::a_node_leaves_its_pool_whatever_its_kubelet_writes(&harness).await;
    definitions::definitions_stay_while_pools_rely_on_them(&harness, cluster).await;
    controller.stop();
}
