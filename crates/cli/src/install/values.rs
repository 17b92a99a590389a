//! Defines the choices of an installation, each as a value and as an expression of Helm's templates.

use serde_json::Value;
use std::sync::LazyLock;

/// The controllers that can be named, and whether `*` means them too.
pub(crate) const CONTROLLERS: [(&str, bool); 3] = [
    ("taint-eviction-controller", true),
    ("node-lifecycle-controller", false),
    ("dedicated-pool-controller", false),
];

/// Rules of the webhook; `*` stands for the first two.
pub(crate) const RULES: [&str; 6] = [
    "default-tolerations",
    "dedicated-pools",
    "extended-resources",
    "toleration-restriction",
    "advice",
    "brake",
];

/// Those that refuse or warn, and do not just give; with what stands for one of them.
const JUDGES: &[&str] = &["*", "dedicated-pools", "toleration-restriction", "advice", "brake"];

/// Those that look at changes of nodes.
const NODE_RULES: &[&str] = &["brake", "advice"];

/// Those that judge pods whatever they tolerate.
const EVERY_POD: &[&str] = &["toleration-restriction", "advice"];

/// Namespaces that are there without us, and stay.
const FOREIGN: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

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
        }
    }
}

/// What a field takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InstallValue {
    Namespace,
    Image,
    Replicas,
    PriorityClass,
    Controllers,
    Mode,
    Rules,
    Lists,
    FailurePolicy,
    CertificateSecret,
    CaBundle,
    ClientConfigMap,
    ClientSecret,
    ClientNames,
    /// The one of a list that it is about.
    This,
}

impl InstallValue {
    pub(super) fn value(self, values: &InstallValues, this: &str) -> Value {
        let certificate = values.certificate.as_ref();
        let clients = values.clients.as_ref();
        Value::from(match self {
            Self::Replicas => return Value::from(values.replicas),
            Self::Namespace => values.namespace.as_str(),
            Self::Image => &values.image,
            Self::PriorityClass => &values.priority_class,
            Self::Controllers => &values.controllers,
            Self::Mode => &values.mode,
            Self::Rules => &values.rules,
            Self::Lists => values.lists.as_deref().unwrap_or_default(),
            Self::FailurePolicy => &values.failure_policy,
            Self::CertificateSecret => certificate.map_or("", |certificate| &certificate.secret),
            Self::CaBundle => certificate.map_or("", |certificate| &certificate.ca_bundle),
            Self::ClientConfigMap | Self::ClientSecret => clients.map_or("", |clients| &clients.holder),
            Self::ClientNames => return clients.map(|clients| clients.names.join(",")).into(),
            Self::This => this,
        })
    }

    /// In a template.
    pub(super) const fn expression(self) -> &'static str {
        match self {
            Self::Namespace => "$.Release.Namespace",
            Self::Image => "(include \"taintward.image\" $)",
            Self::Replicas => "$.Values.replicas",
            Self::PriorityClass => "$.Values.priorityClassName",
            Self::Controllers => "$.Values.controller.controllers",
            Self::Mode => "$.Values.controller.mode",
            Self::Rules => "$.Values.webhook.rules",
            Self::Lists => "$.Values.webhook.restrictionConfig",
            Self::FailurePolicy => "$.Values.webhook.failurePolicy",
            Self::CertificateSecret => "$.Values.webhook.certificate.secret",
            Self::CaBundle => "$.Values.webhook.certificate.caBundle",
            Self::ClientConfigMap => "$.Values.webhook.clients.configMap",
            Self::ClientSecret => "$.Values.webhook.clients.secret",
            Self::ClientNames => "(join \",\" $.Values.webhook.clients.allowedNames)",
            Self::This => ".",
        }
    }

    /// Whether it is a number.
    pub(super) const fn counts(self) -> bool {
        matches!(self, Self::Replicas)
    }
}

