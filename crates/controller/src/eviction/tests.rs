//! Tests that events wait for permission to write only while the lease lasts, and that log lines are bounded.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use super::progress::StalledEvictions;
use super::*;
use crate::admin::LoopHeartbeat;
use crate::control_loop::{ControlLoop, LoopHealth};
use crate::event_recorder::PodEvent;
use crate::logging::LogFormat;
use crate::logging::tests::logged;
use crate::metrics::MonoClock;
use crate::settings::{EvictionScope, WriteMode};
use crate::shutdown::Shutdown;
use crate::tapped_engine::TappedEngine;
use crate::write_permission::WritePermission;
use http::{Request, Response};
use kube::client::Body;
use serde_json::Value;
use std::convert::Infallible;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use taintward_core::engine::Engine;
use taintward_core::eviction::EvictionConfig;
use taintward_core::identity::{NodeName, PodName, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::taint::Taint;
use taintward_core::testkit::{node, pod, taint, toleration, toleration_row};
use taintward_core::time::Wall;
use taintward_core::toleration::Toleration;
use taintward_kube::api::ApiClient;
use taintward_kube::clock::Clock;
use taintward_kube::decode::{Decoded, WatchedObject};
use taintward_kube::leader_election::Leadership;
use testkit::ObjectExt as _;
use tokio::sync::mpsc;

/// A loop with five waiting events, and its observed behavior.
struct RecorderHarness {
    clock: Clock,
    metrics: Arc<ControllerMetrics>,
    /// Requests that reached the API server, which answers none.
    requests: Arc<AtomicU64>,
    turns: Arc<AtomicU64>,
    lead: watch::Sender<Leadership>,
    stop: crate::shutdown::ShutdownRequest,
    controller: tokio::task::JoinHandle<()>,
}

impl RecorderHarness {
    fn new(lead_for: Option<Span>) -> Self {
        let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
        let (requests, turns): (Arc<AtomicU64>, Arc<AtomicU64>) = Default::default();
        let requested = Arc::clone(&requests);
        let silent = tower::service_fn(move |_: Request<Body>| {
            requested.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<Result<Response<Body>, Infallible>>()
        });
        let (reading, turned) = (clock.clone(), Arc::clone(&turns));
        let beats: MonoClock = Arc::new(move || {
            turned.fetch_add(1, Ordering::Relaxed);
            reading.now().mono
        });
        let metrics = metrics(&clock);
        let (lead, led) = watch::channel(leading(&clock, lead_for));
        let (nodes, pods) = (mpsc::channel(1).1, mpsc::channel(1).1);
        let queues = watch_queues(nodes, pods, &metrics);
        let api = ApiClient::new(kube::Client::new(silent, "default"), "test");
        let context = ControllerContext {
            metrics: Arc::clone(&metrics),
            ..context(&clock, api, WritePermission::Leader(led))
        };
        let health = LoopHealth {
            heartbeat: LoopHeartbeat::new(Span::from_secs(30), beats),
            ..LoopHealth::new(Arc::new(|| Mono::from_secs(0)))
        };
        let engine = EvictionEngine::new(EvictionConfig::default());
        let mut controller =
            ControlLoop::new(TappedEngine::new(engine, Vec::new()), controller(), context, health);
        for pod in ["a", "b", "c", "d", "e"] {
            controller.sink_mut().recorder.record_pod(PodEvent {
                node: NodeName::new("n"),
                pod: PodName::new("shop", pod),
                uid: Uid::new(pod),
                action: "Evict",
                note: "gone".into(),
                aggregated_note: "Marking for deletion",
                at: clock.now().wall,
            });
        }
        let (stop, stopping) = Shutdown::pair();
        let controller = tokio::spawn(controller.run(queues, stopping));
        Self { clock, metrics, requests, turns, lead, stop, controller }
    }

    fn lead(&self, span: Option<Span>) {
        self.lead.send_replace(leading(&self.clock, span));
    }

    fn dropped(&self) -> u64 {
        self.metrics.effects.events_dropped.get()
    }

    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }
}

