//! Parses the command line of all commands into a [`ProgramCommand`], or into an error that names the expected form.
//!
//! - Invariant: a flag takes precedence over its environment variable, a variable over the default.

mod questions;
mod short_help;
#[cfg(test)]
mod tests;

use crate::board_command::{self, BoardArgs};
use crate::completion::{self, CompletionArgs};
use crate::docs::{DocsArgs, ProgramDescription};
use crate::doctor::{self, DoctorArgs};
use crate::exit_codes;
use crate::explain::{self, ExplainArgs};
use crate::history::{self, HistoryArgs};
use crate::install::{self, InstallArgs};
use crate::lint::{self, LintArgs};
use crate::pending::{self, PendingArgs};
use crate::plan::{self, PlanArgs};
use crate::record_command::{self, RecordCommandArgs};
use crate::replay::{self, ReplayArgs};
use crate::run::RunOptions;
use crate::sandbox::SandboxCommand;
use crate::status::{self, StatusArgs};
use crate::taint::{self, TaintArgs};
use crate::toleration_seconds::backfill::BackfillCommandArgs;
use crate::toleration_seconds::guard::GuardCommandArgs;
use crate::toleration_seconds::hold::{HoldCommandArgs, ReleaseCommandArgs};
use crate::version::{self, VersionArgs};
use crate::webhook::WebhookOptions;
use clap::error::{Error, ErrorKind};
use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};
use questions::{QUESTIONS, questions};
use std::ffi::OsString;
use std::fmt::Display;
use std::path::Path;

/// The name of the program.
const NAME: &str = "taintward";

#[derive(Debug, Parser)]
#[command(
    name = "taintward",
    version,
    about = "Keeps the promise of Kubernetes taints",
    long_about = "Keeps the promise of Kubernetes taints: a pod that does not tolerate a NoExecute taint is evicted \
        from the node, now or when its tolerationSeconds have passed; a pod that tolerates it stays.",
    max_term_width = 100,
    args_override_self = true,
    disable_help_subcommand = true
)]
struct Cli {
    #[command(subcommand)]
    verb: Option<ProgramCommand>,
}

