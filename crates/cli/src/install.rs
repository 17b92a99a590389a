//! Runs `taintward install`: prints, applies or removes the objects of an installation, or writes the Helm chart.
//!
//! - Invariant: all four use the same objects.
//! - See `deploy/chart` for the objects, `install/install_args.rs` for the flags.

mod addresses;
mod api_resources;
mod apply;
mod changed_pods;
mod chart;
mod helm_template;
mod install_args;
mod monitoring_args;
mod prune;
mod uninstall;

pub(crate) use install_args::InstallArgs;

use crate::args::dry_run::DryRun;
use crate::confirm;
use crate::output::{self, PrintError};
use crate::runtime::Runtime;
use crate::stderr;
use apply::ApplyError;
use changed_pods::ChangedPodsError;
use chart::ChartError;
use install_args::{InstallAction, InstallOutputArg, InstallPart, InstallValues};
use serde_json::{Value, json};
use std::io;
use taintward_kube::config::{ConnectError, connect};
use taintward_kube::object_client::ObjectClient;
use uninstall::UninstallError;

/// Exit codes of `taintward install`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "The objects are printed, or every step in the cluster succeeded"),
    (
        1,
        "A step failed: the finished steps are printed, and the same command continues from there; or the command line \
         is invalid",
    ),
];

/// Name of the controller's account and Deployment; the label that every object of an installation has.
const NAME: &str = "taintward";

/// An object of an installation.
#[derive(Clone, Debug)]
struct RenderedObject {
    /// With its comments.
    yaml: String,
    value: Value,
}

impl RenderedObject {
    fn new(yaml: String) -> Self {
        let value =
            serde_saphyr::from_str(&yaml).expect("the chart's templates render valid YAML for any values");
        Self { yaml, value }
    }
}

/// Why the command failed, or completed in part.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InstallError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(transparent)]
    Apply(#[from] ApplyError),
    #[error(transparent)]
    Remove(#[from] UninstallError),
    #[error(transparent)]
    ChangedPods(#[from] ChangedPodsError),
    #[error(transparent)]
    Chart(#[from] ChartError),
    #[error(transparent)]
    Print(#[from] PrintError),
    #[error("cannot start the async runtime: {0}")]
    Start(io::Error),
    #[error(
        "cannot ask for confirmation on the terminal: {0}; nothing was deleted; use --yes to delete without a question"
    )]
    Prompt(io::Error),
    #[error("aborted: nothing was deleted")]
    Declined,
}

pub(crate) fn run(options: &InstallArgs) -> Result<(), InstallError> {
    let (values, json) = (&options.values, options.output == InstallOutputArg::Json);
    match &options.action() {
        InstallAction::Print => {
            if lacks_api_servers(values) {
                stderr::warning(&format!("{OPEN}; name the networks of API servers with --api-server-cidr"));
            }
            print(&manifests(&chart::objects(values), json))
        }
        InstallAction::PrintRemoval(leftovers) => {
            print(&manifests(&uninstall::identities(values, *leftovers), json))
        }
        InstallAction::Chart(folder) => print(&chart::write(folder)?),
        InstallAction::Apply(tried, conflicts) => with_client(options, async |server| {
            let found = if lacks_api_servers(values) { networks(server).await } else { Vec::new() };
            let all = chart::objects(&InstallValues { found, ..values.clone() });
            apply::all(server, &values.common.namespace, &all, *tried, *conflicts, options.timeout).await?;
            Ok(prune::all(server, values, &all, *tried).await?)
        }),
        InstallAction::Remove(tried, leftovers) => with_client(options, async |server| {
            uninstall::all(server, values, *tried, *leftovers, options.timeout).await?;
            Ok(uninstall::report_kept(server, values, *leftovers).await?)
        }),
    }
}

/// The effect of an installation without the networks of API servers.
const OPEN: &str = "all pods of the cluster can connect to the webhook";

/// Whether the command has to find the networks of API servers.
fn lacks_api_servers(values: &InstallValues) -> bool {
    values.has(InstallPart::Webhook) && values.common.api_server_cidr.is_empty()
}

/// The networks from which API servers call the webhook, as far as the cluster shows.
async fn networks(server: &ObjectClient) -> Vec<String> {
    match addresses::found(server).await {
        Ok(found) => {
            stderr::line(
                "",
                format!(
                    "API servers call from {}, and only these networks can connect to the webhook; apply again if \
                     they change, or name others with --api-server-cidr",
                    found.join(", ")
                ),
            );
            found
        }
        Err(why) => {
            stderr::warning(&format!(
                "{OPEN}: cannot find the networks of the API servers, because {why}; name them with --api-server-cidr"
            ));
            Vec::new()
        }
    }
}

fn print(text: &str) -> Result<(), InstallError> {
    Ok(output::print(text)?)
}

/// Connects to the cluster, checks that no pod needs what the command removes, and calls `done` with the client.
fn with_client(
    options: &InstallArgs,
    done: impl AsyncFnOnce(&ObjectClient) -> Result<(), InstallError>,
) -> Result<(), InstallError> {
    Runtime::new().map_err(InstallError::Start)?.block_on(async {
        let connected = connect(&options.server.settings).await?;
        let server = ObjectClient::new(connected.client.clone(), options.server.timeout.only_each());
        changed_pods::check(&connected, &server, options).await?;
        confirm_removal(options, &connected.where_from)?;
        done(&server).await
    })
}

/// Asks a user on a terminal before anything is deleted.
fn confirm_removal(options: &InstallArgs, cluster: &str) -> Result<(), InstallError> {
    let deletes = matches!(options.action(), InstallAction::Remove(DryRun::No, _));
    if !deletes || options.yes || !confirm::is_possible() {
        return Ok(());
    }
    let namespace = &options.values.common.namespace;
    let question =
        format!("This deletes the installation of Taintward in namespace {namespace} of {cluster}.");
    match confirm::prompt(&question).map_err(InstallError::Prompt)? {
        true => Ok(()),
        false => Err(InstallError::Declined),
    }
}

/// Documents of YAML, or one `List`.
fn manifests(objects: &[RenderedObject], json: bool) -> String {
    if json {
        let items: Vec<&Value> = objects.iter().map(|object| &object.value).collect();
        return output::json(&json!({"apiVersion": "v1", "kind": "List", "items": items}));
    }
    objects.iter().map(|object| object.yaml.as_str()).collect::<Vec<_>>().join("---\n")
}

/// Quotes a text that YAML would read as another type or as syntax.
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
