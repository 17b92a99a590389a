//! Connects the node lifecycle engine: taints nodes for their conditions and their silence.
//!
//! - Comes in: watch events of nodes, leases and pods; doubts about what this process observes (`StreamObserver`,
//!   `ApiServerProbe`).
//! - Goes out, in addition to requests: whether taint eviction has to hold countdowns (NL-48).
//! - Invariant: whether the watches can be trusted is checked just before effects are pulled (S7).

mod effects;
mod reporting;

use crate::controller::{Controller, EffectOf, InputOf, NoticeOf, ReportSink};
use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectRequest, EffectResult};
use crate::event_recorder::RecorderLimits;
use crate::metrics;
use crate::settings::WriteMode;
use crate::watch_queues::{WatchQueues, WatchReceiver};
use crate::write_permission::WritePermission;
use futures::future::BoxFuture;
use taintward_core::engine::Engine as _;
use taintward_core::node_lifecycle::{
    LeaseFact, NodeHealthFact, NodeLifecycleConfig, NodeLifecycleEngine, NodeLifecycleInput,
    PodReadinessFact, WatchedKind,
};
use taintward_core::time::{Mono, Now, Span};
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::watch::{StreamHealth, StreamPhase};
use tokio::sync::watch;
use tokio::time::Instant;

/// The minimum pause before a failed probe is repeated.
const ASSIGNMENT_RETRY: Span = Span::from_secs(1);

/// The adapter of the node lifecycle engine.
pub(crate) struct NodeLifecycleController {
    observers: [StreamObserver; 2],
    probe: ApiServerProbe,
    hold: watch::Sender<bool>,
}

impl NodeLifecycleController {
    /// Creates an adapter that observes the health of the watches of nodes and leases, and publishes in `hold` whether
    /// countdowns must be held (NL-48).
    pub(crate) fn new(
        config: &NodeLifecycleConfig,
        nodes: watch::Receiver<StreamHealth>,
        leases: watch::Receiver<StreamHealth>,
        hold: watch::Sender<bool>,
    ) -> Self {
        if config.is_grace_short() {
            tracing::warn!(
                flag = "--node-monitor-grace-period",
                remedy = "set at least 20s, or give kubelets a shorter nodeLeaseDurationSeconds",
                "a healthy node counts as silent when one renewal of its lease is late"
            );
        }
        Self {
            observers: [
                StreamObserver::new(WatchedKind::Nodes, nodes),
                StreamObserver::new(WatchedKind::Leases, leases),
            ],
            probe: ApiServerProbe::new(config.gap_max()),
            hold,
        }
    }
}

/// The queues of the engine. Leases come first: a renewal that is waiting must be processed before a node counts as
/// silent.
pub(crate) fn watch_queues(
    leases: WatchReceiver<LeaseFact>,
    nodes: WatchReceiver<NodeHealthFact>,
    pods: WatchReceiver<PodReadinessFact>,
) -> WatchQueues<NodeLifecycleInput> {
    WatchQueues::new()
        .with(leases, NodeLifecycleInput::Leases)
        .with(nodes, NodeLifecycleInput::Nodes)
        .with(pods, NodeLifecycleInput::Pods)
}

impl Controller for NodeLifecycleController {
    type Engine = NodeLifecycleEngine;

    const NAME: &'static str = "node-lifecycle-controller";
    const LIMITED_AS: Option<metrics::Controller> = Some(metrics::Controller::NodeLifecycle);
    const RECORDER_LIMITS: RecorderLimits = RecorderLimits { waiting: 1_000, in_flight: 2, trickle: None };
    const PERMISSION_CHANGED: &'static str = "permission to taint nodes changed";
    const REQUEST_FAILED: &'static str =
        "request about a node failed, retrying until it succeeds or is no longer needed";

    fn before_tick(
        &mut self,
        may_write_now: bool,
        context: &ControllerContext,
        now: Now,
    ) -> Vec<NodeLifecycleInput> {
        self.probe.start(&context.api, now.mono);
        let doubts = self.observers.iter_mut().flat_map(|observer| observer.poll(now.mono));
        let mut inputs: Vec<NodeLifecycleInput> = doubts.collect();
        inputs.extend(self.probe.renewed(&context.permission));
        if may_write_now {
            // The previous leader may have used up the rate (S6).
            inputs.push(NodeLifecycleInput::BecameLeader);
        }
        inputs
    }

    fn after_tick(
        &mut self,
        _: &mut NodeLifecycleEngine,
        took: Span,
        context: &ControllerContext,
    ) -> Option<NodeLifecycleInput> {
        context.metrics.node_health.checked_all(took);
        (context.mode == WriteMode::Observe).then_some(NodeLifecycleInput::DryRun)
    }

    fn request(
        &self,
        effect: EffectOf<Self>,
        _: bool,
        context: &ControllerContext,
    ) -> EffectRequest<InputOf<Self>> {
        effects::request(effect, context)
    }

    fn on_result(
        &mut self,
        result: &EffectResult<NodeLifecycleInput>,
        context: &ControllerContext,
        now: Mono,
    ) {
        if matches!(result.label.kind, Some(metrics::Effect::ConfirmHealth | metrics::Effect::Declare)) {
            context.metrics.node_health.checked_node(now.since(result.sent));
        }
    }

    fn share(&self, engine: &NodeLifecycleEngine) {
        if engine.is_synced() {
            let holds = engine.holds_countdowns();
            self.hold.send_if_modified(|hold| std::mem::replace(hold, holds) != holds);
        }
    }

    fn report(
        &mut self,
        notice: NoticeOf<Self>,
        _: &NodeLifecycleEngine,
        context: &ControllerContext,
        sink: &mut ReportSink,
        now: Now,
    ) {
        reporting::report(&notice, context, sink, now);
    }

