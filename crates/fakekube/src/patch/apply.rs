//! Implements server-side apply: merging, removal of fields that are no longer applied, conflicts.
//!
//! - See `track.rs` for other writes.

use super::check::check;
use super::compare::Comparison;
use super::managed_fields::{self, ManagedFields, ManagedFieldsEntry, ManagerOperation};
use super::merge_rule::MergeRule;
use super::prune::prune;
use super::track::{difference, settable, write};
use super::typed::{merge, places};
use super::{DEPTH_MAX, FieldWriter, PatchError, within_depth};
use crate::canonicalize::zero;
use crate::schema::{Schema, Shape, TypeId};
use serde_json::{Map, Value, json};

/// The annotation of client-side apply.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// Who owned what there was before the first line of managedFields.
const BEFORE_FIRST_APPLY: &str = "before-first-apply";

/// A place that somebody else owns and that would change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApplyConflict {
    /// Who owns it.
    pub manager: String,
    /// `Apply` or `Update`.
    pub operation: &'static str,
    /// The `apiVersion` they wrote in.
    pub version: String,
    /// The subresource they wrote to; empty for the object itself.
    pub subresource: String,
    /// When they last wrote.
    pub time: Option<String>,
    /// The place: `.spec.replicas`.
    pub path: String,
    steps: Vec<String>,
}

impl ApplyConflict {
    fn owner(&self) -> String {
        let mut owner = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            owner += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == ManagerOperation::Update.name() {
            owner += &format!(" using {}", self.version);
        }
        owner
    }
}

/// Why a configuration was not applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ApplyError {
    /// Others own what would change.
    Conflicts(Vec<ApplyConflict>),
    /// It can't be applied at all.
    Refused(PatchError),
}

impl ApplyError {
    /// The HTTP status.
    pub fn code(&self) -> u16 {
        match self {
            Self::Conflicts(_) => 409,
            Self::Refused(error) => error.code,
        }
    }

    /// The answer's body.
    pub fn status(&self) -> Value {
        let conflicts = match self {
            Self::Conflicts(conflicts) => conflicts,
            Self::Refused(error) => return error.status(),
        };
        let causes: Vec<Value> = conflicts
            .iter()
            .map(|conflict| {
                json!({
                    "reason": "FieldManagerConflict", "field": conflict.path,
                    "message": format!("conflict with {}", conflict.owner()),
                })
            })
            .collect();
        json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": 409,
            "reason": "Conflict", "message": self.to_string(), "details": {"causes": causes},
        })
    }
}

impl std::fmt::Display for ApplyError {
    fn fmt(&self, into: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Refused(error) => error.fmt(into),
            Self::Conflicts(conflicts) => match conflicts.as_slice() {
                [one] => {
                    write!(into, "Apply failed with 1 conflict: conflict with {}: {}", one.owner(), one.path)
                }
                many => {
                    write!(into, "Apply failed with {} conflicts: ", many.len())?;
                    let mut owner = String::new();
                    for conflict in many {
                        if conflict.owner() != owner {
                            let line = if owner.is_empty() { "" } else { "\n" };
                            owner = conflict.owner();
                            write!(into, "{line}conflicts with {owner}:")?;
                        }
                        write!(into, "\n- {}", conflict.path)?;
                    }
                    Ok(())
                }
            },
        }
    }
}

impl std::error::Error for ApplyError {}

impl From<PatchError> for ApplyError {
    fn from(error: PatchError) -> Self {
        Self::Refused(error)
    }
}

/// Applies `applied` to `live`, or creates it.
pub fn apply(
    live: Option<&Value>,
    applied: &Value,
    of: TypeId,
    writer: &FieldWriter<'_>,
    force: bool,
) -> Result<Value, ApplyError> {
    refuse(applied, of, writer)?;
    let managed = live.and_then(|live| live.pointer("/metadata/managedFields"));
    let mut ledger = ManagedFields::decode(managed).ok_or_else(|| {
        PatchError::plain("failed to decode managed fields: they are not what they should be")
    })?;
    let there = live.map_or_else(|| zero(&Shape::Object(of)), managed_fields::without);
    if let (Some(_), true) = (live, ledger.lines.is_empty()) {
        let before = FieldWriter { manager: BEFORE_FIRST_APPLY, ..*writer };
        write(&mut ledger, &zero(&Shape::Object(of)), &there, of, &before);
    }
    let turn = ApplyPass { live: &there, applied, of, writer };
    let (object, ledger) = match turn.run(ledger.clone(), force) {
        Err(conflicts) if writer.manager == "kubectl" => match turn.without_client_side(conflicts) {
            conflicts if conflicts.is_empty() => turn.run(ledger, true).map_err(ApplyError::Conflicts)?,
            conflicts => return Err(ApplyError::Conflicts(conflicts)),
        },
        result => result.map_err(ApplyError::Conflicts)?,
    };
    let object = if writer.manager == "kubectl" { renew_last_applied(object, applied) } else { object };
    Ok(managed_fields::with(object, ledger.encode()))
}

