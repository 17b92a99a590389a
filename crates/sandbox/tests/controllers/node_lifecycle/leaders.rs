//! Tests leaders that crash, hand over or lose their lease while nodes fall silent (S5, S6, L8, P34).

use super::assertions::{GRACE, TURN, UNREACHABLE, WATCHED, elected};
use crate::harness::{LATE, SandboxHarness, after, sleep};
use fakekube::fault::InjectedFault;
use jiff::Timestamp;

/// L8: a lease of 15 s, and a follower that retries about every 2 s.
const TAKEOVER_MAX: f64 = 20.0;

fn tainted(harness: &SandboxHarness, nodes: &[&str]) -> Vec<Timestamp> {
    let mut all: Vec<Timestamp> = nodes.iter().flat_map(|node| harness.turns_of(node, UNREACHABLE)).collect();
    all.sort_unstable();
    all
}

/// NL-40, S6, P34: the leader dies, or hands over, in each phase. The follower has observed the same events, so no node
/// waits for another grace period. No taint is removed, no live node is tainted, and the rate is kept.
#[tokio::test(start_paused = true)]
async fn a_leader_goes_in_each_phase() {
    for (phase, dies) in [-45.0, -10.0, -0.01, 0.0, 0.001, 0.5, 5.0, TURN, TURN + 0.5, 60.0]
        .into_iter()
        .flat_map(|phase| [(phase, true), (phase, false)])
    {
        let harness = SandboxHarness::lively(6, 1);
        let leader = harness.controller(elected(1)).await;
        let _follower = harness.watched(elected(2)).await;
        let dying = ["n1", "n2"];
        harness.silence(&dying);
        let dead = after(harness.last_word("n1"), GRACE);
        sleep(dead.duration_since(harness.now()).as_secs_f64() + phase).await;
        match dies {
            true => leader.kill().await,
            false => leader.stop().await,
        }
        let (gone, before) = (harness.now(), tainted(&harness, &dying).len());
        sleep(200.0).await;
        let all = tainted(&harness, &dying);
        assert_eq!(all.len(), 2, "{phase}: each once, and none removed: {all:?}");
        assert!(all[0] >= dead && all[1] >= after(all[0], TURN), "{phase}: {all:?}, dead at {dead}");
        if before < 2 {
            // Its token bucket starts to fill when it leads.
            let lead = if dies { TAKEOVER_MAX } else { 4.0 };
            let latest = after(gone.max(dead), lead + TURN + 1.0);
            assert!(all[before] <= latest, "{phase}: {all:?}, the leader went at {gone}");
            assert!(!dies || all[before] > after(gone, 10.0), "S5, {phase}: {all:?}");
        }
        harness.only(&dying);
        let back = harness.now();
        harness.recover(&dying);
        sleep(20.0).await;
        for node in dying {
            let turns = harness.turns_of(node, UNREACHABLE);
            assert!(turns.len() == 2 && turns[1] <= after(back, LATE), "L7: {turns:?}");
        }
    }
}

/// S5: only the controller's lease cannot be renewed. Nothing is written meanwhile, though everything else works;
/// afterwards, overdue writes follow, at the rate.
#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_taints_no_node() {
    let harness = SandboxHarness::lively(6, 1);
    let _controller = harness.watched(elected(1)).await;
    harness.lease_faults.outage(Some(InjectedFault::Unavailable));
    sleep(20.0).await;
    harness.silence(&["n1", "n2"]);
    let sent = harness.writes().len();
    sleep(600.0).await;
    assert_eq!(harness.writes().len(), sent, "{:?}", &harness.writes()[sent..]);
    harness.lease_faults.outage(None);
    let again = harness.now();
    sleep(100.0).await;
    let all = tainted(&harness, &["n1", "n2"]);
    assert!(all.len() == 2 && all[0] >= after(again, TURN) && all[1] >= after(all[0], TURN), "S6: {all:?}");
    assert!(all[0] <= after(again, TURN + TAKEOVER_MAX), "{all:?}, again since {again}");
    for node in ["n1", "n2"] {
        harness.bore_within(node, "unreachable:NoSchedule", &[again], TAKEOVER_MAX);
    }
    harness.only(&["n1", "n2"]);
    const { assert!(WATCHED > GRACE) };
}
