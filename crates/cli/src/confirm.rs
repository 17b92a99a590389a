//! Asks for confirmation on a terminal.

use crate::output::wrap;
use crate::stderr;
use std::io::{self, IsTerminal as _, Write as _};

/// The width of a question on standard error.
const WIDTH: usize = 80;

/// Whether a user can read a question and answer it.
pub(crate) fn is_possible() -> bool {
    io::stdin().is_terminal() && io::stderr().is_terminal()
}

/// Prints a question, and returns whether the user confirms.
pub(crate) fn prompt(question: &str) -> io::Result<bool> {
    wrap(question, WIDTH).iter().for_each(|line| stderr::line("", line));
    io::stderr().write_all(b"Continue? [y/N] ")?;
    let mut line = String::new();
    io::stdin().read_line(&mut line)?;
    Ok(is_yes(&line))
}

/// Only `y` or `yes` confirms.
fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_y_or_yes_confirms() {
        for yes in ["y\n", "Y\r\n", " yes \n", "YES"] {
            assert!(is_yes(yes), "{yes:?}");
        }
        for no in ["", "\n", "n\n", "ye\n", "yy\n", "yes please\n"] {
            assert!(!is_yes(no), "{no:?}");
        }
    }
}
