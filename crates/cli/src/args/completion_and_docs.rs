//! Defines the flags of `completion` and `docs`, and the part of the help that says which command answers which
//! question.

use crate::completion_kind::Shell;
use clap::Args;
use std::path::PathBuf;

/// What people ask, and the command that answers; each verb is one of ours.
pub(crate) const QUESTIONS: [(&str, &str); 8] = [
    (
        "Who leaves if I add this taint, when, and where could they go?",
        "plan --taint NODE KEY=VALUE:NoExecute",
    ),
    (
        "How do I put that taint on, and take it off again?",
        "taint node NODE KEY=VALUE:NoExecute, taint node NODE KEY-",
    ),
    ("Why does this pod leave or stay, or why did it go?", "explain pod/NAME -n NAMESPACE"),
    ("What does this taint mean, and how do the node's pods fare?", "explain node/NAME"),
    ("Who leaves next, and when?", "pending -A, pending -w"),
    ("Does this toleration do what its author thinks?", "lint -f FILE"),
    ("How does it get into a cluster, and out again?", "install --image IMAGE, install --uninstall"),
    ("How does all this behave, without a cluster?", "sandbox --tour"),
];

/// How completion is switched on.
pub(super) const COMPLETION: &str = "\
Load it from the shell's own start-up file:
  bash  source <(taintward completion bash)
  zsh   source <(taintward completion zsh)
  fish  taintward completion fish | source

As a plugin of kubectl it needs none of these, only two more names in a folder of $PATH:
  ln -s taintward kubectl-taintward
  ln -s taintward kubectl_complete-taintward

Names are asked of the cluster that the command line means, for two seconds at most.";

#[derive(Debug, Args)]
pub(crate) struct CompletionArgs {
    /// The shell
    #[arg(value_enum)]
    pub(super) shell: Shell,
}

#[derive(Debug, Args)]
pub(crate) struct DocsArgs {
    /// Writes a page of Markdown for each command into this folder; as checked in under docs/cli
    #[arg(long, value_name = "FOLDER")]
    cli: Option<PathBuf>,
    /// Writes a man page for each command into this folder
    #[arg(long, value_name = "FOLDER")]
    man: Option<PathBuf>,
}

/// What `taintward docs` is to do.
#[derive(Debug)]
pub(crate) struct DocsOptions {
    /// Where a page for each command goes.
    pub(crate) cli: Option<PathBuf>,
    /// Where man pages go.
    pub(crate) man: Option<PathBuf>,
}

impl DocsArgs {
    pub(super) fn settle(self) -> DocsOptions {
        DocsOptions { cli: self.cli, man: self.man }
    }
}

/// For those who know kubectl and not us.
pub(super) fn questions(called: &str) -> String {
    let mut text = "Questions, and what answers them:\n".to_owned();
    for (question, answer) in QUESTIONS {
        text += &format!("  {question}\n      {called} {answer}\n");
    }
    text + &format!("\n{called} COMMAND --help has more about each command.")
}
