//! Defines the flags of toleration-backfill-controller.

use clap::Args;
use taintward_core::admission::DefaultSeconds;
use taintward_core::toleration_seconds::BackfillSettings;

/// The ids of the flags that only backfill reads.
pub(super) const BACKFILL_IDS: [(&str, &str); 2] =
    [("backfill_from", "--backfill-from"), ("backfill_qps", "--backfill-qps")];

#[derive(Debug, Args)]
#[command(next_help_heading = "Backfill (toleration-backfill-controller)")]
pub(super) struct BackfillArgs {
    /// Which tolerationSeconds count as a default, and are replaced: a number for both taints, or two with a slash for
    /// not-ready and unreachable. The first is what the API server's own admission gives; add those that an earlier
    /// policy gave
    #[arg(long, value_name = "SECONDS", default_value = "300", value_delimiter = ',', value_parser = seconds)]
    #[arg(env = "TAINTWARD_BACKFILL_FROM", hide_env = true)]
    backfill_from: Vec<DefaultSeconds>,
    /// Pods that are patched in a second, at most
    #[arg(long, value_name = "COUNT", default_value = "20", value_parser = clap::value_parser!(u32).range(1..=1000))]
    #[arg(env = "TAINTWARD_BACKFILL_QPS", hide_env = true)]
    backfill_qps: u32,
}

/// No seconds of default tolerations.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("expected seconds from 0 on, or those of not-ready and unreachable with a slash (300, 60/600)")]
pub(super) struct NotSeconds;

/// Reads an entry of `--backfill-from`.
fn seconds(text: &str) -> Result<DefaultSeconds, NotSeconds> {
    let number = |text: &str| text.parse::<u32>().map(i64::from).map_err(|_| NotSeconds);
    let (not_ready, unreachable) = text.split_once('/').unwrap_or((text, text));
    Ok(DefaultSeconds { not_ready: number(not_ready)?, unreachable: number(unreachable)? })
}

impl BackfillArgs {
    /// By what backfill goes.
    pub(super) fn settings(&self) -> BackfillSettings {
        BackfillSettings { replaced: self.backfill_from.clone(), per_second: self.backfill_qps }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_are_for_both_taints_or_for_each() {
        for (text, not_ready, unreachable) in [("300", 300, 300), ("60/600", 60, 600), ("0", 0, 0)] {
            assert_eq!(seconds(text), Ok(DefaultSeconds { not_ready, unreachable }), "{text}");
        }
        for text in ["", "/", "60/", "/60", "-1", "1/2/3", "forever", "60s", " 60", "1e3", "9999999999"] {
            assert_eq!(seconds(text), Err(NotSeconds), "{text}");
        }
    }
}
