//! # Lifecycle: the loop around node health
//! Room:     one task that owns the health engine: news in, effects out, notices told, time passing.
//! Comes in: batches from three streams, answers, leadership, doubts about our own eyes, the request to stop.
//! Goes out: taints, conditions and labels of nodes through [`NodeEffectExecutor`]; events, log lines, metrics; a word to taint
//!           eviction when countdowns are to be held (NL-48).
//! Keeps:    no effect is pulled unless we may act, there is room, and our own eyes were looked at just now (S5, S7).
//! Not here: deciding (the core), sending (`eviction_effects.rs`), whose pods go because of a taint (`eviction.rs`).

mod node_effects;
mod node_inputs;
mod node_messages;
mod node_reporting;
mod node_watch_queues;
mod observation;

pub(crate) use node_watch_queues::NodeWatchQueues;

use crate::admin::LoopHeartbeat;
use crate::metrics::{self, ControllerMetrics};
use crate::settings::WriteMode;
use crate::shutdown::Shutdown;
use crate::write_permission::WritePermission;
use node_effects::{NodeEffectExecutor, NodeEffectResult};
use node_reporting::NodeLifecycleReporter;
use node_watch_queues::NodeWatchBatch;
use observation::{ApiServerProbe, StreamObserver};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_core::engine::{Engine, Lane};
use taintward_core::node_lifecycle::{
    NodeLifecycleConfig, NodeLifecycleEngine, NodeLifecycleInput, WatchedKind,
};
use taintward_core::time::{Mono, Span};
use taintward_kube::api::ApiClient;
use taintward_kube::clock::Clock;
use taintward_kube::watch::StreamHealth;
use tokio::sync::watch;

/// Counts are published this often.
const HOUSEKEEPING: Span = Span::from_secs(1);

/// Batches of news taken in before anything else is done, at most.
const NEWS_AT_ONCE: usize = 64;

/// How long requests under way have to end after the request to stop.
const DRAIN_MAX: Duration = Duration::from_millis(2_800);

/// The task that owns the health engine.
pub(crate) struct NodeLifecycleController {
    engine: NodeLifecycleEngine,
    clock: Clock,
    api: ApiClient,
    executor: NodeEffectExecutor,
    observers: [StreamObserver; 2],
    witness: ApiServerProbe,
    permission: WritePermission,
    mode: WriteMode,
    metrics: Arc<ControllerMetrics>,
    heartbeat: LoopHeartbeat,
    synced: Arc<AtomicBool>,
    hold: watch::Sender<bool>,
    reporter: NodeLifecycleReporter,
    /// When time was last let pass.
    ticked: Mono,
    published: Option<Mono>,
    was_acting: bool,
}

/// What it is made of.
pub(crate) struct NodeLifecycleParts {
    pub(crate) config: NodeLifecycleConfig,
    pub(crate) clock: Clock,
    pub(crate) api: ApiClient,
    pub(crate) nodes: watch::Receiver<StreamHealth>,
    pub(crate) leases: watch::Receiver<StreamHealth>,
    pub(crate) permission: WritePermission,
    pub(crate) mode: WriteMode,
    pub(crate) metrics: Arc<ControllerMetrics>,
    pub(crate) heartbeat: LoopHeartbeat,
    pub(crate) synced: Arc<AtomicBool>,
    /// Whether countdowns are to be held (NL-48).
    pub(crate) hold: watch::Sender<bool>,
}

impl NodeLifecycleController {
    pub(crate) fn new(parts: NodeLifecycleParts) -> Self {
        let NodeLifecycleParts {
            config,
            clock,
            api,
            nodes,
            leases,
            permission,
            mode,
            metrics,
            heartbeat,
            synced,
            hold,
        } = parts;
        if config.is_grace_short() {
            tracing::warn!(
                "--node-monitor-grace-period is hardly longer than the 10 s after which kubelets renew their leases: a \
                 node that is well is called silent when one renewal is late; give at least 20s, or kubelets a shorter \
                 nodeLeaseDurationSeconds"
            );
        }
        Self {
            witness: ApiServerProbe::new(config.gap_max()),
            engine: NodeLifecycleEngine::new(config),
            executor: NodeEffectExecutor::new(api.clone(), clock.clone(), metrics.effects.clone()),
            observers: [
                StreamObserver::new(WatchedKind::Nodes, nodes),
                StreamObserver::new(WatchedKind::Leases, leases),
            ],
            reporter: NodeLifecycleReporter::new(),
            ticked: clock.now().mono,
            clock,
            api,
            permission,
            mode,
            metrics,
            heartbeat,
            synced,
            hold,
            published: None,
            was_acting: false,
        }
    }

    /// Goes round until asked to stop; then starts nothing more, and waits for what is under way.
    pub(crate) async fn run(mut self, mut news: NodeWatchQueues, mut stop: Shutdown) {
        loop {
            self.heartbeat.beat();
            self.take_in(&mut news);
            self.look();
            match self.mode {
                WriteMode::Enforce => self.act(),
                WriteMode::Observe => self.engine.observe(self.clock.now().mono),
            }
            self.tell();
            self.note_sync();
            self.publish();
            let wake = self.wake(self.clock.now().mono);
            tokio::select! {
                biased;
                () = stop.requested() => break,
                done = self.executor.next() => self.done(done),
                batch = news.next() => self.hear(batch),
                asked = self.witness.answer() => self.answered(asked),
                sent = self.reporter.recorder.sent() => self.reporter.recorder.was_sent(sent, &self.clock, &self.metrics),
                () = self.permission.changed() => {}
                () = self.clock.sleep_until(wake) => {}
            }
        }
        self.drain().await;
    }

