//! Tests that exactly the shown log records are counted, and that a panic is one of them.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::io;
use std::sync::{Arc, Mutex};
use taintward_controller::logging::{LogFormat, LogSettings, log_panics, subscriber};
use taintward_controller::metrics::{BuildInfo, ControllerMetrics, Exposition};
use taintward_core::time::{Mono, Wall};

/// The counters and the hook for panics belong to the process, so nothing else runs in it.
#[test]
fn records_are_counted_and_a_panic_is_one() {
    records_are_counted_by_level_as_far_as_they_are_shown();
    a_panic_is_one_record_with_its_place();
}

fn records_are_counted_by_level_as_far_as_they_are_shown() {
    let logging = LogSettings { format: LogFormat::Text, verbosity: 0 };
    let log = subscriber(logging, io::sink, jiff::Timestamp::now);
    tracing::subscriber::with_default(log, || {
        tracing::info!(target: "taintward", "one");
        for _ in 0..2 {
            tracing::warn!("two");
        }
        tracing::error!("three");
        tracing::debug!(target: "taintward", "not shown");
    });
    let (version, mode, started) = ("1", "enforce", Wall::from_secs(0));
    let about = BuildInfo { version, mode, lease: String::new(), started, host: String::new() };
    let metrics = ControllerMetrics::new(Arc::new(|| Mono::from_secs(0)), &about);
    let text = metrics.render(Exposition::Prometheus);
    for line in ["{level=\"info\"} 1", "{level=\"warning\"} 2", "{level=\"error\"} 1"] {
        assert!(text.contains(&format!("taintward_log_messages_total{line}\n")), "{line} in\n{text}");
    }
}

#[derive(Clone, Default)]
struct Sink(Arc<Mutex<Vec<u8>>>);

impl io::Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn a_panic_is_one_record_with_its_place() {
    let sink = Sink::default();
    let writer = sink.clone();
    let logging = LogSettings { format: LogFormat::Json, verbosity: 0 };
    let subscriber = subscriber(logging, move || writer.clone(), || jiff::Timestamp::UNIX_EPOCH);
    log_panics();
    let outcome = tracing::subscriber::with_default(subscriber, || {
        std::panic::catch_unwind(|| panic!("the agenda holds {}\nentries", 3))
    });
    let _ = std::panic::take_hook();
    assert!(outcome.is_err());
    let text = String::from_utf8(sink.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.matches('\n').count(), 1, "{text}");
    let record: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&record["level"], &record["err"]), (&"error".into(), &"the agenda holds 3\nentries".into()));
    assert!(record["code"].as_str().unwrap().starts_with("logging.rs:"), "{record}");
}
