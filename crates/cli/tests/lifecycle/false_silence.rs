//! Tests which nodes kube-controller-manager declares silent after it, its connection or the API server was paused,
//! while all nodes live (row S7 of D12).

use super::fleet::RealFleet;
use super::observation_gaps::{AWAY, BACK, NODES, RATE};
use super::side::original;
use crate::real::accounts::leading_to;
use crate::real::harness::AuditExceptions;
use crate::real::program::free_port;
use crate::real::proxy::ScenarioProxy;
use crate::real::witness::Witness;
use std::collections::{BTreeMap, BTreeSet};
use taintward_envtest::heartbeats::plans;
use taintward_envtest::{Account, Cluster};
use testkit::wait::let_time_pass;

/// The order of its observations is random.
const ROUNDS: usize = 2;

/// The minor version since which kube-controller-manager reads a lease live before it declares the node silent.
pub(super) const READS_LIVE: u32 = 37;

/// What is paused for longer than the grace period.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum PausedPart {
    /// The process, by SIGSTOP.
    Original,
    /// Its connection: open, but without data.
    Connection,
    /// The API server, by SIGSTOP: no lease can be renewed.
    ApiServer,
}

/// S7.
pub(crate) async fn nodes_that_kube_controller_manager_declares_silent(
    cluster: &mut Cluster,
    _: &Witness,
) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(NODES, 3, 0), RATE).await;
    let door = free_port();
    let proxy = ScenarioProxy::on(door, cluster.port(0));
    let mut flags = RATE.flags();
    flags.push(format!("--kubeconfig={}", leading_to(cluster, Account::Admin, door).display()));
    let original = original(cluster, &flags).await;
    let mut silent: BTreeMap<PausedPart, usize> = BTreeMap::new();
    for still in [PausedPart::Original, PausedPart::Connection, PausedPart::ApiServer].repeat(ROUNDS) {
        let_time_pass(RATE.grace, "it observes all nodes for a whole grace period").await;
        let mark = fleet.record.mark();
        match still {
            PausedPart::Original => original.pause().unwrap(),
            PausedPart::Connection => proxy.cut(true),
            PausedPart::ApiServer => cluster.server(0).pause().unwrap(),
        }
        let_time_pass(AWAY, "a pause longer than the grace period").await;
        match still {
            PausedPart::Original => original.resume().unwrap(),
            PausedPart::Connection => proxy.cut(false),
            PausedPart::ApiServer => cluster.server(0).resume().unwrap(),
        }
        let_time_pass(BACK, "it judges all nodes by what it observes now").await;
        let changes = fleet.record.since(mark);
        let declared = changes.iter().filter(|change| {
            change.sight.as_ref().is_some_and(|sight| sight.ready() == "Unknown" || sight.is_evicting())
        });
        let declared: BTreeSet<String> = declared.map(|change| change.node.clone()).collect();
        println!("{still:?} stood still: {} of {NODES} live nodes are called silent", declared.len());
        *silent.entry(still).or_default() += declared.len();
        fleet.heartbeats.revive(&fleet.admin, &declared).await.unwrap();
        let well = |fleet: &RealFleet| {
            fleet.record.those(|sight| sight.ready() != "True" || sight.is_evicting()).is_empty()
        };
        fleet.until("all to be ready again", BACK, well).await;
        if still != PausedPart::ApiServer {
            fleet.expect_punctual();
        }
        fleet.heartbeats.lateness();
    }
    fleet.end().await;
    // Before that version it is random whether a watch event or the monitor comes first.
    if cluster.minor() >= READS_LIVE {
        assert_eq!((silent[&PausedPart::Original], silent[&PausedPart::Connection]), (0, 0));
    }
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}
