//! Reads the state of a cluster from the files that `-f` names, and for `plan` also the desired nodes.
//!
//! - Invariant: what cannot be read becomes a gap with its position, and the rest is read; a large JSON file is never
//!   in memory twice, unless it has eviction policies.

mod file_objects;
mod input_files;
mod state_object;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use file_objects::FileObjects;
pub(crate) use input_files::sort;
use state_object::{ObjectBody, StateObject, StateObjectKind, each_object};

use super::details::RelatedDetails;
use super::selected_pods::SelectedPods;
use super::{ClusterState, NAMED_MAX, ReadError, ServerClock, moment};
use crate::manifest::files::{ManifestFile, each};
use crate::manifest::{self, TextPosition};
use crate::output::enumerated;
use crate::progress::Progress;
use crate::repeated_fields;
use jiff::Timestamp;
use serde_json::Value;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use taintward_core::cluster_snapshot::SnapshotBuilder;
use taintward_core::toleration_matching::NumericOperators;
use taintward_kube::decode::DecodeError;
use taintward_kube::snapshot;
use taintward_kube::wire::{MetaJson, ObjectJson, object_from_slice};

/// The largest number of objects in one set of files; aliases can multiply them.
const OBJECTS_MAX: usize = 5_000_000;

/// The prefix of made-up UIDs.
pub(crate) const NO_UID: &str = "(no uid) ";

/// The namespace of objects without one.
const DEFAULT_NAMESPACE: &str = "default";

/// The state in files, with the details of the objects in `details`; `selected` selects the pods.
pub(super) fn read(
    paths: &[PathBuf],
    selected: SelectedPods,
    details: RelatedDetails,
    as_of: Option<Timestamp>,
    numeric: NumericOperators,
) -> (ClusterState, RelatedDetails) {
    let mut reader = FileReader { selected, details, ..FileReader::new(as_of, numeric) };
    each(paths, &mut |file| reader.take(file));
    let details = std::mem::take(&mut reader.details);
    let objects = reader.may_delay.then(|| FileObjects::read(paths, reader.stdin.take()));
    (ClusterState { objects, ..reader.finish(named(paths)) }, details)
}

fn named(paths: &[PathBuf]) -> String {
    match paths {
        [one] if one.as_os_str() == "-" => manifest::files::STDIN.to_owned(),
        paths => paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", "),
    }
}

/// Reads texts one after the other.
struct FileReader {
    builder: SnapshotBuilder,
    gaps: Vec<ReadError>,
    objects: usize,
    details: RelatedDetails,
    selected: SelectedPods,
    progress: Progress,
    /// Kinds that are ignored.
    others: BTreeSet<String>,
    /// Among them is what may delay evictions: a policy, the annotation of a node, or the brake of a Deployment.
    may_delay: bool,
    /// What standard input had: it can be read only once.
    stdin: Option<String>,
}

impl FileReader {
    fn new(as_of: Option<Timestamp>, numeric: NumericOperators) -> Self {
        let builder = SnapshotBuilder::new(moment(as_of, &ServerClock::local()), numeric, true);
        let (gaps, details, others) = (Vec::new(), RelatedDetails::default(), BTreeSet::new());
        let (selected, progress) = (SelectedPods::default(), Progress::default());
        let (may_delay, stdin) = (false, None);
        Self { builder, gaps, objects: 0, details, selected, progress, others, may_delay, stdin }
    }

    fn take(&mut self, ManifestFile { name, text }: ManifestFile) {
        let text = match text {
            Ok(text) => text,
            Err(why) => {
                let (at, why) = (why.at(), why.to_string());
                return self.gaps.push(ReadError { file: name, at, why });
            }
        };
        self.may_delay |= text.contains("--brake-limit");
        let faults = each_object(&text, &mut |object| self.put(&name, &text, &object));
        self.gaps.extend(faults.into_iter().map(|fault| {
            let why = fault.why.split_whitespace().collect::<Vec<_>>().join(" ");
            let why = format!("broken YAML or JSON: {why}");
            ReadError { file: name.clone(), at: fault.at, why }
        }));
        if name == manifest::files::STDIN {
            self.stdin = Some(text);
        }
    }

