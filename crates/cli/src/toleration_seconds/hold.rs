//! Runs `taintward hold` and `taintward release`: writes an annotation to each node or pod.
//!
//! - `hold status` lists the holds.
//! - Output: one patch of each object. Where Taintward evicts, the annotation is all it needs. Where kube-controller-manager
//!   evicts, toleration-hold-controller changes the pods, and the command waits for that.

mod hold_args;
mod node_requests;
mod pod_counts;
mod pod_requests;

pub(crate) use hold_args::{HoldCommandArgs, ReleaseCommandArgs};

use crate::args::controllers::{TAINT_EVICTION, TOLERATION_HOLD};
use crate::cluster_state::{ClusterStateError, ObjectLists, open};
use crate::controller_presence;
use crate::eviction_delays::ClusterPolicies;
use crate::hold_status::HoldStatus;
use crate::messages::{at_moment, counted, stamp};
use crate::output::{API_VERSION, PrintOptions, Terminal};
use crate::toleration_seconds::controller_wait::{ControllerRequest, ControllerWaitError, RemainingPods};
use hold_args::{HoldAction, HoldOutputFormat, HoldTargetArgs, HoldTargets, InvalidTargets};
use node_requests::NodeNamesError;
use pod_counts::PodCounts;
use serde_json::json;
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration_hold::UncoveredReason;
use taintward_kube::api::{RequestBudget, RequestError};
use taintward_kube::clock::Clock;
use taintward_kube::config::{Connected, greet};
use taintward_kube::node_client::NodeClient;
use taintward_kube::object_client::ObjectClient;

/// The annotation of each node.
const REQUEST: ControllerRequest = ControllerRequest {
    controller: TOLERATION_HOLD,
    written: "annotations",
    check: "run the same command again to check it",
};

/// The maximum number of pods in the output.
const NAMED_MAX: usize = 10;

/// Why the command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum HoldError {
    #[error(transparent)]
    Targets(#[from] InvalidTargets),
    #[error(transparent)]
    ClusterState(#[from] ClusterStateError),
    #[error("{0}")]
    Read(#[from] RequestError),
    #[error(transparent)]
    Names(#[from] NodeNamesError),
    #[error(transparent)]
    Wait(#[from] ControllerWaitError),
    #[error("no node matches these labels; nothing was changed; check the selectors")]
    NoNode,
    #[error(
        "cannot write the annotation of {failed} of {}: {first}; run the same command again", counted(*.nodes, "node")
    )]
    Nodes { failed: usize, nodes: usize, first: String },
    #[error(
        "cannot write the annotation of {failed} of {}: {first}; run the same command again", counted(*.pods, "pod")
    )]
    Pods { failed: usize, pods: usize, first: String },
    #[error("no selected node has a NoExecute taint with the key {0}; nothing was changed; check the key")]
    NoSuchTaint(String),
    #[error("cannot write to standard output: {0}")]
    Print(String),
}

pub(crate) fn hold(options: &HoldCommandArgs) -> Result<(), HoldError> {
    run(&options.targets, options.action().as_ref())
}

pub(crate) fn release(options: &ReleaseCommandArgs) -> Result<(), HoldError> {
    run(&options.targets, Some(&options.action()))
}

fn run(options: &HoldTargetArgs, action: Option<&HoldAction>) -> Result<(), HoldError> {
    let targets = options.targets(action)?;
    let (runtime, connected) = open(&options.cluster.server.settings)?;
    runtime.block_on(async {
        if let HoldTargets::Pods(pods) = &targets {
            let text = match action {
                Some(action) => change_pods(&connected, pods, action, options).await?,
                None => status_of_pods(&connected, pods, options).await?,
            };
            return crate::output::print(&text).map_err(|why| HoldError::Print(why.to_string()));
        }
        let names =
            node_requests::names(&connected.streams, &targets, options.cluster.server.timeout).await?;
        if names.is_empty() {
            return Err(HoldError::NoNode);
        }
        let text = match action {
            None => status(&connected, &names, options).await?,
            Some(action) => change(&connected, &names, action, options).await?,
        };
        crate::output::print(&text).map_err(|why| HoldError::Print(why.to_string()))
    })
}

