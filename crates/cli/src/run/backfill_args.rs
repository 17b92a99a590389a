//! Defines the flags of toleration-backfill-controller.

use crate::args::default_seconds;
use clap::Args;
use taintward_core::admission::policy::DefaultDurations;
use taintward_core::toleration_seconds::BackfillSettings;

/// The ids of the flags that only backfill uses.
pub(super) const BACKFILL_IDS: [(&str, &str); 2] =
    [("backfill_from", "--backfill-from"), ("backfill_qps", "--backfill-qps")];

#[derive(Debug, Args)]
#[command(next_help_heading = "Backfill (toleration-backfill-controller)")]
pub(super) struct BackfillArgs {
    /// The tolerationSeconds that count as a default, which the controller replaces: one value for both taints, or two
    /// with a slash for not-ready and unreachable; each a number, or forever. The API server's own admission sets 300;
    /// add the values of earlier policies
    #[arg(long, value_name = "SECONDS", default_value = "300", value_delimiter = ',', value_parser = default_seconds::parse)]
    #[arg(env = "TAINTWARD_BACKFILL_FROM", hide_env = true)]
    backfill_from: Vec<DefaultDurations>,
    /// Maximum number of pods patched per second
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(env = "TAINTWARD_BACKFILL_QPS", hide_env = true)]
    backfill_qps: u32,
}

impl BackfillArgs {
    /// The settings of backfill.
    pub(super) fn settings(&self) -> BackfillSettings {
        BackfillSettings { replaced: self.backfill_from.clone(), per_second: self.backfill_qps }
    }
}
