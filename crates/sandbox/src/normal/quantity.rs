//! # Quantity: `1000m` is `1`
//! Room:     the canonical text of an amount, with every habit of the real one.
//! Comes in: text, or a JSON number's text.
//! Goes out: the text a real server keeps; its words for what is no quantity.
//! Keeps:    exact, whatever the size: decimal amounts are digits, not numbers.
//! Not here: sums and comparisons.

use super::Fault;

const FORMAT: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const SUFFIX: &str = "unable to parse quantity's suffix";
const NUMERIC: &str = "unable to parse numeric part of quantity";

const DECIMAL: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Digits after the point that are kept; what is smaller is rounded away from zero.
const NANO: i64 = 9;
/// Digits an amount may have to be kept as it was written, if nothing else speaks against it.
const SHORT: usize = 18;

enum Suffix {
    Decimal(i64),
    Exponent(i64),
    Binary(u32),
}

struct Parts<'a> {
    /// There is no digit before the suffix.
    blank: bool,
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// The canonical text of a quantity.
pub fn canonical_quantity(text: &str) -> Result<String, Fault> {
    let parts = split(text)?;
    let suffix = read_suffix(parts.suffix).ok_or_else(|| Fault(SUFFIX.into()))?;
    let digits = [parts.whole, parts.fraction].concat();
    let (exponent, short) = match suffix {
        Suffix::Binary(exponent) => (0, is_short_binary(&parts, exponent)),
        Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => {
            let exponent = exponent - parts.fraction.len() as i64;
            (exponent, digits.len() <= SHORT && exponent >= -NANO)
        }
    };
    // Short amounts need no number to be nought.
    if !short && parts.blank {
        return Err(Fault(NUMERIC.into()));
    }
    if digits.bytes().all(|digit| digit == b'0') {
        return Ok("0".into());
    }
    let kept = match suffix {
        // What is divisible by 8 may have a larger unit.
        Suffix::Binary(_) => parts.whole.parse::<i64>().is_ok_and(|amount| amount & 7 != 0),
        _ => exponent % 3 == 0 && !digits.ends_with("000") && !digits.starts_with('0'),
    };
    Ok(match suffix {
        _ if short && kept => text.to_owned(),
        Suffix::Binary(exponent) => binary(parts.negative, &digits, parts.fraction.len(), exponent),
        _ => decimal(parts.negative, &digits, exponent, matches!(suffix, Suffix::Exponent(_))),
    })
}

fn split(text: &str) -> Result<Parts<'_>, Fault> {
    let wrong = || Fault(FORMAT.into());
    if text.is_empty() {
        return Err(wrong());
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (whole, rest) = unsigned.split_at(digits(unsigned));
    let (fraction, suffix) = match rest.strip_prefix('.') {
        Some(rest) => rest.split_at(digits(rest)),
        None => ("", rest),
    };
    let exponent = suffix.trim_start_matches(['e', 'E', 'i', 'n', 'u', 'm', 'k', 'K', 'M', 'G', 'T', 'P']);
    let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
    if !exponent.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(wrong());
    }
    let blank = whole.is_empty() && fraction.is_empty();
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    Ok(Parts { blank, negative: text.starts_with('-'), whole, fraction, suffix })
}

fn read_suffix(suffix: &str) -> Option<Suffix> {
    if let Some((_, exponent)) = DECIMAL.iter().find(|(name, _)| *name == suffix) {
        return Some(Suffix::Decimal(*exponent));
    }
    if let Some(at) = BINARY.iter().position(|name| *name == suffix) {
        return Some(Suffix::Binary(10 * at as u32));
    }
    let exponent: i64 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
    // The real one keeps the low half.
    Some(Suffix::Exponent(i64::from(exponent as i32)))
}

/// Whether the real one counts in 64 bits, by its own estimate of the room that takes.
fn is_short_binary(parts: &Parts<'_>, exponent: u32) -> bool {
    let room = 14_i64 - parts.whole.len() as i64 - i64::from(exponent * 3 / 10);
    parts.fraction.is_empty() && room >= 0
}

/// `digits` times ten to the `exponent`, in thousands.
fn decimal(negative: bool, digits: &str, exponent: i64, scientific: bool) -> String {
    let (digits, mut exponent) = round_up(digits, exponent);
    let short = digits.trim_end_matches('0');
    exponent += (digits.len() - short.len()) as i64;
    let zeros = exponent.rem_euclid(3);
    exponent -= zeros;
    let suffix = match exponent {
        0 => String::new(),
        _ if scientific => format!("e{exponent}"),
        // Beyond E the real one has no suffix, and writes none.
        _ => DECIMAL.iter().find(|(_, named)| *named == exponent).map_or("", |(suffix, _)| suffix).to_owned(),
    };
    let sign = if negative { "-" } else { "" };
    format!("{sign}{}{:0<zeros$}{suffix}", short.trim_start_matches('0'), "", zeros = zeros as usize)
}

/// Whole billionths: what is less is rounded away from zero.
fn round_up(digits: &str, exponent: i64) -> (String, i64) {
    let excess = usize::try_from(-NANO - exponent).unwrap_or(0);
    if excess == 0 {
        return (digits.to_owned(), exponent);
    }
    let (kept, cut) = digits.split_at(digits.len().saturating_sub(excess));
    let mut kept = if kept.is_empty() { vec![b'0'] } else { kept.as_bytes().to_vec() };
    if cut.bytes().any(|digit| digit != b'0') {
        let nines = kept.iter().rev().take_while(|digit| **digit == b'9').count();
        let at = kept.len() - nines;
        kept[at..].fill(b'0');
        match at.checked_sub(1) {
            Some(at) => kept[at] += 1,
            None => kept.insert(0, b'1'),
        }
    }
    (kept.into_iter().map(char::from).collect(), -NANO)
}

/// An amount with a binary unit: in the largest unit that divides it, at most `i64::MAX`.
fn binary(negative: bool, digits: &str, places: usize, exponent: u32) -> String {
    let mut digits: Vec<u8> = digits.bytes().map(|digit| digit - b'0').collect();
    for _ in 0..exponent / 10 {
        times_1024(&mut digits);
    }
    let digits: String = digits.into_iter().map(|digit| char::from(digit + b'0')).collect();
    let (digits, point) = round_up(&digits, -(places as i64));
    // The point stands after at most nine digits, and the digits before it may be none.
    let (whole, fraction) = digits.split_at(digits.len().saturating_sub(point.unsigned_abs() as usize));
    let most = i64::MAX.unsigned_abs();
    let sign = if negative { "-" } else { "" };
    let mut amount = match whole.trim_start_matches('0') {
        "" => 0,
        whole => whole.parse().unwrap_or(u64::MAX),
    };
    if amount >= most {
        return format!("{sign}{most}");
    }
    // A fraction, or less than the smallest unit, is written in decimal.
    if amount < 1024 || fraction.bytes().any(|digit| digit != b'0') {
        return decimal(negative, &digits, point, false);
    }
    let mut unit = 0;
    while amount.is_multiple_of(1024) && unit + 1 < BINARY.len() {
        (amount, unit) = (amount / 1024, unit + 1);
    }
    format!("{sign}{amount}{}", BINARY[unit])
}

fn times_1024(digits: &mut Vec<u8>) {
    let mut carry = 0_u32;
    for digit in digits.iter_mut().rev() {
        carry += u32::from(*digit) * 1024;
        *digit = (carry % 10) as u8;
        carry /= 10;
    }
    while carry > 0 {
        digits.insert(0, (carry % 10) as u8);
        carry /= 10;
    }
}
