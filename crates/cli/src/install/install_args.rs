//! Defines the flags of `taintward install`, and which of them may be combined.

use super::monitoring_args::MonitoringValues;
use crate::args::controllers::{KNOWN, TAINT_EVICTION, TOLERATION_GUARD, TWO_EVICTIONS};
use crate::args::dry_run::DryRun;
use crate::args::kube_args::ServerOptions;
use crate::args::node_limit::limit;
use crate::args::object_names;
use crate::args::restriction_config::{RestrictionConfigError, checked};
use crate::manifest::files::remedy;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The placeholder image of manifests until `--image` names one; no registry has it.
const NO_IMAGE: &str = concat!("registry.invalid/taintward:", env!("CARGO_PKG_VERSION"));

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

#[derive(Debug, Args)]
pub(crate) struct InstallArgs {
    /// Applies the manifests (server-side apply) instead of printing them; with --uninstall, deletes
    #[arg(long)]
    apply: bool,
    /// Prints what an uninstallation deletes, in order; with --apply, deletes it
    #[arg(long)]
    uninstall: bool,
    /// With --apply: changes nothing. client only reads; server sends every request, and the API server checks it
    /// without storing anything
    #[arg(long, value_name = "HOW", value_enum, requires = "apply")]
    dry_run: Option<DryRun>,
    /// With --apply: overwrites fields that another client has changed
    #[arg(long, requires = "apply", conflicts_with = "uninstall")]
    force_conflicts: bool,
    /// With --uninstall: also deletes pools, policies and their definitions; waits until the controller has removed the
    /// pools' taints and labels from the nodes
    #[arg(long, requires = "uninstall", conflicts_with_all = ["keep_pools", "parts"])]
    crds: bool,
    /// With --uninstall: keeps pools, whose nodes stay tainted, and deletes the rest
    #[arg(long, requires = "uninstall")]
    keep_pools: bool,
    /// With --apply: continues if the command removes the controller that holds or guards pods; these pods keep the
    /// seconds that they have now, or none
    #[arg(long, requires = "apply")]
    pub(crate) keep_seconds: bool,
    /// With --uninstall --apply: does not ask, on a terminal, before it deletes
    #[arg(short, long, requires_all = ["uninstall", "apply"])]
    pub(crate) yes: bool,
    /// How long to wait until new definitions are established, and until deleted pools are gone
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = crate::args::duration::positive)]
    pub(crate) timeout: Duration,
    /// Writes a Helm chart of the same objects into this folder; its values are the flags below
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["apply", "uninstall", "output"])]
    chart: Option<PathBuf>,
    /// The format of printed manifests
    #[arg(short, long, value_name = "FORM", value_enum, default_value = "yaml", conflicts_with = "apply")]
    pub(crate) output: InstallOutputArg,
    #[command(flatten)]
    pub(crate) values: InstallValues,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
}

/// The choices of an installation; each is a value of the chart.
#[derive(Clone, Debug, Args)]
pub(crate) struct InstallValues {
    #[command(flatten)]
    pub(crate) common: CommonValues,
    #[command(flatten)]
    pub(crate) controller: ControllerValues,
    #[command(flatten)]
    pub(crate) webhook: WebhookValues,
    #[command(flatten)]
    pub(crate) monitoring: MonitoringValues,
    /// The networks of API servers that the command found; used if --api-server-cidr names none.
    #[arg(skip)]
    pub(crate) found: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "What is installed")]
pub(crate) struct CommonValues {
    /// The parts to install
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "controller,webhook,viewer"
    )]
    pub(crate) parts: Vec<InstallPart>,
    /// The namespace of all parts
    #[arg(long, value_name = "NAME", default_value = "taintward-system", value_parser = object_names::namespace)]
    pub(crate) namespace: String,
    /// The image, in the registry to which you pushed it; --apply needs it, printed manifests have a placeholder without
    /// it
    #[arg(long, value_name = "IMAGE", value_parser = image)]
    pub(crate) image: Option<String>,
    /// A Secret with the registry's credentials; may be repeated
    #[arg(long, value_name = "SECRET", value_parser = object_names::object)]
    pub(crate) image_pull_secret: Vec<String>,
    /// The number of pods of each part
    #[arg(long, value_name = "COUNT", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=100))]
    pub(crate) replicas: u16,
    /// The PriorityClass of the pods
    #[arg(long, value_name = "NAME", default_value = "system-cluster-critical", value_parser = object_names::object)]
    pub(crate) priority_class: String,
    /// A network of the API servers: NetworkPolicies then let only these networks connect to the webhook, and let
    /// Taintward's pods connect only to them; may be repeated. Without it, no network is restricted. With --apply, the
    /// command looks for the API servers' addresses and, if it finds them, admits only these to the webhook
    #[arg(long, value_name = "NETWORK", value_delimiter = ',', value_parser = network)]
    pub(crate) api_server_cidr: Vec<String>,
    /// Namespaces that are exempt from every DedicatedPool, in addition to kube-system and the one of --namespace:
    /// their pods may run on any node
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = object_names::namespace)]
    pub(crate) exempt_namespaces: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The controllers")]
