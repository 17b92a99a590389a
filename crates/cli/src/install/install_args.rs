//! Defines the flags of `taintward install`, and which of them may be combined.

use super::install_options::{ConflictPolicy, DryRunKind, InstallAction, InstallOptions, PoolRemoval};
use super::monitoring_args::MonitoringArgs;
use super::values::{ClientCa, Components, InstallValues, ProvidedCertificate, RULES, contradiction};
use crate::args::kube_args::ServerArgs;
use crate::args::object_names;
use crate::args::restriction_config::{RestrictionConfigError, checked};
use crate::args::write_mode::ModeArg;
use crate::manifest::files::remedy;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, ValueEnum};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;

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
    dry_run: Option<DryRunArg>,
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
    keep_seconds: bool,
    /// With --uninstall --apply: does not ask, on a terminal, before it deletes
    #[arg(short, long, requires_all = ["uninstall", "apply"])]
    yes: bool,
    /// How long to wait until new definitions are established, and until deleted pools are gone
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = crate::args::duration::positive)]
    timeout: Duration,
    /// Writes a Helm chart of the same objects into this folder; its values are the flags below
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["apply", "uninstall", "output"])]
    chart: Option<PathBuf>,
    /// The format of printed manifests
    #[arg(short, long, value_name = "FORM", value_enum, default_value = "yaml", conflicts_with = "apply")]
    output: InstallOutputArg,
    #[command(flatten)]
    installed: InstalledArgs,
    #[command(flatten)]
    controller: InstalledControllerArgs,
    #[command(flatten)]
    webhook: InstalledWebhookArgs,
    #[command(flatten)]
    monitoring: MonitoringArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "What is installed")]
struct InstalledArgs {
    /// The parts to install
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "controller,webhook,viewer"
    )]
    parts: Vec<ComponentArg>,
    /// The namespace of all parts
    #[arg(long, value_name = "NAME", default_value = "taintward-system", value_parser = object_names::namespace)]
    namespace: String,
    /// The image, in the registry to which you pushed it; --apply needs it, printed manifests have a placeholder without
    /// it
    #[arg(long, value_name = "IMAGE", value_parser = image)]
    image: Option<String>,
    /// A Secret with the registry's credentials; may be repeated
    #[arg(long, value_name = "SECRET", value_parser = object_names::object)]
    image_pull_secret: Vec<String>,
    /// The number of pods of each part
    #[arg(long, value_name = "COUNT", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=100))]
    replicas: u16,
    /// The PriorityClass of the pods
    #[arg(long, value_name = "NAME", default_value = "system-cluster-critical", value_parser = object_names::object)]
    priority_class: String,
    /// A network of the API servers: NetworkPolicies then let only these networks connect to the webhook, and let
    /// Taintward's pods connect only to them; may be repeated. Without it, no network is restricted. With --apply, the
    /// command looks for the API servers' addresses and, if it finds them, admits only these to the webhook
    #[arg(long, value_name = "NETWORK", value_delimiter = ',', value_parser = network)]
    api_server_cidr: Vec<String>,
    /// Namespaces that are exempt from every DedicatedPool, in addition to kube-system and the one of --namespace:
    /// their pods may run on any node
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = object_names::namespace)]
    exempt_namespaces: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The controllers")]
struct InstalledControllerArgs {
    /// Which controllers run: a list as for `taintward run`, with each name at most once
    #[arg(long, value_name = "LIST", default_value = "*,dedicated-pool-controller", value_parser = controllers)]
    controllers: String,
    /// enforce evicts; observe only watches, predicts, meters and logs, and writes nothing
    #[arg(long, value_name = "MODE", value_enum, default_value = "enforce")]
    mode: ModeArg,
    /// Writes timeAdded to NoExecute taints that appear without one
    #[arg(long)]
    stamp_taints: bool,
    /// An additional flag of `taintward run`, as in --controller-arg=--v=2; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true, value_parser = flag)]
    controller_arg: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The webhook")]
struct InstalledWebhookArgs {
    /// Which rules run: a list as for `taintward webhook`. '*' means default-tolerations and dedicated-pools; the other
    /// rules are extended-resources, toleration-restriction, toleration-guard, advice, brake
    #[arg(long, value_name = "LIST", default_value = "*", value_parser = rules)]
    rules: String,
    /// With the rule toleration-restriction: a file with the lists of namespaces that have none of their own, as for
    /// `taintward webhook`
    #[arg(long, value_name = "FILE")]
    restriction_config: Option<PathBuf>,
    /// What API servers do with new pods while no webhook answers: Ignore admits them, Fail rejects them
    #[arg(long, value_name = "POLICY", default_value = "Ignore", value_parser = ["Ignore", "Fail"])]
    failure_policy: String,
    /// A Secret of type kubernetes.io/tls with the webhook's certificate, which you or another controller renews;
    /// without it the webhook creates and renews its own
    #[arg(long, value_name = "SECRET", requires = "ca_bundle", value_parser = object_names::object)]
    cert_secret: Option<String>,
    /// With --cert-secret: the CA bundle that API servers trust, PEM
    #[arg(long, value_name = "FILE", requires = "cert_secret")]
    ca_bundle: Option<PathBuf>,
    /// A ConfigMap with CA certificates in ca.crt: the webhook accepts only clients with a certificate of one of these
    /// CAs. API servers present a certificate if their AdmissionConfiguration names one
    #[arg(long, value_name = "NAME", conflicts_with = "client_ca_secret", value_parser = object_names::object)]
    client_ca_config_map: Option<String>,
    /// A Secret with CA certificates in ca.crt, instead of --client-ca-config-map
    #[arg(long, value_name = "NAME", value_parser = object_names::object)]
    client_ca_secret: Option<String>,
    /// Accepts only those of these clients whose certificate has one of these common names
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = common_name)]
    client_allowed_names: Vec<String>,
    /// An additional flag of `taintward webhook`; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true, value_parser = flag)]
    webhook_arg: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum DryRunArg {
    Client,
    Server,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum InstallOutputArg {
    Yaml,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ComponentArg {
    Controller,
    Webhook,
    Viewer,
}

/// Why the flags, or a file that they name, cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallArgsError {
    #[error("cannot read the file of --ca-bundle, {}: {why}; {}", file.display(), remedy(why))]
    Unreadable { file: PathBuf, why: std::io::Error },
    #[error(
        "cannot use the file of --ca-bundle, {}: it contains no certificate; name a file in PEM format", file.display()
    )]
    NoCertificate { file: PathBuf },
    #[error(
        "--apply needs an image that the cluster can pull: add --image, as in \
         --image registry.example.com/taintward:{}; nothing was changed", env!("CARGO_PKG_VERSION")
    )]
    NoImage,
    #[error("--restriction-config needs the rule that reads it: add toleration-restriction to --rules")]
    NobodyReads,
    #[error(
        "--client-allowed-names needs the CA of the clients' certificates: add --client-ca-config-map or \
         --client-ca-secret"
    )]
    NobodySigns,
    #[error(transparent)]
    Lists(#[from] RestrictionConfigError),
}

