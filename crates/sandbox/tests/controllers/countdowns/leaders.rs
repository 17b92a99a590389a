//! Tests leaders that crash, hand over, or lose their lease (D1, L8, S5, P34).

use crate::stage::{LATE, Stage, after, bears, elected, no_execute, sleep};
use fakekube::api::ResourcePath;
use fakekube::fault::InjectedFault;
use fakekube::resource::known;
use serde_json::Value;

/// L8: a lease of 15 s, and a follower that retries about every 2 s.
const TAKEOVER_MAX: f64 = 20.0;

fn lease() -> ResourcePath {
    ResourcePath::object(known("coordination.k8s.io", "leases"), "kube-system", "taintward")
}

fn holder(stage: &Stage) -> Value {
    stage.server().read(&lease()).unwrap().value()["spec"]["holderIdentity"].clone()
}

/// D1, L8, P34: the leader dies during a countdown. The follower has counted along: no deadline moves, and pods that
/// became due in between leave when it takes over.
#[tokio::test(start_paused = true)]
async fn a_killed_leader_moves_no_deadline() {
    let stage = Stage::new(1);
    let leader = stage.controller(elected(1)).await;
    let _follower = stage.controller(elected(2)).await;
    let first = holder(&stage);
    let between = stage.pod("between", "n1", &[bears("k", Some(601))]);
    let hour = stage.pod("hour", "n1", &[bears("k", Some(3_600))]);
    let tainted = stage.taint("n1", &[no_execute("k")]);
    sleep(600.0).await;
    let (killed, sent) = (stage.now(), stage.sent().len());
    leader.kill().await;
    sleep(TAKEOVER_MAX + 1.0).await;
    assert_ne!(holder(&stage), first);
    stage.went(&between, after(tainted, 601.0), TAKEOVER_MAX - 1.0);
    assert!(stage.deleted(&between).unwrap() > after(killed, 10.0), "S5: not before the lease has run out");
    let learned = |path: &str| ["/api/v1/nodes", "/api/v1/pods"].contains(&path);
    let learned: Vec<_> = stage.sent().into_iter().skip(sent).filter(|sent| learned(&sent.path)).collect();
    assert!(learned.is_empty(), "a takeover needs no list: {learned:?}");
    sleep(3_600.0).await;
    stage.went(&hour, after(tainted, 3_600.0), LATE);
}

/// L8: a leader that is stopped releases the lease, and the follower takes over within two rounds.
#[tokio::test(start_paused = true)]
async fn a_leader_hands_over() {
    let stage = Stage::new(1);
    let leader = stage.controller(elected(1)).await;
    let _follower = stage.controller(elected(2)).await;
    let pod = stage.pod("p", "n1", &[bears("k", Some(601))]);
    let tainted = stage.taint("n1", &[no_execute("k")]);
    sleep(600.0).await;
    leader.stop().await;
    sleep(10.0).await;
    stage.went(&pod, after(tainted, 601.0), 4.0);
}

/// S5: a leader that cannot renew stops writing before another replica may lead, though everything else works. When it
/// leads again, it evicts the pods that became due.
#[tokio::test(start_paused = true)]
async fn a_leader_that_cannot_renew_stops() {
    let stage = Stage::new(1);
    let _controller = stage.controller(elected(1)).await;
    let in_time = stage.pod("in-time", "n1", &[bears("k", Some(61))]);
    let later = stage.pod("later", "n1", &[bears("k", Some(75))]);
    let tainted = stage.taint("n1", &[no_execute("k")]);
    sleep(60.0).await;
    stage.lease_faults.outage(Some(InjectedFault::Unavailable));
    sleep(540.0).await;
    stage.went(&in_time, after(tainted, 61.0), LATE);
    stage.stays(&later);
    stage.lease_faults.outage(None);
    let again = stage.now();
    sleep(TAKEOVER_MAX).await;
    stage.went(&later, again, 5.0);
}

/// S5, L8: another client takes the lease and holds it for ten minutes. Nothing is written meanwhile; after its
/// release, due pods are evicted.
#[tokio::test(start_paused = true)]
async fn a_lost_lease_is_a_lost_right() {
    let stage = Stage::new(1);
    let _controller = stage.controller(elected(1)).await;
    let pod = stage.pod("p", "n1", &[bears("k", Some(100))]);
    let saved = stage.pod("saved", "n1", &[bears("k", Some(100)), bears("l", Some(1))]);
    stage.taint("n1", &[no_execute("k")]);
    sleep(50.0).await;
    for second in 0..600 {
        stage
            .server()
            .change(&lease(), "stranger", |lease| {
                lease["spec"]["holderIdentity"] = "stranger".into();
                lease["spec"]["renewTime"] = stage.server().clock().micro_time().into();
            })
            .unwrap();
        if second == 300 {
            stage.change_pod(&saved, |pod| {
                pod["spec"]["tolerations"].as_array_mut().unwrap().insert(0, bears("k", None));
            });
        }
        sleep(1.0).await;
    }
    let let_go = stage.now();
    stage.stays(&pod);
    let written: Vec<_> = stage.writes().into_iter().filter(|sent| sent.at > after(let_go, -590.0)).collect();
    assert!(written.is_empty(), "{written:?}");
    sleep(TAKEOVER_MAX + 1.0).await;
    stage.went(&pod, after(let_go, 10.0), TAKEOVER_MAX - 10.0);
    stage.stays(&saved);
}
