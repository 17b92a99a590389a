//! Defines what one controller adds to the control loop: its requests, its reports, and what it shares with the others.

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

/// What connects an engine to the API server and to people.
pub(crate) trait Controller {
    /// What decides.
    type Engine: Engine;

    /// The controller, as logs name it.
    const NAME: &'static str;
    /// Whose requests the concurrency limit counts; `None` where the engine limits them itself.
    const LIMITED_AS: Option<metrics::Controller>;
    /// How many events may wait.
    const RECORDER_LIMITS: RecorderLimits;
    /// The log line when the permission to write came or went.
    const PERMISSION_CHANGED: &'static str;
    /// The log line when a request failed.
    const REQUEST_FAILED: &'static str;

    /// What the engine has to know before time passes; `may_write_now`: the permission to write has just come. Starts
    /// requests of the controller's own.
    fn before_tick(
        &mut self,
        may_write_now: bool,
        context: &ControllerContext,
        now: Now,
    ) -> Vec<InputOf<Self>>;

    /// What follows from a tick that took so long.
    fn after_tick(
        &mut self,
        _: &mut Self::Engine,
        _took: Span,
        _: &ControllerContext,
    ) -> Option<InputOf<Self>> {
        None
    }

    /// The request of an effect.
    fn request(
        &self,
        effect: EffectOf<Self>,
        is_retry: bool,
        context: &ControllerContext,
    ) -> EffectRequest<InputOf<Self>>;

    /// A request has ended.
    fn on_result(&self, _: &EffectResult<InputOf<Self>>, _: &ControllerContext, _now: Mono) {}

    /// Whether a request may fail like this without a warning.
    fn is_expected(_: &RequestError) -> bool {
        false
    }

    /// Tells other controllers what they depend on.
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

    /// Every list was complete for the first time.
    fn on_sync(&self, _: &Self::Engine, _now: Now) {}

    /// Publishes counts.
    fn publish(&mut self, engine: &Self::Engine, context: &ControllerContext, now: Mono);

    /// Whether effects wait that come before events.
    fn is_busy(_: &Self::Engine, _now: Mono) -> bool {
        false
    }

    /// When the loop has to go round; `ticked`: when it last let time pass.
    fn next_wakeup(
        &self,
        engine: &Self::Engine,
        ticked: Mono,
        _now: Mono,
        _: &ControllerContext,
    ) -> Option<Mono> {
        engine.next_wakeup().filter(|at| *at > ticked)
    }

    /// The next thing that happens beside watch events and results. Cancelled, it loses nothing.
    async fn side_event(&mut self, _: &ControllerContext) -> Option<InputOf<Self>> {
        std::future::pending().await
    }

    /// Waits for requests of the controller's own.
    async fn drain(&mut self, _: &ControllerContext) {}
}

/// Where reports go beside metrics.
pub(crate) struct ReportSink {
    pub(crate) recorder: EventRecorder,
    pub(crate) lines: WriteLogLimits,
}

impl ReportSink {
    pub(crate) fn new(limits: RecorderLimits) -> Self {
        Self { recorder: EventRecorder::new(limits), lines: WriteLogLimits::default() }
    }

    /// Counts and logs what was withheld; without `now`, the process ends. `gives_up`: events that wait are dropped.
    pub(crate) fn sum_up(&mut self, now: Option<Mono>, gives_up: bool, context: &ControllerContext) {
        self.recorder.count_dropped(gives_up, &context.metrics);
        self.lines.sum_up(now);
    }
}
