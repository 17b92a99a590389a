//! Tests interrupted observation: a stopped process, a cut network, an absent API server (S7, P16, P37).

use super::fleet::{Rate, RealFleet};
use super::fleet_controller::FleetController;
use super::side::CONTROLLER;
use crate::real::accounts::leading_to;
use crate::real::harness::AuditExceptions;
use crate::real::program::free_port;
use crate::real::proxy::ScenarioProxy;
use crate::real::witness::Witness;
use std::collections::BTreeSet;
use std::time::Duration;
use taintward_envtest::heartbeats::plans;
use taintward_envtest::node_history::HistoryPosition;
use taintward_envtest::{Account, Cluster};
use testkit::wait::let_time_pass;

pub(super) const RATE: Rate = Rate {
    monitor: Duration::from_secs(1),
    grace: Duration::from_secs(8),
    renew: Duration::from_secs(2),
    rate: 20.0,
};

/// Longer than the grace period, so that every lease observed before looks old.
pub(super) const AWAY: Duration = Duration::from_secs(12);

/// After the interruption: a whole grace period, and the time that watches need to come back.
pub(super) const BACK: Duration = Duration::from_secs(8 + 6);

pub(super) const NODES: usize = 60;

/// Silences one node of the fleet.
fn one_dies(fleet: &RealFleet) -> BTreeSet<String> {
    let dead = vec![fleet.heartbeats.all()[NODES / 2].clone()];
    fleet.silence(&dead);
    dead.into_iter().collect()
}

/// Checks that the dead node is tainted, and no other was; then revives it.
async fn only_the_dead_one(fleet: &RealFleet, dead: BTreeSet<String>, mark: HistoryPosition) {
    fleet.until("the dead one to be tainted", BACK, |fleet| fleet.evicting() == dead).await;
    let declared = fleet.record.those(|sight| sight.ready() != "True");
    assert_eq!(declared, dead, "S7: no other node was declared silent");
    fleet.expect_punctual();
    let dead: Vec<String> = dead.into_iter().collect();
    fleet.revive(&dead).await;
    fleet.until("L7", Duration::from_secs(5), |fleet| fleet.evicting().is_empty()).await;
    fleet.story.check(&fleet.record, mark, RATE, &[]);
}

/// S7, P37: stopped for longer than the grace period; every lease in its cache is old when it resumes.
pub(crate) async fn a_paused_controller_declares_no_node_silent(
    cluster: &mut Cluster,
    _: &Witness,
) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(NODES, 3, 0), RATE).await;
    let ours = FleetController::start(cluster, &fleet).await;
    let mark = fleet.record.mark();
    let dead = one_dies(&fleet);
    ours.it().program().pause().unwrap();
    let_time_pass(AWAY, "a pause longer than the grace period").await;
    ours.it().program().resume().unwrap();
    only_the_dead_one(&fleet, dead, mark).await;
    ours.stop();
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}

/// S7, P16: without the server it observes nothing, both with connections that stay open without data, and with
/// connections that are refused.
pub(crate) async fn a_disconnected_controller_declares_no_node_silent(
    cluster: &mut Cluster,
    _: &Witness,
) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(NODES, 3, 0), RATE).await;
    let (door, nowhere) = (free_port(), free_port());
    let proxy = ScenarioProxy::on(door, cluster.port(0));
    let only = format!("--controllers={CONTROLLER}");
    let flags = [only.as_str(), "--leader-elect=false"];
    let ours =
        FleetController::with(cluster, &fleet, &leading_to(cluster, Account::Taintward, door), &flags).await;

    let mark = fleet.record.mark();
    let dead = one_dies(&fleet);
    proxy.cut(true);
    let_time_pass(AWAY, "a pause longer than the grace period").await;
    proxy.cut(false);
    only_the_dead_one(&fleet, dead, mark).await;

    let mark = fleet.record.mark();
    let dead = one_dies(&fleet);
    proxy.lead_to(nowhere);
    proxy.break_off();
    let_time_pass(AWAY, "a pause longer than the grace period").await;
    proxy.lead_to(cluster.port(0));
    only_the_dead_one(&fleet, dead, mark).await;
    ours.stop();
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}

/// S7: the server pauses for longer than the grace period: no lease could be renewed, and no node may be blamed when it
/// resumes.
pub(crate) async fn a_paused_server_makes_no_node_silent(
    cluster: &mut Cluster,
    _: &Witness,
) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(NODES, 3, 0), RATE).await;
    let ours = FleetController::start(cluster, &fleet).await;
    let mark = fleet.record.mark();
    let dead = one_dies(&fleet);
    cluster.server(0).pause().unwrap();
    let_time_pass(AWAY, "a pause longer than the grace period").await;
    cluster.server(0).resume().unwrap();
    // Live nodes could not renew meanwhile, which is the point of this test and not a lateness of the generator.
    let late = RATE.renew + RATE.renew / 2;
    fleet.until("all to report again", BACK, |fleet| fleet.heartbeats.longest_wait() < late).await;
    fleet.heartbeats.lateness();
    only_the_dead_one(&fleet, dead, mark).await;
    ours.stop();
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}
