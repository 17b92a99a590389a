//! Defines the script of both controllers: what happens to nodes, and their states afterwards (NL-5 to NL-49).

use super::false_silence::READS_LIVE;
use super::fleet::Rate;
use super::rejection;
use super::side::{ControllerKind, LifecycleController};
use serde_json::json;
use std::time::Duration;
use taintward_envtest::fixtures::{delete_node, set_taints};
use taintward_envtest::heartbeats::{FakeNode, cordon, label, set_conditions};
use testkit::wait::let_time_pass;

pub(crate) const DEAD: [&str; 2] = ["unreachable:NoExecute", "unreachable:NoSchedule"];
pub(crate) const UNREADY: [&str; 2] = ["not-ready:NoExecute", "not-ready:NoSchedule"];
pub(crate) const SILENT: [&str; 1] = ["unreachable:NoSchedule"];
pub(crate) const WELL: [&str; 0] = [];
const PRESSED: [&str; 1] = ["memory-pressure:NoSchedule"];
const SHUT: [&str; 1] = ["unschedulable:NoSchedule"];
const ZONE: &str = "topology.kubernetes.io/zone";
const EXCLUDED: &str = "node.kubernetes.io/exclude-disruption";

/// Short, but long enough for renewals in time on a busy machine. The rate is not 1 (NL-41).
pub(crate) const RATE: Rate = Rate {
    monitor: Duration::from_secs(1),
    grace: Duration::from_secs(6),
    renew: Duration::from_secs(1),
    rate: 5.0,
};

/// Long enough for two rounds of kube-controller-manager's monitor.
const CALM: Duration = Duration::from_millis(2_200);

/// Zones a and b of six nodes, c of four, d of two.
pub(crate) fn plans() -> Vec<FakeNode> {
    let zones = [("a", 6), ("b", 6), ("c", 4), ("d", 2)];
    let nodes = zones.into_iter().flat_map(|(zone, count)| (0..count).map(move |number| (zone, number)));
    nodes
        .map(|(zone, number)| FakeNode { name: format!("{zone}{number}"), zone: zone.into(), images: 0 })
        .collect()
}

/// Runs the whole script.
pub(crate) async fn play(side: &mut LifecycleController<'_>) {
    side.begin("all nodes are ready");
    side.end(CALM).await;
    dies_and_returns(side).await;
    reports_conditions(side).await;
    is_cordoned_and_tainted(side).await;
    is_rejected(side).await;
    zones_die(side).await;
    odd_things(side).await;
    everything_dies(side).await;
    is_excluded(side).await;
    is_paused(side).await;
}

async fn dies_and_returns(side: &mut LifecycleController<'_>) {
    side.begin("a node dies");
    side.fleet.heartbeats.silence(["a0"]).unwrap();
    side.expect(["a0"], &DEAD);
    side.end(CALM).await;

    side.begin("it comes back");
    side.fleet.heartbeats.revive(&side.fleet.admin, ["a0"]).await.unwrap();
    side.expect(["a0"], &WELL);
    side.end(CALM).await;
}

async fn reports_conditions(side: &mut LifecycleController<'_>) {
    side.begin("a node says it is not ready");
    set_conditions(&side.fleet.admin, "a1", &[("Ready", "False")]).await.unwrap();
    side.expect(["a1"], &UNREADY);
    side.end(CALM).await;

    side.begin("it says it is ready");
    set_conditions(&side.fleet.admin, "a1", &[("Ready", "True")]).await.unwrap();
    side.expect(["a1"], &WELL);
    side.end(CALM).await;

    side.begin("its condition is Unknown while it renews its lease");
    set_conditions(&side.fleet.admin, "a1", &[("Ready", "Unknown")]).await.unwrap();
    // D12, NL-16: the condition alone is not silence.
    side.expect(["a1"], if side.controller == ControllerKind::Taintward { &SILENT } else { &DEAD });
    side.end(CALM).await;

    side.begin("it says it is ready after all");
    set_conditions(&side.fleet.admin, "a1", &[("Ready", "True")]).await.unwrap();
    side.expect(["a1"], &WELL);
    side.end(CALM).await;

    side.begin("another dies");
    side.fleet.heartbeats.silence(["a2"]).unwrap();
    side.expect(["a2"], &DEAD);
    side.end(CALM).await;

    side.begin("the dead one says it is not ready");
    side.fleet.heartbeats.renew(&side.fleet.admin, "a2").await.unwrap();
    side.fleet.heartbeats.resume(["a2"]).unwrap();
    set_conditions(&side.fleet.admin, "a2", &[("Ready", "False")]).await.unwrap();
    side.expect(["a2"], &UNREADY);
    side.end(CALM).await;

    side.begin("and then that it is ready");
    set_conditions(&side.fleet.admin, "a2", &[("Ready", "True")]).await.unwrap();
    side.expect(["a2"], &WELL);
    side.end(CALM).await;
    pressure(side).await;
}

