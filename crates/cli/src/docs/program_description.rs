//! Describes the program for its documentation.

/// The command line, and what its description does not contain.
pub(crate) struct ProgramDescription {
    pub(crate) command: clap::Command,
    /// Questions, and the command that answers each.
    pub(crate) questions: &'static [(&'static str, &'static str)],
    /// The exit codes of a command.
    pub(crate) exit_codes: fn(&str) -> &'static [(u8, &'static str)],
}
