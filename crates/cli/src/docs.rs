//! # Docs: the reference, made from the code
//! Room:     `docs/reference.md`: flags, exit codes, metrics, health paths, log keys.
//! Comes in: the command line's description, the metrics' own help texts, the tables beside the code.
//! Goes out: Markdown. A test fails when the file in `docs/` is another.
//! Not here: explanations longer than a table's cell.

use crate::args;
use crate::lint;
use crate::program::EXIT_CODES;
use clap::Arg;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::sync::Arc;
use taintward_controller::logging::KEYS;
use taintward_controller::metrics::{About, Exposition, Metrics, describe};
use taintward_core::time::{Mono, Wall};

const OPENING: &str = "# Reference

Made from the program itself by `taintward docs`; a test fails when this file differs from it.
To make it anew: `cargo run --quiet --package taintward -- docs > docs/reference.md`.

## Flags of `taintward run`

A flag wins over its environment variable, a variable over the default. Durations are written as in Go (`500ms`,
`15s`, `1m30s`); truth values too (`true`, `false`, `1`, `0`, `t`, `f`).
";

const HEALTH: &str = "
## Health

| path | fails (HTTP 500) when |
|---|---|
| `/livez`, `/live`, `/healthz` | a loop is stuck, so that only a restart helps |
| `/readyz`, `/ready` | a loop is stuck, a list is not complete yet, or a watch is stalled; a follower is ready |

`?verbose` shows every check; `/readyz/<check>` asks for one. A connection serves one request and lasts at most 10 s.
";

/// The whole text.
pub(crate) fn reference() -> String {
    [
        OPENING.to_owned(),
        flags(),
        sandbox(),
        lint(),
        taint(),
        exit_codes(),
        metrics(),
        HEALTH.to_owned(),
        log_keys(),
    ]
    .concat()
}

fn flags() -> String {
    let mut text = String::new();
    let mut heading = None;
    let description = args::description();
    let run = description.find_subcommand("run");
    let arguments = run.into_iter().flat_map(|run| run.get_arguments()).filter(|arg| arg.get_env().is_some());
    for arg in arguments {
        if arg.get_help_heading() != heading {
            heading = arg.get_help_heading();
            let title = heading.unwrap_or("Other");
            line(
                &mut text,
                format_args!(
                    "\n### {title}\n\n| flag | default | environment | meaning |\n|---|---|---|---|"
                ),
            );
        }
        let environment = arg.get_env().map(|name| name.to_string_lossy()).unwrap_or_default();
        let meaning = cell(&arg.get_help().map(ToString::to_string).unwrap_or_default());
        line(&mut text, format_args!("| {} | {} | `{environment}` | {meaning} |", names(arg), default(arg)));
    }
    text
}

fn sandbox() -> String {
    let mut text =
        "\n## Flags of `taintward sandbox`\n\n| flag | default | meaning |\n|---|---|---|\n".to_owned();
    let description = args::description();
    let sandbox = description.find_subcommand("sandbox");
    for arg in sandbox.into_iter().flat_map(|sandbox| sandbox.get_arguments()) {
        let meaning = cell(&arg.get_help().map(ToString::to_string).unwrap_or_default());
        line(&mut text, format_args!("| {} | {} | {meaning} |", names(arg), default(arg)));
    }
    text + &sandbox_node(sandbox.and_then(|sandbox| sandbox.find_subcommand("node")))
}

/// `taintward lint`, whose exit codes are its own.
fn lint() -> String {
    let mut text = command("lint", "The rules are in [lint.md](lint.md).");
    text.push_str("\n| exit code | meaning |\n|---|---|\n");
    for (code, meaning) in lint::EXIT_CODES {
        line(&mut text, format_args!("| {code} | {} |", cell(meaning)));
    }
    text
}

/// `taintward taint`, which ends as kubectl does.
fn taint() -> String {
    let opening = "Examples are in [taint.md](taint.md). It ends with 0 if all nodes were changed and else with 1, as kubectl \
                   does.";
    command("taint", opening)
}

