//! Computes the pause before the next attempt, from how the last one ended.
//!
//! - Invariant: a server that comes back is found immediately, however long it was unavailable; an overloaded one gets
//!   ever fewer requests (P26); no kind of failure becomes a hot loop.

use crate::split_mix::SplitMix64;
use std::time::Duration;

/// A stream that was in sync for this long was successful: the next one may start immediately. The same holds if no
/// server responded for this long: the one that does may be another, and had no load meanwhile.
const LASTED: Duration = Duration::from_secs(5);
/// The longest interval between attempts that no API server responds to: they cost it nothing while it is unavailable,
/// and all events meanwhile wait for the attempt that succeeds.
pub(super) const AWAY_LONGEST: Duration = Duration::from_secs(2);
/// The same if nothing responds: not even a proxy has work with them.
pub(super) const UNREACHABLE_LONGEST: Duration = Duration::from_millis(500);

pub(super) struct WatchBackoff {
    first: Duration,
    longest: Duration,
    /// Consecutive attempts that got a response and did not last.
    short: u32,
    /// Consecutive attempts without a response.
    away: u32,
    /// The total time of these and the pauses after them.
    away_for: Duration,
    jitter: SplitMix64,
}

impl WatchBackoff {
    pub(super) fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self { first, longest, short: 0, away: 0, away_for: Duration::ZERO, jitter: SplitMix64(seed) }
    }

    /// The same limits, without failures.
    pub(super) fn without_failures(&mut self) -> Self {
        Self::new(self.first, self.longest, self.jitter.next())
    }

    /// Returns the pause after an attempt that took this long and was in sync with the server for `lasted`; `away` is the
    /// longest interval if no API server responded, or none that could. The server's `Retry-After` is capped like the
    /// client's own pauses.
    ///
    /// The intervals between the starts of attempts grow: the time that a stream was in sync, or that an attempt
    /// without a response took, counts towards the pause. The first attempt after a stream that lasted is only spread a
    /// little: when a server ends, all streams of all processes end at the same moment.
    pub(super) fn pause(
        &mut self,
        took: Duration,
        lasted: Duration,
        away: Option<Duration>,
        retry_after: Option<Duration>,
    ) -> Duration {
        if lasted >= LASTED {
            (self.short, self.away) = (0, 0);
        }
        if self.away_for >= LASTED {
            self.short = 0;
        }
        let retry_after = retry_after.unwrap_or_default().min(self.longest);
        let (failed, longest, spent) = match away {
            Some(longest) => (&mut self.away, longest.min(self.longest), took),
            None => (&mut self.short, self.longest, lasted),
        };
        let distance = match failed.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => self.first.saturating_mul(1 << doublings.min(20)).min(longest),
        };
        *failed = failed.saturating_add(1);
        let pause = distance.saturating_sub(spent).max(retry_after);
        let pause = pause + self.jitter.up_to((pause / 4).max(self.first));
        match away {
            Some(_) => self.away_for = self.away_for.saturating_add(took).saturating_add(pause),
            None => (self.away, self.away_for) = (0, Duration::ZERO),
        }
        pause
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(30);

    const HOUR: Duration = Duration::from_secs(3600);

    fn backoff() -> WatchBackoff {
        WatchBackoff::new(FIRST, LONGEST, 7)
    }

    impl WatchBackoff {
        /// The pause after a stream that was in sync for these seconds.
        fn after(&mut self, lasted: u64) -> Duration {
            let lasted = Duration::from_secs(lasted);
            self.pause(lasted, lasted, None, None)
        }

        /// The pause after an attempt without a response.
        fn after_no_response(&mut self, took: u64) -> Duration {
            self.pause(Duration::from_secs(took), Duration::ZERO, Some(UNREACHABLE_LONGEST), None)
        }
    }

    fn with_jitter(plain: Duration) -> std::ops::RangeInclusive<Duration> {
        plain..=plain + (plain / 4).max(FIRST)
    }

    #[test]
    fn pauses_grow_to_the_cap_and_fall_back_after_a_stream_that_lasted() {
        let mut backoff = backoff();
        assert!(backoff.after(300) <= FIRST);
        let pauses: Vec<_> = (0..12).map(|_| backoff.after(0)).collect();
        for (at, pause) in pauses.iter().enumerate() {
            let plain = FIRST.saturating_mul(1 << at).min(LONGEST);
            assert!(with_jitter(plain).contains(pause), "{at}: {pause:?}");
        }
        assert!(backoff.after(5) <= FIRST);
        assert!(with_jitter(FIRST).contains(&backoff.after(0)));
    }

    #[test]
    fn p26_the_first_attempts_after_a_server_ends_are_spread() {
        let firsts: Vec<_> =
            (0..100).map(|seed| WatchBackoff::new(FIRST, LONGEST, seed).after(300)).collect();
        let (least, most) = (firsts.iter().min().unwrap(), firsts.iter().max().unwrap());
        assert!(*least < FIRST / 5 && *most > FIRST * 4 / 5 && *most <= FIRST, "{least:?} to {most:?}");
    }

    #[test]
    fn a_server_that_is_away_for_an_hour_gets_a_bounded_number_of_requests() {
        let mut backoff = backoff();
        for longest in [UNREACHABLE_LONGEST, AWAY_LONGEST] {
            let (mut gone, mut requests) = (Duration::ZERO, 0);
            while gone < HOUR {
                let pause = backoff.pause(Duration::ZERO, Duration::ZERO, Some(longest), None);
                assert!(pause <= longest + (longest / 4).max(FIRST), "{pause:?}");
                (gone, requests) = (gone + pause, requests + 1);
            }
            assert!(requests < 3600 * 1000 / longest.as_millis(), "{requests}");
        }
        // If it is back and soon ends streams, or has lost the history, other rules apply.
        assert!(backoff.after(0) <= FIRST);
        assert!(with_jitter(FIRST).contains(&backoff.after(0)));
    }

    /// A server that is killed again and again, for a minute each time, and runs for two seconds in between.
    #[test]
    fn failures_before_an_outage_do_not_count_after_it() {
        let mut backoff = backoff();
        for outage in 0..10 {
            // The end of the open stream: it was in sync for two seconds.
            assert!(backoff.after(2) <= FIRST, "{outage}");
            let mut gone = Duration::ZERO;
            while gone < Duration::from_secs(60) {
                gone += backoff.after_no_response(0);
            }
            // The server is back, and has lost the history.
            assert!(backoff.after(0) <= FIRST, "{outage}");
        }
    }

    /// A load balancer with a dead server and one that ends each stream immediately.
    #[test]
    fn short_streams_between_refused_connections_cause_no_hot_loop() {
        let mut backoff = backoff();
        let (mut gone, mut attempts) = (Duration::ZERO, 0);
        while gone < HOUR {
            gone += backoff.after_no_response(0) + backoff.after(0);
            attempts += 1;
        }
        assert!(attempts < 150, "{attempts}");
    }

    #[test]
    fn the_time_of_an_attempt_without_a_response_counts_towards_the_pause() {
        let mut backoff = backoff();
        for _ in 0..20 {
            assert!(backoff.after_no_response(5) <= FIRST);
        }
    }

    #[test]
    fn a_short_stream_counts_towards_the_pause() {
        let mut backoff = backoff();
        for _ in 0..5 {
            backoff.after(0);
        }
        assert!(with_jitter(FIRST).contains(&backoff.after(3)));
    }

    #[test]
    fn a_retry_after_of_a_year_is_capped() {
        for away in [Some(AWAY_LONGEST), None] {
            let pause = |retry_after| {
                backoff().pause(Duration::ZERO, Duration::ZERO, away, Some(Duration::from_secs(retry_after)))
            };
            assert!(with_jitter(LONGEST).contains(&pause(365 * 86_400)));
            assert!(with_jitter(Duration::from_secs(7)).contains(&pause(7)));
        }
    }

    #[test]
    fn jitter_differs_from_pause_to_pause() {
        let mut backoff = WatchBackoff::new(LONGEST, LONGEST, 7);
        assert_ne!(backoff.after(0), backoff.after(0));
    }
}
