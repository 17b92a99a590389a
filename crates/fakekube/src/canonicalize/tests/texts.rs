//! Tests quantities, times and arbitrary text.

use proptest::prelude::*;

use crate::canonicalize::{CanonicalizeError, EPOCH, NEVER, parse_time, time_value, yaml_to_json};
use crate::quantity::canonical;
use jiff::SignedDuration;
use serde_json::Value;

#[test]
fn quantities_are_canonical() {
    for (text, written) in [
        ("1000m", "1"),
        ("1024Mi", "1Gi"),
        ("1.500", "1.500"),
        ("+5", "+5"),
        ("007", "007"),
        ("0.5", "500m"),
        ("1.5Gi", "1536Mi"),
        ("0.5Mi", "512Ki"),
        ("1e3", "1e3"),
        ("1E3", "1E3"),
        ("12e6", "12e6"),
        ("8Ki", "8Ki"),
        ("1025Ki", "1025Ki"),
        ("1024", "1024"),
        ("1000000", "1M"),
        ("1000k", "1M"),
        ("1500M", "1500M"),
        ("0.1Mi", "104857600m"),
        ("9Ei", "9223372036854775807"),
        ("1e19", "10e18"),
        ("-1", "-1"),
        ("1.", "1."),
        (".5", "500m"),
        ("0Mi", "0"),
        ("1Ti", "1Ti"),
        ("1000Ti", "1000Ti"),
        ("1024Ti", "1Pi"),
        ("3000000Pi", "9223372036854775807"),
        ("1e+30", "1e+30"),
        ("0", "0"),
        ("0.1n", "1n"),
        ("-0.1n", "-1n"),
        ("1.0000000001", "1000000001n"),
        ("123456789012345678901234567890", "123456789012345678901234567890"),
        ("100e-3", "100e-3"),
        ("1000e-3", "1"),
        ("1.5e1", "1.5e1"),
        ("0.0001Ki", "102400u"),
        ("99999999999999999999m", "99999999999999999999m"),
    ] {
        assert_eq!(canonical(text).as_deref(), Ok(written), "{text}");
    }
}

#[test]
fn an_invalid_quantity_is_refused() {
    let format =
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    for (text, words) in [
        ("", format),
        ("abc", format),
        ("1x", format),
        ("1 Gi", format),
        ("1.2.3", format),
        ("true", format),
        ("1kk", "unable to parse quantity's suffix"),
        ("5e", "unable to parse quantity's suffix"),
        ("5i", "unable to parse quantity's suffix"),
    ] {
        assert_eq!(
            canonical(text).map_err(|why| CanonicalizeError(why.to_string())),
            Err(CanonicalizeError(words.into())),
            "{text}"
        );
    }
}

#[test]
fn times_are_canonical() {
    for (text, canonical) in [
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.678+02:00", "2024-01-02T01:04:05Z"),
        ("2024-02-29T23:59:59-05:30", "2024-03-01T05:29:59Z"),
        ("0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"),
        ("9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"),
    ] {
        assert_eq!(time_value(parse_time(text, false).unwrap(), false), canonical);
    }
    assert_eq!(parse_time("0001-01-01T00:00:00Z", false), Ok(NEVER));
    assert_eq!(time_value(NEVER, false), Value::Null);
    assert_eq!(parse_time("1970-01-01T00:00:00Z", false), Ok(EPOCH));
    let micro = parse_time("2024-01-02T03:04:05.678901+02:00", true).unwrap();
    assert_eq!(time_value(micro, true), "2024-01-02T01:04:05.678901Z");
}

#[test]
fn an_invalid_time_is_refused() {
    for text in ["xx", "2020-02-20T00:00:00", "2020-02-20", "2020-13-01T00:00:00Z", "2020-02-30T00:00:00Z"] {
        assert!(parse_time(text, false).is_err(), "{text}");
    }
    for text in ["2020-01-01T00:00:00Z", "2020-01-01T00:00:00.123Z", "2020-01-01T00:00:00.1234567Z"] {
        assert!(parse_time(text, true).is_err(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn quantities_stay_what_they_are(text in "[+-]?[0-9]{0,22}(\\.[0-9]{0,22})?([numkMGTPE]|[KMGTPE]i|[eE][+-]?[0-9]{1,2})?") {
        if let Ok(written) = canonical(&text) {
            prop_assert_eq!(canonical(&written), Ok(written.clone()));
        }
    }

    #[test]
    fn any_text_is_judged(text in ".{0,40}") {
        let _ = canonical(&text);
        let _ = parse_time(&text, false);
        let _ = parse_time(&text, true);
        let _ = yaml_to_json(text.as_bytes());
    }

    #[test]
    fn times_come_back(seconds in -62_135_596_799_i64..253_402_300_800) {
        let time = EPOCH + SignedDuration::from_secs(seconds);
        let written = time_value(time, false);
        prop_assert_eq!(parse_time(written.as_str().unwrap(), false), Ok(time));
    }
}
