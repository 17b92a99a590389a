//! Tests log lines from the macro to the writer.

use super::*;
use testkit::log::CapturedLog;

/// 2026-11-21T08:36:40.123456Z
fn clock() -> jiff::Timestamp {
    jiff::Timestamp::from_microsecond(1_795_250_200_123_456).unwrap()
}

pub(crate) fn logged(format: LogFormat, verbosity: u8, log: impl FnOnce()) -> String {
    let sink = CapturedLog::default();
    let writer = sink.clone();
    let subscriber = subscriber(LogSettings { format, verbosity }, move || writer.clone(), clock);
    tracing::subscriber::with_default(subscriber, log);
    sink.text()
}

fn json(log: impl FnOnce()) -> serde_json::Value {
    let line = logged(LogFormat::Json, 4, log);
    assert_eq!(line.matches('\n').count(), 1, "{line}");
    serde_json::from_str(&line).unwrap()
}

/// What an attacker could put into a taint's value: a forged line, a terminal sequence in both encodings, a quote.
const HOSTILE: &str = "a\nE1121 forged\r\u{1b}[31mred\u{9b}2J\"quoted\"\\\u{202e}gnp\u{2028}${jndi:x}";

#[test]
fn a_text_line_has_klogs_shape() {
    let line = logged(LogFormat::Text, 0, || {
        tracing::info!(pod = "shop/web-0", left = 3, late = false, wait = 0.5, node = %"n 1", "evicted");
    });
    assert_eq!(
        line,
        "I1121 08:36:40.123456 evicted pod=\"shop/web-0\" left=3 late=false wait=0.5 node=\"n 1\"\n"
    );
    assert!(logged(LogFormat::Text, 0, || tracing::warn!("x")).starts_with("W1121 "));
    assert!(logged(LogFormat::Text, 0, || tracing::error!("x")).starts_with("E1121 "));
    assert!(logged(LogFormat::Text, 9, || tracing::trace!("x")).starts_with("I1121 "));
}

#[test]
fn a_json_line_has_the_promised_keys() {
    let record =
        json(|| tracing::debug!(pod = "shop/web-0", left = -3, big = u64::MAX, ratio = 0.5, "waits"));
    assert_eq!(
        record,
        serde_json::json!({
            "ts": "2026-11-21T08:36:40.123456Z", "level": "info", "v": 2, "msg": "waits",
            "pod": "shop/web-0", "left": -3, "big": u64::MAX, "ratio": 0.5
        })
    );
    let error = json(|| tracing::error!("broken"));
    assert_eq!((&error["level"], error.get("v")), (&serde_json::json!("error"), None));
    assert_eq!(json(|| tracing::warn!("odd"))["level"], "warning");
}

#[test]
fn hostile_values_stay_on_their_line_and_in_their_quotes() {
    let log = || tracing::info!(taint = HOSTILE, debug = ?HOSTILE, shown = %HOSTILE, "saw {HOSTILE}");
    let line = logged(LogFormat::Text, 0, log);
    assert_eq!(line.matches('\n').count(), 1);
    assert!(line.ends_with('\n'));
    for bad in ['\u{1b}', '\u{9b}', '\r', '\u{202e}', '\u{2028}'] {
        assert!(!line.contains(bad), "{bad:?} in {line}");
    }
    let value = r#"taint="a\nE1121 forged\r\u001b[31mred\u009b2J\"quoted\"\\\u202egnp\u2028${jndi:x}""#;
    assert!(line.contains(value), "{line}");

    let record = json(log);
    assert_eq!(record["taint"], HOSTILE);
    assert_eq!(record["shown"], HOSTILE);
    assert_eq!(record["msg"], format!("saw {HOSTILE}"));
    assert!(!logged(LogFormat::Json, 0, log).contains('\u{9b}'));
}

#[test]
fn ordinary_text_of_any_language_is_unchanged() {
    let line = logged(LogFormat::Text, 0, || tracing::info!(node = "nœud-é-节点", "grüße"));
    assert!(line.ends_with("grüße node=\"nœud-é-节点\"\n"));
    assert!(matches!(escaped("nœud"), std::borrow::Cow::Borrowed("nœud")));
    assert_eq!(escaped("a\nb"), "a\\nb");
}

#[test]
fn a_field_cannot_pose_as_the_records_own_key() {
    let record = json(|| tracing::info!(level = "fatal", ts = 1, "real"));
    assert_eq!(
        (&record["level"], &record["level_"], &record["ts_"]),
        (&"info".into(), &"fatal".into(), &1.into())
    );
}

#[test]
fn a_number_that_json_lacks_becomes_text() {
    let record = json(|| tracing::info!(x = f64::NAN, y = f64::INFINITY, "odd"));
    assert_eq!((&record["x"], &record["y"]), (&"NaN".into(), &"inf".into()));
}

#[test]
fn long_values_are_cut_at_a_character() {
    let long = "é".repeat(line_format::VALUE_MAX);
    let record = json(|| tracing::info!(long, "big"));
    let shown = record["long"].as_str().unwrap();
    assert!(shown.len() <= line_format::VALUE_MAX + 16 && shown.ends_with("… (cut)"), "{}", shown.len());
    let exact = "x".repeat(line_format::VALUE_MAX);
    assert_eq!(json(|| tracing::info!(exact = exact.as_str(), "fits"))["exact"], exact);
}

#[test]
fn an_error_is_logged_with_its_causes() {
    #[derive(Debug, thiserror::Error)]
    #[error("cannot read the file")]
    struct Outer(#[source] io::Error);
    let error = Outer(io::Error::other("disk on fire"));
    let record = json(|| tracing::error!(err = &error as &dyn std::error::Error, "stopped"));
    assert_eq!(record["err"], "cannot read the file: disk on fire");
}

#[test]
fn verbosity_opens_own_records_first_and_the_libraries_later() {
    let all = || {
        tracing::info!("own info");
        tracing::debug!("own debug");
        tracing::trace!("own trace");
        tracing::warn!(target: "kube_client", "library warning");
        tracing::info!(target: "kube_client", "library info");
        tracing::debug!(target: "hyper::proto", "library debug");
        tracing::trace!(target: "h2::codec", "library trace");
    };
    let expected: [(u8, &[&str]); 6] = [
        (0, &["own info", "library warning"]),
        (1, &["own info", "library warning"]),
        (2, &["own info", "own debug", "library warning"]),
        (4, &["own info", "own debug", "own trace", "library warning"]),
        (6, &["own info", "own debug", "own trace", "library warning", "library info"]),
        (10, &["own info", "own debug", "own trace", "library warning", "library info", "library debug"]),
    ];
    for (verbosity, messages) in expected {
        let lines = logged(LogFormat::Text, verbosity, all);
        let shown: Vec<&str> = lines.lines().map(|line| &line["I1121 08:36:40.123456 ".len()..]).collect();
        assert_eq!(shown, messages, "-v {verbosity}");
    }
}
