//! Defines which names of a cluster complete an argument, and for which shells there are scripts.

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

/// What an argument is the name of. An argument that says so is completed from the cluster that the line means.
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
    /// As in `#[arg(add = CompletionKind::NodeName.completer())]`.
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