    fn on_sync(&self, engine: &NodeLifecycleEngine, now: Now) {
        reporting::zones(engine, now);
    }

    fn publish(&mut self, engine: &NodeLifecycleEngine, context: &ControllerContext, now: Mono) {
        let stats = engine.stats();
        let metrics = &context.metrics.node_health;
        metrics.zones(engine.zones());
        metrics.nodes(metrics::NodeGauges {
            silent: stats.silent,
            tainted: stats.tainted,
            waiting: stats.waiting,
            failing: stats.failing,
            not_understood: stats.not_understood,
            everything_down: engine.is_everything_down(),
            in_doubt: engine.doubt(now).is_some(),
        });
    }

    fn next_wakeup(
        &self,
        engine: &NodeLifecycleEngine,
        ticked: Mono,
        _: Mono,
        _: &ControllerContext,
    ) -> Option<Mono> {
        let engine = engine.next_wakeup().filter(|at| *at > ticked);
        let probe = self.probe.start_at().filter(|_| !self.probe.is_in_flight());
        engine.into_iter().chain(probe).min()
    }

    async fn side_event(&mut self, _: &ControllerContext) -> Option<NodeLifecycleInput> {
        let result = self.probe.result().await;
        self.probe.on_result(result)
    }
}

/// Observes the health of one watch.
#[derive(Debug)]
struct StreamObserver {
    stream: WatchedKind,
    health: watch::Receiver<StreamHealth>,
    last_active: Option<Instant>,
    /// When this process noticed the latest message of the watch.
    last_activity: Option<Mono>,
    failures: u64,
    lost: bool,
}

impl StreamObserver {
    fn new(stream: WatchedKind, health: watch::Receiver<StreamHealth>) -> Self {
        Self { stream, health, last_active: None, last_activity: None, failures: 0, lost: false }
    }

    /// The inputs for changes of the watch's health. A watch that the server closed properly, and that was reopened
    /// before this call, has lost nothing. A broken one has been silent since its last message.
    fn poll(&mut self, now: Mono) -> Vec<NodeLifecycleInput> {
        if !self.health.has_changed().unwrap_or(false) {
            return Vec::new();
        }
        let health = self.health.borrow_and_update();
        let (in_step, before) = (health.phase == StreamPhase::Watching, self.last_activity);
        // A failed relist alongside the watch has lost no event of the watch.
        let failures = health.counters.failures - health.counters.failures_beside;
        let failed = std::mem::replace(&mut self.failures, failures) < failures;
        if health.last_active != self.last_active {
            (self.last_active, self.last_activity) = (health.last_active, Some(now));
        }
        let mut inputs = Vec::new();
        if failed || (!in_step && !self.lost) {
            let since = before.filter(|_| failed).unwrap_or(now);
            inputs.push(NodeLifecycleInput::StreamLost { stream: self.stream, since });
            self.lost = true;
        }
        if in_step && std::mem::take(&mut self.lost) {
            inputs.push(NodeLifecycleInput::StreamRecovered { stream: self.stream });
        }
        inputs
    }
}

/// When a probe was sent, and its result.
type ProbeResult = (Mono, Result<(), RequestError>);

/// Probes whether the API server accepts requests.
struct ApiServerProbe {
    /// How long after the latest success the next probe is due.
    interval: Span,
    proof: Option<Mono>,
    sent_at: Option<Mono>,
    in_flight: Option<BoxFuture<'static, ProbeResult>>,
}

impl ApiServerProbe {
    /// Creates a probe for a caller that needs a success at least every `gap`.
    const fn new(gap: Span) -> Self {
        let interval = Span::from_micros(gap.as_micros() / 2);
        Self { interval, proof: None, sent_at: None, in_flight: None }
    }

    /// Reports a renewal of the lease as a success, if it is a new one.
    fn renewed(&mut self, permission: &WritePermission) -> Option<NodeLifecycleInput> {
        let sent = permission.renewed().filter(|sent| self.proof.is_none_or(|proof| *sent > proof))?;
        self.proof = Some(sent);
        Some(NodeLifecycleInput::OwnRequestSucceeded { sent })
    }

    /// Sends a probe, unless another request has succeeded recently.
    fn start(&mut self, api: &ApiClient, now: Mono) {
        if self.in_flight.is_none() && self.start_at().is_none_or(|at| at <= now) {
            let api = api.clone();
            self.sent_at = Some(now);
            self.in_flight = Some(Box::pin(async move { (now, api.check_server().await) }));
        }
    }

    /// When the next probe is due; `None`: now.
    fn start_at(&self) -> Option<Mono> {
        let due = self.proof.map(|proof| proof.plus(self.interval));
        let again = self.sent_at.map(|sent_at| sent_at.plus(ASSIGNMENT_RETRY.min(self.interval)));
        due.max(again)
    }

    /// The result of the next probe; never returns while there is none.
    async fn result(&mut self) -> ProbeResult {
        let Some(in_flight) = &mut self.in_flight else { return std::future::pending().await };
        let outcome = in_flight.await;
        self.in_flight = None;
        outcome
    }

    /// Reports a probe that succeeded.
    fn on_result(&mut self, (sent, result): ProbeResult) -> Option<NodeLifecycleInput> {
        match result {
            Ok(()) => {
                self.proof = self.proof.max(Some(sent));
                Some(NodeLifecycleInput::OwnRequestSucceeded { sent })
            }
            Err(error) => {
                tracing::debug!(err = %error.message, "a probe of the API server failed");
                None
            }
        }
    }

    const fn is_in_flight(&self) -> bool {
        self.in_flight.is_some()
    }
}

#[cfg(test)]
mod tests;
