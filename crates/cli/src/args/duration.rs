//! Parses and formats durations as Go does: `15s`, `1m30s`, `1.5h`.

use std::time::Duration;

/// Go's units; where one is the prefix of another, the longer one comes first.
const UNITS: [(&str, u128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("μs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// The longest duration in Go, in nanoseconds.
const LONGEST: u128 = i64::MAX as u128;

/// Why a text is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidDuration {
    #[error("expected a duration with its unit, such as 15s, 1m30s or 500ms")]
    Malformed,
    #[error("a duration cannot be negative")]
    Negative,
    #[error("longer than the maximum duration (about 292 years)")]
    TooLong,
}

/// Parses a duration.
pub(crate) fn parse(text: &str) -> Result<Duration, InvalidDuration> {
    let unsigned = text.strip_prefix('+').unwrap_or(text);
    if unsigned == "0" {
        return Ok(Duration::ZERO);
    }
    if let Some(rest) = text.strip_prefix('-') {
        return Err(if parse(rest).is_ok() { InvalidDuration::Negative } else { InvalidDuration::Malformed });
    }
    if unsigned.is_empty() {
        return Err(InvalidDuration::Malformed);
    }
    let mut rest = unsigned;
    let mut total: u128 = 0;
    while !rest.is_empty() {
        let (nanos, after) = term(rest)?;
        total = total.saturating_add(nanos);
        rest = after;
    }
    let nanos = u64::try_from(total).ok().filter(|_| total <= LONGEST).ok_or(InvalidDuration::TooLong)?;
    Ok(Duration::from_nanos(nanos))
}

/// One number with its unit, in nanoseconds, and what follows it.
fn term(text: &str) -> Result<(u128, &str), InvalidDuration> {
    let digits = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (whole, rest) = text.split_at(digits(text));
    let (fraction, rest) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    if whole.is_empty() && fraction.is_empty() {
        return Err(InvalidDuration::Malformed);
    }
    let unit_end = rest.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(rest.len());
    let (name, rest) = rest.split_at(unit_end);
    let (_, unit) = UNITS.iter().find(|(unit, _)| *unit == name).ok_or(InvalidDuration::Malformed)?;
    let whole =
        if whole.is_empty() { 0 } else { whole.parse::<u128>().map_err(|_| InvalidDuration::TooLong)? };
    Ok((whole.saturating_mul(*unit).saturating_add(part_of(fraction, *unit)), rest))
}

/// The value of the digits after the point, rounded down to a nanosecond.
fn part_of(fraction: &str, unit: u128) -> u128 {
    let mut place = unit;
    let mut sum = 0;
    for digit in fraction.bytes() {
        sum += u128::from(digit - b'0') * place / 10;
        place /= 10;
    }
    sum
}

/// Formats a duration as Go does.
pub(crate) fn display(duration: Duration) -> String {
    let (seconds, nanos) = (duration.as_secs(), duration.subsec_nanos());
    let fraction = format!("{nanos:09}");
    let fraction = fraction.trim_end_matches('0');
    let point = if fraction.is_empty() { String::new() } else { format!(".{fraction}") };
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) if nanos > 0 => format!("{}ms", f64::from(nanos) / 1e6),
        (0, 0, s) => format!("{s}{point}s"),
        (0, m, s) => format!("{m}m{s}{point}s"),
        (h, m, s) => format!("{h}h{m}m{s}{point}s"),
    }
}

/// Parses a duration greater than zero.
pub(crate) fn positive(text: &str) -> Result<Duration, String> {
    match parse(text) {
        Ok(Duration::ZERO) => Err("must be greater than 0".to_owned()),
        Ok(duration) => Ok(duration),
        Err(why) => Err(why.to_string()),
    }
}

/// Parses a duration greater than zero, also with days: `2d`, `1d12h`.
pub(crate) fn positive_with_days(text: &str) -> Result<Duration, String> {
    const DAY: u64 = 86_400;
    let Some((days, rest)) = text.split_once('d') else {
        return positive(text).map_err(|why| why.replace("15s, 1m30s or 500ms", "30m, 2h or 2d"));
    };
    let wrong = || "expected a duration with its unit, such as 30m, 2h or 2d".to_owned();
    let days: u64 = days.parse().map_err(|_| wrong())?;
    let rest = if rest.is_empty() { Ok(Duration::ZERO) } else { positive(rest).map_err(|_| wrong()) };
    let days = days.checked_mul(DAY).map(Duration::from_secs);
    let all = days.and_then(|days| days.checked_add(rest.as_ref().copied().unwrap_or_default()));
    match (rest, all) {
        (Err(why), _) => Err(why),
        (Ok(_), Some(all)) if all.as_secs() / DAY > 366 * 200 => Err("longer than 200 years".to_owned()),
        (Ok(_), Some(all)) if all.is_zero() => Err("must be greater than 0".to_owned()),
        (Ok(_), Some(all)) => Ok(all),
        (Ok(_), None) => Err("longer than 200 years".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_read_as_go_reads_them() {
        let rows = [
            ("15s", 15_000_000_000),
            ("1m30s", 90_000_000_000),
            ("5m0s", 300_000_000_000),
            ("500ms", 500_000_000),
            ("1.5h", 5_400_000_000_000),
            ("+2s", 2_000_000_000),
            (".5s", 500_000_000),
            ("1.s", 1_000_000_000),
            ("0", 0),
            ("+0", 0),
            ("0s", 0),
            ("3us", 3_000),
            ("3µs", 3_000),
            ("3μs", 3_000),
            ("7ns", 7),
            ("1h2m3s4ms", 3_723_004_000_000),
            ("1s1s", 2_000_000_000),
            ("0.000000001s", 1),
            ("0.0000000019s", 1),
            ("9223372036854775807ns", 9_223_372_036_854_775_807),
        ];
        for (text, nanos) in rows {
            assert_eq!(parse(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
    }

    #[test]
    fn an_invalid_duration_is_rejected_with_the_reason() {
        for text in [
            "", "15", "s", ".", ".s", "1 s", "15S", "15sec", "1d", "1e3s", "∞", "+", "-", "--1s", "1s-1s",
            "+ 1s",
        ] {
            assert_eq!(parse(text), Err(InvalidDuration::Malformed), "{text}");
        }
        for text in ["-1s", "-0.5h"] {
            assert_eq!(parse(text), Err(InvalidDuration::Negative), "{text}");
        }
        for text in ["9223372036854775808ns", "2562048h", "99999999999999999999999999999999999999999s"] {
            assert_eq!(parse(text), Err(InvalidDuration::TooLong), "{text}");
        }
    }

    #[test]
    fn a_formatted_duration_can_be_parsed_again() {
        for (text, written) in [
            ("15s", "15s"),
            ("90s", "1m30s"),
            ("5m", "5m0s"),
            ("1h", "1h0m0s"),
            ("500ms", "500ms"),
            ("1500ms", "1.5s"),
            ("0", "0s"),
        ] {
            let duration = parse(text).unwrap();
            assert_eq!(display(duration), written);
            assert_eq!(parse(written), Ok(duration));
        }
    }
}
