//! Reads the state of a cluster from the files that `-f` names, and for `plan` also the desired nodes.
//!
//! - Invariant: what cannot be read becomes a gap with its position, and the rest is read.

use super::objects::{self, StateObject, StateObjectKind};
use super::related_details::RelatedDetails;
use super::selected_pods::SelectedPods;
use super::{ClusterState, ClusterStateError, ReadError, ServerClock, moment, some};
use crate::args::kube_args::ClusterOptions;
use crate::manifest::files::{ManifestFile, each};
use crate::manifest::{self, TextPosition};
use crate::progress::Progress;
use jiff::Timestamp;
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use taintward_core::cluster_snapshot::SnapshotBuilder;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::snapshot;
use taintward_kube::wire::{MetaJson, ObjectJson, object_from_slice};

/// Objects that are read, in one set of files; an alias can stand for many.
const OBJECTS_MOST: usize = 5_000_000;

/// How the uid begins of an object that has none.
pub(crate) const NO_UID: &str = "(no uid) ";

/// The namespace of objects that name none.
const DEFAULT_NAMESPACE: &str = "default";

pub(super) fn read(
    paths: &[PathBuf],
    cluster: &ClusterOptions,
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
) -> Result<ClusterState, ClusterStateError> {
    let mut texts = FileReader { chosen: SelectedPods::of(cluster)?, ..FileReader::new(as_of, numeric) };
    each(paths, &mut |found| texts.take(found));
    Ok(texts.finish(named(paths)))
}

/// The same, with a closer look at some objects.
pub(super) fn read_details(
    paths: &[PathBuf],
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
    details: RelatedDetails,
) -> (ClusterState, RelatedDetails) {
    let mut texts = FileReader { details, ..FileReader::new(as_of, numeric) };
    each(paths, &mut |found| texts.take(found));
    let details = std::mem::take(&mut texts.details);
    (texts.finish(named(paths)), details)
}

fn named(paths: &[PathBuf]) -> String {
    match paths {
        [one] if one.as_os_str() == "-" => manifest::files::STDIN.to_owned(),
        paths => paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
    }
}

/// Texts as they come.
struct FileReader {
    builder: SnapshotBuilder,
    gaps: Vec<ReadError>,
    objects: usize,
    details: RelatedDetails,
    chosen: SelectedPods,
    progress: Progress,
    /// Kinds that were not looked at.
    others: BTreeSet<String>,
}

impl FileReader {
    fn new(as_of: Option<Timestamp>, numeric: NumericOperators) -> Self {
        let builder = SnapshotBuilder::new(moment(as_of, &ServerClock::local()), numeric, true);
        let (gaps, details, others) = (Vec::new(), RelatedDetails::default(), BTreeSet::new());
        let (chosen, progress) = (SelectedPods::default(), Progress::default());
        Self { builder, gaps, objects: 0, details, chosen, progress, others }
    }

