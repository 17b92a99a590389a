//! Formats why a pod is unschedulable, verbatim as kube-scheduler's `FailedScheduling` event does.

use super::{FilterRejection, PodSchedulingSpec, SchedulerPlugin, UnschedulableReason};
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

impl fmt::Display for UnschedulableReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unschedulable => f.write_str("node(s) were unschedulable"),
            Self::UntoleratedTaint => f.write_str("node(s) had untolerated taint(s)"),
            Self::NodeAffinity => f.write_str("node(s) didn't match Pod's node affinity/selector"),
            Self::NotNamed => {
                write!(f, "node(s) didn't satisfy plugin(s) [{}]", SchedulerPlugin::NodeAffinity.as_str())
            }
            Self::AffinityConflict => f.write_str("pod affinity terms conflict"),
            Self::TooManyPods => f.write_str("Too many pods"),
            Self::Insufficient(resource) => write!(f, "Insufficient {resource}"),
        }
    }
}

/// Returns why no node fits the pod (SC-1, SC-4); `unfit` has one entry for each existing node.
///
/// If preemption might help, the message says that no victims were found: it is for pods where no node has pods of
/// lower priority.
pub fn why_none(spec: &PodSchedulingSpec, unfit: &[FilterRejection]) -> String {
    if unfit.is_empty() {
        return "no nodes available to schedule pods".into();
    }
    let conflict = unfit
        .iter()
        .flat_map(|one| &one.reasons)
        .find(|reason| **reason == UnschedulableReason::AffinityConflict);
    let why = match conflict {
        Some(conflict) => conflict.to_string(),
        None => histogram(unfit.iter().flat_map(|one| &one.reasons).map(ToString::to_string)),
    };
    format!(
        "0/{nodes} nodes are available: {why}. preemption: {}",
        preemption(spec, unfit),
        nodes = unfit.len()
    )
}

fn preemption(spec: &PodSchedulingSpec, unfit: &[FilterRejection]) -> String {
    if !spec.preempts {
        return "not eligible due to preemptionPolicy=Never.".into();
    }
    let why = histogram(unfit.iter().map(|one| match one.preemption_may_help {
        true => "No preemption victims found for incoming pod".into(),
        false => "Preemption is not helpful for scheduling".into(),
    }));
    format!("0/{} nodes are available: {why}.", unfit.len())
}

/// Counts the reasons, sorted as text: ten of one come before two of another.
fn histogram(reasons: impl Iterator<Item = String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reason in reasons {
        *counts.entry(reason).or_default() += 1;
    }
    let mut parts: Vec<String> = counts.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
    parts.sort_unstable();
    parts.join(", ")
}
