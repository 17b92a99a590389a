//! Defines what one controller adds to the control loop: its requests, its reports, and what it shares with other
//! controllers.

use crate::controller_context::ControllerContext;
use crate::effect_executor::{EffectRequest, EffectResult};
use crate::event_recorder::{EventRecorder, RecorderLimits};
use crate::metrics;
use crate::write_log::WriteLogLimits;
use taintward_core::engine::Engine;
use taintward_core::time::{Mono, Now, Span};
use taintward_kube::api::RequestError;

/// The inputs of a controller's engine.
pub(crate) type InputOf<C> = <<C as Controller>::Engine as Engine>::Input;

/// The effects of a controller's engine.
pub(crate) type EffectOf<C> = <<C as Controller>::Engine as Engine>::Effect;

/// The notices of a controller's engine.
pub(crate) type NoticeOf<C> = <<C as Controller>::Engine as Engine>::Notice;

/// Connects an engine to the API server and to its operators.
pub(crate) trait Controller {
    /// The engine that decides.
    type Engine: Engine;

    /// The controller's name in logs.
    const NAME: &'static str;
    /// The controller whose requests the concurrency limit counts; `None` if the engine limits them itself.
    const LIMITED_AS: Option<metrics::Controller>;
    /// How many events may wait.
    const RECORDER_LIMITS: RecorderLimits;
    /// The log line for a change of the permission to write.
    const PERMISSION_CHANGED: &'static str;
    /// The log line for a failed request.
    const REQUEST_FAILED: &'static str;

    /// Passes inputs to the engine before time passes, and starts the controller's own requests. `may_write_now`: the
    /// permission to write has just been gained.
    fn before_tick(
        &mut self,
        may_write_now: bool,
        context: &ControllerContext,
        now: Now,
    ) -> Vec<InputOf<Self>>;

    /// Handles the consequences of a tick of this duration.
    fn after_tick(
        &mut self,
        _: &mut Self::Engine,
        _took: Span,
        _: &ControllerContext,
    ) -> Option<InputOf<Self>> {
        None
    }

    /// Whether the request of an effect is known to take long: the engine limits how many of these are in flight.
    fn is_slow(_: &EffectOf<Self>) -> bool {
        false
    }

    /// The request of an effect.
    fn request(
        &self,
        effect: EffectOf<Self>,
        is_retry: bool,
        context: &ControllerContext,
    ) -> EffectRequest<InputOf<Self>>;

    /// Called when a request has ended.
    fn on_result(&mut self, _: &EffectResult<InputOf<Self>>, _: &ControllerContext, _now: Mono) {}

    /// Whether such a failure needs no warning.
    fn is_expected(_: &RequestError) -> bool {
        false
    }

    /// Shares state with other controllers that depend on it.
    fn share(&self, _: &Self::Engine) {}

    /// Reports one notice as log lines, metrics and events.
    fn report(
        &mut self,
        notice: NoticeOf<Self>,
        engine: &Self::Engine,
        context: &ControllerContext,
        sink: &mut ReportSink,
        now: Now,
    );

    /// Called when every list was complete for the first time.
    fn on_sync(&self, _: &Self::Engine, _now: Now) {}

    /// Publishes counts.
    fn publish(&mut self, engine: &Self::Engine, context: &ControllerContext, now: Mono);

    /// Whether effects are waiting, which take precedence over events.
    fn is_busy(_: &Self::Engine, _now: Mono) -> bool {
        false
    }

    /// When the loop has to go round. `ticked`: when it last let time pass.
    fn next_wakeup(
        &self,
        engine: &Self::Engine,
        ticked: Mono,
        _now: Mono,
        _: &ControllerContext,
    ) -> Option<Mono> {
        engine.next_wakeup().filter(|at| *at > ticked)
    }

    /// The next input in addition to watch events and results. Cancel-safe.
    async fn side_event(&mut self, _: &ControllerContext) -> Option<InputOf<Self>> {
        std::future::pending().await
    }

    /// Waits for the controller's own requests.
    async fn drain(&mut self, _: &ControllerContext) {}
}

/// The destination of reports besides metrics.
pub(crate) struct ReportSink {
    pub(crate) recorder: EventRecorder,
    pub(crate) lines: WriteLogLimits,
}

impl ReportSink {
    pub(crate) fn new(limits: RecorderLimits) -> Self {
        Self { recorder: EventRecorder::new(limits), lines: WriteLogLimits::default() }
    }

    /// Counts and logs what was withheld. Without `now`, the process is ending. `gives_up`: drops the events that are
    /// waiting.
    pub(crate) fn sum_up(&mut self, now: Option<Mono>, gives_up: bool, context: &ControllerContext) {
        self.recorder.count_dropped(gives_up, &context.metrics);
        self.lines.sum_up(now);
    }
}
