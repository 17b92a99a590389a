//! Parses the command line of all commands into a [`ParsedCommand`], or into an error that says what was expected.
//!
//! - Invariant: a flag takes precedence over its environment variable, a variable over the default.

mod questions;
#[cfg(test)]
mod tests;

use crate::backfill::{BackfillCommandArgs, BackfillOptions};
use crate::board_command::{self, BoardArgs, BoardOptions};
use crate::completion::{self, CompletionArgs};
use crate::docs::{DocsArgs, DocsOptions, ProgramDescription};
use crate::doctor::{self, DoctorArgs, DoctorOptions};
use crate::exit_codes;
use crate::explain::{self, ExplainArgs, ExplainOptions};
use crate::guard::{GuardCommandArgs, GuardOptions};
use crate::hold::{HoldCommandArgs, HoldOptions, ReleaseCommandArgs};
use crate::install::{self, InstallArgs, InstallOptions};
use crate::lint::{self, LintArgs, LintOptions};
use crate::pending::{self, PendingArgs, PendingOptions};
use crate::plan::{self, PlanArgs, PlanOptions};
use crate::run::{RunArgs, RunOptions};
use crate::sandbox::{SandboxArgs, SandboxCommand};
use crate::taint::{self, TaintArgs, TaintOptions};
use crate::version::{self, VersionArgs, VersionOptions};
use crate::webhook::{WebhookArgs, WebhookOptions};
use clap::error::{Error, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use questions::{QUESTIONS, questions};
use std::ffi::OsString;
use std::fmt;
use std::path::Path;

/// The name of the program.
const NAME: &str = "taintward";

/// The parsed command line.
#[derive(Debug)]
pub(crate) enum ParsedCommand {
    /// Run the controller.
    Run(Box<RunOptions>),
    /// Serve admission reviews.
    Webhook(Box<WebhookOptions>),
    /// Run a sandbox, or inject faults into one.
    Sandbox(SandboxCommand),
    /// Print manifests, or apply them to a cluster.
    Install(Box<InstallOptions>),
    /// Find mistakes in tolerations and taints.
    Lint(Box<LintOptions>),
    /// Forecast the effect of changes to nodes.
    Plan(Box<PlanOptions>),
    /// Explain why pods leave or stay.
    Explain(Box<ExplainOptions>),
    /// List the pods that leave.
    Pending(Box<PendingOptions>),
    /// Serve the board.
    Board(Box<BoardOptions>),
    /// Check a cluster.
    Doctor(Box<DoctorOptions>),
    /// Change the taints of nodes, or show them.
    Taint(Box<TaintOptions>),
    /// Show what backfill would patch.
    Backfill(Box<BackfillOptions>),
    /// Guard the pods of namespaces, stop guarding them, or show the state.
    Guard(Box<GuardOptions>),
    /// Hold pods of nodes, or release them.
    Hold(Box<HoldOptions>),
    /// Print versions.
    Version(Box<VersionOptions>),
    /// Print a text.
    Print(String),
    /// Print or write the generated documentation.
    Docs(DocsOptions),
}

#[derive(Debug, Parser)]
#[command(
    name = "taintward",
    version,
    about = "Keeps the promise of Kubernetes taints",
    long_about = "Keeps the promise of Kubernetes taints: a pod that does not tolerate a NoExecute taint leaves \
        the node, now or when its toleration runs out; a pod that tolerates it stays.",
    max_term_width = 100,
    args_override_self = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    verb: Option<ProgramCommand>,
}

