//! Defines the arguments of `taintward sandbox node`: the fault, the nodes, and the address of the sandbox.

use super::node_faults::{NodeFault, NodeFaultOptions};
use crate::completion_kind::CompletionKind as Completed;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use taintward_kube::config;

#[derive(Debug, Args)]
pub(super) struct NodeFaultArgs {
    #[command(subcommand)]
    verb: NodeVerb,
}

#[derive(Debug, Subcommand)]
enum NodeVerb {
    /// Makes the nodes' kubelets stop reporting
    Silence(NodeSelectionArgs),
    /// Makes the nodes' kubelets alternate between a minute of silence and a minute of reports
    Flap(NodeSelectionArgs),
    /// Makes the nodes' kubelets report pressure on the resources of --kind, and on no others
    Pressure {
        /// The resources under pressure; separate several with commas
        #[arg(
            long,
            value_name = "KIND,...",
            value_delimiter = ',',
            default_value = "memory",
            ignore_case = true
        )]
        kind: Vec<PressureKind>,
        #[command(flatten)]
        which: NodeSelectionArgs,
    },
    /// Ends all faults: the nodes' kubelets report again, without pressure
    Recover(NodeSelectionArgs),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum PressureKind {
    Memory,
    Disk,
    Pid,
}

#[derive(Debug, Args)]
struct NodeSelectionArgs {
    /// The nodes, as in kubectl: n3 or node/n3
    #[arg(required = true, value_name = "NAME", add = Completed::NodeName.completer())]
    names: Vec<String>,
    /// The sandbox's kubeconfig. The default is $KUBECONFIG, then the one of the running sandbox, then ~/.kube/config
    #[arg(long, value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The context in the kubeconfig. The default is its current context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

impl NodeFaultArgs {
    pub(super) fn resolve(self) -> NodeFaultOptions {
        let (fault, which) = match self.verb {
            NodeVerb::Silence(which) => (NodeFault::Silent, which),
            NodeVerb::Flap(which) => (NodeFault::Flapping, which),
            NodeVerb::Recover(which) => (NodeFault::Well, which),
            NodeVerb::Pressure { kind, which } => (NodeFault::Pressed(kinds(&kind)), which),
        };
        let mut nodes: Vec<String> = Vec::new();
        for name in which.names {
            let prefixes = ["node/", "nodes/", "no/"];
            let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(&name);
            if !nodes.iter().any(|other| other == name) {
                nodes.push(name.to_owned());
            }
        }
        let cluster = config::ConnectSettings {
            kubeconfig: which.kubeconfig,
            context: which.context,
            interactive: true,
            keep_alive: config::KeepAlive::PATIENT,
            warn: |_| {},
            ..config::ConnectSettings::default()
        };
        NodeFaultOptions { fault, nodes, cluster }
    }
}

/// The kinds in a fixed order, each once.
fn kinds(chosen: &[PressureKind]) -> String {
    let all = [(PressureKind::Memory, "memory"), (PressureKind::Disk, "disk"), (PressureKind::Pid, "pid")];
    let names = all.iter().filter(|(kind, _)| chosen.contains(kind)).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join(",")
}
