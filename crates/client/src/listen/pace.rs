//! # Pace: how long to pause before the next attempt
//! Room:     pauses keyed on how long the last stream was in step, so that no way of failing becomes a hot loop.
//! Comes in: that length; how long the server asks to wait.
//! Goes out: a pause: none after a stream that lasted, growing ones after short ones, capped, with jitter.
//! Not here: sleeping.

use std::time::Duration;

/// A stream that was in step for this long did its job: the next one may start at once.
const LASTED: Duration = Duration::from_secs(5);

pub(super) struct Pace {
    first: Duration,
    longest: Duration,
    /// Attempts in a row that did not last.
    short: u32,
    jitter: Jitter,
}

/// Pseudo-random lengths (SplitMix64); equal seeds give equal ones.
pub(super) struct Jitter(u64);

impl Pace {
    pub(super) fn new(first: Duration, longest: Duration, seed: u64) -> Self {
        Self { first, longest, short: 0, jitter: Jitter::new(seed) }
    }

    /// The pause after a stream that was in step for `lasted`. Attempts that don't last start at growing distances:
    /// the time a stream took counts towards the pause. `asked` is the server's wish; it is capped like our own.
    pub(super) fn pause(&mut self, lasted: Duration, asked: Option<Duration>) -> Duration {
        if lasted >= LASTED {
            self.short = 0;
        }
        let distance = match self.short.checked_sub(1) {
            None => Duration::ZERO,
            Some(doublings) => self.first.saturating_mul(1 << doublings.min(20)).min(self.longest),
        };
        self.short = self.short.saturating_add(1);
        let pause = distance.saturating_sub(lasted).max(asked.unwrap_or_default().min(self.longest));
        pause + self.jitter.up_to(pause / 4)
    }
}

impl Jitter {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// A length of at most `most`.
    pub(super) fn up_to(&mut self, most: Duration) -> Duration {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        most.mul_f64((mixed >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: Duration = Duration::from_millis(200);
    const LONGEST: Duration = Duration::from_secs(30);

    #[test]
    fn pauses_grow_to_the_cap_and_fall_back_after_a_stream_that_lasted() {
        let mut pace = Pace::new(FIRST, LONGEST, 7);
        assert_eq!(pace.pause(Duration::from_secs(300), None), Duration::ZERO);
        let pauses: Vec<_> = (0..12).map(|_| pace.pause(Duration::ZERO, None)).collect();
        for (at, pause) in pauses.iter().enumerate() {
            let plain = FIRST.saturating_mul(1 << at).min(LONGEST);
            assert!((plain..=plain + plain / 4).contains(pause), "{at}: {pause:?}");
        }
        assert_eq!(pace.pause(LASTED, None), Duration::ZERO);
        assert!(pace.pause(Duration::ZERO, None) <= FIRST + FIRST / 4);
    }

    #[test]
    fn a_short_stream_counts_towards_the_pause() {
        let mut pace = Pace::new(FIRST, LONGEST, 7);
        for _ in 0..5 {
            pace.pause(Duration::ZERO, None);
        }
        let pause = pace.pause(Duration::from_secs(3), None);
        assert!(pause >= Duration::from_millis(200) && pause <= Duration::from_millis(250), "{pause:?}");
    }

    #[test]
    fn a_wish_of_a_year_is_capped() {
        let mut pace = Pace::new(FIRST, LONGEST, 7);
        let pause = pace.pause(Duration::from_secs(300), Some(Duration::from_secs(365 * 86_400)));
        assert!(pause >= LONGEST && pause <= LONGEST + LONGEST / 4, "{pause:?}");
        let mut calm = Pace::new(FIRST, LONGEST, 7);
        assert!(calm.pause(Duration::ZERO, Some(Duration::from_secs(7))) >= Duration::from_secs(7));
    }

    #[test]
    fn jitter_differs_from_pause_to_pause() {
        let mut pace = Pace::new(LONGEST, LONGEST, 7);
        pace.pause(Duration::ZERO, None);
        assert_ne!(pace.pause(Duration::ZERO, None), pace.pause(Duration::ZERO, None));
    }
}
