//! Provides the wall time of the cluster, derived from tokio's time, with a chosen start and speed.

use jiff::{SignedDuration, Timestamp};
use std::time::Duration;
use tokio::time::Instant;

/// The cluster's clock.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    began: Instant,
    at: Timestamp,
    speed: f64,
}

impl VirtualClock {
    /// Starts at a moment; one real second is `speed` seconds of the cluster.
    ///
    /// # Panics
    /// If `speed` is not a positive number.
    pub fn starting(at: Timestamp, speed: f64) -> Self {
        assert!(speed.is_finite() && speed > 0.0, "a clock that stands still");
        Self { began: Instant::now(), at, speed }
    }

    /// The moment.
    pub fn now(&self) -> Timestamp {
        let passed = self.began.elapsed().mul_f64(self.speed);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.at.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// As objects have it: RFC 3339, whole seconds.
    pub fn stamp(&self) -> String {
        stamp(self.now())
    }

    /// As leases and events have it: RFC 3339, microseconds.
    pub fn micro_stamp(&self) -> String {
        format!("{:.6}", self.now())
    }

    /// Waits for so much of the cluster's time.
    pub async fn sleep(&self, length: Duration) {
        tokio::time::sleep(length.div_f64(self.speed)).await;
    }
}

/// RFC 3339 in whole seconds.
pub fn stamp(at: Timestamp) -> String {
    format!("{at:.0}")
}
