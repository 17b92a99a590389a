//! Defines the flags of `taintward taint`: kubectl's, with kubectl's values (KT-1), and additional ones.
//!
//! - See `taint/request.rs` for the positional arguments.

use crate::args::bool_flag;
use crate::args::dry_run::DryRun;
use crate::args::kube_args::ClusterOptions;
use crate::completion_kind::CompletionKind;
use clap::{Args, ValueEnum};
use std::time::Duration;
use taintward_core::eviction_policy::{BudgetRespect, DEADLINE_MAX};
use taintward_core::time::Span;

/// The heading of flags kubectl does not have.
const OWN: &str = "Beyond kubectl";

// Nodes are cluster-scoped: the command accepts -n and -A as kubectl does, without effect.
#[derive(Debug, Args)]
#[command(mut_arg("namespace", |arg| arg.hide(true)), mut_arg("all_namespaces", |arg| arg.hide(true)))]
pub(crate) struct TaintArgs {
    /// The word node, names of nodes, then taints: key=value:Effect or key:Effect to add, the same with - at the end or key-
    /// to remove
    #[arg(value_name = "node NAME... TAINT...", add = CompletionKind::NodeName.completer())]
    pub(crate) arguments: Vec<String>,
    /// All nodes of the cluster
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) all: bool,
    /// Allow existing taints to be overwritten
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) overwrite: bool,
    /// client: only compute the change; server: let the API server check the change without storing it
    #[arg(long, value_name = "none|client|server", default_value = "none", value_parser = dry_run)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "unchanged")]
    pub(crate) dry_run: DryRunMode,
    /// The output format of the changed nodes
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = TaintOutputFormat::Text, hide_default_value = true)]
    pub(crate) output: TaintOutputFormat,
    /// With -o json or yaml: metadata.managedFields, too
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    pub(crate) show_managed_fields: bool,
    /// The field manager, as in metadata.managedFields
    #[arg(long, value_name = "NAME", default_value = "kubectl-taint")]
    pub(crate) field_manager: String,
    /// How the API server treats unknown fields: strict (or true) rejects them, warn, ignore (or false)
    #[arg(long, value_name = "HOW", default_value = "strict", value_parser = validation)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "strict")]
    pub(crate) validate: &'static str,
    /// Accepted for compatibility with kubectl, without effect: no output format takes a template
    #[arg(long, value_name = "TEXT", hide = true)]
    template: Option<String>,
    /// Accepted for compatibility with kubectl, without effect: no output format takes a template
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = bool_flag::parse, hide = true)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    allow_missing_template_keys: bool,
    /// Show the taints of these nodes, and change nothing
    #[arg(long, help_heading = OWN)]
    pub(crate) list: bool,
    /// Remove only taints of these nodes that were added with --for and have expired
    #[arg(long, help_heading = OWN, conflicts_with = "list")]
    pub(crate) expired: bool,
    /// How long the taint is intended to stay, as in 2h or 2d: a note for users; no controller removes the taint, see
    /// --expired
    #[arg(long = "for", value_name = "DURATION", value_parser = crate::args::duration::positive_with_days, help_heading = OWN)]
    pub(crate) lasts: Option<Duration>,
    /// The reason for the taint: a note for users, stored in an annotation of the node
    #[arg(long, value_name = "TEXT", value_parser = reason, help_heading = OWN)]
    pub(crate) reason: Option<String>,
    /// Let the evictions because of new NoExecute taints respect disruption budgets: an annotation of the node, for
    /// taintward run --eviction-policies
    #[arg(long, help_heading = OWN, conflicts_with_all = ["list", "expired"])]
    pub(crate) respect_budgets: bool,
    /// How long after it was due a pod is deleted in spite of its budgets, as in 30m or 2d; without it, never
    #[arg(long, value_name = "DURATION", value_parser = deadline, help_heading = OWN, requires = "respect_budgets")]
    pub(crate) deadline: Option<Duration>,
    /// Do not ask before a NoExecute taint is added
    #[arg(short, long, help_heading = OWN)]
    pub(crate) yes: bool,
    /// Do not show which pods a NoExecute taint would evict, and do not ask
    #[arg(long, help_heading = OWN)]
    pub(crate) no_preview: bool,
    #[command(flatten)]
    pub(crate) cluster: ClusterOptions,
}

/// How a changed node is printed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum TaintOutputFormat {
    /// A sentence for each node
    #[default]
    Text,
    /// node/NAME
    Name,
    /// The node after the change
    Json,
    /// The node after the change
    Yaml,
}

/// `--dry-run`, and a warning about its deprecated form.
#[derive(Clone, Debug)]
pub(crate) struct DryRunMode {
    pub(crate) kind: DryRun,
    pub(crate) warning: Option<String>,
}

fn dry_run(text: &str) -> Result<DryRunMode, String> {
    let plain = |kind| Ok(DryRunMode { kind, warning: None });
    let old = |kind, warning: String| Ok(DryRunMode { kind, warning: Some(warning) });
    let boolean = |value: &str| {
        format!("--dry-run={text} is deprecated (boolean value) and can be replaced with --dry-run={value}.")
    };
    match text {
        "none" => plain(DryRun::No),
        "client" => plain(DryRun::Client),
        "server" => plain(DryRun::Server),
        "unchanged" => {
            let warning = "--dry-run is deprecated and can be replaced with --dry-run=client.";
            old(DryRun::Client, warning.to_owned())
        }
        other => match bool_flag::parse(other) {
            Ok(true) => old(DryRun::Client, boolean("client")),
            Ok(false) => old(DryRun::No, boolean("none")),
            Err(_) => Err("must be \"none\", \"server\", or \"client\"".to_owned()),
        },
    }
}

fn validation(text: &str) -> Result<&'static str, String> {
    match (text, bool_flag::parse(text)) {
        ("strict", _) | (_, Ok(true)) => Ok("Strict"),
        ("warn", _) => Ok("Warn"),
        ("ignore", _) | (_, Ok(false)) => Ok("Ignore"),
        _ => Err("must be one of: strict (or true), warn, ignore (or false)".to_owned()),
    }
}

impl TaintArgs {
    /// How the evictions because of new NoExecute taints respect budgets; `None`: not at all.
    pub(crate) fn budget_respect(&self) -> Option<BudgetRespect> {
        let span =
            |deadline: Duration| Span::from_micros(i64::try_from(deadline.as_micros()).unwrap_or(i64::MAX));
        self.respect_budgets.then(|| BudgetRespect { deadline: self.deadline.map(span) })
    }
}

fn deadline(text: &str) -> Result<Duration, String> {
    let deadline = crate::args::duration::positive_with_days(text)?;
    let micros = i64::try_from(deadline.as_micros()).unwrap_or(i64::MAX);
    match (Span::from_secs(1)..=DEADLINE_MAX).contains(&Span::from_micros(micros)) {
        true => Ok(deadline),
        false => Err("expected 1s to 30d".to_owned()),
    }
}

/// Annotations are for short texts, and all those of a node share 256 KiB.
const REASON_MAX: usize = 1000;

fn reason(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("expected a few words".to_owned()),
        long if long.len() > REASON_MAX => Err(format!("expected at most {REASON_MAX} bytes")),
        text => Ok(text.to_owned()),
    }
}
