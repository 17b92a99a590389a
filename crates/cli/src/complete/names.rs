//! # Names: what is there, in the cluster that a line means
//! Room:     names of nodes, pods, namespaces, and what a kubeconfig has, live.
//! Comes in: what is wanted; how it begins.
//! Goes out: names, sorted; none if anything is in the way.
//! Not here: how long it may take (`complete.rs`).

use super::Kind;
use super::line::Line;
use serde::Deserialize;
use std::time::Duration;
use taintward_client::connect::{self, Entries, connect, entries};
use taintward_client::pages::{Listing, pages};

/// More than anybody reads; the next letter makes it fewer.
const NAMES_MOST: usize = 500;

/// Who waits longer gets nothing anyway.
const PATIENCE: Duration = Duration::from_secs(2);

#[derive(Deserialize)]
struct Item {
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

/// Names of this kind that begin like this.
pub(super) fn of(kind: Kind, beginning: &str, line: &Line) -> Vec<String> {
    let settings = connect::Settings {
        kubeconfig: line.kubeconfig.clone(),
        context: line.context.clone(),
        overrides: line.overrides.clone(),
        ..connect::Settings::default()
    };
    match kind {
        Kind::Context => fitting(entries(Entries::Contexts, &settings), beginning),
        Kind::Cluster => fitting(entries(Entries::Clusters, &settings), beginning),
        Kind::User => fitting(entries(Entries::Users, &settings), beginning),
        Kind::PodOrNode => either(&settings, line, beginning),
        Kind::NodeName | Kind::PodName | Kind::Namespace => fitting(listed(kind, &settings, line), beginning),
    }
}

fn fitting(mut names: Vec<String>, beginning: &str) -> Vec<String> {
    names.retain(|name| name.starts_with(beginning));
    names.sort_unstable();
    names.dedup();
    names.truncate(NAMES_MOST);
    names
}

/// `pod/` and `node/`, and then their names.
fn either(settings: &connect::Settings, line: &Line, beginning: &str) -> Vec<String> {
    let kinds = [("pod/", Kind::PodName), ("node/", Kind::NodeName)];
    match kinds.into_iter().find(|(prefix, _)| beginning.starts_with(prefix)) {
        Some((prefix, kind)) => {
            let found = fitting(listed(kind, settings, line), &beginning[prefix.len()..]);
            found.into_iter().map(|name| format!("{prefix}{name}")).collect()
        }
        None => kinds
            .map(|(prefix, _)| prefix.to_owned())
            .into_iter()
            .filter(|name| name.starts_with(beginning))
            .collect(),
    }
}

fn listed(kind: Kind, settings: &connect::Settings, line: &Line) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let names = async {
        let connected = connect(settings).await.ok()?;
        let namespace = match &line.namespace {
            _ if kind != Kind::PodName || line.all_namespaces => "",
            Some(named) => named,
            None => &connected.default_namespace,
        };
        let plural = match kind {
            Kind::PodName => "pods",
            Kind::Namespace => "namespaces",
            _ => "nodes",
        };
        let listing = Listing { group: "", plural, namespace, selector: "", fields: "" };
        let mut names = Vec::new();
        let tell = &mut |item: &[u8]| {
            let item: Item = serde_json::from_slice(item).map_err(|why| why.to_string())?;
            names.push(item.metadata.name);
            Ok(())
        };
        pages(&connected.streams, listing, PATIENCE, tell).await.ok()?;
        Some(names)
    };
    runtime.ok().and_then(|runtime| runtime.block_on(names)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
