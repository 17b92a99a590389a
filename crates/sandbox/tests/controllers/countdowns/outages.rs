//! Tests outages of the API server during countdowns: pods leave late but not early (D3, L2, L4, L6, S9, P22, P23).

use crate::harness::{LATE, SandboxHarness, after, alone, no_execute, pods, sleep};
use crate::wire::Sent;
use fakekube::api::ResourcePath;
use fakekube::fault::InjectedFault;
use http::Method;
use testkit::toleration;

/// How long after an outage all due pods have gone: pauses between retries are 30 s at most, and jittered (L2); a
/// silent stream is detected within 75 s (L4).
const RECOVERY_MAX: f64 = 40.0;
const SILENCE_MAX: f64 = 75.0;

/// The forms that an outage takes for a client.
const OUTAGES: [InjectedFault; 7] = [
    InjectedFault::LostBefore,
    InjectedFault::BlackHole,
    InjectedFault::Unavailable,
    InjectedFault::Internal,
    InjectedFault::Timeout,
    InjectedFault::TooMany,
    InjectedFault::Forbidden,
];

/// L4, D3: the server is away for ten minutes during a countdown. Pods that became due meanwhile leave late, pods due
/// later leave in time, pods saved meanwhile stay, and a successor has its own time.
#[tokio::test(start_paused = true)]
async fn an_outage_only_delays() {
    for fault in OUTAGES {
        let harness = SandboxHarness::new(3);
        let _controller = harness.controller(alone()).await;
        let tolerations = |seconds| [toleration("k", Some(seconds))];
        let meanwhile = harness.create_pod("meanwhile", "n1", &tolerations(300));
        let hour = harness.create_pod("hour", "n1", &tolerations(3_600));
        let replaced = harness.create_pod("replaced", "n1", &tolerations(800));
        let untainted = harness.create_pod("untainted", "n2", &tolerations(300));
        let tainted = harness.set_taints("n1", &[no_execute("k")]);
        harness.set_taints("n2", &[no_execute("k")]);
        sleep(100.0).await;
        harness.outage(Some(fault));
        sleep(10.0).await;
        harness.set_taints("n2", &[]);
        harness.delete_pod(&replaced);
        let (successor, came) = (harness.create_pod("replaced", "n1", &tolerations(800)), harness.now());
        sleep(590.0).await;
        harness.stays(&meanwhile);
        harness.outage(None);
        let back = harness.now();
        let recovery = if fault == InjectedFault::BlackHole { SILENCE_MAX } else { RECOVERY_MAX };
        sleep(recovery).await;
        harness.went(&meanwhile, back, recovery);
        sleep(3_600.0).await;
        harness.went(&hour, after(tainted, 3_600.0), LATE);
        // A resumed watch delivers pods late, as if they had been created only now: their deadlines are later, never
        // earlier.
        let reported = back.duration_since(came).as_secs_f64();
        harness.went(&successor, after(came, 800.0), reported + recovery);
        harness.stays(&untainted);
    }
}

/// L4, P22, P23: the history is compacted while the controller is cut off. After the 410 it lists again, and only the
/// present state counts. A node that was tainted meanwhile counts from then at the earliest.
#[tokio::test(start_paused = true)]
async fn what_was_compacted_away_is_found() {
    let harness = SandboxHarness::new(3);
    let _controller = harness.controller(alone()).await;
    let tolerations = |seconds| [toleration("k", Some(seconds))];
    let counting = harness.create_pod("counting", "n1", &tolerations(1_800));
    let gone = harness.create_pod("gone", "n1", &tolerations(1_800));
    let saved = harness.create_pod("saved", "n2", &tolerations(1_800));
    let unseen = harness.create_pod("unseen", "n3", &tolerations(1_800));
    let tainted = harness.set_taints("n1", &[no_execute("k")]);
    harness.set_taints("n2", &[no_execute("k")]);
    sleep(60.0).await;
    harness.outage(Some(InjectedFault::LostBefore));
    sleep(60.0).await;
    harness.set_taints("n2", &[]);
    let late = harness.set_taints("n3", &[no_execute("k")]);
    harness.delete_pod(&gone);
    let again = harness.create_pod("gone", "n2", &[]);
    sleep(1.0).await;
    harness.server().store().compact();
    harness.outage(None);
    sleep(3_600.0).await;
    harness.went(&counting, after(tainted, 1_800.0), LATE);
    harness.went(&unseen, after(late, 1_800.0), 1.0 + LATE);
    [&saved, &again].iter().for_each(|pod| harness.stays(pod));
}

/// S9, D3: the server is away between the mark and the DELETE. A pod that may stay after all loses the mark.
#[tokio::test(start_paused = true)]
async fn a_mark_without_deletion_is_withdrawn() {
    let harness = SandboxHarness::new(1);
    let _controller = harness.controller(alone()).await;
    let pod = harness.create_pod("p", "n1", &[]);
    sleep(1.0).await;
    let (reads, writes) = (harness.faults.clone(), harness.write_faults.clone());
    let is_mark = |sent: &Sent| sent.method == Method::PATCH;
    harness.meddler.once(is_mark, move || {
        [reads, writes].iter().for_each(|faults| faults.outage(Some(InjectedFault::LostBefore)));
    });
    harness.set_taints("n1", &[no_execute("k")]);
    sleep(30.0).await;
    assert_eq!(harness.deleted(&pod), None, "the DELETE has not arrived");
    let marked = || {
        let conditions =
            harness.server().read(&ResourcePath::object(pods(), "default", "p")).unwrap().value();
        let conditions = conditions["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "DisruptionTarget")
    };
    assert!(marked(), "the mark has");
    harness.set_taints("n1", &[]);
    harness.outage(None);
    sleep(60.0).await;
    assert!(!marked(), "S9: it stays, unmarked");
    assert_eq!(harness.deleted(&pod), None);
}
