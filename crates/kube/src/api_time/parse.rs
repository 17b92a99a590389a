//! Parses `metav1.Time` to microseconds; Go's zero time is `None`.

use taintward_core::time::Wall;
use thiserror::Error;

/// Why a text is not a time.
#[derive(Clone, Copy, Debug, Error, PartialEq, Eq)]
pub(crate) enum InvalidTime {
    #[error("not an RFC 3339 time")]
    Format,
    #[error("a time outside the years 1 to 9999")]
    Range,
}

/// 0001-01-01T00:00:00Z: Go's zero time.
const YEAR_1: i64 = -62_135_596_800;
/// 9999-12-31T23:59:59Z: the last second that RFC 3339 can express.
const YEAR_9999: i64 = 253_402_300_799;

/// A time from a protobuf `Timestamp`.
pub(crate) fn from_parts(seconds: i64, nanos: i32) -> Result<Option<Wall>, InvalidTime> {
    if !(YEAR_1..=YEAR_9999).contains(&seconds) || !(0..1_000_000_000).contains(&nanos) {
        return Err(InvalidTime::Range);
    }
    if (seconds, nanos) == (YEAR_1, 0) {
        return Ok(None);
    }
    Ok(Some(Wall::from_micros(seconds * 1_000_000 + i64::from(nanos / 1000))))
}

/// A time from RFC 3339 text, as Go writes and parses it. Every second of the years 1 to 9999 is valid.
pub(crate) fn from_text(text: &str) -> Result<Option<Wall>, InvalidTime> {
    let (seconds, nanos) = parsed(text.as_bytes()).ok_or(InvalidTime::Format)?;
    from_parts(seconds, nanos)
}

/// A time from a header, in the only form that is sent: `Sun, 22 Nov 2026 10:00:00 GMT`.
pub(crate) fn from_http(text: &str) -> Option<Wall> {
    const MONTHS: &str = "JanFebMarAprMayJunJulAugSepOctNovDec";
    let (_, rest) = text.trim().split_once(", ")?;
    let [day, month, year, time, "GMT"] = rest.split(' ').collect::<Vec<_>>()[..] else { return None };
    let month = MONTHS.as_bytes().chunks(3).position(|name| name == month.as_bytes())? + 1;
    from_text(&format!("{year}-{month:02}-{day}T{time}Z")).ok()?
}

/// Seconds and nanoseconds since 1970 of `2026-11-21T10:00:00.5+01:00`.
fn parsed(text: &[u8]) -> Option<(i64, i32)> {
    let (date_time, rest) = text.split_at_checked(19)?;
    let [y1, y2, y3, y4, b'-', m1, m2, b'-', d1, d2, b'T', h1, h2, b':', i1, i2, b':', s1, s2] = *date_time
    else {
        return None;
    };
    let (year, month, day) = (number(&[y1, y2, y3, y4])?, number(&[m1, m2])?, number(&[d1, d2])?);
    let (hour, minute, second) = (number(&[h1, h2])?, number(&[i1, i2])?, number(&[s1, s2])?);
    if !(1..=12).contains(&month) || !(1..=days_in(year, month)).contains(&day) {
        return None;
    }
    if hour > 23 || minute > 59 || second > 59 {
        return None;
    }
    let digits = rest
        .strip_prefix(b".")
        .map_or(0, |fraction| fraction.iter().take_while(|c| c.is_ascii_digit()).count());
    let (fraction, zone) =
        if digits == 0 { (&b""[..], rest) } else { (&rest[1..=digits], &rest[1 + digits..]) };
    let seconds = ((days_before(year, month) + day - 1) * 24 + hour) * 3600 + minute * 60 + second;
    Some((seconds - offset(zone)?, nanos(fraction)))
}

/// The value of a run of digits.
fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, digit| digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0')))
}

/// Nanoseconds of the digits after the point; finer digits are cut off.
fn nanos(fraction: &[u8]) -> i32 {
    let digits = fraction.iter().map(|digit| i32::from(digit - b'0')).chain(std::iter::repeat(0));
    digits.take(9).fold(0, |sum, digit| sum * 10 + digit)
}

