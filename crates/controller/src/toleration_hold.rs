//! Connects the engine of toleration seconds: pods of silent nodes are held, and released.
//!
//! - Comes in: watch events of nodes and pods. Goes out: patches of pods.

mod reporting;

use crate::controller::{Controller, EffectOf, InputOf, NoticeOf, ReportSink};
use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectRequest, RequestLabel, split_error};
use crate::event_recorder::RecorderLimits;
use crate::metrics;
use crate::watch_queues::{WatchQueues, WatchReceiver};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::PodRef;
use taintward_core::time::{Mono, Now, Span};
use taintward_core::toleration_seconds::{
    HeldPodFact, HoldNodeFact, TolerationSecondsEngine, TolerationSecondsInput,
};
use taintward_kube::api::RequestError;

/// The adapter of the engine.
pub(crate) struct TolerationHoldController;

/// The queues of the engine: nodes before their pods.
pub(crate) fn watch_queues(
    nodes: WatchReceiver<HoldNodeFact>,
    pods: WatchReceiver<HeldPodFact>,
) -> WatchQueues<TolerationSecondsInput> {
    WatchQueues::new().with(nodes, TolerationSecondsInput::Nodes).with(pods, TolerationSecondsInput::Pods)
}

impl Controller for TolerationHoldController {
    type Engine = TolerationSecondsEngine;

    const NAME: &'static str = "toleration-hold-controller";
    const LIMITED_AS: Option<metrics::Controller> = Some(metrics::Controller::TolerationHold);
    const RECORDER_LIMITS: RecorderLimits =
        RecorderLimits { waiting: 1_000, in_flight: 2, trickle: Some(Span::from_millis(200)) };
    const PERMISSION_CHANGED: &'static str = "the right to hold countdowns changed";
    const REQUEST_FAILED: &'static str =
        "a pod could not be held or released; it is tried again as long as there is reason to";

    fn before_tick(&mut self, _: bool, _: &ControllerContext, _: Now) -> Vec<TolerationSecondsInput> {
        Vec::new()
    }

    fn request(
        &self,
        patch: EffectOf<Self>,
        _: bool,
        context: &ControllerContext,
    ) -> EffectRequest<InputOf<Self>> {
        let api = context.api.clone();
        let pod = PodRef { node: patch.node.clone(), uid: patch.pod.uid().clone() };
        let kind = Some(metrics::Effect::WriteSeconds);
        let label = RequestLabel { kind, object: patch.pod.name().to_string(), pod: Some(pod) };
        let response = Box::pin(async move {
            let (result, error) = split_error(api.write_toleration_seconds(&patch).await);
            (TolerationSecondsInput::PatchDone { patch: Box::new(patch), result }, error)
        });
        EffectRequest { label, response }
    }

    fn is_expected(error: &RequestError) -> bool {
        matches!(error.failure, ApiFailure::Conflict | ApiFailure::NotFound)
    }

    fn report(
        &mut self,
        notice: NoticeOf<Self>,
        _: &TolerationSecondsEngine,
        context: &ControllerContext,
        sink: &mut ReportSink,
        now: Now,
    ) {
        reporting::report(notice, context, sink, now);
    }

    fn publish(&mut self, engine: &TolerationSecondsEngine, context: &ControllerContext, _: Mono) {
        context.metrics.holds.set(engine.stats(), engine.limits_exceeded().count());
    }
}
