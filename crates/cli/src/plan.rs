//! Runs `taintward plan`: forecasts which pods would be evicted if nodes changed, and on which nodes they could run next.
//!
//! - Invariant: incomplete answers say so in every output format, with exit code 1.
//! - See `plan/plan_args.rs` for the flags, `cluster_state.rs` for reading.

mod change_file;
mod eviction_schedule;
mod node_edits;
mod plan_args;
mod preview;
mod report;
#[cfg(test)]
mod tests;

pub(crate) use plan_args::PlanArgs;
pub(crate) use preview::preview;

use crate::args::cluster_state::ClusterStateArgs;
use crate::cluster_state::{self, ClusterState, ClusterStateError, StateSource};
use crate::stderr;
use eviction_schedule::{EvictionPlan, EvictionSchedule};
use jiff::Timestamp;
use node_edits::NodeEditError;
use plan_args::{PlanArgsError, PlanMoment};
use report::PlanReport;
use std::process::ExitCode;
use taintward_core::forecast::{ForecastOptions, PlannedNodeChange, forecast};
use taintward_core::time::Mono;

/// The maximum number of evicted pods for which the forecast computes a next node; more are only counted.
const PLACES_MAX: usize = 10_000;

/// Exit codes of `taintward plan`.
pub(crate) const EXIT_CODES: [(u8, &str); 3] = [
    (0, "No event that --fail-on names: by default, no pod of the selected nodes is evicted"),
    (1, "A read failed, or the command line is invalid; everything that was read is planned"),
    (2, "An event that --fail-on names: by default, a pod of the selected nodes is evicted, now or later"),
];

/// Why the plan cannot be shown.
#[derive(Debug, thiserror::Error)]
enum PlanError {
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error(transparent)]
    Args(#[from] PlanArgsError),
    #[error(transparent)]
    Edit(#[from] NodeEditError),
    #[error(transparent)]
    Change(#[from] change_file::ChangeFileError),
    #[error(transparent)]
    Print(#[from] crate::output::PrintError),
    #[error("with {from} the command reads no cluster; omit --kubeconfig, --context, --as and similar flags")]
    UnusedCluster { from: String },
    #[error("--at {at} is before {now}, the moment of the plan; name a later one, as in --at +10m")]
    Past { at: Timestamp, now: Timestamp },
}

/// The nodes after all edits.
#[derive(Debug, Default)]
struct EditedNodes {
    changes: Vec<PlannedNodeChange>,
    /// A sentence for each edit.
    descriptions: Vec<String>,
}

pub(crate) fn run(options: &PlanArgs) -> ExitCode {
    let done = plan(options);
    if let Err(PlanError::ClusterState(why)) = &done {
        stderr::errors(why.gaps());
    }
    stderr::exit_code(done)
}

fn plan(options: &PlanArgs) -> Result<ExitCode, PlanError> {
    let ClusterStateArgs { as_of, output, cluster, .. } = &options.state;
    let mut edits = options.edits()?;
    let given = cluster_state::sort(&options.filename);
    for file in options.change.iter().chain(&given.changes) {
        edits.extend(change_file::read(file)?);
    }
    for file in &given.changes {
        stderr::note(format!(
            "{} contains only nodes, so the command reads it as their changed state",
            file.display()
        ));
    }
    let from = match &given.state[..] {
        [] => StateSource::Cluster(cluster),
        state if cluster.names_a_cluster() => {
            let from = state.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ");
            return Err(PlanError::UnusedCluster { from });
        }
        state => StateSource::Files(state, cluster),
    };
    let mut state = cluster_state::read(from, *as_of, options.state.numeric())?;
    let until = until(options.at, &state)?;
    let edited =
        node_edits::apply(&state.snapshot, &edits, &options.node_lifecycle().map_err(PlanArgsError::from)?)?;
    let cluster = match from {
        StateSource::Cluster(cluster) => Some(cluster),
        StateSource::Files(..) => None,
    };
    let schedule = EvictionSchedule::of(
        cluster,
        &mut state,
        EvictionPlan { changes: &edited.changes, respect: None, until },
    )?;
    let question = ForecastOptions { until, places_max: PLACES_MAX, about: &state.about };
    let forecast = forecast(&state.snapshot, &edited.changes, question);
    stderr::errors(&state.gaps);
    state.notes.iter().for_each(stderr::note);
    schedule.iter().flat_map(|schedule| &schedule.unread).for_each(stderr::note);
    let schedule = schedule.as_ref();
    let report = PlanReport::new(&state, &forecast, &edited.descriptions, until, options.limit, schedule);
    output.print(&report)?;
    Ok(match (state.gaps.is_empty(), options.fail_on.iter().any(|what| report.has(*what))) {
        (false, _) => ExitCode::FAILURE,
        (true, false) => ExitCode::SUCCESS,
        (true, true) => ExitCode::from(2),
    })
}

/// The time up to which evictions count; [`Mono::NEVER`] by default, which includes all evictions.
fn until(at: Option<PlanMoment>, state: &ClusterState) -> Result<Mono, PlanError> {
    let now = state.snapshot.now();
    match at {
        None => Ok(Mono::NEVER),
        Some(PlanMoment::In(span)) => Ok(now.mono.plus(span)),
        Some(PlanMoment::Moment(at)) => {
            let moment = Mono::from_micros(at.as_microsecond());
            if moment < now.mono {
                let now = Timestamp::from_microsecond(now.wall.as_micros()).unwrap_or(Timestamp::MAX);
                return Err(PlanError::Past { at, now });
            }
            Ok(moment)
        }
    }
}
