//! Follows the engine of one controller through a record.

use crate::call::{CallDecoder, RecordedCall, RecordedEngine};
use crate::error::RecordError;
use crate::frame::{Frame, FrameContent};
use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use taintward_core::time::Now;

/// What sees the calls of an engine.
pub trait CallVisitor<E: RecordedEngine> {
    /// Why it ends early.
    type Error: From<RecordError>;

    /// A segment begins with this state. `followed`: the state that follows from the segment before, if there is one.
    fn begin(&mut self, engine: &E, followed: Option<&E>);

    /// The next call of the segment, which the visitor makes.
    ///
    /// # Errors
    /// If the visitor wants no more calls.
    fn call(&mut self, engine: &mut E, call: RecordedCall<E>, now: Now) -> Result<(), Self::Error>;
}

/// The engine, in the state that follows from the calls so far.
pub struct EngineFollower<E> {
    /// `None` before the first state.
    engine: Option<E>,
}

impl<E: RecordedEngine> EngineFollower<E> {
    /// A follower that has read nothing yet.
    pub const fn new() -> Self {
        Self { engine: None }
    }

    /// Reads a frame of this engine's controller.
    ///
    /// # Errors
    /// If the frame cannot be decoded, that of the visitor, and if the engine panics: then the next segment is the next to be read.
    pub fn read<V: CallVisitor<E>>(&mut self, frame: &Frame, visitor: &mut V) -> Result<(), V::Error> {
        match frame.content {
            FrameContent::State => {
                let engine = postcard::from_bytes(&frame.bytes).map_err(|error| {
                    RecordError::Undecodable { what: "the state of an engine", reason: error.to_string() }
                })?;
                visitor.begin(&engine, self.engine.as_ref());
                self.engine = Some(engine);
            }
            FrameContent::Calls => {
                // Calls before the first state are those of a segment whose begin is not in the record.
                let Some(engine) = &mut self.engine else { return Ok(()) };
                let mut calls = CallDecoder::new(&frame.bytes);
                while let Some((now, call)) = calls.next::<E>()? {
                    match catch_unwind(AssertUnwindSafe(|| visitor.call(engine, call, now))) {
                        Ok(called) => called?,
                        Err(panic) => {
                            self.engine = None;
                            let (controller, reason) = (frame.controller.as_str(), reason(&*panic));
                            return Err(RecordError::Panicked { controller, at: now.wall, reason }.into());
                        }
                    }
                }
            }
        }
        Ok(())
    }
}

/// The message of a panic.
fn reason(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no reason given").to_owned()
}

impl<E: RecordedEngine> Default for EngineFollower<E> {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::TappedLoop;
    use crate::{EngineRecorder, RecordReader, RingLimits, SegmentLimits};
    use taintward_core::eviction::EvictionEngine;
    use taintward_core::time::{Mono, Wall};

    /// Its engine has a bug, or its state is one that no engine was in.
    struct Broken {
        calls: usize,
    }

    impl CallVisitor<EvictionEngine> for Broken {
        type Error = RecordError;

        fn begin(&mut self, _: &EvictionEngine, _: Option<&EvictionEngine>) {}

        fn call(
            &mut self,
            _: &mut EvictionEngine,
            _: RecordedCall<EvictionEngine>,
            _: Now,
        ) -> Result<(), RecordError> {
            self.calls += 1;
            panic!("call {}", self.calls);
        }
    }

    #[test]
    fn a_panic_of_the_engine_ends_the_segment_and_not_the_program() {
        let recorder = EngineRecorder::in_memory("0.0.1-test", RingLimits::default());
        let mut tapped = TappedLoop::new(recorder.clone(), SegmentLimits::default());
        let at = |second| Now::exact(Mono::from_secs(second), Wall::from_secs(1_800_000_000 + second));
        (0..3).for_each(|second| tapped.turn(at(second)));
        tapped.end(at(3));
        let bytes = recorder.to_bytes();
        let mut reader = RecordReader::open(&bytes[..]).unwrap();
        let frames: Vec<Frame> = std::iter::from_fn(|| reader.next_frame().unwrap()).collect();
        let [state, calls, ..] = &frames[..] else { panic!("{} frames", frames.len()) };
        let (mut follower, mut visitor) = (EngineFollower::new(), Broken { calls: 0 });
        follower.read(state, &mut visitor).unwrap();
        assert_eq!(
            follower.read(calls, &mut visitor).unwrap_err().to_string(),
            "the taint-eviction-controller of this program stops because of a bug at 2027-01-15T08:00:00.000Z of the record: \
             call 1; report it with the record, unless someone has edited the record"
        );
        follower.read(calls, &mut visitor).unwrap();
        assert_eq!(visitor.calls, 1, "the engine is not used again");
        follower.read(state, &mut visitor).unwrap();
        assert!(follower.read(calls, &mut visitor).is_err(), "the next segment is read");
    }
}
