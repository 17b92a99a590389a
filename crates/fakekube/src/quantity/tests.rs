//! Tests quantities by tables; `crates/sandbox/tests/server/quantities.rs` compares their form with the Go functions.

use super::{Amount, AmountError, canonical};
use proptest::prelude::*;
use serde_json::json;

#[test]
fn an_invalid_quantity_has_a_reason() {
    use AmountError::{Number, Shape, Suffix};
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
        assert_eq!(canonical(text), Err(error), "{text:?}");
    }
    assert_eq!(Suffix.to_string(), "unable to parse quantity's suffix");
}

/// An API server accepts these.
#[test]
fn without_digits_it_is_zero() {
    for text in ["-", "+", ".", "Ki", "Ti", "e5", "m", "-.", "0Pi", "."] {
        assert_eq!(canonical(text).expect(text), "0", "{text}");
    }
}

#[test]
fn the_canonical_form_of_a_quantity() {
    for (text, form) in [
        ("0", "0"),
        ("00", "0"),
        ("-0", "0"),
        ("1", "1"),
        ("+5", "+5"),
        ("007", "007"),
        ("1000", "1k"),
        ("1500", "1500"),
        ("0.5", "500m"),
        ("1.5", "1500m"),
        ("1.500", "1.500"),
        ("100m", "100m"),
        ("1000m", "1"),
        ("1024", "1024"),
        ("1024Ki", "1Mi"),
        ("1024Mi", "1Gi"),
        ("1025Mi", "1025Mi"),
        ("8Mi", "8Mi"),
        ("0.5Gi", "512Mi"),
        ("0.5Ki", "512"),
        ("0.1Ki", "102400m"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("10e3", "10e3"),
        ("1e4", "10e3"),
        ("1e0", "1e0"),
        ("0.1n", "1n"),
        ("-1.5", "-1500m"),
        ("-1024Ki", "-1Mi"),
    ] {
        assert_eq!(canonical(text).expect(text), form, "{text}");
    }
}

const SUFFIXES: [&str; 18] =
    ["", "n", "u", "m", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei", "e3", "E-7"];

fn written() -> impl Strategy<Value = String> {
    ("[+-]?[0-9]{1,24}(\\.[0-9]{0,24})?", prop::sample::select(&SUFFIXES[..]))
        .prop_map(|(number, suffix)| number + suffix)
}

fn amount(text: &str) -> Amount {
    Amount::read(&json!(text)).expect("a quantity")
}

#[test]
fn amounts_compare_by_what_they_are_worth() {
    assert_eq!(amount("1000m"), amount("1"));
    assert!(amount("1.001") > amount("1") && amount("-1").is_negative() && !amount("0").is_positive());
    assert_eq!(amount("0.1m").in_milli(), amount("1m"));
    assert_eq!(amount("-1001u").in_milli().to_string(), "-2m");
    assert_eq!(amount("100m").plus(amount("1.9")), amount("2"));
    assert!(amount("2Ki").is_whole() && !amount("2m").is_whole());
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_text_breaks_it(text in ".{0,40}") {
        let read = Amount::read(&json!(text));
        prop_assert_eq!(canonical(text.trim()).is_ok(), read.is_some());
    }

    #[test]
    fn the_canonical_form_is_the_same_amount_and_canonical(text in written()) {
        let form = amount(&text).to_string();
        prop_assert_eq!(amount(&form), amount(&text), "{} {}", text, form);
        prop_assert_eq!(amount(&form).to_string(), form);
    }
}
