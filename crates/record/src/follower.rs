//! Follows the engine of one controller through a record.

use crate::call::{CallDecoder, RecordedCall, RecordedEngine};
use crate::error::RecordError;
use crate::frame::{Frame, FrameContent};
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
    /// If the frame cannot be decoded, and that of the visitor.
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
                    visitor.call(engine, call, now)?;
                }
            }
        }
        Ok(())
    }
}

impl<E: RecordedEngine> Default for EngineFollower<E> {
    fn default() -> Self {
        Self::new()
    }
}
