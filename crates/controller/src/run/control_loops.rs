//! Builds the control loops: each controller with its engine.

use super::{HealthState, config};
use crate::control_loop::{ControlLoop, LoopHealth};
use crate::controller::Controller;
use crate::controller_context::ControllerContext;
use crate::dedicated_pools::{DedicatedPoolController, PoolStreamDemand};
use crate::eviction::progress::ProgressReporter;
use crate::eviction::{EvictionController, PolicyFollower};
use crate::node_lifecycle::NodeLifecycleController;
use crate::request_monitor::RequestMonitor;
use crate::settings::{ControllerSettings, EnabledControllers, EvictionScope, WriteMode};
use crate::tapped_engine::TappedEngine;
use crate::toleration_seconds::TolerationSecondsController;
use crate::write_permission::WritePermission;
use std::sync::Arc;
use taintward_core::dedicated_pools::{DedicatedPoolConfig, DedicatedPoolEngine};
use taintward_core::engine_monitor::EngineMonitor;
use taintward_core::eviction::EvictionEngine;
use taintward_core::eviction_monitor::EvictionMonitor;
use taintward_core::node_lifecycle::{NodeLifecycleConfig, NodeLifecycleEngine};
use taintward_core::node_lifecycle_monitor::NodeLifecycleMonitor;
use taintward_core::toleration_seconds::TolerationSecondsEngine;
use taintward_core::toleration_seconds_monitor::TolerationSecondsMonitor;
use taintward_kube::api::ApiClient;
use taintward_kube::clock::Clock;
use taintward_kube::watch::{RelistTrigger, StreamHealth};
use taintward_record::{CallTap, EngineTap, RecordedController, RecordedEngine, SegmentLimits};
use tokio::sync::watch;

/// What every control loop is built from.
pub(super) struct ControlLoops<'r> {
    pub(super) settings: &'r ControllerSettings,
    pub(super) health_state: &'r HealthState,
    pub(super) clock: &'r Clock,
    pub(super) api: &'r ApiClient,
    pub(super) permission: &'r WritePermission,
}

impl ControlLoops<'_> {
    fn context(&self) -> ControllerContext {
        ControllerContext {
            api: self.api.clone(),
            clock: self.clock.clone(),
            permission: self.permission.clone(),
            mode: self.settings.mode,
            metrics: Arc::clone(&self.health_state.metrics),
        }
    }

    fn control_loop<C: Controller>(
        &self,
        engine: TappedEngine<C::Engine>,
        controller: C,
        health: &LoopHealth,
    ) -> ControlLoop<C> {
        ControlLoop::new(engine, controller, self.context(), health.clone())
    }

    /// The tap of an engine, if this process keeps a record.
    fn record<E: RecordedEngine>(&self, controller: RecordedController) -> Vec<Box<dyn CallTap<E>>> {
        let recorder = self.settings.recorder.clone();
        let tap = recorder.map(|recorder| EngineTap::new(controller, SegmentLimits::default(), recorder));
        tap.into_iter().map(|tap| -> Box<dyn CallTap<E>> { Box::new(tap) }).collect()
    }

    /// The check of an engine's requests.
    fn monitor<M: EngineMonitor + Send + 'static>(&self, engine: &M::Engine) -> Box<dyn CallTap<M::Engine>> {
        Box::new(RequestMonitor::<M>::new(engine, Arc::clone(&self.health_state.metrics)))
    }

    pub(super) fn eviction(
        &self,
        scope: EvictionScope,
        hold: watch::Receiver<bool>,
        relist_now: RelistTrigger,
        policies: Option<PolicyFollower>,
    ) -> ControlLoop<EvictionController> {
        let stamp_taints = self.settings.stamp_taints && self.settings.mode == WriteMode::Enforce;
        let progress = ProgressReporter::new(self.health_state.stalled.clone());
        let controller = EvictionController::new(scope, (hold, policies), stamp_taints, relist_now, progress);
        let engine = EvictionEngine::new(config(self.settings));
        let mut taps = self.record(RecordedController::TaintEviction);
        taps.push(self.monitor::<EvictionMonitor>(&engine));
        let engine = TappedEngine::new(engine, taps);
        self.control_loop(engine, controller, &self.health_state.eviction)
    }

    pub(super) fn node_lifecycle(
        &self,
        config: NodeLifecycleConfig,
        (nodes, leases): (watch::Receiver<StreamHealth>, watch::Receiver<StreamHealth>),
        hold: watch::Sender<bool>,
    ) -> ControlLoop<NodeLifecycleController> {
        let controller = NodeLifecycleController::new(&config, nodes, leases, hold);
        let engine = NodeLifecycleEngine::new(config);
        let mut taps = self.record(RecordedController::NodeLifecycle);
        taps.push(self.monitor::<NodeLifecycleMonitor>(&engine));
        let engine = TappedEngine::new(engine, taps);
        self.control_loop(engine, controller, &self.health_state.node_lifecycle)
    }

    pub(super) fn dedicated_pools(
        &self,
        definition: watch::Receiver<StreamHealth>,
        demand: PoolStreamDemand,
    ) -> ControlLoop<DedicatedPoolController> {
        let exemptions = Arc::new(self.settings.exemptions());
        let engine = DedicatedPoolEngine::new(DedicatedPoolConfig {
            exemptions: Arc::clone(&exemptions),
            longest_request: self.api.longest_request(),
        });
        let controller = DedicatedPoolController::new(definition, demand, exemptions);
        // Its effects contain plans for all pools, which are too large for a record.
        let engine = TappedEngine::new(engine, Vec::new());
        self.control_loop(engine, controller, &self.health_state.dedicated_pools)
    }

    pub(super) fn toleration_seconds(&self) -> ControlLoop<TolerationSecondsController> {
        let EnabledControllers { toleration_hold, toleration_backfill, toleration_guard, .. } =
            self.settings.controllers.clone();
        let engine = TolerationSecondsEngine::new(toleration_hold, toleration_backfill, toleration_guard);
        let controller = TolerationSecondsController::default();
        let mut taps = self.record(RecordedController::TolerationSeconds);
        taps.push(self.monitor::<TolerationSecondsMonitor>(&engine));
        let engine = TappedEngine::new(engine, taps);
        self.control_loop(engine, controller, &self.health_state.toleration_seconds)
    }
}
