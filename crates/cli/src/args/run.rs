//! Defines the flags of `taintward run`, in the order in which `--help` shows them.
//!
//! - See `run_options.rs` for the rules between flags.

use super::controllers::ControllerEntry;
use super::feature_gates::GateSetting;
use super::logging::LoggingArgs;
use super::node_health::NodeHealthArgs;
use super::write_mode::ModeArg;
use super::{bool_flag, controllers, feature_gates, object_names};
use crate::args::duration;
use clap::{Args, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

/// All flags.
#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    pub(super) cluster: ClusterArgs,
    #[command(flatten)]
    pub(super) behaviour: BehaviourArgs,
    #[command(flatten)]
    pub(super) node_health: NodeHealthArgs,
    #[command(flatten)]
    pub(super) election: ElectionArgs,
    #[command(flatten)]
    pub(super) serving: ServingArgs,
    #[command(flatten)]
    pub(super) logging: LoggingArgs,
    #[command(flatten)]
    pub(super) old: DeprecatedArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The cluster")]
pub(super) struct ClusterArgs {
    /// The kubeconfig file; without it $KUBECONFIG, ~/.kube/config, then the in-cluster service account
    #[arg(long, value_name = "FILE", env = "TAINTWARD_KUBECONFIG", hide_env = true)]
    pub(super) kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig; without it the file's current one
    #[arg(long, value_name = "NAME", env = "TAINTWARD_CONTEXT", hide_env = true)]
    pub(super) context: Option<String>,
    /// Requests a second at most; 0 sets no limit and leaves it to the API server's own fairness
    #[arg(long, value_name = "RATE", default_value = "0", allow_negative_numbers = true, value_parser = rate)]
    #[arg(env = "TAINTWARD_KUBE_API_QPS", hide_env = true)]
    pub(super) kube_api_qps: f64,
    /// Requests at once after a pause, if --kube-api-qps sets a limit
    #[arg(long, value_name = "COUNT", default_value = "30", value_parser = clap::value_parser!(u32).range(1..))]
    #[arg(env = "TAINTWARD_KUBE_API_BURST", hide_env = true)]
    pub(super) kube_api_burst: u32,
    /// How old the last list of all nodes and pods may become before they are listed again, so that an event lost by the
    /// API server or a proxy is found; countdowns stay as they are. Costs the API server one full read of both each
    /// time; 0 trusts the watch and never does it
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_RELIST_INTERVAL", hide_env = true)]
    pub(super) relist_interval: Duration,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What it does")]
pub(super) struct BehaviourArgs {
    /// enforce evicts; observe only watches, predicts, meters and logs, and writes nothing at all
    #[arg(long, value_name = "MODE", value_enum, default_value = "enforce")]
    #[arg(env = "TAINTWARD_MODE", hide_env = true)]
    pub(super) mode: ModeArg,
    /// Which controllers run: '*', 'name', '-name'. taint-eviction-controller evicts pods; node-lifecycle-controller
    /// taints nodes for their conditions and their silence, and must be named: '*' leaves it to
    /// kube-controller-manager, which has to be started without its own if it runs here. dedicated-pool-controller
    /// keeps taints and labels on the nodes of each DedicatedPool, and must be named too
    #[arg(long, value_name = "LIST", default_value = "*", value_delimiter = ',', value_parser = controllers::parse)]
    #[arg(env = "TAINTWARD_CONTROLLERS", hide_env = true)]
    pub(super) controllers: Vec<ControllerEntry>,
    /// Namespaces that no DedicatedPool has a say in, beside kube-system and the namespace of the lease: their pods may be on
    /// any node. The webhook and the admission policies have to name the same, as `taintward install` makes them do
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = object_names::namespace)]
    #[arg(env = "TAINTWARD_EXEMPT_NAMESPACES", hide_env = true)]
    pub(super) exempt_namespaces: Vec<String>,
    /// Which pods get the DisruptionTarget condition before they are deleted: always every pod, jobs those a Job
    /// owns (the others leave in one request instead of two), never none
    #[arg(long, value_name = "WHICH", value_enum, default_value = "always")]
    #[arg(env = "TAINTWARD_DISRUPTION_CONDITION", hide_env = true)]
    pub(super) disruption_condition: DisruptionConditionArg,
    /// Writes timeAdded to NoExecute taints that appear without one, so that a restart finds the exact start;
    /// without it nothing is ever written to a node
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(env = "TAINTWARD_STAMP_TAINTS", hide_env = true)]
    pub(super) stamp_taints: bool,
    /// Feature gates, as Name=true,Name=false. TaintTolerationComparisonOperators (false by default) lets the
    /// operators Lt and Gt compare numbers; those of older releases are understood, with a warning
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = feature_gates::parse)]
    #[arg(env = "TAINTWARD_FEATURE_GATES", hide_env = true)]
    pub(super) feature_gates: Vec<GateSetting>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Leader election")]
