//! Defines the flags of `taintward install`, and which of them may stand together.

use super::install_options::{ConflictPolicy, DryRunKind, InstallAction, InstallOptions, PoolRemoval};
use super::monitoring_args::MonitoringArgs;
use super::values::{ClientCa, Components, InstallValues, ProvidedCertificate, RULES, contradiction};
use crate::args::kube_args::ServerArgs;
use crate::args::object_names;
use crate::args::restriction_config::{RestrictionConfigError, checked};
use crate::args::write_mode::ModeArg;
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
    /// The way back: what would be deleted, in order; with --apply it is
    #[arg(long)]
    uninstall: bool,
    /// With --apply: only tries it. client sends nothing but reads, server has everything checked and keeps nothing
    #[arg(long, value_name = "HOW", value_enum, requires = "apply")]
    dry_run: Option<DryRunArg>,
    /// With --apply: takes fields that others have changed since
    #[arg(long, requires = "apply", conflicts_with = "uninstall")]
    force_conflicts: bool,
    /// With --uninstall: pools and policies as well, and their definitions; the nodes of pools are cleaned first
    #[arg(long, requires = "uninstall", conflicts_with_all = ["keep_pools", "parts"])]
    crds: bool,
    /// With --uninstall: goes on although there are pools; their nodes stay tainted
    #[arg(long, requires = "uninstall")]
    keep_pools: bool,
    /// How long definitions, and pools that are deleted, are waited for
    #[arg(long, value_name = "DURATION", default_value = "1m", value_parser = crate::args::duration::positive)]
    timeout: Duration,
    /// Writes the same as a Helm chart into this folder; its values are the flags below
    #[arg(long, value_name = "FOLDER", conflicts_with_all = ["apply", "uninstall", "output"])]
    chart: Option<PathBuf>,
    /// How manifests are printed
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
    /// Which parts
    #[arg(
        long,
        value_name = "LIST",
        value_enum,
        value_delimiter = ',',
        default_value = "controller,webhook,viewer"
    )]
    parts: Vec<ComponentArg>,
    /// The namespace of it all
    #[arg(long, value_name = "NAME", default_value = "taintward-system", value_parser = object_names::namespace)]
    namespace: String,
    /// The image, where you have pushed it
    #[arg(long, value_name = "IMAGE", default_value_t = InstallValues::default().image, value_parser = image)]
    image: String,
    /// A Secret with which the image is pulled; may be repeated
    #[arg(long, value_name = "SECRET", value_parser = object_names::object)]
    image_pull_secret: Vec<String>,
    /// Pods of each part
    #[arg(long, value_name = "COUNT", default_value = "2", value_parser = clap::value_parser!(u16).range(1..=100))]
    replicas: u16,
    /// The priority of the pods
    #[arg(long, value_name = "NAME", default_value = "system-cluster-critical", value_parser = object_names::object)]
    priority_class: String,
    /// Where API servers are: only they reach the webhook, and our pods reach only them; may be repeated. Without it both is
    /// open, but --apply looks for them, and lets only them reach the webhook if it can tell
    #[arg(long, value_name = "NETWORK", value_delimiter = ',', value_parser = network)]
    api_server_cidr: Vec<String>,
    /// Namespaces that no DedicatedPool has a say in, beside kube-system and the one of --namespace: their pods may be on any
    /// node
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = object_names::namespace)]
    exempt_namespaces: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The controllers")]
