//! Provides the wall time of the cluster, derived from tokio's time, with a chosen start and a speed that can be changed.

use jiff::{SignedDuration, Timestamp};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::Instant;

/// The cluster's clock; clones show the same time.
#[derive(Clone, Debug)]
pub struct VirtualClock {
    rate: Arc<watch::Sender<VirtualClockRate>>,
}

/// The clock's course since its speed was last set.
#[derive(Clone, Copy, Debug)]
pub struct VirtualClockRate {
    /// The start on tokio's clock.
    pub began: Instant,
    /// The start on this clock.
    pub at: Timestamp,
    /// Seconds of the cluster in one second.
    pub speed: f64,
}

impl VirtualClockRate {
    /// The time of this clock at an instant of tokio's.
    fn shows(&self, now: Instant) -> Timestamp {
        let passed = now.saturating_duration_since(self.began).mul_f64(self.speed);
        let passed = SignedDuration::try_from(passed).unwrap_or(SignedDuration::MAX);
        self.at.checked_add(passed).unwrap_or(Timestamp::MAX)
    }
}

impl VirtualClock {
    /// Starts at a moment; one real second is `speed` seconds of the cluster.
    ///
    /// # Panics
    /// If `speed` is not a positive number.
    pub fn starting(at: Timestamp, speed: f64) -> Self {
        assert!(speed.is_finite() && speed > 0.0, "the speed is not positive");
        let (rate, _) = watch::channel(VirtualClockRate { began: Instant::now(), at, speed });
        Self { rate: Arc::new(rate) }
    }

    /// Continues from now at another speed, for all clones and all waiting tasks.
    ///
    /// # Panics
    /// If `speed` is not a positive number.
    pub fn set_speed(&self, speed: f64) -> VirtualClockRate {
        assert!(speed.is_finite() && speed > 0.0, "the speed is not positive");
        self.rate.send_modify(|rate| {
            let began = Instant::now();
            *rate = VirtualClockRate { began, at: rate.shows(began), speed };
        });
        *self.rate.borrow()
    }

    /// Seconds of the cluster in one second.
    pub fn speed(&self) -> f64 {
        self.rate.borrow().speed
    }

    /// The present time.
    pub fn now(&self) -> Timestamp {
        self.rate.borrow().shows(Instant::now())
    }

    /// The present time as objects have it: RFC 3339, whole seconds.
    pub fn time_text(&self) -> String {
        time_text(self.now())
    }

    /// The present time as leases and events have it: RFC 3339, microseconds.
    pub fn micro_time(&self) -> String {
        format!("{:.6}", self.now())
    }

    /// Waits for a duration of the cluster's time.
    pub async fn sleep(&self, length: Duration) {
        let mut rate = self.rate.subscribe();
        let until = self.now().checked_add(SignedDuration::try_from(length).unwrap_or(SignedDuration::MAX));
        let until = until.unwrap_or(Timestamp::MAX);
        loop {
            let left = Duration::try_from(until.duration_since(self.now())).unwrap_or_default();
            let speed = rate.borrow_and_update().speed;
            tokio::select! {
                () = tokio::time::sleep(left.div_f64(speed)) => return,
                // The speed has changed, so the rest takes a different time.
                Ok(()) = rate.changed() => {}
            }
        }
    }
}

/// RFC 3339 in whole seconds.
pub fn time_text(at: Timestamp) -> String {
    format!("{at:.0}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn another_speed_changes_no_moment_that_is_over_and_shortens_waits() {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().expect("a time");
        let clock = VirtualClock::starting(start, 1.0);
        tokio::time::sleep(Duration::from_secs(10)).await;
        let waiting = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(Duration::from_secs(600)).await }
        });
        tokio::time::sleep(Duration::from_secs(60)).await;
        let passed = |clock: &VirtualClock| clock.now().duration_since(start).as_secs();
        assert_eq!(passed(&clock), 70);
        clock.set_speed(60.0);
        assert_eq!((passed(&clock), clock.speed()), (70, 60.0));
        tokio::time::sleep(Duration::from_millis(8_900)).await;
        assert!(!waiting.is_finished(), "540 s are left, and 9 real seconds for them");
        tokio::time::sleep(Duration::from_millis(200)).await;
        assert!(waiting.is_finished());
        assert_eq!(passed(&clock), 70 + 546);
    }
}
