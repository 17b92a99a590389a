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

const DECIMAL: [(&str, i64); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Digits after the point that are kept; what is smaller is rounded away from zero.
const NANO: i64 = 9;
/// Digits an amount may have to be kept as it was written.
const SHORT: usize = 18;

enum Suffix {
    Decimal(i64),
    Exponent(i64),
    Binary(u32),
}

struct Parts<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    suffix: &'a str,
}

/// The canonical text of a quantity.
pub fn canonical_quantity(text: &str) -> Result<String, Fault> {
    let parts = split(text)?;
    let suffix = read_suffix(parts.suffix).ok_or_else(|| Fault(SUFFIX.into()))?;
    let digits: String = [parts.whole, parts.fraction].concat();
    if digits.bytes().all(|digit| digit == b'0') {
        return Ok("0".into());
    }
    let negative = parts.negative;
    Ok(match suffix {
        Suffix::Binary(exponent) if is_kept_binary(&parts, exponent) => text.to_owned(),
        Suffix::Binary(exponent) => binary(negative, &parts, exponent),
        Suffix::Decimal(exponent) | Suffix::Exponent(exponent) => {
            let exponent = exponent - parts.fraction.len() as i64;
            if is_kept_decimal(&digits, exponent) {
                return Ok(text.to_owned());
            }
            decimal(negative, &digits, exponent, matches!(suffix, Suffix::Exponent(_)))
        }
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
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    Ok(Parts { negative: text.starts_with('-'), whole, fraction, suffix })
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

/// Short amounts whose exponent is one of the named ones stay as they were written.
fn is_kept_decimal(digits: &str, exponent: i64) -> bool {
    digits.len() <= SHORT
        && exponent >= -NANO
        && exponent % 3 == 0
        && !digits.ends_with("000")
        && !digits.starts_with('0')
}

/// Short whole amounts stay as they were written, unless they are divisible by 8 and may have a larger unit.
fn is_kept_binary(parts: &Parts<'_>, exponent: u32) -> bool {
    let room = 14_i64 - parts.whole.len() as i64 - i64::from(exponent * 3 / 10);
    let amount = parts.whole.parse::<i64>().unwrap_or_default();
    parts.fraction.is_empty()
        && room >= 0
        && amount & 7 != 0
        && amount.checked_mul(1 << exponent).is_some()
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
fn binary(negative: bool, parts: &Parts<'_>, exponent: u32) -> String {
    const PLACES: usize = 19;
    let most = u128::from(i64::MAX.unsigned_abs());
    let sign = if negative { "-" } else { "" };
    let whole = parts.whole.parse::<u64>().map_or(most, |whole| u128::from(whole) << exponent);
    let places = parts.fraction.len().min(PLACES);
    let scale = 10_u128.pow(places as u32);
    let part = parts.fraction[..places].parse::<u128>().unwrap_or_default() << exponent;
    let beyond = parts.fraction[places..].bytes().any(|digit| digit != b'0');
    let mut amount = whole + part / scale;
    let mut nanos = (part % scale) * 1_000_000_000;
    nanos = nanos / scale + u128::from(!nanos.is_multiple_of(scale) || beyond);
    if nanos == 1_000_000_000 {
        (amount, nanos) = (amount + 1, 0);
    }
    if amount >= most {
        return format!("{sign}{most}");
    }
    // A fraction, or less than the smallest unit, is written in decimal.
    if nanos != 0 || amount < 1024 {
        return decimal(negative, &format!("{amount}{nanos:09}"), -NANO, false);
    }
    let mut unit = 0;
    while amount.is_multiple_of(1024) && unit + 1 < BINARY.len() {
        (amount, unit) = (amount / 1024, unit + 1);
    }
    format!("{sign}{amount}{}", BINARY[unit])
}
