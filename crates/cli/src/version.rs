//! Runs `taintward version`: prints the versions of the program and of the API server.

use crate::args::kube_args::{ServerOptions, WHICH};
use crate::cluster_state::{ClusterStateError, greeted};
use crate::output::{API_VERSION, OutputArgs, PrintOptions, Printable};
use crate::runtime::Runtime;
use clap::Args;
use serde_json::{Value, json};
use std::process::ExitCode;

/// Exit codes of `taintward version`.
pub(crate) const EXIT_CODES: [(u8, &str); 2] = [
    (0, "All requested versions are printed"),
    (
        1,
        "No API server responded, and only the version of this program is printed; or the command line is invalid",
    ),
];

/// The version of this program in the form of a release.
const OURS: &str = concat!("v", env!("CARGO_PKG_VERSION"));

/// The flags of `taintward version`.
#[derive(Debug, Args)]
pub(crate) struct VersionArgs {
    /// Prints the version of this program only, and sends no request
    #[arg(long, conflicts_with_all = WHICH)]
    client: bool,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    pub(crate) server: ServerOptions,
}

struct Versions {
    server: Option<String>,
}

impl Printable for Versions {
    fn object(&self) -> Value {
        let mut object = json!({
            "apiVersion": API_VERSION,
            "kind": "Version",
            "clientVersion": {"gitVersion": OURS},
        });
        if let Some(server) = &self.server {
            object["serverVersion"] = json!({"gitVersion": server});
        }
        object
    }

    fn names(&self) -> Vec<String> {
        let server = self.server.iter().map(|version| format!("server/{version}"));
        std::iter::once(format!("client/{OURS}")).chain(server).collect()
    }

    fn human(&self, _: &PrintOptions) -> String {
        let server = self.server.iter().map(|version| format!("Server Version: {version}\n"));
        std::iter::once(format!("Client Version: {OURS}\n")).chain(server).collect()
    }
}

pub(crate) fn run(options: &VersionArgs) -> ExitCode {
    let (server, failure) = match (!options.client).then(|| query(&options.server)).transpose() {
        Ok(server) => (server, None),
        Err(why) => (None, Some(why.to_string())),
    };
    let printed = options.output.print(&Versions { server }).err().map(|why| why.to_string());
    let complaints: Vec<String> = printed.into_iter().chain(failure).collect();
    for complaint in &complaints {
        // A failed write is ignored.
        crate::stderr::error(complaint);
    }
    if complaints.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn query(server: &ServerOptions) -> Result<String, ClusterStateError> {
    let (_, greeting) = Runtime::new()?.block_on(greeted(&server.settings, server.timeout))?;
    Ok(greeting.version)
}
