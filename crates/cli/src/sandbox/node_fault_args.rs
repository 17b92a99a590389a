//! Defines the arguments of `taintward sandbox node`: the fault, the nodes, and the address of the sandbox.

use crate::completion_kind::CompletionKind as Completed;
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;
use taintward_kube::config;

#[derive(Debug, Args)]
pub(crate) struct NodeFaultArgs {
    #[command(subcommand)]
    pub(crate) fault: NodeFault,
}

/// A fault of nodes, or its end.
#[derive(Debug, Subcommand)]
pub(crate) enum NodeFault {
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
pub(crate) enum PressureKind {
    Memory,
    Disk,
    Pid,
}

#[derive(Debug, Args)]
pub(crate) struct NodeSelectionArgs {
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

impl NodeFault {
    pub(crate) const fn selection(&self) -> &NodeSelectionArgs {
        match self {
            Self::Silence(which)
            | Self::Flap(which)
            | Self::Recover(which)
            | Self::Pressure { which, .. } => which,
        }
    }
}

impl NodeSelectionArgs {
    /// The names, each once.
    pub(crate) fn nodes(&self) -> Vec<&str> {
        let mut nodes: Vec<&str> = Vec::new();
        for name in &self.names {
            let prefixes = ["node/", "nodes/", "no/"];
            let name = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
            if !nodes.contains(&name) {
                nodes.push(name);
            }
        }
        nodes
    }

    pub(crate) fn settings(&self) -> config::ConnectSettings {
        config::ConnectSettings {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
            interactive: true,
            keep_alive: config::KeepAlive::PATIENT,
            warn: |_| {},
            ..config::ConnectSettings::default()
        }
    }
}

/// `memory,disk`: the kinds in a fixed order, each once.
pub(crate) fn kinds(chosen: &[PressureKind]) -> String {
    let all = [(PressureKind::Memory, "memory"), (PressureKind::Disk, "disk"), (PressureKind::Pid, "pid")];
    let names = all.iter().filter(|(kind, _)| chosen.contains(kind)).map(|(_, name)| *name);
    names.collect::<Vec<_>>().join(",")
}
