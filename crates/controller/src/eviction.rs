//! Connects the eviction engine: evicts pods because of NoExecute taints.
//!
//! - Comes in: watch events of nodes and pods; whether node lifecycle holds countdowns (NL-48).
//! - See `eviction/effects.rs` for the requests and `eviction/reporting.rs` for what operators read.

mod brake_report;
mod effects;
mod policies;
mod policy_reporter;
pub(crate) mod progress;
mod reporting;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use policies::{PolicyDemand, PolicyFollower, PolicyWatches};

use crate::controller::{Controller, EffectOf, InputOf, NoticeOf, ReportSink};
use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectRequest, EffectResult};
use crate::event_recorder::RecorderLimits;
use crate::log_rate_limit::LogRateLimit;
use crate::metrics::{self, ControllerMetrics, Queue};
use crate::settings::EvictionScope;
use crate::time_added_writer::TimeAddedWriter;
use crate::watch_queues::{WatchQueues, WatchReceiver};
use policy_reporter::PolicyReporter;
use progress::ProgressReporter;
use std::sync::Arc;
use taintward_core::engine::Lane;
use taintward_core::eviction::{EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now, Span};
use taintward_kube::api::RequestError;
use taintward_kube::watch::RelistTrigger;
use tokio::sync::watch;

/// The adapter of the eviction engine.
pub(crate) struct EvictionController {
    /// Whether countdowns are on hold (NL-48); never if node lifecycle runs elsewhere.
    hold: watch::Receiver<bool>,
    holds: bool,
    /// `None`: no eviction policy exists for this process.
    policies: Option<PolicyFollower>,
    policy_reporter: PolicyReporter,
    /// Writes `timeAdded`, if enabled.
    time_added: Option<TimeAddedWriter>,
    /// Triggers a relist of everything.
    relist_now: RelistTrigger,
    other_controller_lines: LogRateLimit,
    /// Counts pods that another client deleted just before this process would have: a few may be coincidence.
    chance: LogRateLimit,
    relist_lines: LogRateLimit,
    scope: EvictionScope,
    progress: ProgressReporter,
}

impl EvictionController {
    pub(crate) fn new(
        scope: EvictionScope,
        (hold, policies): (watch::Receiver<bool>, Option<PolicyFollower>),
        stamp_taints: bool,
        relist_now: RelistTrigger,
        progress: ProgressReporter,
    ) -> Self {
        Self {
            hold,
            holds: false,
            policies,
            policy_reporter: PolicyReporter::new(),
            time_added: stamp_taints.then(TimeAddedWriter::default),
            relist_now,
            other_controller_lines: LogRateLimit::per_minute(1),
            chance: LogRateLimit::per_minute(2),
            relist_lines: LogRateLimit::per_minute(1),
            scope,
            progress,
        }
    }
}

/// The queues of the engine: nodes before pods when both have events (TE-6).
pub(crate) fn watch_queues(
    nodes: WatchReceiver<NodeFact>,
    pods: WatchReceiver<PodFact>,
    metrics: &Arc<ControllerMetrics>,
) -> WatchQueues<EvictionInput> {
    let (of_nodes, of_pods) = (Arc::clone(metrics), Arc::clone(metrics));
    WatchQueues::new()
        .with(nodes, move |event| {
            of_nodes.queues.added(Queue::Node, false);
            if let ObjectEvent::Applied { fact, .. } = &event {
                of_nodes.watches.count_unknown_taints(fact);
            }
            EvictionInput::Nodes(event)
        })
        .with(pods, move |event| {
            if let ObjectEvent::Applied { fact, .. } = &event {
                of_pods.watches.count_unknown_tolerations(fact);
            }
            EvictionInput::Pods(event)
        })
}

impl Controller for EvictionController {
    type Engine = EvictionEngine;

    const NAME: &'static str = "taint-eviction-controller";
    const LIMITED_AS: Option<metrics::Controller> = Some(metrics::Controller::TaintEviction);
    const RECORDER_LIMITS: RecorderLimits =
        RecorderLimits { waiting: 1_000, in_flight: 4, trickle: Some(Span::from_millis(200)) };
    const PERMISSION_CHANGED: &'static str = "permission to evict changed";
    const REQUEST_FAILED: &'static str = "request failed, retrying until it succeeds or is no longer needed";

