//! Limits how many requests are in flight: additive increase, multiplicative decrease (AIMD).
//!
//! - Invariant: one overload reduces the limit once; failures of single webhooks or namespaces never do, not even those
//!   that time out.

use taintward_core::time::{Mono, Span};

/// The minimum, initial and maximum number of requests in flight. The maximum stays well below an API server's own
/// limit of 200 mutating requests and leaves room for other clients. The initial number lets the pods of one deadline
/// leave at once: a limit that has to grow first does so after they are gone.
const FEWEST: f64 = 4.0;
const FIRST: f64 = 48.0;
const IN_FLIGHT_MAX: f64 = 96.0;

/// The limit after an overload that comes before the limit has grown by one: the initial number was a guess, and the
/// requests that the server rejects would wait longer each time.
const AFTER_GUESS: f64 = 11.0;

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

/// A request without an answer for this long may have waited for something else than the API server.
const TIMED_OUT: Span = Span::from_secs(1);

/// The adaptive limit.
#[derive(Debug)]
pub(crate) struct AimdLimit {
    now: f64,
    /// It has neither grown by one nor been reduced.
    is_guess: bool,
    no_cut_before: Mono,
    /// The last request that was answered quickly was sent then.
    quick_sent: Mono,
}

/// A request that ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestEnd {
    /// It shows that the API server is overloaded.
    pub(crate) overload: bool,
    pub(crate) took: Span,
    /// No more requests of its kind could be sent.
    pub(crate) was_full: bool,
    pub(crate) at: Mono,
}

impl AimdLimit {
    pub(crate) const fn new() -> Self {
        let never = Mono::from_micros(i64::MIN);
        Self { now: FIRST, is_guess: true, no_cut_before: never, quick_sent: never }
    }

    /// How many requests may be in flight.
    pub(crate) fn all(&self) -> usize {
        self.now as usize
    }

    /// How many of them may be retries.
    pub(crate) fn retries(&self) -> usize {
        (self.all() / RETRY_SHARE).max(1)
    }

    /// Records that a request ended.
    pub(crate) fn on_response(&mut self, end: RequestEnd) {
        let RequestEnd { overload, took, was_full, at } = end;
        let sent = at.minus(took);
        if overload {
            // An overloaded server is slow for all: while one request timed out, no other was answered quickly.
            let is_single = took >= TIMED_OUT && self.quick_sent >= sent;
            if !is_single && at >= self.no_cut_before {
                self.now = if self.is_guess { AFTER_GUESS } else { (self.now * LEFT).max(FEWEST) };
                self.is_guess = false;
                self.no_cut_before = at.plus(CUT_PAUSE);
            }
            return;
        }
        if took <= QUICK {
            self.quick_sent = self.quick_sent.max(sent);
            // The limit only grows while it is used, by requests of any kind.
            if was_full {
                self.now = (self.now + 1.0 / self.now).min(IN_FLIGHT_MAX);
                self.is_guess &= self.now < FIRST + 1.0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const QUICKLY: Span = Span::from_millis(5);

    fn end(overload: bool, took: Span, was_full: bool, at: i64) -> RequestEnd {
        RequestEnd { overload, took, was_full, at: Mono::from_secs(at) }
    }

    #[test]
    fn grows_only_when_used_and_is_cut_once_per_overload() {
        let mut limit = AimdLimit::new();
        limit.on_response(end(false, QUICKLY, false, 10));
        assert_eq!(limit.all(), 48);
        for _ in 0..50 {
            limit.on_response(end(false, QUICKLY, true, 10));
        }
        assert_eq!(limit.all(), 49);
        for _ in 0..48 {
            limit.on_response(end(true, QUICKLY, true, 10));
        }
        assert_eq!(limit.all(), 34);
        for later in 12..100 {
            limit.on_response(end(true, QUICKLY, true, later));
        }
        assert_eq!((limit.all(), limit.retries()), (4, 1));
        for _ in 0..100_000 {
            limit.on_response(end(false, QUICKLY, true, 100));
        }
        assert_eq!((limit.all(), limit.retries()), (96, 24));
    }

    /// A server that rejects most of the first requests gets as few as one that has rejected many.
    #[test]
    fn an_overload_before_the_limit_has_grown_leaves_few() {
        for (quick, left, then) in [(0, 11, 7), (20, 11, 7), (60, 34, 24)] {
            let mut limit = AimdLimit::new();
            for _ in 0..quick {
                limit.on_response(end(false, QUICKLY, true, 10));
            }
            limit.on_response(end(true, QUICKLY, true, 10));
            assert_eq!(limit.all(), left, "after {quick} quick responses");
            limit.on_response(end(true, QUICKLY, true, 20));
            assert_eq!(limit.all(), then);
        }
    }

    #[test]
    fn a_server_that_takes_its_time_gets_no_more_at_the_same_time() {
        let mut limit = AimdLimit::new();
        for _ in 0..10_000 {
            limit.on_response(end(false, Span::from_millis(251), true, 1));
        }
        assert_eq!(limit.all(), 48);
    }

    /// A webhook is slow for some requests, an overloaded server for all.
    #[test]
    fn requests_that_time_out_among_quick_ones_show_no_overload() {
        for quick_meanwhile in [true, false] {
            let mut limit = AimdLimit::new();
            for second in [10, 20, 30, 40] {
                let quick_at = if quick_meanwhile { second - 1 } else { second - 3 };
                limit.on_response(end(false, QUICKLY, false, quick_at));
                limit.on_response(end(true, Span::from_secs(2), false, second));
            }
            assert_eq!(limit.all() == 48, quick_meanwhile, "{}", limit.all());
        }
    }
}
