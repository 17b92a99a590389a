//! Resolves the nodes of a request: typed names, all nodes, or those that a selector matches.

use super::request::{TaintUsageError, is_node_type};
use std::time::Duration;
use taintward_kube::api::RequestError;
use taintward_kube::paged_list::{ListRequest, pages};
use taintward_kube::wire::{MetaJson, ObjectJson, object_from_slice};

/// Which nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum NodeTargets {
    /// These.
    Named(Vec<String>),
    /// Those with these labels; all if empty.
    Labelled(String),
}

/// `n1`, or `node/n1`, as kubectl takes it, too.
pub(super) fn named(typed: &[&str]) -> Result<NodeTargets, TaintUsageError> {
    let names = typed.iter().map(|name| match name.split('/').collect::<Vec<_>>().as_slice() {
        [name] => Ok((*name).to_owned()),
        ["", _] | [_, ""] => Err(TaintUsageError::HalfAName),
        [kind, name] if is_node_type(kind) => Ok((*name).to_owned()),
        [kind, _] => Err(TaintUsageError::Type(kind.to_lowercase())),
        _ => Err(TaintUsageError::Slashes),
    });
    names.collect::<Result<_, _>>().map(NodeTargets::Named)
}

/// The names of nodes with these labels.
pub(super) async fn find(
    client: &kube::Client,
    selector: &str,
    limit: Duration,
) -> Result<Vec<String>, RequestError> {
    let mut names = Vec::new();
    let listing = ListRequest { group: "", plural: "nodes", namespace: "", selector, fields: "" };
    let tell = &mut |item: &[u8]| {
        let item: ObjectJson<MetaJson<'_>> = object_from_slice(item).map_err(|why| why.to_string())?;
        names.push(item.metadata.name.to_string());
        Ok(())
    };
    pages(client, listing, limit, tell).await?;
    Ok(names)
}
