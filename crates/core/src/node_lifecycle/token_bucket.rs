//! Limits the rate of NoExecute taints with a token bucket of size one (NL-22, NL-23).
//!
//! - Invariant: the bucket starts empty, also after a change of leader (S6, P36); no fraction of a token is lost or
//!   invented.

use crate::time::{Mono, Span};

/// Tokens per second, in millionths: exact, and equal when they are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaintRate(u64);

impl TaintRate {
    /// No tokens at all.
    pub const ZERO: Self = Self(0);

    /// A rate of so many millionths of a token a second.
    pub const fn from_millionths(millionths: u64) -> Self {
        Self(millionths)
    }

    /// Millionths of a token a second.
    pub const fn as_millionths(self) -> u64 {
        self.0
    }

    /// Tokens a second, for metrics and messages.
    pub fn per_second(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

/// One token, in the unit of the level: what a rate of one millionth a second brings in a microsecond.
const TOKEN: u64 = 1_000_000_000_000;

/// A bucket of at most one token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct TokenBucket {
    rate: TaintRate,
    /// What was in it at the moment `at`.
    level: u64,
    at: Mono,
}

impl TokenBucket {
    pub(super) const fn empty(rate: TaintRate, at: Mono) -> Self {
        Self { rate, level: 0, at }
    }

    fn level(&self, now: Mono) -> u64 {
        let gained = u128::from(self.rate.0) * now.since(self.at).as_micros().unsigned_abs() as u128;
        (u128::from(self.level) + gained).min(u128::from(TOKEN)) as u64
    }

    pub(super) const fn rate(&self) -> TaintRate {
        self.rate
    }

    /// From now on at this rate. What is in it stays, and a rate of exactly 1 is a rate like any other (NL-41).
    pub(super) fn set_rate(&mut self, rate: TaintRate, now: Mono) {
        if rate != self.rate {
            *self = Self { rate, level: self.level(now), at: now };
        }
    }

    pub(super) fn drain(&mut self, now: Mono) {
        *self = Self::empty(self.rate, now);
    }

    /// Whether a token may be taken; never at rate zero, whatever was left in it.
    pub(super) fn has_token(&self, now: Mono) -> bool {
        self.rate > TaintRate::ZERO && self.level(now) == TOKEN
    }

    pub(super) fn take(&mut self, now: Mono) {
        assert!(self.has_token(now), "S6: a token is taken that is not there");
        *self = Self::empty(self.rate, now);
    }

    /// A token that was certainly not used.
    pub(super) fn give_back(&mut self, now: Mono) {
        *self = Self { rate: self.rate, level: TOKEN, at: now };
    }

    /// When a token will be there that is not there now; `None`: not by waiting.
    pub(super) fn token_at(&self, now: Mono) -> Option<Mono> {
        let missing = TOKEN - self.level(now);
        if self.rate == TaintRate::ZERO || missing == 0 {
            return None;
        }
        let micros = missing.div_ceil(self.rate.0);
        Some(now.plus(Span::from_micros(i64::try_from(micros).unwrap_or(i64::MAX))))
    }
}
