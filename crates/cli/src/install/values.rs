//! Defines the choices of an installation; each is a value of the chart.

use crate::args::controllers::{KNOWN, TAINT_EVICTION, TOLERATION_GUARD, TWO_EVICTIONS};

/// Rules of the webhook; `*` means the first two.
pub(crate) const RULES: [&str; 7] = [
    "default-tolerations",
    "dedicated-pools",
    "extended-resources",
    "toleration-restriction",
    "toleration-guard",
    "advice",
    "brake",
];

/// The choices of an installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallValues {
    pub(crate) namespace: String,
    pub(crate) image: String,
    /// Names of the Secrets with the registry's credentials.
    pub(crate) pull_secrets: Vec<String>,
    pub(crate) replicas: u16,
    pub(crate) priority_class: String,
    pub(crate) parts: Components,
    /// Namespaces that are exempt from every pool, in addition to kube-system and `namespace`.
    pub(crate) exempt_namespaces: Vec<String>,
    /// The value of `taintward run --controllers`.
    pub(crate) controllers: String,
    /// `enforce` or `observe`.
    pub(crate) mode: String,
    pub(crate) stamp_taints: bool,
    /// Additional flags of `taintward run`.
    pub(crate) controller_args: Vec<String>,
    /// The value of `taintward webhook --rules`.
    pub(crate) rules: String,
    /// Lists for namespaces without lists: the text of the configuration file of the API server's plugin.
    pub(crate) lists: Option<String>,
    /// `Ignore` or `Fail`, for pods only.
    pub(crate) failure_policy: String,
    /// A Secret with the webhook's certificate; without it the webhook creates its own.
    pub(crate) certificate: Option<ProvidedCertificate>,
    /// The clients that may call the webhook; without it, every client that can connect.
    pub(crate) clients: Option<ClientCa>,
    /// Additional flags of `taintward webhook`.
    pub(crate) webhook_args: Vec<String>,
    /// The networks of the API servers that --api-server-cidr names.
    pub(crate) api_servers: Vec<String>,
    /// The networks that the command found; used if `api_servers` is empty.
    pub(crate) found: Vec<String>,
    /// The objects for Prometheus and Grafana; `None`: no objects.
    pub(crate) monitoring: Option<MonitoringValues>,
}

/// The objects for the Prometheus operator and for Grafana.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MonitoringValues {
    /// Labels of the PodMonitors and the PrometheusRule.
    pub(crate) labels: Vec<(String, String)>,
    /// A duration in Prometheus' format.
    pub(crate) interval: String,
    /// The namespace that the NetworkPolicies admit; may be empty.
    pub(crate) prometheus_namespace: String,
    /// `none` or `delegated`.
    pub(crate) authentication: String,
    /// Without the last slash.
    pub(crate) runbook_base_url: String,
    pub(crate) dashboards: bool,
}

impl Default for MonitoringValues {
    fn default() -> Self {
        Self {
            labels: Vec::new(),
            interval: "30s".to_owned(),
            prometheus_namespace: String::new(),
            authentication: "none".to_owned(),
            runbook_base_url: "docs/runbooks".to_owned(),
            dashboards: true,
        }
    }
}

impl MonitoringValues {
    /// Values whose objects include those of any installation.
    pub(crate) fn everything() -> Self {
        Self { authentication: "delegated".to_owned(), ..Self::default() }
    }
}

/// The parts of an installation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Components {
    pub(crate) controller: bool,
    pub(crate) webhook: bool,
    pub(crate) viewer: bool,
}

/// A certificate that the webhook does not renew itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProvidedCertificate {
    /// The Secret's name, of type `kubernetes.io/tls`.
    pub(crate) secret: String,
    /// The CA bundle that API servers trust: PEM, in base64.
    pub(crate) ca_bundle: String,
}

/// The CA of clients with a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCa {
    /// The name of the Secret (`is_secret`) or ConfigMap with the CA certificates in `ca.crt`.
    pub(crate) holder: String,
    pub(crate) is_secret: bool,
    /// Common names; if empty, every client with a certificate of the CA.
    pub(crate) names: Vec<String>,
}

/// The placeholder image of manifests until `--image` names one; no registry has it.
const NO_IMAGE: &str = "registry.invalid/taintward";

impl Default for InstallValues {
    fn default() -> Self {
        Self {
            namespace: "taintward-system".to_owned(),
            image: format!("{NO_IMAGE}:{}", env!("CARGO_PKG_VERSION")),
            pull_secrets: Vec::new(),
            replicas: 2,
            priority_class: "system-cluster-critical".to_owned(),
            parts: Components { controller: true, webhook: true, viewer: true },
            exempt_namespaces: Vec::new(),
            controllers: "*,dedicated-pool-controller".to_owned(),
            mode: "enforce".to_owned(),
            stamp_taints: false,
            controller_args: Vec::new(),
            rules: "*".to_owned(),
            lists: None,
            failure_policy: "Ignore".to_owned(),
            certificate: None,
            clients: None,
            webhook_args: Vec::new(),
            api_servers: Vec::new(),
            found: Vec::new(),
            monitoring: None,
        }
    }
}

/// Why a list of controllers is invalid; a controller may be named once.
pub(crate) fn contradiction(list: &str) -> Option<String> {
    let mut named = Vec::new();
    for entry in list.split(',') {
        let name = entry.strip_prefix('-').unwrap_or(entry);
        if entry != "*" && !KNOWN.contains(&name) {
            return Some(format!(
                "unknown controller '{name}'; expected '*', or a name (with '-' in front to switch it off) out of: {}",
                KNOWN.join(", ")
            ));
        }
        if named.contains(&name) {
            return Some(format!("'{name}' is named twice; name it once"));
        }
        named.push(name);
    }
    let entries: Vec<&str> = list.split(',').collect();
    let evicts = entries.contains(&TAINT_EVICTION)
        || entries.contains(&"*") && !entries.contains(&"-taint-eviction-controller");
    (evicts && entries.contains(&TOLERATION_GUARD)).then(|| TWO_EVICTIONS.to_owned())
}
