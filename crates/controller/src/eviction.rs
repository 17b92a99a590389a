//! # Brain: the loop around the engine
//! Room:     one task that owns the engine: news in, effects out, notices told, time passing.
//! Comes in: batches from both streams, answers to requests, leadership, the request to stop.
//! Goes out: requests through [`EvictionExecutor`], events, log lines, metrics.
//! Keeps:    no effect is pulled unless we may act and there is room, so each is decided the moment it is sent (S5).
//! Not here: deciding (the core), sending (`eviction_effects.rs`), listening (the client), whose news is first (`watch_queues.rs`).

use crate::admin::LoopHeartbeat;
use crate::eviction_effects::{EffectResult, EvictionExecutor};
use crate::eviction_events::EvictionEventRecorder;
use crate::eviction_reporting::LogRateLimit;
use crate::metrics::{self, ControllerMetrics};
use crate::settings::WriteMode;
use crate::shutdown::Shutdown;
use crate::time_added_writer::{self, PendingTimestamp, TimeAddedWriter};
use crate::watch_inputs;
use crate::watch_queues::{EvictionWatchBatch, EvictionWatchQueues};
use crate::write_log::WriteLogLimits;
use crate::write_permission::WritePermission;
use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_core::engine::{Engine, Lane};
use taintward_core::eviction::{EvictionEngine, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::time::{Mono, Span};
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::clock::Clock;
use taintward_kube::watch::{RelistTrigger, WatchEvent};
use tokio::sync::watch;

/// Counts are published this often.
const HOUSEKEEPING: Span = Span::from_secs(1);

/// Batches of news taken in before anything else is done, at most.
const NEWS_AT_ONCE: usize = 64;

/// Events being written at once, at most.
const EVENTS_AT_ONCE: usize = 4;

/// How long requests under way have to end after the request to stop.
const DRAIN_MAX: Duration = Duration::from_millis(2_800);

/// Something written beside evictions.
enum BackgroundWrite {
    Event(Result<(), RequestError>, Mono),
    Stamp(PendingTimestamp, Result<(), RequestError>, Mono),
}

/// The task that owns the engine.
pub(crate) struct EvictionController {
    pub(crate) engine: EvictionEngine,
    pub(crate) clock: Clock,
    pub(crate) api: ApiClient,
    pub(crate) executor: EvictionExecutor,
    pub(crate) permission: WritePermission,
    pub(crate) mode: WriteMode,
    pub(crate) metrics: Arc<ControllerMetrics>,
    pub(crate) heartbeat: LoopHeartbeat,
    pub(crate) synced: Arc<AtomicBool>,
    hold: watch::Receiver<bool>,
    pub(crate) relist_now: RelistTrigger,
    holding: bool,
    pub(crate) event_recorder: EvictionEventRecorder,
    pub(crate) stamper: Option<TimeAddedWriter>,
    pub(crate) complaints: LogRateLimit,
    pub(crate) foreign: LogRateLimit,
    /// Pods that somebody else deleted while we were about to: so many may be chance.
    pub(crate) chance: LogRateLimit,
    pub(crate) rewound: LogRateLimit,
    pub(crate) lines: WriteLogLimits,
    writing: FuturesUnordered<BoxFuture<'static, BackgroundWrite>>,
    stamping: bool,
    published: Option<Mono>,
    was_acting: bool,
}

/// What a brain is made of.
pub(crate) struct EvictionParts {
    pub(crate) engine: EvictionEngine,
    pub(crate) clock: Clock,
    pub(crate) api: ApiClient,
    pub(crate) permission: WritePermission,
    pub(crate) mode: WriteMode,
    pub(crate) stamp_taints: bool,
    pub(crate) metrics: Arc<ControllerMetrics>,
    pub(crate) heartbeat: LoopHeartbeat,
    pub(crate) synced: Arc<AtomicBool>,
    /// Whether countdowns are to be held, as node health says (NL-48); never, where it runs elsewhere.
    pub(crate) hold: watch::Receiver<bool>,
    /// Has everything listed again.
    pub(crate) relist_now: RelistTrigger,
}

impl EvictionController {
    pub(crate) fn new(parts: EvictionParts) -> Self {
        let EvictionParts {
            engine,
            clock,
            api,
            permission,
            mode,
            stamp_taints,
            metrics,
            heartbeat,
            synced,
            ..
        } = parts;
        let EvictionParts { hold, relist_now, .. } = parts;
        let executor = EvictionExecutor::new(api.clone(), clock.clone(), metrics.effects.clone());
        Self {
            engine,
            clock,
            api,
            executor,
            permission,
            mode,
            metrics,
            heartbeat,
            synced,
            hold,
            relist_now,
            holding: false,
            event_recorder: EvictionEventRecorder::default(),
            stamper: stamp_taints.then(TimeAddedWriter::default),
            complaints: LogRateLimit::per_second(5),
            foreign: LogRateLimit::per_minute(1),
            chance: LogRateLimit::per_minute(2),
            rewound: LogRateLimit::per_minute(1),
            lines: WriteLogLimits::default(),
            writing: FuturesUnordered::new(),
            stamping: false,
            published: None,
            was_acting: false,
        }
    }

    /// Goes round until asked to stop; then starts nothing more, and waits for what is under way.
    pub(crate) async fn run(mut self, mut news: EvictionWatchQueues, mut stop: Shutdown) {
        loop {
            self.heartbeat.beat();
            self.take_in(&mut news);
            self.hold();
            let now = self.clock.now();
            self.engine.tick(now.mono);
            self.act();
            self.tell(self.clock.now());
            self.write();
            self.note_sync();
            self.publish(now.mono);
            let wake = self.wake(now.mono);
            tokio::select! {
                biased;
                () = stop.requested() => break,
                done = self.executor.next() => self.done(done),
                batch = news.next() => self.hear(batch),
                Some(written) = self.writing.next() => self.written(written),
                () = self.permission.changed() => {}
                Ok(()) = self.hold.changed() => {}
                () = self.clock.sleep_until(wake) => {}
            }
        }
        self.drain().await;
    }

    /// Time stands still for some countdowns, or goes on, as node health says (NL-48).
    fn hold(&mut self) {
        let hold = *self.hold.borrow_and_update();
        if std::mem::replace(&mut self.holding, hold) != hold {
            self.engine.handle(EvictionInput::CountdownHold(hold), self.clock.now());
        }
    }

    /// Takes in the news that is there already: what is decided next knows all of it.
    fn take_in(&mut self, news: &mut EvictionWatchQueues) {
        for batch in std::iter::from_fn(|| news.waiting()).take(NEWS_AT_ONCE) {
            self.hear(batch);
        }
    }

    fn hear(&mut self, batch: EvictionWatchBatch) {
        match batch {
            EvictionWatchBatch::Nodes(batch) => self.nodes(batch),
            EvictionWatchBatch::Pods(batch) => self.pods(batch),
        }
    }

    fn nodes(&mut self, batch: Vec<WatchEvent<NodeFact>>) {
        let now = self.clock.now();
        let count = |node: &NodeFact| watch_inputs::count_unknown_taints(node, &self.metrics.watches);
        for input in watch_inputs::nodes(batch, now, count) {
            self.metrics.queues.added(metrics::Queue::Node, false);
            self.engine.handle(input, now);
        }
    }

    fn pods(&mut self, batch: Vec<WatchEvent<PodFact>>) {
        let now = self.clock.now();
        let count = |pod: &PodFact| watch_inputs::count_unknown_tolerations(pod, &self.metrics.watches);
        for input in watch_inputs::pods(batch, now, count) {
            self.engine.handle(input, now);
        }
    }

    pub(crate) fn may_act(&self) -> bool {
        self.permission.is_given(self.clock.now().mono, self.api.longest_request())
    }

    /// Sends what is due, first tries before retries, as long as there is room.
    fn act(&mut self) {
        while self.executor.has_room() && self.may_act() {
            let now = self.clock.now();
            if let Some(effect) = self.engine.next_effect(Lane::Fresh, now) {
                self.executor.begin(effect, false);
                continue;
            }
            let retry =
                self.executor.has_room_for_retry().then(|| self.engine.next_effect(Lane::All, now)).flatten();
            let Some(effect) = retry else { break };
            self.metrics.queues.added(metrics::Queue::Pod, true);
            self.executor.begin(effect, true);
        }
    }

    fn done(&mut self, done: EffectResult) {
        let now = self.clock.now();
        if let Some(refusal) = &done.refusal {
            self.complain(&done, refusal, now.mono);
        }
        self.engine.handle(done.input, now);
    }

    /// Starts events and stamps; never more than a few at once, and events only trickle while pods go.
    fn write(&mut self) {
        if !self.may_act() {
            return;
        }
        let now = self.clock.now();
        let busy = self.executor.in_flight() > 0 || self.engine.has_work(Lane::Fresh, now.mono);
        while self.writing.len() < EVENTS_AT_ONCE {
            let Some(note) = self.event_recorder.next(busy, now.mono) else { break };
            self.metrics.effects.began();
            let api = self.api.clone();
            self.writing
                .push(Box::pin(async move { BackgroundWrite::Event(api.post_event(&note).await, now.mono) }));
        }
        let stamp =
            self.stamper.as_mut().filter(|_| !self.stamping).and_then(|stamper| stamper.next(now.mono));
        if let Some(stamp) = stamp {
            self.stamping = true;
            self.metrics.effects.began();
            let stamping = time_added_writer::stamp(self.api.clone(), self.clock.clone(), stamp);
            self.writing.push(Box::pin(async move {
                let (stamp, result) = stamping.await;
                BackgroundWrite::Stamp(stamp, result, now.mono)
            }));
        }
    }

    fn written(&mut self, written: BackgroundWrite) {
        let now = self.clock.now().mono;
        let (kind, sent, result) = match written {
            BackgroundWrite::Event(result, sent) => {
                if let Err(refusal) = &result {
                    tracing::debug!(err = %refusal.message, "event lost");
                }
                (metrics::Effect::Event, sent, result)
            }
            BackgroundWrite::Stamp(stamp, result, sent) => {
                self.stamping = false;
                if let Some(stamper) = &mut self.stamper {
                    stamper.answered(stamp, &result, now);
                }
                (metrics::Effect::Stamp, sent, result)
            }
        };
        let outcome = result.map_err(|refusal| refusal.failure);
        self.metrics.effects.ended(kind, outcome, now.since(sent));
    }

    /// When the loop has to go round without being told anything.
    fn wake(&self, now: Mono) -> Mono {
        let housekeeping = self.published.map_or(now, |last| last.plus(HOUSEKEEPING));
        // A retry that is due already waits for room or the right to act: an answer or a change of leadership wakes us.
        let retry = self.engine.retry_at().filter(|at| *at > now);
        let engine = self.engine.deadline_at().into_iter().chain(retry);
        let stamp = self
            .stamper
            .as_ref()
            .filter(|_| !self.stamping && self.may_act())
            .and_then(TimeAddedWriter::wake_at);
        let earliest = engine.chain(stamp).fold(housekeeping, Mono::min);
        // Without the right to write, events wait for the lease, which wakes us.
        match self.event_recorder.is_idle() || !self.may_act() {
            true => earliest,
            false => earliest.min(now.plus(Span::from_millis(200))),
        }
    }

    /// Says once, and shows in readiness, that both lists were complete; the counts are published with it.
    fn note_sync(&mut self) {
        if self.engine.is_synced() && !self.synced.swap(true, Ordering::Relaxed) {
            self.published = None;
            let census = self.engine.stats();
            tracing::info!(
                nodes = census.nodes,
                pods = census.pods,
                tainted = census.tainted_nodes,
                "synced"
            );
        }
    }

    /// Publishes counts, once in a while.
    fn publish(&mut self, now: Mono) {
        if self.published.is_some_and(|last| now < last.plus(HOUSEKEEPING)) {
            return;
        }
        self.published = Some(now);
        let census = self.engine.stats();
        self.metrics.evictions.census(metrics::EvictionGauges {
            pods: census.pods,
            nodes: census.nodes,
            tainted_nodes: census.tainted_nodes,
            pending: census.counting,
            due: census.due + census.in_hand,
            retrying: self.engine.failing_evictions().count(),
            oldest_due: census.oldest_due,
        });
        self.metrics.queues.depth(metrics::Queue::Pod, census.due + census.in_hand);
        self.drop_events(self.permission.is_lost(now));
        self.lines.sum_up(Some(now));
        let acting = self.may_act();
        if acting != std::mem::replace(&mut self.was_acting, acting) && self.mode == WriteMode::Enforce {
            tracing::info!(acting, "the right to evict changed");
        }
    }

    /// Counts the events that were given up; with `all`, gives up those that wait.
    fn drop_events(&mut self, all: bool) {
        if all {
            self.event_recorder.clear();
        }
        self.metrics.effects.events_dropped.inc_by(self.event_recorder.take_dropped());
    }

    /// No new effects; those under way end, within the time a supervisor grants.
    async fn drain(mut self) {
        let ending = async {
            while self.executor.in_flight() > 0 {
                let done = self.executor.next().await;
                self.done(done);
            }
            self.tell(self.clock.now());
            while self.writing.next().await.is_some() {}
        };
        if tokio::time::timeout(DRAIN_MAX, ending).await.is_err() {
            tracing::warn!("stopped with requests unanswered; whether they were carried out is unknown");
        }
        self.drop_events(true);
        self.lines.sum_up(None);
    }
}

#[cfg(test)]
mod tests;
