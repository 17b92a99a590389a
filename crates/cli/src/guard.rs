//! Runs `taintward guard`: sets or removes the ceiling of namespaces and waits until the controller has changed their
//! pods, or shows their state.
//!
//! - Output: one patch of each namespace. toleration-guard-controller changes the pods, also after this command has
//!   ended.

mod guard_command_args;
mod guard_report;

pub(crate) use guard_command_args::{GuardCommandArgs, GuardOptions};

use crate::args::controllers::TOLERATION_GUARD;
use crate::cluster_state::{ClusterStateError, open};
use crate::controller_presence;
use crate::messages::counted;
use crate::output::PrintError;
use crate::say;
use guard_command_args::{GuardAction, GuardTargets, InvalidGuardTargets};
use guard_report::{GuardReport, GuardRow};
use std::collections::BTreeMap;
use std::process::ExitCode;
use std::time::Duration;
use taintward_core::toleration_guard::GuardCeiling;
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::config::Connected;
use tokio::time::Instant;

/// The pause between two checks of the pods.
const LOOK_PAUSE: Duration = Duration::from_secs(1);

/// If nothing changes for this long, the controller is not running.
const REACTION_MAX: Duration = Duration::from_secs(15);

/// The maximum number of taints and namespaces in a sentence.
const NAMED_MAX: usize = 5;

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
enum GuardError {
    #[error(transparent)]
    Targets(#[from] InvalidGuardTargets),
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error("{0}")]
    Read(#[from] RequestError),
    #[error(
        "cannot write the label of namespace {0}: {1}; the namespaces before it in the list are changed; run the command \
         again for the others"
    )]
    Namespace(String, RequestError),
    #[error("namespace {0} does not exist; nothing was changed; check the name")]
    Absent(String),
    #[error("no namespace matches these labels; nothing was changed; check --selector")]
    NoNamespace,
    #[error(
        "{0}; the labels are written, but the state of the pods is unknown; check it with `taintward guard status`"
    )]
    Unseen(RequestError),
    #[error(
        "{} after {}: toleration-guard-controller does not run, has not finished, or cannot patch pods; check the process \
         `taintward run --controllers=toleration-guard-controller` and its permissions. The labels stay, and the \
         controller applies them as soon as it can", .what, crate::args::duration::display(*.waited)
    )]
    Unfinished { what: String, waited: Duration },
    #[error(
        "{what}: {why}. The labels stay, and the controller applies them when it runs (docs/managed-clusters.md)"
    )]
    NoController { what: String, why: String },
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub(crate) fn run(options: &GuardOptions) -> ExitCode {
    say::exit_code(carry_out(options))
}

fn carry_out(options: &GuardOptions) -> Result<(), GuardError> {
    let targets = options.targets()?;
    let (runtime, connected) = open(&options.cluster.settings)?;
    runtime.block_on(async {
        let report = GuardReport::read(&connected.streams, options, &targets, &BTreeMap::new()).await?;
        let targets = GuardTargets::Named(existing(&report, targets)?);
        let before: BTreeMap<String, GuardCeiling> =
            report.rows.iter().map(|(name, row)| (name.clone(), row.ceiling)).collect();
        let report = match options.action {
            GuardAction::Status => report,
            GuardAction::On(seconds) => {
                change(&connected, options, (&targets, &before), Some(seconds)).await?
            }
            GuardAction::Off => change(&connected, options, (&targets, &before), None).await?,
        };
        if !options.output.is_for_people() || !report.rows.is_empty() {
            options.output.print(&report)?;
        }
        if options.output.is_for_people() {
            notes(&options.action, &report);
        }
        Ok(())
    })
}

/// The names of the selected namespaces, if all of them exist.
fn existing(report: &GuardReport, targets: GuardTargets) -> Result<Vec<String>, GuardError> {
    match targets {
        GuardTargets::Named(names) => match names.iter().find(|name| !report.rows.contains_key(*name)) {
            Some(absent) => Err(GuardError::Absent(absent.clone())),
            None => Ok(names),
        },
        GuardTargets::Labelled(_) if report.rows.is_empty() => Err(GuardError::NoNamespace),
        GuardTargets::Labelled(_) | GuardTargets::Guarded => Ok(report.rows.keys().cloned().collect()),
    }
}

/// Writes the labels and, if requested, waits until the controller has changed the pods.
async fn change(
    connected: &Connected,
    options: &GuardOptions,
    (targets, before): (&GuardTargets, &BTreeMap<String, GuardCeiling>),
    ceiling: Option<i64>,
) -> Result<GuardReport, GuardError> {
    let api = ApiClient::new(connected.client.clone(), "");
    if let GuardTargets::Named(names) = targets {
        for name in names {
            let written = api.write_ceiling(name, ceiling).await;
            written.map_err(|why| GuardError::Namespace(name.clone(), why))?;
        }
    }
    let look = async || GuardReport::read(&connected.streams, options, targets, before).await;
    let unseen = |why| match why {
        GuardError::Read(why) => GuardError::Unseen(why),
        other => other,
    };
    let report = look().await.map_err(|why| unseen(why.into()))?;
    let absence = match report.total(|row| row.pending) {
        0 => None,
        _ => {
            let limit = options.cluster.timeout;
            controller_presence::absence(&connected.client, TOLERATION_GUARD, limit).await
        }
    };
    match (options.wait, absence) {
        (Some(limit), absence) => {
            follow(&options.action, limit, absence.as_deref(), look).await.map_err(unseen)
        }
        (None, absence) => {
            if let Some(why) = absence {
                say::warning(&why);
            }
            Ok(report)
        }
    }
}