/// What can be said before the object is looked at.
fn refuse(applied: &Value, of: TypeId, writer: &FieldWriter<'_>) -> Result<(), PatchError> {
    if !within_depth(applied, DEPTH_MAX) {
        return Err(PatchError::bad("error decoding YAML: exceeded max depth"));
    }
    if !applied.is_object() {
        return Err(PatchError::bad("error decoding YAML: it is no object"));
    }
    let text = |name| applied.get(name).and_then(Value::as_str).unwrap_or_default();
    let (version, kind) = (text("apiVersion"), text("kind"));
    let expected = Schema::get().at(of).name.rsplit('.').next().unwrap_or_default();
    let group_kind = if version.contains('/') { version.to_owned() } else { format!("/{version}") };
    if kind != expected || version != writer.version {
        return Err(PatchError::bad(format!("invalid object type: {group_kind}, Kind={kind}")));
    }
    if applied.pointer("/metadata/managedFields").is_some_and(|managed| !managed.is_null()) {
        return Err(PatchError::bad("metadata.managedFields must be nil"));
    }
    check(applied, MergeRule::root(of)).map_err(|fault| {
        let part = |path| applied.pointer(path).and_then(Value::as_str).unwrap_or_default();
        PatchError::plain(format!(
            "failed to create typed patch object ({}/{}; {group_kind}, Kind={kind}): {fault}",
            part("/metadata/namespace"),
            part("/metadata/name")
        ))
    })
}

/// One configuration, applied to one object.
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
        let (written, removed) = difference(self.live, &object, self.of, self.writer).into_parts();
        let conflicts = conflicts(&ledger, &written);
        if !force && !conflicts.is_empty() {
            return Err(conflicts);
        }
        ledger.release(&written);
        ledger.release(&removed);
        let changed = object != *self.live;
        line.time = if changed { Some(self.writer.now.to_owned()) } else { last.and_then(|last| last.time) };
        line.fields = managed_fields::ownable(std::mem::take(&mut line.fields));
        if !line.fields.is_empty() {
            ledger.lines.push(line);
        }
        Ok((object, ledger))
    }

    /// The conflicts that are not with what `kubectl apply` itself wrote from the client's side: of what its
    /// annotation names and the object still has, server-side apply takes possession.
    fn without_client_side(&self, conflicts: Vec<ApplyConflict>) -> Vec<ApplyConflict> {
        let rule = MergeRule::root(self.of);
        let annotation = self.live["metadata"]["annotations"][LAST_APPLIED].as_str().unwrap_or_default();
        let Ok(before) = serde_json::from_str::<Value>(annotation) else { return conflicts };
        if before["apiVersion"] != self.writer.version || check(&before, rule).is_err() {
            return conflicts;
        }
        let (written, removed) = Comparison::of(&before, self.live, rule).into_parts();
        let kept = places(&before, rule).difference(&written.union(&removed));
        conflicts.into_iter().filter(|conflict| !kept.contains(&conflict.steps)).collect()
    }
}

/// Who owns what was written.
fn conflicts(ledger: &ManagedFields, written: &super::field_set::FieldSet) -> Vec<ApplyConflict> {
    let mut lines: Vec<&ManagedFieldsEntry> = ledger.lines.iter().collect();
    lines.sort_by_key(|line| (&line.manager, line.operation, &line.version, &line.subresource));
    let conflicts = lines.into_iter().flat_map(|line| {
        line.fields.intersection(written).paths().into_iter().map(|(steps, path)| ApplyConflict {
            manager: line.manager.clone(),
            operation: line.operation.name(),
            version: line.version.clone(),
            subresource: line.subresource.clone(),
            time: line.time.clone(),
            path,
            steps,
        })
    });
    conflicts.collect()
}

/// Client-side apply's annotation is kept up to date where there is one.
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
