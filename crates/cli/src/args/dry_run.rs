//! Defines what a dry run skips.

use clap::ValueEnum;

/// What the requests of a command change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DryRun {
    /// No dry run: everything.
    #[value(skip)]
    No,
    /// Nothing: the command only reads, and computes the result.
    Client,
    /// Nothing: the API server checks every request and stores none.
    Server,
}

impl DryRun {
    /// kubectl's suffix of the message about an object.
    pub(crate) const fn suffix(self) -> &'static str {
        match self {
            Self::No => "",
            Self::Client => " (dry run)",
            Self::Server => " (server dry run)",
        }
    }
}
