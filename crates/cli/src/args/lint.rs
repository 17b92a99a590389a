//! # Lint: the flags of `taintward lint`
//! Room:     flags, defaults, words.
//! Comes in: arguments.
//! Goes out: a [`LintPlan`].
//! Not here: what the choices do (`lint.rs`).

use super::gates::{self, Gate, Setting};
use crate::kube_args::KubeArgs;
use crate::lint::{Form, LintPlan, Paper, Source};
use crate::paint::ColorChoice;
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use taintward_core::lint::Severity;
use taintward_core::matching::NumericOperators;

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// A file of YAML or JSON, a folder with all its .yaml, .yml and .json files, or - for standard input; may be
    /// repeated. Without it the current cluster is read
    #[arg(
        short,
        long,
        value_name = "FILE|FOLDER|-",
        conflicts_with_all = ["namespace", "all_namespaces", "selector", "field_selector"]
    )]
    filename: Vec<PathBuf>,
    /// With -f: hold the files against the nodes and DaemonSets of the current cluster
    #[arg(long, requires = "filename")]
    cluster: bool,
    /// How the report is written
    #[arg(short, long, value_name = "FORM", value_enum, default_value_t = Form::Table)]
    output: Form,
    /// The exit code is 2 if something at least this bad is found
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
    /// What is silenced, and why; without it .taintward-lint.yaml in the current folder, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Feature gates of the cluster the manifests are for, as Name=true; TaintTolerationComparisonOperators (false by
    /// default) is the one that counts here
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = gates::parse)]
    feature_gates: Vec<Setting>,
    /// When the table has colours
    #[arg(long, value_name = "WHEN", value_enum, default_value_t = ColorChoice::Auto)]
    color: ColorChoice,
    #[command(flatten)]
    kube: KubeArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum FailOn {
    Error,
    Warning,
    Info,
    Never,
}

/// A cluster is named, and none is read.
#[derive(Debug, thiserror::Error)]
#[error("with -f no cluster is read: leave --kubeconfig and --context out, or add --cluster")]
pub(super) struct UnusedCluster;

impl LintArgs {
    pub(super) fn settle(self) -> Result<LintPlan, UnusedCluster> {
        let fail_on = match self.fail_on {
            FailOn::Error => Some(Severity::Error),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Info => Some(Severity::Info),
            FailOn::Never => None,
        };
        let from = match self.filename {
            files if files.is_empty() => Source::Cluster(Box::new(self.kube.settle())),
            files if self.cluster => Source::Both(files, Box::new(self.kube.settle())),
            _ if self.kube.names_a_cluster() => return Err(UnusedCluster),
            files => Source::Files(files),
        };
        let numeric = match gates::value(&self.feature_gates, Gate::ComparisonOperators) {
            Some(true) => NumericOperators::On,
            _ => NumericOperators::Off,
        };
        let paper = Paper::of_standard_output(self.color.paints());
        Ok(LintPlan { from, form: self.output, fail_on, config: self.config, numeric, paper })
    }
}
