//! Implements server-side apply: merging, removal of fields that are no longer applied, conflicts.

use super::{FieldWriter, ManagedFields, ManagedFieldsEntry, ManagerOperation, difference, settable, write};
use crate::api_status::StatusError;
use crate::canonicalize::zero;
use crate::patch::ownership::field_set::typed::{check, merge, places, remove};
use crate::patch::ownership::field_set::{Comparison, FieldSet};
use crate::patch::ownership::{DEPTH_MAX, MergeRule, unexpected, within_depth};
use crate::schema::{Schema, Shape, TypeId};
use serde_json::{Map, Value, json};

/// The annotation of client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The manager of the fields that existed before the first entry of managedFields.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// A field that another manager owns and that would change.
struct ApplyConflict {
    /// The manager, as messages name it.
    owner: String,
    /// The field: `.spec.replicas`.
    path: String,
    steps: Vec<String>,
}

/// The error for a configuration that would change fields of other managers.
fn status_error(conflicts: &[ApplyConflict]) -> StatusError {
    let cause = |conflict: &ApplyConflict| {
        let message = format!("conflict with {}", conflict.owner);
        json!({"reason": "FieldManagerConflict", "field": conflict.path, "message": message})
    };
    let causes: Vec<Value> = conflicts.iter().map(cause).collect();
    let message = match conflicts {
        [one] => format!("Apply failed with 1 conflict: conflict with {}: {}", one.owner, one.path),
        many => {
            let by_owner = many.chunk_by(|one, other| one.owner == other.owner).map(|of_one| {
                let paths: String = of_one.iter().map(|conflict| format!("\n- {}", conflict.path)).collect();
                format!("conflicts with {}:{paths}", of_one[0].owner)
            });
            let by_owner: Vec<String> = by_owner.collect();
            format!("Apply failed with {} conflicts: {}", many.len(), by_owner.join("\n"))
        }
    };
    StatusError::new(409, "Conflict", message).with(json!({"causes": causes}))
}

/// Applies `applied` to `live`, or creates it.
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    of: TypeId,
    writer: &FieldWriter<'_>,
    force: bool,
) -> Result<Value, StatusError> {
    reject(applied, of, writer)?;
    let managed = live.and_then(|live| live.pointer("/metadata/managedFields"));
    let mut ledger = ManagedFields::decode(managed)
        .ok_or_else(|| unexpected("failed to decode managed fields: they have an unexpected form"))?;
    let there = live.map_or_else(|| zero(&Shape::Object(of)), super::without);
    if let (Some(_), true) = (live, ledger.lines.is_empty()) {
        let before = FieldWriter { manager: BEFORE_FIRST_APPLY, ..*writer };
        write(&mut ledger, &zero(&Shape::Object(of)), &there, of, &before);
    }
    let turn = ApplyPass { live: &there, applied, of, writer };
    let (object, ledger) = match turn.run(ledger.clone(), force) {
        Err(conflicts) if writer.manager == "kubectl" => match turn.without_client_side(conflicts) {
            conflicts if conflicts.is_empty() => {
                turn.run(ledger, true).map_err(|conflicts| status_error(&conflicts))?
            }
            conflicts => return Err(status_error(&conflicts)),
        },
        result => result.map_err(|conflicts| status_error(&conflicts))?,
    };
    let object = if writer.manager == "kubectl" { renew_last_applied(object, applied) } else { object };
    Ok(super::with(object, ledger.encode()))
}

/// Checks a configuration before the object is read.
fn reject(applied: &Value, of: TypeId, writer: &FieldWriter<'_>) -> Result<(), StatusError> {
    if !within_depth(applied, DEPTH_MAX) {
        return Err(StatusError::bad_request("error decoding YAML: exceeded max depth"));
    }
    if !applied.is_object() {
        return Err(StatusError::bad_request("error decoding YAML: it is not an object"));
    }
    let text = |name| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let expected = Schema::get().at(of).name.rsplit('.').next().unwrap_or_default();
    let group_kind = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
    if kind != expected || version != writer.version {
        return Err(StatusError::bad_request(format!("invalid object type: {group_kind}, Kind={kind}")));
    }
    if applied.pointer("/metadata/managedFields").is_some_and(|managed| !managed.is_null()) {
        return Err(StatusError::bad_request("metadata.managedFields must be nil"));
    }
    check(applied, MergeRule::root(of)).map_err(|error| {
        let part = |path| applied.pointer(path).and_then(Value::as_str).unwrap_or_default();
        unexpected(format!(
            "failed to create typed patch object ({}/{}; {group_kind}, Kind={kind}): {error}",
            part("/metadata/namespace"),
            part("/metadata/name")
        ))
    })
}

