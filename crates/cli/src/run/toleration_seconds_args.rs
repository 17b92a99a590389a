//! Defines the flags of the controllers that change the tolerationSeconds of pods: holds, backfill, the guard.

use super::run_args_error::RunArgsError;
use crate::args::node_limit::{ParsedLimit, limit};
use crate::args::{default_seconds, duration};
use clap::Args;
use std::time::Duration;
use taintward_core::admission::policy::DefaultDurations;
use taintward_core::time::Span;
use taintward_core::toleration_hold::MAX_HOLD;
use taintward_core::toleration_seconds::{BackfillSettings, GuardSettings, HoldLimit, HoldSettings};

#[derive(Debug, Args)]
#[command(next_help_heading = "Holds (toleration-hold-controller)")]
pub(super) struct HoldArgs {
    /// Maximum number of nodes with the taint not-ready or unreachable, in each zone and in the cluster; above it,
    /// Taintward holds the countdowns of their pods. A number, a percentage (at least one node), or both with a comma: the
    /// lower limit applies; with off, only `taintward hold` holds countdowns
    #[arg(long, value_name = "LIMIT", default_value = "10,30%", value_parser = limit)]
    hold_limit: ParsedLimit,
    /// How long a hold lasts after the nodes exceeded --hold-limit; at most 24 hours
    #[arg(long, value_name = "DURATION", default_value = "1h", value_parser = duration::parse)]
    hold_for: Duration,
}

impl HoldArgs {
    /// The settings of holds.
    pub(super) fn config(&self) -> Result<HoldSettings, RunArgsError> {
        let micros = i64::try_from(self.hold_for.as_micros()).unwrap_or(i64::MAX);
        let hold_for = Span::from_micros(micros);
        if !(Span::from_secs(1)..=MAX_HOLD).contains(&hold_for) {
            return Err(RunArgsError::HoldFor(self.hold_for));
        }
        let limit = self.hold_limit.limit().map(|silent| HoldLimit { silent, hold_for });
        Ok(HoldSettings { limit })
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Backfill (toleration-backfill-controller)")]
pub(super) struct BackfillArgs {
    /// The tolerationSeconds that count as a default, which the controller replaces: one value for both taints, or two
    /// with a slash for not-ready and unreachable; each a number, or forever. The API server's own admission sets 300;
    /// add the values of earlier policies
    #[arg(long, value_name = "SECONDS", default_value = "300", value_delimiter = ',', value_parser = default_seconds::parse)]
    backfill_from: Vec<DefaultDurations>,
    /// Maximum number of pods patched per second
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    backfill_qps: u32,
}

impl BackfillArgs {
    /// The settings of backfill.
    pub(super) fn settings(&self) -> BackfillSettings {
        BackfillSettings { replaced: self.backfill_from.clone(), per_second: self.backfill_qps }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Guard (toleration-guard-controller)")]
pub(super) struct GuardArgs {
    /// Maximum number of pods per second for which the controller sets a ceiling, or restores their own seconds; shared
    /// with backfill if both run
    #[arg(long, value_name = "COUNT", default_value = "50", value_parser = clap::value_parser!(u32).range(1..=1000))]
    guard_qps: u32,
}

impl GuardArgs {
    /// The settings of the guard.
    pub(super) fn settings(&self) -> GuardSettings {
        GuardSettings { per_second: self.guard_qps }
    }
}