/// Seconds east of Greenwich.
fn offset(zone: &[u8]) -> Option<i64> {
    let sign = match zone {
        b"Z" => return Some(0),
        [b'+', ..] => 1,
        [b'-', ..] => -1,
        _ => return None,
    };
    let [_, h1, h2, b':', m1, m2] = *zone else { return None };
    let (hours, minutes) = (number(&[h1, h2])?, number(&[m1, m2])?);
    (hours < 24 && minutes < 60).then_some(sign * (hours * 3600 + minutes * 60))
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01 to the first of a month. Before 1 January of year `y` lie 365 `y` days and the leap days of the
/// years `0..y`; 719,528 days lie between year 0 and 1970.
fn days_before(year: i64, month: i64) -> i64 {
    let past = year - 1;
    let leap_days = if year == 0 { 0 } else { past / 4 - past / 100 + past / 400 + 1 };
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    365 * year + leap_days - 719_528 + months
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_and_parts_agree_up_to_the_limits() {
        for (text, seconds, nanos) in [
            ("1970-01-01T00:00:00Z", 0, 0),
            ("2026-11-21T10:00:00.25+01:00", 1_795_251_600, 250_000_000),
            ("1969-12-31T23:59:59.5Z", -1, 500_000_000),
            ("0001-01-01T00:00:01Z", YEAR_1 + 1, 0),
            ("9999-12-31T23:59:59Z", YEAR_9999, 0),
            ("2026-11-21T09:00:00.123456789-00:30", 1_795_253_400, 123_456_789),
            ("2024-02-29T23:59:59Z", 1_709_251_199, 0),
        ] {
            let wall = from_text(text).unwrap();
            assert!(wall.is_some(), "{text}");
            assert_eq!(wall, from_parts(seconds, nanos).unwrap(), "{text}");
        }
    }

    #[test]
    fn dates_of_headers_are_parsed_and_nothing_else_is() {
        let is = |text: &str| from_http(text).map(|wall| wall.as_micros() / 1_000_000);
        assert_eq!(is("Sat, 21 Nov 2026 10:00:00 GMT"), Some(1_795_255_200));
        assert_eq!(is(" Mon, 01 Jan 2024 00:00:00 GMT "), Some(1_704_067_200));
        assert_eq!(is("Sun, 29 Feb 2032 00:00:00 GMT"), Some(1_961_625_600));
        for text in [
            "",
            "now",
            "Sat, 21 Nov 2026 10:00:00",
            "Sat, 21 Nov 2026 10:00:00 CET",
            "Sat, 21 Nov 2026 10:00:00 GMT+1",
            "Saturday, 21-Nov-26 10:00:00 GMT",
            "Sat Nov 21 10:00:00 2026",
            "Sat, 32 Nov 2026 10:00:00 GMT",
            "Sat, 21 Foo 2026 10:00:00 GMT",
            "Sat, 21 N\u{f6}v 2026 10:00:00 GMT",
            "Sat, 21 Nov 02026 10:00:00 GMT",
            "Sat, 21 Nov -026 10:00:00 GMT",
            "Sat, 21 Nov 2026 24:00:00 GMT",
            "Sat, 21 Nov 2026 10:00:60 GMT",
        ] {
            assert_eq!(is(text), None, "{text}");
        }
        // Years far away are valid.
        assert!(is("Fri, 31 Dec 9999 23:59:59 GMT").is_some());
    }

    #[test]
    fn every_day_agrees_with_another_calendar() {
        use k8s_openapi::jiff::Timestamp;
        for days in 0..3_652_000 {
            let seconds = YEAR_1 + days * 86_400 + days % 86_400;
            if days % 7 == 0 || days % 365 < 2 {
                let text = Timestamp::from_second(seconds).unwrap().to_string();
                assert_eq!(parsed(text.as_bytes()), Some((seconds, 0)), "{text}");
            }
        }
    }

    #[test]
    fn the_zero_time_is_absent() {
        assert_eq!(from_text("0001-01-01T00:00:00Z").unwrap(), None);
        assert_eq!(from_parts(YEAR_1, 0).unwrap(), None);
        assert!(from_parts(0, 0).unwrap().is_some());
    }

    #[test]
    fn impossible_times_are_errors() {
        for text in [
            "",
            "yesterday",
            "2026-13-01T00:00:00Z",
            "-000001-01-01T00:00:00Z",
            "2026-01-01",
            "2026-01-01T00:00:00",
            "2023-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:60Z",
            "2026-01-01T00:00:00.Z",
            "2026-01-01t00:00:00z",
            "2026-01-01T00:00:00+1:00",
            "2026-01-01T00:00:00+24:00",
            "0000-12-31T23:59:59Z",
            "2026-01-00T00:00:00Z",
            "9999-12-31T23:59:59-00:01",
            "+026-01-01T00:00:00Z",
        ] {
            assert!(from_text(text).is_err(), "{text}");
        }
        for (seconds, nanos) in
            [(i64::MAX, 0), (i64::MIN, 0), (YEAR_9999 + 1, 0), (0, -1), (0, 1_000_000_000)]
        {
            assert!(from_parts(seconds, nanos).is_err());
        }
    }
}
