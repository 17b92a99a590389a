//! Writes what a sandbox prints first: what runs, how to connect, and what to try.
//!
//! - Invariant: an address and a command to copy have a line of their own, whole.

use super::sandbox_args::SandboxOptions;
use crate::messages::counted;
use fakekube::api::ApiServer;
use fakekube::resource::known;
use fakekube::store::ListRange;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;

/// The addresses of a sandbox.
#[derive(Clone, Copy)]
pub(crate) struct SandboxAddresses<'a> {
    /// The API server's.
    pub(crate) server: &'a str,
    pub(crate) kubeconfig: &'a Path,
    pub(crate) board: Option<&'a str>,
}

/// The lines.
pub(crate) fn lines(options: &SandboxOptions, server: &ApiServer, at: SandboxAddresses<'_>) -> Vec<String> {
    let all = ListRange { namespace: None, after: None };
    let nodes = server.store().list(known("", "nodes"), all, None);
    let nodes: Vec<_> =
        nodes.into_iter().flat_map(|list| list.objects).map(|(_, node)| node.value()).collect();
    let mut lines = vec![format!("Taintward sandbox: {}, at {}", contents(&nodes), at.server)];
    if !options.args.listen.ip().is_loopback() {
        lines.push(format!(
            "WARNING: {} is not a loopback address: every client on the network with this kubeconfig has full access",
            options.args.listen
        ));
    }
    let own_line = |text: &str| format!("  {text}");
    if let Some(board) = at.board {
        lines.extend(["The board, in a browser:".to_owned(), own_line(board)]);
    }
    lines.push("For kubectl, in another terminal:".to_owned());
    lines.push(own_line(&format!("export KUBECONFIG={}", at.kubeconfig.display())));
    let first = nodes.first().and_then(|node| node["metadata"]["name"].as_str());
    lines.push("Then try:".to_owned());
    match first {
        Some(node) => lines.extend([
            own_line(&format!("kubectl taint nodes {node} maintenance=now:NoExecute")),
            own_line(&format!("taintward sandbox node silence {node}")),
        ]),
        None => lines.push(own_line("kubectl apply -f nodes.yaml")),
    }
    lines
}

/// `6 nodes in 3 zones`
fn contents(nodes: &[Value]) -> String {
    if nodes.is_empty() {
        return "no nodes and no workloads".to_owned();
    }
    let zone = |node: &'_ Value| {
        node["metadata"]["labels"]["topology.kubernetes.io/zone"].as_str().map(String::from)
    };
    let zones: BTreeSet<String> = nodes.iter().filter_map(zone).collect();
    let nodes = counted(nodes.len(), "node");
    if zones.is_empty() { nodes } else { format!("{nodes} in {}", counted(zones.len(), "zone")) }
}
