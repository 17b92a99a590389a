//! Prints the completion script of a shell for `taintward completion`.
//!
//! - See `complete.rs` for what the scripts call.

use crate::completion_kind::Shell;
use clap::Args;

/// How to enable completion.
pub(crate) const AFTER_HELP: &str = "\
Load the script in your shell's start-up file:
  bash  source <(taintward completion bash)
  zsh   source <(taintward completion zsh)
  fish  taintward completion fish | source

As a kubectl plugin, the program needs no script, only two more names in a folder of $PATH:
  ln -s taintward kubectl-taintward
  ln -s taintward kubectl_complete-taintward

To complete names, the program reads the cluster that the command line selects, for at most two seconds.";

/// The arguments of `taintward completion`.
#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}
