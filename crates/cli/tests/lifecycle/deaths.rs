//! Tests a fleet of which some nodes, a zone, or all fall silent (NL-12, NL-15, NL-22 to NL-27, S6, S7, L7).
//!
//! - The controller is killed in every phase.

use super::fleet::{Rate, RealFleet};
use super::fleet_controller::{FleetController, size};
use super::story::{check_rate, tainted_at};
use crate::real::harness::{AuditExceptions, seconds};
use crate::real::witness::Witness;
use jiff::Timestamp;
use std::collections::BTreeSet;
use std::time::Duration;
use taintward_envtest::Cluster;
use taintward_envtest::heartbeats::plans;
use taintward_envtest::node_history::HistoryPosition;
use testkit::wait::let_time_pass;

const RATE: Rate = Rate {
    monitor: Duration::from_secs(1),
    grace: Duration::from_secs(10),
    renew: Duration::from_secs(3),
    rate: 20.0,
};

/// The goal from death to taint, after the grace period; the rest is for a busy machine.
const LATE_MAX: Duration = Duration::from_millis(2_500);

fn names(nodes: &[String]) -> BTreeSet<String> {
    nodes.iter().cloned().collect()
}

/// The time of one taint on a busy machine. A zone's nodes are tainted one after the other, each after live reads, so
/// that a high rate is not always reached.
const EACH_MAX: Duration = Duration::from_millis(250);

/// The time after their silencing within which `count` nodes of one zone must be tainted.
fn within(rate: Rate, count: usize) -> Duration {
    let each = EACH_MAX.max(Duration::from_secs_f64(1.0 / rate.rate));
    rate.grace + LATE_MAX + each.mul_f64(count as f64)
}

/// The time to remove the taints of this many nodes: one write each, all concurrently.
fn lifting(count: usize) -> Duration {
    Duration::from_secs(5) + LIFT_MAX.mul_f64(count as f64)
}

/// The time of one write, and its share of the watch, on a busy machine.
const LIFT_MAX: Duration = Duration::from_millis(40);

/// S7, S6, L7: exactly the dead nodes are tainted, in time, at the rate; while all nodes are down none is; all come
/// back.
pub(crate) async fn exactly_the_dead_are_tainted(cluster: &mut Cluster, _: &Witness) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(size(), 5, 0), RATE).await;
    let start = fleet.record.mark();
    let ours = FleetController::start(cluster, &fleet).await;
    some_die(&fleet).await;
    a_zone_dies(&fleet).await;
    let lifted = all_die(&fleet).await;
    fleet.expect_punctual();
    let all = fleet.heartbeats.all();
    fleet.revive(&all).await;
    fleet
        .until("L7: all taints to be gone", lifting(all.len()), |fleet| {
            fleet.record.those(|sight| !sight.own().is_empty()).is_empty()
        })
        .await;
    fleet.expect_punctual();
    fleet.story.check(&fleet.record, start, RATE, &[lifted]);
    ours.stop();
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}

async fn some_die(fleet: &RealFleet) {
    let all = fleet.heartbeats.all();
    let dead: Vec<String> = all.iter().step_by(all.len() / 7).cloned().collect();
    fleet.silence(&dead);
    fleet
        .until("some to be tainted", within(RATE, dead.len()), |fleet| fleet.evicting() == names(&dead))
        .await;
    fleet.expect_punctual();
}

async fn a_zone_dies(fleet: &RealFleet) {
    let mark = fleet.record.mark();
    let zone = fleet.heartbeats.zone("zone-1");
    fleet.silence(&zone);
    let dead: BTreeSet<String> = names(&zone).union(&fleet.evicting()).cloned().collect();
    fleet.until("the zone to be tainted", within(RATE, zone.len()), |fleet| fleet.evicting() == dead).await;
    let tainted = tainted_at(&fleet.record, mark);
    check_rate(&tainted, RATE.rate);
    fleet.expect_punctual();
}

