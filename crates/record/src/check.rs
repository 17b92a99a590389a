//! Checks the requests in a record by the monitor of evictions.

use crate::call::{EngineCall, RecordedCall};
use taintward_core::engine::Engine as _;
use taintward_core::eviction::EvictionEngine;
use taintward_core::eviction_monitor::{EvictionMonitor, EvictionViolation};
use taintward_core::time::Now;

/// How many violations are kept; more are counted.
const KEPT_MAX: usize = 100;

/// The requests of taint-eviction-controller that violate a property.
#[derive(Default)]
pub(crate) struct EvictionCheck {
    monitor: EvictionMonitor,
    checked: usize,
    violations: Vec<EvictionViolation>,
    violated: usize,
}

/// What a check has found.
#[derive(Clone, Copy, Debug)]
pub struct CheckSummary<'c> {
    /// The requests that were checked.
    pub checked: usize,
    /// Those that violate a property.
    pub violated: usize,
    /// The first of them.
    pub violations: &'c [EvictionViolation],
}

impl EvictionCheck {
    /// A segment begins. A monitor goes on if the engine does.
    pub(crate) fn begin(&mut self, engine: &EvictionEngine, followed: Option<&EvictionEngine>) {
        if followed == Some(engine) {
            return;
        }
        let is_new = !engine.is_synced() && engine.stats().nodes == 0 && engine.stats().pods == 0;
        self.monitor = match is_new {
            true => EvictionMonitor::of_new_engine(engine.numeric()),
            false => EvictionMonitor::of_running_engine(engine.numeric()),
        };
    }

    pub(crate) fn call(&mut self, call: &RecordedCall<EvictionEngine>, now: Now) {
        match call {
            EngineCall::Handle(input) => self.monitor.input(input, now),
            EngineCall::Pull(_, Some(effect)) => {
                self.checked += 1;
                if let Err(violation) = self.monitor.effect(effect, now) {
                    self.violated += 1;
                    if self.violations.len() < KEPT_MAX {
                        self.violations.push(violation);
                    }
                }
            }
            EngineCall::Pull(_, None) | EngineCall::Tick | EngineCall::Notices(_) => {}
        }
    }

    pub(crate) fn summary(&self) -> CheckSummary<'_> {
        let Self { checked, violated, violations, .. } = self;
        CheckSummary { checked: *checked, violated: *violated, violations }
    }
}
