//! Defines which arguments are completed with names from a cluster, and which shells have scripts.

mod object_names;

use clap::ValueEnum;
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate};
use std::ffi::OsStr;

/// A shell with a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Shell {
    Bash,
    Zsh,
    Fish,
}

/// The kind of names that an argument takes. Such arguments are completed from the cluster that the command line
/// selects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CompletionKind {
    NodeName,
    /// `pod/web-1`, `node/n1`, `deploy/web`.
    Explained,
    Namespace,
    Context,
    Cluster,
    User,
}

impl Shell {
    pub(crate) fn script(self) -> &'static str {
        match self {
            Self::Bash => include_str!("complete/taintward.bash"),
            Self::Zsh => include_str!("complete/taintward.zsh"),
            Self::Fish => include_str!("complete/taintward.fish"),
        }
    }
}

impl CompletionKind {
    /// For use as in `#[arg(add = CompletionKind::NodeName.completer())]`.
    pub(crate) fn completer(self) -> ArgValueCompleter {
        ArgValueCompleter::new(move |current: &OsStr| {
            let found = current
                .to_str()
                .map(|current| object_names::of_typed_line(self, current))
                .unwrap_or_default();
            found.into_iter().map(CompletionCandidate::new).collect::<Vec<_>>()
        })
    }
}
