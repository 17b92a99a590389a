//! Defines one call of an engine, and encodes calls with their times.

use crate::error::RecordError;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use taintward_core::engine::{Engine, Lane};
use taintward_core::time::{Mono, Now, Span, Wall};

/// An engine whose calls and state can be recorded.
pub trait RecordedEngine:
    Engine<
        Input: Serialize + DeserializeOwned,
        Effect: Serialize + DeserializeOwned + PartialEq + Debug,
        Notice: Serialize + DeserializeOwned + PartialEq + Debug,
    > + Serialize
    + DeserializeOwned
{
}

impl<E> RecordedEngine for E
where
    E: Engine + Serialize + DeserializeOwned,
    E::Input: Serialize + DeserializeOwned,
    E::Effect: Serialize + DeserializeOwned + PartialEq + Debug,
    E::Notice: Serialize + DeserializeOwned + PartialEq + Debug,
{
}

/// A call of an engine, with its result. `I`, `F`, `N`: its input, effect and notices, owned or borrowed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum EngineCall<I, F, N> {
    /// [`Engine::handle`].
    Handle(I),
    /// [`Engine::tick`].
    Tick,
    /// [`Engine::next_effect`], with the effect that it returned. A pull without an effect can change the engine too.
    Pull(Lane, Option<F>),
    /// [`Engine::take_notices`], with at least one notice.
    Notices(N),
}

/// A call that was read from a record.
pub type RecordedCall<E> =
    EngineCall<<E as Engine>::Input, <E as Engine>::Effect, Vec<<E as Engine>::Notice>>;

/// The time of a call, as its difference from the call before: most are small, and small numbers take one byte.
#[derive(Serialize, Deserialize)]
struct TimeStep {
    /// Microseconds that passed.
    mono: i64,
    /// By how many microseconds the wall clock went forward beside the monotonic clock.
    wall: i64,
    skew_max: SkewStep,
}

#[derive(Serialize, Deserialize)]
enum SkewStep {
    Unchanged,
    Changed(Option<Span>),
}

/// Before the first call of a block.
const ORIGIN: Now = Now::exact(Mono::from_micros(0), Wall::from_micros(0));

impl TimeStep {
    fn between(last: Now, now: Now) -> Self {
        let mono = now.mono.as_micros().wrapping_sub(last.mono.as_micros());
        let wall = now.wall.as_micros().wrapping_sub(last.wall.as_micros()).wrapping_sub(mono);
        let is_same = now.skew_max == last.skew_max;
        let skew_max = if is_same { SkewStep::Unchanged } else { SkewStep::Changed(now.skew_max) };
        Self { mono, wall, skew_max }
    }

    fn after(self, last: Now) -> Now {
        let mono = last.mono.as_micros().wrapping_add(self.mono);
        let wall = last.wall.as_micros().wrapping_add(self.mono).wrapping_add(self.wall);
        let skew_max = match self.skew_max {
            SkewStep::Unchanged => last.skew_max,
            SkewStep::Changed(skew_max) => skew_max,
        };
        Now::new(Mono::from_micros(mono), Wall::from_micros(wall), skew_max)
    }
}

/// Encodes calls, one after the other, into blocks that can be decoded independently of each other.
pub(crate) struct CallEncoder {
    block: Vec<u8>,
    last: Now,
}

impl CallEncoder {
    pub(crate) const fn new() -> Self {
        Self { block: Vec::new(), last: ORIGIN }
    }

    /// Adds a call. After an error, the block is unusable.
    pub(crate) fn push<I, F, N>(
        &mut self,
        call: &EngineCall<I, F, N>,
        now: Now,
    ) -> Result<(), postcard::Error>
    where
        I: Serialize,
        F: Serialize,
        N: Serialize,
    {
        let step = TimeStep::between(self.last, now);
        self.last = now;
        self.block = postcard::to_extend(&(step, call), std::mem::take(&mut self.block))?;
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.block.len()
    }

    /// The time of the last call.
    pub(crate) const fn last(&self) -> Now {
        self.last
    }

    /// Returns the block, and begins the next one.
    pub(crate) fn take(&mut self) -> Vec<u8> {
        self.last = ORIGIN;
        std::mem::take(&mut self.block)
    }
}

/// Decodes the calls of a block.
pub(crate) struct CallDecoder<'b> {
    rest: &'b [u8],
    last: Now,
}

impl<'b> CallDecoder<'b> {
    pub(crate) const fn new(block: &'b [u8]) -> Self {
        Self { rest: block, last: ORIGIN }
    }

    /// The next call with its time; `None` at the end of the block.
    pub(crate) fn next<E: RecordedEngine>(&mut self) -> Result<Option<(Now, RecordedCall<E>)>, RecordError> {
        if self.rest.is_empty() {
            return Ok(None);
        }
        let ((step, call), rest): ((TimeStep, RecordedCall<E>), _) = postcard::take_from_bytes(self.rest)
            .map_err(|error| RecordError::Undecodable { what: "a call", reason: error.to_string() })?;
        self.rest = rest;
        self.last = step.after(self.last);
        Ok(Some((self.last, call)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_come_back_whatever_the_clocks_do() {
        let at = |mono, wall, skew| Now::new(Mono::from_micros(mono), Wall::from_micros(wall), skew);
        let skew = Some(Span::from_millis(3));
        let times = [
            at(5, 1_800_000_000_000_000, None),
            at(5, 1_800_000_000_000_000, skew),
            at(1_000_005, 1_800_000_001_000_004, skew),
            at(1_000_006, -7, skew),
            at(i64::MAX, i64::MIN, None),
            at(i64::MIN, i64::MAX, None),
        ];
        let mut last = ORIGIN;
        for now in times {
            assert_eq!(TimeStep::between(last, now).after(last), now);
            last = now;
        }
    }
}