/// The holds of these nodes.
async fn status(
    connected: &Connected,
    names: &[String],
    options: &HoldTargetArgs,
) -> Result<String, HoldError> {
    let limit = options.cluster.server.timeout;
    let now = server_time(connected, options).await;
    let status = HoldStatus::read(&connected.streams, names, now, limit).await?;
    let status = status.of_evicting(controller_presence::evicts_by_itself(&connected.client, limit).await);
    let none = "no pod of these nodes is held, and no order to hold pods is in effect";
    Ok(status_text(&status, none, now, options.output))
}

/// The holds of these pods by their own annotations.
async fn status_of_pods(
    connected: &Connected,
    names: &[String],
    options: &HoldTargetArgs,
) -> Result<String, HoldError> {
    let namespace = options.cluster.namespace(connected);
    let pods: Vec<String> = names.iter().map(|name| format!("{namespace}/{name}")).collect();
    let now = server_time(connected, options).await;
    let status = HoldStatus::read(&connected.streams, &[], now, options.cluster.server.timeout).await?;
    let none = "no annotation of these pods holds them; taintward explain pod/NAME knows the holds of their nodes too";
    Ok(status_text(&status.of_pods(&pods), none, now, options.output))
}

fn status_text(status: &HoldStatus, none: &str, now: Wall, form: HoldOutputFormat) -> String {
    match form {
        HoldOutputFormat::Json => format!("{:#}\n", status.object()),
        HoldOutputFormat::Text if status.is_empty() => {
            crate::stderr::note(none);
            String::new()
        }
        HoldOutputFormat::Text => {
            status.table(now).print(&PrintOptions::on(Terminal::of_standard_output(false)))
        }
    }
}

/// The API server's time, or, if it does not say it, that of this machine.
async fn server_time(connected: &Connected, options: &HoldTargetArgs) -> Wall {
    let greeted = greet(&connected.client, options.cluster.server.timeout.next()).await;
    greeted.ok().and_then(|server| server.date).unwrap_or_else(|| Clock::system().now().wall)
}

/// Writes the annotations of pods.
async fn change_pods(
    connected: &Connected,
    names: &[String],
    action: &HoldAction,
    options: &HoldTargetArgs,
) -> Result<String, HoldError> {
    let limit = options.cluster.server.timeout.only_each();
    let namespace = options.cluster.namespace(connected);
    let client = ObjectClient::new(connected.client.clone(), limit);
    let failures = pod_requests::write(&client, namespace, names, action).await;
    if let Some(first) = failures.first() {
        return Err(HoldError::Pods { failed: failures.len(), pods: names.len(), first: first.clone() });
    }
    if let Some(why) = controller_presence::absence(&connected.client, TAINT_EVICTION, limit).await {
        crate::stderr::warning(&format!(
            "{why}; only that controller holds pods by their annotation. Where kube-controller-manager evicts, hold their \
             nodes instead"
        ));
    }
    if action.is_hold() {
        note_policies(connected, limit).await;
    }
    let names: Vec<String> = names.iter().map(|name| format!("{namespace}/{name}")).collect();
    let written = WrittenHold { kind: "pod", names: &names, now: server_time(connected, options).await };
    Ok(written.output(action, options.output))
}

/// Says which policies may make a hold of a pod void.
async fn note_policies(connected: &Connected, limit: RequestBudget) {
    let policies = ClusterPolicies::read(ObjectLists::Cluster(&connected.streams, limit)).await;
    if let Some(why) = &policies.error {
        crate::stderr::note(format!(
            "a policy with allowHolds: false makes this hold void, and the policies are unknown: {why}"
        ));
    }
    let names = policies.that_forbid_holds();
    if !names.is_empty() {
        crate::stderr::note(format!(
            "allowHolds: false makes this hold void if the pod is evicted under eviction policy {}; taintward explain pod/NAME \
             says whether it is",
            names.join(", ")
        ));
    }
}

