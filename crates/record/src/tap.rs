//! Records the calls of one engine, as its control loop makes them.

use crate::call::{EngineCall, RecordedEngine};
use crate::frame::{Frame, FrameContent, RecordedController};
use crate::open_block::OpenBlock;
use crate::recorder::FrameSink;
use serde::Serialize;
use taintward_core::engine::{Engine, Lane};
use taintward_core::time::{Mono, Now, Span};

/// When a segment ends, and the next one begins with the engine's state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SegmentLimits {
    /// After so long.
    pub age: Span,
    /// After so many bytes of calls, before they are compressed.
    pub bytes: usize,
}

impl Default for SegmentLimits {
    fn default() -> Self {
        Self { age: Span::from_secs(600), bytes: 64 << 20 }
    }
}

/// The largest block of calls: it is compressed as a whole.
const BLOCK_MAX: usize = 128 << 10;

/// Calls are sent to the record after so long.
const BLOCK_AGE_MAX: Span = Span::from_secs(1);

/// After a frame was dropped, how long nothing is recorded.
const PAUSE: Span = Span::from_secs(10);

/// The tap of one engine.
pub struct EngineTap<S> {
    controller: RecordedController,
    limits: SegmentLimits,
    sink: S,
    block: OpenBlock,
    state: TapState,
}

enum TapState {
    Recording {
        /// When the segment begins.
        since: Mono,
        /// The bytes of its calls that were sent.
        sent: usize,
        /// When the current block begins.
        block_since: Mono,
    },
    /// Between segments: nothing is recorded.
    Paused {
        /// When the next segment may begin.
        until: Mono,
    },
}

/// What a control loop tells the tap of its engine.
pub trait CallTap<E: Engine>: Send {
    /// Begins a segment if one is due, and sends calls that wait. To be called between two calls of the engine, about
    /// as often as the control loop goes round.
    fn turn(&mut self, engine: &E, now: Now);

    /// Records [`Engine::handle`], before it is called.
    fn handle(&mut self, input: &E::Input, now: Now);

    /// Records [`Engine::tick`].
    fn tick(&mut self, now: Now);

    /// Records [`Engine::next_effect`] and its result.
    fn pull(&mut self, lane: Lane, effect: Option<&E::Effect>, now: Now);

    /// Records [`Engine::take_notices`] and its result.
    fn notices(&mut self, notices: &[E::Notice], now: Now);

    /// Sends the calls that wait. For the end of the process.
    fn flush(&mut self, now: Now);
}

/// The calls of an engine, borrowed.
type BorrowedCall<'c, E> =
    EngineCall<&'c <E as Engine>::Input, &'c <E as Engine>::Effect, &'c [<E as Engine>::Notice]>;

impl<E: RecordedEngine, S: FrameSink + Send> CallTap<E> for EngineTap<S> {
    fn turn(&mut self, engine: &E, now: Now) {
        match self.state {
            TapState::Paused { until } if until > now.mono => {}
            TapState::Paused { .. } => self.begin(engine, now),
            TapState::Recording { since, sent, .. }
                if now.mono.since(since) >= self.limits.age
                    || sent + self.block.len() >= self.limits.bytes =>
            {
                self.send_calls(now);
                self.begin(engine, now);
            }
            TapState::Recording { block_since, .. } => {
                if now.mono.since(block_since) >= BLOCK_AGE_MAX {
                    self.send_calls(now);
                }
            }
        }
    }

    fn handle(&mut self, input: &E::Input, now: Now) {
        self.push(&BorrowedCall::<E>::Handle(input), now);
    }

    fn tick(&mut self, now: Now) {
        self.push(&BorrowedCall::<E>::Tick, now);
    }

    fn pull(&mut self, lane: Lane, effect: Option<&E::Effect>, now: Now) {
        self.push(&BorrowedCall::<E>::Pull(lane, effect), now);
    }

    fn notices(&mut self, notices: &[E::Notice], now: Now) {
        // Taking no notices changes nothing.
        if !notices.is_empty() {
            self.push(&BorrowedCall::<E>::Notices(notices), now);
        }
    }

    fn flush(&mut self, now: Now) {
        self.send_calls(now);
    }
}

impl<S: FrameSink> EngineTap<S> {
    /// A tap that sends frames to `sink`, from its first [`CallTap::turn`] on.
    pub fn new(controller: RecordedController, limits: SegmentLimits, sink: S) -> Self {
        let state = TapState::Paused { until: Mono::from_micros(i64::MIN) };
        let block = sink.open_block(controller);
        Self { controller, limits, sink, block, state }
    }

    fn begin<E: RecordedEngine>(&mut self, engine: &E, now: Now) {
        if let TapState::Paused { until } = self.state
            && until > now.mono
        {
            // The calls before this state were dropped just now.
            return;
        }
        self.block.clear();
        self.state = TapState::Recording { since: now.mono, sent: 0, block_since: now.mono };
        match postcard::to_allocvec(engine) {
            Ok(bytes) => {
                let frame = Frame { content: FrameContent::State, controller: self.controller, bytes };
                if !self.sink.send(frame, now) {
                    self.pause(now);
                }
            }
            Err(_) => self.pause(now),
        }
    }

    fn send_calls(&mut self, now: Now) {
        let TapState::Recording { since, sent, .. } = self.state else { return };
        let (controller, sink) = (self.controller, &self.sink);
        let (length, is_sent) = self
            .block
            .send(|bytes| sink.send(Frame { content: FrameContent::Calls, controller, bytes }, now));
        self.state = TapState::Recording { since, sent: sent + length, block_since: now.mono };
        if !is_sent {
            self.pause(now);
        }
    }

    fn push<I: Serialize, F: Serialize, N: Serialize>(&mut self, call: &EngineCall<I, F, N>, now: Now) {
        if let TapState::Recording { .. } = self.state {
            if self.block.push(call, now).is_err() {
                self.pause(now);
            } else if self.block.len() >= BLOCK_MAX {
                self.send_calls(now);
            }
        }
    }

    fn pause(&mut self, now: Now) {
        self.block.clear();
        self.state = TapState::Paused { until: now.mono.plus(PAUSE) };
    }
}
