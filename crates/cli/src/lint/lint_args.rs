//! Defines the flags of `taintward lint`.

use crate::args::choice::choice;
use crate::args::feature_gates::{self, GateSetting};
use crate::args::kube_args::ClusterOptions;
use crate::output::{FORMS, OutputArgs, OutputFormat, TableArgs};
use clap::Args;
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
    pub(crate) output: LintForm,
    /// List all rules, and read nothing
    #[arg(long, conflicts_with_all = ["paths", "filename", "against_cluster"])]
    pub(crate) rules: bool,
    /// The lowest severity that makes the exit code 2
    #[arg(long, value_name = "SEVERITY", default_value = "error", value_parser = choice(FAIL_ON))]
    pub(crate) fail_on: FailOn,
    /// The config file, which lists silenced findings with reasons. The default is .taintward-lint.yaml in the current
    /// folder, if it exists
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// An earlier report, written with -o json: its findings are silenced, on the same field of the same object
    #[arg(long, value_name = "FILE")]
    pub(crate) baseline: Option<PathBuf>,
    /// Feature gates of the cluster that the manifests are for, as Name=true; only TaintTolerationComparisonOperators
    /// (false by default) has an effect here
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = feature_gates::parse)]
    feature_gates: Vec<GateSetting>,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    cluster: ClusterOptions,
}

/// The lowest severity that makes the exit code 2; `None`: none does.
type FailOn = Option<Severity>;

const FAIL_ON: [(&str, FailOn); 4] = [
    ("error", Some(Severity::Error)),
    ("warning", Some(Severity::Warning)),
    ("info", Some(Severity::Info)),
    ("never", None),
];

/// The format of the report.
#[derive(Clone, Debug)]
pub(crate) enum LintForm {
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Workflow commands, for GitHub Actions
    Github,
    /// A format that all commands have.
    Common(OutputFormat),
}

fn written(text: &str) -> Result<LintForm, String> {
    match text {
        "sarif" => Ok(LintForm::Sarif),
        "github" => Ok(LintForm::Github),
        text => OutputFormat::parse(text)
            .map(LintForm::Common)
            .map_err(|why| why.replace(FORMS, &format!("sarif, github, {FORMS}"))),
    }
}

impl LintArgs {
    /// Checks the flags against each other.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        match (self.has_files(), self.against_cluster) {
            (false, true) => Err(
                "--against-cluster checks files against the cluster; name them, as in taintward lint FILE",
            ),
            (true, false) if self.cluster.names_a_cluster() => Err(
                "with files the command reads no cluster; omit --kubeconfig, --context, --as and similar flags, \
                    or add --against-cluster",
            ),
            _ => Ok(()),
        }
    }

    fn has_files(&self) -> bool {
        !(self.filename.is_empty() && self.paths.is_empty())
    }

    pub(crate) fn files(&self) -> Vec<PathBuf> {
        self.filename.iter().chain(&self.paths).cloned().collect()
    }

    /// The cluster to read, if any.
    pub(crate) fn cluster(&self) -> Option<&ClusterOptions> {
        (!self.rules && (self.against_cluster || !self.has_files())).then_some(&self.cluster)
    }

    /// The options of a format that all commands have.
    pub(crate) fn common_output(&self) -> Option<OutputArgs> {
        match &self.output {
            LintForm::Common(output) => {
                Some(OutputArgs { output: output.clone(), table: self.table.clone() })
            }
            LintForm::Sarif | LintForm::Github => None,
        }
    }

    pub(crate) fn numeric(&self) -> NumericOperators {
        feature_gates::numeric(&self.feature_gates)
    }
}
