//! Parses resource quantities such as `100m` or `1Gi`, exact to a billionth, and formats them as an API server returns them.
//!
//! - Invariant: the cost is linear in the length of the text, whatever number it spells.

use serde_json::Value;
use std::cmp::Ordering;
use std::fmt;

const NANOS: i128 = 1_000_000_000;

/// The maximum of a quantity with a binary suffix, as in an API server.
const BINARY_MAX: i128 = i64::MAX as i128 * NANOS;

/// Numbers with more digits exceed `i128::MAX`.
const DIGITS_MAX: i64 = 39;

const DECIMAL_SUFFIXES: [(&str, i32); 10] =
    [("n", -9), ("u", -6), ("m", -3), ("", 0), ("k", 3), ("M", 6), ("G", 9), ("T", 12), ("P", 15), ("E", 18)];
const BINARY_SUFFIXES: [&str; 6] = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// The family of a quantity's suffix, which formatting keeps.
#[derive(Clone, Copy, Debug)]
enum SuffixFamily {
    /// `m`, `k`, `M`, …
    Decimal,
    /// `Ki`, `Mi`, …
    Binary,
    /// `e3`.
    Exponent,
}

/// An amount, exact to a billionth and saturated to 128 bits of billionths. Amounts compare by value: `1000m` equals
/// `1`. They are formatted in the shortest form without a fraction.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Amount {
    nanos: i128,
    family: SuffixFamily,
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AmountError {
    #[error("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'")]
    Shape,
    /// A digit is missing.
    #[error("unable to parse numeric part of quantity")]
    Number,
    /// The suffix is unknown, or its exponent beyond 32 bits.
    #[error("unable to parse quantity's suffix")]
    Suffix,
}

impl Amount {
    /// Parses an amount; `None` if it is not one.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let parse = |text: &str| AmountText::parse(text).ok().map(AmountText::amount);
        match value {
            Value::String(text) => parse(text.trim()),
            Value::Number(number) => parse(&number.to_string()),
            _ => None,
        }
    }

    pub(crate) fn is_negative(self) -> bool {
        self.nanos < 0
    }

    pub(crate) fn is_positive(self) -> bool {
        self.nanos > 0
    }

    /// Whether it is a whole number of units.
    pub(crate) fn is_whole(self) -> bool {
        self.nanos % NANOS == 0
    }

    /// Rounded away from zero to a thousandth, as API servers store amounts of resources.
    pub(crate) fn in_milli(self) -> Self {
        let milli = NANOS / 1_000;
        let rest = self.nanos % milli;
        let up = if rest == 0 { 0 } else { milli * self.nanos.signum() };
        Self { nanos: (self.nanos - rest).saturating_add(up), ..self }
    }

    /// The sum of both.
    pub(crate) fn plus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos), ..self }
    }
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Amount {}

impl PartialOrd for Amount {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Amount {
    fn cmp(&self, other: &Self) -> Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

impl fmt::Display for Amount {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos < 0 {
            f.write_str("-")?;
        }
        let (magnitude, unit) = (self.nanos.unsigned_abs(), NANOS.unsigned_abs());
        match self.family {
            _ if magnitude == 0 => f.write_str("0"),
            SuffixFamily::Binary if magnitude >= 1024 * unit && magnitude.is_multiple_of(unit) => {
                let (mut units, mut place) = (magnitude / unit, 0);
                while units.is_multiple_of(1024) && place < BINARY_SUFFIXES.len() {
                    (units, place) = (units / 1024, place + 1);
                }
                write!(f, "{units}{}", place.checked_sub(1).map_or("", |place| BINARY_SUFFIXES[place]))
            }
            SuffixFamily::Exponent => match thousands(magnitude, i32::MAX) {
                (number, 0) => write!(f, "{number}"),
                (number, exponent) => write!(f, "{number}e{exponent}"),
            },
            SuffixFamily::Binary | SuffixFamily::Decimal => {
                let (number, exponent) = thousands(magnitude, 18);
                let suffix = DECIMAL_SUFFIXES.iter().find(|(_, power)| *power == exponent);
                write!(f, "{number}{}", suffix.map_or("", |(suffix, _)| suffix))
            }
        }
    }
}

/// The text that an API server returns for this one: itself where an API server takes it as canonical (`1.500` and `+5`
/// are, `0.5` is not), the shortest form without a fraction otherwise.
///
/// # Errors
/// If it is not a quantity.
pub(crate) fn canonical(text: &str) -> Result<String, AmountError> {
    let read = AmountText::parse(text)?;
    Ok(if text == "0" || read.is_kept() { text.to_owned() } else { read.amount().to_string() })
}

/// The factor of a suffix.
#[derive(Clone, Copy)]
enum AmountSuffix {
    /// A power of ten.
    Ten(i32, SuffixFamily),
    /// A power of two.
    Two(u32),
}

impl AmountSuffix {
    fn parse(text: &str) -> Option<Self> {
        if let Some((_, exponent)) = DECIMAL_SUFFIXES.iter().find(|(suffix, _)| *suffix == text) {
            return Some(Self::Ten(*exponent, SuffixFamily::Decimal));
        }
        let bits = BINARY_SUFFIXES.iter().zip((10..).step_by(10)).find(|(suffix, _)| **suffix == text);
        if let Some((_, bits)) = bits {
            return Some(Self::Two(bits));
        }
        let exponent = text.strip_prefix(['e', 'E'])?.parse().ok()?;
        Some(Self::Ten(exponent, SuffixFamily::Exponent))
    }
}

/// The parts of a written quantity.
struct AmountText<'t> {
    negative: bool,
    /// The digits before the point, without leading zeros.
    whole: &'t str,
    /// The digits behind the point.
    fraction: &'t str,
    suffix: AmountSuffix,
}

