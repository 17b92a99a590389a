//! Shows on standard error how many objects were read, when reading takes longer than a second.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// What takes less needs no word.
const QUIET: Duration = Duration::from_secs(1);

/// How often the line is written over.
const PACE: Duration = Duration::from_millis(200);

/// How far something has got.
pub(crate) struct Progress {
    next: Instant,
    said: bool,
    terminal: bool,
}

/// Begins now.
impl Default for Progress {
    fn default() -> Self {
        let terminal = io::stderr().is_terminal();
        Self { next: Instant::now() + QUIET, said: false, terminal }
    }
}

impl Progress {
    /// So many are read. Nobody is left to tell if the terminal is gone.
    pub(crate) fn at(&mut self, count: usize, what: &str) {
        // The clock is asked now and then, not for each object.
        if !count.is_multiple_of(64) || Instant::now() < self.next {
            return;
        }
        let _ = match (self.terminal, self.said) {
            (true, _) => write!(io::stderr(), "\r\x1b[Kreading: {count} {what}"),
            (false, false) => writeln!(io::stderr(), "reading: {count} {what} so far"),
            (false, true) => Ok(()),
        };
        self.said = true;
        self.next = Instant::now() + PACE;
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.said && self.terminal {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}
