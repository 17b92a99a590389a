//! Measures how slow the machine and the API server are while a test runs: a busy machine is not late by Taintward's fault.

use super::harness::PolicyHarness;
use jiff::Timestamp;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often it is checked that threads run.
const INTERVAL: Duration = Duration::from_millis(10);

/// The longest time for which a thread did not run, since this exists.
pub(super) struct Slowness {
    stall_millis: Arc<AtomicU64>,
    ends: Arc<AtomicBool>,
    began: Timestamp,
}

impl Slowness {
    pub(super) fn measure() -> Self {
        let (stall_millis, ends) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (longest, over) = (stall_millis.clone(), ends.clone());
        thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                let began = Instant::now();
                thread::park_timeout(INTERVAL);
                let stall = began.elapsed().saturating_sub(INTERVAL).as_millis();
                longest.fetch_max(u64::try_from(stall).unwrap_or(u64::MAX), Ordering::Relaxed);
            }
        });
        Self { stall_millis, ends, began: Timestamp::now() }
    }

    /// The longest stall, and the longest time that the API server took for a request of Taintward meanwhile.
    pub(super) fn millis(&self, harness: &PolicyHarness<'_>) -> i128 {
        let requests = harness.requests(|entry| entry.verb != "watch" && entry.received >= self.began);
        let took = requests.iter().map(|entry| entry.completed.duration_since(entry.received).as_millis());
        took.max().unwrap_or_default() + i128::from(self.stall_millis.load(Ordering::Relaxed))
    }
}

impl Drop for Slowness {
    fn drop(&mut self) {
        self.ends.store(true, Ordering::Relaxed);
    }
}
