//! Prints the completion script of a shell for `taintward completion`.
//!
//! - See `complete.rs` for what the scripts call.

use crate::completion_kind::Shell;
use clap::Args;

/// How to enable completion.
pub(crate) const AFTER_HELP: &str = "\
Load it from the shell's own start-up file:
  bash  source <(taintward completion bash)
  zsh   source <(taintward completion zsh)
  fish  taintward completion fish | source

As a plugin of kubectl it needs none of these, only two more names in a folder of $PATH:
  ln -s taintward kubectl-taintward
  ln -s taintward kubectl_complete-taintward

The shell asks the cluster of the command line for names, for two seconds at most.";

/// The arguments of `taintward completion`.
#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionArgs {
    /// The completion script.
    pub(crate) fn script(&self) -> &'static str {
        self.shell.script()
    }
}