/// The flags of a command, without those that do nothing.
fn command(name: &str, opening: &str) -> String {
    let mut text = format!(
        "\n## Flags of `taintward {name}`\n\n{opening}\n\n| flag | default | meaning |\n|---|---|---|\n"
    );
    let description = args::description();
    let command = description.find_subcommand(name);
    let flags = command.into_iter().flat_map(clap::Command::get_arguments);
    for arg in flags.filter(|arg| !arg.is_positional() && !arg.is_hide_set()) {
        let meaning = cell(&arg.get_help().map(ToString::to_string).unwrap_or_default());
        line(&mut text, format_args!("| {} | {} | {meaning} |", names(arg), default(arg)));
    }
    text
}

const NODE_OPENING: &str = "
## `taintward sandbox node`

As in `taintward sandbox node silence n3`.

| verb | meaning |
|---|---|
";

fn sandbox_node(node: Option<&clap::Command>) -> String {
    let mut text = NODE_OPENING.to_owned();
    let verbs: Vec<&clap::Command> = node.into_iter().flat_map(clap::Command::get_subcommands).collect();
    for verb in &verbs {
        let meaning = cell(&verb.get_about().map(ToString::to_string).unwrap_or_default());
        line(&mut text, format_args!("| `{}` | {meaning} |", verb.get_name()));
    }
    text.push_str("\n| flag | default | meaning |\n|---|---|---|\n");
    let mut told = BTreeSet::new();
    for arg in verbs.iter().flat_map(|verb| verb.get_arguments()) {
        if arg.get_long().is_some() && told.insert(arg.get_id().as_str()) {
            let meaning = cell(&arg.get_help().map(ToString::to_string).unwrap_or_default());
            line(&mut text, format_args!("| {} | {} | {meaning} |", names(arg), default(arg)));
        }
    }
    text
}

/// `--flag`, and its other spellings.
fn names(arg: &Arg) -> String {
    let short = arg.get_short().map(|short| format!("`-{short}`"));
    let long = arg.get_long().map(|long| format!("`--{long}`"));
    let aliases =
        arg.get_visible_aliases().unwrap_or_default().into_iter().map(|alias| format!("`--{alias}`"));
    short.into_iter().chain(long).chain(aliases).collect::<Vec<_>>().join(", ")
}

fn default(arg: &Arg) -> String {
    let values = arg.get_default_values().iter().map(|value| format!("`{}`", value.to_string_lossy()));
    values.collect::<Vec<_>>().join(", ")
}

fn exit_codes() -> String {
    let mut text = "\n## Exit codes\n\nThose of `taintward lint` and `taintward taint` stand with their flags.\n\n| code | meaning |\n|---|---|\n".to_owned();
    for (code, meaning) in EXIT_CODES {
        line(&mut text, format_args!("| {code} | {} |", cell(meaning)));
    }
    text
}

fn metrics() -> String {
    let about = About { version: "", mode: "", lease: String::new(), started: Wall::from_secs(0) };
    let metrics = Metrics::new(Arc::new(|| Mono::from_secs(0)), &about);
    let mut text =
        "\n## Metrics\n\nLabels have closed lists of values; none holds the name of a pod, a node or a \
                    taint.\n\n| metric | type | labels | meaning |\n|---|---|---|---|\n"
            .to_owned();
    for metric in describe(&metrics.render(Exposition::Prometheus)) {
        let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
        let (name, kind, help) = (metric.name, metric.kind, cell(&metric.help));
        line(&mut text, format_args!("| `{name}` | {kind} | {} | {help} |", labels.join(", ")));
    }
    text
}

fn log_keys() -> String {
    let mut text = "\n## Log\n\n`--log-format=text` writes `I1121 08:36:40.123456 message key=\"value\"` (the letter is I, \
                    W or E; the time is UTC), `--log-format=json` one object a line. Values are escaped as in JSON, \
                    control characters and terminal sequences included, and cut at 4096 bytes.\n\n\
                    | key | holds |\n|---|---|\n"
        .to_owned();
    for (key, holds) in KEYS {
        line(&mut text, format_args!("| `{key}` | {} |", cell(holds)));
    }
    text
}

fn line(text: &mut String, arguments: std::fmt::Arguments<'_>) {
    // Writing to a String cannot fail.
    let _ = writeln!(text, "{arguments}");
}

/// Text that stays in its cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ").trim_end_matches('.').to_owned()
}