impl InstallArgs {
    pub(crate) fn resolve(self) -> Result<InstallOptions, InstallArgsError> {
        let what = self.what();
        if matches!(what, InstallAction::Apply(..)) && self.installed.image.is_none() {
            return Err(InstallArgsError::NoImage);
        }
        let (json, timeout) = (self.output == InstallOutputArg::Json, self.timeout);
        let Self { keep_seconds, yes, installed, controller, webhook, monitoring, server, .. } = self;
        let has = |part| installed.parts.contains(&part);
        let parts = Components {
            controller: has(ComponentArg::Controller),
            webhook: has(ComponentArg::Webhook),
            viewer: has(ComponentArg::Viewer),
        };
        let values = InstallValues {
            parts,
            namespace: installed.namespace,
            image: installed.image.unwrap_or_else(|| InstallValues::default().image),
            pull_secrets: installed.image_pull_secret,
            replicas: installed.replicas,
            priority_class: installed.priority_class,
            api_servers: installed.api_server_cidr,
            exempt_namespaces: installed.exempt_namespaces,
            controllers: controller.controllers,
            mode: match controller.mode {
                ModeArg::Enforce => "enforce",
                ModeArg::Observe => "observe",
            }
            .to_owned(),
            stamp_taints: controller.stamp_taints,
            controller_args: controller.controller_arg,
            certificate: certificate(webhook.cert_secret, webhook.ca_bundle)?,
            lists: lists(webhook.restriction_config, &webhook.rules)?,
            rules: webhook.rules,
            failure_policy: webhook.failure_policy,
            clients: clients(
                webhook.client_ca_config_map,
                webhook.client_ca_secret,
                webhook.client_allowed_names,
            )?,
            webhook_args: webhook.webhook_arg,
            found: Vec::new(),
            monitoring: monitoring.resolve(),
        };
        Ok(InstallOptions { values, what, json, server: server.resolve(), timeout, keep_seconds, asks: !yes })
    }

    fn what(&self) -> InstallAction {
        let tried = match self.dry_run {
            None => DryRunKind::No,
            Some(DryRunArg::Client) => DryRunKind::Client,
            Some(DryRunArg::Server) => DryRunKind::Server,
        };
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

fn certificate(
    secret: Option<String>,
    file: Option<PathBuf>,
) -> Result<Option<ProvidedCertificate>, InstallArgsError> {
    let (Some(secret), Some(file)) = (secret, file) else { return Ok(None) };
    let pem = std::fs::read(&file).map_err(|why| InstallArgsError::Unreadable { file: file.clone(), why })?;
    if !String::from_utf8_lossy(&pem).contains("-----BEGIN CERTIFICATE-----") {
        return Err(InstallArgsError::NoCertificate { file });
    }
    Ok(Some(ProvidedCertificate { secret, ca_bundle: STANDARD.encode(pem) }))
}

fn clients(
    map: Option<String>,
    secret: Option<String>,
    names: Vec<String>,
) -> Result<Option<ClientCa>, InstallArgsError> {
    let is_secret = secret.is_some();
    match map.or(secret) {
        Some(holder) => Ok(Some(ClientCa { holder, is_secret, names })),
        None if names.is_empty() => Ok(None),
        None => Err(InstallArgsError::NobodySigns),
    }
}

/// The text of the file, if the webhook can parse it.
fn lists(file: Option<PathBuf>, rules: &str) -> Result<Option<String>, InstallArgsError> {
    let Some(file) = file else { return Ok(None) };
    if !rules.split(',').any(|rule| rule == "toleration-restriction") {
        return Err(InstallArgsError::NobodyReads);
    }
    Ok(Some(checked(&file)?))
}

fn controllers(text: &str) -> Result<String, String> {
    contradiction(text).map_or_else(|| Ok(text.to_owned()), Err)
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