/// A command, with its options.
#[derive(Debug, Subcommand)]
pub(crate) enum ProgramCommand {
    /// Shows which pods would be evicted if nodes were tainted, cordoned or dead: when, why, and on which nodes they
    /// could run next
    #[command(
        args_override_self = false,
        after_help = "The command only reads. Without a flag that describes a change, it shows the pods that \
         are evicted anyway. Exit codes: 0 no pod of the selected nodes is evicted, 2 at least one is, 1 a read \
         failed or the command line is invalid."
    )]
    Plan(Box<PlanArgs>),
    /// Explains a pod, a node or a workload: which taint, which toleration, since when, until when, what delays the
    /// eviction
    #[command(
        args_override_self = true,
        after_help = "taintward explain pod/web-1 -n shop     why it is evicted or stays, when, or why it was deleted\ntaintward explain node/n1               its taints, what they mean, and the outcome of its pods\ntaintward explain deploy/web -n shop    when each of its pods is evicted, and why\n\nRead access is enough. Exit codes: 0 every named object is explained, 1 an object could not be found or read, or the command line is invalid."
    )]
    Explain(Box<ExplainArgs>),
    /// Lists the pods that are due for eviction or counting down, the next one first; live with -w
    #[command(
        args_override_self = true,
        after_help = "taintward pending -A     the next evictions, in all namespaces\ntaintward pending -w     the same, live; press q to quit\n\nRead access is enough; -w needs list and watch on nodes and pods. Exit codes: 0 the list is complete, 1 a read failed or the command line is invalid."
    )]
    Pending(Box<PendingArgs>),
    /// Shows which replica leads, and what holds, brakes or delays evictions: backlog, budgets, policies
    #[command(
        args_override_self = true,
        after_help = "taintward status       once\ntaintward status -w    every two seconds, on a terminal; press q to quit\n\nThe command only reads. A part that cannot be read is unknown, and the output says why. Exit codes: 0 everything was read, 1 a read failed or the command line is invalid."
    )]
    Status(Box<StatusArgs>),
    /// Serves a page for a browser on this machine: nodes, taints, countdowns and decisions of a cluster, live
    #[command(
        args_override_self = true,
        after_help = "taintward board                    the current context; prints the address to open\n\
            taintward board --port 8001        the same at a port of your choice\n\n\
            The board only reads: it needs list and watch on nodes, pods, deployments, statefulsets, daemonsets and \
            poddisruptionbudgets. The address has a token and works on this machine only. The board of the sandbox has \
            buttons, too. Exit codes: 0 stopped by a signal, 1 the cluster could not be reached, the port could not \
            be opened, or the command line is invalid."
    )]
    Board(Box<BoardArgs>),
    /// Finds tolerations and taints that do not do what their author intends
    #[command(
        args_override_self = true,
        after_help = "docs/lint.md has every rule with an example. Exit codes: 0 no finding as severe as \
         --fail-on, 2 at least one such finding, 1 a read failed or the command line is invalid."
    )]
    Lint(Box<LintArgs>),
    /// Checks a cluster before and after the installation of Taintward, and lists what to change
    #[command(
        args_override_self = true,
        after_help = "taintward doctor --pre    before an installation: can you install Taintward, and what must you change first?\ntaintward doctor          afterwards: is Taintward the only taint eviction controller?\n\nThe command only reads. Exit codes: 0 no check failed, 1 a read failed or the command line is invalid, 2 a check failed."
    )]
    Doctor(Box<DoctorArgs>),
    /// Adds and removes taints of nodes, as kubectl taint does, without losing a concurrent edit
    #[command(
        args_override_self = true,
        after_help = "taintward taint node n1 dedicated=db:NoSchedule   adds a taint\ntaintward taint node n1 dedicated-                 removes all taints with this key\ntaintward taint node n1 dedicated:NoSchedule-      removes the one with this effect\ntaintward taint node -l pool=db dedicated=db:NoExecute --reason 'new disks' --for 2h\ntaintward taint node --all --list                  shows taints\n\nThe effects are NoSchedule, PreferNoSchedule and NoExecute. On a terminal, the command shows which pods a NoExecute taint evicts and asks before it adds the taint. No controller removes a taint when --for ends; taintward taint node --all --expired does. docs/taint.md has more. Exit codes: 0 all nodes were changed, 1 not all were, or the command line is invalid."
    )]
    Taint(Box<TaintArgs>),
    /// Runs a whole cluster in this process, with Taintward in it; prints a kubeconfig for kubectl
    #[command(args_override_self = true)]
    Sandbox(SandboxCommand),
    /// Prints the manifests of an installation, applies them, or deletes them
    #[command(
        args_override_self = true,
        after_help = "taintward install --image IMAGE                      prints YAML, for git or kubectl apply --server-side -f -\ntaintward install --image IMAGE --apply              installs\ntaintward install --image IMAGE --apply --dry-run=server\ntaintward install --uninstall --apply                uninstalls\n\ndocs/install.md describes each step, and the permissions of each part. Exit codes: 0 done, 1 a step failed or the command line is invalid."
    )]
    Install(Box<InstallArgs>),
    /// Runs the controllers, with the current kubeconfig or the in-cluster service account
    #[command(
        args_override_self = true,
        after_help = "Each flag has an environment variable: TAINTWARD_ and the flag's name, as in \
         TAINTWARD_KUBE_API_QPS. A flag overrides its variable, a variable overrides the default. \
         Durations are written as in Go: 500ms, 15s, 1m30s. Exit codes: 0 stopped by a signal, 1 could not \
         continue, or invalid flag."
    )]
    Run(Box<RunOptions>),
    /// Runs the admission webhook: default tolerations, dedicated nodes, special hardware, warnings
    #[command(
        args_override_self = true,
        after_help = "Each flag has an environment variable: TAINTWARD_ and the flag's name, as in \
         TAINTWARD_RULES. taintward install creates all objects that the webhook needs in a cluster. \
         docs/admission.md describes each rule. Exit codes: 0 stopped by a signal, 1 could not continue, or \
         invalid flag."
    )]
    Webhook(Box<WebhookOptions>),
    /// Shows running pods whose tolerationSeconds differ from those of new pods; changes nothing
    #[command(
        args_override_self = true,
        after_help = "taintward backfill                    all namespaces\n\
            taintward backfill -n shop -o json    which pods of one namespace, and how their seconds would change\n\n\
            CURRENT pods have the seconds of new pods, toleration-backfill-controller would patch PENDING pods, and OWN \
            pods have tolerations that their author chose (docs/managed-clusters.md). Exit codes: 0 everything was \
            read, 1 a read failed or the command line is invalid."
    )]
    Backfill(Box<BackfillCommandArgs>),
    /// Pauses the countdowns of pods on nodes that are not ready or unreachable, where kube-controller-manager evicts
    #[command(
        args_override_self = true,
        after_help = "taintward hold n1 n2                        holds the pods of two nodes for an hour\n\
            taintward hold --zone eu-1a --for 30m --reason 'switch replaced'\n\
            taintward hold --all\n\
            taintward hold status                       lists the holds, and changes nothing\n\n\
            The command writes an annotation to each node, and waits until toleration-hold-controller holds its pods \
            (docs/managed-clusters.md). Exit codes: 0 all pods that can be held are held, 1 some are not, or the command \
            line is invalid."
    )]
    Hold(Box<HoldCommandArgs>),
    /// Resumes the countdowns of held pods
    #[command(
        args_override_self = true,
        after_help = "taintward release n1 n2\ntaintward release --all --full              each pod gets all of its own seconds\n\nTaintward does not hold the pods of these nodes again while the nodes stay silent, not even by --hold-limit. Exit codes: 0 no pod is held, 1 some are, or the command line is invalid."
    )]
    Release(Box<ReleaseCommandArgs>),
    /// Makes Taintward evict the pods of namespaces by their own tolerationSeconds, where kube-controller-manager's
    /// eviction stays on
    #[command(
        args_override_self = true,
        after_help = "taintward guard on shop                     with a ceiling of an hour\n\
            taintward guard status\n\
            taintward guard off --all                   restores each pod's own seconds\n\n\
            The command writes a label to each namespace, and waits until toleration-guard-controller has changed its \
            pods (docs/managed-clusters.md). Exit codes: 0 all pods are changed, 1 some are not, or the command line is \
            invalid."
    )]
    Guard(Box<GuardCommandArgs>),
    /// Tells from a record what happened to pods and nodes: which taint, since when, what Taintward tried, and who deleted
    #[command(
        args_override_self = true,
        mut_arg("server_address", |arg| arg.hide(true)),
        after_help = "taintward history -f /var/lib/taintward/record                          the decisions about all pods\ntaintward history pod/web-1 -n shop --since 3h -f /var/lib/taintward/record\ntaintward history node/n1 -f /var/lib/taintward/record                  a node and its pods\n\nWithout -f, the command reads the record of a running controller, as taintward record does. Exit codes: 0 the history is printed, 1 nothing is recorded about a named object, the record cannot be read, or the command line is invalid."
    )]
    History(Box<HistoryArgs>),
    /// Fetches the record of a running controller: what it observed and decided in the last ten minutes
    #[command(
        args_override_self = true,
        mut_arg("server_address", |arg| arg.hide(true)),
        after_help = "kubectl port-forward -n taintward-system POD 10358 &\ntaintward record                                                           what the controller has in memory\ntaintward record -f /var/lib/taintward/record --redact --out for-a-report.record\n\nThe controller needs --secure-port, and the user of the kubeconfig a token that may get the non-resource URL /record. taintward status shows which replica leads. Exit codes: 0 the record is written, 1 it could not be fetched or written, or the command line is invalid."
    )]
    Record(Box<RecordCommandArgs>),
    /// Replays a record of `taintward run --record-dir`: does this program decide the same?
    #[command(
        args_override_self = true,
        after_help = "taintward replay /var/lib/taintward/record                                     all files of a folder\ntaintward replay 20261129T031500.123456Z-taint-eviction-controller.record      one file\ntaintward replay /var/lib/taintward/record --with-policy slow.yaml              what another policy would have done\n\nThe command sends no request. Exit codes: 0 this program decides the same, or the prediction is printed, 1 the record cannot be read or the command line is invalid, 2 there is a difference."
    )]
    Replay(Box<ReplayArgs>),
    /// Prints the versions of this program and of the API server
    #[command(
        args_override_self = true,
        after_help = "Exit codes: 0 both versions are printed, 1 no API server responded, and only the version \
         of this program is printed, or the command line is invalid."
    )]
    Version(Box<VersionArgs>),
    /// Lists the flags of the connection, which every command that connects to a cluster has
    #[command(name = short_help::OPTIONS)]
    Options,
    /// Prints a shell completion script for commands, flags, and names of nodes, pods, workloads, namespaces and contexts
    #[command(after_help = completion::AFTER_HELP)]
    Completion(CompletionArgs),
    /// Prints the reference; writes a page for each command, and man pages
    #[command(
        after_help = "The program generates these texts from its own flags. Exit codes: 0 success, 1 a folder \
         could not be written or the command line is invalid."
    )]
    Docs(DocsArgs),
}

