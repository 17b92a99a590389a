//! Tests outages of the API server during countdowns: pods leave late but not early (D3, L2, L4, L6, S9, P22, P23).

use crate::stage::{LATE, Stage, after, alone, bears, no_execute, pods, sleep};
use crate::wire::Sent;
use fakekube::api::ResourcePath;
use fakekube::fault::InjectedFault;
use http::Method;

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
        let stage = Stage::new(3);
        let _controller = stage.controller(alone()).await;
        let tolerations = |seconds| [bears("k", Some(seconds))];
        let meanwhile = stage.pod("meanwhile", "n1", &tolerations(300));
        let hour = stage.pod("hour", "n1", &tolerations(3_600));
        let replaced = stage.pod("replaced", "n1", &tolerations(800));
        let untainted = stage.pod("untainted", "n2", &tolerations(300));
        let tainted = stage.taint("n1", &[no_execute("k")]);
        stage.taint("n2", &[no_execute("k")]);
        sleep(100.0).await;
        stage.outage(Some(fault));
        sleep(10.0).await;
        stage.taint("n2", &[]);
        stage.delete_pod(&replaced);
        let (successor, came) = (stage.pod("replaced", "n1", &tolerations(800)), stage.now());
        sleep(590.0).await;
        stage.stays(&meanwhile);
        stage.outage(None);
        let back = stage.now();
        let recovery = if fault == InjectedFault::BlackHole { SILENCE_MAX } else { RECOVERY_MAX };
        sleep(recovery).await;
        stage.went(&meanwhile, back, recovery);
        sleep(3_600.0).await;
        stage.went(&hour, after(tainted, 3_600.0), LATE);
        // A resumed watch delivers pods late, as if they had been created only now: their deadlines are later, never
        // earlier.
        let reported = back.duration_since(came).as_secs_f64();
        stage.went(&successor, after(came, 800.0), reported + recovery);
        stage.stays(&untainted);
    }
}

/// L4, P22, P23: the history is compacted while the controller is cut off. After the 410 it lists again, and only the
/// present state counts. A node that was tainted meanwhile counts from then at the earliest.
#[tokio::test(start_paused = true)]
async fn what_was_compacted_away_is_found() {
    let stage = Stage::new(3);
    let _controller = stage.controller(alone()).await;
    let tolerations = |seconds| [bears("k", Some(seconds))];
    let counting = stage.pod("counting", "n1", &tolerations(1_800));
    let gone = stage.pod("gone", "n1", &tolerations(1_800));
    let saved = stage.pod("saved", "n2", &tolerations(1_800));
    let unseen = stage.pod("unseen", "n3", &tolerations(1_800));
    let tainted = stage.taint("n1", &[no_execute("k")]);
    stage.taint("n2", &[no_execute("k")]);
    sleep(60.0).await;
    stage.outage(Some(InjectedFault::LostBefore));
    sleep(60.0).await;
    stage.taint("n2", &[]);
    let late = stage.taint("n3", &[no_execute("k")]);
    stage.delete_pod(&gone);
    let again = stage.pod("gone", "n2", &[]);
    sleep(1.0).await;
    stage.server().store().compact();
    stage.outage(None);
    sleep(3_600.0).await;
    stage.went(&counting, after(tainted, 1_800.0), LATE);
    stage.went(&unseen, after(late, 1_800.0), 1.0 + LATE);
    [&saved, &again].iter().for_each(|pod| stage.stays(pod));
}

/// S9, D3: the server is away between the mark and the DELETE. A pod that may stay after all loses the mark.
#[tokio::test(start_paused = true)]
async fn a_mark_without_deletion_is_withdrawn() {
    let stage = Stage::new(1);
    let _controller = stage.controller(alone()).await;
    let pod = stage.pod("p", "n1", &[]);
    sleep(1.0).await;
    let (reads, writes) = (stage.faults.clone(), stage.write_faults.clone());
    let is_mark = |sent: &Sent| sent.method == Method::PATCH;
    stage.meddler.once(is_mark, move || {
        [reads, writes].iter().for_each(|faults| faults.outage(Some(InjectedFault::LostBefore)));
    });
    stage.taint("n1", &[no_execute("k")]);
    sleep(30.0).await;
    assert_eq!(stage.deleted(&pod), None, "the DELETE has not arrived");
    let marked = || {
        let conditions = stage.server().read(&ResourcePath::object(pods(), "default", "p")).unwrap().value();
        let conditions = conditions["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.iter().any(|one| one["type"] == "DisruptionTarget")
    };
    assert!(marked(), "the mark has");
    stage.taint("n1", &[]);
    stage.outage(None);
    sleep(60.0).await;
    assert!(!marked(), "S9: it stays, unmarked");
    assert_eq!(stage.deleted(&pod), None);
}
