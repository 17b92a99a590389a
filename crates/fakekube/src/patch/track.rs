//! Updates managedFields after a write that is no apply.
//!
//! - Invariant: an entry's time changes when its manager writes, not when a field is taken from it.

use super::FieldWriter;
use super::compare::Comparison;
use super::field_set::FieldSet;
use super::managed_fields::{self, ManagedFields, ManagedFieldsEntry, ManagerOperation};
use super::merge_rule::MergeRule;
use crate::canonicalize::zero;
use crate::custom;
use crate::json_ext::same_but;
use crate::schema::{Schema, Shape, TypeId};
use serde_json::{Value, json};

/// managedFields of `new`, after `writer` made it out of `old`; null if nobody owns anything.
///
/// Called with defaults in place, before admission. What `new` says in its own managedFields counts, unless a
/// subresource is written; an empty list, or one empty entry, is a wish to forget, and then nothing is tracked until
/// the next apply.
pub fn track(old: Option<&Value>, new: &Value, of: TypeId, writer: &FieldWriter<'_>) -> Value {
    let before = old.and_then(|old| old.pointer("/metadata/managedFields"));
    let said = new.pointer("/metadata/managedFields");
    let ledger = if !writer.subresource.is_empty() {
        ManagedFields::decode(before)
    } else if said.is_some_and(|said| *said == json!([]) || *said == json!([{}])) {
        Some(ManagedFields::default())
    } else {
        ManagedFields::decode(said)
            .filter(|ledger| !ledger.lines.is_empty())
            .or_else(|| ManagedFields::decode(before))
    };
    let mut ledger = ledger.unwrap_or_default();
    if ledger.lines.is_empty() && old.is_some() {
        return Value::Null;
    }
    match old {
        Some(old) => write(&mut ledger, old, new, of, writer),
        None => write(&mut ledger, &zero(&Shape::Object(of)), new, of, writer),
    }
    ledger.cap();
    ledger.encode()
}

/// Enters a write into the ledger.
pub(super) fn write(
    ledger: &mut ManagedFields,
    old: &Value,
    new: &Value,
    of: TypeId,
    writer: &FieldWriter<'_>,
) {
    let (written, removed) = difference(old, new, of, writer).into_parts();
    ledger.release(&written);
    ledger.release(&removed);
    let written = managed_fields::ownable(written);
    if written.is_empty() {
        return;
    }
    let mut line = ManagedFieldsEntry::new(writer, ManagerOperation::Update);
    line.fields = match ledger.take(&line) {
        Some(mut before) => {
            before.fields.add(&written);
            before.fields
        }
        None => written,
    };
    line.time = Some(writer.now.to_owned());
    ledger.lines.push(line);
}

/// What differs between two objects, as far as a request to this subresource can change it.
pub(super) fn difference(old: &Value, new: &Value, of: TypeId, writer: &FieldWriter<'_>) -> Comparison {
    Comparison::of(old, new, MergeRule::root(of)).filtered(|places| settable(places, of, writer.subresource))
}

/// The places a request to this subresource can change.
pub(super) fn settable(mut places: FieldSet, of: TypeId, subresource: &str) -> FieldSet {
    let kind = Schema::get().at(of).name.as_str();
    let reset: &[&[&str]] = match (subresource, kind) {
        ("" | "finalize", _) => &[&["status"]],
        ("status", "core/v1.Pod") => {
            &[&["spec"], &["metadata", "deletionTimestamp"], &["metadata", "ownerReferences"]]
        }
        ("status", "apps/v1.Deployment") => &[&["spec"], &["metadata", "labels"]],
        (
            "status",
            "networking/v1.ServiceCIDR"
            | "resource/v1.ResourceClaim"
            | "storage/v1.VolumeAttachment"
            | "flowcontrol/v1.FlowSchema"
            | "flowcontrol/v1.PriorityLevelConfiguration",
        ) => &[&["spec"], &["metadata"]],
        ("status", kind) if kind.split_once('/').is_some_and(|(group, _)| custom::is_group(group)) => {
            &[&["spec"], &["metadata"]]
        }
        ("status", _) => &[&["spec"]],
        ("ephemeralcontainers", _) => return places.only(&["spec", "ephemeralContainers"]),
        _ => &[],
    };
    for path in reset {
        places.cut(path);
    }
    places
}

/// Takes `old`'s times over where nothing else differs: a write that changes nothing moves no time.
pub fn keep_times(old: &Value, new: &mut Value) {
    fn lines(object: &Value) -> &[Value] {
        let lines = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        lines.map_or(&[], Vec::as_slice)
    }
    let (was, is) = (lines(old), lines(new));
    let untimed = was.len() == is.len() && was.iter().zip(is).all(|(was, is)| same_but(was, is, "time"));
    if untimed && managed_fields::same_without(old, new) {
        let managed = old.pointer("/metadata/managedFields").cloned().unwrap_or_default();
        *new = managed_fields::with(std::mem::take(new), managed);
    }
}
