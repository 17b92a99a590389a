//! # Time: points in time as the API writes them
//! Room:     RFC 3339 in UTC, to the second or to the microsecond.
//! Comes in: text; timestamps.
//! Goes out: timestamps; text, or `null` for the beginning of the year 1: a time that was never set.
//! Not here: clocks.

use super::Fault;
use jiff::Timestamp;
use serde_json::Value;

/// A time that was never set.
pub(crate) const NEVER: Timestamp = Timestamp::constant(-62_135_596_800, 0);

/// Reads a time. One that is `micro` has exactly six digits of a fraction; of another, a fraction is read over.
pub(crate) fn parse_time(text: &str, micro: bool) -> Result<Timestamp, Fault> {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    if micro && text.split_once('.').map(|(_, rest)| digits(rest)) != Some(6) {
        return Err(Fault(format!("the time {text:?} has no six digits of a fraction")));
    }
    text.parse().map_err(|why: jiff::Error| Fault(format!("the time {text:?}: {why}")))
}

/// A time as it is written.
pub(crate) fn time_value(time: Timestamp, micro: bool) -> Value {
    match (time == NEVER, micro) {
        (true, _) => Value::Null,
        (false, true) => format!("{time:.6}").into(),
        (false, false) => format!("{time:.0}").into(),
    }
}
