//! Tests that a panic is one log record, in a process of its own.

#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

use std::io;
use std::sync::{Arc, Mutex};
use taintward_controller::logging::{LogFormat, LogSettings, log_panics, subscriber};

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

#[test]
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
    assert!(record["code"].as_str().unwrap().starts_with("panic_line.rs:"), "{record}");
}
