//! Runs `taintward hold` and `taintward release`: writes an annotation to each node, and waits until the controller has
//! changed its pods.
//!
//! - `hold status` lists the holds.
//! - Output: one patch of each node. toleration-hold-controller changes the pods, also after this command has ended.

mod hold_args;
mod hold_status;
mod node_requests;
mod pod_counts;

pub(crate) use hold_args::{HoldCommandArgs, HoldOptions, ReleaseCommandArgs};

use crate::cluster_state::{ClusterStateError, open};
use crate::controller_presence;
use crate::messages::counted;
use crate::output::API_VERSION;
use hold_args::{HoldAction, HoldOutputFormat, InvalidTargets};
use hold_status::HoldStatus;
use node_requests::NodeNamesError;
use pod_counts::PodCounts;
use serde_json::json;
use std::process::ExitCode;
use std::time::Duration;
use taintward_core::toleration_hold::UncoveredReason;
use taintward_kube::api::RequestError;
use taintward_kube::clock::Clock;
use taintward_kube::config::{Connected, greet};
use taintward_kube::node_client::NodeClient;
use tokio::time::Instant;

/// The pause between two checks of the pods.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// If nothing changes for this long, the controller is not running.
const REACTION_MAX: Duration = Duration::from_secs(15);

/// The maximum number of pods in the output.
const NAMED_MAX: usize = 10;

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
enum HoldError {
    #[error(transparent)]
    Targets(#[from] InvalidTargets),
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error("{0}")]
    Read(#[from] RequestError),
    #[error(transparent)]
    Names(#[from] NodeNamesError),
    #[error(
        "{0}; the annotations are written, but the state of the pods is unknown; run the same command again to check it"
    )]
    Unseen(RequestError),
    #[error("no node matches these labels; nothing was changed; check the selectors")]
    NoNode,
    #[error(
        "cannot write the annotation of {failed} of {}: {first}; run the same command again", counted(*.nodes, "node")
    )]
    Nodes { failed: usize, nodes: usize, first: String },
    #[error(
        "{} after {}: toleration-hold-controller does not run, has not finished, or cannot patch pods; check the process \
         `taintward run --controllers=toleration-hold-controller` and its permissions. The annotations stay, and the \
         controller applies them as soon as it can", .what, crate::args::duration::display(*.waited)
    )]
    Unfinished { what: String, waited: Duration },
    #[error(
        "{what}: {why}. The annotations stay, and the controller applies them when it runs (docs/managed-clusters.md)"
    )]
    NoController { what: String, why: String },
    #[error("cannot write to standard output: {0}")]
    Print(String),
}

pub(crate) fn run(options: &HoldOptions) -> ExitCode {
    crate::say::exit_code(carry_out(options))
}

fn carry_out(options: &HoldOptions) -> Result<(), HoldError> {
    let targets = options.targets()?;
    let (runtime, connected) = open(&options.cluster.settings)?;
    runtime.block_on(async {
        let names = node_requests::names(&connected.streams, &targets, options.cluster.timeout).await?;
        if names.is_empty() {
            return Err(HoldError::NoNode);
        }
        let text = match &options.action {
            None => status(&connected, &names, options).await?,
            Some(action) => change(&connected, &names, action, options).await?,
        };
        crate::output::print(&text).map_err(|why| HoldError::Print(why.to_string()))
    })
}

/// The holds of these nodes.
async fn status(connected: &Connected, names: &[String], options: &HoldOptions) -> Result<String, HoldError> {
    let limit = options.cluster.timeout;
    let date = greet(&connected.client, limit.next()).await.ok().and_then(|server| server.date);
    let now = date.unwrap_or_else(|| Clock::system().now().wall);
    let status = HoldStatus::read(&connected.streams, names, now, limit).await?;
    Ok(match options.form {
        HoldOutputFormat::Json => format!("{:#}\n", status.object()),
        HoldOutputFormat::Text if status.is_empty() => {
            crate::say::note("no pod of these nodes is held, and no order to hold pods is in effect");
            String::new()
        }
        HoldOutputFormat::Text => status.table(now),
    })
}

