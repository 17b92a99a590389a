//! Checks the flags of `taintward run` against each other and turns them into [`RunOptions`] (M10, TE-3).

use super::feature_gates::{FeatureGate, value};
use super::run::{
    DeprecatedArgs, DisruptionConditionArg, ElectionArgs, MetricsAuthentication, RunArgs, ServingArgs,
};
use super::write_mode::ModeArg;
use super::{FlagNotice, RunOptions, controllers};
use crate::args::duration;
use std::num::NonZeroU16;
use std::time::Duration;
use taintward_controller::settings::{
    ClusterAccess, ControllerSettings, ElectionSettings, EnabledControllers, Marking, MetricsReadersSetting,
    ORIGINAL_OFF, RequestLimit, SecureServing, ServingCertificate, ServingSettings, WriteMode,
};
use taintward_core::node_lifecycle;

/// client-go's jitter: a retry may come this much later, in tenths.
const JITTER_TENTHS: u32 = 12;

/// Listing everything more often than this is no safety net but a burden.
const RELIST_SHORTEST: Duration = Duration::from_secs(30);

/// The choices that were made by flag or environment variable.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ExplicitFlags {
    pub(super) mode: bool,
    pub(super) disruption_condition: bool,
    /// The first flag that only node health reads.
    pub(super) node_health: Option<&'static str>,
}

/// Why choices do not fit together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum RunArgsError {
    #[error(
        "--controllers leaves nothing to run; entries that switch off belong on kube-controller-manager, here leave \
         --controllers out, or name one of: {}", controllers::KNOWN.join(", ")
    )]
    NothingToRun,
    #[error("{0}")]
    NodeHealth(node_lifecycle::InvalidFlag),
    #[error(
        "--leader-elect-lease-duration must be whole seconds from 1s on, because the Lease object stores whole \
         seconds; it is {}", duration::display(*.0)
    )]
    LeaseDuration(Duration),
    #[error(
        "--leader-elect-lease-duration ({}) must be longer than --leader-elect-renew-deadline ({}), or a follower \
         could take over before the leader stops", duration::display(*lease), duration::display(*renew)
    )]
    RenewDeadline { lease: Duration, renew: Duration },
    #[error(
        "--leader-elect-renew-deadline ({}) must be longer than 1.2 times --leader-elect-retry-period ({}), or the \
         leader gives up before its second attempt", duration::display(*renew), duration::display(*retry)
    )]
    RetryPeriod { renew: Duration, retry: Duration },
    #[error("--leader-elect-retry-period must be longer than 0s")]
    NoRetryPeriod,
    #[error(
        "--relist-interval must be 0 (never) or at least {}, because every node and pod is read each time; it is {}",
        duration::display(RELIST_SHORTEST), duration::display(*.0)
    )]
    RelistInterval(Duration),
    #[error("--metrics-port and --secure-port are both {0}; one port cannot speak both HTTP and HTTPS")]
    SamePort(NonZeroU16),
    #[error(
        "--tls-cert-file is given, but --secure-port=0 switches HTTPS off; give --secure-port a port as well"
    )]
    IdleCertificate,
    #[error(
        "--metrics-authentication=delegated asks for tokens, which everybody on the way could read without TLS; give \
         --secure-port a port as well"
    )]
    TokensInClear,
    #[error(
        "--mode=enforce and {old}=false contradict each other: one says evict, the other do not; leave {old} out to \
         evict, or choose --mode=observe"
    )]
    Contradiction { old: &'static str },
}

