//! Tests the check `evictions` on a loop with one due pod and an API server that misbehaves, in virtual time.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use super::*;
use crate::control_loop::{ControlLoop, LoopHealth};
use crate::eviction::tests::{context, controller_with, decoded, due_pod, leading, tainted_node};
use crate::eviction::watch_queues;
use crate::shutdown::{Shutdown, ShutdownRequest};
use crate::tapped_engine::TappedEngine;
use crate::write_permission::WritePermission;
use http::{Method, Request, Response};
use kube::client::Body;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use taintward_core::eviction::{EvictionConfig, EvictionEngine};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Wall;
use taintward_kube::api::ApiClient;
use taintward_kube::leader_election::Leadership;
use tokio::sync::mpsc;

/// What the API server does.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ServerMood {
    Well,
    Forbids,
    Silent,
    /// Reads of nodes take this long.
    Slow(Duration),
    /// Only deletions are rejected.
    Denies,
}

const LEASE: Span = Span::from_secs(3_600);

struct ProgressHarness {
    mood: Arc<Mutex<ServerMood>>,
    check: Box<dyn Fn() -> Result<(), String>>,
    lead: watch::Sender<Leadership>,
    clock: Clock,
    _stop: ShutdownRequest,
    _loop: tokio::task::JoinHandle<()>,
}

impl ProgressHarness {
    /// A pod is due from the start.
    async fn new(mood: ServerMood, is_leader: bool) -> Self {
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
        let mood = Arc::new(Mutex::new(mood));
        let serving = Arc::clone(&mood);
        let server = tower::service_fn(move |request: Request<Body>| {
            let mood = *serving.lock().unwrap();
            async move { Ok::<_, Infallible>(response(mood, request).await) }
        });
        let (lead, led) = watch::channel(leading(&clock, is_leader.then_some(LEASE)));
        let api = ApiClient::new(kube::Client::new(server, "default"), "test");
        let context = context(&clock, api, WritePermission::Leader(led));
        let (nodes_out, nodes) = mpsc::channel(1);
        let (pods_out, pods) = mpsc::channel(1);
        let queues = watch_queues(nodes, pods, &context.metrics);
        let (out, stalled) = watch::channel(None);
        let beats = clock.clone();
        let health = LoopHealth::new(Arc::new(move || beats.now().mono));
        let engine = EvictionEngine::new(EvictionConfig::default());
        let control_loop =
            ControlLoop::new(TappedEngine::new(engine, Vec::new()), controller_with(out), context, health);
        let (stop, stopping) = Shutdown::pair();
        let running = tokio::spawn(async move {
            // The watches stay open.
            let _open = (nodes_out.clone(), pods_out.clone());
            nodes_out.send(listed(decoded(&tainted_node()))).await.unwrap();
            pods_out.send(listed(decoded(&due_pod()))).await.unwrap();
            control_loop.run(queues, stopping).await;
        });
        let check = Box::new(check(stalled, clock.clone()));
        Self { mood, check, lead, clock, _stop: stop, _loop: running }
    }

    /// The check after this many more seconds.
    async fn after(&self, seconds: f64) -> Result<(), String> {
        tokio::time::sleep(Duration::from_secs_f64(seconds)).await;
        (self.check)()
    }
}

/// A list of one object.
fn listed<F>(fact: F) -> Vec<ObjectEvent<F>> {
    let start = ObjectEvent::ListStarted { silent_since: None };
    vec![start, ObjectEvent::Applied { fact, listed: true }, ObjectEvent::ListCompleted]
}

async fn response(mood: ServerMood, request: Request<Body>) -> Response<Body> {
    let is_node = request.uri().path() == "/api/v1/nodes/n1";
    let rejected = match mood {
        ServerMood::Silent => std::future::pending().await,
        ServerMood::Forbids => true,
        ServerMood::Denies => *request.method() == Method::DELETE,
        ServerMood::Slow(time) if is_node => {
            tokio::time::sleep(time).await;
            false
        }
        ServerMood::Slow(_) | ServerMood::Well => false,
    };
    let (code, body) = match (rejected, is_node) {
        (true, _) => {
            (403, r#"{"kind":"Status","code":403,"reason":"Forbidden","message":"no such right"}"#.to_owned())
        }
        (false, true) => (200, tainted_node().to_string()),
        (false, false) => (200, due_pod().to_string()),
    };
    let response = Response::builder().status(code).header("content-type", "application/json");
    response.body(Body::from(body.into_bytes())).unwrap()
}

/// Ready for ten seconds, then not, with the reason; ready as soon as a request succeeds.
#[tokio::test(start_paused = true)]
async fn the_check_fails_while_nothing_succeeds_for_due_pods() {
    let moods = [
        (ServerMood::Forbids, "no such right"),
        (ServerMood::Silent, "no answer from the API server"),
        (ServerMood::Slow(Duration::from_secs(8)), ""),
    ];
    for (mood, why) in moods {
        let harness = ProgressHarness::new(mood, true).await;
        assert_eq!(harness.after(9.0).await, Ok(()), "{mood:?}");
        let error = harness.after(2.5).await.unwrap_err();
        assert!(error.starts_with("no read or write for a due pod has succeeded for 1"), "{mood:?}: {error}");
        assert!(error.contains(why), "{mood:?}: {error}");
        assert!(harness.after(600.0).await.is_err(), "{mood:?}");
        *harness.mood.lock().unwrap() = ServerMood::Well;
        assert_eq!(harness.after(60.0).await, Ok(()), "{mood:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_process_that_reads_successfully_or_is_not_the_leader_is_ready() {
    for (mood, is_leader) in [
        (ServerMood::Well, true),
        (ServerMood::Denies, true),
        (ServerMood::Slow(Duration::from_millis(1_500)), true),
        (ServerMood::Forbids, false),
        (ServerMood::Silent, false),
    ] {
        let harness = ProgressHarness::new(mood, is_leader).await;
        for second in 0..120 {
            assert_eq!(harness.after(1.0).await, Ok(()), "{mood:?}, leader: {is_leader}, second {second}");
        }
    }
}

/// Another process acts now, and reports its own state.
#[tokio::test(start_paused = true)]
async fn a_process_that_no_longer_leads_is_ready_again() {
    let harness = ProgressHarness::new(ServerMood::Forbids, true).await;
    assert!(harness.after(15.0).await.is_err());
    harness.lead.send_replace(leading(&harness.clock, None));
    assert_eq!(harness.after(2.0).await, Ok(()));
}
