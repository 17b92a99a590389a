//! Tests leaders that crash, hand over, or lose their lease (D1, L8, S5, P34).

use crate::harness::{LATE, SandboxHarness, after, elected, no_execute, sleep};
use fakekube::api::ResourcePath;
use fakekube::fault::InjectedFault;
use fakekube::resource::known;
use serde_json::Value;
use testkit::toleration;

/// L8: a lease of 15 s, and a follower that retries about every 2 s.
const TAKEOVER_MAX: f64 = 20.0;

fn lease() -> ResourcePath {
    ResourcePath::object(known("coordination.k8s.io", "leases"), "kube-system", "taintward")
}

fn holder(harness: &SandboxHarness) -> Value {
    harness.server().read(&lease()).unwrap().value()["spec"]["holderIdentity"].clone()
}

/// D1, L8, P34: the leader dies during a countdown. The follower has counted along: no deadline moves, and pods that
/// became due in between leave when it takes over.
#[tokio::test(start_paused = true)]
async fn a_killed_leader_moves_no_deadline() {
    let harness = SandboxHarness::new(1);
    let leader = harness.controller(elected(1)).await;
    let _follower = harness.controller(elected(2)).await;
    let first = holder(&harness);
    let between = harness.create_pod("between", "n1", &[toleration("k", Some(601))]);
    let hour = harness.create_pod("hour", "n1", &[toleration("k", Some(3_600))]);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(600.0).await;
    let (killed, sent) = (harness.now(), harness.sent().len());
    leader.kill().await;
    sleep(TAKEOVER_MAX + 1.0).await;
    assert_ne!(holder(&harness), first);
    harness.went(&between, after(tainted, 601.0), TAKEOVER_MAX - 1.0);
    assert!(harness.deleted(&between).unwrap() > after(killed, 10.0), "S5: not before the lease has run out");
    let learned = |path: &str| ["/api/v1/nodes", "/api/v1/pods"].contains(&path);
    let learned: Vec<_> = harness.sent().into_iter().skip(sent).filter(|sent| learned(&sent.path)).collect();
    assert!(learned.is_empty(), "a takeover needs no list: {learned:?}");
    sleep(3_600.0).await;
    harness.went(&hour, after(tainted, 3_600.0), LATE);
}

/// L8: a leader that is stopped releases the lease, and the follower takes over within two rounds.
#[tokio::test(start_paused = true)]
async fn a_leader_hands_over() {
    let harness = SandboxHarness::new(1);
    let leader = harness.controller(elected(1)).await;
    let _follower = harness.controller(elected(2)).await;
    let pod = harness.create_pod("p", "n1", &[toleration("k", Some(601))]);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(600.0).await;
    leader.stop().await;
    sleep(10.0).await;
    harness.went(&pod, after(tainted, 601.0), 4.0);
}

/// S5: a leader that cannot renew stops writing before another replica may lead, though everything else works. When it
/// leads again, it evicts the pods that became due.
#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(elected(1)).await;
    let in_time = harness.create_pod("in-time", "n1", &[toleration("k", Some(61))]);
    let later = harness.create_pod("later", "n1", &[toleration("k", Some(75))]);
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    sleep(60.0).await;
    harness.lease_faults.outage(Some(InjectedFault::Unavailable));
    sleep(540.0).await;
    harness.went(&in_time, after(tainted, 61.0), LATE);
    harness.stays(&later);
    harness.lease_faults.outage(None);
    let again = harness.now();
    sleep(TAKEOVER_MAX).await;
    harness.went(&later, again, 5.0);
}

/// S5, L8: another client takes the lease and holds it for ten minutes. Nothing is written meanwhile; after its
/// release, due pods are evicted.
#[tokio::test(start_paused = true)]
async fn a_lost_lease_is_a_lost_right() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(elected(1)).await;
    let pod = harness.create_pod("p", "n1", &[toleration("k", Some(100))]);
    let saved = harness.create_pod("saved", "n1", &[toleration("k", Some(100)), toleration("l", Some(1))]);
    harness.set_taints("n1", &[no_execute("k")]);
    sleep(50.0).await;
    for second in 0..600 {
        harness
            .server()
            .change(&lease(), "stranger", |lease| {
                lease["spec"]["holderIdentity"] = "stranger".into();
                lease["spec"]["renewTime"] = harness.server().clock().micro_time().into();
            })
            .unwrap();
        if second == 300 {
            harness.change_pod(&saved, |pod| {
                pod["spec"]["tolerations"].as_array_mut().unwrap().insert(0, toleration("k", None));
            });
        }
        sleep(1.0).await;
    }
    let let_go = harness.now();
    harness.stays(&pod);
    let written: Vec<_> =
        harness.writes().into_iter().filter(|sent| sent.at > after(let_go, -590.0)).collect();
    assert!(written.is_empty(), "{written:?}");
    sleep(TAKEOVER_MAX + 1.0).await;
    harness.went(&pod, after(let_go, 10.0), TAKEOVER_MAX - 10.0);
    harness.stays(&saved);
}
