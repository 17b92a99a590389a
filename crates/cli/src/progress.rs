//! Shows on standard error how many objects were read, when reading takes longer than a second.

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
        if !count.is_multiple_of(64) || Instant::now() < self.next {
            return;
        }
        let _ = match (self.terminal, self.printed) {
            (true, _) => write!(io::stderr(), "\r\x1b[Kreading: {count} {what}"),
            (false, false) => writeln!(io::stderr(), "reading: {count} {what} so far"),
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