#[derive(Debug, Subcommand)]
enum ProgramCommand {
    /// Runs the controllers against the current kubeconfig or in-cluster account
    #[command(
        args_override_self = true,
        after_help = "Each flag has an environment variable: TAINTWARD_ and the flag's name, as in \
            TAINTWARD_KUBE_API_QPS. A flag wins over its variable, a variable over the default. Durations are \
            written as in Go: 500ms, 15s, 1m30s. Exit codes: 0 asked to stop, 1 could not go on, 2 wrong flag."
    )]
    Run(Box<RunArgs>),
    /// Prints the manifests of an installation, or applies them, or takes it away again
    #[command(
        args_override_self = true,
        after_help = "taintward install --image IMAGE                      prints YAML, for git or kubectl apply --server-side -f -\n\
            taintward install --image IMAGE --apply              installs\n\
            taintward install --image IMAGE --apply --dry-run=server\n\
            taintward install --uninstall --apply                takes it away again\n\n\
            docs/install.md has more, and what each part may do. Exit codes: 0 done, 1 something could not be done, 2 the \
            command line makes no sense."
    )]
    Install(Box<InstallArgs>),
    /// Runs the admission webhook: default tolerations, dedicated nodes, special hardware, warnings
    #[command(
        args_override_self = true,
        after_help = "Each flag has an environment variable: TAINTWARD_ and the flag's name, as in TAINTWARD_RULES. \
            taintward install makes everything it needs in a cluster. docs/admission.md says what each rule does. Exit \
            codes: 0 asked to stop, 1 could not go on, 2 wrong flag."
    )]
    Webhook(Box<WebhookArgs>),
    /// Runs a whole cluster in this process, with everything in it; prints a kubeconfig for kubectl
    #[command(args_override_self = true)]
    Sandbox(Box<SandboxArgs>),
    /// Says who would leave if nodes were tainted, cordoned or dead, when, why, and where they could go
    #[command(
        args_override_self = false,
        after_help = "Nothing is changed, and read access is enough. Without a flag that changes something it says who \
            leaves anyway. Exit codes: 0 nobody on the nodes in question leaves, 2 somebody does, 1 something could \
            not be read or the command line makes no sense."
    )]
    Plan(Box<PlanArgs>),
    /// Says of a pod, a node or all pods of a workload: which taint, which toleration, since when, until when, what is in the way
    #[command(
        args_override_self = true,
        after_help = "taintward explain pod/web-1 -n shop     why it leaves or stays, when it leaves, why it is gone\n\
            taintward explain node/n1               its taints, what they mean, how its pods fare\n\
            taintward explain deploy/web -n shop    when each of its pods leaves, and why\n\n\
            Read access is enough. Exit codes: 0 all that was asked about is explained, 1 something could not be found \
            or read, or the command line makes no sense."
    )]
    Explain(Box<ExplainArgs>),
    /// Lists the pods that leave, who is due next first; live with -w
    #[command(
        args_override_self = true,
        after_help = "taintward pending -A     who leaves next, in all namespaces\n\
            taintward pending -w     the same, live; q ends\n\n\
            Read access is enough; -w needs list and watch on nodes and pods. Exit codes: 0 the list is complete, 1 something \
            could not be read or the command line makes no sense."
    )]
    Pending(Box<PendingArgs>),
    /// Serves a page for a browser on this machine: nodes, taints, countdowns and decisions of a cluster, live
    #[command(
        args_override_self = true,
        after_help = "taintward board                    the current context; prints the address to open\n\
            taintward board --port 8001        the same at a port of your choice\n\n\
            It only reads: list and watch on nodes, pods, deployments, statefulsets, daemonsets and \
            poddisruptionbudgets. The address has a token and works on this machine only. The sandbox has a board with \
            buttons. Exit codes: 0 interrupted, 1 the cluster cannot be reached or the port cannot be opened, 2 the \
            command line is wrong."
    )]
    Board(Box<BoardArgs>),
    /// Finds tolerations and taints that do not do what their author thinks
    #[command(
        args_override_self = true,
        after_help = "docs/lint.md has every rule with an example. Exit codes: 0 nothing found that is as bad as \
            --fail-on says, 2 something found, 1 something could not be read or the command line makes no sense."
    )]
    Lint(Box<LintArgs>),
    /// Checks a cluster before and after Taintward is installed, and says what to change
    #[command(
        args_override_self = true,
        after_help = "taintward doctor --pre    before an installation: can it be installed, and what has to change for it\n\
            taintward doctor          afterwards: does Taintward evict, and nothing else\n\n\
            It only reads. Exit codes: 0 no check failed, 1 something could not be read, or the command line is wrong, 2 a \
            check failed."
    )]
    Doctor(Box<DoctorArgs>),
    /// Adds taints to nodes and removes them, as kubectl taint does, and loses nobody's edit
    #[command(
        args_override_self = true,
        after_help = "taintward taint node n1 dedicated=db:NoSchedule   adds a taint\n\
            taintward taint node n1 dedicated-                 removes all taints with this key\n\
            taintward taint node n1 dedicated:NoSchedule-      removes the one with this effect\n\
            taintward taint node -l pool=db dedicated=db:NoExecute --reason 'new disks' --for 2h\n\
            taintward taint node --all --list                  shows taints\n\n\
            The effects are NoSchedule, PreferNoSchedule and NoExecute. Before a NoExecute taint is added, somebody at a \
            terminal is told what that does, and asked. Nothing removes a taint by itself when --for is over; \
            taintward taint node --all --expired does. \
            docs/taint.md has more. Exit codes: 0 all nodes were changed, 1 not all were, or the command line makes no \
            sense."
    )]
    Taint(Box<TaintArgs>),
    /// Shows which running pods have other toleration seconds than new ones get; changes nothing
    #[command(
        args_override_self = true,
        after_help = "taintward backfill                    all namespaces\n\
            taintward backfill -n shop -o json    which pods, and how their seconds change\n\n\
            CURRENT pods have the seconds of new pods, PENDING ones would be patched, OWN ones have tolerations of their \
            author. toleration-backfill-controller patches them (docs/managed-clusters.md). Exit codes: 0 shown, 1 \
            something could not be read, 2 the command line is wrong."
    )]
    Backfill(Box<BackfillCommandArgs>),
    /// Stops the countdowns that not-ready and unreachable started on nodes, where kube-controller-manager evicts
    #[command(
        args_override_self = true,
        after_help = "taintward hold n1 n2                        holds the pods of two nodes for an hour\n\
            taintward hold --zone eu-1a --for 30m --reason 'switch replaced'\n\
            taintward hold --all\n\n\
            It writes an annotation to each node, and waits until toleration-hold-controller has held their pods \
            (docs/managed-clusters.md). Exit codes: 0 all are held that can be, 1 not all are, 2 the command line is \
            wrong."
    )]
    Hold(Box<HoldCommandArgs>),
    /// Lets the countdowns of held pods go on
    #[command(
        args_override_self = true,
        after_help = "taintward release n1 n2\n\
            taintward release --all --full              each pod gets all of its own seconds\n\n\
            The pods of these nodes are not held again as long as the node is silent, by the limit either. Exit codes: 0 \
            none is held, 1 some are, 2 the command line is wrong."
    )]
    Release(Box<ReleaseCommandArgs>),
    /// Has Taintward evict the pods of namespaces by their own seconds, where kube-controller-manager's eviction stays on
    #[command(
        args_override_self = true,
        after_help = "taintward guard on shop                     with a ceiling of an hour\n\
            taintward guard status\n\
            taintward guard off --all                   each pod gets its own seconds back\n\n\
            It writes a label to each namespace, and waits until toleration-guard-controller has changed their pods \
            (docs/managed-clusters.md). Exit codes: 0 all pods follow, 1 not all do, 2 the command line is wrong."
    )]
    Guard(Box<GuardCommandArgs>),
    /// Prints the versions of this program and of the API server
    #[command(
        args_override_self = true,
        after_help = "Exit codes: 0 printed, 1 no API server answered (the version of this program is printed all the \
            same), 2 the command line makes no sense."
    )]
    Version(Box<VersionArgs>),
    /// Prints a shell completion script: for commands, flags, and names of nodes, pods, workloads, namespaces and contexts
    #[command(after_help = completion::AFTER_HELP)]
    Completion(CompletionArgs),
    /// Prints the reference; writes a page for each command, and man pages
    #[command(
        after_help = "Made from the program itself. Exit codes: 0 done, 1 a folder cannot be written, 2 the \
        command line makes no sense."
    )]
    Docs(DocsArgs),
}

