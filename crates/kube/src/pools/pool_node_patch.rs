//! Builds the JSON Patch that gives a node the taints, labels and record of its pool.
//!
//! - Invariant: it applies only to the state that was read, and changes only what the edits name (S8); the record and
//!   its marks are written together.

use crate::decode::{DecodeError, object_from_body};
use crate::json_patch;
use bytes::Bytes;
use serde_json::{Value, json};
use taintward_core::admission::pool::{NodeEdits, RECORD, RecordEdit};
use taintward_core::dedicated_pools::PoolNodeFact;
use taintward_core::taint::Taint;
use thiserror::Error;

/// A node as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct PoolNodeBody {
    object: Value,
    seen: PoolNodeFact,
}

/// The edits are for another state of the node: it has to be read again.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("the node changed after its edits were computed: {0}")]
pub struct PoolNodeMismatch(String);

impl PoolNodeBody {
    /// Parses the body of a response, JSON.
    ///
    /// # Errors
    /// It is not a node.
    pub fn read(body: &[u8]) -> Result<Self, DecodeError> {
        let seen = object_from_body::<PoolNodeFact>("application/json", body).fact()?;
        let object: Value = serde_json::from_slice(body)?;
        Ok(Self { object, seen })
    }

    /// The fact for pools.
    pub const fn seen(&self) -> &PoolNodeFact {
        &self.seen
    }

    /// Returns the patch that makes these edits.
    ///
    /// # Errors
    /// The edits remove something that does not exist, or would replace something that does.
    pub fn patch(&self, edits: &NodeEdits) -> Result<Option<Bytes>, PoolNodeMismatch> {
        if edits.is_empty() {
            return Ok(None);
        }
        let mut steps = self.demands(edits);
        self.take_taints(edits, &mut steps)?;
        self.add_taints(edits, &mut steps)?;
        self.labels(edits, &mut steps)?;
        self.record(edits, &mut steps)?;
        Ok(Some(Bytes::from(Value::Array(steps).to_string())))
    }

    /// The tests of what the edits depend on. If all of it exists, exactly that is tested, so that edits of other
    /// fields do not conflict. An absent field cannot be tested: then the version is. Marks that are removed whatever
    /// the record says are tested one by one: a kubelet that writes its node again and again cannot keep them.
    fn demands(&self, edits: &NodeEdits) -> Vec<Value> {
        let (metadata, taints) = (&self.object["metadata"], &self.object["spec"]["taints"]);
        let mut steps = vec![json_patch::test("/metadata/uid", &metadata["uid"])];
        if edits.record.is_none() && edits.add_taints.is_empty() && edits.add_labels.is_empty() {
            return steps;
        }
        match &self.seen.node.record {
            Some(record) if metadata["labels"].is_object() && taints.is_array() => steps.extend([
                json_patch::test("/metadata/labels", &metadata["labels"]),
                json_patch::test("/spec/taints", taints),
                json_patch::test(&record_path(), &json!(record)),
            ]),
            _ => steps.push(json_patch::test("/metadata/resourceVersion", &metadata["resourceVersion"])),
        }
        steps
    }

    /// From the highest index down, so that no index moves before it is used; each taint is named whole.
    fn take_taints(&self, edits: &NodeEdits, steps: &mut Vec<Value>) -> Result<(), PoolNodeMismatch> {
        let places: Result<Vec<usize>, PoolNodeMismatch> =
            edits.remove_taints.iter().map(|gone| self.place(gone)).collect();
        let mut places = places?;
        places.sort_unstable();
        places.dedup();
        for place in places.into_iter().rev() {
            let path = format!("/spec/taints/{place}");
            steps.push(json_patch::test(&path, &self.object["spec"]["taints"][place]));
            steps.push(json!({ "op": "remove", "path": path }));
        }
        Ok(())
    }

    fn place(&self, gone: &Taint) -> Result<usize, PoolNodeMismatch> {
        let mut listed = self.seen.node.taints.iter();
        let same = |one: &Taint| one.is_same(gone) && one.value == gone.value;
        listed.position(same).ok_or_else(|| PoolNodeMismatch(format!("it no longer has the taint {gone}")))
    }

    fn add_taints(&self, edits: &NodeEdits, steps: &mut Vec<Value>) -> Result<(), PoolNodeMismatch> {
        let gone = |one: &Taint| edits.remove_taints.iter().any(|gone| one.is_same(gone));
        let stays = |new: &&Taint| self.seen.node.taints.iter().any(|one| one.is_same(new) && !gone(one));
        if let Some(taken) = edits.add_taints.iter().find(stays) {
            return Err(PoolNodeMismatch(format!(
                "it already has the taint {taken}, or another value of it"
            )));
        }
        let new: Vec<Value> = edits.add_taints.iter().map(json_patch::taint).collect();
        match (self.object["spec"].is_object(), self.object["spec"]["taints"].is_array()) {
            _ if new.is_empty() => {}
            (_, true) => steps.extend(new.into_iter().map(|taint| add("/spec/taints/-", &taint))),
            (true, false) => steps.push(add("/spec/taints", &Value::Array(new))),
            (false, false) => steps.push(add("/spec", &json!({ "taints": new }))),
        }
        Ok(())
    }

    fn labels(&self, edits: &NodeEdits, steps: &mut Vec<Value>) -> Result<(), PoolNodeMismatch> {
        let had = &self.seen.node.labels;
        for gone in &edits.remove_labels {
            if had.get(&gone.key) != Some(&gone.value) {
                return Err(PoolNodeMismatch(format!("it has no label {}={}", gone.key, gone.value)));
            }
            let path = member("/metadata/labels", &gone.key);
            steps.push(json_patch::test(&path, &json!(gone.value)));
            steps.push(json!({ "op": "remove", "path": path }));
        }
        if !edits.add_labels.is_empty() && !self.object["metadata"]["labels"].is_object() {
            steps.push(add("/metadata/labels", &json!({})));
        }
        for new in &edits.add_labels {
            if had.contains_key(&new.key) && !edits.remove_labels.iter().any(|gone| gone.key == new.key) {
                return Err(PoolNodeMismatch(format!("it already has the label {}", new.key)));
            }
            steps.push(add(&member("/metadata/labels", &new.key), &json!(new.value)));
        }
        Ok(())
    }

    fn record(&self, edits: &NodeEdits, steps: &mut Vec<Value>) -> Result<(), PoolNodeMismatch> {
        match (&edits.record, &self.seen.node.record) {
            (None, _) => {}
            (Some(RecordEdit::Write(text)), _) => {
                if !self.object["metadata"]["annotations"].is_object() {
                    steps.push(add("/metadata/annotations", &json!({})));
                }
                steps.push(add(&record_path(), &json!(text)));
            }
            (Some(RecordEdit::Remove), Some(_)) => {
                steps.push(json!({ "op": "remove", "path": record_path() }));
            }
            (Some(RecordEdit::Remove), None) => return Err(PoolNodeMismatch("it has no record".to_owned())),
        }
        Ok(())
    }
}

fn add(path: &str, value: &Value) -> Value {
    json!({ "op": "add", "path": path, "value": value })
}

fn record_path() -> String {
    member("/metadata/annotations", RECORD)
}

fn member(map: &str, key: &str) -> String {
    format!("{map}/{}", json_patch::escaped(key))
}
