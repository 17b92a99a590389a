//! Defines the flags that `plan`, `explain` and `pending` share: time, feature gates, cluster and output.

use super::feature_gates::{self, GateSetting};
use crate::args::kube_args::ClusterOptions;
use crate::output::OutputArgs;
use clap::Args;
use jiff::Timestamp;
use taintward_core::toleration_matching::NumericOperators;

#[derive(Debug, Args)]
pub(crate) struct ClusterStateArgs {
    /// The time to evaluate at, for files that were written earlier. The default is now
    #[arg(long, value_name = "TIME", value_parser = as_of)]
    pub(crate) as_of: Option<Timestamp>,
    /// Feature gates of the cluster, as Name=true; only TaintTolerationComparisonOperators (false by default) has an
    /// effect here
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = feature_gates::parse)]
    feature_gates: Vec<GateSetting>,
    #[command(flatten)]
    pub(crate) output: OutputArgs,
    #[command(flatten)]
    pub(crate) cluster: ClusterOptions,
}

/// Parses a time with its zone.
fn as_of(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| EXPECTED.to_owned())
}

/// The expected format of a time.
pub(crate) const EXPECTED: &str =
    "expected a time with its zone, such as 2026-11-21T14:00:00Z or 2026-11-21T15:00:00+01:00";

impl ClusterStateArgs {
    /// Whether the cluster compares numbers.
    pub(crate) fn numeric(&self) -> NumericOperators {
        feature_gates::numeric(&self.feature_gates)
    }
}
