//! Defines the flags of `taintward hold` and `taintward release`.

use super::pod_counts::PodCounts;
use crate::args::duration;
use crate::args::kube_args::ClusterOptions;
use crate::completion_kind::CompletionKind;
use crate::messages::counted;
use clap::{Args, ValueEnum};
use std::time::Duration;
use taintward_core::time::Span;
use taintward_core::toleration_hold::{MAX_HOLD, ReleaseMode};

/// The label of a node's zone.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The word in the place of a node that lists the holds.
const STATUS: &str = "status";

#[derive(Debug, Args)]
pub(crate) struct HoldTargetArgs {
    /// The names of nodes, or pods as pod/NAME. `hold status` lists the holds and changes nothing; a node of this name is
    /// node/status
    #[arg(value_name = "NODE", add = CompletionKind::NodeName.completer())]
    nodes: Vec<String>,
    /// The nodes of this zone (topology.kubernetes.io/zone)
    #[arg(long, value_name = "ZONE", conflicts_with = "nodes")]
    zone: Option<String>,
    /// All nodes of the cluster
    #[arg(long, conflicts_with_all = ["nodes", "zone"])]
    all: bool,
    /// Write the annotations, and do not wait until the controller has changed the pods
    #[arg(long)]
    no_wait: bool,
    /// How long to wait until the controller has changed the pods
    #[arg(long, value_name = "DURATION", default_value = "2m", value_parser = duration::positive)]
    timeout: Duration,
    /// The output format
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = HoldOutputFormat::Text, hide_default_value = true)]
    pub(crate) output: HoldOutputFormat,
    #[command(flatten)]
    pub(crate) cluster: ClusterOptions,
}

// Nodes are cluster-scoped: the command accepts -A as kubectl does, without effect.
#[derive(Debug, Args)]
#[command(mut_arg("all_namespaces", |arg| arg.hide(true)))]
pub(crate) struct HoldCommandArgs {
    #[command(flatten)]
    pub(crate) targets: HoldTargetArgs,
    /// How long the hold lasts, as in 30m or 2h; 24 hours at most
    #[arg(long = "for", value_name = "DURATION", default_value = "1h", value_parser = hold_for)]
    lasts: Duration,
    /// The reason: a note for users, stored in the annotation
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

#[derive(Debug, Args)]
#[command(mut_arg("all_namespaces", |arg| arg.hide(true)))]
pub(crate) struct ReleaseCommandArgs {
    #[command(flatten)]
    pub(crate) targets: HoldTargetArgs,
    /// Restore all of the pods' own seconds, instead of the rest of their countdown (at least 30 s)
    #[arg(long)]
    full: bool,
    /// Release the brake for this taint key: evictions because of it are not limited on nodes that have the taint
    /// (docs/eviction-brake.md)
    #[arg(long, value_name = "KEY", conflicts_with = "full")]
    taint: Option<String>,
}

/// Hold or release.
#[derive(Debug)]
pub(crate) enum HoldAction {
    Hold {
        lasts: Duration,
        reason: String,
    },
    Release(ReleaseMode),
    /// Release the brake for this taint key.
    ReleaseBrake(String),
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldOutputFormat {
    /// Sentences
    Text,
    /// The nodes, and the number of held pods
    Json,
}

/// The selected nodes or pods.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum HoldTargets {
    Named(Vec<String>),
    /// Pods of the namespace of the command line.
    Pods(Vec<String>),
    /// The nodes with these labels and fields, in kubectl's syntax; all nodes if both are empty.
    Selected {
        labels: String,
        fields: String,
    },
}

/// Why the selected nodes are inconsistent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidTargets {
    #[error("name nodes, or select them with --zone, --selector or --all; nothing was changed")]
    NoNodes,
    #[error("--all and --selector contradict each other; omit one of them")]
    AllAndSelector,
    #[error("names and --selector contradict each other; omit one of them")]
    NamesAndSelector,
    #[error("the command line names nodes and pods; run one command for each")]
    NodesAndPods,
    #[error("the brake is released for nodes; omit the pods")]
    BrakeOfPods,
}

fn hold_for(text: &str) -> Result<Duration, String> {
    let lasts = duration::positive(text)?;
    let longest = Duration::from_micros(MAX_HOLD.as_micros().unsigned_abs());
    let is_short = lasts <= longest;
    is_short.then_some(lasts).ok_or_else(|| "expected at most 24h".to_owned())
}

impl HoldCommandArgs {
    /// The hold, or the release; `None`: list the holds.
    pub(crate) fn action(&self) -> Option<HoldAction> {
        let is_status = self.targets.nodes.first().is_some_and(|first| first == STATUS);
        (!is_status).then(|| HoldAction::Hold { lasts: self.lasts, reason: self.reason.clone() })
    }
}

impl ReleaseCommandArgs {
    pub(crate) fn action(&self) -> HoldAction {
        match &self.taint {
            Some(key) => HoldAction::ReleaseBrake(key.clone()),
            None => HoldAction::Release(if self.full { ReleaseMode::Full } else { ReleaseMode::Remainder }),
        }
    }
}

impl HoldTargetArgs {
    /// How long to wait for the pods; `None`: do not wait.
    pub(crate) fn wait(&self) -> Option<Duration> {
        (!self.no_wait).then_some(self.timeout)
    }