/// Parses the arguments and the environment of this process.
pub(crate) fn parse() -> Result<ParsedCommand, Error> {
    parse_from(std::env::args_os())
}

/// The exit code for an invalid command line: 1 for commands whose 2 means that something was found, for replacements
/// of kubectl commands, and for an unknown command, which may be a misspelling of one of these; otherwise 2.
pub(crate) fn misuse_code() -> u8 {
    let verb = std::env::args_os().nth(1).unwrap_or_default();
    let known = [
        "run",
        "webhook",
        "sandbox",
        "install",
        "backfill",
        "board",
        "guard",
        "hold",
        "release",
        "version",
        "completion",
        "docs",
    ];
    let is_flag = verb.to_string_lossy().starts_with('-');
    if is_flag || known.iter().any(|known| verb == *known) { 2 } else { 1 }
}

/// The whole command line, for documentation and completion.
pub(crate) fn description() -> clap::Command {
    Cli::command().after_help(questions(NAME))
}

/// The program, for its documentation.
pub(crate) fn program() -> ProgramDescription {
    ProgramDescription { command: description(), questions: &QUESTIONS, exit_codes: exit_codes_of }
}

fn exit_codes_of(verb: &str) -> &'static [(u8, &'static str)] {
    match verb {
        "install" => &install::EXIT_CODES,
        "plan" => &plan::EXIT_CODES,
        "explain" => &explain::EXIT_CODES,
        "pending" => &pending::EXIT_CODES,
        "taint" => &taint::EXIT_CODES,
        "lint" => &lint::EXIT_CODES,
        "doctor" => &doctor::EXIT_CODES,
        "board" => &board_command::EXIT_CODES,
        "version" => &version::EXIT_CODES,
        "completion" | "docs" => &exit_codes::PRINTING,
        _ => &exit_codes::EXIT_CODES,
    }
}

/// The same, under the name by which it was called.
fn command() -> clap::Command {
    let called = called();
    Cli::command().after_help(questions(called)).bin_name(called)
}