impl<'t> AmountText<'t> {
    /// Exponents of more than 32 bits are rejected here; an API server lets them wrap.
    fn parse(text: &'t str) -> Result<Self, AmountError> {
        if text.is_empty() {
            return Err(AmountError::Shape);
        }
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, rest) = split(rest, |c| c.is_ascii_digit());
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => split(rest, |c| c.is_ascii_digit()),
            None => ("", rest),
        };
        let (_, exponent) = split(rest, |c| "eEinumkKMGTP".contains(c));
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(AmountError::Shape);
        }
        let suffix = AmountSuffix::parse(rest).ok_or(AmountError::Suffix)?;
        // An API server takes a number without digits as zero, unless the suffix makes it take the slow path.
        let needs_digits = match suffix {
            AmountSuffix::Ten(exponent, _) => exponent < -9,
            AmountSuffix::Two(bits) => bits > 40,
        };
        if whole.is_empty() && fraction.is_empty() && needs_digits {
            return Err(AmountError::Number);
        }
        Ok(Self { negative: text.starts_with('-'), whole: whole.trim_start_matches('0'), fraction, suffix })
    }

    fn amount(self) -> Amount {
        let (magnitude, family) = match self.suffix {
            AmountSuffix::Ten(exponent, family) => (self.decimal_nanos(exponent), family),
            AmountSuffix::Two(bits) => (self.binary_nanos(bits).min(BINARY_MAX), SuffixFamily::Binary),
        };
        Amount { nanos: if self.negative { -magnitude } else { magnitude }, family }
    }

    fn digits(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes()).map(|digit| digit - b'0')
    }

    /// The number times ten to the `exponent`, in billionths, rounded up.
    fn decimal_nanos(&self, exponent: i32) -> i128 {
        let zeros = self.digits().take_while(|&digit| digit == 0).count();
        let significant = || self.digits().skip(zeros);
        if significant().next().is_none() {
            return 0;
        }
        // The position of the decimal point among the significant digits, once the number is in billionths.
        let length = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let point = length(self.whole.len())
            .saturating_sub(length(zeros))
            .saturating_add(i64::from(exponent))
            .saturating_add(9);
        if point > DIGITS_MAX {
            return i128::MAX;
        }
        let before = usize::try_from(point).unwrap_or(0);
        let mut padded = significant().chain(std::iter::repeat(0));
        let nanos = (0..before).fold(0_i128, |nanos, _| append(nanos, padded.next().unwrap_or(0)));
        let rest = significant().skip(before).any(|digit| digit != 0);
        nanos.saturating_add(i128::from(rest))
    }

    /// The number times two to the `bits`, in billionths, rounded up.
    fn binary_nanos(&self, bits: u32) -> i128 {
        let unit = NANOS << bits;
        let whole = self.whole.bytes().fold(0, |whole, digit| append(whole, digit - b'0'));
        // From the last digit to the first: divides the digits behind by ten, and notes whether anything was cut off.
        let (fraction, rest) = self.fraction.bytes().rev().fold((0, false), |(behind, rest), digit| {
            let sum = i128::from(digit - b'0') * unit + behind;
            (sum / 10, rest || sum % 10 != 0)
        });
        whole.saturating_mul(unit).saturating_add(fraction).saturating_add(i128::from(rest))
    }

    /// Whether an API server keeps the exact text: short enough for the fast path, and not shorter in another unit.
    fn is_kept(&self) -> bool {
        let (whole, fraction) = (self.whole.len().max(1), self.fraction.len());
        match self.suffix {
            AmountSuffix::Ten(exponent, _) => {
                let scale = i64::try_from(fraction).map_or(i64::MIN, |places| i64::from(exponent) - places);
                let last = self.whole.bytes().chain(self.fraction.bytes()).rev();
                let rounds = whole + fraction >= 3 && last.take(3).all(|digit| digit == b'0');
                let short = whole.saturating_add(fraction) <= 18 && scale >= -9;
                short && scale % 3 == 0 && !rounds && !self.whole.is_empty()
            }
            AmountSuffix::Two(bits) => {
                let short = fraction == 0 && whole + bits as usize * 3 / 10 <= 14;
                short && self.whole.parse::<u64>().is_ok_and(|value| value % 8 != 0)
            }
        }
    }
}

/// Billionths as a number times the largest possible power of a thousand.
fn thousands(nanos: u128, exponent_most: i32) -> (u128, i32) {
    let (mut number, mut exponent) = (nanos, -9);
    while number.is_multiple_of(1_000) && exponent < exponent_most {
        (number, exponent) = (number / 1_000, exponent + 3);
    }
    (number, exponent)
}

fn append(number: i128, digit: u8) -> i128 {
    number.saturating_mul(10).saturating_add(i128::from(digit))
}

/// The longest prefix of such characters, and the rest.
fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}

#[cfg(test)]
mod tests;