/// Objects whose annotation is all that the controller needs.
struct WrittenHold<'n> {
    kind: &'static str,
    names: &'n [String],
    now: Wall,
}

impl WrittenHold<'_> {
    fn output(&self, action: &HoldAction, form: HoldOutputFormat) -> String {
        let Self { kind, names, now } = self;
        let until = action.lasts().map(|lasts| now.plus(lasts));
        if form == HoldOutputFormat::Json {
            let until = until.map(|until| stamp(Mono::from_micros(until.as_micros())));
            let objects = format!("{kind}s");
            let report =
                json!({ "apiVersion": API_VERSION, "kind": "HoldReport", objects: names, "until": until });
            return format!("{report:#}\n");
        }
        let objects = counted(names.len(), kind);
        let now = Now::of_wall(*now);
        match (action, until) {
            (HoldAction::ReleaseBrake(key), _) => {
                format!("{objects}: the brake does not delay evictions because of taint key {key}\n")
            }
            (_, Some(until)) => {
                let until = at_moment(now, Mono::from_micros(until.as_micros()));
                format!("{objects}: no eviction before {until}; countdowns are paused\n")
            }
            (_, None) => format!("{objects}: not held; countdowns continue\n"),
        }
    }
}

/// Writes the annotations and, if requested, waits until the controller has changed the pods.
async fn change(
    connected: &Connected,
    names: &[String],
    action: &HoldAction,
    options: &HoldTargetArgs,
) -> Result<String, HoldError> {
    let limit = options.cluster.server.timeout.only_each();
    let nodes = NodeClient::new(connected.client.clone(), limit);
    let written = node_requests::write(&nodes, names, action).await;
    if let Some(first) = written.failures.first() {
        let (failed, nodes, first) = (written.failures.len(), names.len(), first.clone());
        return Err(HoldError::Nodes { failed, nodes, first });
    }
    if let (HoldAction::ReleaseBrake(key), true) = (action, written.names.is_empty()) {
        return Err(HoldError::NoSuchTaint(key.clone()));
    }
    let is_brake = matches!(action, HoldAction::ReleaseBrake(_));
    if is_brake || controller_presence::evicts_by_itself(&connected.client, limit).await {
        let now = server_time(connected, options).await;
        let written = WrittenHold { kind: "node", names: &written.names, now };
        return Ok(written.output(action, options.output));
    }
    let read = async || {
        let counts = pod_counts::read(&connected.streams, names, limit).await;
        counts.map_err(|why| REQUEST.unseen(why))
    };
    let counts = read().await?;
    let is_idle = action.missing(&counts) > 0 || action.is_hold() && counts.held == 0;
    let absence = match is_idle {
        true => controller_presence::absence(&connected.client, TOLERATION_HOLD, limit).await,
        false => None,
    };
    let counts = match options.wait() {
        Some(wait) if action.missing(&counts) > 0 => {
            let remaining = |counts: &PodCounts| RemainingPods {
                count: action.missing(counts),
                are_changeable: true,
                progress: action.progress(counts),
            };
            REQUEST.follow(wait, absence.as_deref(), read, remaining).await?
        }
        wait => {
            match absence {
                Some(why) => crate::stderr::warning(&why),
                None if is_idle && wait.is_some() => crate::stderr::note(
                    "no pod of these nodes has seconds to hold, so this command cannot tell whether \
                     toleration-hold-controller runs",
                ),
                None => {}
            }
            counts
        }
    };
    Ok(match options.output {
        HoldOutputFormat::Text => sentences(names, &counts, action),
        HoldOutputFormat::Json => as_json(names, &counts),
    })
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