/// Decides what the flags say together.
pub(super) fn settle(args: RunArgs, explicit: ExplicitFlags) -> Result<RunOptions, RunArgsError> {
    let mut notices = Vec::new();
    let controllers = which(&args, explicit, &mut notices)?;
    let mode = mode(&args, explicit, &mut notices)?;
    let marking = marking(&args, explicit, &mut notices);
    old_gates(&args, &mut notices);
    old_flags(&args.old, &mut notices);
    let stamp_taints = args.behaviour.stamp_taints && mode == WriteMode::Enforce;
    if args.behaviour.stamp_taints && !stamp_taints {
        notices.push(FlagNotice {
            flag: "--stamp-taints",
            text: "has no effect in observe mode, which writes nothing".into(),
        });
    }
    let election = election(args.election)?.filter(|_| mode == WriteMode::Enforce);
    let relist_every = relist_every(args.cluster.relist_interval)?;
    let serving = serving(args.serving, &mut notices)?;
    let gates = &args.behaviour.feature_gates;
    let settings = ControllerSettings {
        cluster: ClusterAccess {
            kubeconfig: args.cluster.kubeconfig,
            context: args.cluster.context,
            limit: (args.cluster.kube_api_qps > 0.0).then_some(RequestLimit {
                qps: args.cluster.kube_api_qps,
                burst: args.cluster.kube_api_burst,
            }),
            relist_every,
        },
        controllers,
        mode,
        marking,
        stamp_taints,
        numeric_operators: value(gates, FeatureGate::ComparisonOperators).unwrap_or(false),
        exempt_namespaces: args.behaviour.exempt_namespaces,
        election,
        serving,
        seed: None,
    };
    Ok(RunOptions { settings, logging: args.logging.settle(), notices })
}

/// Which controllers run, and by what node health goes. Its flags are checked even where nobody reads them.
fn which(
    args: &RunArgs,
    explicit: ExplicitFlags,
    notices: &mut Vec<FlagNotice>,
) -> Result<EnabledControllers, RunArgsError> {
    let is_on = |name| controllers::is_on(&args.behaviour.controllers, name);
    let config = args.node_health.config()?;
    let (taint_eviction, node_lifecycle) =
        (is_on(controllers::TAINT_EVICTION), is_on(controllers::NODE_LIFECYCLE));
    let dedicated_pools = is_on(controllers::DEDICATED_POOLS);
    if !taint_eviction && !node_lifecycle && !dedicated_pools {
        return Err(RunArgsError::NothingToRun);
    }
    if let Some(flag) = explicit.node_health.filter(|_| !node_lifecycle) {
        let text = "has no effect: node-lifecycle-controller does not run; name it in --controllers";
        notices.push(FlagNotice { flag, text: text.into() });
    }
    Ok(EnabledControllers {
        taint_eviction,
        node_lifecycle: node_lifecycle.then_some(config),
        dedicated_pools,
    })
}

/// The mode. Two old switches say "do not evict" (M10): they are obeyed, unless a choice of today says the opposite.
fn mode(
    args: &RunArgs,
    explicit: ExplicitFlags,
    notices: &mut Vec<FlagNotice>,
) -> Result<WriteMode, RunArgsError> {
    let gate = value(&args.behaviour.feature_gates, FeatureGate::TaintBasedEvictions);
    let old = [
        ("--enable-taint-manager", args.old.enable_taint_manager),
        ("--feature-gates=TaintBasedEvictions", gate),
    ];
    let mut mode = match args.behaviour.mode {
        ModeArg::Enforce => WriteMode::Enforce,
        ModeArg::Observe => WriteMode::Observe,
    };
    for (old, _) in old.into_iter().filter(|(_, value)| *value == Some(false)) {
        if explicit.mode && args.behaviour.mode == ModeArg::Enforce {
            return Err(RunArgsError::Contradiction { old });
        }
        mode = WriteMode::Observe;
        let text =
            "deprecated; false means: evict nothing, so this runs as with --mode=observe: use that instead";
        notices.push(FlagNotice { flag: old, text: text.into() });
    }
    Ok(mode)
}

/// Which pods are marked. The gate of older releases switches the condition off, unless a choice of today says more.
fn marking(args: &RunArgs, explicit: ExplicitFlags, notices: &mut Vec<FlagNotice>) -> Marking {
    let chosen = match args.behaviour.disruption_condition {
        DisruptionConditionArg::Always => Marking::Always,
        DisruptionConditionArg::Jobs => Marking::Jobs,
        DisruptionConditionArg::Never => Marking::Never,
    };
    let Some(on) = value(&args.behaviour.feature_gates, FeatureGate::PodDisruptionConditions) else {
        return chosen;
    };
    let (marking, text) = match (on, explicit.disruption_condition) {
        (_, true) => (chosen, "deprecated and without effect beside --disruption-condition: leave it out"),
        (true, false) => (chosen, "deprecated; always on since Kubernetes 1.31: leave it out"),
        (false, false) => (Marking::Never, "deprecated; use --disruption-condition=never instead"),
    };
    notices.push(FlagNotice { flag: "--feature-gates=PodDisruptionConditions", text: text.into() });
    marking
}

