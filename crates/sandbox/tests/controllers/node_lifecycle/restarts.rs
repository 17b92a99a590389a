//! Tests controllers that are killed or suspended while nodes fall silent (NL-40, S6, S7, P36, P37).

use super::assertions::{GRACE, TURN, UNREACHABLE, both};
use crate::harness::{LATE, SandboxHarness, after, sleep};
use jiff::Timestamp;

/// How long a new controller needs to list everything.
const START: f64 = 1.0;

/// When these nodes were tainted, in order; each once.
fn tainted(harness: &SandboxHarness, nodes: &[&str]) -> Vec<Timestamp> {
    let mut all: Vec<Timestamp> = nodes.iter().flat_map(|node| harness.turns_of(node, UNREACHABLE)).collect();
    all.sort_unstable();
    all
}

/// NL-40, S6, S7: the controller is killed at any time: before a node is declared silent, between that and the taint,
/// and after the taint. Its successor removes no taint, taints no live node, keeps the rate, and taints all dead nodes.
#[tokio::test(start_paused = true)]
async fn killed_in_each_phase() {
    for phase in [-45.0, -20.0, -0.01, 0.0, 0.001, 0.002, 0.5, 5.0, TURN - 0.01, TURN, TURN + 0.5, 100.0] {
        let harness = SandboxHarness::lively(6, 1);
        let pod = harness.create_pod("p", "n1", &[]);
        let first = harness.watched(both()).await;
        let dying = ["n1", "n2"];
        harness.silence(&dying);
        let dead = after(harness.last_word("n1"), GRACE);
        sleep(dead.duration_since(harness.now()).as_secs_f64() + phase).await;
        first.kill().await;
        let before = tainted(&harness, &dying).len();
        sleep(3.0).await;
        let began = harness.now();
        let _second = harness.controller(both()).await;
        sleep(200.0).await;
        let all = tainted(&harness, &dying);
        assert_eq!(all.len(), 2, "{phase}: each once, and none removed: {all:?}");
        assert!(all[0] >= dead && all[1] >= after(all[0], TURN), "{phase}: {all:?}, dead at {dead}");
        if before < 2 {
            let again = all[before];
            let (due, late) = (after(began, GRACE), START + LATE);
            assert!(again >= due && again <= after(due, late), "{phase}: {again}, not {due}");
        }
        harness.only(&dying);
        // The countdown counts from the taint, regardless of its writer.
        let own = harness.turns_of("n1", UNREACHABLE)[0];
        sleep(200.0).await;
        harness.went(&pod, after(own, 300.0), 1.0 + LATE);
        harness.only(&dying);
    }
}

/// NL-40: the controller is killed while a node comes back, a moment before and after a heartbeat arrives. Its taints
/// are removed when a controller runs again, and not before the node has reported ready.
#[tokio::test(start_paused = true)]
async fn killed_during_recovery() {
    for (phase, kill_first) in [(0.0, true), (0.0, false), (0.001, false), (0.002, false), (0.01, false)] {
        let harness = SandboxHarness::lively(4, 1);
        let pod = harness.create_pod("p", "n1", &[]);
        let first = harness.watched(both()).await;
        harness.silence(&["n1"]);
        sleep(200.0).await;
        let dead = after(harness.last_word("n1"), GRACE);
        let back = harness.now();
        if kill_first {
            first.kill().await;
            sleep(5.0).await;
            harness.bore("n1", UNREACHABLE, &[dead]);
            let _second = harness.controller(both()).await;
            sleep(30.0).await;
            harness.bore("n1", UNREACHABLE, &[dead]);
            harness.recover(&["n1"]);
            sleep(60.0).await;
            harness.bore_within("n1", UNREACHABLE, &[dead, after(back, 36.0)], LATE);
            continue;
        }
        harness.recover(&["n1"]);
        sleep(phase).await;
        first.kill().await;
        sleep(2.0).await;
        let _second = harness.controller(both()).await;
        sleep(60.0).await;
        harness.bore_within("n1", UNREACHABLE, &[dead, back], 2.0 + START);
        harness.bore_within("n1", "unreachable:NoSchedule", &[dead, back], 2.0 + START);
        harness.only(&["n1"]);
        sleep(300.0).await;
        harness.stays(&pod);
        assert!(harness.is_ready(&pod));
    }
}

/// S6, P36: six nodes die together, and the controller keeps crashing. The rate is never exceeded, no taint is removed,
/// and all six are tainted in the end. A crash loop with a period below the grace period taints no node.
#[tokio::test(start_paused = true)]
async fn a_crash_loop_keeps_the_rate() {
    let dying = ["n1", "n2", "n3", "n4", "n5", "n6"];
    for (life, lives, most) in [(40.0, 20, 0), (72.0, 6, 6), (50.5, 12, 6)] {
        let harness = SandboxHarness::lively(14, 1);
        let mut controller = harness.controller(both()).await;
        harness.silence(&dying);
        let dead = after(harness.last_word("n1"), GRACE);
        for _ in 0..lives {
            sleep(life).await;
            controller.kill().await;
            controller = harness.controller(both()).await;
        }
        let all = tainted(&harness, &dying);
        assert!(all.len() == most, "{life}: {all:?}");
        let kept = all.windows(2).all(|pair| pair[1] >= after(pair[0], TURN));
        assert!(kept && all.first().is_none_or(|first| *first >= dead), "S6, {life}: {all:?}");
        harness.only(&dying);
        sleep(200.0).await;
        let all = tainted(&harness, &dying);
        assert!(
            all.len() == 6 && all.windows(2).all(|pair| pair[1] >= after(pair[0], TURN)),
            "{life}: {all:?}"
        );
    }
}

/// S7, P37: the controller is suspended for ten minutes, in each phase. Live nodes are not declared silent for that;
/// dead ones are, a full grace period after it resumed, or keep their taint.
#[tokio::test(start_paused = true)]
async fn a_suspended_controller_taints_no_live_node() {
    for phase in [-200.0, -30.0, -0.01, 0.0, 0.5, 5.0, TURN + 1.0] {
        let harness = SandboxHarness::still(6, 1);
        let _hearts = ["n3", "n4", "n5", "n6"].map(|node| harness.heart(node));
        let (one, other) = (harness.heart("n1"), harness.heart("n2"));
        let _controller = harness.watched(both()).await;
        if phase > -100.0 {
            drop((one, other));
        }
        let dead = after(harness.last_word("n1"), GRACE);
        sleep((dead.duration_since(harness.now()).as_secs_f64() + phase).max(0.0)).await;
        let before = tainted(&harness, &["n1", "n2"]).len();
        // Heartbeats are suspended with it, so there is nothing new to observe first.
        harness.slumber(600.0);
        let woke = harness.now();
        sleep(200.0).await;
        let all = tainted(&harness, &["n1", "n2"]);
        match phase {
            well if well < -100.0 => assert!(all.is_empty(), "{all:?}"),
            _ => assert!(all.len() == 2, "{phase}: {all:?}"),
        }
        for at in all.iter().skip(before) {
            assert!(*at >= after(woke, GRACE), "{phase}: {all:?}; it woke at {woke}");
            assert!(*at <= after(woke, GRACE + TURN + 1.0), "{phase}: {all:?}; it woke at {woke}");
        }
        harness.only(&["n1", "n2"]);
    }
}
