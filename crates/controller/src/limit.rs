//! # Limit: how many requests may be unanswered at once
//! Room:     additive increase, multiplicative decrease, within fixed bounds.
//! Comes in: how each request ended, and the time.
//! Goes out: the number of requests that may be in flight.
//! Keeps:    one cut for one overload: answers to requests sent before a cut do not cut again.
//! Not here: which request is next.

use taintward_core::effect::Failure;
use taintward_core::time::{Mono, Span};

/// Fewest, first and most requests in flight. The most stays well below an API server's own limit of 200 mutating
/// requests, so that others find room.
const FEWEST: f64 = 4.0;
const FIRST: f64 = 16.0;
const MOST: f64 = 96.0;

/// No second cut within this time.
const CUT_PAUSE: Span = Span::from_secs(1);

/// The part of all requests that retries may take: a crowd of hopeless pods leaves most of the room to the others (L6).
const RETRY_SHARE: usize = 4;

/// The adaptive limit.
#[derive(Debug)]
pub(crate) struct Limit {
    now: f64,
    no_cut_before: Mono,
}

impl Limit {
    pub(crate) const fn new() -> Self {
        Self { now: FIRST, no_cut_before: Mono::from_micros(i64::MIN) }
    }

    /// How many requests may be in flight.
    pub(crate) fn all(&self) -> usize {
        self.now as usize
    }

    /// How many of them may be retries.
    pub(crate) fn retries(&self) -> usize {
        (self.all() / RETRY_SHARE).max(1)
    }

    /// A request ended while `in_flight` were out, itself included.
    pub(crate) fn answered(&mut self, result: Result<(), Failure>, in_flight: usize, at: Mono) {
        match result {
            Err(Failure::Throttled(_) | Failure::Unavailable) => {
                if at >= self.no_cut_before {
                    self.now = (self.now / 2.0).max(FEWEST);
                    self.no_cut_before = at.plus(CUT_PAUSE);
                }
            }
            // Only a limit that is used is known to be borne.
            Ok(()) | Err(_) if in_flight >= self.all() => self.now = (self.now + 1.0 / self.now).min(MOST),
            Ok(()) | Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn grows_only_when_used_and_is_cut_once_per_overload() {
        let mut limit = Limit::new();
        let at = Mono::from_secs(10);
        limit.answered(Ok(()), 3, at);
        assert_eq!(limit.all(), 16);
        for _ in 0..20 {
            limit.answered(Ok(()), limit.all(), at);
        }
        assert_eq!(limit.all(), 17);
        for _ in 0..16 {
            limit.answered(Err(Failure::Throttled(None)), 16, at);
        }
        assert_eq!(limit.all(), 8);
        for later in 12..100 {
            limit.answered(Err(Failure::Unavailable), 8, Mono::from_secs(later));
        }
        assert_eq!((limit.all(), limit.retries()), (4, 1));
        for _ in 0..100_000 {
            limit.answered(Err(Failure::Rejected), limit.all(), at);
        }
        assert_eq!((limit.all(), limit.retries()), (96, 24));
    }
}