pub(super) struct ElectionArgs {
    /// Acts only while holding the lease; needed wherever more than one replica may run
    #[arg(long, value_name = "BOOL", default_value = "true", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(env = "TAINTWARD_LEADER_ELECT", hide_env = true)]
    pub(super) leader_elect: bool,
    /// How long a follower waits after the leader's last sign of life; whole seconds
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_LEADER_ELECT_LEASE_DURATION", hide_env = true)]
    pub(super) leader_elect_lease_duration: Duration,
    /// How long the leader goes on without a successful renewal; less than the lease duration
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_LEADER_ELECT_RENEW_DEADLINE", hide_env = true)]
    pub(super) leader_elect_renew_deadline: Duration,
    /// The pause between attempts to acquire or renew; 1.2 times it is less than the renew deadline
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_LEADER_ELECT_RETRY_PERIOD", hide_env = true)]
    pub(super) leader_elect_retry_period: Duration,
    /// The kind of lock; leases is the only one
    #[arg(long, value_name = "KIND", default_value = "leases", value_parser = object_names::lock)]
    #[arg(env = "TAINTWARD_LEADER_ELECT_RESOURCE_LOCK", hide_env = true)]
    pub(super) leader_elect_resource_lock: String,
    /// The name of the Lease
    #[arg(long, value_name = "NAME", default_value = "taintward", value_parser = object_names::object)]
    #[arg(env = "TAINTWARD_LEADER_ELECT_RESOURCE_NAME", hide_env = true)]
    pub(super) leader_elect_resource_name: String,
    /// The namespace of the Lease
    #[arg(long, value_name = "NAME", default_value = "kube-system", value_parser = object_names::namespace)]
    #[arg(env = "TAINTWARD_LEADER_ELECT_RESOURCE_NAMESPACE", hide_env = true)]
    pub(super) leader_elect_resource_namespace: String,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Metrics and health")]
pub(super) struct ServingArgs {
    /// The address both ports listen on
    #[arg(long, value_name = "IP", default_value = "127.0.0.1")]
    #[arg(env = "TAINTWARD_BIND_ADDRESS", hide_env = true)]
    pub(super) bind_address: IpAddr,
    /// The port for plain HTTP; 0 switches it off
    #[arg(long, value_name = "PORT", default_value = "10357")]
    #[arg(env = "TAINTWARD_METRICS_PORT", hide_env = true)]
    pub(super) metrics_port: u16,
    /// The port for HTTPS; 0 switches it off
    #[arg(long, value_name = "PORT", default_value = "0")]
    #[arg(env = "TAINTWARD_SECURE_PORT", hide_env = true)]
    pub(super) secure_port: u16,
    /// Who may read /metrics: whoever reaches a port (none), or whom the API server knows by a bearer token and lets get
    /// /metrics (delegated): then metrics are on --secure-port only. Health is for everybody
    #[arg(long, value_name = "HOW", value_enum, default_value_t)]
    #[arg(env = "TAINTWARD_METRICS_AUTHENTICATION", hide_env = true)]
    pub(super) metrics_authentication: MetricsAuthentication,
    /// The certificate for HTTPS, PEM, with its intermediates; without it one is made at start-up. Renewed files are
    /// read again
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    #[arg(env = "TAINTWARD_TLS_CERT_FILE", hide_env = true)]
    pub(super) tls_cert_file: Option<PathBuf>,
    /// The private key of that certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    #[arg(env = "TAINTWARD_TLS_PRIVATE_KEY_FILE", hide_env = true)]
    pub(super) tls_private_key_file: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Switches of older releases (deprecated)")]
pub(super) struct DeprecatedArgs {
    /// false means: do not evict; --mode=observe says so today
    #[arg(long, value_name = "BOOL", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(env = "TAINTWARD_ENABLE_TAINT_MANAGER", hide_env = true)]
    pub(super) enable_taint_manager: Option<bool>,
    /// Has no effect; tolerationSeconds of the pods' tolerations says how long a pod stays today
    #[arg(long, value_name = "DURATION", value_parser = duration::parse)]
    #[arg(env = "TAINTWARD_POD_EVICTION_TIMEOUT", hide_env = true)]
    pub(super) pod_eviction_timeout: Option<Duration>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum DisruptionConditionArg {
    Always,
    Jobs,
    Never,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(super) enum MetricsAuthentication {
    #[default]
    None,
    Delegated,
}

/// Why a text is no rate.
#[derive(Clone, Copy, Debug, thiserror::Error)]
#[error("expected requests a second, such as 50 or 0.5, or 0 for no limit")]
pub(super) struct InvalidRate;

/// Reads requests a second. Below zero means no limit, as in client-go.
pub(super) fn rate(text: &str) -> Result<f64, InvalidRate> {
    text.parse().ok().filter(|rate: &f64| rate.is_finite()).ok_or(InvalidRate)
}