pub(crate) struct ControllerValues {
    /// Which controllers run: a list as for `taintward run`, with each name at most once
    #[arg(long, value_name = "LIST", default_value = "*,dedicated-pool-controller", value_parser = controllers)]
    pub(crate) controllers: String,
    /// enforce evicts; observe only watches, predicts, meters and logs, and writes nothing
    #[arg(long, value_name = "MODE", default_value = "enforce", value_parser = ["enforce", "observe"])]
    pub(crate) mode: String,
    /// Writes timeAdded to NoExecute taints that appear without one
    #[arg(long)]
    pub(crate) stamp_taints: bool,
    /// Lets EvictionPolicy objects decide how due pods are evicted, and grants what that needs
    #[arg(long)]
    pub(crate) eviction_policies: bool,
    /// How many nodes pods may leave because of one taint key before further evictions wait: a number, a percentage or
    /// both with a comma, as in 10,30%; off: any
    #[arg(long, value_name = "LIMIT", default_value = "off", value_parser = brake_limit)]
    pub(crate) brake_limit: String,
    /// Keeps the record of decisions on a volume of the pod (emptyDir), so that it outlives the container, but not the
    /// pod; without it, the record is only in memory
    #[arg(long)]
    pub(crate) record_on_disk: bool,
    /// An additional flag of `taintward run`, as in --controller-arg=--v=2; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true, value_parser = flag)]
    pub(crate) controller_arg: Vec<String>,
}

#[derive(Clone, Debug, Args)]
#[command(next_help_heading = "The webhook")]
pub(crate) struct WebhookValues {
    /// Which rules run: a list as for `taintward webhook`. '*' means default-tolerations and dedicated-pools; the other
    /// rules are extended-resources, toleration-restriction, toleration-guard, advice, brake
    #[arg(long, value_name = "LIST", default_value = "*", value_parser = rules)]
    pub(crate) rules: String,
    /// With the rule toleration-restriction: a file with the lists of namespaces that have none of their own, as for
    /// `taintward webhook`
    #[arg(long, value_name = "FILE", value_parser = restriction_config)]
    pub(crate) restriction_config: Option<String>,
    /// What API servers do with new pods while no webhook answers: Ignore admits them, Fail rejects them
    #[arg(long, value_name = "POLICY", default_value = "Ignore", value_parser = ["Ignore", "Fail"])]
    pub(crate) failure_policy: String,
    /// A Secret of type kubernetes.io/tls with the webhook's certificate, which you or another controller renews;
    /// without it the webhook creates and renews its own
    #[arg(long, value_name = "SECRET", requires = "ca_bundle", value_parser = object_names::object)]
    pub(crate) cert_secret: Option<String>,
    /// With --cert-secret: the CA bundle that API servers trust, PEM
    #[arg(long, value_name = "FILE", requires = "cert_secret", value_parser = ca_bundle)]
    pub(crate) ca_bundle: Option<String>,
    /// A ConfigMap with CA certificates in ca.crt: the webhook accepts only clients with a certificate of one of these
    /// CAs. API servers present a certificate if their AdmissionConfiguration names one
    #[arg(long, value_name = "NAME", conflicts_with = "client_ca_secret", value_parser = object_names::object)]
    pub(crate) client_ca_config_map: Option<String>,
    /// A Secret with CA certificates in ca.crt, instead of --client-ca-config-map
    #[arg(long, value_name = "NAME", value_parser = object_names::object)]
    pub(crate) client_ca_secret: Option<String>,
    /// Accepts only those of these clients whose certificate has one of these common names
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = common_name)]
    pub(crate) client_allowed_names: Vec<String>,
    /// An additional flag of `taintward webhook`; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true, value_parser = flag)]
    pub(crate) webhook_arg: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallOutputArg {
    Yaml,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum InstallPart {
    Controller,
    Webhook,
    Viewer,
}

/// The action of the command.
#[derive(Debug)]
pub(crate) enum InstallAction {
    Print,
    Apply(DryRun, ConflictPolicy),
    /// Prints what would be deleted.
    PrintRemoval(PoolRemoval),
    Remove(DryRun, PoolRemoval),
    /// Writes the chart into a folder.
    Chart(PathBuf),
}

/// What the command does with fields that another client manages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictPolicy {
    Reject,
    Take,
}

/// What the removal does with pools and policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolRemoval {
    /// Removes nothing while pools exist.
    Reject,
    /// Keeps them, and the taints of their nodes.
    Keep,
    /// Deletes them first, then their definitions.
    Delete,
}

