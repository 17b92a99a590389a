//! Passes the calls of a control loop to its engine, and to the tap that records them.
//!
//! - Invariant: what changes the engine goes through here, in the order in which it happens; otherwise a replay differs.

use taintward_core::engine::{Engine, Lane};
use taintward_core::time::Now;
use taintward_record::CallTap;

/// An engine, and its tap if it is recorded.
pub(crate) struct TappedEngine<E: Engine> {
    engine: E,
    tap: Option<Box<dyn CallTap<E>>>,
}

impl<E: Engine> TappedEngine<E> {
    pub(crate) const fn new(engine: E, tap: Option<Box<dyn CallTap<E>>>) -> Self {
        Self { engine, tap }
    }

    /// The engine, to read.
    pub(crate) const fn get(&self) -> &E {
        &self.engine
    }

    /// The engine, for changes that neither effects nor notices depend on.
    pub(crate) const fn get_mut(&mut self) -> &mut E {
        &mut self.engine
    }

    /// To be called once in each turn of the loop.
    pub(crate) fn turn(&mut self, now: Now) {
        if let Some(tap) = &mut self.tap {
            tap.turn(&self.engine, now);
        }
    }

    pub(crate) fn handle(&mut self, input: E::Input, now: Now) {
        if let Some(tap) = &mut self.tap {
            tap.handle(&input, now);
        }
        self.engine.handle(input, now);
    }

    pub(crate) fn tick(&mut self, now: Now) {
        if let Some(tap) = &mut self.tap {
            tap.tick(now);
        }
        self.engine.tick(now.mono);
    }

    pub(crate) fn next_effect(&mut self, lane: Lane, now: Now) -> Option<E::Effect> {
        let effect = self.engine.next_effect(lane, now);
        if let Some(tap) = &mut self.tap {
            tap.pull(lane, effect.as_ref(), now);
        }
        effect
    }

    pub(crate) fn take_notices(&mut self, now: Now) -> Vec<E::Notice> {
        let notices = self.engine.take_notices();
        if let Some(tap) = &mut self.tap {
            tap.notices(&notices, now);
        }
        notices
    }

    /// Sends the calls that wait to the record. For the end of the loop.
    pub(crate) fn flush(&mut self, now: Now) {
        if let Some(tap) = &mut self.tap {
            tap.flush(now);
        }
    }
}
