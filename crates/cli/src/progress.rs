//! Shows on standard error how much was read, when reading takes longer than a second.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;
use tokio::time::Instant;

/// Faster reads show no progress.
const QUIET: Duration = Duration::from_secs(1);

/// How often the line is updated.
const INTERVAL: Duration = Duration::from_millis(200);

/// The progress of reading.
pub(crate) struct Progress {
    next: Instant,
    printed: bool,
    terminal: bool,
}

/// Starts now.
impl Default for Progress {
    fn default() -> Self {
        let terminal = io::stderr().is_terminal();
        Self { next: Instant::now() + QUIET, printed: false, terminal }
    }
}

impl Progress {
    /// Shows that this many objects were read. If the terminal is gone, errors are ignored.
    pub(crate) fn at(&mut self, count: usize, what: &str) {
        // The clock is read occasionally, not for each object.
        if count.is_multiple_of(64) {
            self.show(|| format!("{count} {what}"));
        }
    }

    /// Shows that so many bytes of all were read.
    pub(crate) fn at_byte(&mut self, read: u64, all: u64) {
        self.show(|| format!("{} of {} MB", read / 1_000_000, all / 1_000_000));
    }

    fn show(&mut self, text: impl FnOnce() -> String) {
        if Instant::now() < self.next {
            return;
        }
        let _ = match (self.terminal, self.printed) {
            (true, _) => write!(io::stderr(), "\r\x1b[Kreading: {}", text()),
            (false, false) => writeln!(io::stderr(), "reading: {} so far", text()),
            (false, true) => Ok(()),
        };
        self.printed = true;
        self.next = Instant::now() + INTERVAL;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.printed && self.terminal {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_second_passes_without_progress() {
        let mut progress = Progress::default();
        progress.at_byte(1_000_000, 9_000_000);
        assert!(!progress.printed);
        tokio::time::advance(QUIET).await;
        progress.at(63, "pods");
        assert!(!progress.printed, "the clock is not read");
        progress.at_byte(2_000_000, 9_000_000);
        assert!(progress.printed);
    }
}