/// The metrics of a process.
pub(crate) fn metrics(clock: &Clock) -> Arc<ControllerMetrics> {
    let about = metrics::BuildInfo {
        version: "1",
        mode: "enforce",
        lease: "taintward".into(),
        started: Wall::from_secs(1_800_000_000),
        host: String::new(),
    };
    let clock = clock.clone();
    Arc::new(ControllerMetrics::new(Arc::new(move || clock.now().mono), &about))
}

pub(in crate::eviction) fn context(
    clock: &Clock,
    api: ApiClient,
    permission: WritePermission,
) -> ControllerContext {
    ControllerContext {
        api,
        clock: clock.clone(),
        permission,
        mode: WriteMode::Enforce,
        metrics: metrics(clock),
    }
}

fn controller() -> EvictionController {
    controller_with(watch::channel(None).0)
}

pub(in crate::eviction) fn controller_with(stalled: watch::Sender<StalledEvictions>) -> EvictionController {
    let (hold, relist_now) = (watch::channel(false).1, RelistTrigger::default());
    let progress = ProgressReporter::new(stalled);
    EvictionController::new(EvictionScope::AllPods, (hold, None), false, relist_now, progress)
}

pub(in crate::eviction) fn leading(clock: &Clock, span: Option<Span>) -> Leadership {
    let now = clock.now().mono;
    let valid_until = span.map_or(Leadership::none(now).valid_until, |span| now.plus(span));
    Leadership { leading: span.is_some(), valid_until, ..Leadership::none(now) }
}

const LONG: Option<Span> = Some(Span::from_secs(3_600));

#[tokio::test(start_paused = true)]
async fn events_of_a_lost_lead_are_dropped_and_counted_and_not_written_in_the_next() {
    let harness = RecorderHarness::new(None);
    tokio::time::sleep(Duration::from_secs(7_200)).await;
    assert_eq!(harness.dropped(), 5);
    harness.lead(LONG);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((harness.requests(), harness.dropped()), (0, 5));
}

/// The lease is still held, but too short for another request, because its renewal is late.
#[tokio::test(start_paused = true)]
async fn events_wait_for_a_late_renewal_without_waking_the_loop() {
    let harness = RecorderHarness::new(Some(Span::from_secs(3)));
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let turns = harness.turns.load(Ordering::Relaxed);
    assert!(turns <= 5, "{turns} turns in 2.5 s, one a second is needed");
    assert_eq!((harness.requests(), harness.dropped()), (0, 0));
    harness.lead(LONG);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!((harness.requests(), harness.dropped()), (4, 0));
}

/// Four events are being written and never get a response; one waits.
#[tokio::test(start_paused = true)]
async fn events_that_wait_at_the_end_are_counted_as_dropped() {
    let mut harness = RecorderHarness::new(LONG);
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    assert_eq!((harness.requests(), harness.dropped()), (4, 0));
    harness.stop.send();
    (&mut harness.controller).await.unwrap();
    assert_eq!((harness.requests(), harness.dropped()), (4, 1));
}

/// A node with a taint, as the API server has it.
pub(crate) fn tainted_node() -> Value {
    testkit::node("n1").uid("uid-n1").version("7").tainted([testkit::taint("k")])
}

/// A pod that is due on this node.
pub(crate) fn due_pod() -> Value {
    testkit::pod("web").namespace("shop").uid("uid-web").version("7").on("n1")
}

/// The fact of an object, as a watch delivers it.
pub(crate) fn decoded<F: WatchedObject + std::fmt::Debug>(object: &Value) -> F {
    match F::from_json(object.to_string().as_bytes()) {
        Decoded::Object(fact) => fact,
        other => panic!("{other:?}"),
    }
}

/// The log of the pods of one node when its taint is added and removed, in a process that may not write.
fn log_of_a_taint(mode: WriteMode, pods: usize, tolerations: &[Toleration]) -> String {
    log_of_a_taint_with(WritePermission::ReadOnly, mode, pods, tolerations)
}

