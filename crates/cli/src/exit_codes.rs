//! Defines the exit codes of commands without codes of their own.

use taintward_controller::shutdown::IMPATIENT_EXIT;

/// Exit codes of commands that only print.
pub(crate) const PRINTING: [(u8, &str); 3] =
    [(0, "Success"), (1, "The output could not be written"), (2, "The command line is invalid")];

/// Every exit code with its meaning; `lint` has its own (`lint::EXIT_CODES`), `taint` those of kubectl.
pub(crate) const EXIT_CODES: [(u8, &str); 4] = [
    (0, "Success; for `run` and `webhook`: a signal stopped the process"),
    (
        1,
        "The process could not continue (the last log line contains the reason and the remedy), or the command \
         does not exist",
    ),
    (2, "The command line or an environment variable is invalid; nothing was started"),
    (
        IMPATIENT_EXIT as u8,
        "A second SIGTERM or SIGINT ended the process before its graceful shutdown was complete",
    ),
];