/// Says what the gates of older releases mean today. Those that change something are treated where they do.
fn old_gates(args: &RunArgs, notices: &mut Vec<FlagNotice>) {
    let gates = &args.behaviour.feature_gates;
    if value(gates, FeatureGate::TaintBasedEvictions) == Some(true) {
        let text = "deprecated; NoExecute taints always evict since Kubernetes 1.18: leave it out";
        notices.push(FlagNotice { flag: "--feature-gates=TaintBasedEvictions", text: text.into() });
    }
    if value(gates, FeatureGate::TaintNodesByCondition).is_some() {
        let text = "deprecated and without effect: taints for node conditions are put on by the node lifecycle \
                    controller; leave it out";
        notices.push(FlagNotice { flag: "--feature-gates=TaintNodesByCondition", text: text.into() });
    }
    if value(gates, FeatureGate::SeparateTaintEviction) == Some(false) {
        let text = format!(
            "deprecated and without effect: taint eviction is always a controller of its own here; {ORIGINAL_OFF}"
        );
        notices.push(FlagNotice { flag: "--feature-gates=SeparateTaintEvictionController", text });
    }
}

fn old_flags(old: &DeprecatedArgs, notices: &mut Vec<FlagNotice>) {
    if old.enable_taint_manager == Some(true) {
        let text = "deprecated; taints evict unless --mode=observe: leave it out";
        notices.push(FlagNotice { flag: "--enable-taint-manager", text: text.into() });
    }
    if old.pod_eviction_timeout.is_some() {
        let text = "deprecated and without effect: how long a pod stays is said by tolerationSeconds of its \
                    tolerations (kube-apiserver adds 300 s for not-ready and unreachable by default); leave it out";
        notices.push(FlagNotice { flag: "--pod-eviction-timeout", text: text.into() });
    }
}

/// How often everything is listed again (L4).
fn relist_every(interval: Duration) -> Result<Option<Duration>, RunArgsError> {
    match interval {
        Duration::ZERO => Ok(None),
        short if short < RELIST_SHORTEST => Err(RunArgsError::RelistInterval(short)),
        interval => Ok(Some(interval)),
    }
}

/// Lease election by client-go's rules.
fn election(args: ElectionArgs) -> Result<Option<ElectionSettings>, RunArgsError> {
    let (lease, renew, retry) =
        (args.leader_elect_lease_duration, args.leader_elect_renew_deadline, args.leader_elect_retry_period);
    if !args.leader_elect {
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
        name: args.leader_elect_resource_name,
        namespace: args.leader_elect_resource_namespace,
    }))
}

fn serving(args: ServingArgs, notices: &mut Vec<FlagNotice>) -> Result<ServingSettings, RunArgsError> {
    let (metrics_port, secure_port) = (NonZeroU16::new(args.metrics_port), NonZeroU16::new(args.secure_port));
    if let Some(port) = metrics_port
        && secure_port == Some(port)
    {
        return Err(RunArgsError::SamePort(port));
    }
    let certificate = match (args.tls_cert_file, args.tls_private_key_file) {
        (Some(certificate), Some(key)) => ServingCertificate::Files { certificate, key },
        _ => ServingCertificate::SelfSigned,
    };
    if secure_port.is_none() && certificate != ServingCertificate::SelfSigned {
        return Err(RunArgsError::IdleCertificate);
    }
    let readers = match args.metrics_authentication {
        MetricsAuthentication::None => MetricsReadersSetting::Anybody,
        MetricsAuthentication::Delegated if secure_port.is_none() => return Err(RunArgsError::TokensInClear),
        MetricsAuthentication::Delegated => MetricsReadersSetting::Delegated,
    };
    if !args.bind_address.is_loopback() && (metrics_port.is_some() || secure_port.is_some()) {
        let what = if readers == MetricsReadersSetting::Anybody { "metrics and health" } else { "health" };
        let text =
            format!("whoever reaches {} can read {what}; a NetworkPolicy can limit that", args.bind_address);
        notices.push(FlagNotice { flag: "--bind-address", text });
    }
    let secure = secure_port.map(|port| SecureServing { port, certificate, readers });
    Ok(ServingSettings { bind_address: args.bind_address, metrics_port, secure })
}
