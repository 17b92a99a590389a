//! Runs an engine: watch events and responses go in, effects are executed, notices reported, and time passes.
//!
//! - Invariant: no effect is pulled unless this process may write and there is room, so each is decided the moment it is
//!   sent (S5).
//! - See `controller.rs` for what differs between the controllers.

use crate::admin::LoopHeartbeat;
use crate::controller::{Controller, InputOf, ReportSink};
use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectExecutor, EffectResult};
use crate::log_rate_limit::LogRateLimit;
use crate::metrics::MonoClock;
use crate::settings::WriteMode;
use crate::shutdown::Shutdown;
use crate::tapped_engine::TappedEngine;
use crate::watch_queues::WatchQueues;
use crate::write_permission::WritePermission;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use taintward_core::engine::{Engine as _, Lane};
use taintward_core::time::{Mono, Span};

/// How often counts are published.
const PUBLISH_PERIOD: Span = Span::from_secs(1);

/// The largest number of batches of watch events that are processed before anything else.
const BATCHES_AT_ONCE: usize = 64;

/// How long requests in flight may take to end after a shutdown request.
const DRAIN_MAX: Duration = Duration::from_millis(2_800);

/// The largest number of log lines about failed requests in a second.
const FAILURE_LINES_PER_SECOND: u32 = 5;

/// A loop without a turn for this long is stuck.
pub(crate) const LOOP_SILENCE_MAX: Span = Span::from_secs(30);

/// The health that a control loop publishes. Clones share it.
#[derive(Clone)]
pub(crate) struct LoopHealth {
    pub(crate) heartbeat: LoopHeartbeat,
    /// Whether every list has been complete once.
    pub(crate) synced: Arc<AtomicBool>,
}

impl LoopHealth {
    pub(crate) fn new(clock: MonoClock) -> Self {
        Self { heartbeat: LoopHeartbeat::new(LOOP_SILENCE_MAX, clock), synced: Arc::default() }
    }
}

/// The task that owns one engine.
pub(crate) struct ControlLoop<C: Controller> {
    engine: TappedEngine<C::Engine>,
    controller: C,
    context: ControllerContext,
    /// Signals changes of the permission to write.
    permission: WritePermission,
    executor: EffectExecutor<InputOf<C>>,
    sink: ReportSink,
    failures: LogRateLimit,
    health: LoopHealth,
    ticked: Mono,
    published: Option<Mono>,
    could_write: bool,
}

impl<C: Controller> ControlLoop<C> {
    /// Creates a loop that publishes its health in `health`.
    pub(crate) fn new(
        engine: TappedEngine<C::Engine>,
        controller: C,
        context: ControllerContext,
        health: LoopHealth,
    ) -> Self {
        Self {
            engine,
            controller,
            permission: context.permission.clone(),
            executor: EffectExecutor::new(
                C::LIMITED_AS,
                context.clock.clone(),
                context.metrics.effects.clone(),
            ),
            sink: ReportSink::new(C::RECORDER_LIMITS),
            failures: LogRateLimit::per_second(FAILURE_LINES_PER_SECOND),
            health,
            ticked: context.clock.now().mono,
            published: None,
            could_write: false,
            context,
        }
    }

    /// Runs until a shutdown is requested. Then it starts no further requests and waits for those in flight.
    pub(crate) async fn run(mut self, mut queues: WatchQueues<InputOf<C>>, mut stop: Shutdown) {
        loop {
            self.health.heartbeat.beat();
            self.engine.turn(self.context.clock.now());
            for batch in std::iter::from_fn(|| queues.try_next()).take(BATCHES_AT_ONCE) {
                self.handle(batch);
            }
            self.tick();
            self.start_effects();
            self.controller.share(self.engine.get());
            self.report();
            self.note_sync();
            self.publish();
            let wakeup = self.next_wakeup();
            tokio::select! {
                biased;
                () = stop.requested() => break,
                result = self.executor.next() => self.finish(result),
                batch = queues.next() => self.handle(batch),
                input = self.controller.side_event(&self.context) => self.handle(input),
                event = self.sink.recorder.published() => self.sink.recorder.on_published(event, &self.context),
                () = self.permission.changed() => {}
                () = self.context.clock.sleep_until(wakeup) => {}
            }
        }
        self.drain().await;
    }

    /// The sink of reports.
    #[cfg(test)]
    pub(crate) fn sink_mut(&mut self) -> &mut ReportSink {
        &mut self.sink
    }

    fn handle(&mut self, inputs: impl IntoIterator<Item = InputOf<C>>) {
        let now = self.context.clock.now();
        for input in inputs {
            self.engine.handle(input, now);
        }
    }

