//! # Quantity: `100m`, `1Gi`, `2e3`
//! Room:     amounts of resources, exact; the way the API writes them.
//! Comes in: text or a number, as JSON has it.
//! Goes out: [`Quantity`]: comparable, summable, in canonical form.
//! Keeps:    nothing smaller than a nano; smaller amounts are rounded up, as the API does.
//! Not here: what resources there are (`validate/containers.rs`).

use crate::parts::text;
use crate::schema::{Schema, Shape};
use serde_json::Value;
use std::fmt;

/// How a quantity was written, and is written again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Format {
    /// `k`, `M`, `m`.
    Decimal,
    /// `Ki`, `Mi`.
    Binary,
    /// `e3`.
    Exponent,
}

/// An amount in nanos.
#[derive(Clone, Copy, Debug)]
pub struct Quantity {
    nanos: i128,
    format: Format,
}

const NANO: i128 = 1_000_000_000;

impl Quantity {
    /// Reads a quantity; `None` if it is none, or too large to be kept.
    pub fn read(value: &Value) -> Option<Self> {
        match value {
            Value::String(text) => Self::parse(text.trim()),
            Value::Number(number) => Self::parse(&number.to_string()),
            _ => None,
        }
    }

    /// Reads a quantity; `None` if it is none, or too large to be kept.
    pub fn parse(text: &str) -> Option<Self> {
        let (negative, rest) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (digits, suffix) = rest.split_at(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
            return None;
        }
        let (factor, scale, format) = suffix_of(suffix)?;
        let mantissa: i128 = format!("0{whole}{fraction}").parse().ok()?;
        let scale = scale + 9 - i32::try_from(fraction.len()).ok()?;
        let scaled = mantissa.checked_mul(factor)?;
        let nanos = if scale >= 0 {
            scaled.checked_mul(10_i128.checked_pow(scale.unsigned_abs())?)?
        } else {
            let by = 10_i128.checked_pow(scale.unsigned_abs())?;
            scaled.checked_add(by - 1)? / by
        };
        Some(Self { nanos: if negative { -nanos } else { nanos }, format })
    }

    /// Below zero.
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }

    /// Above zero.
    pub fn is_positive(self) -> bool {
        self.nanos > 0
    }

    /// A whole number, once rounded up to milli.
    pub fn is_whole(self) -> bool {
        self.round_to_milli().nanos % NANO == 0
    }

    /// As resource lists keep it: nothing smaller than a milli, rounded away from zero.
    pub fn round_to_milli(self) -> Self {
        let milli = NANO / 1000;
        let rest = self.nanos % milli;
        let nanos = if rest == 0 { self.nanos } else { self.nanos - rest + milli * self.nanos.signum() };
        Self { nanos, ..self }
    }

    /// The sum; the format is that of the first.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self { nanos: self.nanos.saturating_add(other.nanos), ..self }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

impl PartialOrd for Quantity {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Quantity {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.nanos.cmp(&other.nanos)
    }
}

/// Writes all amounts of an object as the API does, wherever its kind has some.
pub fn canonical(object: &mut Value) {
    if let Some(kind) = Schema::get().kind(text(object, "apiVersion"), text(object, "kind")) {
        canonical_in(&Shape::Object(kind), object);
    }
}

fn canonical_in(shape: &Shape, value: &mut Value) {
    match shape {
        Shape::Quantity => {
            if let Some(quantity) = Quantity::read(value) {
                *value = quantity.to_string().into();
            }
        }
        Shape::Object(id) => {
            let Some(fields) = value.as_object_mut() else { return };
            for (name, value) in fields {
                if let Some(field) = Schema::get().field(*id, name) {
                    canonical_in(&field.shape, value);
                }
            }
        }
        Shape::List(inner) => {
            value.as_array_mut().into_iter().flatten().for_each(|it| canonical_in(inner, it))
        }
        Shape::Map(inner) => {
            value
                .as_object_mut()
                .into_iter()
                .flat_map(|map| map.values_mut())
                .for_each(|it| canonical_in(inner, it));
        }
        _ => {}
    }
}

/// A factor, a power of ten, and the format a suffix stands for.
fn suffix_of(suffix: &str) -> Option<(i128, i32, Format)> {
    let binary = |power: u32| Some((1_i128 << (10 * power), 0, Format::Binary));
    let decimal = |scale: i32| Some((1, scale, Format::Decimal));
    match suffix {
        "Ki" => binary(1),
        "Mi" => binary(2),
        "Gi" => binary(3),
        "Ti" => binary(4),
        "Pi" => binary(5),
        "Ei" => binary(6),
        "n" => decimal(-9),
        "u" => decimal(-6),
        "m" => decimal(-3),
        "" => decimal(0),
        "k" => decimal(3),
        "M" => decimal(6),
        "G" => decimal(9),
        "T" => decimal(12),
        "P" => decimal(15),
        "E" => decimal(18),
        _ => {
            let exponent = suffix.strip_prefix(['e', 'E'])?;
            let scale: i32 = exponent.parse().ok()?;
            (-30..=30).contains(&scale).then_some((1, scale, Format::Exponent))
        }
    }
}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.nanos == 0 {
            return f.write_str("0");
        }
        let binary =
            self.format == Format::Binary && self.nanos % NANO == 0 && self.nanos.abs() >= 1024 * NANO;
        if binary {
            let mut whole = self.nanos / NANO;
            let mut suffix = 0;
            while suffix < 6 && whole % 1024 == 0 {
                whole /= 1024;
                suffix += 1;
            }
            return write!(f, "{whole}{}", ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"][suffix]);
        }
        let (mut amount, mut scale) = (self.nanos, -3_i32);
        while scale < 6 && amount % 1000 == 0 {
            amount /= 1000;
            scale += 1;
        }
        let suffix = usize::try_from(scale + 3).unwrap_or_default();
        match (self.format, scale) {
            (_, 0) => write!(f, "{amount}"),
            (Format::Exponent, _) => write!(f, "{amount}e{}", scale * 3),
            _ => write!(f, "{amount}{}", ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"][suffix]),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Quantity;

    #[test]
    fn quantities_are_written_as_the_api_writes_them() {
        for (text, canonical) in [
            ("1", "1"),
            ("1000m", "1"),
            ("0.5", "500m"),
            ("1.5Gi", "1536Mi"),
            ("1024Mi", "1Gi"),
            ("1000k", "1M"),
            ("12e3", "12e3"),
            ("0", "0"),
            ("-1", "-1"),
            ("100", "100"),
            ("1000", "1k"),
            ("0.5Ki", "512"),
            ("1n", "1n"),
            (".5", "500m"),
        ] {
            assert_eq!(Quantity::parse(text).unwrap().to_string(), canonical, "{text}");
        }
        for text in ["", "a", "1x", "1.2.3", "-", "."] {
            assert!(Quantity::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn quantities_compare_by_what_they_are_worth() {
        let read = |text| Quantity::parse(text).unwrap();
        assert_eq!(read("1"), read("1000m"));
        assert!(read("1Gi") > read("1G"));
        assert!(read("1.5").is_whole() == read("2.5").is_whole() && !read("1.5").is_whole());
        assert_eq!(read("1u").round_to_milli().to_string(), "1m");
        assert!(read("-1").is_negative() && read("1").is_positive() && !read("0").is_positive());
    }
}