struct InstalledControllerArgs {
    /// Which controllers run, as `taintward run` takes them; each named once
    #[arg(long, value_name = "LIST", default_value = "*,dedicated-pool-controller", value_parser = controllers)]
    controllers: String,
    /// enforce, or observe: only watches, meters and logs
    #[arg(long, value_name = "MODE", value_enum, default_value = "enforce")]
    mode: ModeArg,
    /// Writes timeAdded to NoExecute taints that appear without one
    #[arg(long)]
    stamp_taints: bool,
    /// A further flag of `taintward run`, as in --controller-arg=--v=2; may be repeated
    #[arg(long, value_name = "FLAG", allow_hyphen_values = true, value_parser = flag)]
    controller_arg: Vec<String>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The webhook")]
struct InstalledWebhookArgs {
    /// Which rules hold, as `taintward webhook` takes them: '*' for default-tolerations and dedicated-pools; further extended-resources,
    /// toleration-restriction, advice, brake
    #[arg(long, value_name = "LIST", default_value = "*", value_parser = rules)]
    rules: String,
    /// With the rule toleration-restriction: lists for namespaces that have none of their own, as `taintward webhook` takes them
    #[arg(long, value_name = "FILE")]
    restriction_config: Option<PathBuf>,
    /// What becomes of pods while no webhook answers: Ignore lets them pass, Fail refuses them
    #[arg(long, value_name = "POLICY", default_value = "Ignore", value_parser = ["Ignore", "Fail"])]
    failure_policy: String,
    /// A Secret with the certificate, of type kubernetes.io/tls, that somebody else renews; without it the webhook makes its
    /// own
    #[arg(long, value_name = "SECRET", requires = "ca_bundle", value_parser = object_names::object)]
    cert_secret: Option<String>,
    /// With --cert-secret: what API servers are to trust, PEM
    #[arg(long, value_name = "FILE", requires = "cert_secret")]
    ca_bundle: Option<PathBuf>,
    /// A ConfigMap in whose ca.crt are authorities: only clients that show a certificate of one of them are let in. API servers show
    /// one if their AdmissionConfiguration names it
    #[arg(long, value_name = "NAME", conflicts_with = "client_ca_secret", value_parser = object_names::object)]
    client_ca_config_map: Option<String>,
    /// The same, in a Secret
    #[arg(long, value_name = "NAME", value_parser = object_names::object)]
    client_ca_secret: Option<String>,
    /// Of these clients only those with one of these common names
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = common_name)]
    client_allowed_names: Vec<String>,
    /// A further flag of `taintward webhook`; may be repeated
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

/// Why a file that is named cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallArgsError {
    #[error("cannot read {}, which --ca-bundle names: {why}", file.display())]
    Unreadable { file: PathBuf, why: std::io::Error },
    #[error("there is no certificate in {}, which --ca-bundle names; expected PEM", file.display())]
    NoCertificate { file: PathBuf },
    #[error(
        "--restriction-config is given, but the rule that reads it does not hold: add toleration-restriction to --rules"
    )]
    NobodyReads,
    #[error(
        "--client-allowed-names is given, but not who has signed the certificates: add --client-ca-config-map or \
         --client-ca-secret"
    )]
    NobodySigns,
    #[error(transparent)]
    Lists(#[from] RestrictionConfigError),
}

impl InstallArgs {
    pub(crate) fn resolve(self) -> Result<InstallOptions, InstallArgsError> {
        let what = self.what();
        let (json, patience) = (self.output == InstallOutputArg::Json, self.timeout);
        let Self { installed, controller, webhook, monitoring, server, .. } = self;
        let has = |part| installed.parts.contains(&part);
        let parts = Components {
            controller: has(ComponentArg::Controller),
            webhook: has(ComponentArg::Webhook),
            viewer: has(ComponentArg::Viewer),
        };
        let values = InstallValues {
            parts,
            namespace: installed.namespace,
            image: installed.image,
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
        Ok(InstallOptions { values, what, json, server: server.resolve(), patience })
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
            (false, false) => PoolRemoval::Refuse,
        };
        let conflicts = if self.force_conflicts { ConflictPolicy::Take } else { ConflictPolicy::Refuse };
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

/// The text of the file, if the webhook will understand it.
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
        Some(rule) => Err(format!("there is no rule '{rule}'; expected '*' or one of: {}", RULES.join(", "))),
    }
}

/// Letters that need no quotes anywhere.
fn image(text: &str) -> Result<String, &'static str> {
    let fits = text.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-/:@".contains(&c));
    match fits && text.starts_with(|c: char| c.is_ascii_alphanumeric()) {
        true => Ok(text.to_owned()),
        false => Err("expected an image, as in registry.example.com/taintward:0.1.0"),
    }
}

/// Letters that need no quotes anywhere; no comma.
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
