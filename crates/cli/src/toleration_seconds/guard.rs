//! Runs `taintward guard`: sets or removes the ceiling of namespaces and waits until the controller has changed their
//! pods, or shows their state.
//!
//! - Output: one patch of each namespace. toleration-guard-controller changes the pods, also after this command has
//!   ended.

mod guard_command_args;
mod guard_report;

pub(crate) use guard_command_args::GuardCommandArgs;

use crate::args::controllers::TOLERATION_GUARD;
use crate::cluster_state::{ClusterStateError, open};
use crate::controller_presence;
use crate::messages::counted;
use crate::output::{PrintError, enumerated};
use crate::stderr;
use crate::toleration_seconds::controller_wait::{ControllerRequest, ControllerWaitError, RemainingPods};
use guard_command_args::{GuardAction, GuardTargets, InvalidGuardTargets};
use guard_report::{GuardReport, GuardRow};
use std::collections::BTreeMap;
use taintward_core::toleration_guard::GuardCeiling;
use taintward_kube::api::{ApiClient, RequestError};
use taintward_kube::config::Connected;

/// The label of each namespace.
const REQUEST: ControllerRequest = ControllerRequest {
    controller: TOLERATION_GUARD,
    written: "labels",
    check: "check it with `taintward guard status`",
};

