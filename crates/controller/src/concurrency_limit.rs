//! Limits how many requests are in flight: additive increase, multiplicative decrease (AIMD).
//!
//! - Invariant: one overload reduces the limit once; failures of single webhooks or namespaces never do.

use taintward_core::time::{Mono, Span};

/// The minimum, initial and maximum number of requests in flight. The maximum stays well below an API server's own
/// limit of 200 mutating requests and leaves room for other clients.
const FEWEST: f64 = 4.0;
const FIRST: f64 = 16.0;
const MOST: f64 = 96.0;

/// The factor of a reduction (as in CUBIC). An overload is caused by all clients of the server, of which this process
/// is one: halving the limit would cost half of the evictions and rarely relieve the server as much.
const LEFT: f64 = 0.7;

/// No second reduction within this time.
const CUT_PAUSE: Span = Span::from_secs(1);

/// A slower response does not raise the limit: more requests would only wait for each other until they time out. At
/// this latency, 96 requests in flight are still about 400 a second.
const QUICK: Span = Span::from_millis(250);

/// Retries may take one in this many requests: many hopeless pods leave most of the capacity to the others (L6).
const RETRY_SHARE: usize = 4;

/// The adaptive limit.
#[derive(Debug)]
pub(crate) struct AimdLimit {
    now: f64,
    no_cut_before: Mono,
}

impl AimdLimit {
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

    /// Records that a request ended after `took`, while `in_flight` requests were out, including this one.
    pub(crate) fn answered(&mut self, overload: bool, took: Span, in_flight: usize, at: Mono) {
        if overload {
            if at >= self.no_cut_before {
                self.now = (self.now * LEFT).max(FEWEST);
                self.no_cut_before = at.plus(CUT_PAUSE);
            }
        } else if in_flight >= self.all() && took <= QUICK {
            // The limit only grows while it is used.
            self.now = (self.now + 1.0 / self.now).min(MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICKLY: Span = Span::from_millis(5);

    #[test]
    fn grows_only_when_used_and_is_cut_once_per_overload() {
        let mut limit = AimdLimit::new();
        let at = Mono::from_secs(10);
        limit.answered(false, QUICKLY, 3, at);
        assert_eq!(limit.all(), 16);
        for _ in 0..20 {
            limit.answered(false, QUICKLY, limit.all(), at);
        }
        assert_eq!(limit.all(), 17);
        for _ in 0..16 {
            limit.answered(true, QUICKLY, 16, at);
        }
        assert_eq!(limit.all(), 12);
        for later in 12..100 {
            limit.answered(true, QUICKLY, 8, Mono::from_secs(later));
        }
        assert_eq!((limit.all(), limit.retries()), (4, 1));
        for _ in 0..100_000 {
            limit.answered(false, QUICKLY, limit.all(), at);
        }
        assert_eq!((limit.all(), limit.retries()), (96, 24));
    }

    #[test]
    fn a_server_that_takes_its_time_gets_no_more_at_the_same_time() {
        let mut limit = AimdLimit::new();
        for _ in 0..10_000 {
            limit.answered(false, Span::from_millis(251), limit.all(), Mono::from_secs(1));
        }
        assert_eq!(limit.all(), 16);
    }
}
