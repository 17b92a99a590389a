//! Tests outages of the API server, of the lease watch, and of writes (S7, P16, P31, P37, L4).
//!
//! - No live node is tainted, and every dead one is, at most a grace period later.

use super::assertions::{GRACE, TURN, UNREACHABLE, both};
use crate::harness::{LATE, SandboxHarness, after, sleep};
use fakekube::fault::InjectedFault;
use taintward_core::taint::keys;
use testkit::toleration;

/// Pauses between retries are 30 s at most, and jittered; a silent stream, or a request without a response, is detected
/// within 75 s (L4).
const RECOVERY_MAX: f64 = 40.0;
const SILENCE_MAX: f64 = 75.0 + 30.0;

const OUTAGES: [InjectedFault; 6] = [
    InjectedFault::LostBefore,
    InjectedFault::BlackHole,
    InjectedFault::Unavailable,
    InjectedFault::Timeout,
    InjectedFault::TooMany,
    InjectedFault::Forbidden,
];

fn recovery(fault: InjectedFault) -> f64 {
    if fault == InjectedFault::BlackHole { SILENCE_MAX } else { RECOVERY_MAX }
}

/// S7, P37: the server is away for ten minutes. Some nodes were dead before, one dies meanwhile, one comes back
/// meanwhile.
#[tokio::test(start_paused = true)]
async fn the_server_is_away() {
    for fault in OUTAGES {
        let harness = SandboxHarness::lively(8, 1);
        let pod = harness.create_pod("p", "n1", &[toleration(keys::UNREACHABLE, Some(1_200))]);
        let returns = harness.create_pod("returns", "n2", &[]);
        let _controller = harness.watched(both()).await;
        harness.silence(&["n1", "n2"]);
        sleep(100.0).await;
        let dead = ["n1", "n2"].map(|node| harness.turns_of(node, UNREACHABLE)[0]);
        harness.outage(Some(fault));
        sleep(100.0).await;
        harness.recover(&["n2"]);
        harness.silence(&["n3"]);
        sleep(500.0).await;
        harness.only(&["n1", "n2"]);
        harness.outage(None);
        let (back, recovery) = (harness.now(), recovery(fault));
        sleep(recovery + GRACE + TURN + 1.0).await;
        harness.bore("n1", UNREACHABLE, &[dead[0]]);
        harness.bore_within("n2", UNREACHABLE, &[dead[1], back], recovery + 600.0);
        let lifted = harness.turns_of("n2", UNREACHABLE)[1];
        assert!(lifted >= back && lifted <= after(back, recovery), "{fault:?}: L7: {lifted}, back at {back}");
        let [found] = harness.turns_of("n3", UNREACHABLE)[..] else { panic!("{fault:?}: n3 is dead") };
        assert!(found >= after(back, GRACE), "{fault:?}: S7: {found}, back at {back}");
        assert!(found <= after(back, recovery + GRACE + 1.0), "{fault:?}: {found}, back at {back}");
        harness.only(&["n1", "n2", "n3"]);
        sleep(600.0).await;
        // NL-48: while no heartbeat arrived, its countdown was on hold.
        let held = 600.0 - GRACE / 2.0 - 10.0;
        sleep(500.0).await;
        harness.went(&pod, after(dead[0], 1_200.0 + held), recovery + 10.0);
        harness.stays(&returns);
        harness.only(&["n1", "n2", "n3"]);
    }
}

/// S7: all nodes are alive all the time: whatever the outage, no node is tainted for it.
#[tokio::test(start_paused = true)]
async fn an_outage_alone_taints_no_node() {
    for fault in OUTAGES {
        let harness = SandboxHarness::lively(5, 2);
        let _controller = harness.watched(both()).await;
        for length in [5.0, 13.0, 26.0, 49.0, 51.0, 76.0, 600.0] {
            let before: Vec<usize> = harness.names().iter().map(|node| harness.writes_to(node)).collect();
            harness.outage(Some(fault));
            sleep(length).await;
            harness.outage(None);
            sleep(recovery(fault) + 2.0 * GRACE).await;
            let after: Vec<usize> = harness.names().iter().map(|node| harness.writes_to(node)).collect();
            assert_eq!(before, after, "{fault:?} for {length} s");
        }
        harness.only(&[]);
    }
}

