//! Tests a cluster in which all nodes fall silent and come back (NL-27, NL-28, NL-47, NL-48).

use super::assertions::{GRACE, UNREACHABLE, both, flagged};
use crate::harness::{LATE, SandboxHarness, after, sleep};
use serde_json::json;
use taintward_core::node_lifecycle::NodeLifecycleFlags;
use taintward_core::taint::keys;
use testkit::toleration;

/// NL-27, NL-47: all nodes fall silent at the same time. Their conditions say so, new pods are kept off, and no pod is
/// evicted. After their return there is no trace of it; a node that stays dead has a full grace period from then on.
#[tokio::test(start_paused = true)]
async fn everything_at_once() {
    let harness = SandboxHarness::lively(4, 2);
    let pod = harness.create_pod("p", "n1", &[toleration(keys::UNREACHABLE, Some(0))]);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1", "n2", "n3", "n4"]);
    sleep(1_000.0).await;
    for node in ["n1", "n2", "n3", "n4"] {
        harness.bore(node, "unreachable:NoSchedule", &[after(harness.last_word(node), GRACE)]);
    }
    harness.only(&[]);
    harness.stays(&pod);
    let back = harness.now();
    harness.recover(&["n2", "n3", "n4"]);
    sleep(200.0).await;
    harness.bore("n1", UNREACHABLE, &[after(back, GRACE)]);
    harness.only(&["n1"]);
    harness.went(&pod, after(back, GRACE), LATE);
}

/// NL-27, NL-48: one node is dead already, and its pods count down, when the others fall silent, too. Its taint is
/// removed as soon as that is certain, and a countdown that would have ended in between does not end.
#[tokio::test(start_paused = true)]
async fn the_taints_that_are_there_go() {
    let harness = SandboxHarness::lively(4, 2);
    // It would be due while the others are silent, but before their conditions are set.
    let held = harness.create_pod("held", "n1", &[toleration(keys::UNREACHABLE, Some(140))]);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1"]);
    sleep(150.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    harness.silence(&["n2", "n3", "n4"]);
    sleep(600.0).await;
    let all = after(harness.last_word("n4"), GRACE);
    assert!(after(dead, 140.0) > after(harness.last_word("n4"), GRACE / 2.0) && after(dead, 140.0) < all);
    harness.bore_within("n1", UNREACHABLE, &[dead, all], 2.0 * LATE);
    harness.only(&["n1"]);
    harness.stays(&held);
    let back = harness.now();
    harness.recover(&["n2", "n3", "n4"]);
    sleep(100.0).await;
    harness.bore_within("n1", UNREACHABLE, &[dead, all, after(back, GRACE)], 2.0 * LATE);
    harness.stays(&held);
    sleep(200.0).await;
    harness.went(&held, after(back, GRACE + 140.0), 0.2);
}

/// NL-48: no heartbeat arrives for a while that is too short to declare any node silent. A countdown is on hold for
/// that long, and then continues.
#[tokio::test(start_paused = true)]
async fn a_hush_holds_countdowns() {
    for (hold_countdowns, held) in [(true, true), (false, false)] {
        let harness = SandboxHarness::still(3, 1);
        let hearts = ["n2", "n3"].map(|node| harness.heart(node));
        let first = harness.heart("n1");
        let pod = harness.create_pod("p", "n1", &[toleration(keys::UNREACHABLE, Some(100))]);
        let _controller = harness
            .watched(flagged(NodeLifecycleFlags { hold_countdowns, ..NodeLifecycleFlags::default() }))
            .await;
        drop(first);
        let dead = after(harness.last_word("n1"), GRACE);
        sleep(dead.duration_since(harness.now()).as_secs_f64() + 60.0).await;
        drop(hearts);
        let hushed = after(harness.last_word("n3"), GRACE / 2.0);
        sleep(40.0).await;
        let (_hearts, received) = (["n2", "n3"].map(|node| harness.heart(node)), harness.now());
        sleep(300.0).await;
        let stood = if held { received.duration_since(hushed).as_secs_f64() } else { 0.0 };
        harness.went(&pod, after(dead, 100.0 + stood), 0.2);
        harness.bore("n1", UNREACHABLE, &[dead]);
        harness.only(&["n1"]);
    }
}

/// NL-28: a cluster of one node is down as a whole when that node is.
#[tokio::test(start_paused = true)]
async fn a_single_node() {
    let harness = SandboxHarness::lively(1, 1);
    let pod = harness.create_pod("p", "n1", &[]);
    let _controller = harness.watched(both()).await;
    harness.silence(&["n1"]);
    sleep(1_000.0).await;
    let dead = after(harness.last_word("n1"), GRACE);
    harness.bore("n1", "unreachable:NoSchedule", &[dead]);
    let back = harness.now();
    harness.recover(&["n1"]);
    sleep(1_000.0).await;
    harness.bore("n1", "unreachable:NoSchedule", &[dead, back]);
    harness.only(&[]);
    harness.stays(&pod);
    assert!(harness.is_ready(&pod));
}

/// A node that alternates between a minute of silence and a minute of heartbeats is tainted and recovers each time.
#[tokio::test(start_paused = true)]
async fn a_node_that_flaps() {
    let harness = SandboxHarness::lively(4, 1);
    let pod = harness.create_pod("p", "n1", &[]);
    let _controller = harness.watched(both()).await;
    harness.annotate("n1", json!("flap"));
    sleep(1_200.0).await;
    let turns = harness.turns_of("n1", UNREACHABLE);
    assert!(turns.len() >= 18, "{turns:?}");
    for pair in turns.chunks_exact(2) {
        let length = pair[1].duration_since(pair[0]).as_secs_f64();
        assert!((5.0..=20.5).contains(&length), "{turns:?}");
    }
    assert_eq!(turns, harness.turns_of("n1", "unreachable:NoSchedule"));
    harness.only(&["n1"]);
    harness.stays(&pod);
}
