//! Converts decimal digits of any length to billionths in 128 bits, rounded up.

/// A number without sign: ASCII digits only, no leading zeros before the point.
#[derive(Clone, Copy)]
pub(super) struct DecimalDigits<'t> {
    pub(super) whole: &'t str,
    pub(super) fraction: &'t str,
}

/// More digits than this are more than `i128::MAX`.
const DIGITS_MAX: i64 = 39;

impl DecimalDigits<'_> {
    /// All digits, in order.
    fn all(&self) -> impl Iterator<Item = u8> {
        self.whole.bytes().chain(self.fraction.bytes()).map(|digit| digit - b'0')
    }

    /// The number times ten to the `exponent`.
    pub(super) fn decimal_nanos(self, exponent: i32) -> i128 {
        let zeros = self.all().take_while(|&digit| digit == 0).count();
        let significant = || self.all().skip(zeros);
        if significant().next().is_none() {
            return 0;
        }
        // Where the point stands among the significant digits, once the number is in billionths.
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

    /// The number times two to the `bits`.
    pub(super) fn binary_nanos(self, bits: u32) -> i128 {
        let unit = 1_000_000_000_i128 << bits;
        let whole = self.whole.bytes().fold(0, |whole, digit| append(whole, digit - b'0'));
        // From the last digit to the first: what is behind each, divided by ten, with a note of what was cut off.
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
