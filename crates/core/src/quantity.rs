//! Parses resource quantities such as `100m` or `1Gi`: exact to a billionth, rounded up below that, saturating.
//!
//! - Invariant: the cost is linear in the length of the text, whatever number it denotes.

use core::fmt;

#[cfg(test)]
mod tests;

/// An amount, exact to a billionth; it saturates at 128 bits of billionths.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    nanos: i128,
}

/// Why a text is not a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum QuantityError {
    /// It does not have the form of a number with a suffix.
    Shape,
    /// A digit is missing where one is required.
    Number,
    /// The suffix is unknown, or its exponent beyond 32 bits.
    Suffix,
}

impl fmt::Display for QuantityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Shape => {
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            }
            Self::Number => "unable to parse numeric part of quantity",
            Self::Suffix => "unable to parse quantity's suffix",
        })
    }
}

impl core::error::Error for QuantityError {}

const NANOS: i128 = 1_000_000_000;

/// A number with more digits exceeds `i128::MAX`.
const DIGITS_MAX: i64 = 39;

/// The maximum that an API server stores for a quantity with a binary suffix.
const BINARY_MAX: i128 = i64::MAX as i128 * NANOS;

impl Quantity {
    /// Zero.
    pub const ZERO: Self = Self { nanos: 0 };

    /// This many thousandths.
    pub fn from_milli(milli: i64) -> Self {
        Self { nanos: i128::from(milli) * (NANOS / 1_000) }
    }

    /// This many whole units.
    pub fn from_units(units: i64) -> Self {
        Self { nanos: i128::from(units) * NANOS }
    }

    /// Parses a quantity. Exponents that need more than 32 bits are rejected here; an API server lets them overflow.
    pub fn parse(text: &str) -> Result<Self, QuantityError> {
        let written = ParsedNumber::read(text)?;
        if written.is_empty() && written.is_rejected_without_digits() {
            return Err(QuantityError::Number);
        }
        let magnitude = match written.suffix {
            Suffix::Ten(exponent) => written.decimal_nanos(exponent),
            Suffix::Two(bits) => written.binary_nanos(bits).min(BINARY_MAX),
        };
        let nanos = if written.negative { -magnitude } else { magnitude };
        Ok(Self { nanos })
    }

    /// In whole units, rounded away from zero.
    pub fn units(self) -> i64 {
        self.scaled(NANOS)
    }

    /// In thousandths, rounded away from zero.
    pub fn milli(self) -> i64 {
        self.scaled(NANOS / 1_000)
    }

    fn scaled(self, unit: i128) -> i64 {
        let up = i128::from(self.nanos % unit != 0) * self.nanos.signum();
        let whole = self.nanos / unit + up;
        i64::try_from(whole).unwrap_or(if whole < 0 { i64::MIN } else { i64::MAX })
    }

    /// Above zero.
    pub fn is_positive(self) -> bool {
        self.nanos > 0
    }

    /// The sum.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos) }
    }

    /// The larger of both; the first if they are equal.
    #[must_use]
    pub fn larger(self, other: Self) -> Self {
        if other.nanos > self.nanos { other } else { self }
    }
}

/// The factor of a suffix.
#[derive(Clone, Copy, Debug)]
enum Suffix {
    /// A power of ten.
    Ten(i32),
    /// A power of two.
    Two(u32),
}

impl Suffix {
    fn read(text: &str) -> Option<Self> {
        let ten = |exponent| Some(Self::Ten(exponent));
        match text {
            "n" => ten(-9),
            "u" => ten(-6),
            "m" => ten(-3),
            "" => ten(0),
            "k" => ten(3),
            "M" => ten(6),
            "G" => ten(9),
            "T" => ten(12),
            "P" => ten(15),
            "E" => ten(18),
            "Ki" => Some(Self::Two(10)),
            "Mi" => Some(Self::Two(20)),
            "Gi" => Some(Self::Two(30)),
            "Ti" => Some(Self::Two(40)),
            "Pi" => Some(Self::Two(50)),
            "Ei" => Some(Self::Two(60)),
            _ => {
                let exponent = text.strip_prefix(['e', 'E'])?.parse().ok()?;
                Some(Self::Ten(exponent))
            }
        }
    }
}