/// Parses the arguments and the environment of this process; `None`: there is no command.
pub(crate) fn parse() -> Result<Option<ProgramCommand>, Error> {
    parse_from(std::env::args_os())
}

/// The help, with all commands.
pub(crate) fn help() -> String {
    command().render_help().to_string()
}

/// The flags that every command about a cluster has.
pub(crate) fn connection_flags() -> String {
    short_help::options(called())
}

/// The whole command line, for documentation and completion.
pub(crate) fn description() -> clap::Command {
    short_help::shortened(commands(), NAME).after_help(questions(NAME))
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
        "status" => &status::EXIT_CODES,
        "taint" => &taint::EXIT_CODES,
        "lint" => &lint::EXIT_CODES,
        "doctor" => &doctor::EXIT_CODES,
        "board" => &board_command::EXIT_CODES,
        "history" => &history::EXIT_CODES,
        "record" => &record_command::EXIT_CODES,
        "replay" => &replay::EXIT_CODES,
        "version" => &version::EXIT_CODES,
        "completion" | "docs" | short_help::OPTIONS => &exit_codes::PRINTING,
        _ => &exit_codes::EXIT_CODES,
    }
}

/// The commands. Each flag of those that serve has an environment variable, named after it.
fn commands() -> clap::Command {
    let variable = |long: &str| format!("TAINTWARD_{}", long.to_uppercase().replace('-', "_"));
    let with_variable = |arg: clap::Arg| match arg.get_long().map(variable) {
        Some(name) => arg.env(name).hide_env(true),
        None => arg,
    };
    Cli::command().mut_subcommands(|command| match command.get_name() {
        "run" | "webhook" => command.mut_args(with_variable),
        _ => command,
    })
}

