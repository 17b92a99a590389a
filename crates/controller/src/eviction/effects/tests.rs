//! Tests that a DELETE gets no more time than its confirmation has left (S2).

#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use super::*;
use crate::effect_executor::EffectExecutor;
use crate::eviction::tests::{decoded, due_pod, metrics, tainted_node};
use crate::metrics::Controller;
use crate::settings::WriteMode;
use crate::write_permission::WritePermission;
use http::{Request, Response};
use kube::Client;
use kube::client::Body;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use taintward_core::engine::{Engine, Lane};
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig, EvictionEngine};
use taintward_core::identity::{NodeName, PodRef, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Wall};

/// The server's timeout of a request, in seconds.
fn timeout_of(request: &Request<Body>) -> f64 {
    let text = request.uri().query().unwrap().strip_prefix("timeout=").unwrap();
    match text.strip_suffix("ms") {
        Some(millis) => millis.parse::<f64>().unwrap() / 1_000.0,
        None => text.strip_suffix('s').unwrap().parse().unwrap(),
    }
}

/// Deletes a pod whose node was confirmed `age` ago, on a server that never answers. Returns the timeout that the
/// server received, and when the client gave up, both in seconds.
async fn delete_after(age: Span) -> (Option<f64>, f64) {
    let reported: Arc<Mutex<Option<f64>>> = Arc::default();
    let receive = Arc::clone(&reported);
    let silent = tower::service_fn(move |request: Request<Body>| {
        *receive.lock().unwrap() = Some(timeout_of(&request));
        std::future::pending::<Result<Response<Body>, Infallible>>()
    });
    let api = ApiClient::new(Client::new(silent, "default"), "test");
    let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
    clock.sleep_until(Mono::from_secs(100)).await;
    let sent = clock.now().mono;
    let effect = EvictionEffect::DeletePod {
        pod: PodRef { node: NodeName::new("n"), uid: Uid::new("u") },
        name: PodName::new("default", "p"),
        version: Some(ResourceVersion(7)),
        confirmed: Mono::from_micros(sent.as_micros() - age.as_micros()),
        slow: false,
        grace_seconds: None,
    };
    let (input, rejection) = execute(&api, &clock, EvictionScope::AllPods, effect).await;
    assert!(
        matches!(input, EvictionInput::Deleted { result: Err(ApiFailure::Unavailable), .. }),
        "{input:?}"
    );
    assert!(rejection.is_some());
    let reported = *reported.lock().unwrap();
    (reported, clock.now().mono.since(sent).as_secs_f64())
}

/// The server gets the remaining time, less half a second for the request's transport, and at most four seconds.
#[tokio::test(start_paused = true)]
async fn s2_no_deletion_outlives_its_justification() {
    for (age, server, client) in [
        (0, 4.0, 5.0),
        (500, 4.0, 4.5),
        (501, 3.999, 4.499),
        (1_500, 3.0, 3.5),
        (2_500, 2.0, 2.5),
        (3_700, 0.8, 1.3),
        (4_000, 0.5, 1.0),
        (4_500, 0.2, 0.3),
    ] {
        let (reported, gave_up) = delete_after(Span::from_millis(age)).await;
        assert_eq!(reported, Some(server), "{age} ms");
        assert!((gave_up - client).abs() < 0.01, "{age} ms: gave up after {gave_up}, not {client}");
        let transit = (client - server).min(0.5);
        assert!(age as f64 / 1e3 + transit + server <= JUSTIFIED_FOR.as_secs_f64() + 0.001, "{age} ms");
        assert!(age as f64 / 1e3 + gave_up <= JUSTIFIED_FOR.as_secs_f64() + 0.01, "{age} ms");
    }
}

/// The process was stopped right after the decision.
#[tokio::test(start_paused = true)]
async fn s2_an_old_decision_is_not_sent() {
    for age in [4_700, 5_000, 60_000] {
        assert_eq!(delete_after(Span::from_millis(age)).await, (None, 0.0), "{age} ms");
    }
}

