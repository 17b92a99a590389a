//! Runs `taintward pending`: lists the pods that leave, the next one first, once or continuously.
//!
//! - Invariant: every deadline is the core's.
//! - See `explain.rs` for why one pod leaves, `plan.rs` for what would happen.

mod list;
mod pending_args;
mod row_table;
mod watch;

pub(crate) use pending_args::{PendingArgs, PendingOptions};

use crate::cluster_state::{ClusterStateError, NO_UID};
use crate::messages::{self, stamp};
use crate::output::PrintError;
use crate::say;
use serde_json::{Value, json};
use std::io;
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

/// Why there is no list.
#[derive(Debug, thiserror::Error)]
enum PendingError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("cannot start the async runtime: {0}")]
    System(#[from] io::Error),
    #[error("{place}: may not {verb} {what}, which -w needs: grant the verb {verb} on {resource}")]
    Forbidden { place: String, verb: &'static str, resource: &'static str, what: String },
    #[error("{0}")]
    Rejected(String),
}

pub(crate) fn run(options: &PendingOptions) -> ExitCode {
    let done =
        if options.watch { watch::run(options).map(|()| ExitCode::SUCCESS) } else { list::run(options) };
    match done {
        Ok(code) => code,
        Err(why) => {
            if let PendingError::ClusterState(why) = &why {
                why.gaps().iter().for_each(say::error);
            }
            say::error(why);
            ExitCode::FAILURE
        }
    }
}

/// The sentence for a namespace in which no pod leaves; for all namespaces if it is empty.
fn empty_list(namespace: &str) -> String {
    match namespace {
        "" => "No pods are counting down".to_owned(),
        one => format!("No pods are counting down in namespace {one}"),
    }
}

/// A pod that leaves. Moments are those of the calendar.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PendingRow {
    namespace: String,
    pod: String,
    uid: String,
    node: String,
    /// When it leaves, or should have left.
    evicted_at: Mono,
    taint: String,
    /// Which toleration holds it until then, and how long; `None`: none.
    toleration: Option<(usize, TolerationPeriod)>,
    /// That toleration itself, where it is known.
    written: Option<String>,
    /// Since when the taint counts for it.
    countdown_started_at: Mono,
    /// `None` where that is not known.
    workload: Option<Workload>,
    /// The condition of a taint eviction is on it; `None` where that is not known.
    disruption_target: Option<bool>,
}

/// Which toleration counts, and how long; `None` where none matches.
fn counting_toleration(reason: &TaintReason) -> Option<(usize, TolerationPeriod)> {
    match (reason.taint_match, reason.patience) {
        (TaintMatch::Tolerated(at), Some(patience @ TolerationPeriod::For(_))) => Some((at, patience)),
        _ => None,
    }
}

impl PendingRow {
    fn is_overdue(&self, now: Now) -> bool {
        self.evicted_at <= now.mono
    }

    /// What rows are ordered by: the next one due is first.
    fn order(&self) -> (Mono, &str, &str) {
        (self.evicted_at, &self.namespace, &self.pod)
    }

    /// As programs read it.
    fn object(&self, now: Now) -> Value {
        json!({
            "namespace": self.namespace,
            "pod": self.pod,
            "uid": (!self.uid.starts_with(NO_UID)).then_some(&self.uid),
            "node": self.node,
            "evictedAt": stamp(self.evicted_at),
            "remainingSeconds": (self.evicted_at.as_micros().saturating_sub(now.mono.as_micros())) / 1_000_000,
            "overdue": self.is_overdue(now),
            "taint": self.taint,
            "toleration": self.toleration.map(|(at, patience)| {
                messages::toleration_object(at, self.written.clone(), Some(patience))
            }),
            "countdownStartedAt": stamp(self.countdown_started_at),
            "workload": self.workload.as_ref().map(messages::workload),
            "disruptionTarget": self.disruption_target,
        })
    }
}
