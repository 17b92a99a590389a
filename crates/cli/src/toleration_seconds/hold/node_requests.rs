//! Finds the selected nodes, and writes the annotation to each.

use super::hold_args::{HoldAction, HoldTargets};
use taintward_core::taint_edit::TaintEdit;
use taintward_core::time::{Span, Wall};
use taintward_core::toleration_seconds::NodeHoldRequest;
use taintward_kube::api::RequestBudget;
use taintward_kube::api::RequestError;
use taintward_kube::api::paged_list::{ListRequest, object, pages};
use taintward_kube::clock::Clock;
use taintward_kube::decode::{Decoded, DecodedNode, WatchedObject as _};
use taintward_kube::hold_request::{HOLD, encode_request};
use taintward_kube::node_client::{EditableNode, NodeClient, NodeRequestError, PatchOptions};

/// The maximum number of retries after a conflict.
const TRIES: usize = 20;

/// Why the nodes are unknown.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NodeNamesError {
    #[error(transparent)]
    Read(#[from] RequestError),
    #[error("{}", absent(.0))]
    Absent(Vec<String>),
}

fn absent(names: &[String]) -> String {
    let (nodes, verb) = if names.len() == 1 { ("node", "does") } else { ("nodes", "do") };
    format!("{nodes} {} {verb} not exist; nothing was changed; check the name", names.join(", "))
}

/// These names, if all of the nodes exist.
async fn existing(
    client: &kube::Client,
    names: &[String],
    limit: RequestBudget,
) -> Result<Vec<String>, NodeNamesError> {
    let mut absent = Vec::new();
    for name in names {
        if object(client, ("", "nodes"), "", name, limit).await?.is_none() {
            absent.push(name.clone());
        }
    }
    if absent.is_empty() { Ok(names.to_vec()) } else { Err(NodeNamesError::Absent(absent)) }
}

/// The names of the nodes.
pub(super) async fn names(
    client: &kube::Client,
    targets: &HoldTargets,
    limit: RequestBudget,
) -> Result<Vec<String>, NodeNamesError> {
    let (selector, fields) = match targets {
        HoldTargets::Named(names) => return existing(client, names, limit).await,
        HoldTargets::Selected { labels, fields } => (labels, fields),
    };
    let nodes = ListRequest { group: "", plural: "nodes", namespace: "", selector, fields };
    let mut names = Vec::new();
    pages(client, nodes, limit, &mut |body| {
        match DecodedNode::from_json(body) {
            Decoded::Object(node) => names.push(node.taints.name.to_string()),
            Decoded::Unbound(identity) => names.push(identity.name),
            Decoded::Undecodable(node) => names.extend(node.identity.map(|identity| identity.name)),
        }
        Ok(())
    })
    .await?;
    Ok(names)
}

/// Writes the annotation to each node. Returns the errors by node.
pub(super) async fn write(nodes: &NodeClient, names: &[String], action: &HoldAction) -> Vec<String> {
    let mut failures = Vec::new();
    for name in names {
        failures.extend(write_one(nodes, name, action).await.err().map(|why| format!("node {name}: {why}")));
    }
    failures
}

fn request(action: &HoldAction, now: Wall) -> (NodeHoldRequest, &str) {
    match action {
        HoldAction::Hold { lasts, reason } => {
            let lasts = Span::from_micros(i64::try_from(lasts.as_micros()).unwrap_or(i64::MAX));
            (NodeHoldRequest::Hold { since: now, until: now.plus(lasts) }, reason)
        }
        HoldAction::Release(mode) => (NodeHoldRequest::Release { at: now, mode: *mode }, ""),
    }
}

/// The annotation has the API server's time: the controller ignores an order from the future, and compares times with
/// those of taints.
async fn write_one(nodes: &NodeClient, name: &str, action: &HoldAction) -> Result<(), String> {
    let writing = PatchOptions { field_manager: "taintward".to_owned(), ..PatchOptions::default() };
    let untouched = TaintEdit { add: Vec::new(), remove: Vec::new() };
    let mut tries = 1;
    loop {
        let response = nodes.read(name).await.map_err(|why| why.to_string())?;
        let node = EditableNode::read(&response.body).map_err(|why| why.to_string())?;
        let now = response.date.unwrap_or_else(|| Clock::system().now().wall);
        let (request, reason) = request(action, now);
        let note = (HOLD.to_owned(), encode_request(request, reason));
        let applied =
            untouched.apply(&node.fact().taints, false).map_err(|why| why.messages(name).join(", "))?;
        let Some(patch) = node.patch(&applied, &[], &[note]) else { return Ok(()) };
        match nodes.patch(name, patch, &writing).await {
            Ok(_) => return Ok(()),
            Err(why) if NodeRequestError::is_conflict(&why) && tries < TRIES => tries += 1,
            Err(why) => return Err(why.to_string()),
        }
    }
}
