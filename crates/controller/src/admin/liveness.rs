//! Detects a control loop that hangs, by the age of its last heartbeat.

use crate::metrics::MonoClock;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use taintward_core::time::{Mono, Span};

/// The heartbeat of one loop. Clones share it.
#[derive(Clone)]
pub struct LoopHeartbeat {
    last: Arc<AtomicI64>,
    limit: Span,
    clock: MonoClock,
}

impl LoopHeartbeat {
    /// Creates a heartbeat that starts now. The loop counts as stuck once it has not beaten for `limit`.
    pub fn new(limit: Span, clock: MonoClock) -> Self {
        let now = clock();
        Self { last: Arc::new(AtomicI64::new(now.as_micros())), limit, clock }
    }

    /// Records that the loop goes round.
    pub fn beat(&self) {
        self.last.store((self.clock)().as_micros(), Ordering::Relaxed);
    }

    /// Whether the loop is alive.
    ///
    /// # Errors
    /// With the reason, if it is stuck.
    pub fn check(&self) -> Result<(), String> {
        let silent = (self.clock)().since(Mono::from_micros(self.last.load(Ordering::Relaxed)));
        if silent <= self.limit {
            return Ok(());
        }
        let (silent, limit) = (silent.as_secs_f64(), self.limit.as_secs_f64());
        Err(format!("the control loop has not run for {silent:.1} s (limit {limit:.1} s)"))
    }
}

impl fmt::Debug for LoopHeartbeat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.check())
    }
}
