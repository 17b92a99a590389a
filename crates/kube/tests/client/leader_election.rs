//! Tests leader election against a simulated Lease, in virtual time.

mod logs;

use crate::fake::{ClientReply, RequestLog, SeenRequest, server};
use kube::Client;
use serde_json::{Value, json};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_core::time::{Mono, Span, Wall};
use taintward_kube::clock::Clock;
use taintward_kube::leader_election::{self, ElectionTimings, InvalidTimings, Leadership, LeaseSettings};
use taintward_kube::watch::RelistTrigger;
use tokio::sync::{oneshot, watch};
use tokio::task::JoinHandle;

const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/taintward";
const LEASES: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases";

/// How the server misbehaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum LeaseMood {
    Well,
    Silent,
    Forbidding,
    Garbled,
    /// Carries out every write immediately, and responds after three seconds.
    Slow,
    /// Carries out every write immediately, and never responds.
    Mute,
    /// There is no namespace for the lease.
    NoNamespace,
}

#[derive(Clone)]
struct LeaseServer {
    lease: Arc<Mutex<Option<Value>>>,
    mood: Arc<Mutex<LeaseMood>>,
}

impl LeaseServer {
    fn new() -> (Self, Client, RequestLog) {
        let store = Self { lease: Arc::default(), mood: Arc::new(Mutex::new(LeaseMood::Well)) };
        let serving = store.clone();
        let (client, log) = server(move |seen| serving.serve(seen));
        (store, client, log)
    }

    fn set(&self, mood: LeaseMood) {
        *self.mood.lock().unwrap() = mood;
    }

    fn field(&self, name: &str) -> Value {
        self.lease.lock().unwrap().as_ref().unwrap()["spec"][name].clone()
    }

    fn serve(&self, seen: &SeenRequest) -> ClientReply {
        let mood = *self.mood.lock().unwrap();
        match mood {
            LeaseMood::Well | LeaseMood::Slow | LeaseMood::Mute => {}
            LeaseMood::Silent => return ClientReply::Silence(Duration::from_secs(86_400)),
            LeaseMood::Forbidding => {
                return ClientReply::status(403, "Forbidden", "User \"t\" cannot get resource \"leases\"");
            }
            LeaseMood::NoNamespace if seen.line().starts_with("POST") => {
                return ClientReply::status(404, "NotFound", "namespaces \"kube-system\" not found");
            }
            LeaseMood::NoNamespace => return ClientReply::status(404, "NotFound", "no lease"),
            LeaseMood::Garbled => return ClientReply::Response(200, vec![], "{\"spec\": 5}".into()),
        }
        let mut lease = self.lease.lock().unwrap();
        let version =
            |lease: &Value| lease["metadata"]["resourceVersion"].as_str().unwrap().parse::<u64>().unwrap();
        let next = lease.as_ref().map_or(1, |lease| version(lease) + 1).to_string();
        match (seen.line().as_str(), lease.as_mut()) {
            (line, Some(lease)) if line == format!("GET {LEASE}") => ClientReply::json(200, lease),
            (line, None) if line == format!("POST {LEASES}") => {
                let mut created = seen.body.clone();
                created["metadata"]["resourceVersion"] = json!(next);
                *lease = Some(created.clone());
                written(mood, 201, created)
            }
            (line, Some(kept)) if line == format!("PUT {LEASE}") => {
                if kept["metadata"]["resourceVersion"] != seen.body["metadata"]["resourceVersion"] {
                    return ClientReply::status(409, "Conflict", "the object has been modified");
                }
                *kept = seen.body.clone();
                kept["metadata"]["resourceVersion"] = json!(next);
                written(mood, 200, kept.clone())
            }
            (line, Some(_)) if line == format!("POST {LEASES}") => {
                ClientReply::status(409, "AlreadyExists", "there")
            }
            (line, None) if line.ends_with(LEASE) => ClientReply::status(404, "NotFound", "no lease"),
            (line, _) => ClientReply::status(405, "MethodNotAllowed", line),
        }
    }
}

