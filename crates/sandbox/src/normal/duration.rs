//! # Duration: Go's text for a length of time
//! Room:     `1h30m0s` to nanoseconds and back.
//! Comes in: text; nanoseconds.
//! Goes out: nanoseconds; text; Go's words for what is no duration.
//! Not here: points in time (`instant`).

use super::Fault;

const UNITS: [(&str, i128); 8] = [
    ("ns", 1),
    ("us", 1_000),
    ("\u{b5}s", 1_000),
    ("\u{3bc}s", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Nanoseconds of a text.
pub(crate) fn parse_duration(text: &str) -> Result<i64, Fault> {
    let invalid = || Fault(format!("time: invalid duration {text:?}"));
    let (sign, mut rest) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if rest == "0" {
        return Ok(0);
    }
    if rest.is_empty() {
        return Err(invalid());
    }
    let mut nanos = 0_i128;
    while !rest.is_empty() {
        let end = rest.find(|char: char| !char.is_ascii_digit() && char != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(end);
        let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return Err(invalid());
        }
        let end = after.find(|char: char| char.is_ascii_digit() || char == '.').unwrap_or(after.len());
        let (unit, after) = after.split_at(end);
        if unit.is_empty() {
            return Err(Fault(format!("time: missing unit in duration {text:?}")));
        }
        let Some((_, scale)) = UNITS.iter().find(|(name, _)| *name == unit) else {
            return Err(Fault(format!("time: unknown unit {unit:?} in duration {text:?}")));
        };
        // Anything this long is out of range whatever its unit.
        let whole: i128 =
            if whole.is_empty() { 0 } else { whole.parse::<u64>().map_err(|_| invalid())?.into() };
        let digits = &fraction[..fraction.len().min(18)];
        let part = digits.parse::<i128>().unwrap_or_default() * scale / 10_i128.pow(digits.len() as u32);
        nanos = nanos.saturating_add(whole * scale + part);
        rest = after;
    }
    i64::try_from(sign * nanos).map_err(|_| invalid())
}

/// The text of a number of nanoseconds.
pub(crate) fn duration_text(nanos: i64) -> String {
    let sign = if nanos < 0 { "-" } else { "" };
    let nanos = nanos.unsigned_abs();
    let fraction = |value: u64, unit: u64, digits: usize| {
        let text = format!("{}.{:0digits$}", value / unit, value % unit);
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    };
    match nanos {
        0 => "0s".into(),
        1..1_000 => format!("{sign}{nanos}ns"),
        1_000..1_000_000 => format!("{sign}{}\u{b5}s", fraction(nanos, 1_000, 3)),
        1_000_000..1_000_000_000 => format!("{sign}{}ms", fraction(nanos, 1_000_000, 6)),
        _ => {
            let minutes = nanos / 60_000_000_000;
            let seconds = fraction(nanos % 60_000_000_000, 1_000_000_000, 9);
            match (minutes / 60, minutes % 60) {
                (0, 0) => format!("{sign}{seconds}s"),
                (0, minutes) => format!("{sign}{minutes}m{seconds}s"),
                (hours, minutes) => format!("{sign}{hours}h{minutes}m{seconds}s"),
            }
        }
    }
}
