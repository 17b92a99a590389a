//! Limits the number of log lines of a kind in a period, and counts those that are withheld.

use taintward_core::time::{Mono, Span};

/// Allows a few lines per period and counts the rest.
#[derive(Debug)]
pub(crate) struct LogRateLimit {
    most: u32,
    per: Span,
    since: Option<Mono>,
    used: u32,
    withheld: u64,
}

impl LogRateLimit {
    pub(crate) const fn per_second(most: u32) -> Self {
        Self { most, per: Span::from_secs(1), since: None, used: 0, withheld: 0 }
    }

    pub(crate) const fn per_minute(most: u32) -> Self {
        Self { most, per: Span::from_secs(60), since: None, used: 0, withheld: 0 }
    }

    /// Whether one more line may be logged; if so, how many were withheld before it.
    pub(crate) fn take(&mut self, now: Mono) -> Option<u64> {
        if self.since.is_none_or(|since| now >= since.plus(self.per)) {
            (self.since, self.used) = (Some(now), 0);
        }
        if self.used >= self.most {
            self.withheld += 1;
            return None;
        }
        self.used += 1;
        Some(std::mem::take(&mut self.withheld))
    }

    /// How many lines were withheld, once their period is over; without `now`, the period counts as over.
    pub(crate) fn take_withheld(&mut self, now: Option<Mono>) -> u64 {
        let goes_on = now.is_some_and(|now| self.since.is_some_and(|since| now < since.plus(self.per)));
        if goes_on { 0 } else { std::mem::take(&mut self.withheld) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quota_withholds_and_counts() {
        let mut quota = LogRateLimit::per_second(2);
        let at = |millis: i64| Mono::from_micros(millis * 1000);
        assert_eq!((quota.take(at(0)), quota.take(at(1)), quota.take(at(2))), (Some(0), Some(0), None));
        assert_eq!((quota.take(at(999)), quota.take(at(1000))), (None, Some(2)));
    }
}