async fn pressure(side: &mut LifecycleController<'_>) {
    const KINDS: [&str; 4] = ["MemoryPressure", "DiskPressure", "PIDPressure", "NetworkUnavailable"];
    side.begin("pressure of every kind");
    let conditions = KINDS.map(|kind| (kind, "True"));
    set_conditions(&side.fleet.admin, "a3", &conditions).await.unwrap();
    let own = ["disk", "memory", "pid"].map(|kind| format!("{kind}-pressure:NoSchedule"));
    let own: Vec<&str> = own.iter().map(String::as_str).chain(["network-unavailable:NoSchedule"]).collect();
    side.expect(["a3"], &own);
    side.end(CALM).await;

    side.begin("pressure is unknown, or gone");
    let conditions = [(KINDS[0], "Unknown"), (KINDS[1], "False"), (KINDS[2], "False"), (KINDS[3], "Unknown")];
    set_conditions(&side.fleet.admin, "a3", &conditions).await.unwrap();
    side.expect(["a3"], &WELL);
    side.end(CALM).await;
}

async fn is_cordoned_and_tainted(side: &mut LifecycleController<'_>) {
    side.begin("a node is cordoned");
    cordon(&side.fleet.admin, "a4", true).await.unwrap();
    side.expect(["a4"], &SHUT);
    side.end(CALM).await;

    side.begin("users add taints: one of their own, managed ones without reason, a managed one with a value");
    let own = |key: &str, effect: &str| json!({"key": format!("node.kubernetes.io/{key}"), "effect": effect});
    let foreign = json!({"key": "example.com/mine", "value": "v", "effect": "NoSchedule"});
    let taints = [foreign, own("unschedulable", "NoSchedule"), own("unreachable", "NoExecute")];
    set_taints(&side.fleet.admin, "a5", &taints).await.unwrap();
    let mut valued = own("unschedulable", "NoSchedule");
    valued["value"] = "maintenance".into();
    set_taints(&side.fleet.admin, "a4", &[valued]).await.unwrap();
    side.end(CALM).await;
    let (a4, a5) = (side.fleet.record.sight("a4").unwrap(), side.fleet.record.sight("a5").unwrap());
    assert_eq!(a5.foreign(), ["example.com/mine:NoSchedule"], "{:?}: S8, NL-6", side.controller);
    assert_eq!(a4.taints[0].value, "maintenance", "{:?}: NL-6: the reason holds", side.controller);

    side.begin("it is uncordoned");
    cordon(&side.fleet.admin, "a4", false).await.unwrap();
    side.expect(["a4"], &WELL);
    side.end(CALM).await;
}

async fn is_rejected(side: &mut LifecycleController<'_>) {
    side.begin("a taint is refused by the server for a while");
    rejection::begin(&side.fleet.admin, "c3").await;
    set_conditions(&side.fleet.admin, "c2", &[("MemoryPressure", "True")]).await.unwrap();
    let_time_pass(CALM, "the server rejects the taint for a while").await;
    rejection::end(&side.fleet.admin, "c3").await;
    // D12, NL-7: kube-controller-manager waits for the node's next heartbeat.
    side.expect(["c2"], if side.controller == ControllerKind::Taintward { &PRESSED } else { &WELL });
    side.end(CALM).await;

    side.begin("the node says it once more");
    set_conditions(&side.fleet.admin, "c2", &[("MemoryPressure", "True"), ("DiskPressure", "Unknown")])
        .await
        .unwrap();
    side.expect(["c2"], &PRESSED);
    side.end(CALM).await;

    side.begin("and reports that it is healthy");
    set_conditions(&side.fleet.admin, "c2", &[("MemoryPressure", "False"), ("DiskPressure", "False")])
        .await
        .unwrap();
    side.expect(["c2"], &WELL);
    side.end(CALM).await;
}

async fn zones_die(side: &mut LifecycleController<'_>) {
    let zone = side.fleet.heartbeats.zone("b");
    side.begin("half a zone dies");
    side.fleet.heartbeats.silence(&zone[..3]).unwrap();
    side.expect(&zone[..3], &DEAD);
    side.end(CALM).await;

    side.begin("more than the threshold of a small zone is dead");
    side.fleet.heartbeats.silence(&zone[3..4]).unwrap();
    side.expect(&zone[3..4], &SILENT);
    side.end(CALM).await;

    side.begin("the zone is dead");
    side.fleet.heartbeats.silence(&zone[4..]).unwrap();
    side.expect(&zone, &DEAD);
    side.end(CALM).await;

    side.begin("the controller is killed and started while nodes are dead");
    side.kill();
    side.launch().await;
    // Anything that a restart loses shows within a grace period.
    side.end(RATE.grace + 2 * CALM).await;

    side.begin("the zone comes back");
    side.fleet.heartbeats.revive(&side.fleet.admin, &zone).await.unwrap();
    side.expect(&zone, &WELL);
    side.end(CALM).await;
}

