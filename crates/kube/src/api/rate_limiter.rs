//! Limits requests per second with a token bucket (`--kube-api-qps`, `--kube-api-burst`).

use crate::clock::Clock;
use std::sync::{Arc, Mutex, PoisonError};
use taintward_core::time::{Mono, Span};

/// A limit of requests per second, with a burst. Clones share it.
#[derive(Clone, Debug)]
pub struct RateLimiter {
    clock: Clock,
    /// Time between two requests at full use.
    interval: Span,
    /// How far a burst may run ahead of that rate.
    credit: Span,
    /// When the next request would be sent if all so far had kept the interval.
    due: Arc<Mutex<Mono>>,
}

impl RateLimiter {
    /// A limit of `qps` requests per second (at least one per day) and bursts of `burst` (at least one).
    pub fn new(clock: Clock, qps: f32, burst: u32) -> Self {
        let qps = f64::from(qps).max(1.0 / 86_400.0);
        let interval = Span::from_micros((1_000_000.0 / qps).ceil() as i64);
        let ahead = i64::from(burst.max(1) - 1);
        let credit = Span::from_micros(interval.as_micros().saturating_mul(ahead));
        let due = Arc::new(Mutex::new(clock.now().mono));
        Self { clock, interval, credit, due }
    }

    /// Waits for a turn. If the wait would be longer than `wait_max`, rejects without using a turn and returns the
    /// length of the wait.
    pub(crate) async fn turn(&self, wait_max: Span) -> Result<(), Span> {
        let leave = self.book(wait_max)?;
        self.clock.sleep_until(leave).await;
        Ok(())
    }

    fn book(&self, wait_max: Span) -> Result<Mono, Span> {
        let now = self.clock.now().mono;
        // The guarded value is a single number, consistent at any moment: a poisoned lock guards no broken state.
        let mut due = self.due.lock().unwrap_or_else(PoisonError::into_inner);
        let leave = due.minus(self.credit);
        let wait = leave.since(now);
        if wait > wait_max {
            return Err(wait);
        }
        *due = (*due).max(now).plus(self.interval);
        Ok(leave)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::time::Wall;

    #[tokio::test(start_paused = true)]
    async fn a_burst_then_the_rate() {
        let clock = Clock::of_runtime(Wall::from_secs(0));
        let limiter = RateLimiter::new(clock.clone(), 20.0, 30);
        let mut left = Vec::new();
        for _ in 0..50 {
            limiter.turn(Span::from_secs(10)).await.unwrap();
            left.push(clock.now().mono.as_micros());
        }
        assert_eq!(left[29], 0, "thirty immediately");
        // Timers of the runtime end on whole milliseconds.
        assert!((50_000..52_000).contains(&left[30]), "{}", left[30]);
        assert!((1_000_000..1_002_000).contains(&left[49]), "{}", left[49]);
    }

    #[tokio::test(start_paused = true)]
    async fn no_request_waits_longer_than_allowed_and_a_refusal_uses_no_turn() {
        let clock = Clock::of_runtime(Wall::from_secs(0));
        let limiter = RateLimiter::new(clock.clone(), 1.0, 1);
        limiter.turn(Span::ZERO).await.unwrap();
        for _ in 0..100 {
            assert_eq!(limiter.turn(Span::from_millis(900)).await, Err(Span::from_secs(1)));
        }
        limiter.turn(Span::from_secs(1)).await.unwrap();
        assert_eq!(clock.now().mono.as_micros() / 1_000_000, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn idle_time_saves_up_one_burst_only() {
        let clock = Clock::of_runtime(Wall::from_secs(0));
        let limiter = RateLimiter::new(clock.clone(), 10.0, 3);
        clock.sleep_until(Mono::from_secs(3600)).await;
        for _ in 0..3 {
            limiter.turn(Span::ZERO).await.unwrap();
        }
        assert!(limiter.turn(Span::ZERO).await.is_err());
    }
}
