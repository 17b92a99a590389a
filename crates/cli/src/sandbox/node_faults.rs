//! Injects faults into the nodes of a running sandbox, with annotations that its kubelets understand.
//!
//! - Invariant: the command writes nothing to a cluster that does not identify itself as a sandbox, and nothing if one of
//!   the nodes does not exist.

use super::KUBECONFIG_PREFIX;
use super::node_fault_args::{NodeFault, kinds};
use crate::output::{self, PrintError, enumerated};
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams};
use serde_json::{Value, json};
use std::fs;
use std::future::Future;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;
use std::time::Duration;
use taintward_kube::config::{self, ConnectError, Connected, ProbeError, connect, probe};
use taintward_sandbox::controllers::{PRESSURE, SILENCE};
use taintward_sandbox::world::VERSION_SUFFIX;

/// The timeout of a request.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The timeout for a sandbox that may have ended.
const SHORT_TIMEOUT: Duration = Duration::from_secs(2);

/// The maximum number of nodes that an error lists.
const NAMED_MAX: usize = 20;

/// What failed, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeFaultError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error(
        "cannot find a running sandbox of your user or a kubeconfig; start one with `taintward sandbox`, or name its \
         kubeconfig with --kubeconfig"
    )]
    Nowhere,
    #[error("more than one sandbox is running; choose one with --kubeconfig: {0}")]
    Several(String),
    #[error("{place}: {why}; check that the sandbox is still running")]
    Unreachable { place: String, why: ProbeError },
    #[error(
        "{place} is not a sandbox: its version is {version}, and a sandbox's version ends with {VERSION_SUFFIX}; \
         nothing was changed. Name the sandbox's kubeconfig with --kubeconfig"
    )]
    NoSandbox { place: String, version: String },
    #[error("node {missing} does not exist, so nothing was changed; the nodes are {present}")]
    NoSuchNode { missing: String, present: String },
    #[error("{what}: {why}; check that the sandbox is still running, and run the command again")]
    Rejected { what: String, why: String },
    #[error(transparent)]
    Print(#[from] PrintError),
}

/// Injects the fault and reports it node by node.
pub(crate) async fn run(fault: &NodeFault) -> Result<(), NodeFaultError> {
    let selected = fault.selection().nodes();
    let cluster = find(&fault.selection().settings()).await?;
    let resource = ApiResource {
        group: String::new(),
        version: "v1".to_owned(),
        api_version: "v1".to_owned(),
        kind: "Node".to_owned(),
        plural: "nodes".to_owned(),
    };
    let nodes: Api<DynamicObject> = Api::all_with(cluster.client, &resource);
    let listed = within_timeout("cannot list nodes", nodes.list_metadata(&ListParams::default())).await?;
    let mut present: Vec<ObjectMeta> = listed.items.into_iter().map(|node| node.metadata).collect();
    present.sort_by(|one, other| one.name.cmp(&other.name));
    check(&selected, &present)?;
    let mut printed = Ok(());
    for name in selected {
        let before = present.iter().find(|node| node.name.as_deref() == Some(name));
        let word = if before.is_some_and(|node| is_so(fault, node)) {
            "unchanged".to_owned()
        } else {
            let patch = Patch::Merge(json!({"metadata": {"annotations": annotations(fault)}}));
            let what = format!("cannot annotate node/{name}");
            within_timeout(&what, nodes.patch_metadata(name, &PatchParams::default(), &patch)).await?;
            fault.word()
        };
        // A failure to print does not skip the other nodes.
        printed = printed.and(output::print(&format!("node/{name} {word}\n")));
    }
    Ok(printed?)
}

/// The sandbox that is selected by kubectl's rules or, if they select none, the running one.
async fn find(settings: &config::ConnectSettings) -> Result<Connected, NodeFaultError> {
    let is_named = settings.kubeconfig.is_some()
        || settings.context.is_some()
        || std::env::var_os("KUBECONFIG").is_some_and(|list| !list.is_empty());
    if !is_named {
        let mut running = running(settings).await;
        match running.len() {
            0 => {}
            1 => return Ok(running.remove(0).1),
            _ => {
                let paths: Vec<String> = running.into_iter().map(|(path, _)| path).collect();
                return Err(NodeFaultError::Several(paths.join(", ")));
            }
        }
    }
    let cluster = match connect(settings).await {
        Err(ConnectError::Nowhere { .. }) => return Err(NodeFaultError::Nowhere),
        other => other?,
    };
    let place = cluster.where_from.clone();
    match probe(&cluster.client, TIMEOUT).await {
        Ok(version) if version.ends_with(VERSION_SUFFIX) => Ok(cluster),
        Ok(version) => Err(NodeFaultError::NoSandbox { place, version }),
        Err(why) => Err(NodeFaultError::Unreachable { place, why }),
    }
}

