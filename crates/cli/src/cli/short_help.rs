//! Keeps `-h` within a screen: `--help` has every flag, and `taintward options` those about the connection.

use crate::args::kube_args::{self, ServerOptions};
use clap::{Args as _, Command};

/// The flags that `-h` shows of commands with many; of the others it shows all but [`RARE`] ones.
const ESSENTIAL: [(&str, &[&str]); 5] = [
    ("taint", &["arguments", "all", "overwrite", "dry_run", "list", "lasts", "yes", "selector"]),
    ("run", &["kubeconfig", "mode", "controllers", "metrics_port"]),
    (
        "webhook",
        &[
            "kubeconfig",
            "context",
            "rules",
            "secure_port",
            "tls_cert_file",
            "tls_private_key_file",
            "self_signed",
            "namespace",
        ],
    ),
    (
        "install",
        &["apply", "uninstall", "chart", "parts", "namespace", "image", "controllers", "mode", "rules"],
    ),
    (
        "plan",
        &["taint", "untaint", "cordon", "drain", "node_dead", "filename", "output", "namespace", "selector"],
    ),
];

/// The flags that `-h` shows of no command, besides those about the connection.
const RARE: [&str; 7] = ["as_of", "color", "feature_gates", "field_selector", "seed", "sort_by", "without"];

/// The name of the command that lists the flags about the connection.
pub(super) const OPTIONS: &str = "options";

/// The same program, whose `-h` is short.
pub(super) fn shortened(program: Command, called: &str) -> Command {
    let verbs: Vec<String> = program.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    verbs.into_iter().fold(program, |program, verb| {
        program.mut_subcommand(&verb, |command| shorten(command, &verb, called))
    })
}

fn shorten(command: Command, verb: &str, called: &str) -> Command {
    let essential = ESSENTIAL.iter().find(|(known, _)| *known == verb).map(|(_, flags)| *flags);
    let connects = command.get_arguments().any(|arg| arg.get_id() == "request_timeout");
    let is_hidden = |id: &str| match essential {
        Some(flags) => !flags.contains(&id) && id != "help",
        None => kube_args::is_of_server(id) || RARE.contains(&id),
    };
    let command = command.mut_args(|arg| {
        let is_hidden = is_hidden(arg.get_id().as_str());
        if is_hidden { arg.hide_short_help(true) } else { arg }
    });
    let Some(after) = command.get_after_help().map(ToString::to_string) else { return command };
    let more = match (connects, essential.is_some()) {
        (true, _) => {
            format!("{called} {verb} --help shows every flag, {called} {OPTIONS} those about the connection.")
        }
        (false, true) => format!("{called} {verb} --help shows every flag."),
        (false, false) => return command,
    };
    command.after_help(format!("{after}\n\n{more}")).after_long_help(after)
}

/// The flags that every command about a cluster has.
pub(super) fn options(called: &str) -> String {
    let command =
        ServerOptions::augment_args(Command::new("options")).disable_help_flag(true).max_term_width(100);
    let help = command.clone().help_template("{options}").render_long_help().to_string();
    format!(
        "Each command that connects to a cluster has these flags, as in {called} pending --context prod:\n\n{help}"
    )
}
