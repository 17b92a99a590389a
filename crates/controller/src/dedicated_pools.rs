//! # Dedicated pools: the loop around their engine
//! Room:     one task that owns the engine: watches in, effects out, notices reported, time passing.
//! Comes in: batches from four watches, responses, leadership, the request to stop.
//! Goes out: taints and labels of nodes, finalizers and status of pools, evictions, through [`PoolEffectExecutor`]; events,
//!           log lines, metrics; which watches are needed.
//! Keeps:    no effect is pulled unless we may act.
//! Not here: deciding (the core's `dedicated_pools`), sending (`pool_effects.rs`).

mod pool_effects;
mod pool_reporting;
mod pool_watch_queues;
mod stream_demand;

pub(crate) use pool_watch_queues::PoolWatchQueues;
pub(crate) use stream_demand::PoolStreamDemand;

use crate::admin::LoopHeartbeat;
use crate::metrics::ControllerMetrics;
use crate::settings::WriteMode;
use crate::shutdown::Shutdown;
use crate::write_permission::WritePermission;
use pool_effects::{PoolEffectExecutor, PoolEffectResult};
use pool_reporting::PoolReporter;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_core::admission::pool::PoolExemptions;
use taintward_core::dedicated_pools::{DedicatedPoolConfig, DedicatedPoolEngine, DedicatedPoolInput};
use taintward_core::engine::{Engine, Lane};
use taintward_core::time::{Mono, Span};
use taintward_kube::api::ApiClient;
use taintward_kube::clock::Clock;
use taintward_kube::watch::StreamHealth;
use tokio::sync::watch;

/// Counts are published this often.
const HOUSEKEEPING: Span = Span::from_secs(1);

/// Batches that are taken in before anything else is done, at most.
const BATCHES_AT_ONCE: usize = 64;

/// How long requests under way have to end after the request to stop.
const DRAIN_MAX: Duration = Duration::from_millis(2_800);

/// The task that owns the engine of dedicated pools.
pub(crate) struct DedicatedPoolController {
    engine: DedicatedPoolEngine,
    executor: PoolEffectExecutor,
    reporter: PoolReporter,
    clock: Clock,
    api: ApiClient,
    definition: watch::Receiver<StreamHealth>,
    demand: PoolStreamDemand,
    permission: WritePermission,
    mode: WriteMode,
    metrics: Arc<ControllerMetrics>,
    heartbeat: LoopHeartbeat,
    synced: Arc<AtomicBool>,
    published: Option<Mono>,
    was_acting: bool,
}

/// What it is made of.
pub(crate) struct DedicatedPoolParts {
    pub(crate) clock: Clock,
    pub(crate) api: ApiClient,
    /// How the watch of pools is doing.
    pub(crate) definition: watch::Receiver<StreamHealth>,
    pub(crate) demand: PoolStreamDemand,
    pub(crate) permission: WritePermission,
    pub(crate) mode: WriteMode,
    pub(crate) metrics: Arc<ControllerMetrics>,
    pub(crate) heartbeat: LoopHeartbeat,
    pub(crate) synced: Arc<AtomicBool>,
    /// Where the names of known nodes are: the namespace of the lease.
    pub(crate) namespace: Option<Arc<str>>,
    /// Which pods no pool has a say in.
    pub(crate) exemptions: PoolExemptions,
}

impl DedicatedPoolController {
    pub(crate) fn new(parts: DedicatedPoolParts) -> Self {
        let DedicatedPoolParts {
            clock,
            api,
            definition,
            demand,
            permission,
            mode,
            metrics,
            heartbeat,
            synced,
            namespace,
            exemptions,
        } = parts;
        let exemptions = Arc::new(exemptions);
        let config = DedicatedPoolConfig {
            exemptions: Arc::clone(&exemptions),
            writes_known_nodes: namespace.is_some(),
            longest_request: api.longest_request(),
        };
        let (engine_api, effects) = (api.clone(), metrics.effects.clone());
        Self {
            engine: DedicatedPoolEngine::new(config),
            executor: PoolEffectExecutor::new(
                engine_api,
                clock.clone(),
                permission.clone(),
                exemptions,
                namespace.unwrap_or_default(),
                effects,
            ),
            reporter: PoolReporter::new(mode),
            clock,
            api,
            definition,
            demand,
            permission,
            mode,
            metrics,
            heartbeat,
            synced,
            published: None,
            was_acting: false,
        }
    }