/// P16, L4: only the stream of leases falls silent, breaks, or is rejected, for ten minutes. The live read shows which
/// nodes are alive, and none is tainted; a node that dies meanwhile is tainted at the latest when leases arrive again.
#[tokio::test(start_paused = true)]
async fn only_the_lease_stream_is_away() {
    for fault in OUTAGES {
        let harness = SandboxHarness::lively(6, 1);
        let _controller = harness.watched(both()).await;
        harness.heartbeat_faults.outage(Some(fault));
        sleep(200.0).await;
        harness.silence(&["n1"]);
        sleep(400.0).await;
        harness.only(&["n1"]);
        for node in ["n2", "n3", "n4", "n5", "n6"] {
            assert!(
                harness.message(node, "Ready").is_empty(),
                "{fault:?}: {node} {:?}",
                harness.message(node, "Ready")
            );
        }
        harness.heartbeat_faults.outage(None);
        let back = harness.now();
        sleep(recovery(fault) + GRACE + TURN + 1.0).await;
        let [found] = harness.turns_of("n1", UNREACHABLE)[..] else { panic!("{fault:?}: n1 is dead") };
        assert!(found >= after(harness.last_word("n1"), GRACE), "{fault:?}: {found}");
        assert!(found <= after(back, recovery(fault) + GRACE + 1.0), "{fault:?}: {found}, back at {back}");
        harness.only(&["n1"]);
        for node in ["n2", "n3", "n4", "n5", "n6"] {
            assert!(
                harness.message(node, "Ready").is_empty(),
                "{fault:?}: {node} {:?}",
                harness.message(node, "Ready")
            );
        }
    }
}

/// NL-7, P31: writes alone are rejected, or get no response, for ten minutes. Pending writes follow soon after; a node
/// that came back meanwhile gets no taint, and missing responses do no harm.
#[tokio::test(start_paused = true)]
async fn only_writes_are_refused() {
    for fault in [InjectedFault::LostAfter, InjectedFault::Conflict, InjectedFault::Internal]
        .into_iter()
        .chain(OUTAGES)
    {
        let harness = SandboxHarness::lively(8, 1);
        let _controller = harness.watched(both()).await;
        harness.write_faults.outage(Some(fault));
        harness.silence(&["n1", "n2", "n3"]);
        harness.change_node("n4", |node| node["spec"]["unschedulable"] = true.into());
        let cordoned = harness.now();
        sleep(300.0).await;
        harness.recover(&["n2"]);
        sleep(300.0).await;
        let back = harness.now();
        harness.write_faults.outage(None);
        sleep(RECOVERY_MAX + 3.0 * TURN).await;
        let late = if fault == InjectedFault::LostAfter { 600.0 + RECOVERY_MAX } else { RECOVERY_MAX };
        let begin = |moment| if fault == InjectedFault::LostAfter { moment } else { back };
        let dead = after(harness.last_word("n1"), GRACE);
        harness.bore_within("n1", "unreachable:NoSchedule", &[begin(dead)], late);
        harness.bore_within("n4", "unschedulable:NoSchedule", &[begin(cordoned)], late);
        for node in ["n1", "n3"] {
            let turns = harness.turns_of(node, UNREACHABLE);
            assert!(turns.len() == 1 && turns[0] >= begin(dead), "{fault:?}: {node} {turns:?}");
        }
        let [one, other] = ["n1", "n3"].map(|node| harness.turns_of(node, UNREACHABLE)[0]);
        let apart = one.duration_since(other).as_secs_f64().abs();
        assert!(apart >= TURN - LATE, "S6, {fault:?}: {one} {other}");
        let n2 = harness.turns_of("n2", UNREACHABLE);
        assert!(n2.is_empty() || fault == InjectedFault::LostAfter && n2.len() == 2, "{fault:?}: {n2:?}");
        harness.only(&["n1", "n2", "n3"]);
    }
}
