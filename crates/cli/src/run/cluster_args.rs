//! Defines the flags of `taintward run` about its cluster: the kubeconfig, the request rate, relists.

use super::rate::rate;
use super::run_args_error::RunArgsError;
use crate::args::duration;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use taintward_controller::settings::{ClusterAccess, RequestLimit};

/// Listing everything more often than this is no safety net but a burden.
const RELIST_SHORTEST: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
#[command(next_help_heading = "The cluster")]
pub(super) struct ClusterArgs {
    /// The kubeconfig file; without it $KUBECONFIG, ~/.kube/config, then the in-cluster service account
    #[arg(long, value_name = "FILE", env = "TAINTWARD_KUBECONFIG", hide_env = true)]
    kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig; without it the file's current one
    #[arg(long, value_name = "NAME", env = "TAINTWARD_CONTEXT", hide_env = true)]
    context: Option<String>,
    /// Requests a second at most; 0 sets no limit and leaves it to the API server's own fairness
    #[arg(long, value_name = "RATE", default_value = "0", allow_negative_numbers = true, value_parser = rate)]
    #[arg(env = "TAINTWARD_KUBE_API_QPS", hide_env = true)]
    kube_api_qps: f64,
    /// Requests at once after a pause, if --kube-api-qps sets a limit
    #[arg(long, value_name = "COUNT", default_value = "30", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(env = "TAINTWARD_KUBE_API_BURST", hide_env = true)]
    kube_api_burst: u32,
    /// How old the last list of all nodes and pods may become before they are listed again, so that an event lost by the
    /// API server or a proxy is found; countdowns stay as they are. Costs the API server one full read of both each
    /// time; 0 trusts the watch and never does it
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_RELIST_INTERVAL", hide_env = true)]
    relist_interval: Duration,
}

impl ClusterArgs {
    pub(super) fn resolve(self) -> Result<ClusterAccess, RunArgsError> {
        let limit = (self.kube_api_qps > 0.0)
            .then_some(RequestLimit { qps: self.kube_api_qps, burst: self.kube_api_burst });
        let relist_every = relist_every(self.relist_interval)?;
        Ok(ClusterAccess { kubeconfig: self.kubeconfig, context: self.context, limit, relist_every })
    }
}

/// How often everything is listed again (L4).
fn relist_every(interval: Duration) -> Result<Option<Duration>, RunArgsError> {
    match interval {
        Duration::ZERO => Ok(None),
        short if short < RELIST_SHORTEST => {
            Err(RunArgsError::RelistInterval { interval: short, shortest: RELIST_SHORTEST })
        }
        interval => Ok(Some(interval)),
    }
}
