//! Connects the toleration seconds engine: holds and releases pods of silent nodes, backfills or guards others.
//!
//! - Comes in: watch events of nodes and pods; of namespaces for backfill and the guard; of policies for backfill. Goes
//!   out: patches of pods, and the status of policies.

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
    BackfillPolicyFact, HeldPodFact, HoldNodeFact, SecondsNamespaceFact, TolerationSecondsEffect,
    TolerationSecondsEngine, TolerationSecondsInput,
};
use taintward_kube::api::RequestError;
use taintward_kube::decode::{NamespaceObject, PolicyObject};
use tokio::task::JoinHandle;

/// The adapter of the engine.
#[derive(Default)]
pub(crate) struct TolerationSecondsController {
    /// Lists the pods that lost their record while no process ran; started with the permission to write.
    listing: Option<JoinHandle<Result<Vec<PodRef>, RequestError>>>,
}

/// The watches that only backfill and the guard need.
pub(crate) struct SecondsWatches {
    pub(crate) namespaces: WatchReceiver<NamespaceObject>,
    /// For backfill.
    pub(crate) policies: Option<WatchReceiver<PolicyObject>>,
}

/// The queues of the engine: policies and namespaces before nodes, nodes before their pods.
pub(crate) fn watch_queues(
    nodes: WatchReceiver<HoldNodeFact>,
    pods: WatchReceiver<HeldPodFact>,
    seconds: Option<SecondsWatches>,
) -> WatchQueues<TolerationSecondsInput> {
    let namespace = |object: NamespaceObject| {
        let NamespaceObject { name, facts, .. } = object;
        SecondsNamespaceFact { name, facts }
    };
    let policy = |object: PolicyObject| {
        let PolicyObject { uid, version, generation, policy, progress } = object;
        BackfillPolicyFact { uid, version, generation, policy, progress }
    };
    let queues = WatchQueues::new();
    let (namespaces, policies) =
        seconds.map_or((None, None), |watches| (Some(watches.namespaces), watches.policies));
    let queues = match namespaces {
        Some(namespaces) => {
            queues.with(namespaces, move |event| TolerationSecondsInput::Namespaces(event.map(namespace)))
        }
        None => queues,
    };
    let queues = match policies {
        Some(policies) => {
            queues.with(policies, move |event| TolerationSecondsInput::Policies(Box::new(event.map(policy))))
        }
        None => queues,
    };
    queues.with(nodes, TolerationSecondsInput::Nodes).with(pods, TolerationSecondsInput::Pods)
}

impl TolerationSecondsController {
    fn stop_listing(&mut self) {
        self.listing.take().iter().for_each(JoinHandle::abort);
    }
}

impl Controller for TolerationSecondsController {
    type Engine = TolerationSecondsEngine;

    const NAME: &'static str = "toleration-seconds";
    const LIMITED_AS: Option<metrics::Controller> = Some(metrics::Controller::TolerationSeconds);
    const RECORDER_LIMITS: RecorderLimits =
        RecorderLimits { waiting: 1_000, in_flight: 2, trickle: Some(Span::from_millis(200)) };
    const PERMISSION_CHANGED: &'static str = "permission to change tolerationSeconds changed";
    const REQUEST_FAILED: &'static str =
        "cannot change tolerationSeconds, retrying until it succeeds or is no longer needed";

    fn before_tick(
        &mut self,
        may_write_now: bool,
        context: &ControllerContext,
        _: Now,
    ) -> Vec<TolerationSecondsInput> {
        if may_write_now {
            self.stop_listing();
            let api = context.api.clone();
            self.listing = Some(tokio::spawn(async move { api.pods_written_without_record().await }));
        }
        Vec::new()
    }

    async fn side_event(&mut self, _: &ControllerContext) -> Option<TolerationSecondsInput> {
        let Some(listing) = &mut self.listing else { return std::future::pending().await };
        let pods = listing.await;
        self.listing = None;
        match pods {
            Ok(Ok(pods)) => return Some(TolerationSecondsInput::WrittenPods(pods)),
            Ok(Err(error)) => tracing::warn!(
                %error,
                remedy = "check that the account may list pods, and restart the controller",
                "cannot list pods to find those whose annotation was removed while no controller ran"
            ),
            Err(_) => {}
        }
        std::future::pending().await
    }

    async fn drain(&mut self, _: &ControllerContext) {
        self.stop_listing();
    }

    fn request(
        &self,
        effect: EffectOf<Self>,
        _: bool,
        context: &ControllerContext,
    ) -> EffectRequest<InputOf<Self>> {
        let api = context.api.clone();
        match effect {
            TolerationSecondsEffect::PatchPod(patch) => {
                let pod = PodRef { node: patch.node.clone(), uid: patch.pod.uid().clone() };
                let kind = Some(metrics::Effect::WriteSeconds);
                let label = RequestLabel { kind, object: patch.pod.name().to_string(), pod: Some(pod) };
                let response = Box::pin(async move {
                    let (result, error) = split_error(api.write_toleration_seconds(&patch).await);
                    (TolerationSecondsInput::PatchDone { patch, result }, error)
                });
                EffectRequest { label, response }
            }
            TolerationSecondsEffect::WriteStatus(write) => {
                let kind = Some(metrics::Effect::UpdatePolicyStatus);
                let label = RequestLabel { kind, object: write.name.to_string(), pod: None };
                let response = Box::pin(async move {
                    let (result, error) = split_error(api.write_policy_status(&write).await);
                    (TolerationSecondsInput::StatusDone { write, result }, error)
                });
                EffectRequest { label, response }
            }
        }
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
        context.metrics.backfill.set(engine.stats());
        context.metrics.guard.set(engine.stats());
    }
}
