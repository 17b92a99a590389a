//! Captures what a test logs.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use tracing::subscriber::{DefaultGuard, set_default};

/// A log, as text.
#[derive(Clone, Default)]
pub struct CapturedLog(Arc<Mutex<Vec<u8>>>);

impl CapturedLog {
    /// Captures what this thread logs at level info and above, without times, until the guard is dropped.
    pub fn begin() -> (Self, DefaultGuard) {
        let log = Self::default();
        let writer = log.clone();
        let format = tracing_subscriber::fmt().without_time().with_target(false).with_ansi(false);
        let guard = set_default(format.with_writer(move || writer.clone()).finish());
        (log, guard)
    }

    /// The text so far.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// The lines so far: the level, the message, and the fields.
    pub fn lines(&self) -> Vec<String> {
        self.text().lines().map(|line| line.trim().to_owned()).collect()
    }
}

impl io::Write for CapturedLog {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
