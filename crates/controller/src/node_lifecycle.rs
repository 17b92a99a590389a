//! Connects the node lifecycle engine: nodes are tainted for their conditions and their silence.
//!
//! - Comes in: watch events of nodes, leases and pods; doubts about what this process observes (`observation.rs`).
//! - Goes out, beside requests: whether taint eviction has to hold countdowns (NL-48).
//! - Invariant: whether the watches can be trusted is checked just before effects are pulled (S7).

mod effects;
mod observation;
mod reporting;

use crate::controller::{Controller, EffectOf, InputOf, NoticeOf, ReportSink};
use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectRequest, EffectResult};
use crate::event_recorder::RecorderLimits;
use crate::metrics;
use crate::settings::WriteMode;
use crate::watch_queues::{WatchQueues, WatchReceiver};
use observation::{ApiServerProbe, StreamObserver};
use taintward_core::engine::Engine as _;
use taintward_core::node_lifecycle::{
    LeaseFact, NodeHealthFact, NodeLifecycleConfig, NodeLifecycleEngine, NodeLifecycleInput,
    PodReadinessFact, WatchedKind,
};
use taintward_core::time::{Mono, Now, Span};
use taintward_kube::watch::StreamHealth;
use tokio::sync::watch;

/// The adapter of the node lifecycle engine.
pub(crate) struct NodeLifecycleController {
    observers: [StreamObserver; 2],
    probe: ApiServerProbe,
    hold: watch::Sender<bool>,
}

impl NodeLifecycleController {
    /// An adapter that observes how the watches of nodes and leases are doing, and says by `hold` whether countdowns are to
    /// be held (NL-48).
    pub(crate) fn new(
        config: &NodeLifecycleConfig,
        nodes: watch::Receiver<StreamHealth>,
        leases: watch::Receiver<StreamHealth>,
        hold: watch::Sender<bool>,
    ) -> Self {
        if config.is_grace_short() {
            tracing::warn!(
                "--node-monitor-grace-period is hardly longer than the 10 s after which kubelets renew their leases: a \
                 node that is well is called silent when one renewal is late; give at least 20s, or kubelets a shorter \
                 nodeLeaseDurationSeconds"
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

/// The queues of the engine. Leases first: a sign of life that waits is taken in before a node is called silent.
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
    const PERMISSION_CHANGED: &'static str = "the right to taint nodes changed";
    const REQUEST_FAILED: &'static str =
        "request about a node failed; it is tried again as long as there is reason to";

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
            // The leader before may have used up the rate (S6).
            inputs.push(NodeLifecycleInput::BecameLeader);
        }
        inputs
    }

    fn after_tick(
        &mut self,
        engine: &mut NodeLifecycleEngine,
        took: Span,
        context: &ControllerContext,
    ) -> Option<NodeLifecycleInput> {
        context.metrics.node_health.looked_at_all(took);
        if context.mode == WriteMode::Observe {
            engine.observe(context.clock.now().mono);
        }
        None
    }

    fn request(
        &self,
        effect: EffectOf<Self>,
        _: bool,
        context: &ControllerContext,
    ) -> EffectRequest<InputOf<Self>> {
        effects::request(effect, context)
    }

    fn on_result(&self, result: &EffectResult<NodeLifecycleInput>, context: &ControllerContext, now: Mono) {
        if matches!(result.label.kind, Some(metrics::Effect::ConfirmHealth | metrics::Effect::Declare)) {
            context.metrics.node_health.looked_at_one(now.since(result.sent));
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