/// A quantity as written, in its parts.
struct ParsedNumber<'t> {
    negative: bool,
    /// The digits before the point, without leading zeros.
    whole: &'t str,
    /// Whether there was any digit before the point.
    has_whole: bool,
    /// The digits after the point.
    fraction: &'t str,
    suffix: Suffix,
}

impl<'t> ParsedNumber<'t> {
    fn read(text: &'t str) -> Result<Self, QuantityError> {
        if text.is_empty() {
            return Err(QuantityError::Shape);
        }
        let negative = text.starts_with('-');
        let rest = text.strip_prefix(['-', '+']).unwrap_or(text);
        let (whole, rest) = split(rest, |c| c.is_ascii_digit());
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => split(rest, |c| c.is_ascii_digit()),
            None => ("", rest),
        };
        let (_, exponent) = split(rest, |c| "eEinumkKMGTP".contains(c));
        let digits = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
        if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(QuantityError::Shape);
        }
        let suffix = Suffix::read(rest).ok_or(QuantityError::Suffix)?;
        let has_whole = !whole.is_empty();
        Ok(Self { negative, whole: whole.trim_start_matches('0'), has_whole, fraction, suffix })
    }

    /// Whether there is no digit at all.
    fn is_empty(&self) -> bool {
        !self.has_whole && self.fraction.is_empty()
    }

    /// Without any digit an API server reads zero, unless the suffix makes it use its slow parser.
    fn is_rejected_without_digits(&self) -> bool {
        match self.suffix {
            Suffix::Ten(exponent) => exponent < -9,
            Suffix::Two(bits) => bits > 40,
        }
    }

    /// All digits, in order.
    fn all(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes()).map(|digit| digit - b'0')
    }

    /// The digits times ten to the `exponent`, in billionths, rounded up.
    fn decimal_nanos(&self, exponent: i32) -> i128 {
        let zeros = self.all().take_while(|&digit| digit == 0).count();
        let significant = || self.all().skip(zeros);
        if significant().next().is_none() {
            return 0;
        }
        // The position of the point among the significant digits, once the number is in billionths.
        let length = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        let point = length(self.whole.len())
            .saturating_sub(length(zeros))
            .saturating_add(i64::from(exponent))
            .saturating_add(9);
        if point > DIGITS_MAX {
            return i128::MAX;
        }
        let before = usize::try_from(point).unwrap_or(0);
        let mut padded = significant().chain(core::iter::repeat(0));
        let nanos = (0..before).fold(0_i128, |nanos, _| append(nanos, padded.next().unwrap_or(0)));
        let rest = significant().skip(before).any(|digit| digit != 0);
        nanos.saturating_add(i128::from(rest))
    }

    /// The digits times two to the `bits`, in billionths, rounded up.
    fn binary_nanos(&self, bits: u32) -> i128 {
        let unit = 1_000_000_000_i128 << bits;
        let whole = self.whole.bytes().fold(0, |whole, digit| append(whole, digit - b'0'));
        // From the last digit to the first: the digits behind each, divided by ten, and whether anything was cut off.
        let (fraction, rest) = self.fraction.bytes().rev().fold((0, false), |(behind, rest), digit| {
            let sum = i128::from(digit - b'0') * unit + behind;
            (sum / 10, rest || sum % 10 != 0)
        });
        whole.saturating_mul(unit).saturating_add(fraction).saturating_add(i128::from(rest))
    }
}

fn append(number: i128, digit: u8) -> i128 {
    number.saturating_mul(10).saturating_add(i128::from(digit))
}

/// Splits off the longest prefix of such characters.
fn split(text: &str, belongs: impl Fn(char) -> bool) -> (&str, &str) {
    text.split_at(text.find(|c| !belongs(c)).unwrap_or(text.len()))
}