    /// Takes in the news that is there already: a sign of life that waits is heard before anybody is called silent.
    fn take_in(&mut self, news: &mut NodeWatchQueues) {
        for batch in std::iter::from_fn(|| news.waiting()).take(NEWS_AT_ONCE) {
            self.hear(batch);
        }
    }

    fn hear(&mut self, batch: NodeWatchBatch) {
        let now = self.clock.now();
        for input in node_inputs::inputs(batch, now.mono) {
            self.engine.handle(input, now);
        }
    }

    /// Looks at our own eyes, and lets time pass.
    fn look(&mut self) {
        let now = self.clock.now();
        self.witness.ask(&self.api, now.mono);
        let doubts = self.observers.iter_mut().flat_map(|eye| eye.look(now.mono));
        let told: Vec<NodeLifecycleInput> = doubts.chain(self.witness.look(&self.permission)).collect();
        for input in told {
            self.engine.handle(input, now);
        }
        let acting = self.may_act();
        if acting && !self.was_acting {
            // Whoever led before may have used up the rate (S6).
            self.engine.handle(NodeLifecycleInput::BecameLeader, now);
        }
        if acting != std::mem::replace(&mut self.was_acting, acting) {
            tracing::info!(acting, "the right to taint nodes changed");
        }
        self.engine.tick(now.mono);
        self.ticked = now.mono;
        self.metrics.node_health.looked_at_all(self.clock.now().mono.since(now.mono));
    }

    fn may_act(&self) -> bool {
        self.permission.is_given(self.clock.now().mono, self.api.longest_request())
    }

    /// Sends what is due, as long as there is room.
    fn act(&mut self) {
        while self.executor.has_room() && self.may_act() {
            let Some(effect) = self.engine.next_effect(Lane::All, self.clock.now()) else { break };
            self.executor.begin(effect);
        }
    }

    fn done(&mut self, done: NodeEffectResult) {
        let now = self.clock.now();
        if matches!(done.kind, metrics::Effect::ConfirmHealth | metrics::Effect::Declare) {
            self.metrics.node_health.looked_at_one(now.mono.since(done.sent()));
        }
        if let Some(refusal) = &done.refusal {
            self.reporter.complain(&done, refusal, now.mono);
        }
        self.engine.handle(done.input, now);
    }

    fn answered(&mut self, asked: observation::ProbeResult) {
        if let Some(input) = self.witness.answered(asked) {
            self.engine.handle(input, self.clock.now());
        }
    }

    /// Tells everything there is to tell, and starts events.
    fn tell(&mut self) {
        let now = self.clock.now();
        let acting = self.may_act();
        for notice in self.engine.take_notices() {
            self.reporter.tell(&notice, acting, now, &self.metrics);
        }
        if self.engine.is_synced() {
            let holds = self.engine.holds_countdowns();
            self.hold.send_if_modified(|hold| std::mem::replace(hold, holds) != holds);
        }
        if acting {
            self.reporter.recorder.send(&self.api, now.mono, &self.metrics);
        }
    }

    /// Says once, and shows in readiness, that the lists were complete, and which zones there are.
    fn note_sync(&mut self) {
        if self.engine.is_synced() && !self.synced.swap(true, Ordering::Relaxed) {
            self.published = None;
            node_reporting::zones(&self.engine, self.clock.now());
        }
    }

    /// Publishes counts, once in a while.
    fn publish(&mut self) {
        let now = self.clock.now().mono;
        if self.published.is_some_and(|last| now < last.plus(HOUSEKEEPING)) {
            return;
        }
        self.published = Some(now);
        let census = self.engine.stats();
        self.metrics.node_health.zones(self.engine.zones());
        self.metrics.node_health.nodes(metrics::NodeGauges {
            silent: census.silent,
            tainted: census.tainted,
            waiting: census.waiting,
            failing: census.failing,
            not_understood: census.not_understood,
            everything_down: self.engine.is_everything_down(),
            in_doubt: self.engine.doubt(now).is_some(),
        });
        self.reporter.recorder.count_dropped(self.permission.is_lost(now), &self.metrics);
        self.reporter.lines.sum_up(Some(now));
    }

    /// When the loop has to go round without being told anything. What is due but may not be sent, or has no room,
    /// waits for an answer or for the lease.
    fn wake(&self, now: Mono) -> Mono {
        let housekeeping = self.published.map_or(now, |last| last.plus(HOUSEKEEPING));
        let engine = self.engine.next_wakeup().filter(|at| *at > self.ticked);
        let ask = self.witness.ask_at().filter(|_| !self.witness.is_asking());
        engine.into_iter().chain(ask).fold(housekeeping, Mono::min)
    }

    /// No new effects; those under way end, within the time a supervisor grants.
    async fn drain(mut self) {
        let ending = async {
            while self.executor.in_flight() > 0 {
                let done = self.executor.next().await;
                self.done(done);
            }
            self.tell();
            self.reporter.recorder.finish().await;
        };
        if tokio::time::timeout(DRAIN_MAX, ending).await.is_err() {
            tracing::warn!(
                "stopped with requests about nodes unanswered; whether they were carried out is unknown"
            );
        }
        self.reporter.recorder.count_dropped(true, &self.metrics);
        self.reporter.lines.sum_up(None);
    }
}