/// Returns when all nodes were down.
async fn all_die(fleet: &RealFleet) -> (Timestamp, Timestamp) {
    let (mark, began) = (fleet.record.mark(), Timestamp::now());
    fleet.silence(&fleet.heartbeats.alive());
    let unknown = |fleet: &RealFleet| fleet.record.those(|sight| sight.ready() != "Unknown").is_empty();
    fleet.until("all to be Unknown", RATE.grace + Duration::from_secs(20), unknown).await;
    fleet
        .until("NL-27: no NoExecute taint", Duration::from_secs(20), |fleet| fleet.evicting().is_empty())
        .await;
    let_time_pass(RATE.grace, "no node may be tainted while all zones are down").await;
    assert_eq!(tainted_at(&fleet.record, mark), [], "NL-27: all zones are down");
    (began, Timestamp::now())
}

/// Slow enough to be killed in between: one node of a zone in two seconds.
const SLOW: Rate = Rate { rate: 0.5, ..RATE };

/// S4, S6, S7, NL-40: `kill -9` before the grace period ends, between declaration and taint, with taints on, and during
/// their removal. No dead node loses its taint, no live one is tainted, and the rate holds throughout.
pub(crate) async fn kill_9_in_every_phase(cluster: &mut Cluster, _: &Witness) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(size(), 5, 0), SLOW).await;
    let mark = fleet.record.mark();
    let mut ours = FleetController::start(cluster, &fleet).await;
    let dead: Vec<String> = fleet.heartbeats.zone("zone-2").into_iter().take(5).collect();

    fleet.silence(&dead);
    let_time_pass(SLOW.grace / 2, "killed in the middle of the grace period").await;
    let killed = ours.kill();
    assert!(fleet.evicting().is_empty(), "before the grace period ends");
    ours.launch(cluster).await;
    let some = within(SLOW, 1) + SLOW.renew + Duration::from_secs(3);
    let first = fleet.until("the first to be tainted", some, |fleet| !fleet.evicting().is_empty()).await;
    assert!(first >= killed + seconds(SLOW.grace.as_secs_f64()), "S7: it observed for a whole grace period");

    let declared = fleet.record.those(|sight| sight.ready() == "Unknown");
    assert!(fleet.evicting().len() < dead.len(), "the others wait for their turn: {declared:?}");
    ours.kill();
    ours.launch(cluster).await;
    let all = within(SLOW, dead.len()) + Duration::from_secs(5);
    fleet.until("the others to be tainted", all, |fleet| fleet.evicting() == names(&dead)).await;
    check_rate(&tainted_at(&fleet.record, mark), SLOW.rate);

    with_taints_on(cluster, &fleet, &mut ours).await;
    at_recovery(cluster, &fleet, &mut ours, &dead).await;
    fleet.expect_punctual();
    fleet.story.check(&fleet.record, mark, SLOW, &[]);
    ours.stop();
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}

/// NL-40: a restart changes nothing.
async fn with_taints_on(cluster: &Cluster, fleet: &RealFleet, ours: &mut FleetController) {
    let mark: HistoryPosition = fleet.record.mark();
    ours.kill();
    ours.launch(cluster).await;
    let_time_pass(SLOW.grace + Duration::from_secs(3), "the restart may change nothing").await;
    let changes = fleet.record.since(mark);
    assert!(changes.is_empty(), "nothing happened, and yet: {changes:?}");
}

/// L3, L7: killed after the first taint is removed; the next process removes the others.
async fn at_recovery(cluster: &Cluster, fleet: &RealFleet, ours: &mut FleetController, dead: &[String]) {
    fleet.revive(dead).await;
    let some_off = |fleet: &RealFleet| fleet.evicting().len() < dead.len();
    fleet.until("the first taint to be off", Duration::from_secs(5), some_off).await;
    ours.kill();
    ours.launch(cluster).await;
    let none = |fleet: &RealFleet| fleet.record.those(|sight| !sight.own().is_empty()).is_empty();
    fleet.until("L7: all taints to be off", Duration::from_secs(5), none).await;
}
