//! Prints errors, warnings and notes to standard error, one line each.
//!
//! - Invariant: text from files and clusters cannot begin a line (a workflow command) or control a terminal.

use crate::output::harmless;
use std::fmt::Display;
use std::io::{self, Write as _};
use std::process::{ExitCode, Termination};

/// The exit code of a command's result. Prints an error.
pub(crate) fn exit_code(result: Result<impl Termination, impl Display>) -> ExitCode {
    match result {
        Ok(done) => done.report(),
        Err(why) => {
            error(why);
            ExitCode::FAILURE
        }
    }
}

/// `error: ...`
pub(crate) fn error(why: impl Display) {
    line("error: ", why);
}

/// The largest number of errors of one kind that are printed.
const ERRORS_MAX: usize = 50;

/// A line each; of many the first, and the number of the others.
pub(crate) fn errors(all: &[impl Display]) {
    all.iter().take(ERRORS_MAX).for_each(error);
    match all.len().saturating_sub(ERRORS_MAX) {
        0 => {}
        more => error(format!("there are {more} more errors like these")),
    }
}

/// `warning: ...`
pub(crate) fn warning(what: &str) {
    line("warning: ", what);
}

/// `note: ...`
pub(crate) fn note(what: impl Display) {
    line("note: ", what);
}

/// A failure to write is ignored.
pub(crate) fn line(prefix: &str, what: impl Display) {
    let _ = writeln!(io::stderr(), "{prefix}{}", harmless(&what.to_string()));
}
