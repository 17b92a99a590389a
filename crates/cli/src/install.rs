//! Runs `taintward install`: prints, applies or removes the objects of an installation, or writes the Helm chart.
//!
//! - Invariant: all four use the same objects.
//! - See `deploy/chart` for the objects, `args/install.rs` for the flags.

mod addresses;
mod api_resources;
mod apply;
mod chart;
mod helm_template;
mod objects;
mod uninstall;
mod values;
mod whole;

pub(crate) use values::{ClientCa, Components, InstallValues, ProvidedCertificate, RULES, contradiction};

use crate::args::kube_args::ServerOptions;
use crate::output::{self, PrintError};
use crate::runtime::Runtime;
use apply::ApplyError;
use chart::ChartError;
use objects::RenderedObject;
use serde_json::{Value, json};
use std::io;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;
use taintward_kube::config::{ConnectError, connect};
use taintward_kube::object_client::ObjectClient;
use uninstall::UninstallError;

/// Exit codes of `taintward install`.
pub(crate) const EXIT_CODES: [(u8, &str); 3] = [
    (0, "It is printed, or the cluster is as it was asked to be"),
    (1, "Something could not be done; what was done before is printed, and asking again goes on from there"),
    (2, "The command line makes no sense"),
];

/// What `taintward install` is to do.
#[derive(Debug)]
pub(crate) struct InstallOptions {
    pub(crate) values: InstallValues,
    pub(crate) what: InstallAction,
    /// As JSON, in a `List`, where objects are printed.
    pub(crate) json: bool,
    pub(crate) server: ServerOptions,
    /// How long definitions, and nodes of pools that are deleted, are waited for.
    pub(crate) patience: Duration,
}

/// What is done.
#[derive(Debug)]
pub(crate) enum InstallAction {
    Print,
    Apply(DryRunKind, ConflictPolicy),
    /// Prints what would be deleted.
    PrintRemoval(PoolRemoval),
    Remove(DryRunKind, PoolRemoval),
    /// Writes the chart into a folder.
    Chart(PathBuf),
}

/// Whether it is only tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum DryRunKind {
    No,
    /// Nothing is sent but reads.
    Client,
    /// The server checks everything and keeps nothing.
    Server,
}

/// What becomes of fields that others hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ConflictPolicy {
    Refuse,
    Take,
}

/// What becomes of pools and policies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PoolRemoval {
    /// Nothing is taken away while there are pools.
    Refuse,
    /// They stay, and their nodes as they are.
    Keep,
    /// They are deleted first, then their definitions.
    Delete,
}

/// Why it was not done, or not all of it.
#[derive(Debug, thiserror::Error)]
enum InstallError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Remove(#[from] UninstallError),
    #[error(transparent)]
    Chart(#[from] ChartError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("the operating system refuses what the program needs to start: {0}")]
    Start(io::Error),
}

pub(crate) fn run(plan: &InstallOptions) -> ExitCode {
    if plan.values.image.starts_with(values::NO_IMAGE) && matches!(plan.what, InstallAction::Apply(..)) {
        remark("warning: no registry has the image that is the default; name yours with --image");
    }
    match carry_out(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            remark(&format!("error: {why}"));
            ExitCode::FAILURE
        }
    }
}

fn remark(text: &str) {
    crate::say::line("", text);
}

fn carry_out(plan: &InstallOptions) -> Result<(), InstallError> {
    let values = &plan.values;
    match &plan.what {
        InstallAction::Print => {
            if nobody_said(values) {
                remark(&format!("warning: {OPEN}; name the networks of API servers with --api-server-cidr"));
            }
            print(&manifests(&objects::objects(values), plan.json))
        }
        InstallAction::PrintRemoval(leftovers) => {
            print(&manifests(&uninstall::identities(values, *leftovers), plan.json))
        }
        InstallAction::Chart(folder) => print(&chart::write(folder)?),
        InstallAction::Apply(tried, conflicts) => asking(plan, async |server| {
            let found = if nobody_said(values) { networks(server).await } else { Vec::new() };
            let all = objects::objects(&InstallValues { found, ..values.clone() });
            Ok(apply::all(server, &values.namespace, &all, *tried, *conflicts, plan.patience).await?)
        }),
        InstallAction::Remove(tried, leftovers) => asking(plan, async |server| {
            Ok(uninstall::all(server, values, *tried, *leftovers, plan.patience).await?)
        }),
    }
}

/// What it is without a network.
const OPEN: &str = "the webhook's port is open to all pods of the cluster";

/// Whether it is for us to say from where the webhook may be asked.
fn nobody_said(values: &InstallValues) -> bool {
    values.parts.webhook && values.api_servers.is_empty()
}

/// From where API servers ask, as far as the cluster shows.
async fn networks(server: &ObjectClient) -> Vec<String> {
    match addresses::found(server).await {
        Ok(found) => {
            remark(&format!(
                "API servers ask from {}, and only they reach the webhook; apply again if that changes, or name other \
                 networks with --api-server-cidr",
                found.join(", ")
            ));
            found
        }
        Err(why) => {
            remark(&format!(
                "warning: {OPEN}: where API servers ask from cannot be seen, because {why}; name their networks with \
                 --api-server-cidr"
            ));
            Vec::new()
        }
    }
}

fn print(text: &str) -> Result<(), InstallError> {
    Ok(output::print(text)?)
}

/// Connects, and does it.
fn asking(
    plan: &InstallOptions,
    done: impl AsyncFnOnce(&ObjectClient) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    Runtime::new().map_err(InstallError::Start)?.block_on(async {
        let connected = connect(&plan.server.settings).await?;
        done(&ObjectClient::new(connected.client, plan.server.patience)).await
    })
}

/// Documents of YAML, or one `List`.
fn manifests(objects: &[RenderedObject], json: bool) -> String {
    if json {
        let items: Vec<&Value> = objects.iter().map(|object| &object.value).collect();
        return output::json(&json!({"apiVersion": "v1", "kind": "List", "items": items}));
    }
    objects.iter().map(|object| object.yaml.as_str()).collect::<Vec<_>>().join("---\n")
}
