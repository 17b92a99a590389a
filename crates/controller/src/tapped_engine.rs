//! Passes the calls of a control loop to its engine, and to the taps that record and check them.
//!
//! - Invariant: what changes the engine goes through here, in the order in which it happens; otherwise a replay differs.

use taintward_core::engine::{Engine, Lane};
use taintward_core::time::Now;
use taintward_record::CallTap;

/// An engine with its taps.
pub(crate) struct TappedEngine<E: Engine> {
    engine: E,
    taps: Vec<Box<dyn CallTap<E>>>,
}

impl<E: Engine> TappedEngine<E> {
    pub(crate) const fn new(engine: E, taps: Vec<Box<dyn CallTap<E>>>) -> Self {
        Self { engine, taps }
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
        for tap in &mut self.taps {
            tap.turn(&self.engine, now);
        }
    }

    pub(crate) fn handle(&mut self, input: E::Input, now: Now) {
        for tap in &mut self.taps {
            tap.handle(&input, now);
        }
        self.engine.handle(input, now);
    }

    pub(crate) fn tick(&mut self, now: Now) {
        for tap in &mut self.taps {
            tap.tick(now);
        }
        self.engine.tick(now.mono);
    }

    pub(crate) fn next_effect(&mut self, lane: Lane, now: Now) -> Option<E::Effect> {
        let effect = self.engine.next_effect(lane, now);
        for tap in &mut self.taps {
            tap.pull(lane, effect.as_ref(), now);
        }
        effect
    }

    pub(crate) fn take_notices(&mut self, now: Now) -> Vec<E::Notice> {
        let notices = self.engine.take_notices();
        for tap in &mut self.taps {
            tap.notices(&notices, now);
        }
        notices
    }

    /// Sends the calls that wait to the taps. For the end of the loop.
    pub(crate) fn flush(&mut self, now: Now) {
        for tap in &mut self.taps {
            tap.flush(now);
        }
    }
}