fn written(mood: LeaseMood, status: u16, lease: Value) -> ClientReply {
    match mood {
        LeaseMood::Slow => ClientReply::Late(Duration::from_secs(3), lease),
        LeaseMood::Mute => ClientReply::Silence(Duration::from_secs(86_400)),
        _ => ClientReply::json(status, &lease),
    }
}

struct Candidate {
    seen: watch::Receiver<Leadership>,
    relists: watch::Receiver<()>,
    stop: Option<oneshot::Sender<()>>,
    task: JoinHandle<()>,
}

fn candidate(client: &Client, clock: &Clock, identity: &str) -> Candidate {
    let (out, seen) = watch::channel(Leadership::none(clock.now().mono));
    let (stop, stopped) = oneshot::channel();
    let settings = LeaseSettings { identity: identity.to_owned(), ..LeaseSettings::default() };
    let stopping = async {
        let _ = stopped.await;
    };
    let relist_now = RelistTrigger::default();
    let relists = relist_now.subscribe();
    let run = leader_election::run(client.clone(), clock.clone(), settings, out, relist_now, stopping);
    Candidate { seen, relists, stop: Some(stop), task: tokio::spawn(run) }
}

async fn after(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}

fn clock() -> Clock {
    Clock::of_runtime(Wall::from_secs(1_800_000_000))
}

#[tokio::test(start_paused = true)]
async fn the_first_process_creates_leads_and_renews_without_reading() {
    let (store, client, log) = LeaseServer::new();
    let clock = clock();
    let a = candidate(&client, &clock, "a");
    after(60).await;
    let known = a.seen.borrow().clone();
    assert!(known.leading && known.last_error.is_none(), "{known:?}");
    assert_eq!((known.holder.as_str(), known.transitions), ("a", 0));
    let now = clock.now().mono;
    assert!(known.allows(now, Span::from_secs(7)), "renewed every two seconds: {known:?}");
    assert!(!known.allows(now, Span::from_secs(10)), "nothing that could outlive the lease (S5)");
    assert!(now.since(known.loop_alive_at) <= Span::from_secs(2));
    assert_eq!(store.field("leaseDurationSeconds"), 15);
    assert_eq!(store.field("acquireTime"), "2027-01-15T08:00:00.000000Z");
    let lines: Vec<_> = log.lock().unwrap().iter().map(SeenRequest::line).collect();
    assert_eq!(lines[..2], [format!("GET {LEASE}"), format!("POST {LEASES}")]);
    assert!((28..=31).contains(&lines.len()), "{}", lines.len());
    assert!(lines[2..].iter().all(|line| *line == format!("PUT {LEASE}")), "{lines:?}");
}

/// The store is replaced by a copy that is twenty seconds old. Other writes may have made its version
/// newer than the last one that the watches received, so that only the lease shows what has happened.
#[tokio::test(start_paused = true)]
async fn l4_a_lease_that_goes_back_lets_everything_be_listed_again() {
    let (store, client, _) = LeaseServer::new();
    let clock = clock();
    let mut candidates = ["a", "b"].map(|identity| candidate(&client, &clock, identity));
    after(60).await;
    let backup = store.lease.lock().unwrap().clone();
    after(20).await;
    assert!(candidates.iter().all(|one| !one.relists.has_changed().unwrap()), "nothing went back");
    *store.lease.lock().unwrap() = backup;
    after(5).await;
    for candidate in &mut candidates {
        assert!(candidate.relists.has_changed().unwrap());
        candidate.relists.mark_unchanged();
    }
    after(600).await;
    assert!(candidates.iter().all(|one| !one.relists.has_changed().unwrap()), "once");
    assert_eq!(candidates.map(|one| one.seen.borrow().leading), [true, false]);
}

