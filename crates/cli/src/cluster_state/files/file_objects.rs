//! Keeps the objects of files that decide how due pods leave, to be listed like those of a cluster.

use super::state_object::{ObjectBody, StateObject, each_object};
use super::{DEFAULT_NAMESPACE, with_uid};
use crate::manifest::ParseError;
use crate::manifest::files::{ManifestFile, each};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Two names of a kind.
type KindNames = (&'static str, &'static str);

/// The kinds, each by `apiVersion` and `kind`, with its group and its name in paths.
const KINDS: [(KindNames, KindNames); 8] = [
    (("v1", "Node"), ("", "nodes")),
    (("v1", "Pod"), ("", "pods")),
    (("v1", "Namespace"), ("", "namespaces")),
    (("policy/v1", "PodDisruptionBudget"), ("policy", "poddisruptionbudgets")),
    (("apps/v1", "Deployment"), ("apps", "deployments")),
    (("apps/v1", "ReplicaSet"), ("apps", "replicasets")),
    (("apps/v1", "StatefulSet"), ("apps", "statefulsets")),
    (("taintward.io/v1alpha1", "EvictionPolicy"), ("taintward.io", "evictionpolicies")),
];

/// Objects as JSON, by group and name of their kind.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileObjects {
    objects: BTreeMap<KindNames, Vec<Vec<u8>>>,
}

/// Whether the object is an eviction policy.
pub(crate) fn is_policy(object: &StateObject<'_>) -> bool {
    resource(object) == Some(("taintward.io", "evictionpolicies"))
}

fn resource(object: &StateObject<'_>) -> Option<KindNames> {
    let of_object = (&*object.version, &*object.word);
    KINDS.iter().find(|(kind, _)| *kind == of_object).map(|(_, resource)| *resource)
}

impl FileObjects {
    /// Reads the files again; standard input cannot be. What cannot be read was reported before.
    pub(crate) fn read(paths: &[PathBuf], stdin: Option<String>) -> Self {
        let mut all = Self::default();
        all.add(&stdin.unwrap_or_default());
        let files: Vec<PathBuf> = paths.iter().filter(|path| path.as_os_str() != "-").cloned().collect();
        each(&files, &mut |ManifestFile { text, .. }| drop(all.add(&text.unwrap_or_default())));
        all
    }

    /// The objects of a text.
    pub(crate) fn of_text(text: &str) -> Result<Self, ParseError> {
        let mut all = Self::default();
        all.add(text).into_iter().next().map_or(Ok(all), Err)
    }

    fn add(&mut self, text: &str) -> Vec<ParseError> {
        each_object(text, &mut |object| {
            let Some(resource) = resource(&object) else { return };
            let json = match object.body {
                ObjectBody::Json(json) => Cow::Borrowed(json.as_bytes()),
                ObjectBody::Tree(tree) => serde_json::to_vec(tree).unwrap_or_default().into(),
            };
            let json = with_namespace(with_uid(json), resource).into_owned();
            self.objects.entry(resource).or_default().push(json);
        })
    }

    /// Passes each object of a kind to `visit`.
    pub(crate) fn each(&self, resource: (&str, &str), visit: &mut dyn FnMut(&[u8])) {
        self.objects.get(&resource).into_iter().flatten().for_each(|json| visit(json));
    }
}

/// Gives an object of a namespaced kind the default namespace if it has none.
fn with_namespace<'j>(json: Cow<'j, [u8]>, (_, plural): KindNames) -> Cow<'j, [u8]> {
    if ["nodes", "namespaces", "evictionpolicies"].contains(&plural) {
        return json;
    }
    let Ok(mut object) = serde_json::from_slice::<Value>(&json) else { return json };
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return json };
    if metadata.get("namespace").and_then(Value::as_str).is_some_and(|namespace| !namespace.is_empty()) {
        return json;
    }
    metadata.insert("namespace".to_owned(), DEFAULT_NAMESPACE.into());
    serde_json::to_vec(&object).map_or(json, Cow::Owned)
}
