//! Resolves the nodes of a request: typed names, all nodes, or those that a selector matches.

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

impl NodeTargets {
    /// The names of the nodes.
    pub(super) async fn names(
        &self,
        client: &kube::Client,
        limit: Duration,
    ) -> Result<Vec<String>, RequestError> {
        match self {
            Self::Named(names) => Ok(names.clone()),
            Self::Labelled(selector) => labelled(client, selector, limit).await,
        }
    }
}

/// The names of nodes with these labels.
async fn labelled(
    client: &kube::Client,
    selector: &str,
    limit: Duration,
) -> Result<Vec<String>, RequestError> {
    let mut names = Vec::new();
    let listing = ListRequest { group: "", plural: "nodes", namespace: "", selector, fields: "" };
    let add = &mut |item: &[u8]| {
        let item: ObjectJson<MetaJson<'_>> = object_from_slice(item).map_err(|why| why.to_string())?;
        names.push(item.metadata.name.to_string());
        Ok(())
    };
    pages(client, listing, limit, add).await?;
    Ok(names)
}
