//! S2: a DELETE is given no more time than its justification has left.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use super::*;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use taintward_core::names::{NodeName, Uid, Version};
use taintward_core::time::Wall;

/// Asks a server that answers nothing to delete a pod whose node was confirmed `age` ago: what the server was told of
/// time, and when the request was given up, both in seconds.
async fn delete_after(age: Span) -> (Option<f64>, f64) {
    let told: Arc<Mutex<Option<f64>>> = Arc::default();
    let hear = Arc::clone(&told);
    let silent = tower::service_fn(move |request: Request<Body>| {
        let timeout = request.uri().query().unwrap().strip_prefix("timeout=").unwrap();
        *hear.lock().unwrap() = timeout.trim_end_matches('s').parse().ok();
        std::future::pending::<Result<Response<Body>, Infallible>>()
    });
    let actor = Actor::new(Client::new(silent, "default"), "test");
    let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
    clock.sleep_until(Mono::from_secs(100)).await;
    let sent = clock.now().mono;
    let effect = Effect::Delete {
        pod: PodRef { node: NodeName::new("n"), uid: Uid::new("u") },
        name: PodName::new("default", "p"),
        version: Some(Version(7)),
        confirmed: Mono::from_micros(sent.as_micros() - age.as_micros()),
    };
    let (input, refusal) = carry_out(&actor, &clock, effect, sent).await;
    assert!(matches!(input, Input::Deleted { result: Err(Failure::Unavailable), .. }), "{input:?}");
    assert!(refusal.is_some());
    let told = *told.lock().unwrap();
    (told, clock.now().mono.since(sent).as_secs_f64())
}

/// What the server may still do when the client has given up counts, too.
#[tokio::test(start_paused = true)]
async fn s2_no_deletion_outlives_its_justification() {
    for (age, server, client) in [(0, 2.0, 3.0), (500, 2.0, 2.5), (1_500, 1.0, 2.5), (2_000, 1.0, 2.0)] {
        let (told, gave_up) = delete_after(Span::from_millis(age)).await;
        assert_eq!(told, Some(server), "{age} ms");
        assert!((gave_up - client).abs() < 0.01, "{age} ms: gave up after {gave_up}, not {client}");
        assert!(age as f64 / 1e3 + gave_up + server <= JUSTIFIED_FOR.as_secs_f64() + 0.01);
    }
}

/// The process was stopped right after the decision.
#[tokio::test(start_paused = true)]
async fn s2_an_old_decision_is_not_sent() {
    for age in [3_900, 5_000, 60_000] {
        assert_eq!(delete_after(Span::from_millis(age)).await, (None, 0.0), "{age} ms");
    }
}
