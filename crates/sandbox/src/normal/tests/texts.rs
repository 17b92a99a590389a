//! Texts with a grammar of their own: quantities, times, durations; and any text at all.

use proptest::prelude::*;
use taintward_core::quantity::canonical;

use crate::normal::{
    Fault, Instant, duplicates, duration_text, has_duplicates, parse_duration, yaml_to_json,
};

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
fn what_is_no_quantity_is_refused() {
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
        assert_eq!(canonical(text).map_err(|why| Fault(why.to_string())), Err(Fault(words.into())), "{text}");
    }
}

#[test]
fn times_are_canonical() {
    for (text, canonical) in [
        ("2024-01-02T03:04:05Z", "2024-01-02T03:04:05Z"),
        ("2024-01-02T03:04:05.678+02:00", "2024-01-02T01:04:05Z"),
        ("2024-02-29T23:59:59-05:30", "2024-03-01T05:29:59Z"),
        ("0001-01-01T00:00:01Z", "0001-01-01T00:00:01Z"),
    ] {
        assert_eq!(Instant::parse(text).unwrap().text(false).as_deref(), Some(canonical));
    }
    assert!(Instant::parse("0001-01-01T00:00:00Z").unwrap().is_zero());
    assert_eq!(Instant::parse("1970-01-01T00:00:00Z"), Ok(Instant { seconds: 0, nanos: 0 }));
    let micro = Instant::parse_micro("2024-01-02T03:04:05.678901+02:00").unwrap();
    assert_eq!(micro.text(true).as_deref(), Some("2024-01-02T01:04:05.678901Z"));
}

#[test]
fn what_is_no_time_is_refused() {
    let layout = r#"as "2006-01-02T15:04:05Z07:00": cannot parse"#;
    for (text, words) in [
        ("xx", format!(r#"{layout} "xx" as "2006""#)),
        ("2020-02-20T00:00:00", format!(r#"{layout} "" as "Z07:00""#)),
        ("2020-02-20", format!(r#"{layout} "" as "T""#)),
    ] {
        assert_eq!(Instant::parse(text), Err(Fault(format!("parsing time {text:?} {words}"))));
    }
    for (text, words) in
        [("2020-13-01T00:00:00Z", "month out of range"), ("2020-02-30T00:00:00Z", "day out of range")]
    {
        assert_eq!(Instant::parse(text), Err(Fault(format!("parsing time {text:?}: {words}"))));
    }
    assert_eq!(
        Instant::parse_micro("2020-01-01T00:00:00Z").unwrap_err().0,
        r#"parsing time "2020-01-01T00:00:00Z" as "2006-01-02T15:04:05.000000Z07:00": cannot parse "Z" as ".000000""#
    );
}

#[test]
fn durations_go_both_ways() {
    for (text, nanos, canonical) in [
        ("90m", 5_400_000_000_000, "1h30m0s"),
        ("1.5s", 1_500_000_000, "1.5s"),
        ("-2us", -2_000, "-2\u{b5}s"),
        ("0", 0, "0s"),
        ("1h0.5ms", 3_600_000_500_000, "1h0m0.0005s"),
        ("15ns", 15, "15ns"),
    ] {
        assert_eq!(parse_duration(text), Ok(nanos), "{text}");
        assert_eq!(duration_text(nanos), canonical);
        assert_eq!(parse_duration(canonical), Ok(nanos));
    }
    assert_eq!(parse_duration("").unwrap_err().0, r#"time: invalid duration """#);
    assert_eq!(parse_duration("5").unwrap_err().0, r#"time: missing unit in duration "5""#);
}

/// JSON with names of few letters, so that some come twice.
fn json() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![Just("1".to_owned()), Just("null".to_owned()), Just(r#""a:\"{b\\""#.to_owned())];
    leaf.prop_recursive(4, 24, 4, |inner| {
        let fields = prop::collection::vec((r#"[ab:"\\]"#, inner.clone()), 0..4);
        let written = |(name, value): &(String, String)| format!("{}: {value}", serde_json::json!(name));
        prop_oneof![
            fields.prop_map(move |all| format!(
                "{{{}}}",
                all.iter().map(written).collect::<Vec<_>>().join(",")
            )),
            prop::collection::vec(inner, 0..4).prop_map(|all| format!("[{}]", all.join(","))),
        ]
    })
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
    fn names_that_come_twice_are_noticed(text in json()) {
        let read = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(has_duplicates(text.as_bytes(), &read), !duplicates(text.as_bytes()).is_empty());
    }

    #[test]
    fn any_text_is_judged(text in ".{0,40}") {
        let _ = canonical(&text);
        let _ = parse_duration(&text);
        let _ = Instant::parse(&text);
        let _ = Instant::parse_micro(&text);
        let _ = duplicates(text.as_bytes());
        let _ = yaml_to_json(text.as_bytes());
    }

    #[test]
    fn times_come_back(seconds in -62_167_219_200_i64..253_402_300_800) {
        let instant = Instant { seconds, nanos: 0 };
        prop_assert_eq!(Instant::parse(&instant.text(false).unwrap()), Ok(instant));
    }
}
