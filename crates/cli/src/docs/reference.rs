//! Writes `docs/reference.md`: flags, exit codes, metrics, health paths, log keys.

use super::{cell, default, help, line, names};
use crate::exit_codes::EXIT_CODES;
use std::collections::BTreeSet;
use std::sync::Arc;
use taintward_admission::metrics::WebhookMetrics;
use taintward_admission::rules::RuleReviewer;
use taintward_controller::logging::KEYS;
use taintward_controller::metrics::{
    BuildInfo, ControllerMetrics, Exposition, MonoClock, Registry, describe, register_client,
};
use taintward_core::time::{Mono, Wall};

const OPENING: &str = "# Reference

`taintward docs` generates this page from the program; a test fails if this file differs.
To generate it again: `cargo run --quiet --package taintward -- docs > docs/reference.md`.

A flag overrides its environment variable, a variable overrides the default. Durations are written as in Go (`500ms`,
`15s`, `1m30s`), and so are booleans (`true`, `false`, `1`, `0`, `t`, `f`).
";

const METRICS: &str = "
## Metrics

Each label has a fixed list of values; no label contains the name of a pod, a node or a taint.
";

const HEALTH: &str = "
## Health

| path | fails (HTTP 500) when |
|---|---|
| `/livez`, `/live`, `/healthz` | a loop is stuck, so that only a restart helps |
| `/readyz`, `/ready` | a loop is stuck, the API server has not responded yet, a list is not complete yet, a watch has been \
interrupted for more than 10 s (Taintward detects a dead connection within 4 s), pods have been due for 10 s while each read and \
write for them was refused, not answered or answered too late (check `evictions`, only of the leader), or Taintward could neither \
read nor write the lease for longer than the lease duration; the response contains the reason. An open watch without events is \
healthy; a follower is ready. The webhook: a list is not complete yet, a watch has been interrupted for more than 90 s, the \
certificate is missing, or the process is stopping |

`?verbose` shows every check; `/readyz/<check>` shows one. A connection serves one request and lasts at most 10 s.

A failing `/readyz` restarts no pod, and removes nothing that Taintward needs: the controllers have no Service, the PodMonitor also
scrapes pods that are not ready, and the leader continues to try. It only stops a rollout, and shows in `kubectl get pods`.
";

/// The whole text.
pub(super) fn reference(description: &clap::Command) -> String {
    [
        OPENING.to_owned(),
        flags(description, "run"),
        flags(description, "webhook"),
        sandbox(description),
        exit_codes(),
        METRICS.to_owned(),
        metrics(),
        HEALTH.to_owned(),
        log_keys(),
    ]
    .concat()
}

/// The flags with an environment variable, of a command for clusters.
fn flags(description: &clap::Command, command: &str) -> String {
    let mut text = format!("\n## Flags of `taintward {command}`\n");
    let mut heading = None;
    let command = description.find_subcommand(command);
    let arguments = command.into_iter().flat_map(clap::Command::get_arguments);
    for arg in arguments.filter(|arg| arg.get_env().is_some()) {
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
        let (names, default, help) = (names(arg), default(arg), help(arg));
        line(&mut text, format_args!("| {names} | {default} | `{environment}` | {help} |"));
    }
    text
}

/// The row of a flag without a variable.
fn row(text: &mut String, arg: &clap::Arg) {
    line(text, format_args!("| {} | {} | {} |", names(arg), default(arg), help(arg)));
}

fn sandbox(description: &clap::Command) -> String {
    let mut text =
        "\n## Flags of `taintward sandbox`\n\n| flag | default | meaning |\n|---|---|---|\n".to_owned();
    let sandbox = description.find_subcommand("sandbox");
    for arg in sandbox.into_iter().flat_map(|sandbox| sandbox.get_arguments()) {
        row(&mut text, arg);
    }
    text + &sandbox_node(sandbox.and_then(|sandbox| sandbox.find_subcommand("node")))
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
    let mut listed = BTreeSet::new();
    for arg in verbs.iter().flat_map(|verb| verb.get_arguments()) {
        if arg.get_long().is_some() && listed.insert(arg.get_id().as_str()) {
            row(&mut text, arg);
        }
    }
    text
}

fn exit_codes() -> String {
    let mut text = "\n## Exit codes\n\nThese are the exit codes of `run`, `webhook` and `sandbox`; the page of [each command](cli/README.md) lists its own.\n\n| code | meaning |\n|---|---|\n".to_owned();
    for (code, meaning) in EXIT_CODES {
        line(&mut text, format_args!("| {code} | {} |", cell(meaning)));
    }
    text
}

fn metrics() -> String {
    let about = BuildInfo {
        version: "",
        mode: "",
        lease: String::new(),
        started: Wall::from_secs(0),
        host: String::new(),
    };
    let clock: MonoClock = Arc::new(|| Mono::from_secs(0));
    let run = ControllerMetrics::new(Arc::clone(&clock), &about);
    let mut registry = Registry::default();
    register_client(&mut registry, &clock, "");
    let webhook = WebhookMetrics::new(registry, clock, "", about.started, &RuleReviewer::names());
    let mut text = String::new();
    for (command, series) in
        [("run", run.render(Exposition::Prometheus)), ("webhook", webhook.render(Exposition::Prometheus))]
    {
        line(&mut text, format_args!("\n### Of `taintward {command}`\n"));
        line(&mut text, format_args!("| metric | type | labels | meaning |\n|---|---|---|---|"));
        for metric in describe(&series) {
            let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
            let (name, kind, help) = (metric.name, metric.kind, cell(&metric.help));
            line(&mut text, format_args!("| `{name}` | {kind} | {} | {help} |", labels.join(", ")));
        }
    }
    text
}

fn log_keys() -> String {
    let mut text = "\n## Log\n\n`--log-format=text` writes `I1121 08:36:40.123456 message key=\"value\"` (the letter is I, \
                    W or E; the time is UTC), `--log-format=json` writes one object per line. Values are escaped as in JSON, \
                    including control characters and terminal sequences, and truncated at 4096 bytes.\n\n\
                    | key | value |\n|---|---|\n"
        .to_owned();
    for (key, holds) in KEYS {
        line(&mut text, format_args!("| `{key}` | {} |", cell(holds)));
    }
    text
}
