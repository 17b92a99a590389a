//! Reads the names of nodes, pods, namespaces, contexts and users for completion; any failure gives none.

use super::CompletionKind;
use super::typed_line::TypedLine;
use std::time::Duration;
use taintward_kube::config::{self, KubeconfigSection, connect, entries};
use taintward_kube::paged_list::{ListRequest, pages};
use taintward_kube::wire::{MetaJson, ObjectJson, object_from_slice};

/// More than anybody reads; the next letter makes it fewer.
const NAMES_MOST: usize = 500;

/// Who waits longer gets nothing anyway.
const PATIENCE: Duration = Duration::from_secs(2);

/// Names of this kind that begin like this.
pub(super) fn of(kind: CompletionKind, beginning: &str, line: &TypedLine) -> Vec<String> {
    let settings = config::ConnectSettings {
        kubeconfig: line.kubeconfig.clone(),
        context: line.context.clone(),
        overrides: line.overrides.clone(),
        // A line that is being typed is no place for it.
        warn: |_| {},
        ..config::ConnectSettings::default()
    };
    match kind {
        CompletionKind::Context => fitting(entries(KubeconfigSection::Contexts, &settings), beginning),
        CompletionKind::Cluster => fitting(entries(KubeconfigSection::Clusters, &settings), beginning),
        CompletionKind::User => fitting(entries(KubeconfigSection::Users, &settings), beginning),
        CompletionKind::Explained => typed(&settings, line, beginning),
        CompletionKind::NodeName => fitting(listed(NODES, &settings, line), beginning),
        CompletionKind::Namespace => fitting(listed(("", "namespaces"), &settings, line), beginning),
    }
}

fn fitting(mut names: Vec<String>, beginning: &str) -> Vec<String> {
    names.retain(|name| name.starts_with(beginning));
    names.sort_unstable();
    names.dedup();
    names.truncate(NAMES_MOST);
    names
}

/// An API group and what it has.
type CompletionResource = (&'static str, &'static str);

const NODES: CompletionResource = ("", "nodes");

/// What `explain` takes.
const TYPES: [(&str, CompletionResource); 7] = [
    ("pod/", ("", "pods")),
    ("node/", NODES),
    ("deploy/", ("apps", "deployments")),
    ("sts/", ("apps", "statefulsets")),
    ("ds/", ("apps", "daemonsets")),
    ("rs/", ("apps", "replicasets")),
    ("job/", ("batch", "jobs")),
];

/// `pod/`, `node/` and so on, and then their names.
fn typed(settings: &config::ConnectSettings, line: &TypedLine, beginning: &str) -> Vec<String> {
    match TYPES.into_iter().find(|(prefix, _)| beginning.starts_with(prefix)) {
        Some((prefix, resource)) => {
            let found = fitting(listed(resource, settings, line), &beginning[prefix.len()..]);
            found.into_iter().map(|name| format!("{prefix}{name}")).collect()
        }
        None => TYPES
            .map(|(prefix, _)| prefix.to_owned())
            .into_iter()
            .filter(|name| name.starts_with(beginning))
            .collect(),
    }
}

fn listed(
    (group, plural): CompletionResource,
    settings: &config::ConnectSettings,
    line: &TypedLine,
) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let names = async {
        let connected = connect(settings).await.ok()?;
        let namespace = match &line.namespace {
            _ if ["nodes", "namespaces"].contains(&plural) || line.all_namespaces => "",
            Some(named) => named,
            None => &connected.default_namespace,
        };
        let listing = ListRequest { group, plural, namespace, selector: "", fields: "" };
        let mut names = Vec::new();
        let tell = &mut |item: &[u8]| {
            let item: ObjectJson<MetaJson<'_>> = object_from_slice(item).map_err(|why| why.to_string())?;
            names.push(item.metadata.name.to_string());
            Ok(())
        };
        pages(&connected.streams, listing, PATIENCE, tell).await.ok()?;
        Some(names)
    };
    runtime.ok().and_then(|runtime| runtime.block_on(names)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
