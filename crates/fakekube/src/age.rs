//! Writes how long ago a time is, as kubectl prints it.

use jiff::Timestamp;

const MINUTE: i64 = 60;
const HOUR: i64 = 60 * MINUTE;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

/// How long ago a time is, as kubectl prints it.
pub(crate) fn ago(time: Option<Timestamp>, now: Timestamp) -> String {
    time.map_or_else(|| "<unknown>".to_owned(), |time| human(seconds(time, now)))
}

/// Whole seconds from one time to another, truncated towards zero and limited to what fits in Go's `time.Duration`.
pub(crate) fn seconds(from: Timestamp, to: Timestamp) -> i64 {
    let nanoseconds = to.as_nanosecond() - from.as_nanosecond();
    let clamped = nanoseconds.clamp(i64::MIN.into(), i64::MAX.into());
    i64::try_from(clamped / 1_000_000_000).expect("seconds are fewer than the nanoseconds that were clamped")
}

/// Formats a duration. A negative one of less than two seconds, from clocks that differ, counts as zero.
pub(crate) fn human(seconds: i64) -> String {
    match seconds {
        ..-1 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        _ if seconds < 2 * MINUTE => format!("{seconds}s"),
        _ if seconds < 10 * MINUTE => two(seconds, MINUTE, "m", 1, "s"),
        _ if seconds < 3 * HOUR => format!("{}m", seconds / MINUTE),
        _ if seconds < 8 * HOUR => two(seconds, HOUR, "h", MINUTE, "m"),
        _ if seconds < 2 * DAY => format!("{}h", seconds / HOUR),
        _ if seconds < 8 * DAY => two(seconds, DAY, "d", HOUR, "h"),
        _ if seconds < 2 * YEAR => format!("{}d", seconds / DAY),
        _ if seconds < 8 * YEAR => two(seconds, YEAR, "y", DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

fn two(seconds: i64, large: i64, large_name: &str, small: i64, small_name: &str) -> String {
    match seconds % large / small {
        0 => format!("{}{large_name}", seconds / large),
        rest => format!("{}{large_name}{rest}{small_name}", seconds / large),
    }
}
