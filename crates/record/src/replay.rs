//! Replays a record: the engine of this program receives the same inputs at the same times, and its effects and notices
//! are compared with those that were recorded.

use crate::call::{EngineCall, RecordedCall, RecordedEngine};
use crate::check::{CheckSummary, RecordCheck};
use crate::error::RecordError;
use crate::follower::{CallVisitor, EngineFollower};
use crate::frame::{Frame, RecordedController};
use crate::reader::RecordReader;
use std::fmt::{self, Debug};
use std::io::BufRead;
use taintward_core::engine_monitor::EngineMonitor;
use taintward_core::eviction_monitor::EvictionMonitor;
use taintward_core::node_lifecycle_monitor::NodeLifecycleMonitor;
use taintward_core::time::Now;
use taintward_core::toleration_seconds_monitor::TolerationSecondsMonitor;

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
    eviction: CheckedReplay<EvictionMonitor>,
    nodes: CheckedReplay<NodeLifecycleMonitor>,
    seconds: CheckedReplay<TolerationSecondsMonitor>,
}

impl Replay {
    /// A replay that has read nothing yet.
    pub fn new() -> Self {
        Self {
            eviction: CheckedReplay::new(RecordedController::TaintEviction),
            nodes: CheckedReplay::new(RecordedController::NodeLifecycle),
            seconds: CheckedReplay::new(RecordedController::TolerationSeconds),
        }
    }

    /// Replays a file, to its end.
    ///
    /// # Errors
    /// The first difference in it, and if the file cannot be read.
    pub fn read<R: BufRead>(&mut self, record: &mut RecordReader<R>) -> Result<(), ReplayError> {
        while let Some(frame) = record.next_frame()? {
            match frame.controller {
                RecordedController::TaintEviction => self.eviction.read(&frame)?,
                RecordedController::NodeLifecycle => self.nodes.read(&frame)?,
                RecordedController::TolerationSeconds => self.seconds.read(&frame)?,
            }
        }
        let all = [&self.eviction.comparison, &self.nodes.comparison, &self.seconds.comparison];
        let differences = all.into_iter().filter_map(|comparison| comparison.difference.as_ref());
        match differences.min_by_key(|difference| difference.now.wall) {
            None => Ok(()),
            Some(first) => Err(ReplayError::Differs(Box::new(first.clone()))),
        }
    }

    /// What the monitors found in the record; it is checked as far as it was replayed. The violations are in the order of their
    /// times.
    pub fn check(&self) -> CheckSummary {
        let mut summary = CheckSummary::default();
        self.eviction.check.add_to(&mut summary);
        self.nodes.check.add_to(&mut summary);
        self.seconds.check.add_to(&mut summary);
        summary.violations.sort_by_key(|violation| violation.at.wall);
        summary
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
struct CheckedReplay<M: EngineMonitor> {
    follower: EngineFollower<M::Engine>,
    check: RecordCheck<M>,
    comparison: CallComparison,
}

/// Both look at each call.
struct CheckedComparison<'r, M> {
    check: &'r mut RecordCheck<M>,
    comparison: &'r mut CallComparison,
}

impl<M: EngineMonitor> CheckedReplay<M>
where
    M::Engine: RecordedEngine + PartialEq,
{
    fn new(controller: RecordedController) -> Self {
        let summary =
            ReplaySummary { controller, segments: 0, inputs: 0, effects: 0, notices: 0, times: None };
        let comparison = CallComparison { summary, difference: None };
        Self { follower: EngineFollower::new(), check: RecordCheck::default(), comparison }
    }

    fn read(&mut self, frame: &Frame) -> Result<(), RecordError> {
        let Self { follower, check, comparison } = self;
        follower.read(frame, &mut CheckedComparison { check, comparison })
    }
}

impl<M: EngineMonitor> CallVisitor<M::Engine> for CheckedComparison<'_, M>
where
    M::Engine: RecordedEngine + PartialEq,
{
    type Error = RecordError;

    fn begin(&mut self, engine: &M::Engine, followed: Option<&M::Engine>) {
        self.check.begin(engine, followed);
        self.comparison.begin(engine, followed);
    }

    fn call(
        &mut self,
        engine: &mut M::Engine,
        call: RecordedCall<M::Engine>,
        now: Now,
    ) -> Result<(), RecordError> {
        self.check.call(&call, now);
        self.comparison.call(engine, call, now)
    }
}

/// Compares the calls of an engine with what the engine of this program does.
struct CallComparison {
    summary: ReplaySummary,
    /// The first one. From then on, nothing is compared: one difference leads to others.
    difference: Option<Difference>,
}

impl<E: RecordedEngine> CallVisitor<E> for CallComparison {
    type Error = RecordError;

    fn begin(&mut self, _: &E, _: Option<&E>) {
        self.summary.segments += 1;
    }

    fn call(&mut self, engine: &mut E, call: RecordedCall<E>, now: Now) -> Result<(), RecordError> {
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
                self.compare(&recorded, &replayed, now);
                self.summary.effects += usize::from(recorded.is_some());
                Ok(())
            }
            EngineCall::Notices(recorded) => {
                let replayed = engine.take_notices();
                self.compare(&recorded, &replayed, now);
                self.summary.notices += recorded.len();
                Ok(())
            }
        }
    }
}

impl CallComparison {
    fn compare<T: PartialEq + Debug>(&mut self, recorded: &T, replayed: &T, now: Now) {
        if recorded == replayed || self.difference.is_some() {
            return;
        }
        let ReplaySummary { controller, inputs, .. } = self.summary;
        let (recorded, replayed) = (format!("{recorded:?}"), format!("{replayed:?}"));
        self.difference = Some(Difference { controller, now, inputs, recorded, replayed });
    }
}