/// The whole command line, with the name under which the user called the program.
fn command() -> clap::Command {
    let called = called();
    short_help::shortened(commands(), called).after_help(questions(called)).bin_name(called)
}

/// The name under which the user called the program: also `kubectl taintward`, as a kubectl plugin.
fn called() -> &'static str {
    let program = std::env::args_os().next().unwrap_or_default();
    let name = Path::new(&program).file_stem();
    if name.is_some_and(|name| name == "kubectl-taintward") { "kubectl taintward" } else { NAME }
}

fn parse_from(
    arguments: impl IntoIterator<Item = impl Into<OsString> + Clone>,
) -> Result<Option<ProgramCommand>, Error> {
    let matches = command().try_get_matches_from(helped(arguments))?;
    let parsed = Cli::from_arg_matches(&matches).and_then(|Cli { verb }| {
        verb.as_ref().map_or(Ok(()), check)?;
        Ok(verb)
    });
    parsed.map_err(|error| {
        let mut command = command();
        command.build();
        let mut blamed = matches.subcommand_name().and_then(|verb| command.find_subcommand(verb)).cloned();
        error.format(blamed.as_mut().unwrap_or(&mut command))
    })
}

/// Checks what the parser cannot check.
fn check(command: &ProgramCommand) -> Result<(), Error> {
    let invalid = |why: &dyn Display| Error::raw(ErrorKind::ValueValidation, why);
    match command {
        ProgramCommand::Plan(options) => options.check().map_err(|why| invalid(&why)),
        ProgramCommand::Explain(options) => options.check().map_err(|why| invalid(&why)),
        ProgramCommand::History(options) => options.check().map_err(|why| invalid(&why)),
        ProgramCommand::Pending(options) => options.check().map_err(|why| invalid(&why)),
        ProgramCommand::Status(options) => options.check().map_err(|why| invalid(&why)),
        ProgramCommand::Install(options) => options.check().map_err(|why| invalid(&why)),
        ProgramCommand::Lint(options) => options.check().map_err(|why| invalid(&why)),
        _ => Ok(()),
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
