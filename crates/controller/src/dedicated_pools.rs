//! Connects the dedicated pools engine: sets the taints and labels of pools' nodes, and the pools' status.
//!
//! - Comes in: watch events of pools, nodes, namespaces and pods; whether the API server has the kind at all.
//! - Goes out, alongside requests: whether nodes, namespaces and pods have to be watched
//!   (`dedicated_pools/stream_demand.rs`).

mod effects;
mod reporting;
mod stream_demand;

pub(crate) use stream_demand::PoolStreamDemand;

use crate::controller::{Controller, EffectOf, InputOf, NoticeOf, ReportSink};
use crate::controller_context::ControllerContext;
use crate::effect_executor::EffectRequest;
use crate::event_recorder::RecorderLimits;
use crate::metrics;
use crate::watch_queues::{WatchQueues, WatchReceiver};
use effects::PoolRequests;
use std::sync::Arc;
use taintward_core::admission::pool::{PodOnNodeFact, PoolExemptions};
use taintward_core::api_error::ApiFailure;
use taintward_core::dedicated_pools::{
    DedicatedPoolEngine, DedicatedPoolInput, PoolFact, PoolNamespaceFact, PoolNodeFact,
};
use taintward_core::time::{Mono, Now, Span};
use taintward_kube::api::RequestError;
use taintward_kube::decode::NamespaceObject;
use taintward_kube::watch::StreamHealth;
use tokio::sync::watch;

/// The adapter of the dedicated pools engine.
pub(crate) struct DedicatedPoolController {
    requests: PoolRequests,
    /// The health of the watch of pools.
    definition: watch::Receiver<StreamHealth>,
    demand: PoolStreamDemand,
}

impl DedicatedPoolController {
    /// Creates an adapter with these exemptions.
    pub(crate) fn new(
        definition: watch::Receiver<StreamHealth>,
        demand: PoolStreamDemand,
        exemptions: Arc<PoolExemptions>,
    ) -> Self {
        Self { requests: PoolRequests::new(exemptions), definition, demand }
    }
}

/// The queues of the engine: pools before the nodes that they select.
pub(crate) fn watch_queues(
    pools: WatchReceiver<PoolFact>,
    nodes: WatchReceiver<PoolNodeFact>,
    namespaces: WatchReceiver<NamespaceObject>,
    pods: WatchReceiver<PodOnNodeFact>,
) -> WatchQueues<DedicatedPoolInput> {
    let namespace = |object: NamespaceObject| {
        let NamespaceObject { uid, version, name, facts } = object;
        PoolNamespaceFact { uid, version, name, labels: facts.labels }
    };
    WatchQueues::new()
        .with(pools, |event| DedicatedPoolInput::Pools(Box::new(event)))
        .with(nodes, DedicatedPoolInput::Nodes)
        .with(namespaces, move |event| DedicatedPoolInput::Namespaces(event.map(namespace)))
        .with(pods, DedicatedPoolInput::Pods)
}

impl Controller for DedicatedPoolController {
    type Engine = DedicatedPoolEngine;

    const NAME: &'static str = "dedicated-pool-controller";
    const LIMITED_AS: Option<metrics::Controller> = None;
    const RECORDER_LIMITS: RecorderLimits = RecorderLimits { waiting: 100, in_flight: 1, trickle: None };
    const PERMISSION_CHANGED: &'static str = "permission to dedicate nodes changed";
    const REQUEST_FAILED: &'static str =
        "request about a dedicated pool failed, retrying until it succeeds or is no longer needed";

    fn before_tick(&mut self, _: bool, _: &ControllerContext, _: Now) -> Vec<DedicatedPoolInput> {
        vec![DedicatedPoolInput::DefinitionAbsent(self.definition.borrow().absent)]
    }

    fn after_tick(
        &mut self,
        _: &mut DedicatedPoolEngine,
        took: Span,
        _: &ControllerContext,
    ) -> Option<DedicatedPoolInput> {
        Some(DedicatedPoolInput::TickTook(took))
    }

    fn request(
        &self,
        effect: EffectOf<Self>,
        _: bool,
        context: &ControllerContext,
    ) -> EffectRequest<InputOf<Self>> {
        self.requests.request(effect, context)
    }

    fn is_expected(error: &RequestError) -> bool {
        matches!(error.failure, ApiFailure::Conflict | ApiFailure::NotFound)
    }

    fn share(&self, engine: &DedicatedPoolEngine) {
        self.demand.set(engine.needs_other_watches());
    }

    fn report(
        &mut self,
        notice: NoticeOf<Self>,
        _: &DedicatedPoolEngine,
        context: &ControllerContext,
        sink: &mut ReportSink,
        now: Now,
    ) {
        reporting::report(notice, context, sink, now.wall);
    }

    fn publish(&mut self, engine: &DedicatedPoolEngine, context: &ControllerContext, _: Mono) {
        context.metrics.pools.set(engine.stats());
    }
}