/// What there is any number of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Repeat {
    PullSecrets,
    ExemptNamespaces,
    ControllerArgs,
    WebhookArgs,
    /// Networks our pods may reach. Those that were found are not among them: they change with the control plane, and a
    /// controller that does not reach it does nothing.
    ApiServers,
    /// Networks from which the webhook may be asked.
    Askers,
}

/// All there are.
static EVERYWHERE: LazyLock<[String; 2]> = LazyLock::new(|| ["0.0.0.0/0", "::/0"].map(str::to_owned));

/// The first that says anything.
fn said<'v>(all: &[&'v [String]]) -> &'v [String] {
    all.iter().find(|one| !one.is_empty()).copied().unwrap_or(&*EVERYWHERE)
}

impl Repeat {
    pub(super) fn of(self, values: &InstallValues) -> &[String] {
        match self {
            Self::PullSecrets => &values.pull_secrets,
            Self::ExemptNamespaces => &values.exempt_namespaces,
            Self::ControllerArgs => &values.controller_args,
            Self::WebhookArgs => &values.webhook_args,
            Self::ApiServers => said(&[&values.api_servers]),
            Self::Askers => said(&[&values.api_servers, &values.found]),
        }
    }

    /// In a template.
    pub(super) const fn expression(self) -> &'static str {
        match self {
            Self::PullSecrets => "$.Values.image.pullSecrets",
            Self::ExemptNamespaces => "$.Values.exemptNamespaces",
            Self::ControllerArgs => "$.Values.controller.extraArgs",
            Self::WebhookArgs => "$.Values.webhook.extraArgs",
            Self::ApiServers | Self::Askers => "$.Values.apiServerCidrs",
        }
    }
}

