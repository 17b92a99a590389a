//! Tests quantities with tables; `engines/golden_scheduling.rs` compares them with the Go functions.

use super::*;
use alloc::format;
use alloc::string::ToString as _;
use proptest::prelude::*;

#[test]
fn amounts() {
    for (text, units, milli) in [
        ("0", 0, 0),
        ("1", 1, 1_000),
        ("100m", 1, 100),
        ("1Gi", 1 << 30, (1 << 30) * 1_000),
        ("1e3", 1_000, 1_000_000),
        ("1E3", 1_000, 1_000_000),
        ("1E", 1_000_000_000_000_000_000, i64::MAX),
        ("1e-3", 1, 1),
        ("0.5", 1, 500),
        (".5", 1, 500),
        ("5.", 5, 5_000),
        ("+5", 5, 5_000),
        ("-5", -5, -5_000),
        ("-100m", -1, -100),
        ("007", 7, 7_000),
        ("1.5Gi", 3 << 29, (3 << 29) * 1_000),
        ("0.1Ki", 103, 102_400),
        ("1n", 1, 1),
        ("1u", 1, 1),
        ("1001u", 1, 2),
        ("0.1m", 1, 1),
        ("128974848", 128_974_848, 128_974_848_000),
        ("129e6", 129_000_000, 129_000_000_000),
        ("123Mi", 128_974_848, 128_974_848_000),
        ("2k", 2_000, 2_000_000),
        ("1M", 1_000_000, 1_000_000_000),
        ("0.000000000000000000001", 1, 1),
        ("1e-2000000000", 1, 1),
        ("0e2000000000", 0, 0),
    ] {
        let quantity = Quantity::parse(text).expect(text);
        assert_eq!((quantity.units(), quantity.milli()), (units, milli), "{text}");
    }
}

#[test]
fn too_large_values_saturate() {
    for text in ["9223372036854775808", "1e19", "1e2000000000", "10E", "8Ei", "99999Ei", &"9".repeat(100_000)]
    {
        assert_eq!(Quantity::parse(text).expect("a quantity").units(), i64::MAX);
        assert_eq!(Quantity::parse(&format!("-{text}")).expect("a quantity").milli(), i64::MIN);
    }
    let most = Quantity::parse("1e2000000000").expect("a quantity");
    assert_eq!(most.plus(most), most);
    assert_eq!(Quantity::parse("9223372036854775807").expect("a quantity").units(), i64::MAX);
    assert_eq!(Quantity::parse("7Ei").expect("a quantity").units(), 7 << 60);
}

#[test]
fn an_invalid_quantity_says_why() {
    use QuantityError::{Number, Shape, Suffix};
    for (text, error) in [
        ("", Shape),
        (" ", Shape),
        ("1 ", Shape),
        (" 1", Shape),
        ("1 Gi", Shape),
        ("1.2.3", Shape),
        ("--1", Suffix),
        ("1e3.5", Shape),
        ("1_000", Shape),
        ("1,5", Shape),
        ("0x10", Shape),
        ("one", Shape),
        ("NaN", Shape),
        ("１", Shape),
        ("1\0", Shape),
        ("1g", Shape),
        ("1Gib", Shape),
        ("1K", Suffix),
        ("1ki", Suffix),
        ("1mi", Suffix),
        ("1e", Suffix),
        ("1e+", Suffix),
        ("1Gi3", Suffix),
        ("1-5", Suffix),
        ("1+", Suffix),
        ("1mm", Suffix),
        ("1e99999999999999999999", Suffix),
        ("1e2147483648", Suffix),
        ("Pi", Number),
        ("-Ei", Number),
        (".e-20", Number),
    ] {
        assert_eq!(Quantity::parse(text), Err(error), "{text:?}");
    }
    assert_eq!(Suffix.to_string(), "unable to parse quantity's suffix");
}

/// Unusual, but an API server accepts them.
#[test]
fn without_digits_it_is_zero() {
    for text in ["-", "+", ".", "Ki", "Ti", "e5", "m", "-.", "0Pi", "."] {
        assert_eq!(Quantity::parse(text).expect(text).units(), 0, "{text}");
    }
}

#[test]
fn sums() {
    let of = |text| Quantity::parse(text).expect("a quantity");
    assert_eq!(of("100m").plus(of("1.9")).milli(), 2_000);
    assert_eq!(of("0.1m").plus(of("0.1m")).plus(of("0.1m")).milli(), 1);
    assert_eq!(Quantity::ZERO.plus(of("1Gi")), of("1Gi"));
    assert_eq!(of("8Ei").plus(of("8Ei")).plus(of("1")).units(), i64::MAX);
    assert_eq!(of("1").larger(of("999m")), of("1"));
    assert_eq!(of("1").larger(of("1001m")).milli(), 1_001);
    assert_eq!(Quantity::from_milli(1_500), of("1.5"));
    assert_eq!(Quantity::from_units(i64::MIN).units(), i64::MIN);
}

proptest! {
    #[test]
    fn no_text_causes_a_panic(text in ".{0,40}") {
        let _ = Quantity::parse(&text);
    }

    /// Compares with integer arithmetic.
    #[test]
    fn units_and_thousandths_round_away_from_zero(milli in any::<i64>()) {
        let quantity = Quantity::parse(&format!("{milli}m")).expect("a quantity");
        prop_assert_eq!(quantity.milli(), milli);
        let (whole, part) = (milli / 1_000, milli % 1_000);
        prop_assert_eq!(quantity.units(), whole + part.signum());
    }
}

#[test]
fn quantities_compare_by_their_amounts() {
    let quantity = |text: &str| Quantity::parse(text).unwrap();
    assert_eq!(["-1n", "0", "1n"].map(|text| quantity(text).is_positive()), [false, false, true]);
    assert_eq!(quantity("1").larger(quantity("2")), quantity("2"));
    assert_eq!(quantity("2").larger(quantity("1")), quantity("2"));
}