    fn before_tick(&mut self, _: bool, context: &ControllerContext, now: Now) -> Vec<EvictionInput> {
        if let Some(time_added) = self.time_added.as_mut().filter(|_| context.may_write()) {
            time_added.start(context, now.mono);
        }
        let holds = *self.hold.borrow_and_update();
        let changed = std::mem::replace(&mut self.holds, holds) != holds;
        let hold = changed.then_some(EvictionInput::CountdownHold(holds));
        hold.into_iter().chain(self.policies.as_ref().map(PolicyFollower::input)).collect()
    }

    fn after_tick(
        &mut self,
        engine: &mut EvictionEngine,
        _: Span,
        context: &ControllerContext,
    ) -> Option<EvictionInput> {
        if self.policies.is_some() {
            self.policy_reporter.start(engine, context, context.clock.now());
        }
        None
    }

    fn share(&self, engine: &EvictionEngine) {
        self.policies.iter().for_each(|policies| policies.share(engine));
    }

    fn is_slow(effect: &EffectOf<Self>) -> bool {
        matches!(effect, EvictionEffect::DeletePod { slow: true, .. })
    }

    fn request(
        &self,
        effect: EffectOf<Self>,
        is_retry: bool,
        context: &ControllerContext,
    ) -> EffectRequest<InputOf<Self>> {
        if is_retry {
            context.metrics.queues.added(Queue::Pod, true);
        }
        effects::request(effect, self.scope, context)
    }

    /// The pod waits for its disruption budget.
    fn is_expected(error: &RequestError) -> bool {
        error.budget.is_some()
    }

    fn on_result(&mut self, result: &EffectResult<EvictionInput>, _: &ControllerContext, now: Mono) {
        self.progress.on_result(result, now);
    }

    fn report(
        &mut self,
        notice: NoticeOf<Self>,
        engine: &EvictionEngine,
        context: &ControllerContext,
        sink: &mut ReportSink,
        now: Now,
    ) {
        reporting::EvictionReport::new(self, engine, context, sink, now).report(notice);
    }

    fn on_sync(&self, engine: &EvictionEngine, _: Now) {
        let stats = engine.stats();
        let (nodes, pods, tainted) = (stats.nodes, stats.pods, stats.tainted_nodes);
        tracing::info!(nodes, pods, tainted, due = stats.due, counting = stats.counting, "synced");
    }

    fn publish(&mut self, engine: &EvictionEngine, context: &ControllerContext, now: Mono) {
        let stats = engine.stats();
        self.progress.publish(stats.stall.filter(|_| context.may_write()), now);
        let due = stats.due + stats.in_hand;
        context.metrics.evictions.census(metrics::EvictionGauges {
            pods: stats.pods,
            nodes: stats.nodes,
            tainted_nodes: stats.tainted_nodes,
            ready_out_of_service_nodes: stats.ready_out_of_service_nodes,
            pending: stats.counting,
            due,
            retrying: engine.failing_evictions().count(),
            braked_keys: stats.braked_keys,
            oldest_due: stats.oldest_due,
        });
        context.metrics.eviction_policies.set_delayed(stats.delayed, stats.oldest_delayed);
        context.metrics.queues.depth(Queue::Pod, due);
    }

    fn is_busy(engine: &EvictionEngine, now: Mono) -> bool {
        engine.has_work(Lane::Fresh, now)
    }

    /// A retry that is due waits for room or for the permission to write. A result or a change of leadership wakes the
    /// loop, so the retry must not hide another deadline.
    fn next_wakeup(
        &self,
        engine: &EvictionEngine,
        _: Mono,
        now: Mono,
        context: &ControllerContext,
    ) -> Option<Mono> {
        let retry = engine.retry_at().filter(|at| *at > now);
        let time_added = self.time_added.as_ref().filter(|_| context.may_write());
        let time_added = time_added.and_then(TimeAddedWriter::next_wakeup);
        let statuses = self.policies.as_ref().filter(|_| context.may_write());
        let statuses = statuses.and_then(|_| self.policy_reporter.next_wakeup());
        engine.deadline_at().into_iter().chain(retry).chain(time_added).chain(statuses).min()
    }

    async fn side_event(&mut self, context: &ControllerContext) -> Option<EvictionInput> {
        let time_added = async {
            match &mut self.time_added {
                Some(time_added) => time_added.finish(context).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            () = time_added => None,
            () = self.policy_reporter.finish(context) => None,
            // The value is read before the next tick.
            Ok(()) = self.hold.changed() => None,
        }
    }

    async fn drain(&mut self, context: &ControllerContext) {
        if let Some(time_added) = self.time_added.as_mut().filter(|writer| writer.is_in_flight()) {
            time_added.finish(context).await;
        }
        if self.policy_reporter.is_in_flight() {
            self.policy_reporter.finish(context).await;
        }
    }
}
