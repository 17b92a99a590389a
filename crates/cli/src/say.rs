//! # Say: lines on standard error
//! Room:     errors, notes, whatever else is told beside an answer.
//! Comes in: sentences, which may quote names and messages from files and clusters.
//! Goes out: one line each.
//! Keeps:    what stands in a file or a cluster can neither begin a line, and so a workflow command, nor steer a terminal.
//! Not here: answers (`output`); the controller's log.

use crate::output::harmless;
use std::fmt::Display;
use std::io::{self, Write as _};

/// `error: ...`
pub(crate) fn error(why: impl Display) {
    line("error: ", why);
}

/// `warning: ...`
pub(crate) fn warning(what: &str) {
    line("warning: ", what);
}

/// `note: ...`
pub(crate) fn note(what: impl Display) {
    line("note: ", what);
}

/// Nobody is left to tell if standard error is gone.
pub(crate) fn line(prefix: &str, what: impl Display) {
    let _ = writeln!(io::stderr(), "{prefix}{}", harmless(&what.to_string()));
}
