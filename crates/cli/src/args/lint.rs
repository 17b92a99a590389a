//! # Lint: the flags of `taintward lint`
//! Room:     flags, defaults, words.
//! Comes in: arguments.
//! Goes out: a [`LintPlan`].
//! Not here: what the choices do (`lint.rs`).

use super::gates::{self, Gate, Setting};
use crate::kube_args::KubeArgs;
use crate::lint::{Form, LintPlan, Source};
use crate::output::{self, FORMS, LookArgs, Output, OutputError};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use taintward_core::lint::Severity;
use taintward_core::toleration_matching::NumericOperators;

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
    against_cluster: bool,
    /// How the report is written: sarif (2.1.0, for code scanning), github (annotations of a workflow), or as with other
    /// commands: table, wide, json (a LintReport), yaml, name, custom-columns=SPEC, custom-columns-file=FILE,
    /// jsonpath=TEMPLATE or jsonpath-file=FILE
    #[arg(short, long, value_name = "FORM", default_value = "table", value_parser = written)]
    output: Written,
    /// Lists the rules there are, and reads nothing
    #[arg(long, alias = "list-rules", conflicts_with_all = ["filename", "against_cluster"])]
    rules: bool,
    /// The exit code is 2 if something at least this bad is found
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = FailOn::Error)]
    fail_on: FailOn,
    /// What is silenced, and why; without it .taintward-lint.yaml in the current folder, if there is one
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// An earlier report, written with -o json: what is in it, on the same field of the same object, is silenced
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Feature gates of the cluster the manifests are for, as Name=true; TaintTolerationComparisonOperators (false by
    /// default) is the one that counts here
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = gates::parse)]
    feature_gates: Vec<Setting>,
    #[command(flatten)]
    look: LookArgs,
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

/// Forms of reports, besides those that all commands have.
#[derive(Clone, Debug)]
enum Written {
    Sarif,
    Github,
    Common(output::Form),
}

fn written(text: &str) -> Result<Written, String> {
    match text {
        "sarif" => Ok(Written::Sarif),
        "github" => Ok(Written::Github),
        text => output::Form::parse(text)
            .map(Written::Common)
            .map_err(|why| why.replace(FORMS, &format!("sarif, github, {FORMS}"))),
    }
}

/// Flags that do not go together.
#[derive(Debug, thiserror::Error)]
pub(super) enum LintArgsError {
    #[error(
        "with -f no cluster is read: leave --kubeconfig, --context, --as and the like out, or add --against-cluster"
    )]
    UnusedCluster,
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl LintArgs {
    pub(super) fn settle(self) -> Result<LintPlan, LintArgsError> {
        let fail_on = match self.fail_on {
            FailOn::Error => Some(Severity::Error),
            FailOn::Warning => Some(Severity::Warning),
            FailOn::Info => Some(Severity::Info),
            FailOn::Never => None,
        };
        let from = match self.filename {
            _ if self.rules => Source::Nothing,
            files if files.is_empty() => Source::Cluster(Box::new(self.kube.settle())),
            files if self.against_cluster => Source::Both(files, Box::new(self.kube.settle())),
            _ if self.kube.names_a_cluster() => return Err(LintArgsError::UnusedCluster),
            files => Source::Files(files),
        };
        let numeric = match gates::value(&self.feature_gates, Gate::ComparisonOperators) {
            Some(true) => NumericOperators::On,
            _ => NumericOperators::Off,
        };
        let form = match self.output {
            Written::Sarif => Form::Sarif,
            Written::Github => Form::Github,
            Written::Common(form) => Form::Common(Box::new(Output::new(form, self.look)?)),
        };
        Ok(LintPlan { from, form, fail_on, config: self.config, baseline: self.baseline, numeric })
    }
}
