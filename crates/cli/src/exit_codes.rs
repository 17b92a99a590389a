//! Defines the exit codes of commands without codes of their own.

use taintward_controller::shutdown::IMPATIENT_EXIT;

/// Exit codes of commands that only print.
pub(crate) const PRINTING: [(u8, &str); 3] =
    [(0, "It is done"), (1, "It could not be written"), (2, "The command line makes no sense")];

/// Every exit code and what it means; `lint` has its own (`lint::EXIT_CODES`), `taint` those of kubectl.
pub(crate) const EXIT_CODES: [(u8, &str); 4] = [
    (0, "It did what it was asked for; for `run` and `webhook`: it was asked to stop, and has stopped"),
    (
        1,
        "It could not go on; the last line of the log says why and what to do about it; or there is no such command",
    ),
    (2, "The command line or an environment variable makes no sense; nothing was begun"),
    (IMPATIENT_EXIT as u8, "A second SIGTERM or SIGINT ended it before it had stopped in good order"),
];