/// One apply of a configuration to an object.
struct ApplyPass<'a> {
    live: &'a Value,
    applied: &'a Value,
    of: TypeId,
    writer: &'a FieldWriter<'a>,
}

impl ApplyPass<'_> {
    fn run(
        &self,
        mut ledger: ManagedFields,
        force: bool,
    ) -> Result<(Value, ManagedFields), Vec<ApplyConflict>> {
        let rule = MergeRule::root(self.of);
        let mut line = ManagedFieldsEntry::new(self.writer, ManagerOperation::Apply);
        let last = ledger.take(&line);
        line.fields = settable(places(self.applied, rule), self.of, self.writer.subresource);
        let merged = merge(Some(self.live), Some(self.applied), rule).unwrap_or_else(|| json!({}));
        let object = match &last {
            None => merged,
            Some(last) => prune(&merged, &last.fields, &ledger.owned().union(&line.fields), rule),
        };
        let Comparison { written, removed } = difference(self.live, &object, self.of, self.writer);
        let conflicts = conflicts(&ledger, &written);
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        ledger.release(&written);
        ledger.release(&removed);
        let changed = object != *self.live;
        line.time = if changed { Some(self.writer.now.to_owned()) } else { last.and_then(|last| last.time) };
        line.fields = super::ownable(std::mem::take(&mut line.fields));
        if !line.fields.is_empty() {
            ledger.lines.push(line);
        }
        Ok((object, ledger))
    }

    /// The conflicts without those with `kubectl apply`'s own client-side writes: server-side apply takes over the
    /// fields in its annotation that the object still has.
    fn without_client_side(&self, conflicts: Vec<ApplyConflict>) -> Vec<ApplyConflict> {
        let rule = MergeRule::root(self.of);
        let annotation = self.live["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap_or_default();
        let Ok(before) = serde_json::from_str::<Value>(annotation) else { return conflicts };
        if before["apiVersion"] != self.writer.version || check(&before, rule).is_err() {
            return conflicts;
        }
        let Comparison { written, removed } = Comparison::of(&before, self.live, rule);
        let kept = places(&before, rule).difference(&written.union(&removed));
        conflicts.into_iter().filter(|conflict| !kept.contains(&conflict.steps)).collect()
    }
}

/// The conflicts with the managers of the written fields.
fn conflicts(ledger: &ManagedFields, written: &FieldSet) -> Vec<ApplyConflict> {
    let mut lines: Vec<&ManagedFieldsEntry> = ledger.lines.iter().collect();
    lines.sort_by_key(|line| (&line.manager, line.operation, &line.version, &line.subresource));
    let conflicts = lines.into_iter().flat_map(|line| {
        let owner = line.owner();
        let places = line.fields.intersection(written).paths().into_iter();
        places.map(move |(steps, path)| ApplyConflict { owner: owner.clone(), path, steps })
    });
    conflicts.collect()
}

/// Updates the annotation of client-side apply if there is one.
fn renew_last_applied(mut object: Value, applied: &Value) -> Value {
    let there = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
    let there = there.and_then(|annotations| annotations.get_mut(LAST_APPLIED));
    if let Some(there) = there.filter(|there| there.as_str().is_some_and(|text| !text.is_empty())) {
        let mut applied = applied.clone();
        let annotations = applied.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut);
        if let Some(annotations) = annotations {
            annotations.remove(LAST_APPLIED);
            if Map::is_empty(annotations)
                && let Some(metadata) = applied["metadata"].as_object_mut()
            {
                metadata.remove("annotations");
            }
        }
        *there = format!("{applied}\n").into();
    }
    object
}

/// `merged` without the fields that only `last` owned.
fn prune(merged: &Value, last: &FieldSet, owned: &FieldSet, rule: MergeRule) -> Value {
    if last.is_empty() {
        return merged.clone();
    }
    let without = |gone: &FieldSet| remove(merged, gone, rule).unwrap_or_else(|| json!({}));
    let named = |fields: &FieldSet| fields.with_named(rule);
    let of = |object: &Value| named(&places(object, rule));
    let (all, last) = (of(merged), named(last));
    // Removing an item or a field removes what lies below it. Fields below it that other managers own are restored …
    let pruned = without(&last);
    let pruned = without(&all.difference(&of(&pruned).union(&named(owned))));
    // … and so are those that this manager never owned.
    without(&all.difference(&of(&pruned)).intersection(&last))
}
