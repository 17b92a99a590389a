//! Checks each request of an engine by its monitor.

use std::ops::Deref;
use taintward_core::engine::{Engine, Lane};
use taintward_core::engine_monitor::EngineMonitor;
use taintward_core::time::{Mono, Now};

/// An engine, as which it is read. Panics if a request, or that there is none, violates a property.
#[derive(Clone, Debug)]
pub struct MonitoredEngine<M: EngineMonitor> {
    engine: M::Engine,
    monitor: M,
}

impl<M: EngineMonitor> MonitoredEngine<M> {
    /// An engine that has got no input yet.
    pub fn new(engine: M::Engine) -> Self {
        Self { monitor: M::of(&engine), engine }
    }
}

impl<M: EngineMonitor> Deref for MonitoredEngine<M> {
    type Target = M::Engine;

    fn deref(&self) -> &M::Engine {
        &self.engine
    }
}

impl<M: EngineMonitor> Engine for MonitoredEngine<M> {
    type Input = <M::Engine as Engine>::Input;
    type Effect = <M::Engine as Engine>::Effect;
    type Notice = <M::Engine as Engine>::Notice;

    fn handle(&mut self, input: Self::Input, now: Now) {
        self.monitor.input(&input, now);
        self.engine.handle(input, now);
    }

    fn tick(&mut self, now: Mono) {
        self.engine.tick(now);
    }

    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<Self::Effect> {
        let effect = self.engine.next_effect(lane, now);
        let checked = match &effect {
            Some(effect) => self.monitor.effect(effect, now),
            None if lane == Lane::All => self.monitor.idle(now),
            None => Ok(()),
        };
        if let Err(violation) = checked {
            panic!("{violation}");
        }
        effect
    }

    fn next_wakeup(&self) -> Option<Mono> {
        self.engine.next_wakeup()
    }

    fn take_notices(&mut self) -> Vec<Self::Notice> {
        self.engine.take_notices()
    }

    fn is_synced(&self) -> bool {
        self.engine.is_synced()
    }
}