    /// The selected nodes; without an action, the first word is `status`.
    pub(crate) fn targets(&self, action: Option<&HoldAction>) -> Result<HoldTargets, InvalidTargets> {
        let nodes = &self.nodes[usize::from(action.is_none())..];
        let (labels, fields) = (self.cluster.selector(), self.cluster.fields());
        let is_selected = !labels.is_empty() || !fields.is_empty();
        if !nodes.is_empty() {
            let pods: Vec<String> =
                nodes.iter().filter_map(|name| Some(name.strip_prefix("pod/")?.to_owned())).collect();
            let plain = |name: &String| name.strip_prefix("node/").unwrap_or(name).to_owned();
            return match (is_selected, pods.len()) {
                (true, _) => Err(InvalidTargets::NamesAndSelector),
                (false, 0) => Ok(HoldTargets::Named(nodes.iter().map(plain).collect())),
                (false, _) if matches!(action, Some(HoldAction::ReleaseBrake(_))) => {
                    Err(InvalidTargets::BrakeOfPods)
                }
                (false, count) if count == nodes.len() => Ok(HoldTargets::Pods(pods)),
                (false, _) => Err(InvalidTargets::NodesAndPods),
            };
        }
        match (self.all, is_selected || self.zone.is_some()) {
            (true, true) => return Err(InvalidTargets::AllAndSelector),
            // The brake is released on all nodes that have the taint.
            (false, false) if matches!(action, Some(HoldAction::Hold { .. } | HoldAction::Release(_))) => {
                return Err(InvalidTargets::NoNodes);
            }
            _ => {}
        }
        let zone = self.zone.as_ref().map(|zone| format!("{ZONE}={zone}"));
        let labels: Vec<String> = zone.into_iter().chain(Some(labels.to_owned())).collect();
        let labels = labels.into_iter().filter(|labels| !labels.is_empty()).collect::<Vec<_>>().join(",");
        Ok(HoldTargets::Selected { labels, fields: fields.to_owned() })
    }
}

impl HoldAction {
    /// How long the hold lasts; `None`: it is a release.
    pub(crate) fn lasts(&self) -> Option<Span> {
        let Self::Hold { lasts, .. } = self else { return None };
        Some(Span::from_micros(i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX)))
    }

    pub(crate) const fn is_hold(&self) -> bool {
        matches!(self, Self::Hold { .. })
    }

    /// The number of pods that the controller has not changed yet.
    pub(crate) const fn missing(&self, counts: &PodCounts) -> usize {
        match self {
            Self::Hold { .. } => counts.not_held,
            Self::Release(_) => counts.held,
            Self::ReleaseBrake(_) => 0,
        }
    }

    pub(crate) fn progress(&self, counts: &PodCounts) -> String {
        let (held, all) = (counts.held, counts.held + counts.not_held);
        match self {
            Self::Hold { .. } => format!("{held} of {} held", counted(all, "pod")),
            Self::Release(_) | Self::ReleaseBrake(_) => {
                format!("{held} of {} still held", counted(all, "pod"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct HoldCommandLine {
        #[command(flatten)]
        args: HoldCommandArgs,
    }

    fn targets(words: &str) -> Result<HoldTargets, InvalidTargets> {
        let words = std::iter::once("hold").chain(words.split_whitespace());
        let args = HoldCommandLine::try_parse_from(words).unwrap().args;
        args.targets.targets(args.action().as_ref())
    }

    #[test]
    fn nodes_are_named_or_selected_and_all_needs_a_flag() {
        let selected = |labels: &str, fields: &str| {
            Ok(HoldTargets::Selected { labels: labels.to_owned(), fields: fields.to_owned() })
        };
        let labelled = |labels| selected(labels, "");
        assert_eq!(targets("a node/b"), Ok(HoldTargets::Named(vec!["a".into(), "b".into()])));
        assert_eq!(targets("--zone z"), labelled("topology.kubernetes.io/zone=z"));
        assert_eq!(targets("--zone z -l a=b"), labelled("topology.kubernetes.io/zone=z,a=b"));
        assert_eq!(targets("-l a=b"), labelled("a=b"));
        assert_eq!(targets("--all"), labelled(""));
        assert_eq!(targets("-l a=b --field-selector c=d"), selected("a=b", "c=d"));
        assert_eq!(targets("--field-selector c=d"), selected("", "c=d"));
        assert_eq!(targets("a --field-selector c=d"), Err(InvalidTargets::NamesAndSelector));
        assert_eq!(targets(""), Err(InvalidTargets::NoNodes));
        assert_eq!(targets("--all -l a=b"), Err(InvalidTargets::AllAndSelector));
        assert_eq!(targets("a -l a=b"), Err(InvalidTargets::NamesAndSelector));
        assert_eq!(targets("pod/a pod/b"), Ok(HoldTargets::Pods(vec!["a".into(), "b".into()])));
        assert_eq!(targets("pod/a b"), Err(InvalidTargets::NodesAndPods));
        assert_eq!(targets("pod/a -l a=b"), Err(InvalidTargets::NamesAndSelector));
        for words in ["a --all", "a --zone z", "--all --zone z", "a --for 25h", "a --for 0s"] {
            let words = std::iter::once("hold").chain(words.split_whitespace());
            assert!(HoldCommandLine::try_parse_from(words.clone()).is_err(), "{words:?}");
        }
    }
}