    fn take(&mut self, ManifestFile { name, text }: ManifestFile) {
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                let (at, why) = (why.at(), why.to_string());
                return self.gaps.push(ReadError { file: name, at, why });
            }
        };
        let faults = objects::each(&text, &mut |object| self.put(&name, &text, &object));
        self.gaps.extend(faults.into_iter().map(|fault| {
            let why = fault.why.split_whitespace().collect::<Vec<_>>().join(" ");
            let why = format!("broken YAML or JSON: {why}");
            ReadError { file: name.clone(), at: fault.at, why }
        }));
    }

    fn put(&mut self, file: &str, text: &str, object: &StateObject<'_>) {
        self.objects += 1;
        self.progress.at(self.objects, "objects");
        let Some(kind) = object.kind else {
            self.others.insert(object.word.to_string());
            return;
        };
        let why = match self.objects.cmp(&OBJECTS_MOST) {
            Ordering::Less => match self.read(kind, object) {
                Ok(()) => return,
                Err(why) => format!("{} {}: {why}; it is left out", object.word, object.name()),
            },
            Ordering::Equal => "there are more objects than are looked at; give fewer files".to_owned(),
            Ordering::Greater => return,
        };
        self.gaps.push(ReadError { file: file.to_owned(), at: object.at(text), why });
    }

    fn read(&mut self, kind: StateObjectKind, object: &StateObject<'_>) -> Result<(), String> {
        let json = with_uid(object.json()?);
        let another = match kind {
            StateObjectKind::Node => {
                self.details.node(&json);
                self.builder.node(snapshot::node(&json)?)
            }
            StateObjectKind::Pod => {
                self.details.pod(&json, DEFAULT_NAMESPACE);
                self.chosen.look(&json, DEFAULT_NAMESPACE);
                snapshot::pod(&json, DEFAULT_NAMESPACE, &mut self.builder)?
            }
            StateObjectKind::Event => {
                self.details.event(&json);
                false
            }
            StateObjectKind::Budget => {
                self.builder.budget(snapshot::budget(&json, DEFAULT_NAMESPACE)?);
                false
            }
        };
        if another {
            return Err("it was told before with another uid: are these files of two clusters?".to_owned());
        }
        Ok(())
    }

    fn finish(self, from: String) -> ClusterState {
        let snapshot = self.builder.finish();
        let mut gaps = self.gaps;
        let mut lacks =
            |why: String| gaps.push(ReadError { file: from.clone(), at: TextPosition::default(), why });
        // Files do not show whether these nodes are gone, or only not in the files.
        let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (pod, node) in snapshot.lost() {
            missing.entry(node.as_str()).or_default().push(pod.as_str());
        }
        for (node, pods) in missing {
            lacks(format!(
                "has no node {node}, which {} {} on: nothing is said of {}",
                some(&pods),
                if pods.len() == 1 { "is" } else { "are" },
                if pods.len() == 1 { "it" } else { "them" }
            ));
        }
        if snapshot.pods().is_empty() && !self.others.is_empty() {
            let kinds: Vec<&str> =
                self.others.iter().map(String::as_str).filter(|kind| !kind.is_empty()).collect();
            let what = match kinds[..] {
                [] => "objects of no kind that Kubernetes has".to_owned(),
                ref kinds => kinds.join(", "),
            };
            lacks(format!("has no pods, but {what}; pods are what is asked about"));
        }
        if let Some(namespace) = self.chosen.empty_namespace(&snapshot) {
            lacks(format!("has no pod in namespace {namespace}; check -n"));
        }
        let about = self.chosen.among(&snapshot);
        ClusterState { snapshot, from, gaps, notes: Vec::new(), about }
    }
}

/// What was written by hand has no uid; a made-up one keeps it apart from others.
fn with_uid(json: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
    if object_from_slice::<ObjectJson<MetaJson<'_>>>(&json)
        .is_ok_and(|object| !object.metadata.uid.is_empty())
    {
        return json;
    }
    let Ok(mut object) = serde_json::from_slice::<Value>(&json) else { return json };
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return json };
    let text = |field: &str| metadata.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
    let uid = format!("{NO_UID}{}/{}", text("namespace"), text("name"));
    metadata.insert("uid".to_owned(), uid.into());
    serde_json::to_vec(&object).map_or(json, Cow::Owned)
}

/// What a file that `-f` names is taken for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InputFiles {
    /// The cluster's state.
    pub(crate) state: Vec<PathBuf>,
    /// How nodes would be.
    pub(crate) changes: Vec<PathBuf>,
}

/// Sorts what `plan -f` names. A file with nothing but nodes says how nodes would be, if the state comes from elsewhere:
/// from another file that has nodes too, or from a cluster because no file has pods.
pub(crate) fn sort(paths: Vec<PathBuf>) -> InputFiles {
    let looked: Vec<(PathBuf, FileContent)> = paths
        .into_iter()
        .map(|path| {
            let content = content(&path);
            (path, content)
        })
        .collect();
    let state_elsewhere = match looked.iter().any(|(_, content)| content.others) {
        true => looked.iter().any(|(_, content)| content.others && content.nodes),
        false => true,
    };
    let mut given = InputFiles { state: Vec::new(), changes: Vec::new() };
    for (path, content) in looked {
        let is_change = content.nodes && !content.others && state_elsewhere;
        if is_change { given.changes.push(path) } else { given.state.push(path) }
    }
    given
}

/// What there is in a file, or in a folder.
#[derive(Clone, Copy, Debug, Default)]
struct FileContent {
    nodes: bool,
    others: bool,
}

/// Standard input can be read only once, and is the cluster's state.
fn content(path: &PathBuf) -> FileContent {
    if path.as_os_str() == "-" {
        return FileContent { nodes: true, others: true };
    }
    let mut content = FileContent::default();
    each(std::slice::from_ref(path), &mut |found| match found.text {
        Ok(text) => {
            let FileContent { nodes, others } = content_of(&text);
            content.nodes |= nodes;
            content.others |= others;
        }
        Err(_) => content.others = true,
    });
    content
}

/// What there is in a text; what is broken is something else.
fn content_of(text: &str) -> FileContent {
    let mut content = FileContent::default();
    let faults = objects::each(text, &mut |object| match object.kind {
        Some(StateObjectKind::Node) => content.nodes = true,
        _ => content.others = true,
    });
    content.others |= !faults.is_empty();
    content
}

#[cfg(test)]
pub(crate) mod tests;
