//! Reads the names of nodes, pods, namespaces, contexts and users for completion, from the cluster that the unfinished
//! command line selects; after any failure it returns no names.

use super::CompletionKind;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;
use taintward_kube::api::paged_list::{ListRequest, pages};
use taintward_kube::config::{self, ConfigOverrides, Impersonation, KubeconfigSection, connect, entries};
use taintward_kube::wire::{MetaJson, ObjectJson, object_from_slice};

/// More names than a user reads; the next letter reduces them.
const NAMES_MAX: usize = 500;

/// Shells discard completions that take longer.
const TIMEOUT: Duration = Duration::from_secs(2);

/// The flags of the typed line about the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TypedLine {
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
    overrides: ConfigOverrides,
    namespace: Option<String>,
    all_namespaces: bool,
}

impl TypedLine {
    /// The line that this process was given.
    fn typed() -> Self {
        Self::of(std::env::args_os().skip(1))
    }

    fn of(words: impl IntoIterator<Item = OsString>) -> Self {
        let mut line = Self::default();
        let mut acting = Impersonation::default();
        let mut words = words.into_iter().filter_map(|word| word.into_string().ok());
        while let Some(word) = words.next() {
            let (flag, mut value) = match word.split_once('=') {
                Some((flag, value)) => (flag.to_owned(), Some(value.to_owned())),
                None if ["-n", "-s"].iter().any(|short| word.starts_with(short)) && word.len() > 2 => {
                    (word[..2].to_owned(), Some(word[2..].to_owned()))
                }
                None => (word, None),
            };
            let mut value = || value.take().or_else(|| words.next()).filter(|value| !value.is_empty());
            match flag.as_str() {
                "--kubeconfig" => line.kubeconfig = value().map(PathBuf::from),
                "--context" => line.context = value(),
                "--cluster" => line.overrides.cluster = value(),
                "--user" => line.overrides.user = value(),
                "-s" | "--server" => line.overrides.server = value(),
                "--as" => acting.user = value().unwrap_or_default(),
                "--as-group" => acting.groups.extend(value()),
                "--as-uid" => acting.uid = value(),
                "-n" | "--namespace" => line.namespace = value(),
                "-A" | "--all-namespaces" => line.all_namespaces = true,
                _ => {}
            }
        }
        line.overrides.acting = (!acting.user.is_empty()).then_some(acting);
        line
    }
}

/// Names of this kind with this prefix, for the line that this process was given.
pub(super) fn of_typed_line(kind: CompletionKind, beginning: &str) -> Vec<String> {
    of(kind, beginning, &TypedLine::typed())
}

fn of(kind: CompletionKind, beginning: &str, line: &TypedLine) -> Vec<String> {
    let settings = config::ConnectSettings {
        kubeconfig: line.kubeconfig.clone(),
        context: line.context.clone(),
        overrides: line.overrides.clone(),
        // A warning must not disturb a line that is being typed.
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
    names.truncate(NAMES_MAX);
    names
}

/// An API group and its resource.
type CompletionResource = (&'static str, &'static str);

const NODES: CompletionResource = ("", "nodes");

/// The types that `explain` accepts.
const TYPES: [(&str, CompletionResource); 7] = [
    ("pod/", ("", "pods")),
    ("node/", NODES),
    ("deploy/", ("apps", "deployments")),
    ("sts/", ("apps", "statefulsets")),
    ("ds/", ("apps", "daemonsets")),
    ("rs/", ("apps", "replicasets")),
    ("job/", ("batch", "jobs")),
];

/// `pod/`, `node/` and so on, and after that their names.
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
        let add = &mut |item: &[u8]| {
            let item: ObjectJson<MetaJson<'_>> = object_from_slice(item)?;
            names.push(item.metadata.name.to_string());
            Ok(())
        };
        pages(&connected.streams, listing, TIMEOUT, add).await.ok()?;
        Some(names)
    };
    runtime.ok().and_then(|runtime| runtime.block_on(names)).unwrap_or_default()
}

#[cfg(test)]
mod tests;