    fn put(&mut self, file: &str, text: &str, object: &StateObject<'_>) {
        self.objects += 1;
        self.progress.at(self.objects, "objects");
        let Some(kind) = object.kind() else {
            self.may_delay |= file_objects::is_policy(object);
            self.others.insert(object.word.to_string());
            return;
        };
        let why = match self.objects.cmp(&OBJECTS_MAX) {
            Ordering::Less => match self.read(file, text, kind, object) {
                Ok(()) => return,
                Err(why) => format!("{} {}: {why}; it is skipped", object.word, object.name()),
            },
            Ordering::Equal => {
                "the files have more objects than the command reads; name fewer files".to_owned()
            }
            Ordering::Greater => return,
        };
        self.gaps.push(ReadError { file: file.to_owned(), at: object.at(text), why });
    }

    fn read(
        &mut self,
        file: &str,
        text: &str,
        kind: StateObjectKind,
        object: &StateObject<'_>,
    ) -> Result<(), DecodeError> {
        let json = match object.body {
            ObjectBody::Json(json) => json,
            ObjectBody::Tree(tree) => {
                repeated_fields::warn(file, tree);
                return self.decode(kind, serde_json::to_vec(tree)?.into());
            }
        };
        let mut result = self.decode(kind, json.as_bytes().into());
        if result.is_err() {
            // JSON may repeat a field, of which the last one counts.
            manifest::each_from(json, object.at(text), |tree| {
                if !tree.repeated().is_empty() {
                    repeated_fields::warn(file, tree);
                    result = serde_json::to_vec(tree)
                        .map_err(DecodeError::from)
                        .and_then(|json| self.decode(kind, json.into()));
                }
            });
        }
        result
    }

    fn decode(&mut self, kind: StateObjectKind, json: Cow<'_, [u8]>) -> Result<(), DecodeError> {
        let json = with_uid(json);
        let another = match kind {
            StateObjectKind::Node => {
                self.details.node(&json);
                let record = snapshot::node(&json)?;
                self.may_delay |= record.fact.respect_budgets.is_some();
                self.builder.node(record)
            }
            StateObjectKind::Pod => {
                self.details.pod(&json, DEFAULT_NAMESPACE);
                self.selected.add(&json, DEFAULT_NAMESPACE);
                snapshot::pod(&json, DEFAULT_NAMESPACE, &mut self.builder)?
            }
            StateObjectKind::Event => {
                self.details.event(&json);
                false
            }
            StateObjectKind::Job => {
                self.builder.job(snapshot::job(&json, DEFAULT_NAMESPACE)?);
                false
            }
            StateObjectKind::Budget => {
                self.builder.budget(snapshot::budget(&json, DEFAULT_NAMESPACE)?);
                false
            }
        };
        if another {
            return Err(DecodeError::new(
                "it appeared before with another uid; check that the files are not of two clusters",
            ));
        }
        Ok(())
    }

    fn finish(self, from: String) -> ClusterState {
        let snapshot = self.builder.finish();
        let mut gaps = self.gaps;
        let mut lacks =
            |why: String| gaps.push(ReadError { file: from.clone(), at: TextPosition::default(), why });
        // Files do not show whether these nodes do not exist or are only missing in the files.
        let mut missing: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
        for (pod, node) in snapshot.lost() {
            missing.entry(node.as_str()).or_default().push(pod.as_str());
        }
        for (node, pods) in missing {
            lacks(format!(
                "has no node {node}, so its {} not judged: {}",
                if pods.len() == 1 { "pod is" } else { "pods are" },
                enumerated(&pods, NAMED_MAX)
            ));
        }
        if snapshot.pods().is_empty() && !self.others.is_empty() {
            let kinds: Vec<&str> =
                self.others.iter().map(String::as_str).filter(|kind| !kind.is_empty()).collect();
            let what = match kinds[..] {
                [] => "objects of unknown kinds".to_owned(),
                ref kinds => kinds.join(", "),
            };
            lacks(format!("has no pods, only {what}; add pods"));
        }
        if let Some(namespace) = self.selected.empty_namespace(&snapshot) {
            lacks(format!("has no pod in namespace {namespace}; check -n"));
        }
        let about = self.selected.among(&snapshot);
        ClusterState { snapshot, from, gaps, notes: Vec::new(), about, objects: None }
    }
}

/// Gives an object without a UID, as in handwritten files, a made-up one that distinguishes it from others.
pub(crate) fn with_uid(json: Cow<'_, [u8]>) -> Cow<'_, [u8]> {
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
