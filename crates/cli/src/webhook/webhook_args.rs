//! Defines the flags of `taintward webhook`, in the order in which `--help` shows them, and checks them against each
//! other.
//!
//! - See `args/restriction_config.rs` for the file of whitelists.

use super::webhook_run::{SelfSignedSettings, WebhookSettings, service_names};
use crate::args::choice::choice;
use crate::args::logging::LoggingArgs;
use crate::args::parsed_as::parsed_as;
use crate::args::restriction_config::{RestrictionConfigError, lists};
use crate::args::{bool_flag, duration, object_names};
use clap::Args;
use std::net::{IpAddr, SocketAddr};
use std::num::NonZeroU16;
use std::path::PathBuf;
use std::time::Duration;
use taintward_admission::rules::UntilReady;
use taintward_admission::settings::{
    CertificateSource, ClientCaSettings, ServerLimits, WebhookServerSettings as Server,
};
use taintward_controller::logging::LogSettings;
use taintward_controller::settings::ClusterAccess;
use taintward_core::admission::DefaultSeconds;
use taintward_core::admission::no_execute_guard::NoExecuteGuard;
use taintward_core::admission::pod_toleration_restriction::{MergeMode, PodTolerationRestriction};
use taintward_core::admission::policy::DefaultTolerationSeconds;
use taintward_core::admission::pool::PoolExemptions;
use taintward_core::admission::review::{self, AdmissionRule, LintAdvice};
use taintward_core::toleration_matching::NumericOperators;

/// How often certificate files are checked.
const RELOAD_PERIOD: Duration = Duration::from_secs(10);

/// All flags.
#[derive(Debug, Args)]
struct WebhookArgs {
    #[command(flatten)]
    cluster: WebhookClusterArgs,
    #[command(flatten)]
    rules: RulesArgs,
    #[command(flatten)]
    serving: WebhookServingArgs,
    #[command(flatten)]
    certificate: CertificateArgs,
    #[command(flatten)]
    logging: LoggingArgs,
}

/// How to run the webhook.
#[derive(Debug)]
pub(crate) struct WebhookOptions {
    pub(crate) settings: WebhookSettings,
    pub(crate) logging: LogSettings,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The cluster")]
struct WebhookClusterArgs {
    /// The kubeconfig file. The default is $KUBECONFIG, then ~/.kube/config, then the in-cluster service account
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig. The default is its current context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Interval between full lists of namespaces, nodes, pools and policies; 0 never lists again
    #[arg(long, value_name = "DURATION", default_value = "5m", value_parser = duration::parse)]
    relist_interval: Duration,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The rules")]
struct RulesArgs {
    /// Which rules run: default-tolerations, dedicated-pools, extended-resources, toleration-restriction,
    /// toleration-guard (adds the ceilings of guarded namespaces, for toleration-guard-controller), advice (warns about
    /// tolerations and taints that do not do what their author intends) and brake (rejects NoExecute taints on the last
    /// healthy node, or on too many nodes); '*' means the first two
    #[arg(long, value_name = "LIST", default_value = "*", value_delimiter = ',', value_parser = entry)]
    rules: Vec<RuleEntry>,
    /// The tolerationSeconds for not-ready of pods without a toleration of their own, unless the namespace or a policy
    /// sets them; the API server's flag of this name should have the same value
    #[arg(long, value_name = "SECONDS", default_value = "300", allow_negative_numbers = true)]
    default_not_ready_toleration_seconds: i64,
    /// The same for unreachable
    #[arg(long, value_name = "SECONDS", default_value = "300", allow_negative_numbers = true)]
    default_unreachable_toleration_seconds: i64,
    /// Maximum percentage of nodes with a NoExecute taint, if the rule brake is on
    #[arg(long, value_name = "PERCENT", default_value = "50", value_parser = clap::value_parser!(u32).range(0..=100))]
    brake_percent: u32,
    /// Lists for namespaces that have none of their own, if the rule toleration-restriction is on: the configuration
    /// file of the API server's plugin PodTolerationRestriction
    #[arg(long, value_name = "FILE")]
    restriction_config: Option<PathBuf>,
    /// How the rule toleration-restriction treats a pod's own toleration that a default of its namespace covers:
    /// keep-own keeps it, and it takes precedence; as-upstream removes it, as the API server's plugin does. The
    /// default is keep-own
    #[arg(long, value_name = "WHAT")]
    #[arg(value_parser = choice([("keep-own", MergeMode::KeepsOwn), ("as-upstream", MergeMode::AsUpstream)]))]
    restriction_merging: Option<MergeMode>,
    /// Namespaces that are exempt from every DedicatedPool, in addition to kube-system, if the rule dedicated-pools is
    /// on: their pods may run on any node; as --exempt-namespaces of `taintward run`
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = object_names::namespace)]
    exempt_namespaces: Vec<String>,
    /// Whether the toleration operators Lt and Gt compare numbers; as the API server's feature gate
    /// TaintTolerationComparisonOperators
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    comparison_operators: bool,
    /// What to do until namespaces, pools and policies have been listed once: allow admits objects without the rules
    /// that need those lists; refuse rejects them
    #[arg(long, value_name = "WHAT", default_value = "allow")]
    #[arg(value_parser = choice([("allow", UntilReady::Allow), ("refuse", UntilReady::Reject)]))]
    until_ready: UntilReady,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The port")]
struct WebhookServingArgs {
    /// The address to listen on
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    bind_address: IpAddr,
    /// The port for HTTPS: /mutate and /validate; without --metrics-port also /healthz, /livez, /readyz and /metrics
    #[arg(long, value_name = "PORT", default_value = "9443")]
    secure_port: u16,
    /// A separate port for /metrics and health, plain HTTP, so that its clients use no connections of the API servers'
    /// port; 0 switches it off
    #[arg(long, value_name = "PORT", default_value = "0")]
    metrics_port: u16,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The certificate")]
struct CertificateArgs {
    /// The certificate, PEM, with its intermediates. Renewed files are reloaded; the last valid ones stay in use
    #[arg(long, value_name = "FILE", requires = "tls_private_key_file")]
    tls_cert_file: Option<PathBuf>,
    /// The private key of that certificate, PEM
    #[arg(long, value_name = "FILE", requires = "tls_cert_file")]
    tls_private_key_file: Option<PathBuf>,
    /// PEM file of CAs. Clients must present a certificate signed by one of them (an API server presents the one that
    /// its AdmissionConfiguration names). It is read once, at the start. Kubelets present no certificate: point their
    /// probes at --metrics-port
    #[arg(long, value_name = "FILE")]
    client_ca_file: Option<PathBuf>,
    /// Common names that client certificates must have, as --requestheader-allowed-names of an API server. The default
    /// accepts all names
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "client_ca_file")]
    client_allowed_names: Vec<String>,
    /// Creates a certificate, stores it in a Secret, renews it, and writes its CA into the webhook configurations
    #[arg(long, value_name = "BOOL", default_value = "false", value_parser = bool_flag::parse)]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    self_signed: bool,
    /// The namespace of the Service and the Secret. The default is $POD_NAMESPACE, then taintward-system
    #[arg(long, value_name = "NAME", value_parser = object_names::namespace)]
    namespace: Option<String>,
    /// The Service that API servers call
    #[arg(long, value_name = "NAME", default_value = "taintward-webhook", value_parser = object_names::object)]
    service: String,
    /// The Secret that stores the certificate
    #[arg(long, value_name = "NAME", default_value = "taintward-webhook-certificate", value_parser = object_names::object)]
    secret: String,
    /// The name of the MutatingWebhookConfiguration and of the ValidatingWebhookConfiguration
    #[arg(long, value_name = "NAME", default_value = "taintward", value_parser = object_names::object)]
    webhook_configuration: String,
    /// More DNS names for the certificate, such as that of a proxy in front of the webhook
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    certificate_names: Vec<String>,
}