    /// Goes round until asked to stop; then starts nothing more, and waits for what is under way.
    pub(crate) async fn run(mut self, mut queues: PoolWatchQueues, mut stop: Shutdown) {
        loop {
            self.heartbeat.beat();
            for batch in std::iter::from_fn(|| queues.waiting()).take(BATCHES_AT_ONCE) {
                self.take_in(batch);
            }
            self.tick();
            self.publish();
            self.act();
            self.report();
            let wake = self.wake(self.clock.now().mono);
            tokio::select! {
                biased;
                () = stop.requested() => break,
                done = self.executor.next() => self.done(done),
                batch = queues.next() => self.take_in(batch),
                sent = self.reporter.recorder.sent() => self.reporter.recorder.was_sent(sent, &self.clock, &self.metrics),
                () = self.permission.changed() => {}
                () = self.clock.sleep_until(wake) => {}
            }
        }
        self.drain().await;
    }

    fn take_in(&mut self, batch: Vec<DedicatedPoolInput>) {
        let now = self.clock.now();
        batch.into_iter().for_each(|input| self.engine.handle(input, now));
    }

    /// Lets time pass, and shows in readiness that everything was listed, or that there is nothing to list.
    fn tick(&mut self) {
        let (absent, began) = (self.definition.borrow().absent, self.clock.now());
        self.engine.handle(DedicatedPoolInput::DefinitionAbsent(absent), began);
        self.engine.tick(began.mono);
        let now = self.clock.now();
        self.engine.handle(DedicatedPoolInput::TickTook(now.mono.since(began.mono)), now);
        self.demand.set(self.engine.needs_other_watches());
        if self.engine.is_synced() && !self.synced.swap(true, Ordering::Relaxed) {
            self.published = None;
        }
    }

    fn may_act(&self) -> bool {
        self.permission.is_given(self.clock.now().mono, self.api.longest_request())
    }

    /// Begins what is due, as long as there is room.
    fn act(&mut self) {
        let acting = self.may_act();
        if acting != std::mem::replace(&mut self.was_acting, acting) && self.mode == WriteMode::Enforce {
            tracing::info!(acting, "the right to dedicate nodes changed");
        }
        while self.may_act()
            && let Some(effect) = self.engine.next_effect(Lane::All, self.clock.now())
        {
            self.executor.begin(effect);
        }
    }

    fn done(&mut self, done: PoolEffectResult) {
        let now = self.clock.now();
        if let Err(refusal) = &done.result {
            self.reporter.complain(&done.effect, refusal, now.mono);
        }
        self.engine.handle(done.into_input(), now);
    }

    /// Reports what there is to report, and starts events.
    fn report(&mut self) {
        let now = self.clock.now();
        self.engine.take_notices().into_iter().for_each(|notice| self.reporter.report(notice, now.wall));
        if self.may_act() {
            self.reporter.recorder.send(&self.api, now.mono, &self.metrics);
        }
    }

    /// Publishes counts, once in a while.
    fn publish(&mut self) {
        let now = self.clock.now().mono;
        if self.published.is_some_and(|last| now < last.plus(HOUSEKEEPING)) {
            return;
        }
        self.published = Some(now);
        self.metrics.pools.set(self.engine.stats());
        self.reporter.recorder.count_dropped(self.permission.is_lost(now), &self.metrics);
    }

    /// When the loop has to go round without an input.
    fn wake(&self, now: Mono) -> Mono {
        let housekeeping = self.published.map_or(now, |last| last.plus(HOUSEKEEPING));
        self.engine.next_wakeup().into_iter().fold(housekeeping, Mono::min)
    }

    /// No new effects; those under way end, within the time a supervisor grants.
    async fn drain(mut self) {
        let ending = async {
            while self.executor.in_flight() > 0 {
                let done = self.executor.next().await;
                self.done(done);
            }
            self.report();
            self.reporter.recorder.finish().await;
        };
        if tokio::time::timeout(DRAIN_MAX, ending).await.is_err() {
            tracing::warn!(
                "stopped with requests about dedicated pools unanswered; whether they were carried out is unknown"
            );
        }
        self.reporter.recorder.count_dropped(true, &self.metrics);
    }
}
