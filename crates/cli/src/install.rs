//! Runs `taintward install`: prints, applies or removes the objects of an installation, or writes the Helm chart.
//!
//! - Invariant: all four use the same objects.
//! - See `deploy/chart` for the objects, `install/install_args.rs` for the flags.

mod addresses;
mod api_resources;
mod apply;
mod chart;
mod helm_template;
mod install_args;
mod install_options;
mod monitoring_args;
mod uninstall;
mod values;

pub(crate) use install_args::InstallArgs;
pub(crate) use install_options::InstallOptions;

use crate::output::{self, PrintError};
use crate::runtime::Runtime;
use crate::say;
use apply::ApplyError;
use chart::ChartError;
use install_options::InstallAction;
use serde_json::{Value, json};
use std::io;
use std::process::ExitCode;
use taintward_kube::config::{ConnectError, connect};
use taintward_kube::object_client::ObjectClient;
use uninstall::UninstallError;
use values::InstallValues;

/// Exit codes of `taintward install`.
pub(crate) const EXIT_CODES: [(u8, &str); 3] = [
    (0, "It is printed, or the cluster is as it was asked to be"),
    (1, "Something could not be done; what was done before is printed, and asking again goes on from there"),
    (2, "The command line makes no sense"),
];

/// Name of the controller's account and Deployment; the label by which everything of ours is found.
const NAME: &str = "taintward";

/// An object for given choices.
#[derive(Clone, Debug)]
struct RenderedObject {
    /// With its notes.
    yaml: String,
    value: Value,
}

impl RenderedObject {
    fn new(yaml: String) -> Self {
        let value = serde_saphyr::from_str(&yaml).expect("the chart's templates make YAML of any values");
        Self { yaml, value }
    }
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
    #[error("cannot start the async runtime: {0}")]
    Start(io::Error),
}

pub(crate) fn run(plan: &InstallOptions) -> ExitCode {
    if plan.values.image.starts_with(values::NO_IMAGE) && matches!(plan.what, InstallAction::Apply(..)) {
        say::warning("no registry has the image that is the default; name yours with --image");
    }
    match carry_out(plan) {
        Ok(()) => ExitCode::SUCCESS,
        Err(why) => {
            say::error(why);
            ExitCode::FAILURE
        }
    }
}

fn carry_out(plan: &InstallOptions) -> Result<(), InstallError> {
    let values = &plan.values;
    match &plan.what {
        InstallAction::Print => {
            if lacks_api_servers(values) {
                say::warning(&format!("{OPEN}; name the networks of API servers with --api-server-cidr"));
            }
            print(&manifests(&chart::objects(values), plan.json))
        }
        InstallAction::PrintRemoval(leftovers) => {
            print(&manifests(&uninstall::identities(values, *leftovers), plan.json))
        }
        InstallAction::Chart(folder) => print(&chart::write(folder)?),
        InstallAction::Apply(tried, conflicts) => with_client(plan, async |server| {
            let found = if lacks_api_servers(values) { networks(server).await } else { Vec::new() };
            let all = chart::objects(&InstallValues { found, ..values.clone() });
            Ok(apply::all(server, &values.namespace, &all, *tried, *conflicts, plan.patience).await?)
        }),
        InstallAction::Remove(tried, leftovers) => with_client(plan, async |server| {
            Ok(uninstall::all(server, values, *tried, *leftovers, plan.patience).await?)
        }),
    }
}

/// What it is without a network.
const OPEN: &str = "the webhook's port is open to all pods of the cluster";

/// Whether the networks of API servers are to be found out.
fn lacks_api_servers(values: &InstallValues) -> bool {
    values.parts.webhook && values.api_servers.is_empty()
}

/// From where API servers ask, as far as the cluster shows.
async fn networks(server: &ObjectClient) -> Vec<String> {
    match addresses::found(server).await {
        Ok(found) => {
            say::line(
                "",
                format!(
                    "API servers ask from {}, and only they reach the webhook; apply again if that changes, or name other \
                 networks with --api-server-cidr",
                    found.join(", ")
                ),
            );
            found
        }
        Err(why) => {
            say::warning(&format!(
                "{OPEN}: where API servers ask from cannot be seen, because {why}; name their networks with \
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
fn with_client(
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

/// Quotes a text that YAML would take for something else, or for its own signs.
fn quoted(text: &str) -> String {
    const TAKEN: [&str; 9] = ["true", "false", "null", "yes", "no", "on", "off", "y", "n"];
    let begins = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '/') || text.starts_with("--");
    let plain = text.bytes().all(|c| c.is_ascii_alphanumeric() || b"_./=:@-".contains(&c));
    let taken = TAKEN.contains(&text.to_ascii_lowercase().as_str()) || text.ends_with(':') || text == "---";
    match begins && plain && !taken {
        true => text.to_owned(),
        false => Value::from(text).to_string(),
    }
}
