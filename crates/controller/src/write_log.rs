//! Limits the rate of log lines about single objects, and reports how many were withheld.

use crate::log_rate_limit::LogRateLimit;
use std::collections::BTreeMap;
use taintward_core::time::Mono;

/// The largest number of lines with the same message in a second: writing 150,000 lines would block the loop that
/// writes them.
const SAME_MAX: u32 = 100;

/// A rate limit per message.
#[derive(Debug, Default)]
pub(crate) struct WriteLogLimits(BTreeMap<&'static str, LogRateLimit>);

impl WriteLogLimits {
    /// Whether one more line with this message may be written; if not, it is counted.
    pub(crate) fn admit(&mut self, message: &'static str, now: Mono) -> bool {
        let quota = self.0.entry(message).or_insert_with(|| LogRateLimit::per_second(SAME_MAX));
        let withheld = quota.take(now);
        log_withheld(message, withheld.unwrap_or(0));
        withheld.is_some()
    }

    /// Logs how many lines were withheld in the seconds that are over; without `now`, the process is ending and every
    /// second counts as over.
    pub(crate) fn sum_up(&mut self, now: Option<Mono>) {
        for (message, quota) in &mut self.0 {
            log_withheld(message, quota.take_withheld(now));
        }
    }
}

fn log_withheld(message: &'static str, withheld: u64) {
    if withheld > 0 {
        tracing::info!(withheld, of = message, "more lines with the same message were withheld");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::logging::LogFormat;
    use crate::logging::tests::logged;
    use taintward_core::time::Span;

    /// The log after the given calls.
    fn log(write: impl FnOnce(&mut WriteLogLimits)) -> Vec<String> {
        let log = logged(LogFormat::Text, 0, || write(&mut WriteLogLimits::default()));
        log.lines().map(|line| line["I1121 08:36:40.123456 ".len()..].to_owned()).collect()
    }

    const LEFT_OUT: &str = "more lines with the same message were withheld withheld=149900 of=\"a\"";

    #[test]
    fn what_is_withheld_is_one_line_when_its_second_is_over() {
        let (now, later) = (Mono::from_secs(7), Mono::from_secs(8));
        let many = |lines: &mut WriteLogLimits| {
            let admitted = (0..150_000).filter(|_| lines.admit("a", now)).count();
            assert_eq!((admitted, lines.admit("b", now)), (100, true));
            lines.sum_up(Some(now.plus(Span::from_millis(999))));
        };
        assert_eq!(log(many), [""; 0]);
        let summed_up = |lines: &mut WriteLogLimits| {
            many(lines);
            lines.sum_up(Some(later));
            lines.sum_up(Some(later));
            assert!(lines.admit("a", later));
        };
        let gone_on = |lines: &mut WriteLogLimits| {
            many(lines);
            assert!(lines.admit("a", later));
            lines.sum_up(None);
        };
        let ended = |lines: &mut WriteLogLimits| {
            many(lines);
            lines.sum_up(None);
        };
        assert_eq!([log(summed_up), log(gone_on), log(ended)], [[LEFT_OUT], [LEFT_OUT], [LEFT_OUT]]);
    }
}
