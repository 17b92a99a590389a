//! Defines the leader election flags of `taintward run`, and checks them by client-go's rules.

use super::run_args_error::RunArgsError;
use crate::args::{bool_flag, duration, object_names};
use clap::Args;
use std::time::Duration;
use taintward_controller::settings::ElectionSettings;

/// client-go's jitter: the largest factor of a retry period, in tenths.
const JITTER_TENTHS: u32 = 12;

#[derive(Debug, Args)]
#[command(next_help_heading = "Leader election")]
pub(super) struct ElectionArgs {
    /// Writes only while this process holds the lease; required if more than one replica may run
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    leader_elect: bool,
    /// How long a follower waits after the last renewal it observed before it takes the lease; whole seconds
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration::parse)]
    leader_elect_lease_duration: Duration,
    /// How long the leader continues without a successful renewal; less than the lease duration
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    leader_elect_renew_deadline: Duration,
    /// The pause between attempts to acquire or renew the lease; 1.2 times this pause must be less than the renew deadline
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    leader_elect_retry_period: Duration,
    /// The kind of lock; leases is the only one
    #[arg(long, value_name = "KIND", default_value = "leases", value_parser = object_names::lock)]
    leader_elect_resource_lock: String,
    /// The name of the Lease
    #[arg(long, value_name = "NAME", default_value = "taintward", value_parser = object_names::object)]
    leader_elect_resource_name: String,
    /// The namespace of the Lease
    #[arg(long, value_name = "NAME", default_value = "kube-system", value_parser = object_names::namespace)]
    leader_elect_resource_namespace: String,
}

impl ElectionArgs {
    /// The settings; `None` without leader election.
    pub(super) fn resolve(self) -> Result<Option<ElectionSettings>, RunArgsError> {
        let (lease, renew, retry) = (
            self.leader_elect_lease_duration,
            self.leader_elect_renew_deadline,
            self.leader_elect_retry_period,
        );
        if !self.leader_elect {
            return Ok(None);
        }
        if lease.is_zero() || lease.subsec_nanos() != 0 || i32::try_from(lease.as_secs()).is_err() {
            return Err(RunArgsError::LeaseDuration(lease));
        }
        if renew >= lease {
            return Err(RunArgsError::RenewDeadline { lease, renew });
        }
        if retry.is_zero() {
            return Err(RunArgsError::NoRetryPeriod);
        }
        if retry.saturating_mul(JITTER_TENTHS) >= renew.saturating_mul(10) {
            return Err(RunArgsError::RetryPeriod { renew, retry });
        }
        Ok(Some(ElectionSettings {
            lease_duration: lease,
            renew_deadline: renew,
            retry_period: retry,
            name: self.leader_elect_resource_name,
            namespace: self.leader_elect_resource_namespace,
        }))
    }
}
