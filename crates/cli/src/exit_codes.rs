//! Defines the exit codes of commands without codes of their own.

use taintward_controller::shutdown::IMPATIENT_EXIT;

/// Exit codes of commands that only print.
pub(crate) const PRINTING: [(u8, &str); 2] =
    [(0, "Success"), (1, "The output could not be written, or the command line is invalid")];

/// Exit codes of the other commands. An invalid command line is 1 everywhere, as with kubectl; where there is a 2, the
/// command found something.
pub(crate) const EXIT_CODES: [(u8, &str); 3] = [
    (0, "Success; for `run` and `webhook`: a signal stopped the process"),
    (
        1,
        "The process could not continue (the last log line contains the reason and the remedy), or the command \
         line or an environment variable is invalid, and nothing was started",
    ),
    (
        IMPATIENT_EXIT as u8,
        "A second SIGTERM or SIGINT ended the process before its graceful shutdown was complete",
    ),
];
