//! Parses and formats RFC 3339 times in UTC as the API does.

use super::CanonicalizeError;
use jiff::SignedDuration;
use jiff::civil::DateTime;
use jiff::fmt::temporal::Pieces;
use serde_json::Value;

/// A time that was never set.
pub(crate) const NEVER: DateTime = DateTime::constant(1, 1, 1, 0, 0, 0, 0);

/// Where protobuf counts from.
pub(crate) const EPOCH: DateTime = DateTime::constant(1970, 1, 1, 0, 0, 0, 0);

/// Reads a time. One that is `micro` has exactly six digits of a fraction; of another, a fraction is read over.
pub(crate) fn parse_time(text: &str, micro: bool) -> Result<DateTime, CanonicalizeError> {
    let digits = |rest: &str| rest.bytes().take_while(u8::is_ascii_digit).count();
    if micro && text.split_once('.').map(|(_, rest)| digits(rest)) != Some(6) {
        return Err(CanonicalizeError(format!("the time {text:?} has no six digits of a fraction")));
    }
    let fault = |why: jiff::Error| CanonicalizeError(format!("the time {text:?}: {why}"));
    let pieces = Pieces::parse(text).map_err(fault)?;
    let (Some(time), Some(offset)) = (pieces.time(), pieces.to_numeric_offset()) else {
        return Err(CanonicalizeError(format!(
            "the time {text:?} has no hour, or none that is one everywhere"
        )));
    };
    let offset = SignedDuration::from_secs(offset.seconds().into());
    pieces.date().to_datetime(time).checked_sub(offset).map_err(fault)
}

/// A time as it is written.
pub(crate) fn time_value(time: DateTime, micro: bool) -> Value {
    match (time == NEVER, micro) {
        (true, _) => Value::Null,
        (false, true) => format!("{time:.6}Z").into(),
        (false, false) => format!("{time:.0}Z").into(),
    }
}
