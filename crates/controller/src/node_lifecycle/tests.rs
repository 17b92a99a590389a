//! Tests which inputs watch health, renewals and responses give to the engine.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use taintward_kube::leader_election::Leadership;
use tokio::sync::watch;

const fn at(seconds: i64) -> Mono {
    Mono::from_secs(seconds)
}

const LEASES: WatchedKind = WatchedKind::Leases;

struct LifecycleControllerHarness {
    health: watch::Sender<StreamHealth>,
    eye: StreamObserver,
}

impl LifecycleControllerHarness {
    /// A watch that has been listed and has been open since the first second.
    fn watching() -> Self {
        let (health, seen) = watch::channel(StreamHealth::default());
        let mut harness = Self { health, eye: StreamObserver::new(LEASES, seen) };
        harness.enters(StreamPhase::Watching);
        harness.hears();
        assert_eq!(harness.eye.poll(at(1)), []);
        harness
    }

    fn enters(&self, phase: StreamPhase) {
        self.health.send_modify(|health| health.phase = phase);
    }

    fn fails(&self) {
        self.health.send_modify(|health| {
            health.counters.failures += 1;
            health.phase = StreamPhase::Waiting { why: "broken".into(), until: Instant::now() };
        });
    }

    fn hears(&self) {
        self.health.send_modify(|health| health.last_active = Some(Instant::now()));
    }
}

const fn lost(since: Mono) -> NodeLifecycleInput {
    NodeLifecycleInput::StreamLost { stream: LEASES, since }
}

#[tokio::test(start_paused = true)]
async fn s7_a_list_that_fails_alongside_the_watch_is_not_an_interruption() {
    let mut harness = LifecycleControllerHarness::watching();
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    harness.health.send_modify(|health| {
        health.counters.failures += 1;
        health.counters.failures_beside += 1;
    });
    assert_eq!(harness.eye.poll(at(60)), []);
    harness.fails();
    assert_eq!(harness.eye.poll(at(61)), [lost(at(1))], "a broken watch counts as lost");
}

const FOUND: NodeLifecycleInput = NodeLifecycleInput::StreamRecovered { stream: LEASES };

#[tokio::test(start_paused = true)]
async fn s7_a_stream_that_broke_is_lost_since_the_last_word_from_it() {
    let mut harness = LifecycleControllerHarness::watching();
    tokio::time::advance(std::time::Duration::from_secs(9)).await;
    harness.hears();
    assert_eq!(harness.eye.poll(at(10)), []);
    harness.fails();
    assert_eq!(harness.eye.poll(at(30)), [lost(at(10))]);
    assert_eq!(harness.eye.poll(at(31)), [], "once");
    harness.fails();
    assert_eq!(harness.eye.poll(at(40)), [lost(at(10))], "a further failure changes nothing, and no time");
    harness.enters(StreamPhase::Connecting);
    assert_eq!(harness.eye.poll(at(41)), []);
    harness.enters(StreamPhase::Watching);
    assert_eq!(harness.eye.poll(at(42)), [FOUND]);
    assert_eq!(harness.eye.poll(at(43)), []);
}

#[tokio::test(start_paused = true)]
async fn s7_an_interruption_between_two_polls_is_still_reported() {
    let mut harness = LifecycleControllerHarness::watching();
    harness.fails();
    harness.enters(StreamPhase::Watching);
    tokio::time::advance(std::time::Duration::from_secs(19)).await;
    harness.hears();
    assert_eq!(harness.eye.poll(at(20)), [lost(at(1)), FOUND]);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_ended_in_good_order_has_lost_nothing_by_then() {
    let mut harness = LifecycleControllerHarness::watching();
    harness.enters(StreamPhase::Connecting);
    assert_eq!(
        harness.eye.poll(at(60)),
        [lost(at(60))],
        "from the end on, not from the last event before it"
    );
    harness.enters(StreamPhase::Watching);
    assert_eq!(harness.eye.poll(at(61)), [FOUND]);
    harness.enters(StreamPhase::Connecting);
    harness.enters(StreamPhase::Watching);
    assert_eq!(harness.eye.poll(at(120)), [], "the watch was not observed meanwhile");
}

#[tokio::test(start_paused = true)]
async fn before_the_first_list_there_is_nothing_to_see() {
    let (health, seen) = watch::channel(StreamHealth::default());
    let mut eye = StreamObserver::new(LEASES, seen);
    health.send_modify(|health| health.phase = StreamPhase::Listing);
    assert_eq!(eye.poll(at(2)), [lost(at(2))]);
    health.send_modify(|health| health.phase = StreamPhase::Watching);
    assert_eq!(eye.poll(at(3)), [FOUND]);
}

#[test]
fn s7_each_renewal_of_the_leaders_lease_is_a_proof_once() {
    let (leadership, followed) = watch::channel(Leadership::none(at(0)));
    let permission = WritePermission::Leader(followed);
    let mut witness = ApiServerProbe::new(Span::from_secs(10));
    assert_eq!(witness.renewed(&permission), None);
    leadership.send_modify(|now| now.last_renew_ok = Some(at(5)));
    assert_eq!(witness.renewed(&permission), Some(NodeLifecycleInput::OwnRequestSucceeded { sent: at(5) }));
    assert_eq!(witness.renewed(&permission), None, "already reported");
    leadership.send_modify(|now| now.last_renew_ok = Some(at(7)));
    assert_eq!(witness.renewed(&permission), Some(NodeLifecycleInput::OwnRequestSucceeded { sent: at(7) }));
    assert_eq!(ApiServerProbe::new(Span::from_secs(10)).renewed(&WritePermission::Always), None);
}

/// A client whose API server answers every request with this code; with the number of requests.
fn server(code: u16) -> (ApiClient, Arc<AtomicUsize>) {
    let requested = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&requested);
    let service = tower::service_fn(move |_: http::Request<kube::client::Body>| {
        count.fetch_add(1, Ordering::Relaxed);
        let body = http_body_util::Full::new(hyper::body::Bytes::from_static(b"{}"));
        let response =
            http::Response::builder().status(code).header("content-type", "application/json").body(body);
        async move { Ok::<_, std::convert::Infallible>(response.unwrap()) }
    });
    (ApiClient::new(kube::Client::new(service, "default"), "test"), requested)
}

#[tokio::test(start_paused = true)]
async fn s7_without_a_lease_the_controller_sends_a_request_and_only_a_response_is_a_proof() {
    let (api, requested) = server(200);
    let mut witness = ApiServerProbe::new(Span::from_secs(10));
    witness.start(&api, at(1));
    assert!(witness.is_in_flight());
    let response = witness.result().await;
    assert_eq!(witness.on_result(response), Some(NodeLifecycleInput::OwnRequestSucceeded { sent: at(1) }));
    assert_eq!(witness.start_at(), Some(at(6)), "at half of the allowed gap");
    witness.start(&api, at(5));
    assert!(!witness.is_in_flight(), "too early");
    witness.start(&api, at(6));
    assert!(witness.is_in_flight());
    drop(witness.result().await);
    assert_eq!(requested.load(Ordering::Relaxed), 2);

    let (api, requested) = server(503);
    let mut witness = ApiServerProbe::new(Span::from_secs(10));
    witness.start(&api, at(1));
    let response = witness.result().await;
    assert_eq!(witness.on_result(response), None, "a refusal proves nothing");
    witness.start(&api, Mono::from_micros(1_900_000));
    assert!(!witness.is_in_flight(), "not immediately again");
    witness.start(&api, at(2));
    drop(witness.result().await);
    assert_eq!(requested.load(Ordering::Relaxed), 2);
}
