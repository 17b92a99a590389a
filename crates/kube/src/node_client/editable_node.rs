//! Holds a whole node and builds the JSON Patch that changes its taints and annotations.
//!
//! - Invariant: unknown fields survive; the patch applies only if what it depends on is unchanged since it was read
//!   (S8, KT-9).

use crate::decode::{DecodeError, object_from_body, taints_changed};
use crate::json_patch;
use bytes::Bytes;
use serde_json::{Map, Value, json};
use taintward_core::fact::NodeFact;
use taintward_core::taint::Taint;
use taintward_core::taint_edit::{EditResult, TaintOrigin};
use taintward_core::time::Wall;

/// A node as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct EditableNode {
    object: Value,
    fact: NodeFact,
    taints_changed: Option<Wall>,
}

/// The edit of an annotation: its key, and its value or none.
pub type AnnotationEdit = (String, Option<String>);

impl EditableNode {
    /// Parses the body of a response.
    ///
    /// # Errors
    /// It is not a node.
    pub fn read(body: &[u8]) -> Result<Self, DecodeError> {
        let fact = object_from_body::<NodeFact>("application/json", body).fact()?;
        let object: Value = serde_json::from_slice(body)?;
        let listed = object["spec"]["taints"].as_array().map_or(0, Vec::len);
        if listed != fact.taints.len() {
            let valid = fact.taints.len();
            return Err(DecodeError::new(format!(
                "spec.taints has {listed} entries, but only {valid} are valid; correct them"
            )));
        }
        Ok(Self { object, fact, taints_changed: taints_changed(body) })
    }

    /// The core's fact about it.
    pub const fn fact(&self) -> &NodeFact {
        &self.fact
    }

    /// When its list of taints last changed, whichever taints they are: each is at least as old. `None` if no manager
    /// owns it.
    pub const fn taints_changed(&self) -> Option<Wall> {
        self.taints_changed
    }

    /// The value of an annotation.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.object["metadata"]["annotations"][key].as_str()
    }

    /// All annotations that are text.
    pub fn annotations(&self) -> impl Iterator<Item = (&str, &str)> {
        let all = self.object["metadata"]["annotations"].as_object();
        all.into_iter().flatten().filter_map(|(key, value)| Some((key.as_str(), value.as_str()?)))
    }

    /// Returns the patch that gives the node the taints computed for it, and writes these annotations; `None` if
    /// nothing changes.
    ///
    /// If there are taints, the patch tests exactly this list, so that edits of other fields do not conflict. An absent
    /// list or map cannot be tested: then the patch tests the version.
    pub fn patch(&self, applied: &EditResult, added: &[Taint], notes: &[AnnotationEdit]) -> Option<Bytes> {
        let taints = self.taints_after(applied, added);
        let notes = self.notes_to_write(notes);
        let (had, changed) = (self.object["spec"]["taints"].as_array(), self.taints_change(&taints));
        if !changed && notes.is_empty() {
            return None;
        }
        let has_annotations = self.object["metadata"]["annotations"].is_object();
        let mut steps = vec![json_patch::test("/metadata/uid", &self.object["metadata"]["uid"])];
        match had {
            Some(had) if notes.is_empty() || has_annotations => {
                steps.push(json_patch::test("/spec/taints", &Value::from(had.clone())));
            }
            _ => steps.push(json_patch::test(
                "/metadata/resourceVersion",
                &self.object["metadata"]["resourceVersion"],
            )),
        }
        if changed {
            steps.push(match (self.object["spec"].is_object(), had.is_some(), taints.is_empty()) {
                (_, true, true) => json!({ "op": "remove", "path": "/spec/taints" }),
                (true, _, _) => json!({ "op": "add", "path": "/spec/taints", "value": taints }),
                (false, ..) => json!({ "op": "add", "path": "/spec", "value": { "taints": taints } }),
            });
        }
        steps.extend(self.annotate(&notes, has_annotations));
        Some(Bytes::from(Value::Array(steps).to_string()))
    }

    /// Returns the object after the patch.
    pub fn after(&self, applied: &EditResult, added: &[Taint], notes: &[AnnotationEdit]) -> Value {
        let mut object = self.object.clone();
        let taints = self.taints_after(applied, added);
        if self.taints_change(&taints) {
            match taints.is_empty() {
                true => {
                    object["spec"].as_object_mut().map(|spec| spec.remove("taints"));
                }
                false => object["spec"]["taints"] = Value::Array(taints),
            }
        }
        for (key, value) in self.notes_to_write(notes) {
            match value {
                Some(value) => object["metadata"]["annotations"][key] = Value::from(value.as_str()),
                None => {
                    object["metadata"]["annotations"].as_object_mut().map(|all| all.remove(key));
                    if object["metadata"]["annotations"].as_object().is_some_and(Map::is_empty) {
                        object["metadata"].as_object_mut().map(|metadata| metadata.remove("annotations"));
                    }
                }
            }
        }
        object
    }

    fn taints_after(&self, applied: &EditResult, added: &[Taint]) -> Vec<Value> {
        let listed = self.object["spec"]["taints"].as_array().map(Vec::as_slice).unwrap_or_default();
        let each = applied.origins.iter().map(|origin| match *origin {
            TaintOrigin::Kept(at) => listed[at].clone(),
            TaintOrigin::Added(at) => json_patch::taint(&added[at]),
        });
        each.collect()
    }

    fn taints_change(&self, taints: &[Value]) -> bool {
        let had = self.object["spec"]["taints"].as_array().map(Vec::as_slice).unwrap_or_default();
        had != taints
    }

    fn notes_to_write<'n>(&self, notes: &'n [AnnotationEdit]) -> Vec<(&'n str, Option<&'n String>)> {
        let each = notes.iter().map(|(key, value)| (key.as_str(), value.as_ref()));
        each.filter(|(key, value)| self.annotation(key) != value.map(String::as_str)).collect()
    }

    fn annotate(&self, notes: &[(&str, Option<&String>)], has_annotations: bool) -> Vec<Value> {
        if !has_annotations {
            let all: Map<String, Value> = notes
                .iter()
                .filter_map(|(key, value)| Some((String::from(*key), json!(value.as_ref()?))))
                .collect();
            return match all.is_empty() {
                true => Vec::new(),
                false => vec![json!({ "op": "add", "path": "/metadata/annotations", "value": all })],
            };
        }
        let path = |key: &str| format!("/metadata/annotations/{}", json_patch::escaped(key));
        let each = notes.iter().flat_map(|(key, value)| {
            let path = path(key);
            let had = self.annotation(key).map(|had| json_patch::test(&path, &json!(had)));
            let step = match value {
                Some(value) => json!({ "op": "add", "path": path, "value": value }),
                None => json!({ "op": "remove", "path": path }),
            };
            had.into_iter().chain([step])
        });
        each.collect()
    }
}
