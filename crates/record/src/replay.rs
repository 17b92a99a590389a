//! Replays a record: the engine of this program receives the same inputs at the same times, and its effects and notices
//! are compared with those that were recorded.

use crate::call::{EngineCall, RecordedCall, RecordedEngine};
use crate::error::RecordError;
use crate::follower::{CallVisitor, EngineFollower};
use crate::frame::{Frame, RecordedController};
use crate::reader::RecordReader;
use std::fmt::{self, Debug};
use std::io::BufRead;
use taintward_core::eviction::EvictionEngine;
use taintward_core::node_lifecycle::NodeLifecycleEngine;
use taintward_core::time::Now;
use taintward_core::toleration_seconds::TolerationSecondsEngine;

/// What was replayed of one controller, and was the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplaySummary {
    /// The controller.
    pub controller: RecordedController,
    /// The segments, each from the state of an engine on.
    pub segments: usize,
    /// The inputs.
    pub inputs: usize,
    /// The effects.
    pub effects: usize,
    /// The notices.
    pub notices: usize,
    /// The times of the first and the last call; `None` without any call.
    pub times: Option<(Now, Now)>,
}

/// The first difference between the record and the engine of this program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The controller.
    pub controller: RecordedController,
    /// When.
    pub now: Now,
    /// The number of inputs of this controller before it.
    pub inputs: usize,
    /// What the record contains.
    pub recorded: String,
    /// What the engine of this program did.
    pub replayed: String,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { controller, inputs, recorded, replayed, .. } = self;
        let name = controller.as_str();
        write!(f, "after {inputs} inputs, {name} did {recorded}, and this program does {replayed}")
    }
}

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// The record cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The engine of this program acts differently.
    #[error("{0}")]
    Differs(Box<Difference>),
}

/// The replay of a record, which may have several files.
pub struct Replay {
    eviction: ControllerReplay<EvictionEngine>,
    nodes: ControllerReplay<NodeLifecycleEngine>,
    seconds: ControllerReplay<TolerationSecondsEngine>,
}

impl Replay {
    /// A replay that has read nothing yet.
    pub const fn new() -> Self {
        Self {
            eviction: ControllerReplay::new(RecordedController::TaintEviction),
            nodes: ControllerReplay::new(RecordedController::NodeLifecycle),
            seconds: ControllerReplay::new(RecordedController::TolerationSeconds),
        }
    }

    /// Replays a file, to its end.
    ///
    /// # Errors
    /// At the first difference, and if the file cannot be read.
    pub fn read<R: BufRead>(&mut self, record: &mut RecordReader<R>) -> Result<(), ReplayError> {
        while let Some(frame) = record.next_frame()? {
            match frame.controller {
                RecordedController::TaintEviction => self.eviction.read(&frame)?,
                RecordedController::NodeLifecycle => self.nodes.read(&frame)?,
                RecordedController::TolerationSeconds => self.seconds.read(&frame)?,
            }
        }
        Ok(())
    }

    /// What was replayed, of each controller in the record.
    pub fn summaries(&self) -> impl Iterator<Item = &ReplaySummary> {
        let all = [&self.eviction.comparison, &self.nodes.comparison, &self.seconds.comparison];
        all.into_iter().map(|comparison| &comparison.summary).filter(|summary| summary.segments > 0)
    }
}

impl Default for Replay {
    fn default() -> Self {
        Self::new()
    }
}

/// The replay of one controller.
struct ControllerReplay<E> {
    follower: EngineFollower<E>,
    comparison: CallComparison,
}

/// Compares the calls of an engine with what the engine of this program does.
struct CallComparison {
    summary: ReplaySummary,
}

impl<E: RecordedEngine> ControllerReplay<E> {
    const fn new(controller: RecordedController) -> Self {
        let summary =
            ReplaySummary { controller, segments: 0, inputs: 0, effects: 0, notices: 0, times: None };
        Self { follower: EngineFollower::new(), comparison: CallComparison { summary } }
    }

    fn read(&mut self, frame: &Frame) -> Result<(), ReplayError> {
        self.follower.read(frame, &mut self.comparison)
    }
}

impl<E: RecordedEngine> CallVisitor<E> for CallComparison {
    type Error = ReplayError;

    fn begin(&mut self, _: &E, _: Option<&E>) {
        self.summary.segments += 1;
    }

    fn call(&mut self, engine: &mut E, call: RecordedCall<E>, now: Now) -> Result<(), ReplayError> {
        let first = self.summary.times.map_or(now, |(first, _)| first);
        self.summary.times = Some((first, now));
        match call {
            EngineCall::Handle(input) => {
                self.summary.inputs += 1;
                engine.handle(input, now);
                Ok(())
            }
            EngineCall::Tick => {
                engine.tick(now.mono);
                Ok(())
            }
            EngineCall::Pull(lane, recorded) => {
                let replayed = engine.next_effect(lane, now);
                self.compare(&recorded, &replayed, now)?;
                self.summary.effects += usize::from(recorded.is_some());
                Ok(())
            }
            EngineCall::Notices(recorded) => {
                let replayed = engine.take_notices();
                self.compare(&recorded, &replayed, now)?;
                self.summary.notices += recorded.len();
                Ok(())
            }
        }
    }
}

impl CallComparison {
    fn compare<T: PartialEq + Debug>(&self, recorded: &T, replayed: &T, now: Now) -> Result<(), ReplayError> {
        if recorded == replayed {
            return Ok(());
        }
        let ReplaySummary { controller, inputs, .. } = self.summary;
        let (recorded, replayed) = (format!("{recorded:?}"), format!("{replayed:?}"));
        Err(ReplayError::Differs(Box::new(Difference { controller, now, inputs, recorded, replayed })))
    }
}