    /// Passes the state of this process to the engine and lets time pass.
    fn tick(&mut self) {
        let now = self.context.clock.now();
        let can_write = self.context.may_write();
        let could_write = std::mem::replace(&mut self.could_write, can_write);
        if can_write != could_write && self.context.mode == WriteMode::Enforce {
            tracing::info!(acting = can_write, message = C::PERMISSION_CHANGED);
        }
        for input in self.controller.before_tick(can_write && !could_write, &self.context, now) {
            self.engine.handle(input, now);
        }
        self.engine.tick(now);
        self.ticked = now.mono;
        let ended = self.context.clock.now();
        let took = ended.mono.since(now.mono);
        if let Some(input) = self.controller.after_tick(self.engine.get_mut(), took, &self.context) {
            self.engine.handle(input, ended);
        }
    }

    /// Sends the effects that are due, first tries before retries, as long as there is room.
    fn start_effects(&mut self) {
        while self.executor.has_room() && self.context.may_write() {
            let now = self.context.clock.now();
            let fresh = self.engine.next_effect(Lane::Fresh, now).map(|effect| (effect, false));
            let next = fresh.or_else(|| {
                let has_room = self.executor.has_room_for_retry();
                has_room
                    .then(|| self.engine.next_effect(Lane::All, now))
                    .flatten()
                    .map(|effect| (effect, true))
            });
            let Some((effect, is_retry)) = next else { break };
            let is_slow = C::is_slow(&effect);
            let request = self.controller.request(effect, is_retry, &self.context);
            self.executor.start(request, is_retry, is_slow);
        }
    }

    fn finish(&mut self, result: EffectResult<InputOf<C>>) {
        let now = self.context.clock.now();
        self.controller.on_result(&result, &self.context, now.mono);
        self.log_failure(&result, now.mono);
        self.engine.handle(result.input, now);
    }

    /// Logs a failed request. It will be retried; the log is limited, because there may be thousands.
    fn log_failure(&mut self, result: &EffectResult<InputOf<C>>, now: Mono) {
        let Some(error) = &result.error else { return };
        let label = &result.label;
        let (request, object, uid) = (label.kind_name(), &label.object, label.uid());
        if C::is_expected(error) {
            tracing::debug!(request, object, err = %error.message, "expected failure, reading the object again");
        } else if let Some(withheld) = self.failures.take(now) {
            let err = &*error.message;
            tracing::warn!(request, object, uid, err, withheld, message = C::REQUEST_FAILED);
        }
    }

    /// Reports the engine's notices and starts writing events.
    fn report(&mut self) {
        let now = self.context.clock.now();
        for notice in self.engine.take_notices(now) {
            self.controller.report(notice, self.engine.get(), &self.context, &mut self.sink, now);
        }
        if self.context.may_write() {
            let is_busy = self.executor.in_flight() > 0 || C::is_busy(self.engine.get(), now.mono);
            self.sink.recorder.send(&self.context, is_busy, now.mono);
        }
    }

    /// Logs once that all lists were complete, marks the loop as ready, and publishes the counts.
    fn note_sync(&mut self) {
        if self.engine.get().is_synced() && !self.health.synced.swap(true, Ordering::Relaxed) {
            self.published = None;
            self.controller.on_sync(self.engine.get(), self.context.clock.now());
        }
    }

    /// Publishes the counts periodically.
    fn publish(&mut self) {
        let now = self.context.clock.now().mono;
        if self.published.is_some_and(|last| now < last.plus(PUBLISH_PERIOD)) {
            return;
        }
        self.published = Some(now);
        self.controller.publish(self.engine.get(), &self.context, now);
        self.sink.sum_up(Some(now), self.context.permission.is_lost(now), &self.context);
    }

    /// When the loop has to go round without an input. Effects that are due but may not be sent, or have no room, wait
    /// for a result or for the lease.
    fn next_wakeup(&self) -> Mono {
        let now = self.context.clock.now().mono;
        let publish = self.published.map_or(now, |last| last.plus(PUBLISH_PERIOD));
        let controller = self.controller.next_wakeup(self.engine.get(), self.ticked, now, &self.context);
        let event = self.sink.recorder.next_wakeup(now).filter(|_| self.context.may_write());
        controller.into_iter().chain(event).chain(self.executor.next_wakeup()).fold(publish, Mono::min)
    }

    /// Waits for the requests in flight, within the time that a supervisor grants. Starts no new ones.
    async fn drain(mut self) {
        let ending = async {
            while self.executor.in_flight() > 0 {
                let result = self.executor.next().await;
                self.finish(result);
            }
            self.report();
            self.engine.flush(self.context.clock.now());
            self.controller.drain(&self.context).await;
            self.sink.recorder.drain(&self.context).await;
        };
        if tokio::time::timeout(DRAIN_MAX, ending).await.is_err() {
            tracing::warn!(
                controller = C::NAME,
                "stopped with unanswered requests, whose outcome is unknown"
            );
        }
        self.sink.sum_up(None, true, &self.context);
    }
}