/// On what it depends whether something is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// The part is wanted.
    Controller,
    Webhook,
    Viewer,
    /// The namespace is ours.
    OwnNamespace,
    /// More than one replica runs.
    Several,
    PullSecrets,
    /// Something is written at all.
    Enforces,
    /// Pods are evicted: the controller that does it runs, and may.
    Evicts,
    /// The controller of node health runs.
    NodeHealth,
    /// The controller of dedicated pools runs.
    Pools,
    Stamps,
    /// The webhook makes its own certificate.
    SelfSigned,
    /// A rule refuses or warns: without one nothing is to be validated.
    Judges,
    /// A rule looks at changes of nodes.
    NodeRules,
    /// A rule judges pods whatever they tolerate.
    EveryPod,
    /// There are lists for namespaces that have none of their own.
    Lists,
    /// Only clients with a certificate are let in.
    Clients,
    /// Their authority is in a Secret.
    ClientSecret,
    /// And of them only some.
    ClientNames,
    Not(&'static Self),
    All(&'static [Self]),
}

impl Condition {
    pub(crate) fn holds(self, values: &InstallValues) -> bool {
        match self {
            Self::Controller => values.parts.controller,
            Self::Webhook => values.parts.webhook,
            Self::Viewer => values.parts.viewer,
            Self::OwnNamespace => !FOREIGN.contains(&values.namespace.as_str()),
            Self::Several => values.replicas > 1,
            Self::PullSecrets => !values.pull_secrets.is_empty(),
            Self::Enforces => values.mode == "enforce",
            Self::Evicts => Self::Enforces.holds(values) && runs(values, CONTROLLERS[0]),
            Self::NodeHealth => runs(values, CONTROLLERS[1]),
            Self::Pools => runs(values, CONTROLLERS[2]),
            Self::Stamps => values.stamp_taints,
            Self::SelfSigned => values.certificate.is_none(),
            Self::Judges => names_one_of(values, JUDGES),
            Self::NodeRules => names_one_of(values, NODE_RULES),
            Self::EveryPod => names_one_of(values, EVERY_POD),
            Self::Lists => values.lists.is_some(),
            Self::Clients => values.clients.is_some(),
            Self::ClientSecret => values.clients.as_ref().is_some_and(|clients| clients.is_secret),
            Self::ClientNames => values.clients.as_ref().is_some_and(|clients| !clients.names.is_empty()),
            Self::Not(other) => !other.holds(values),
            Self::All(all) => all.iter().all(|one| one.holds(values)),
        }
    }

    /// In a template.
    pub(super) fn expression(self) -> String {
        match self {
            Self::Controller => "$.Values.parts.controller".to_owned(),
            Self::Webhook => "$.Values.parts.webhook".to_owned(),
            Self::Viewer => "$.Values.parts.viewer".to_owned(),
            // Helm makes the namespace itself, before anything else.
            Self::OwnNamespace => "false".to_owned(),
            Self::Several => "(gt (int $.Values.replicas) 1)".to_owned(),
            Self::PullSecrets => "$.Values.image.pullSecrets".to_owned(),
            Self::Enforces => "(eq $.Values.controller.mode \"enforce\")".to_owned(),
            Self::Evicts => {
                format!("(and {} {})", Self::Enforces.expression(), runs_expression(CONTROLLERS[0]))
            }
            Self::NodeHealth => runs_expression(CONTROLLERS[1]),
            Self::Pools => runs_expression(CONTROLLERS[2]),
            Self::Stamps => "$.Values.controller.stampTaints".to_owned(),
            Self::SelfSigned => "(not $.Values.webhook.certificate.secret)".to_owned(),
            Self::Judges => names_one_of_expression(JUDGES),
            Self::NodeRules => names_one_of_expression(NODE_RULES),
            Self::EveryPod => names_one_of_expression(EVERY_POD),
            Self::Lists => "$.Values.webhook.restrictionConfig".to_owned(),
            Self::Clients => {
                "(or $.Values.webhook.clients.configMap $.Values.webhook.clients.secret)".to_owned()
            }
            Self::ClientSecret => "$.Values.webhook.clients.secret".to_owned(),
            Self::ClientNames => "$.Values.webhook.clients.allowedNames".to_owned(),
            Self::Not(other) => format!("(not {})", other.expression()),
            Self::All(all) => {
                let all: Vec<String> = all.iter().map(|one| one.expression()).collect();
                format!("(and {})", all.join(" "))
            }
        }
    }
}

fn names_one_of(values: &InstallValues, rules: &[&str]) -> bool {
    values.rules.split(',').any(|rule| rules.contains(&rule))
}

fn names_one_of_expression(rules: &[&str]) -> String {
    let has = |rule: &&str| format!("(has \"{rule}\" (splitList \",\" $.Values.webhook.rules))");
    let has: Vec<String> = rules.iter().map(has).collect();
    format!("(or {})", has.join(" "))
}

/// Nothing is named twice ([`contradiction`]), so that the order of the list does not count.
fn runs(values: &InstallValues, (name, by_default): (&str, bool)) -> bool {
    let has = |entry: &str| values.controllers.split(',').any(|one| one == entry);
    !has(&format!("-{name}")) && (has(name) || by_default && has("*"))
}

fn runs_expression((name, by_default): (&str, bool)) -> String {
    let list = "(splitList \",\" $.Values.controller.controllers)";
    let off = format!("(not (has \"-{name}\" {list}))");
    match by_default {
        true => format!("(and {off} (or (has \"{name}\" {list}) (has \"*\" {list})))"),
        false => format!("(and {off} (has \"{name}\" {list}))"),
    }
}

/// Why a list of controllers cannot be installed; a controller may be named once.
pub(crate) fn contradiction(list: &str) -> Option<String> {
    let mut named = Vec::new();
    for entry in list.split(',') {
        let name = entry.strip_prefix('-').unwrap_or(entry);
        if entry != "*" && !CONTROLLERS.iter().any(|(known, _)| *known == name) {
            let known: Vec<&str> = CONTROLLERS.iter().map(|(name, _)| *name).collect();
            return Some(format!(
                "there is no controller '{name}'; expected '*', or a name (with '-' in front to switch it off) out of: {}",
                known.join(", ")
            ));
        }
        if named.contains(&name) {
            return Some(format!("'{name}' is named twice; name it once"));
        }
        named.push(name);
    }
    None
}
