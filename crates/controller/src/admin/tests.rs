//! Tests heartbeats with a clock of their own.

use super::*;
use crate::metrics::MonoClock;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use taintward_core::time::{Mono, Span};

#[test]
fn a_heartbeat_stops_being_fine_when_it_stops() {
    let now = Arc::new(AtomicI64::new(0));
    let reading = now.clone();
    let clock: MonoClock = Arc::new(move || Mono::from_secs(reading.load(Ordering::SeqCst)));
    let heart = LoopHeartbeat::new(Span::from_secs(10), clock);
    now.store(10, Ordering::SeqCst);
    assert_eq!(heart.check(), Ok(()));
    now.store(11, Ordering::SeqCst);
    assert_eq!(heart.check(), Err("the control loop has not run for 11.0 s (limit 10.0 s)".into()));
    heart.beat();
    assert_eq!(heart.check(), Ok(()));
}
