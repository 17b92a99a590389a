//! Checks the requests in a record by the monitors of their engines.

use crate::call::{EngineCall, RecordedCall, RecordedEngine};
use taintward_core::engine::Lane;
use taintward_core::engine_monitor::{EngineMonitor, RequestViolation};
use taintward_core::time::Now;

/// How many violations of a controller are kept; more are counted.
const KEPT_MAX: usize = 100;

/// The requests of a controller that violate a property.
pub(crate) struct RecordCheck<M> {
    monitor: Option<M>,
    checked: usize,
    violations: Vec<RequestViolation>,
    violated: usize,
}

/// What a check has found.
#[derive(Clone, Debug, Default)]
pub struct CheckSummary {
    /// The requests that were checked.
    pub checked: usize,
    /// Those that violate a property.
    pub violated: usize,
    /// The first of them.
    pub violations: Vec<RequestViolation>,
}

impl<M> Default for RecordCheck<M> {
    fn default() -> Self {
        Self { monitor: None, checked: 0, violations: Vec::new(), violated: 0 }
    }
}

impl<M: EngineMonitor> RecordCheck<M>
where
    M::Engine: RecordedEngine + PartialEq,
{
    /// A segment begins. A monitor goes on if the engine does.
    pub(crate) fn begin(&mut self, engine: &M::Engine, followed: Option<&M::Engine>) {
        if followed != Some(engine) {
            self.monitor = Some(M::of(engine));
        }
    }

    pub(crate) fn call(&mut self, call: &RecordedCall<M::Engine>, now: Now) {
        let Some(monitor) = &mut self.monitor else { return };
        let checked = match call {
            EngineCall::Handle(input) => {
                monitor.input(input, now);
                Ok(())
            }
            EngineCall::Pull(_, Some(effect)) => {
                self.checked += 1;
                monitor.effect(effect, now)
            }
            EngineCall::Pull(Lane::All, None) => monitor.idle(now),
            EngineCall::Pull(_, None) | EngineCall::Tick | EngineCall::Notices(_) => Ok(()),
        };
        if let Err(violation) = checked {
            self.violated += 1;
            if self.violations.len() < KEPT_MAX {
                self.violations.push(violation);
            }
        }
    }

    pub(crate) fn add_to(&self, summary: &mut CheckSummary) {
        summary.checked += self.checked;
        summary.violated += self.violated;
        summary.violations.extend_from_slice(&self.violations);
    }
}
