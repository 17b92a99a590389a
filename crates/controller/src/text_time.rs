//! Formats times and durations for log lines and events.

use jiff::Timestamp;
use taintward_core::time::{Mono, Now, Span};

/// A time as RFC 3339 in UTC, to the second; `never` if it is beyond the representable range.
pub(crate) fn moment(at: Mono, now: Now) -> String {
    let micros = now.wall_of(at).as_micros();
    Timestamp::from_microsecond(micros).map_or_else(|_| "never".into(), |at| format!("{at:.0}"))
}

/// A duration in Go's format, to the second: `4m12s`, and `5m0s` for 300 s.
pub(crate) fn length(span: Span) -> String {
    let seconds = span.as_micros() / 1_000_000;
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    match (hours, minutes) {
        (0, 0) => format!("{rest}s"),
        (0, _) => format!("{minutes}m{rest}s"),
        _ => format!("{hours}h{minutes}m{rest}s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::time::Wall;

    #[test]
    fn lengths_and_moments_beyond_measure() {
        for (seconds, text) in
            [(0, "0s"), (59, "59s"), (300, "5m0s"), (3661, "1h1m1s"), (i64::MAX, "2562047788h0m54s")]
        {
            assert_eq!(length(Span::from_secs(seconds)), text);
        }
        let now = Now::exact(Mono::from_secs(100), Wall::from_secs(1_800_000_000));
        assert_eq!(moment(Mono::NEVER, now), "never");
        assert_eq!(moment(Mono::from_secs(40), now), "2027-01-15T07:59:00Z");
    }
}