/// Writes the annotations and, if requested, waits until the controller has changed the pods.
async fn change(
    connected: &Connected,
    names: &[String],
    action: &HoldAction,
    options: &HoldOptions,
) -> Result<String, HoldError> {
    let limit = options.cluster.timeout.only_each();
    let nodes = NodeClient::new(connected.client.clone(), limit);
    let failures = node_requests::write(&nodes, names, action).await;
    if let Some(first) = failures.first() {
        let (failed, nodes, first) = (failures.len(), names.len(), first.clone());
        return Err(HoldError::Nodes { failed, nodes, first });
    }
    let look = async || pod_counts::look(&connected.streams, names, limit).await;
    let unseen = |why| match why {
        HoldError::Read(why) => HoldError::Unseen(why),
        other => other,
    };
    let counts = look().await.map_err(|why| unseen(why.into()))?;
    let is_idle = action.missing(&counts) > 0 || action.is_hold() && counts.held == 0;
    let absence = match is_idle {
        true => controller_presence::absence(&connected.client, HoldAction::CONTROLLER, limit).await,
        false => None,
    };
    let counts = match options.wait {
        Some(wait) if action.missing(&counts) > 0 => {
            follow(action, wait, absence.as_deref(), look).await.map_err(unseen)?
        }
        _ => {
            match absence {
                Some(why) => crate::say::warning(&why),
                None if is_idle && options.wait.is_some() => crate::say::note(
                    "no pod of these nodes has seconds to hold, so this command cannot tell whether \
                     toleration-hold-controller runs",
                ),
                None => {}
            }
            counts
        }
    };
    Ok(match options.form {
        HoldOutputFormat::Text => sentences(names, &counts, action),
        HoldOutputFormat::Json => as_json(names, &counts),
    })
}

/// Checks the pods until all of them are as requested, and shows the progress. If the controller seems to be absent, it
/// gives up when one that runs without an election would have changed a pod.
async fn follow(
    action: &HoldAction,
    limit: Duration,
    absence: Option<&str>,
    look: impl AsyncFn() -> Result<PodCounts, RequestError>,
) -> Result<PodCounts, HoldError> {
    let began = Instant::now();
    let (mut last, mut changed, mut is_warned) = (None, began, false);
    loop {
        let counts = look().await?;
        let missing = action.missing(&counts);
        if missing == 0 {
            return Ok(counts);
        }
        if last != Some(missing) {
            (last, changed) = (Some(missing), Instant::now());
            crate::say::line("", format!("{}...", action.progress(&counts)));
        }
        if changed.elapsed() >= REACTION_MAX && absence.is_none() && !is_warned {
            is_warned = true;
            crate::say::warning(
                "no pod has changed for 15 s; check that `taintward run --controllers=toleration-hold-controller` runs",
            );
        }
        if began.elapsed() >= limit {
            return Err(HoldError::Unfinished { what: action.progress(&counts), waited: limit });
        }
        if let Some(why) = absence.filter(|_| changed.elapsed() >= REACTION_MAX) {
            return Err(HoldError::NoController { what: action.progress(&counts), why: why.to_owned() });
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

fn sentences(names: &[String], counts: &PodCounts, action: &HoldAction) -> String {
    let nodes = counted(names.len(), "node");
    let mut text = format!("{nodes}: {}\n", action.progress(counts));
    if !action.is_hold() || counts.uncovered.is_empty() {
        return text;
    }
    text += &format!("{} cannot be held:\n", counted(counts.uncovered.len(), "pod"));
    for (pod, reason) in counts.uncovered.iter().take(NAMED_MAX) {
        text += &format!("  {}: {}\n", crate::output::harmless(pod), in_words(*reason));
    }
    if let Some(more) = counts.uncovered.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        text += &format!("  and {more} more (-o json has all)\n");
    }
    text
}

fn as_json(names: &[String], counts: &PodCounts) -> String {
    let uncovered = counts.uncovered.iter();
    let uncovered = uncovered.map(|(pod, reason)| json!({ "pod": pod, "reason": in_words(*reason) }));
    let report = json!({
        "apiVersion": API_VERSION,
        "kind": "HoldReport",
        "nodes": names,
        "held": counts.held,
        "notHeld": counts.not_held,
        "uncovered": uncovered.collect::<Vec<_>>(),
    });
    format!("{report:#}\n")
}

const fn in_words(reason: UncoveredReason) -> &'static str {
    match reason {
        UncoveredReason::Untolerated => {
            "it does not tolerate not-ready or unreachable, so it is evicted \
         immediately"
        }
        UncoveredReason::EveryKey => {
            "its toleration matches every key; without seconds it would tolerate every taint"
        }
        UncoveredReason::OtherCountdown => {
            "its node has another NoExecute taint that it tolerates for a while, so kube-controller-manager keeps the \
             deadline from before the hold"
        }
        UncoveredReason::NotUnderstood => "it has a toleration with an unsupported operator or effect",
    }
}