async fn odd_things(side: &mut LifecycleController<'_>) {
    side.begin("two nodes die");
    side.fleet.heartbeats.silence(["a0", "c0"]).unwrap();
    side.expect(["a0", "c0"], &DEAD);
    side.end(CALM).await;

    side.begin("a dead node and a live one move to another zone, another dead one is deleted");
    for node in ["a0", "a1"] {
        label(&side.fleet.admin, node, ZONE, Some("c")).await.unwrap();
    }
    delete_node(&side.fleet.admin, "c0").await.unwrap();
    side.expect_gone("c0");
    side.end(CALM).await;

    side.begin("they move back, the dead one returns, the deleted one registers again");
    side.fleet.heartbeats.create(&side.fleet.admin, "c0").await.unwrap();
    for node in ["a0", "a1"] {
        label(&side.fleet.admin, node, ZONE, Some("a")).await.unwrap();
    }
    side.fleet.heartbeats.revive(&side.fleet.admin, ["a0"]).await.unwrap();
    side.expect(["a0", "c0"], &WELL);
    side.end(CALM).await;

    side.begin("a node's clock steps back by an hour");
    side.fleet.heartbeats.set_clock("c1", -3600).unwrap();
    // D12, NL-10: its heartbeats count, whatever its clock.
    let received = side.controller == ControllerKind::Taintward || side.minor() >= READS_LIVE;
    side.expect(["c1"], if received { &WELL } else { &DEAD });
    side.end(RATE.grace + CALM).await;

    side.begin("and is right again");
    side.fleet.heartbeats.set_clock("c1", 0).unwrap();
    side.fleet.heartbeats.revive(&side.fleet.admin, ["c1"]).await.unwrap();
    side.expect(["c1"], &WELL);
    side.end(CALM).await;
}

async fn everything_dies(side: &mut LifecycleController<'_>) {
    let all = side.fleet.heartbeats.all();
    side.begin("a node dies before all others");
    side.fleet.heartbeats.silence(["b0"]).unwrap();
    side.expect(["b0"], &DEAD);
    side.end(CALM).await;

    side.begin("everything dies");
    side.fleet.heartbeats.silence(&all).unwrap();
    match side.controller {
        ControllerKind::Taintward => side.expect(&all, &SILENT),
        // D12, NL-47: a node that is tainted in the moment before all nodes are known to be down stays tainted.
        ControllerKind::Upstream => side.expect_any(&all, &[&SILENT, &DEAD]),
    }
    side.end(RATE.grace + CALM).await;

    side.begin("one node comes back");
    side.fleet.heartbeats.revive(&side.fleet.admin, ["a0"]).await.unwrap();
    side.expect(["a0"], &WELL);
    // Zone a is small and mostly dead: stopped. The others have no ready node: they are tainted at the usual rate
    // (NL-26).
    side.expect(all.iter().filter(|name| !name.starts_with('a')), &DEAD);
    if side.controller == ControllerKind::Taintward {
        side.expect(all.iter().filter(|name| name.starts_with('a') && *name != "a0"), &SILENT);
    }
    side.end(CALM).await;

    side.begin("all come back");
    side.fleet.heartbeats.revive(&side.fleet.admin, &all).await.unwrap();
    side.expect(&all, &WELL);
    side.end(CALM).await;
}

async fn is_excluded(side: &mut LifecycleController<'_>) {
    side.begin("a node dies in a zone whose nodes are all excluded from disruption");
    for node in ["d0", "d1"] {
        label(&side.fleet.admin, node, EXCLUDED, Some("")).await.unwrap();
    }
    side.fleet.heartbeats.silence(["d0"]).unwrap();
    side.expect(["d0"], &DEAD);
    side.end(RATE.grace + CALM).await;

    side.begin("it comes back from there");
    for node in ["d0", "d1"] {
        label(&side.fleet.admin, node, EXCLUDED, None).await.unwrap();
    }
    side.fleet.heartbeats.revive(&side.fleet.admin, ["d0"]).await.unwrap();
    side.expect(["d0"], &WELL);
    side.end(CALM).await;
}

async fn is_paused(side: &mut LifecycleController<'_>) {
    side.begin("the controller stands still for longer than the grace period, and all nodes live");
    if side.controller == ControllerKind::Upstream {
        // D12, S7: it takes what it has not read yet for silence.
        let all = side.fleet.heartbeats.all();
        side.expect_any(&all, &[&WELL, &SILENT, &DEAD]);
    }
    side.pause();
    let_time_pass(RATE.grace + CALM, "a pause longer than the grace period").await;
    side.resume();
    side.end(RATE.grace + CALM).await;
}
