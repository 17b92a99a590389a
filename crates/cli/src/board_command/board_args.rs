//! Defines the flags of `taintward board`.

use crate::args::kube_args::{ClusterOptions, ServerArgs};
use crate::completion_kind::CompletionKind;
use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct BoardArgs {
    /// The port on 127.0.0.1 for the board; 0 means any free port
    #[arg(long, value_name = "PORT", default_value_t = 0)]
    port: u16,
    /// Shows pods and workloads of this namespace only. The default is all namespaces
    #[arg(short, long, value_name = "NAME", add = CompletionKind::Namespace.completer())]
    namespace: Option<String>,
    #[command(flatten)]
    server: ServerArgs,
}

/// The cluster to show, and the port.
#[derive(Debug)]
pub(crate) struct BoardOptions {
    pub(crate) port: u16,
    pub(crate) cluster: ClusterOptions,
    /// All if empty.
    pub(crate) namespace: String,
    /// The flags that select the same cluster for another command.
    pub(crate) flags: Vec<String>,
}

impl BoardArgs {
    pub(crate) fn resolve(self) -> BoardOptions {
        let flags = self.server.flags();
        let cluster = ClusterOptions::all_of(self.server.resolve());
        BoardOptions { port: self.port, cluster, namespace: self.namespace.unwrap_or_default(), flags }
    }
}