/// One entry of `--rules`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RuleEntry {
    /// `*`
    Usual,
    /// `name`
    On(AdmissionRule),
    /// `-name`
    Off(AdmissionRule),
}

/// The rules that are on by default.
const USUAL: [AdmissionRule; 2] = [AdmissionRule::Defaults, AdmissionRule::Pools];

/// Why the flags are inconsistent.
#[derive(Debug, thiserror::Error)]
pub(crate) enum WebhookArgsError {
    #[error(
        "the webhook has no serving certificate; set --tls-cert-file and --tls-private-key-file, or --self-signed, which \
         creates one"
    )]
    NoCertificate,
    #[error("--self-signed and --tls-cert-file contradict each other; omit one of them")]
    TwoCertificates,
    #[error("--rules enables no rule; omit --rules, or name one of: {}", names_of_rules())]
    NoRule,
    #[error(
        "--secure-port and --metrics-port are both {0}, but one port cannot serve HTTPS and HTTP; choose another port"
    )]
    SamePort(u16),
    #[error("--secure-port is 0, but API servers connect to this port; choose one from 1 to 65535")]
    NoPort,
    #[error("{0} needs the rule that reads it: add toleration-restriction to --rules")]
    Idle(&'static str),
    #[error(transparent)]
    Lists(#[from] RestrictionConfigError),
}

fn names_of_rules() -> String {
    AdmissionRule::ALL.map(AdmissionRule::name).join(", ")
}

fn entry(text: &str) -> Result<RuleEntry, String> {
    let known = |name: &str| {
        let found = AdmissionRule::ALL.into_iter().find(|rule| rule.name() == name);
        found.ok_or_else(|| {
            format!(
                "unknown rule; expected '*', or a name (with '-' in front to switch it off) out of: {}",
                names_of_rules()
            )
        })
    };
    match text.strip_prefix('-') {
        None if text == "*" => Ok(RuleEntry::Usual),
        None => known(text).map(RuleEntry::On),
        Some(name) => known(name).map(RuleEntry::Off),
    }
}

/// The first entry that names a rule decides, as in `--controllers`.
fn is_on(list: &[RuleEntry], rule: AdmissionRule) -> bool {
    let named = list.iter().find_map(|entry| match entry {
        RuleEntry::On(on) if *on == rule => Some(true),
        RuleEntry::Off(off) if *off == rule => Some(false),
        _ => None,
    });
    named.unwrap_or_else(|| USUAL.contains(&rule) && list.contains(&RuleEntry::Usual))
}

parsed_as!(WebhookOptions, WebhookArgs);

impl TryFrom<WebhookArgs> for WebhookOptions {
    type Error = WebhookArgsError;

    fn try_from(args: WebhookArgs) -> Result<Self, WebhookArgsError> {
        let logging = args.logging.resolve();
        let until_ready = args.rules.until_ready;
        let rules = args.rules.resolve()?;
        let address = SocketAddr::new(args.serving.bind_address, args.serving.secure_port);
        let metrics = NonZeroU16::new(args.serving.metrics_port);
        if args.serving.secure_port == 0 {
            return Err(WebhookArgsError::NoPort);
        }
        if metrics.is_some_and(|port| port.get() == args.serving.secure_port) {
            return Err(WebhookArgsError::SamePort(args.serving.secure_port));
        }
        let metrics = metrics.map(|port| SocketAddr::new(args.serving.bind_address, port.get()));
        let names: Vec<String> = args.certificate.client_allowed_names.clone();
        let clients = args.certificate.client_ca_file.clone().map(|file| ClientCaSettings { file, names });
        let (certificate, keeping) = args.certificate.resolve()?;
        let server = Server { address, metrics, certificate, clients, limits: ServerLimits::default() };
        let relist_every = Some(args.cluster.relist_interval).filter(|interval| !interval.is_zero());
        let (kubeconfig, context) = (args.cluster.kubeconfig, args.cluster.context);
        let cluster = ClusterAccess { kubeconfig, context, relist_every, ..ClusterAccess::default() };
        Ok(Self { settings: WebhookSettings { cluster, server, rules, until_ready, keeping }, logging })
    }
}

impl RulesArgs {
    fn resolve(self) -> Result<review::ReviewSettings, WebhookArgsError> {
        let is_on = |rule| is_on(&self.rules, rule);
        if !AdmissionRule::ALL.into_iter().any(is_on) {
            return Err(WebhookArgsError::NoRule);
        }
        for (given, flag) in [
            (self.restriction_config.is_some(), "--restriction-config"),
            (self.restriction_merging.is_some(), "--restriction-merging"),
        ] {
            if given && !is_on(AdmissionRule::Restriction) {
                return Err(WebhookArgsError::Idle(flag));
            }
        }
        let seconds = DefaultSeconds {
            not_ready: self.default_not_ready_toleration_seconds,
            unreachable: self.default_unreachable_toleration_seconds,
        };
        let merging = self.restriction_merging.unwrap_or_default();
        let restriction = match self.restriction_config {
            Some(file) => Some(lists(&file)?),
            None => is_on(AdmissionRule::Restriction).then(Default::default),
        };
        let restriction = restriction.map(|restriction| PodTolerationRestriction { merging, ..restriction });
        let brake = NoExecuteGuard { percent: self.brake_percent, ..NoExecuteGuard::default() };
        Ok(review::ReviewSettings {
            defaults: is_on(AdmissionRule::Defaults)
                .then(|| DefaultTolerationSeconds { seconds, ..DefaultTolerationSeconds::default() }),
            restriction,
            extended: is_on(AdmissionRule::Extended),
            pools: is_on(AdmissionRule::Pools),
            exemptions: PoolExemptions::beside(self.exempt_namespaces.iter().map(String::as_str)),
            toleration_guard: is_on(AdmissionRule::TolerationGuard),
            advice: is_on(AdmissionRule::Advice).then(LintAdvice::default),
            guard: is_on(AdmissionRule::Brake).then_some(brake),
            numeric: if self.comparison_operators { NumericOperators::On } else { NumericOperators::Off },
        })
    }
}

impl CertificateArgs {
    fn resolve(self) -> Result<(CertificateSource, Option<SelfSignedSettings>), WebhookArgsError> {
        let files = self.tls_cert_file.zip(self.tls_private_key_file);
        match (files, self.self_signed) {
            (None, false) => Err(WebhookArgsError::NoCertificate),
            (Some(_), true) => Err(WebhookArgsError::TwoCertificates),
            (Some((certificate, key)), false) => {
                Ok((CertificateSource::Files { certificate, key, every: RELOAD_PERIOD }, None))
            }
            (None, true) => {
                let own = || std::env::var("POD_NAMESPACE").ok().filter(|namespace| !namespace.is_empty());
                let namespace = self.namespace.or_else(own).unwrap_or_else(|| "taintward-system".to_owned());
                let mut names = service_names(&self.service, &namespace);
                names.extend(self.certificate_names);
                let (secret, configuration) = (self.secret, self.webhook_configuration);
                Ok((
                    CertificateSource::SelfSigned { names },
                    Some(SelfSignedSettings { namespace, secret, configuration }),
                ))
            }
        }
    }
}
