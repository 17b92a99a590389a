//! Defines the choices of an installation; each is a value of the chart.

use crate::args::controllers::{KNOWN, TAINT_EVICTION, TOLERATION_GUARD, TWO_EVICTIONS};

/// Rules of the webhook; `*` stands for the first two.
pub(crate) const RULES: [&str; 7] = [
    "default-tolerations",
    "dedicated-pools",
    "extended-resources",
    "toleration-restriction",
    "toleration-guard",
    "advice",
    "brake",
];

/// What is chosen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InstallValues {
    pub(crate) namespace: String,
    pub(crate) image: String,
    /// Names of Secrets with which the image is pulled.
    pub(crate) pull_secrets: Vec<String>,
    pub(crate) replicas: u16,
    pub(crate) priority_class: String,
    pub(crate) parts: Components,
    /// Namespaces that no pool has a say in, beside the system's and our own.
    pub(crate) exempt_namespaces: Vec<String>,
    /// As `taintward run --controllers` takes it.
    pub(crate) controllers: String,
    /// `enforce` or `observe`.
    pub(crate) mode: String,
    pub(crate) stamp_taints: bool,
    /// Further flags of `taintward run`.
    pub(crate) controller_args: Vec<String>,
    /// As `taintward webhook --rules` takes it.
    pub(crate) rules: String,
    /// Lists for namespaces that have none of their own: the text of the API server's plugin's file.
    pub(crate) lists: Option<String>,
    /// `Ignore` or `Fail`: of pods only.
    pub(crate) failure_policy: String,
    /// A Secret with the webhook's certificate; without it the webhook makes its own.
    pub(crate) certificate: Option<ProvidedCertificate>,
    /// Who may ask the webhook; without it, whoever reaches it.
    pub(crate) clients: Option<ClientCa>,
    /// Further flags of `taintward webhook`.
    pub(crate) webhook_args: Vec<String>,
    /// Where API servers are, as networks; empty if nobody has said.
    pub(crate) api_servers: Vec<String>,
    /// From where they were found to ask; counts if nobody has said.
    pub(crate) found: Vec<String>,
    /// What Prometheus and Grafana get; `None`: nothing.
    pub(crate) monitoring: Option<MonitoringValues>,
}

/// The objects for the Prometheus operator and for Grafana.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MonitoringValues {
    /// Labels of the PodMonitors and the PrometheusRule.
    pub(crate) labels: Vec<(String, String)>,
    /// As Prometheus writes a duration.
    pub(crate) interval: String,
    /// Let in by the NetworkPolicies; may be empty.
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
    /// Whatever was chosen at the installation is a part of this.
    pub(crate) fn everything() -> Self {
        Self { authentication: "delegated".to_owned(), ..Self::default() }
    }
}

/// What is installed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Components {
    pub(crate) controller: bool,
    pub(crate) webhook: bool,
    pub(crate) viewer: bool,
}

/// A certificate that somebody else looks after.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProvidedCertificate {
    /// The Secret's name, of type `kubernetes.io/tls`.
    pub(crate) secret: String,
    /// What API servers are to trust: PEM, in base64.
    pub(crate) ca_bundle: String,
}

/// Clients that show a certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClientCa {
    /// What holds the authority, as `ca.crt`: its name, and whether it is a Secret and no ConfigMap.
    pub(crate) holder: String,
    pub(crate) is_secret: bool,
    /// Common names; without any, everybody whom the authority knows.
    pub(crate) names: Vec<String>,
}

/// The image that nobody has pushed: what manifests hold until one is named.
pub(crate) const NO_IMAGE: &str = "registry.invalid/taintward";

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

/// Why a list of controllers cannot be installed; a controller may be named once.
pub(crate) fn contradiction(list: &str) -> Option<String> {
    let mut named = Vec::new();
    for entry in list.split(',') {
        let name = entry.strip_prefix('-').unwrap_or(entry);
        if entry != "*" && !KNOWN.contains(&name) {
            return Some(format!(
                "there is no controller '{name}'; expected '*', or a name (with '-' in front to switch it off) out of: {}",
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
