//! Defines the flags of `taintward lint`.

use crate::args::feature_gates::{self, FeatureGate, GateSetting};
use crate::args::kube_args::{ClusterOptions, KubeArgs};
use crate::output::{self, FORMS, OutputError, OutputOptions, TableArgs};
use clap::{Args, ValueEnum};
use std::path::PathBuf;
use taintward_core::lint::Severity;
use taintward_core::toleration_matching::NumericOperators;

#[derive(Debug, Args)]
pub(crate) struct LintArgs {
    /// Files and folders, as with -f
    #[arg(
        value_name = "PATH",
        conflicts_with_all = ["namespace", "all_namespaces", "selector", "field_selector"]
    )]
    paths: Vec<PathBuf>,
    /// A file of YAML or JSON, a folder with all its .yaml, .yml and .json files, or - for standard input; may be
    /// repeated. The default is the current cluster
    #[arg(
        short,
        long,
        value_name = "FILE|FOLDER|-",
        conflicts_with_all = ["namespace", "all_namespaces", "selector", "field_selector"]
    )]
    filename: Vec<PathBuf>,
    /// Check the files against the nodes and DaemonSets of the current cluster
    #[arg(long)]
    against_cluster: bool,
    /// The output format: sarif (2.1.0, for code scanning), github (annotations of a workflow), or as with other
    /// commands: table, wide, json (a LintReport), yaml, name, custom-columns=SPEC, custom-columns-file=FILE,
    /// jsonpath=TEMPLATE or jsonpath-file=FILE
    #[arg(short, long, value_name = "FORM", default_value = "table", value_parser = written)]
    output: LintOutputArg,
    /// List all rules, and read nothing
    #[arg(long, conflicts_with_all = ["paths", "filename", "against_cluster"])]
    rules: bool,
    /// The lowest severity that makes the exit code 2
    #[arg(long, value_name = "SEVERITY", value_enum, default_value_t = LintFailOn::Error)]
    fail_on: LintFailOn,
    /// The config file, which lists silenced findings with reasons. The default is .taintward-lint.yaml in the current
    /// folder, if it exists
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// An earlier report, written with -o json: its findings are silenced, on the same field of the same object
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Feature gates of the cluster that the manifests are for, as Name=true; only TaintTolerationComparisonOperators
    /// (false by default) has an effect here
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = feature_gates::parse)]
    feature_gates: Vec<GateSetting>,
    #[command(flatten)]
    look: TableArgs,
    #[command(flatten)]
    kube: KubeArgs,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LintFailOn {
    Error,
    Warning,
    Info,
    Never,
}

/// Report formats besides those of all commands.
#[derive(Clone, Debug)]
enum LintOutputArg {
    Sarif,
    Github,
    Common(output::OutputFormat),
}

fn written(text: &str) -> Result<LintOutputArg, String> {
    match text {
        "sarif" => Ok(LintOutputArg::Sarif),
        "github" => Ok(LintOutputArg::Github),
        text => output::OutputFormat::parse(text)
            .map(LintOutputArg::Common)
            .map_err(|why| why.replace(FORMS, &format!("sarif, github, {FORMS}"))),
    }
}

/// The options of `taintward lint`.
#[derive(Debug)]
pub(crate) struct LintOptions {
    pub(crate) from: LintSource,
    pub(crate) form: LintForm,
    /// Findings of at least this severity make the exit code 2; `None`: none does.
    pub(crate) fail_on: Option<Severity>,
    /// From `--config`.
    pub(crate) config: Option<PathBuf>,
    /// From `--baseline`: an earlier report, whose findings are not counted again.
    pub(crate) baseline: Option<PathBuf>,
    pub(crate) numeric: NumericOperators,
}

/// The source of tolerations and taints.
#[derive(Debug)]
pub(crate) enum LintSource {
    Files(Vec<PathBuf>),
    /// Only the rules are listed.
    Nothing,
    Cluster(Box<ClusterOptions>),
    /// Files, checked against the nodes and DaemonSets of a cluster.
    Both(Vec<PathBuf>, Box<ClusterOptions>),
}

/// The format of the report.
#[derive(Clone, Debug)]
pub(crate) enum LintForm {
    /// A format that all commands have.
    Common(Box<OutputOptions>),
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands, for GitHub Actions
    Github,
}

/// Why the flags are inconsistent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LintArgsError {
    #[error(
        "with files the command reads no cluster; omit --kubeconfig, --context, --as and similar flags, or add \
         --against-cluster"
    )]
    UnusedCluster,
    #[error("--against-cluster checks files against the cluster; name them, as in taintward lint FILE")]
    NoFiles,
    #[error(transparent)]
    Output(#[from] OutputError),
}

impl LintArgs {
    pub(crate) fn resolve(self) -> Result<LintOptions, LintArgsError> {
        let fail_on = match self.fail_on {
            LintFailOn::Error => Some(Severity::Error),
            LintFailOn::Warning => Some(Severity::Warning),
            LintFailOn::Info => Some(Severity::Info),
            LintFailOn::Never => None,
        };
        let files: Vec<PathBuf> = self.filename.into_iter().chain(self.paths).collect();
        let from = match files {
            _ if self.rules => LintSource::Nothing,
            files if files.is_empty() && self.against_cluster => return Err(LintArgsError::NoFiles),
            files if files.is_empty() => LintSource::Cluster(Box::new(self.kube.resolve())),
            files if self.against_cluster => LintSource::Both(files, Box::new(self.kube.resolve())),
            _ if self.kube.names_a_cluster() => return Err(LintArgsError::UnusedCluster),
            files => LintSource::Files(files),
        };
        let numeric = match feature_gates::value(&self.feature_gates, FeatureGate::ComparisonOperators) {
            Some(true) => NumericOperators::On,
            _ => NumericOperators::Off,
        };
        let form = match self.output {
            LintOutputArg::Sarif => LintForm::Sarif,
            LintOutputArg::Github => LintForm::Github,
            LintOutputArg::Common(form) => LintForm::Common(Box::new(OutputOptions::new(form, self.look)?)),
        };
        Ok(LintOptions { from, form, fail_on, config: self.config, baseline: self.baseline, numeric })
    }
}