/// Sandboxes whose kubeconfigs are at the default path.
async fn running(settings: &config::ConnectSettings) -> Vec<(String, Connected)> {
    let mut running = Vec::new();
    for path in kubeconfigs() {
        let settings = config::ConnectSettings { kubeconfig: Some(path.clone()), ..settings.clone() };
        let Ok(cluster) = connect(&settings).await else { continue };
        let response = probe(&cluster.client, SHORT_TIMEOUT).await;
        if response.is_ok_and(|version| version.ends_with(VERSION_SUFFIX)) {
            running.push((path.display().to_string(), cluster));
        }
    }
    running
}

/// Kubeconfigs at the default path that sandboxes of this user wrote. Every user can write to that folder, so only the
/// user's own files count: a kubeconfig may name a program to run.
fn kubeconfigs() -> Vec<PathBuf> {
    let us = rustix::process::geteuid().as_raw();
    let ours = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let number = name.strip_prefix(KUBECONFIG_PREFIX).and_then(|rest| rest.strip_suffix(".yaml"));
        number.is_some_and(|number| number.parse::<u32>().is_ok())
            && fs::symlink_metadata(path).is_ok_and(|file| file.is_file() && file.uid() == us)
    };
    let entries = fs::read_dir(std::env::temp_dir()).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(ours).collect();
    found.sort();
    found
}

async fn within_timeout<T>(
    what: &str,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, NodeFaultError> {
    let rejected = |why: String| NodeFaultError::Rejected { what: what.to_owned(), why };
    match tokio::time::timeout(TIMEOUT, request).await {
        Ok(Ok(response)) => Ok(response),
        Ok(Err(kube::Error::Api(status))) => Err(rejected(status.message.clone())),
        Ok(Err(why)) => Err(rejected(why.to_string())),
        Err(_) => Err(rejected(format!("no response within {TIMEOUT:?}"))),
    }
}

/// Checks that all nodes exist.
fn check(selected: &[&str], present: &[ObjectMeta]) -> Result<(), NodeFaultError> {
    let there: Vec<&str> = present.iter().filter_map(|node| node.name.as_deref()).collect();
    let missing: Vec<&str> = selected.iter().copied().filter(|name| !there.contains(name)).collect();
    if missing.is_empty() {
        return Ok(());
    }
    let present = if there.is_empty() { "none".to_owned() } else { enumerated(&there, NAMED_MAX) };
    Err(NodeFaultError::NoSuchNode { missing: enumerated(&missing, NAMED_MAX), present })
}

/// The annotations that inject a fault into a node's kubelet; null removes one.
fn annotations(fault: &NodeFault) -> Value {
    match fault {
        NodeFault::Silence(_) => json!({SILENCE: "true"}),
        NodeFault::Flap(_) => json!({SILENCE: "flap"}),
        NodeFault::Pressure { kind, .. } => json!({PRESSURE: kinds(kind)}),
        NodeFault::Recover(_) => json!({SILENCE: null, PRESSURE: null}),
    }
}

/// Whether the node has the fault already.
fn is_so(fault: &NodeFault, node: &ObjectMeta) -> bool {
    let present = |name: &str| node.annotations.as_ref().and_then(|all| all.get(name)).map(String::as_str);
    let wanted = annotations(fault);
    wanted.as_object().into_iter().flatten().all(|(name, value)| present(name) == value.as_str())
}

impl NodeFault {
    fn word(&self) -> String {
        match self {
            Self::Silence(_) => "silenced".to_owned(),
            Self::Flap(_) => "flapping".to_owned(),
            Self::Pressure { kind, .. } => format!("under pressure: {}", kinds(kind)),
            Self::Recover(_) => "recovered".to_owned(),
        }
    }
}
