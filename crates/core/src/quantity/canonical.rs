//! Formats a quantity as an API server returns it.

use super::{NANOS, ParsedNumber, Quantity, QuantityError, QuantityFormat, Suffix};
use alloc::string::{String, ToString as _};
use core::fmt;

/// The largest power of ten that has a suffix.
const EXPONENT_MAX: i32 = 18;

/// The text an API server answers with for this one: itself where an API server takes it as canonical (`1.500` and `+5`
/// are, `0.5` is not), the shortest form otherwise.
pub fn canonical(text: &str) -> Result<String, QuantityError> {
    let quantity = Quantity::parse(text)?;
    let kept = text == "0" || ParsedNumber::read(text)?.is_kept();
    Ok(if kept { text.to_string() } else { quantity.to_string() })
}

impl ParsedNumber<'_> {
    /// Whether an API server keeps the very text: short enough to be read the fast way, and not shorter in another unit.
    fn is_kept(&self) -> bool {
        let (whole, fraction) = (self.whole.len().max(1), self.fraction.len());
        match self.suffix {
            Suffix::Ten(exponent, _) => {
                let scale = i64::try_from(fraction).map_or(i64::MIN, |places| i64::from(exponent) - places);
                let last = self.whole.bytes().chain(self.fraction.bytes()).rev();
                let rounds = whole + fraction >= 3 && last.take(3).all(|digit| digit == b'0');
                let short = whole.saturating_add(fraction) <= 18 && scale >= -9;
                short && scale % 3 == 0 && !rounds && !self.whole.is_empty()
            }
            Suffix::Two(bits) => {
                let short = fraction == 0 && whole + bits as usize * 3 / 10 <= 14;
                short && self.whole.parse::<u64>().is_ok_and(|value| value % 8 != 0)
            }
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos < 0 {
            f.write_str("-")?;
        }
        let magnitude = self.nanos.unsigned_abs();
        let unit = NANOS.unsigned_abs();
        match self.format {
            _ if magnitude == 0 => f.write_str("0"),
            QuantityFormat::BinarySi if magnitude >= 1024 * unit && magnitude.is_multiple_of(unit) => {
                binary(f, magnitude / unit)
            }
            QuantityFormat::BinarySi | QuantityFormat::DecimalSi => decimal(f, magnitude, true),
            QuantityFormat::DecimalExponent => decimal(f, magnitude, false),
        }
    }
}

fn binary(f: &mut fmt::Formatter<'_>, mut units: u128) -> fmt::Result {
    let mut suffixes = ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].into_iter();
    let mut suffix = "";
    while units.is_multiple_of(1024)
        && let Some(larger) = suffixes.next()
    {
        units /= 1024;
        suffix = larger;
    }
    write!(f, "{units}{suffix}")
}

fn decimal(f: &mut fmt::Formatter<'_>, nanos: u128, suffixes: bool) -> fmt::Result {
    let (mut number, mut exponent) = (nanos, -9);
    while number.is_multiple_of(1_000) && !(suffixes && exponent == EXPONENT_MAX) {
        number /= 1_000;
        exponent += 3;
    }
    match exponent {
        0 => write!(f, "{number}"),
        exponent if !suffixes => write!(f, "{number}e{exponent}"),
        -9 => write!(f, "{number}n"),
        -6 => write!(f, "{number}u"),
        -3 => write!(f, "{number}m"),
        3 => write!(f, "{number}k"),
        6 => write!(f, "{number}M"),
        9 => write!(f, "{number}G"),
        12 => write!(f, "{number}T"),
        15 => write!(f, "{number}P"),
        _ => write!(f, "{number}E"),
    }
}