impl InstallArgs {
    /// Checks the flags against each other.
    pub(crate) fn check(&self) -> Result<(), &'static str> {
        let InstallValues { common, webhook, .. } = &self.values;
        if matches!(self.action(), InstallAction::Apply(..)) && common.image.is_none() {
            return Err(concat!(
                "--apply needs an image that the cluster can pull: add --image, as in --image \
                 registry.example.com/taintward:",
                env!("CARGO_PKG_VERSION"),
                "; nothing was changed"
            ));
        }
        let is_restricted = webhook.rules.split(',').any(|rule| rule == "toleration-restriction");
        if webhook.restriction_config.is_some() && !is_restricted {
            return Err(
                "--restriction-config needs the rule that reads it: add toleration-restriction to --rules",
            );
        }
        let has_ca = webhook.client_ca_config_map.is_some() || webhook.client_ca_secret.is_some();
        if !webhook.client_allowed_names.is_empty() && !has_ca {
            return Err(
                "--client-allowed-names needs the CA of the clients' certificates: add --client-ca-config-map \
                        or --client-ca-secret",
            );
        }
        Ok(())
    }

    pub(crate) fn action(&self) -> InstallAction {
        let tried = self.dry_run.unwrap_or(DryRun::No);
        let leftovers = match (self.crds, self.keep_pools) {
            (true, _) => PoolRemoval::Delete,
            (false, true) => PoolRemoval::Keep,
            (false, false) => PoolRemoval::Reject,
        };
        let conflicts = if self.force_conflicts { ConflictPolicy::Take } else { ConflictPolicy::Reject };
        match (&self.chart, self.uninstall, self.apply) {
            (Some(folder), ..) => InstallAction::Chart(folder.clone()),
            (None, false, false) => InstallAction::Print,
            (None, false, true) => InstallAction::Apply(tried, conflicts),
            (None, true, false) => InstallAction::PrintRemoval(leftovers),
            (None, true, true) => InstallAction::Remove(tried, leftovers),
        }
    }
}

impl InstallValues {
    pub(crate) fn has(&self, part: InstallPart) -> bool {
        self.common.parts.contains(&part)
    }

    pub(crate) fn image(&self) -> &str {
        self.common.image.as_deref().unwrap_or(NO_IMAGE)
    }
}

/// Reads a CA bundle that API servers trust: PEM, as base64.
fn ca_bundle(file: &str) -> Result<String, String> {
    let pem = std::fs::read(file)
        .map_err(|why| format!("cannot read the file of --ca-bundle, {file}: {why}; {}", remedy(&why)))?;
    match String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
        true => Ok(STANDARD.encode(pem)),
        false => Err(format!(
            "cannot use the file of --ca-bundle, {file}: it contains no certificate; name a file in PEM format"
        )),
    }
}

/// The text of the file, if the webhook can parse it.
fn restriction_config(file: &str) -> Result<String, RestrictionConfigError> {
    checked(Path::new(file))
}

fn brake_limit(text: &str) -> Result<String, String> {
    limit(text).map(|_| text.to_owned()).map_err(|why| why.to_string())
}

fn controllers(text: &str) -> Result<String, String> {
    contradiction(text).map_or_else(|| Ok(text.to_owned()), Err)
}

/// Why a list of controllers is invalid; a controller may be named once.
fn contradiction(list: &str) -> Option<String> {
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

fn rules(text: &str) -> Result<String, String> {
    let name = |entry| str::strip_prefix(entry, '-').unwrap_or(entry);
    match text.split(',').find(|rule| *rule != "*" && !RULES.contains(&name(rule))) {
        None => Ok(text.to_owned()),
        Some(rule) => Err(format!("unknown rule '{rule}'; expected '*' or one of: {}", RULES.join(", "))),
    }
}

/// Accepts characters that need no quotes in YAML.
fn image(text: &str) -> Result<String, &'static str> {
    let fits = text.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-/:@".contains(&c));
    match fits && text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => Ok(text.to_owned()),
        false => Err("expected an image, as in registry.example.com/taintward:0.1.0"),
    }
}

/// Accepts characters that need no quotes in YAML; no comma.
fn common_name(text: &str) -> Result<String, &'static str> {
    let fits = text.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-:@/".contains(&c));
    match fits && !text.is_empty() {
        true => Ok(text.to_owned()),
        false => Err("expected the common name of a client's certificate, as in kube-apiserver"),
    }
}

fn flag(text: &str) -> Result<String, &'static str> {
    match text.strip_prefix("--").is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase())) {
        true => Ok(text.to_owned()),
        false => Err("expected a long flag, as in --v=2"),
    }
}

fn network(text: &str) -> Result<String, &'static str> {
    let fits = || {
        let (address, length) = text.split_once('/')?;
        let most = if address.parse::<IpAddr>().ok()?.is_ipv4() { 32 } else { 128 };
        (length.parse::<u8>().ok()? <= most).then(|| text.to_owned())
    };
    fits().ok_or("expected a network, as in 10.0.0.0/8 or fd00::/8; one address is a network of /32 or /128")
}

#[cfg(test)]
impl Default for InstallValues {
    fn default() -> Self {
        use clap::FromArgMatches as _;
        let matches = Self::augment_args(clap::Command::new("install")).get_matches_from(["install"]);
        Self::from_arg_matches(&matches).expect("no flag is required")
    }
}