#[tokio::test(start_paused = true)]
async fn a_clean_stop_hands_over_within_the_retry_period() {
    let (store, client, _) = LeaseServer::new();
    let clock = clock();
    let mut a = candidate(&client, &clock, "a");
    after(5).await;
    let b = candidate(&client, &clock, "b");
    after(60).await;
    assert!(a.seen.borrow().leading && !b.seen.borrow().leading);
    assert_eq!(b.seen.borrow().holder, "a");
    a.stop.take().unwrap().send(()).unwrap();
    a.task.await.unwrap();
    assert!(!a.seen.borrow().leading);
    assert_eq!((store.field("holderIdentity"), store.field("leaseDurationSeconds")), (json!(""), json!(1)));
    after(2).await;
    assert!(b.seen.borrow().leading);
    assert_eq!(b.seen.borrow().transitions, 1);
}

#[tokio::test(start_paused = true)]
async fn a_crashed_holder_is_replaced_after_its_lease_and_not_before() {
    let (_, client, _) = LeaseServer::new();
    let clock = clock();
    let a = candidate(&client, &clock, "a");
    after(5).await;
    let b = candidate(&client, &clock, "b");
    after(60).await;
    let last = a.seen.borrow().valid_until;
    a.task.abort();
    let mut seen = b.seen.clone();
    seen.wait_for(|known| known.leading).await.unwrap();
    let waited = clock.now().mono.since(last.minus(Span::from_secs(10)));
    assert!((15.0..=17.1).contains(&waited.as_secs_f64()), "{waited:?}");
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_ends_leading_at_the_deadline_and_an_hour_later_all_recovers() {
    for mood in [LeaseMood::Silent, LeaseMood::Forbidding, LeaseMood::Garbled] {
        let (store, client, log) = LeaseServer::new();
        let clock = clock();
        let a = candidate(&client, &clock, "a");
        after(60).await;
        store.set(mood);
        let mut seen = a.seen.clone();
        seen.wait_for(|known| !known.leading).await.unwrap();
        let (now, known) = (clock.now().mono, seen.borrow().clone());
        assert!(now.since(known.last_renew_ok.unwrap()) <= Span::from_millis(10_002), "{mood:?} {known:?}");
        assert!(known.valid_until <= now && !known.allows(now, Span::ZERO), "{mood:?}");
        let before = log.lock().unwrap().len();
        after(3600).await;
        let requested = log.lock().unwrap().len() - before;
        assert!((700..=4100).contains(&requested), "{mood:?}: it neither gives up nor hammers: {requested}");
        let last_error = seen.borrow().last_error.clone().unwrap();
        let word = match mood {
            LeaseMood::Silent => "no answer",
            LeaseMood::Forbidding => "grant the verb get on leases in API group \"coordination.k8s.io\"",
            _ => "the lease's spec",
        };
        assert!(last_error.contains(word), "{last_error}");
        store.set(LeaseMood::Well);
        after(5).await;
        assert!(a.seen.borrow().leading && a.seen.borrow().last_error.is_none(), "{mood:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_takes_seconds_for_each_write_has_one_leader() {
    for mood in [LeaseMood::Slow, LeaseMood::Mute] {
        let (store, client, _) = LeaseServer::new();
        store.set(mood);
        let clock = clock();
        let (a, b) = (candidate(&client, &clock, "a"), candidate(&client, &clock, "b"));
        let mut led = 0;
        for _ in 0..6000 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let leading = [&a, &b].map(|candidate| u32::from(candidate.seen.borrow().leading));
            assert!(leading != [1, 1], "{mood:?}: two lead at the same time");
            led += leading[0] + leading[1];
        }
        assert!(led / 10 >= 590, "{mood:?}: there is a leader for {} of 600 s", led / 10);
    }
}

#[tokio::test(start_paused = true)]
async fn other_fields_of_the_lease_stay_and_another_holder_is_noticed() {
    let (store, client, _) = LeaseServer::new();
    let clock = clock();
    let a = candidate(&client, &clock, "a");
    after(3).await;
    let edit = |change: &dyn Fn(&mut Value)| {
        let mut lease = store.lease.lock().unwrap();
        let lease = lease.as_mut().unwrap();
        change(lease);
        lease["metadata"]["resourceVersion"] = json!("1000");
    };
    edit(&|lease| lease["metadata"]["labels"] = json!({ "team": "x" }));
    after(4).await;
    assert!(a.seen.borrow().leading);
    let labels = store.lease.lock().unwrap().as_ref().unwrap()["metadata"]["labels"].clone();
    assert_eq!(labels, json!({ "team": "x" }));
    edit(&|lease| lease["spec"]["holderIdentity"] = json!("thief"));
    after(2).await;
    assert!(!a.seen.borrow().leading);
    assert_eq!(a.seen.borrow().holder, "thief");
    after(20).await;
    assert!(a.seen.borrow().leading, "another holder that does not renew is outlived");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_created_again_with_the_same_holder() {
    let (store, client, _) = LeaseServer::new();
    let clock = clock();
    let a = candidate(&client, &clock, "a");
    after(5).await;
    let b = candidate(&client, &clock, "b");
    after(10).await;
    *store.lease.lock().unwrap() = None;
    for _ in 0..100 {
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert!(a.seen.borrow().leading && !b.seen.borrow().leading);
    }
    assert_eq!(store.field("holderIdentity"), "a");
}

#[tokio::test(start_paused = true)]
async fn a_stop_is_quick_whatever_the_server_does() {
    for mood in [LeaseMood::Silent, LeaseMood::Forbidding] {
        let (store, client, _) = LeaseServer::new();
        let clock = clock();
        let mut a = candidate(&client, &clock, "a");
        after(5).await;
        store.set(mood);
        after(3).await;
        let start = clock.now().mono;
        a.stop.take().unwrap().send(()).unwrap();
        a.task.await.unwrap();
        assert!(!a.seen.borrow().leading);
        assert!(clock.now().mono.since(start) <= Span::from_millis(2010), "{mood:?}");
    }
}

#[test]
fn the_conditions_are_client_gos() {
    let rules = |lease, renew, retry| ElectionTimings {
        lease: Span::from_millis(lease),
        renew: Span::from_millis(renew),
        retry: Span::from_millis(retry),
    };
    let defaults = LeaseSettings::default();
    assert_eq!((defaults.namespace.as_str(), defaults.name.as_str()), ("kube-system", "taintward"));
    assert_eq!(defaults.rules, rules(15_000, 10_000, 2000));
    for (given, error) in [
        (rules(15_000, 10_000, 2000), None),
        (rules(500, 400, 100), Some(InvalidTimings::Lease)),
        (rules(1500, 1000, 200), Some(InvalidTimings::Lease)),
        (rules(0, 0, 0), Some(InvalidTimings::Lease)),
        (rules(10_000, 10_000, 2000), Some(InvalidTimings::Renew)),
        (rules(15_000, 10_000, 0), Some(InvalidTimings::Retry)),
        (rules(15_000, 2400, 2000), Some(InvalidTimings::Retry)),
        (rules(15_000, 2401, 2000), None),
    ] {
        assert_eq!(given.check().err(), error, "{given:?}");
    }
}

#[test]
fn identities_are_host_and_uuid_and_differ() {
    let (a, b) = (leader_election::identity(), leader_election::identity());
    assert_ne!(a, b);
    let uuid = a.rsplit('_').next().unwrap();
    assert_eq!(uuid.split('-').map(str::len).collect::<Vec<_>>(), [8, 4, 4, 4, 12]);
}

#[test]
fn there_is_no_leader_before_the_first_read() {
    let none = Leadership::none(Mono::from_secs(5));
    assert!(
        !none.allows(Mono::from_secs(5), Span::ZERO) && !none.allows(Mono::from_micros(i64::MIN), Span::ZERO)
    );
}
