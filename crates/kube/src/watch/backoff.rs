//! Computes the pause before the next attempt, from how the last one ended.
//!
//! - Invariant: a server that comes back is found at once, however long it was away; an overloaded one is asked ever
//!   more rarely (P26); no kind of failure becomes a hot loop.

use crate::split_mix::SplitMix64;
use std::time::Duration;

/// A stream that was in step for this long did its job: the next one may start at once. So it may if no server answered
/// for this long: the one that does may be another, and was left in peace.
const LASTED: Duration = Duration::from_secs(5);
/// The longest distance between attempts that nobody answers: they cost the server nothing while it is away, and
/// whatever happens meanwhile waits for the one that succeeds.
const AWAY_LONGEST: Duration = Duration::from_secs(2);

pub(super) struct WatchBackoff {
    first: Duration,
    longest: Duration,
    /// Attempts in a row that were answered and did not last.
    short: u32,
    /// Attempts in a row without an answer.
    away: u32,
    /// How long they and the pauses after them have taken.
    away_for: Duration,
    jitter: SplitMix64,
}

impl WatchBackoff {
    pub(super) fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self { first, longest, short: 0, away: 0, away_for: Duration::ZERO, jitter: SplitMix64(seed) }
    }

    /// The pause after an attempt that took this long, and for `lasted` of it was in step with the server; `away`: there
    /// was no API server to answer, or none that could. The server's wish to wait is capped like our own pauses.
    ///
    /// Attempts start at growing distances: the time a stream was in step, or an
    /// unanswered attempt took, counts towards the pause. The first one after a stream that lasted is only spread a
    /// little: where a server ends, all streams of all processes end at the same moment.
    pub(super) fn pause(
        &mut self,
        took: Duration,
        lasted: Duration,
        away: bool,
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
            true => (&mut self.away, AWAY_LONGEST.min(self.longest), took),
            false => (&mut self.short, self.longest, lasted),
        };
        let distance = match failed.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => self.first.saturating_mul(1 << doublings.min(20)).min(longest),
        };
        *failed = failed.saturating_add(1);
        let pause = distance.saturating_sub(spent).max(retry_after);
        let pause = pause + self.jitter.up_to((pause / 4).max(self.first));
        match away {
            true => self.away_for = self.away_for.saturating_add(took).saturating_add(pause),
            false => (self.away, self.away_for) = (0, Duration::ZERO),
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
        /// The pause after a stream that was in step for these seconds.
        fn after(&mut self, lasted: u64) -> Duration {
            let lasted = Duration::from_secs(lasted);
            self.pause(lasted, lasted, false, None)
        }

        /// The pause after an attempt without an answer.
        fn after_no_answer(&mut self, took: u64) -> Duration {
            self.pause(Duration::from_secs(took), Duration::ZERO, true, None)
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
    fn p26_the_first_attempts_after_a_server_that_ends_are_spread() {
        let firsts: Vec<_> =
            (0..100).map(|seed| WatchBackoff::new(FIRST, LONGEST, seed).after(300)).collect();
        let (least, most) = (firsts.iter().min().unwrap(), firsts.iter().max().unwrap());
        assert!(*least < FIRST / 5 && *most > FIRST * 4 / 5 && *most <= FIRST, "{least:?} to {most:?}");
    }

    #[test]
    fn a_server_that_is_away_for_an_hour_is_asked_every_other_second() {
        let mut backoff = backoff();
        let (mut gone, mut asked) = (Duration::ZERO, 0);
        while gone < HOUR {
            let pause = backoff.after_no_answer(0);
            assert!(pause <= AWAY_LONGEST.mul_f64(1.25), "{pause:?}");
            (gone, asked) = (gone + pause, asked + 1);
        }
        assert!(asked < 1_800, "{asked}");
        // That it is back and ends streams soon, or has lost the history, is another matter.
        assert!(backoff.after(0) <= FIRST);
        assert!(with_jitter(FIRST).contains(&backoff.after(0)));
    }

    /// A server that is killed again and again, for a minute each time, and lives for two seconds in between.
    #[test]
    fn what_a_server_did_before_it_was_away_is_not_held_against_it() {
        let mut backoff = backoff();
        for outage in 0..10 {
            // The end of the stream that was open: it was in step for two seconds.
            assert!(backoff.after(2) <= FIRST, "{outage}");
            let mut gone = Duration::ZERO;
            while gone < Duration::from_secs(60) {
                gone += backoff.after_no_answer(0);
            }
            // It is back, and has not kept the history.
            assert!(backoff.after(0) <= FIRST, "{outage}");
        }
    }

    /// A balancer with a dead server and one that ends each stream at once.
    #[test]
    fn short_streams_between_refused_connections_are_no_hot_loop() {
        let mut backoff = backoff();
        let (mut gone, mut attempts) = (Duration::ZERO, 0);
        while gone < HOUR {
            gone += backoff.after_no_answer(0) + backoff.after(0);
            attempts += 1;
        }
        assert!(attempts < 150, "{attempts}");
    }

    #[test]
    fn an_attempt_that_waited_in_vain_is_followed_by_the_next() {
        let mut backoff = backoff();
        for _ in 0..20 {
            assert!(backoff.after_no_answer(5) <= FIRST);
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
    fn a_wish_of_a_year_is_capped() {
        for away in [true, false] {
            let pause =
                |wish| backoff().pause(Duration::ZERO, Duration::ZERO, away, Some(Duration::from_secs(wish)));
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
