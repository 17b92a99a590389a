//! # Moment: the API's times
//! Room:     `metav1.Time` in both encodings, to microseconds.
//! Comes in: seconds and nanoseconds, or RFC 3339 text.
//! Goes out: [`Wall`]; `None` for Go's zero time (year 1), which means "not set".
//! Not here: clamping; comparing with a clock.

use super::Fault;
use jiff::Timestamp;
use taintward_core::time::Wall;

/// 0001-01-01T00:00:00Z: what Go's zero time looks like.
const YEAR_1: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z: the last second RFC 3339 can write.
const YEAR_9999: i64 = 253_402_300_799;

/// A time from a protobuf `Timestamp`.
pub(super) fn from_parts(seconds: i64, nanos: i32) -> Result<Option<Wall>, Fault> {
    if !(YEAR_1..=YEAR_9999).contains(&seconds) || !(0..1_000_000_000).contains(&nanos) {
        return Err(Fault::new("a time outside the years 1 to 9999"));
    }
    if (seconds, nanos) == (YEAR_1, 0) {
        return Ok(None);
    }
    Ok(Some(Wall::from_micros(seconds * 1_000_000 + i64::from(nanos / 1000))))
}

/// A time from RFC 3339 text.
pub(super) fn from_text(text: &str) -> Result<Option<Wall>, Fault> {
    let stamp: Timestamp = text.parse().map_err(|_| Fault::new("not an RFC 3339 time"))?;
    // jiff counts nanoseconds towards zero before 1970; protobuf's are never negative.
    let (seconds, nanos) = (stamp.as_second(), stamp.subsec_nanosecond());
    if nanos < 0 { from_parts(seconds - 1, nanos + 1_000_000_000) } else { from_parts(seconds, nanos) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_parts_agree_to_the_edges() {
        for (text, seconds, nanos) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("2026-11-21T10:00:00.25+01:00", 1_795_251_600, 250_000_000),
            ("1969-12-31T23:59:59.5Z", -1, 500_000_000),
            ("0001-01-01T00:00:01Z", YEAR_1 + 1, 0),
            ("9999-12-31T23:59:59Z", YEAR_9999, 0),
        ] {
            let wall = from_text(text).unwrap();
            assert!(wall.is_some(), "{text}");
            assert_eq!(wall, from_parts(seconds, nanos).unwrap(), "{text}");
        }
    }

    #[test]
    fn the_zero_time_is_no_time() {
        assert_eq!(from_text("0001-01-01T00:00:00Z").unwrap(), None);
        assert_eq!(from_parts(YEAR_1, 0).unwrap(), None);
        assert!(from_parts(0, 0).unwrap().is_some());
    }

    #[test]
    fn impossible_times_are_faults() {
        for text in ["", "yesterday", "2026-13-01T00:00:00Z", "-000001-01-01T00:00:00Z", "2026-01-01"] {
            assert!(from_text(text).is_err(), "{text}");
        }
        for (seconds, nanos) in
            [(i64::MAX, 0), (i64::MIN, 0), (YEAR_9999 + 1, 0), (0, -1), (0, 1_000_000_000)]
        {
            assert!(from_parts(seconds, nanos).is_err());
        }
    }
}
