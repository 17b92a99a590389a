//! Runs `taintward pending`: lists the pods that will be evicted, the next one first, once or continuously.
//!
//! - Invariant: the core computes every deadline.
//! - See `explain.rs` for the reasons of one pod, `plan.rs` for a forecast.

mod deadline_watch;
mod delayed_rows;
mod held_rows;
mod list;
mod past_list;
mod row_table;
mod snapshot;
mod tracker;
mod watch;

pub(crate) use deadline_watch::DeadlineWatch;
pub(crate) use watch::live_list;

use crate::active_controllers::ActiveControllers;
use crate::args::cluster_state::ClusterStateArgs;
use crate::args::kube_args::WHICH;
use crate::cluster_state::{ClusterStateError, NO_UID};
use crate::eviction_delays::PodDelay;
use crate::messages::{self, stamp};
use crate::output::{OutputFormat, PrintError};
use crate::stderr;
use clap::Args;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use taintward_core::cluster_snapshot::Workload;
use taintward_core::time::{Mono, Now};
use taintward_core::toleration::TolerationPeriod;
use taintward_core::toleration_matching::TaintMatch;
use taintward_core::verdict::TaintReason;

/// Exit codes of `taintward pending`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "The list is complete (it may be empty); with -w: the user quit"),
    (1, "A read failed, or the command line is invalid; everything that was read is listed"),
];

#[derive(Debug, Args)]
pub(crate) struct PendingArgs {
    /// Watches, and shows each change: a terminal shows the current list; otherwise the command prints a line for each
    /// change, or with -o json an object on each line
    #[arg(short, long, conflicts_with = "as_of")]
    watch: bool,
    /// Lists the pods that taints have evicted, the last one last, according to events, which API servers keep for an
    /// hour by default
    #[arg(long, conflicts_with = "watch")]
    past: bool,
    /// The cluster's state in files, as kubectl get -o yaml or json prints it, a folder of them, or - for standard
    /// input; may be repeated. The default is the current cluster
    #[arg(
        short,
        long,
        value_name = "FILE|FOLDER|-",
        conflicts_with = "watch",
        conflicts_with_all = WHICH
    )]
    filename: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) state: ClusterStateArgs,
}

/// Why the list cannot be shown.
#[derive(Debug, thiserror::Error)]
enum PendingError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("cannot start the async runtime: {0}")]
    System(#[from] io::Error),
    #[error("{place}: cannot {verb} {what}, as -w requires; grant the verb {verb} on {resource}")]
    Forbidden { place: String, verb: &'static str, resource: &'static str, what: String },
    #[error("{0}")]
    Rejected(String),
}

impl PendingArgs {
    /// Checks the flags against each other.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let ClusterStateArgs { output, cluster, .. } = &self.state;
        let is_watchable =
            matches!(output.output, OutputFormat::Table | OutputFormat::Wide | OutputFormat::Json);
        if self.watch && !is_watchable {
            return Err("-w supports the output formats table, wide and json only; omit -w for the others");
        }
        if self.past && !(cluster.selector().is_empty() && cluster.fields().is_empty()) {
            return Err("--past lists events, which do not have the labels and fields of pods; omit -l and \
                --field-selector");
        }
        Ok(())
    }
}

pub(crate) fn run(options: &PendingArgs) -> ExitCode {
    let done = match (options.watch, options.past) {
        (true, _) => watch::run(options).map(|()| ExitCode::SUCCESS),
        (false, true) => past_list::run(options),
        (false, false) => list::run(options),
    };
    if let Err(PendingError::ClusterState(why)) = &done {
        stderr::errors(why.gaps());
    }
    stderr::exit_code(done)
}

/// The sentence for a namespace without countdowns; for all namespaces if it is empty.
fn empty_list(namespace: &str) -> String {
    match namespace {
        "" => "No pods are counting down".to_owned(),
        one => format!("No pods are counting down in namespace {one}"),
    }
}

/// A pod with a deadline. Times are wall-clock times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PendingRow {
    pub(crate) namespace: String,
    pub(crate) pod: String,
    uid: String,
    pub(crate) node: String,
    /// Its deadline.
    pub(crate) evicted_at: Mono,
    /// When kube-controller-manager evicts it if Taintward does not; `None`: it is not guarded, or that is unknown.
    ceiling_at: Option<Mono>,
    pub(crate) taint: String,
    /// The toleration that lets it stay until then, and for how long; `None`: no toleration.
    toleration: Option<(usize, TolerationPeriod)>,
    /// The text of that toleration, if it is known.
    written: Option<String>,
    /// The start of its countdown.
    countdown_started_at: Mono,
    /// `None`: unknown.
    workload: Option<Workload>,
    /// Whether it has the condition of a taint eviction; `None`: unknown.
    disruption_target: Option<bool>,
    /// What delays its eviction, if it is due; `None`: nothing that was read.
    pub(crate) delay: Option<PodDelay>,
}

/// The toleration that counts, and for how long; `None`: no toleration matches.
fn counting_toleration(reason: &TaintReason) -> Option<(usize, TolerationPeriod)> {
    match (reason.taint_match, reason.period) {
        (TaintMatch::Tolerated(at), Some(period @ TolerationPeriod::For(_))) => Some((at, period)),
        _ => None,
    }
}

impl PendingRow {
    fn is_overdue(&self, now: Now) -> bool {
        self.evicted_at <= now.mono
    }

    /// The sort key of rows: the next one due is first.
    fn order(&self) -> (Mono, &str, &str) {
        (self.evicted_at, &self.namespace, &self.pod)
    }

    /// The JSON for programs.
    fn object(&self, now: Now, controllers: Option<&ActiveControllers>) -> Value {
        let latest =
            controllers.and_then(|known| known.read_late(self.countdown_started_at, self.evicted_at));
        let mut object = json!({
            "namespace": self.namespace,
            "pod": self.pod,
            "uid": (!self.uid.starts_with(NO_UID)).then_some(&self.uid),
            "node": self.node,
            "evictedAt": stamp(self.evicted_at),
            "evictedAtLatest": latest.map(|latest| stamp(latest.expected_at)),
            "ceilingAt": self.ceiling_at.map(stamp),
            "remainingSeconds": (self.evicted_at.as_micros().saturating_sub(now.mono.as_micros())) / 1_000_000,
            "overdue": self.is_overdue(now),
            "taint": self.taint,
            "toleration": self.toleration.map(|(at, period)| {
                messages::toleration_object(at, self.written.clone(), Some(period))
            }),
            "countdownStartedAt": stamp(self.countdown_started_at),
            "workload": self.workload.as_ref().map(messages::workload),
            "disruptionTarget": self.disruption_target,
        });
        if let Some(delay) = &self.delay {
            object["delay"] = delay.object();
        }
        object
    }
}
