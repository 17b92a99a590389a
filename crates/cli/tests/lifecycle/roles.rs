//! Tests a killed leader and an observer (L8, S6, S14).

use super::fleet::RealFleet;
use super::reported::RATE;
use super::side::CONTROLLER;
use crate::real::accounts;
use crate::real::harness::{AuditExceptions, seconds};
use crate::real::program::Taintward;
use crate::real::witness::Witness;
use jiff::Timestamp;
use serde_json::json;
use std::collections::BTreeSet;
use std::time::Duration;
use taintward_envtest::audit::AuditEntry;
use taintward_envtest::heartbeats::plans;
use taintward_envtest::{Account, Cluster, access, wait};
use testkit::wait::let_time_pass;

const STARTUP_TIMEOUT: Duration = Duration::from_secs(20);

/// Short timings, for a quick takeover.
const QUICK: [&str; 3] = [
    "--leader-elect-lease-duration=5s",
    "--leader-elect-renew-deadline=4s",
    "--leader-elect-retry-period=1s",
];

fn flags(more: &[&str]) -> Vec<String> {
    let mut flags = RATE.flags();
    flags.push(format!("--controllers={CONTROLLER}"));
    flags.extend(more.iter().map(|&flag| flag.to_owned()));
    flags
}

/// L8, NL-40: the leader dies together with a node. The next leader observed the silence itself, taints in time, and
/// keeps the taints of nodes that were dead before. Both may do exactly what deploy/ grants (NL-60).
pub(crate) async fn a_follower_takes_over(cluster: &mut Cluster, _: &Witness) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(20, 2, 0), RATE).await;
    access::grant_node_lifecycle(&fleet.admin).await.unwrap();
    let flags = flags(&QUICK);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut leader = Taintward::acting(cluster, &flags).await;
    let mut follower = Taintward::start(cluster, &cluster.kubeconfig(Account::Taintward, 0), &flags);
    follower.ready().await;
    assert!(!follower.is_leading());
    let_time_pass(RATE.grace, "the follower observes for a whole grace period").await;
    let (first, second) = (["node-00004".to_owned()], ["node-00005".to_owned()]);
    fleet.silence(&first);
    fleet
        .until("the first to be tainted", STARTUP_TIMEOUT, |fleet| fleet.evicting().contains(&first[0]))
        .await;
    let mark = fleet.record.mark();
    leader.kill();
    fleet.silence(&second);
    let silent = Timestamp::now();
    follower.leads().await;
    let leads = Timestamp::now();
    let both: BTreeSet<String> = first.iter().chain(&second).cloned().collect();
    let tainted =
        fleet.until("the second to be tainted", STARTUP_TIMEOUT, |fleet| fleet.evicting() == both).await;
    let due = leads.max(silent + seconds(RATE.grace.as_secs_f64()));
    assert!(tainted <= due + seconds(2.5), "L8: due at {due}, tainted at {tainted}");
    assert!(fleet.record.since(mark).iter().all(|change| change.node == second[0]), "NL-40");
    fleet.expect_punctual();
    fleet.story.check(&fleet.record, mark, RATE, &[]);
    assert_eq!(follower.stop().code(), Some(0));
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}

/// S14: with permission to read only, it reports which nodes it would have tainted, and never writes.
pub(crate) async fn observing_writes_nothing(cluster: &mut Cluster, witness: &Witness) -> AuditExceptions {
    let fleet = RealFleet::start(cluster, plans(6, 2, 0), RATE).await;
    let rules = json!([
        {"apiGroups": [""], "resources": ["nodes", "pods"], "verbs": ["get", "list", "watch"]},
        {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get", "list", "watch"]},
    ]);
    let observer = accounts::account(cluster, "health-observer", rules).await;
    let flags = flags(&["--mode=observe"]);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let mut taintward = Taintward::start(cluster, &observer.kubeconfig, &flags);
    taintward.ready().await;
    fleet.silence(&["node-00002"]);
    let counted = async || Ok((taintward.metric("taintward_would_taint_total") == 1.0).then_some(()));
    wait::until("taintward_would_taint_total to be 1", STARTUP_TIMEOUT, counted).await.unwrap();
    let message = taintward.message("would taint node now");
    assert!(message.iter().any(|record| record["node"] == "node-00002"), "{message:?}");
    let_time_pass(2 * RATE.monitor, "a write or a repeated count would come in two rounds of its monitor")
        .await;
    assert_eq!(taintward.metric("taintward_would_taint_total"), 1.0, "once");
    fleet.expect_punctual();
    assert!(fleet.record.those(|sight| !sight.own().is_empty()).is_empty(), "no controller writes");
    assert_eq!(taintward.stop().code(), Some(0));
    let requested = witness.all(|entry| entry.user == observer.user);
    assert!(requested.iter().any(|entry| entry.verb == "watch" && entry.resource == "leases"));
    let bad = |entry: &&AuditEntry| entry.is_write() || (entry.code >= 400 && !entry.is_rejected_stream());
    let bad: Vec<_> = requested.iter().filter(bad).collect();
    assert!(bad.is_empty(), "S14: {bad:?}");
    fleet.end().await;
    AuditExceptions { stamps: true, ..AuditExceptions::default() }
}