/// The command by which it was called: also `kubectl taintward`, as a kubectl plugin.
fn called() -> &'static str {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_stem();
    if name.is_some_and(|name| name == "kubectl-taintward") { "kubectl taintward" } else { NAME }
}

fn parse_from(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<ParsedCommand, Error> {
    let matches = command().try_get_matches_from(helped(arguments))?;
    match Cli::from_arg_matches(&matches)?.verb {
        None => Ok(ParsedCommand::Print(command().render_help().to_string())),
        Some(ProgramCommand::Taint(arguments)) => Ok(ParsedCommand::Taint(Box::new(arguments.resolve()))),
        Some(ProgramCommand::Board(arguments)) => Ok(ParsedCommand::Board(Box::new(arguments.resolve()))),
        Some(ProgramCommand::Backfill(arguments)) => match arguments.resolve() {
            Ok(options) => Ok(ParsedCommand::Backfill(Box::new(options))),
            Err(complaint) => Err(blame("backfill", complaint)),
        },
        Some(ProgramCommand::Guard(arguments)) => match arguments.resolve() {
            Ok(options) => Ok(ParsedCommand::Guard(Box::new(options))),
            Err(complaint) => Err(blame("guard", complaint)),
        },
        Some(ProgramCommand::Hold(arguments)) => Ok(ParsedCommand::Hold(Box::new(arguments.resolve()))),
        Some(ProgramCommand::Release(arguments)) => Ok(ParsedCommand::Hold(Box::new(arguments.resolve()))),
        Some(ProgramCommand::Version(arguments)) => match arguments.resolve() {
            Ok(plan) => Ok(ParsedCommand::Version(Box::new(plan))),
            Err(complaint) => Err(blame("version", complaint)),
        },
        Some(ProgramCommand::Completion(arguments)) => {
            Ok(ParsedCommand::Print(arguments.script().to_owned()))
        }
        Some(ProgramCommand::Docs(arguments)) => Ok(ParsedCommand::Docs(arguments.resolve())),
        Some(ProgramCommand::Install(arguments)) => match arguments.resolve() {
            Ok(plan) => Ok(ParsedCommand::Install(Box::new(plan))),
            Err(complaint) => Err(blame("install", complaint)),
        },
        Some(ProgramCommand::Doctor(arguments)) => match arguments.resolve() {
            Ok(options) => Ok(ParsedCommand::Doctor(Box::new(options))),
            Err(complaint) => Err(blame("doctor", complaint)),
        },
        Some(ProgramCommand::Lint(arguments)) => match arguments.resolve() {
            Ok(plan) => Ok(ParsedCommand::Lint(Box::new(plan))),
            Err(complaint) => Err(blame("lint", complaint)),
        },
        Some(ProgramCommand::Plan(arguments)) => match arguments.resolve() {
            Ok(options) => Ok(ParsedCommand::Plan(Box::new(options))),
            Err(complaint) => Err(blame("plan", complaint)),
        },
        Some(ProgramCommand::Explain(arguments)) => match arguments.resolve() {
            Ok(options) => Ok(ParsedCommand::Explain(Box::new(options))),
            Err(complaint) => Err(blame("explain", complaint)),
        },
        Some(ProgramCommand::Pending(arguments)) => match arguments.resolve() {
            Ok(options) => Ok(ParsedCommand::Pending(Box::new(options))),
            Err(complaint) => Err(blame("pending", complaint)),
        },
        Some(ProgramCommand::Run(arguments)) => match arguments.resolve(matches.subcommand_matches("run")) {
            Ok(plan) => Ok(ParsedCommand::Run(Box::new(plan))),
            Err(complaint) => Err(blame("run", complaint)),
        },
        Some(ProgramCommand::Webhook(arguments)) => match arguments.resolve() {
            Ok(plan) => Ok(ParsedCommand::Webhook(Box::new(plan))),
            Err(complaint) => Err(blame("webhook", complaint)),
        },
        Some(ProgramCommand::Sandbox(arguments)) => match arguments.resolve() {
            Ok(command) => Ok(ParsedCommand::Sandbox(command)),
            Err(complaint) => Err(blame("sandbox", complaint)),
        },
    }
}

/// Replaces `taintward help plan` by `taintward plan --help`.
fn helped(arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Vec<OsString> {
    let mut words: Vec<OsString> = arguments.into_iter().map(Into::into).collect();
    if words.get(1).is_some_and(|verb| verb == "help") {
        words.remove(1);
        words.push("--help".into());
    }
    words
}

/// A usage error of a command.
fn blame(verb: &str, complaint: impl fmt::Display) -> Error {
    let mut command = command();
    command.build();
    let mut blamed = command.find_subcommand(verb).cloned().unwrap_or(command);
    blamed.error(ErrorKind::ValueValidation, complaint)
}