/// Checks the pods until all of them are as requested, and shows the progress. Only `off` waits for pods of silent
/// nodes, because its result must hold for all pods. If the controller seems to be absent, it gives up when one that runs
/// without an election would have changed a pod.
async fn follow(
    action: &GuardAction,
    limit: Duration,
    absence: Option<&str>,
    look: impl AsyncFn() -> Result<GuardReport, RequestError>,
) -> Result<GuardReport, GuardError> {
    let began = Instant::now();
    let (mut last, mut changed, mut is_warned) = (None, began, false);
    loop {
        let report = look().await?;
        let missing = match action {
            GuardAction::Off => report.missing(),
            GuardAction::On(_) | GuardAction::Status => report.total(|row| row.pending),
        };
        if missing == 0 {
            return Ok(report);
        }
        let progress = progress(action, &report);
        if last != Some(missing) {
            (last, changed) = (Some(missing), Instant::now());
            say::line("", format!("{progress}..."));
        }
        let is_idle = report.total(|row| row.pending) > 0;
        if is_idle && changed.elapsed() >= REACTION_MAX && absence.is_none() && !is_warned {
            is_warned = true;
            say::warning(
                "no pod has changed for 15 s; check that `taintward run --controllers=toleration-guard-controller` runs",
            );
        }
        if began.elapsed() >= limit {
            return Err(GuardError::Unfinished { what: progress, waited: limit });
        }
        if let Some(why) = absence.filter(|_| is_idle && changed.elapsed() >= REACTION_MAX) {
            return Err(GuardError::NoController { what: progress, why: why.to_owned() });
        }
        tokio::time::sleep(LOOK_PAUSE).await;
    }
}

fn progress(action: &GuardAction, report: &GuardReport) -> String {
    let (missing, waiting) = (report.missing(), report.total(|row| row.waiting));
    let guarded = report.total(|row| row.guarded);
    let what = match action {
        GuardAction::Off => format!("{} still without their own seconds", counted(missing, "pod")),
        GuardAction::On(_) | GuardAction::Status => {
            format!("{guarded} of {} guarded", counted(guarded + missing, "pod"))
        }
    };
    match waiting {
        0 => what,
        _ => format!("{what}, {waiting} of them on silent nodes"),
    }
}

/// Prints remarks besides the table.
fn notes(action: &GuardAction, report: &GuardReport) {
    let pending = report.total(|row| row.pending);
    let waiting = report.total(|row| row.waiting + row.released);
    let read: usize = report.total(|row| row.own + row.held + row.released + row.uncovered.len());
    match action {
        GuardAction::Off if report.missing() == 0 && report.total(|row| row.unrecorded.len()) == 0 => {
            say::note(format!(
                "no pod of these namespaces has a ceiling or the annotation taintward.io/guard; checked {}",
                counted(read, "pod")
            ))
        }
        GuardAction::Status if report.rows.is_empty() => {
            say::note("no namespace is guarded; start with `taintward guard on NAMESPACE`");
        }
        _ => {}
    }
    if pending > 0 {
        say::note(format!(
            "toleration-guard-controller still has to change the seconds of {}; until then, kube-controller-manager \
             evicts them by their present seconds",
            counted(pending, "pod")
        ));
    }
    if waiting > 0 {
        say::note(format!(
            "{} on silent nodes: the controller changes their seconds when the node recovers",
            counted(waiting, "pod")
        ));
    }
    unrecorded(report);
    odd_labels(report);
    if *action != GuardAction::Off && !report.rows.is_empty() {
        uncovered(report);
    }
}

fn unrecorded(report: &GuardReport) {
    let pods: Vec<&str> = report.rows.values().flat_map(|row| &row.unrecorded).map(String::as_str).collect();
    if !pods.is_empty() {
        say::warning(&format!(
            "kept without their own seconds: {}. Another client removed their annotation, so they have the ceiling or no \
             seconds; recreate them, or set the tolerationSeconds that their templates or policies say",
            some(&pods)
        ));
    }
}

fn odd_labels(report: &GuardReport) {
    let odd = |(_, row): &(&String, &GuardRow)| row.ceiling == GuardCeiling::Undecodable;
    let odd: Vec<&str> = report.rows.iter().filter(odd).map(|(name, _)| name.as_str()).collect();
    if !odd.is_empty() {
        say::warning(&format!(
            "the label taintward.io/guard-ceiling-seconds of {} is not a number from 10 to 604800, so their pods stay \
             unchanged; correct it with `taintward guard on` or `off`",
            some(&odd)
        ));
    }
}

/// Reports the taints and pods that no ceiling covers.
fn uncovered(report: &GuardReport) {
    if !report.other_taints.is_empty() {
        let taints: Vec<String> = report
            .other_taints
            .iter()
            .map(|(taint, nodes)| format!("{taint} ({})", counted(*nodes, "node")))
            .collect();
        say::note(format!(
            "kube-controller-manager also evicts guarded pods because of other NoExecute taints: {}",
            some(&taints.iter().map(String::as_str).collect::<Vec<_>>())
        ));
    }
    let pods: Vec<&str> = report.rows.values().flat_map(|row| &row.uncovered).map(String::as_str).collect();
    if !pods.is_empty() {
        say::note(format!(
            "no ceiling covers {}; `taintward explain pod` shows why they are evicted",
            some(&pods)
        ));
    }
    if !report.others.is_empty() {
        let names: Vec<&str> = report.others.keys().map(String::as_str).collect();
        let pods: usize = report.others.values().sum();
        say::note(format!("not guarded: {} in {}", counted(pods, "running pod"), some(&names)));
    }
}

/// The first of several names.
fn some(names: &[&str]) -> String {
    let shown = names.iter().take(NAMED_MAX).copied().collect::<Vec<_>>().join(", ");
    match names.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        Some(more) => format!("{shown} and {more} more"),
        None => shown,
    }
}