/// Evicts a pod on an API server that takes `delay` for each deletion, as one with an admission webhook does, and that
/// respects the request's timeout. Returns when it carried out a deletion, and the age of the read of the node at that
/// time, in seconds.
async fn evict_slowly(delay: f64) -> Option<(f64, f64)> {
    let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
    clock.sleep_until(Mono::from_secs(100)).await;
    let done: Arc<Mutex<Option<(f64, f64)>>> = Arc::default();
    let (seen, read_at) = (Arc::clone(&done), Arc::new(Mutex::new(0.0)));
    let server_clock = clock.clone();
    let server = tower::service_fn(move |request: Request<Body>| {
        let (seen, read_at, clock) = (Arc::clone(&seen), Arc::clone(&read_at), server_clock.clone());
        async move {
            let now = || clock.now().mono.since(Mono::from_secs(100)).as_secs_f64();
            let deletes = request.method() == http::Method::DELETE;
            if deletes {
                let period = timeout_of(&request);
                tokio::time::sleep(std::time::Duration::from_secs_f64(delay.min(period))).await;
                if delay > period {
                    return Ok(Response::builder().status(504).body(Body::empty()).unwrap());
                }
                *seen.lock().unwrap() = Some((now(), now() - *read_at.lock().unwrap()));
            }
            let object = match request.uri().path() {
                "/api/v1/nodes/n1" => {
                    *read_at.lock().unwrap() = now();
                    tainted_node()
                }
                _ => due_pod(),
            };
            let response = Response::builder().header("content-type", "application/json");
            Ok::<_, Infallible>(response.body(Body::from(object.to_string().into_bytes())).unwrap())
        }
    });
    let config = EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() };
    let (mut engine, api) =
        (EvictionEngine::new(config), ApiClient::new(Client::new(server, "default"), "test"));
    for input in [
        EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Nodes(ObjectEvent::ListCompleted),
        EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
        EvictionInput::Pods(ObjectEvent::ListCompleted),
        EvictionInput::Pods(ObjectEvent::Applied { fact: decoded(&due_pod()), listed: false }),
        EvictionInput::Nodes(ObjectEvent::Applied { fact: decoded(&tainted_node()), listed: false }),
    ] {
        engine.handle(input, clock.now());
    }
    let metrics = metrics(&clock);
    let mut executor =
        EffectExecutor::new(Some(Controller::TaintEviction), clock.clone(), metrics.effects.clone());
    let (permission, mode) = (WritePermission::Always, WriteMode::Enforce);
    let context = ControllerContext { api, clock: clock.clone(), permission, mode, metrics };
    while done.lock().unwrap().is_none() && clock.now().mono < Mono::from_secs(400) {
        engine.tick(clock.now().mono);
        while let Some(effect) = engine.next_effect(Lane::All, clock.now()) {
            executor.start(request(effect, EvictionScope::AllPods, &context), false, false);
        }
        let wake = engine.next_wakeup().unwrap_or(Mono::from_secs(400));
        tokio::select! {
            done = executor.next() => engine.handle(done.input, clock.now()),
            () = clock.sleep_until(wake) => {}
        }
    }
    *done.lock().unwrap()
}

/// An answer that comes too late is reported as such, and not as a missing answer.
#[tokio::test(start_paused = true)]
async fn d5_a_late_answer_of_a_node_is_an_error_that_says_so() {
    for (takes, is_late) in [(4_400, false), (4_600, true), (7_000, true)] {
        let server = tower::service_fn(move |_: Request<Body>| async move {
            tokio::time::sleep(std::time::Duration::from_millis(takes)).await;
            let node = r#"{"kind":"Node","metadata":{"name":"n","uid":"u","resourceVersion":"7"}}"#;
            let response = Response::builder().header("content-type", "application/json");
            Ok::<_, Infallible>(response.body(Body::from(node.as_bytes().to_vec())).unwrap())
        });
        let api = ApiClient::new(Client::new(server, "default"), "test");
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
        let effect = EvictionEffect::ReadNode { node: NodeName::new("n") };
        let (input, error) = execute(&api, &clock, EvictionScope::AllPods, effect).await;
        assert!(matches!(input, EvictionInput::NodeConfirmed { result: Ok(_), .. }), "{takes}: {input:?}");
        let message = error.map(|error| error.message).unwrap_or_default();
        assert_eq!(message.contains("too late"), is_late, "{takes} ms: {message}");
    }
}

/// A deletion succeeds at the first try if it takes at most four seconds. One that takes longer than its justification
/// lasts does not (S2).
#[tokio::test(start_paused = true)]
async fn p44_slow_deletions_go_as_far_as_their_justification_reaches() {
    for delay in [0.5, 1.9, 2.1, 3.5, 3.9] {
        let (when, age) = evict_slowly(delay).await.unwrap_or_else(|| panic!("{delay} s: never"));
        assert!(when <= delay + 0.1, "{delay} s: carried out after {when} s");
        assert!(age <= JUSTIFIED_FOR.as_secs_f64(), "{delay} s: {age} s after its node was read");
    }
    assert_eq!(evict_slowly(4.6).await, None);
}
