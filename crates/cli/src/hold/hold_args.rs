//! Defines the flags of `taintward hold` and `taintward release`.

use super::pod_counts::PodCounts;
use crate::args::controllers::TOLERATION_HOLD;
use crate::args::duration;
use crate::args::kube_args::{ClusterOptions, KubeArgs};
use crate::completion_kind::CompletionKind;
use crate::messages::counted;
use clap::{Args, ValueEnum};
use std::time::Duration;
use taintward_core::toleration_hold::{MAX_HOLD, ReleaseMode};

/// The label of a node's zone.
const ZONE: &str = "topology.kubernetes.io/zone";

/// The word in the place of a node that lists the holds.
const STATUS: &str = "status";

#[derive(Debug, Args)]
struct HoldTargetArgs {
    /// The names of nodes. `hold status` lists the holds and changes nothing; a node of this name is node/status
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
    output: HoldOutputFormat,
    #[command(flatten)]
    kube: KubeArgs,
}

// Nodes are cluster-scoped: the command accepts -n and -A as kubectl does, without effect.
#[derive(Debug, Args)]
#[command(mut_arg("namespace", |arg| arg.hide(true)), mut_arg("all_namespaces", |arg| arg.hide(true)))]
pub(crate) struct HoldCommandArgs {
    #[command(flatten)]
    targets: HoldTargetArgs,
    /// How long the hold lasts, as in 30m or 2h; 24 hours at most
    #[arg(long = "for", value_name = "DURATION", default_value = "1h", value_parser = hold_for)]
    lasts: Duration,
    /// The reason: a note for users, stored in the annotation
    #[arg(long, value_name = "TEXT", default_value = "")]
    reason: String,
}

#[derive(Debug, Args)]
#[command(mut_arg("namespace", |arg| arg.hide(true)), mut_arg("all_namespaces", |arg| arg.hide(true)))]
pub(crate) struct ReleaseCommandArgs {
    #[command(flatten)]
    targets: HoldTargetArgs,
    /// Restore all of the pods' own seconds, instead of the rest of their countdown (at least 30 s)
    #[arg(long)]
    full: bool,
}

/// The action, and its nodes.
#[derive(Debug)]
pub(crate) struct HoldOptions {
    /// `None`: list the holds.
    pub(super) action: Option<HoldAction>,
    /// How long to wait for the pods; `None`: do not wait.
    pub(super) wait: Option<Duration>,
    pub(super) form: HoldOutputFormat,
    pub(super) cluster: ClusterOptions,
    nodes: Vec<String>,
    zone: Option<String>,
    all: bool,
}

/// Hold or release.
#[derive(Debug)]
pub(super) enum HoldAction {
    Hold { lasts: Duration, reason: String },
    Release(ReleaseMode),
}

/// The output format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HoldOutputFormat {
    /// Sentences
    Text,
    /// The nodes, and the number of held pods
    Json,
}

/// The selected nodes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum HoldTargets {
    Named(Vec<String>),
    /// The nodes with these labels and fields, in kubectl's syntax; all nodes if both are empty.
    Selected {
        labels: String,
        fields: String,
    },
}

/// Why the selected nodes are inconsistent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum InvalidTargets {
    #[error("name nodes, or select them with --zone, --selector or --all; nothing was changed")]
    NoNodes,
    #[error("--all and --selector contradict each other; omit one of them")]
    AllAndSelector,
    #[error("names and --selector contradict each other; omit one of them")]
    NamesAndSelector,
}

fn hold_for(text: &str) -> Result<Duration, String> {
    let lasts = duration::positive(text)?;
    let longest = Duration::from_micros(MAX_HOLD.as_micros().unsigned_abs());
    let is_short = lasts <= longest;
    is_short.then_some(lasts).ok_or_else(|| "expected at most 24h".to_owned())
}

impl HoldTargetArgs {
    fn resolve(self, action: Option<HoldAction>) -> HoldOptions {
        HoldOptions {
            action,
            wait: (!self.no_wait).then_some(self.timeout),
            form: self.output,
            cluster: self.kube.resolve(),
            nodes: self.nodes,
            zone: self.zone,
            all: self.all,
        }
    }
}

impl HoldCommandArgs {
    pub(crate) fn resolve(mut self) -> HoldOptions {
        if self.targets.nodes.first().is_some_and(|first| first == STATUS) {
            self.targets.nodes.remove(0);
            return self.targets.resolve(None);
        }
        self.targets.resolve(Some(HoldAction::Hold { lasts: self.lasts, reason: self.reason }))
    }
}

impl ReleaseCommandArgs {
    pub(crate) fn resolve(self) -> HoldOptions {
        let mode = if self.full { ReleaseMode::Full } else { ReleaseMode::Remainder };
        self.targets.resolve(Some(HoldAction::Release(mode)))
    }
}

impl HoldOptions {
    /// The selected nodes.
    pub(super) fn targets(&self) -> Result<HoldTargets, InvalidTargets> {
        let (labels, fields) = (&self.cluster.selector, &self.cluster.fields);
        let is_selected = !labels.is_empty() || !fields.is_empty();
        if !self.nodes.is_empty() {
            let plain = |name: &String| name.strip_prefix("node/").unwrap_or(name).to_owned();
            let named = || HoldTargets::Named(self.nodes.iter().map(plain).collect());
            return (!is_selected).then(named).ok_or(InvalidTargets::NamesAndSelector);
        }
        match (self.all, is_selected || self.zone.is_some()) {
            (true, true) => return Err(InvalidTargets::AllAndSelector),
            (false, false) if self.action.is_some() => return Err(InvalidTargets::NoNodes),
            (false, false) => {}
            (true, false) | (false, true) => {}
        }
        let zone = self.zone.as_ref().map(|zone| format!("{ZONE}={zone}"));
        let labels: Vec<String> = zone.into_iter().chain(Some(labels.clone())).collect();
        let labels = labels.into_iter().filter(|labels| !labels.is_empty()).collect::<Vec<_>>().join(",");
        Ok(HoldTargets::Selected { labels, fields: fields.clone() })
    }
}

impl HoldAction {
    /// The controller that changes the pods.
    pub(super) const CONTROLLER: &'static str = TOLERATION_HOLD;

    pub(super) const fn is_hold(&self) -> bool {
        matches!(self, Self::Hold { .. })
    }

    /// The number of pods that the controller has not changed yet.
    pub(super) const fn missing(&self, counts: &PodCounts) -> usize {
        match self {
            Self::Hold { .. } => counts.not_held,
            Self::Release(_) => counts.held,
        }
    }

    pub(super) fn progress(&self, counts: &PodCounts) -> String {
        let (held, all) = (counts.held, counts.held + counts.not_held);
        match self {
            Self::Hold { .. } => format!("{held} of {} held", counted(all, "pod")),
            Self::Release(_) => format!("{held} of {} still held", counted(all, "pod")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: HoldCommandArgs,
    }

    fn targets(words: &str) -> Result<HoldTargets, InvalidTargets> {
        let words = std::iter::once("hold").chain(words.split_whitespace());
        Line::try_parse_from(words).unwrap().args.resolve().targets()
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
        for words in ["a --all", "a --zone z", "--all --zone z", "a --for 25h", "a --for 0s"] {
            let words = std::iter::once("hold").chain(words.split_whitespace());
            assert!(Line::try_parse_from(words.clone()).is_err(), "{words:?}");
        }
    }
}
