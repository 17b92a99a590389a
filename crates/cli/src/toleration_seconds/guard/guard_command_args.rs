//! Defines the flags of `taintward guard`.

use crate::args::duration;
use crate::args::kube_args::ClusterOptions;
use crate::completion_kind::CompletionKind;
use crate::output::OutputArgs;
use clap::{Args, ValueEnum};
use std::time::Duration;
use taintward_core::toleration_guard::{CEILING_MAX, CEILING_MIN};
use taintward_kube::api::RequestBudget;

// Namespaces are cluster-scoped: the command accepts -n and -A as kubectl does, without effect.
#[derive(Debug, Args)]
#[command(mut_arg("namespace", |arg| arg.hide(true)), mut_arg("all_namespaces", |arg| arg.hide(true)))]
pub(crate) struct GuardCommandArgs {
    /// The action
    #[arg(value_name = "ACTION", value_enum)]
    pub(crate) action: GuardAction,
    /// The names of namespaces; status without names shows all guarded ones
    #[arg(value_name = "NAMESPACE", add = CompletionKind::Namespace.completer())]
    namespaces: Vec<String>,
    /// With off: all guarded namespaces
    #[arg(long, conflicts_with = "namespaces")]
    all: bool,
    /// With on: the ceiling, after which kube-controller-manager evicts a pod that Taintward has not evicted, counted from
    /// the taint of the silent node; whole seconds, from 10s to 168h
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = ceiling)]
    pub(crate) ceiling: i64,
    /// With on and off: write the labels, and do not wait until the controller has changed the pods
    #[arg(long)]
    no_wait: bool,
    /// With on and off: how long to wait until the controller has changed the pods
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::positive)]
    timeout: Duration,
    #[command(flatten)]
    pub(crate) cluster: ClusterOptions,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GuardAction {
    /// Gives the pods of namespaces a ceiling, and makes Taintward evict them by their own seconds
    On,
    /// Restores each pod's own seconds
    Off,
    /// Shows which pods are guarded, and which pods no ceiling covers
    Status,
}

/// The selected namespaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GuardTargets {
    Named(Vec<String>),
    /// The namespaces with these labels, in kubectl's syntax.
    Labelled(String),
    /// All guarded namespaces.
    Guarded,
}

/// Why the selected namespaces are inconsistent.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum InvalidGuardTargets {
    #[error("name namespaces, or select them with --selector; nothing was changed")]
    NoNamespaces,
    #[error(
        "name namespaces, or select them with --selector, or use --all for every guarded one; nothing was \
         changed"
    )]
    NoneToRelease,
    #[error("names and --selector contradict each other; omit one of them")]
    NamesAndSelector,
    #[error("--all works with `guard off` only, and without names or --selector; omit it")]
    All,
}

fn ceiling(text: &str) -> Result<i64, String> {
    let lasts = duration::positive(text)?;
    let seconds = i64::try_from(lasts.as_secs()).unwrap_or(i64::MAX);
    let fits = lasts.subsec_nanos() == 0 && (CEILING_MIN..=CEILING_MAX).contains(&seconds);
    fits.then_some(seconds).ok_or_else(|| "expected whole seconds from 10s to 168h".to_owned())
}

impl GuardCommandArgs {
    /// How long to wait for the pods; `None`: do not wait.
    pub(crate) fn wait(&self) -> Option<Duration> {
        (!self.no_wait).then_some(self.timeout)
    }

    /// How long requests may take: those of a command that waits for pods are limited each by itself.
    pub(crate) fn timeout(&self) -> RequestBudget {
        match self.action {
            GuardAction::Status => self.cluster.server.timeout,
            GuardAction::On | GuardAction::Off => self.cluster.server.timeout.only_each(),
        }
    }

    /// The selected namespaces.
    pub(crate) fn targets(&self) -> Result<GuardTargets, InvalidGuardTargets> {
        let selector = self.cluster.selector();
        if self.all && (self.action != GuardAction::Off || !selector.is_empty()) {
            return Err(InvalidGuardTargets::All);
        }
        match (self.namespaces.is_empty(), selector.is_empty()) {
            (false, true) => {
                let plain = |name: &String| name.strip_prefix("namespace/").unwrap_or(name).to_owned();
                Ok(GuardTargets::Named(self.namespaces.iter().map(plain).collect()))
            }
            (false, false) => Err(InvalidGuardTargets::NamesAndSelector),
            (true, false) => Ok(GuardTargets::Labelled(selector.to_owned())),
            (true, true) => match self.action {
                GuardAction::Status => Ok(GuardTargets::Guarded),
                GuardAction::Off if self.all => Ok(GuardTargets::Guarded),
                GuardAction::Off => Err(InvalidGuardTargets::NoneToRelease),
                GuardAction::On => Err(InvalidGuardTargets::NoNamespaces),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct GuardCommandLine {
        #[command(flatten)]
        args: GuardCommandArgs,
    }

    fn options(words: &str) -> GuardCommandArgs {
        let words = std::iter::once("guard").chain(words.split_whitespace());
        GuardCommandLine::try_parse_from(words).unwrap().args
    }

    #[test]
    fn namespaces_are_named_or_selected_and_all_needs_a_flag() {
        let targets = |words| options(words).targets();
        let named = |names: &[&str]| Ok(GuardTargets::Named(names.iter().map(|&name| name.into()).collect()));
        assert_eq!(targets("on shop namespace/web"), named(&["shop", "web"]));
        assert_eq!(targets("on -l team=a"), Ok(GuardTargets::Labelled("team=a".into())));
        assert_eq!(targets("off shop"), named(&["shop"]));
        assert_eq!(targets("off --all"), Ok(GuardTargets::Guarded));
        assert_eq!(targets("status"), Ok(GuardTargets::Guarded));
        assert_eq!(targets("on"), Err(InvalidGuardTargets::NoNamespaces));
        assert_eq!(targets("off"), Err(InvalidGuardTargets::NoneToRelease));
        assert_eq!(targets("on shop -l a=b"), Err(InvalidGuardTargets::NamesAndSelector));
        assert_eq!(targets("on --all"), Err(InvalidGuardTargets::All));
        assert_eq!(targets("off --all -l a=b"), Err(InvalidGuardTargets::All));
    }

    #[test]
    fn a_ceiling_is_whole_seconds_from_ten_to_seven_days() {
        assert_eq!(options("on shop").ceiling, 3600);
        assert_eq!(options("on shop --ceiling 90s").ceiling, 90);
        assert_eq!(options("on shop --ceiling 168h").ceiling, 604_800);
        for odd in ["9s", "169h", "0s", "90.5s", "x", "-1h"] {
            let words = ["guard", "on", "shop", "--ceiling", odd];
            assert!(GuardCommandLine::try_parse_from(words).is_err(), "{odd}");
        }
    }
}
