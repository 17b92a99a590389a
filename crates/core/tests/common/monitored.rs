//! Checks each request of a node lifecycle engine by the monitor.

use std::ops::Deref;
use taintward_core::engine::{Engine, Lane};
use taintward_core::engine_monitor::EngineMonitor as _;
use taintward_core::node_lifecycle::{
    NodeLifecycleConfig, NodeLifecycleEffect, NodeLifecycleEngine, NodeLifecycleInput, NodeLifecycleNotice,
};
use taintward_core::node_lifecycle_monitor::NodeLifecycleMonitor;
use taintward_core::time::{Mono, Now};

/// An engine, as which it is read. Panics if a request violates a property.
#[derive(Clone, Debug)]
pub struct MonitoredEngine {
    engine: NodeLifecycleEngine,
    monitor: NodeLifecycleMonitor,
}

impl MonitoredEngine {
    pub fn new(config: NodeLifecycleConfig) -> Self {
        let monitor = NodeLifecycleMonitor::of_new_engine(config.clone());
        Self { engine: NodeLifecycleEngine::new(config), monitor }
    }
}

impl Deref for MonitoredEngine {
    type Target = NodeLifecycleEngine;

    fn deref(&self) -> &NodeLifecycleEngine {
        &self.engine
    }
}

impl Engine for MonitoredEngine {
    type Input = NodeLifecycleInput;
    type Effect = NodeLifecycleEffect;
    type Notice = NodeLifecycleNotice;

    fn handle(&mut self, input: NodeLifecycleInput, now: Now) {
        self.monitor.input(&input, now);
        self.engine.handle(input, now);
    }

    fn tick(&mut self, now: Mono) {
        self.engine.tick(now);
    }

    fn next_effect(&mut self, lane: Lane, now: Now) -> Option<NodeLifecycleEffect> {
        let effect = self.engine.next_effect(lane, now)?;
        if let Err(violation) = self.monitor.effect(&effect, now) {
            panic!("{violation}");
        }
        Some(effect)
    }

    fn next_wakeup(&self) -> Option<Mono> {
        self.engine.next_wakeup()
    }

    fn take_notices(&mut self) -> Vec<NodeLifecycleNotice> {
        self.engine.take_notices()
    }

    fn is_synced(&self) -> bool {
        self.engine.is_synced()
    }
}