/// The maximum number of taints and namespaces in a sentence.
const NAMED_MAX: usize = 5;

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum GuardError {
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
    #[error(transparent)]
    Wait(#[from] ControllerWaitError),
    #[error(transparent)]
    Print(#[from] PrintError),
}

pub(crate) fn run(options: &GuardCommandArgs) -> Result<(), GuardError> {
    let targets = options.targets()?;
    let (runtime, connected) = open(&options.cluster.server.settings)?;
    runtime.block_on(async {
        let report = GuardReport::read(&connected.streams, options, &targets, &BTreeMap::new()).await?;
        let names = existing(&report, targets)?;
        let report = match options.action {
            GuardAction::Status => report,
            GuardAction::On | GuardAction::Off => change(&connected, options, names, &report).await?,
        };
        if !options.output.is_for_people() || !report.rows.is_empty() {
            options.output.print(&report)?;
        }
        if options.output.is_for_people() {
            notes(options.action, &report);
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
    options: &GuardCommandArgs,
    names: Vec<String>,
    report: &GuardReport,
) -> Result<GuardReport, GuardError> {
    let before: BTreeMap<String, GuardCeiling> =
        report.rows.iter().map(|(name, row)| (name.clone(), row.ceiling)).collect();
    let ceiling = (options.action == GuardAction::On).then_some(options.ceiling);
    let api = ApiClient::new(connected.client.clone(), "");
    for name in &names {
        let written = api.write_ceiling(name, ceiling).await;
        written.map_err(|why| GuardError::Namespace(name.clone(), why))?;
    }
    let targets = GuardTargets::Named(names);
    let read = async || {
        let report = GuardReport::read(&connected.streams, options, &targets, &before).await;
        report.map_err(|why| REQUEST.unseen(why))
    };
    let report = read().await?;
    let absence = match report.total(|row| row.pending) {
        0 => None,
        _ => controller_presence::absence(&connected.client, TOLERATION_GUARD, options.timeout()).await,
    };
    match (options.wait(), absence) {
        (Some(limit), absence) => {
            let remaining = |report: &GuardReport| remaining(options.action, report);
            Ok(REQUEST.follow(limit, absence.as_deref(), read, remaining).await?)
        }
        (None, absence) => {
            if let Some(why) = absence {
                stderr::warning(&why);
            }
            Ok(report)
        }
    }
}

/// Only `off` waits for pods of silent nodes, because its result must hold for all pods.
fn remaining(action: GuardAction, report: &GuardReport) -> RemainingPods {
    let pending = report.total(|row| row.pending);
    let count = if action == GuardAction::Off { report.missing() } else { pending };
    RemainingPods { count, are_changeable: pending > 0, progress: progress(action, report) }
}

fn progress(action: GuardAction, report: &GuardReport) -> String {
    let (missing, waiting) = (report.missing(), report.total(|row| row.waiting));
    let guarded = report.total(|row| row.guarded);
    let what = match action {
        GuardAction::Off => format!("{} still without their own seconds", counted(missing, "pod")),
        GuardAction::On | GuardAction::Status => {
            format!("{guarded} of {} guarded", counted(guarded + missing, "pod"))
        }
    };
    match waiting {
        0 => what,
        _ => format!("{what}, {waiting} of them on silent nodes"),
    }
}

/// Prints remarks besides the table.
fn notes(action: GuardAction, report: &GuardReport) {
    let pending = report.total(|row| row.pending);
    let waiting = report.total(|row| row.waiting + row.released);
    let read: usize = report.total(|row| row.own + row.held + row.released + row.uncovered.len());
    match action {
        GuardAction::Off if report.missing() == 0 && report.total(|row| row.unrecorded.len()) == 0 => {
            stderr::note(format!(
                "no pod of these namespaces has a ceiling or the annotation taintward.io/guard; checked {}",
                counted(read, "pod")
            ))
        }
        GuardAction::Status if report.rows.is_empty() => {
            stderr::note("no namespace is guarded; start with `taintward guard on NAMESPACE`");
        }
        _ => {}
    }
    if pending > 0 {
        stderr::note(format!(
            "toleration-guard-controller still has to change the seconds of {}; until then, kube-controller-manager \
             evicts them by their present seconds",
            counted(pending, "pod")
        ));
    }
    if waiting > 0 {
        stderr::note(format!(
            "{} on silent nodes: the controller changes their seconds when the node recovers",
            counted(waiting, "pod")
        ));
    }
    unrecorded(report);
    odd_labels(report);
    if action != GuardAction::Off && !report.rows.is_empty() {
        uncovered(report);
    }
}

fn unrecorded(report: &GuardReport) {
    let pods: Vec<&str> = report.rows.values().flat_map(|row| &row.unrecorded).map(String::as_str).collect();
    if !pods.is_empty() {
        stderr::warning(&format!(
            "kept without their own seconds: {}. Another client removed their annotation, so they have the ceiling or no \
             seconds; recreate them, or set the tolerationSeconds that their templates or policies say",
            enumerated(&pods, NAMED_MAX)
        ));
    }
}

fn odd_labels(report: &GuardReport) {
    let odd = |(_, row): &(&String, &GuardRow)| row.ceiling == GuardCeiling::Undecodable;
    let odd: Vec<&str> = report.rows.iter().filter(odd).map(|(name, _)| name.as_str()).collect();
    if !odd.is_empty() {
        stderr::warning(&format!(
            "the label taintward.io/guard-ceiling-seconds of {} is not a number from 10 to 604800, so their pods stay \
             unchanged; correct it with `taintward guard on` or `off`",
            enumerated(&odd, NAMED_MAX)
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
        stderr::note(format!(
            "kube-controller-manager also evicts guarded pods because of other NoExecute taints: {}",
            enumerated(&taints, NAMED_MAX)
        ));
    }
    let pods: Vec<&str> = report.rows.values().flat_map(|row| &row.uncovered).map(String::as_str).collect();
    if !pods.is_empty() {
        stderr::note(format!(
            "no ceiling covers {}; `taintward explain pod` shows why they are evicted",
            enumerated(&pods, NAMED_MAX)
        ));
    }
    if !report.others.is_empty() {
        let names: Vec<&str> = report.others.keys().map(String::as_str).collect();
        let pods: usize = report.others.values().sum();
        stderr::note(format!(
            "not guarded: {} in {}",
            counted(pods, "running pod"),
            enumerated(&names, NAMED_MAX)
        ));
    }
}
