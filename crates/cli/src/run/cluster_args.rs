//! Defines the flags of `taintward run` about the cluster and the requests to it.

use super::rate;
use super::run_args_error::RunArgsError;
use crate::args::duration;
use clap::Args;
use std::path::PathBuf;
use std::time::Duration;
use taintward_controller::settings::{ClusterAccess, RequestLimit};

/// The shortest interval: more frequent relists would overload the API server.
const RELIST_SHORTEST: Duration = Duration::from_secs(30);

#[derive(Debug, Args)]
#[command(next_help_heading = "The cluster")]
pub(super) struct ClusterArgs {
    /// The kubeconfig file. The default is $KUBECONFIG, then ~/.kube/config, then the in-cluster service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig. The default is its current context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Maximum number of requests per second; 0 sets no limit and relies on API priority and fairness
    #[arg(long, value_name = "RATE", default_value = "0", allow_negative_numbers = true, value_parser = rate)]
    kube_api_qps: f64,
    /// Maximum burst of requests, if --kube-api-qps sets a limit
    #[arg(long, value_name = "COUNT", default_value = "30", value_parser = clap::value_parser!(u32).range(1..))]
    kube_api_burst: u32,
    /// Interval between full lists of nodes and pods, which find events that the API server or a proxy lost; countdowns
    /// are unaffected. Each list costs the API server a full read of both; with 0, Taintward relies on the watch and
    /// never lists again
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
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

/// The interval of relists (L4).
fn relist_every(interval: Duration) -> Result<Option<Duration>, RunArgsError> {
    match interval {
        Duration::ZERO => Ok(None),
        short if short < RELIST_SHORTEST => {
            Err(RunArgsError::RelistInterval { interval: short, shortest: RELIST_SHORTEST })
        }
        interval => Ok(Some(interval)),
    }
}
