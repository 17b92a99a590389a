//! Defines the flag of toleration-guard-controller.

use clap::Args;
use taintward_core::toleration_seconds::GuardSettings;

/// The id of the flag that only the guard uses.
pub(crate) const GUARD_IDS: [(&str, &str); 1] = [("guard_qps", "--guard-qps")];

#[derive(Debug, Args)]
#[command(next_help_heading = "Guard (toleration-guard-controller)")]
pub(crate) struct GuardArgs {
    /// Maximum number of pods per second for which the controller sets a ceiling, or restores their own seconds; shared
    /// with backfill if both run
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(env = "TAINTWARD_GUARD_QPS", hide_env = true)]
    guard_qps: u32,
}

impl GuardArgs {
    /// The settings of the guard.
    pub(crate) fn settings(&self) -> GuardSettings {
        GuardSettings { per_second: self.guard_qps }
    }
}