fn log_of_a_taint_with(
    permission: WritePermission,
    mode: WriteMode,
    pods: usize,
    tolerations: &[Toleration],
) -> String {
    let clock = Clock::of_runtime(Wall::from_secs(1_800_000_000));
    let unused =
        tower::service_fn(|_: Request<Body>| std::future::pending::<Result<Response<Body>, Infallible>>());
    let api = ApiClient::new(kube::Client::new(unused, "default"), "test");
    let context = ControllerContext { mode, ..context(&clock, api, permission) };
    let (mut controller, mut sink) = (controller(), ReportSink::new(EvictionController::RECORDER_LIMITS));
    let mut engine = EvictionEngine::new(EvictionConfig::default());
    logged(LogFormat::Text, 0, || {
        let now = clock.now();
        let observe = |taint: Option<Taint>| {
            let fact = node("n").at_version(7).tainted(taint);
            EvictionInput::Nodes(ObjectEvent::Applied { fact, listed: false })
        };
        let start = [
            EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
            observe(None),
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
            EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
        ];
        start.into_iter().for_each(|input| engine.handle(input, now));
        for number in 0..pods {
            let fact = pod(&format!("p{number}")).on("n").at_version(7).tolerates(tolerations.to_vec());
            engine.handle(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: true }), now);
        }
        engine.handle(EvictionInput::Pods(ObjectEvent::ListCompleted), now);
        for taint in [Some(taint("k")), None] {
            engine.handle(observe(taint), now);
            engine.tick(now.mono);
            for notice in engine.take_notices() {
                controller.report(notice, &engine, &context, &mut sink, now);
            }
        }
        sink.lines.sum_up(None);
    })
}

#[tokio::test(start_paused = true)]
async fn a_thousand_pods_of_one_taint_are_a_hundred_lines_and_a_number() {
    let (brief, odd) = ([toleration("k", Some(300))], [toleration_row("k Resembles v")]);
    for (mode, tolerations, message) in [
        (WriteMode::Enforce, &brief[..], "countdown cancelled"),
        (WriteMode::Observe, &brief, "countdown started"),
        (WriteMode::Observe, &brief, "countdown cancelled"),
        (WriteMode::Observe, &[], "would evict pod now"),
        (WriteMode::Enforce, &odd, "pod stays: it has a toleration with an unsupported operator or effect"),
    ] {
        let log = log_of_a_taint(mode, 1_000, tolerations);
        let lines = |text: &str| log.lines().filter(|line| line.contains(text)).count();
        assert_eq!(
            lines(&format!(" {message} pod=")) + lines(&format!("{message}\" pod=")),
            100,
            "{message}"
        );
        assert_eq!(lines(&format!("withheld=900 of=\"{message}\"")), 1, "{message}");
    }
}

/// The leader says once what a taint does to the pods of its node; a standby and an observer do not.
#[tokio::test(start_paused = true)]
async fn a_taint_that_evicts_pods_is_one_line_of_the_leader() {
    const LINE: &str = "NoExecute taints of a node changed";
    let (brief, forever) = ([toleration("k", Some(300))], [toleration("k", None)]);
    let lines = |permission, tolerations: &[Toleration]| {
        let log = log_of_a_taint_with(permission, WriteMode::Enforce, 1_000, tolerations);
        log.lines().filter(|line| line.contains(LINE)).map(str::to_owned).collect::<Vec<_>>()
    };
    let all = lines(WritePermission::Always, &brief);
    assert_eq!(all.len(), 1, "{all:?}");
    let message = r#"node="n" taints="k:NoExecute" due=0 counting=1000 first="2027-01-15T08:05:00Z" last="2027-01-15T08:05:00Z" staying=0"#;
    assert!(all[0].ends_with(message), "{all:?}");
    let now = lines(WritePermission::Always, &[]);
    assert!(
        now.len() == 1 && now[0].ends_with(r#"taints="k:NoExecute" due=1000 counting=0 staying=0"#),
        "{now:?}"
    );
    assert_eq!(lines(WritePermission::Always, &forever), [""; 0], "every pod stays");
    assert_eq!(lines(WritePermission::ReadOnly, &brief), [""; 0]);
}
