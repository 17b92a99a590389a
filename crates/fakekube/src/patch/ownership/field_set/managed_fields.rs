//! Reads, writes and updates `metadata.managedFields`.
//!
//! - Invariant: an entry's time changes when its manager writes, not when a field is taken from it.

mod apply;

pub use apply::apply;

use super::{Comparison, FieldSet, FieldWriter, MergeRule, field_step};
use crate::canonicalize::zero;
use crate::custom;
use crate::json_ext::same_but;
use crate::schema::{Schema, Shape, TypeId};
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// The largest number of entries of operation `Update`; the oldest ones are merged.
const UPDATES_MAX: usize = 10;

/// The manager of merged entries.
const ANCIENT: &str = "ancient-changes";

/// The operation of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ManagerOperation {
    Apply,
    Update,
}

impl ManagerOperation {
    fn name(self) -> &'static str {
        match self {
            Self::Apply => "Apply",
            Self::Update => "Update",
        }
    }
}

/// The entry of one manager.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ManagedFieldsEntry {
    manager: String,
    operation: ManagerOperation,
    version: String,
    subresource: String,
    time: Option<String>,
    fields: FieldSet,
}

impl ManagedFieldsEntry {
    fn new(writer: &FieldWriter<'_>, operation: ManagerOperation) -> Self {
        Self {
            manager: if writer.manager.is_empty() { "unknown" } else { writer.manager }.into(),
            operation,
            version: writer.version.into(),
            subresource: writer.subresource.into(),
            time: None,
            fields: FieldSet::default(),
        }
    }

    /// Whether two entries are of the same manager. A manager that applies stays the same across versions.
    fn same_owner(&self, other: &Self) -> bool {
        (self.operation, &self.manager, &self.subresource)
            == (other.operation, &other.manager, &other.subresource)
            && (self.operation == ManagerOperation::Apply || self.version == other.version)
    }

    /// The manager, as messages name it.
    fn owner(&self) -> String {
        let mut owner = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            owner += &format!(" with subresource {:?}", self.subresource);
        }
        if self.operation == ManagerOperation::Update {
            owner += &format!(" using {}", self.version);
        }
        owner
    }

    fn order(&self) -> (ManagerOperation, Option<&str>, &str, &str, &str) {
        (self.operation, self.time.as_deref(), &self.manager, &self.version, &self.subresource)
    }

    fn encode(self) -> Value {
        let mut line = json!({
            "manager": self.manager, "operation": self.operation.name(), "apiVersion": self.version,
            "fieldsType": "FieldsV1",
        });
        line["fieldsV1"] = self.fields.encode();
        if let Some(time) = &self.time {
            line["time"] = time.as_str().into();
        }
        if !self.subresource.is_empty() {
            line["subresource"] = self.subresource.as_str().into();
        }
        line
    }

    fn decode(line: &Value) -> Option<Self> {
        let text = |name| line.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => ManagerOperation::Apply,
            "Update" => ManagerOperation::Update,
            _ => return None,
        };
        let known = !text("apiVersion").is_empty() && text("fieldsType") == "FieldsV1";
        let fields = match line.get("fieldsV1") {
            None | Some(Value::Null) => FieldSet::default(),
            Some(fields) => FieldSet::decode(fields)?,
        };
        known.then(|| Self {
            manager: text("manager").into(),
            operation,
            version: text("apiVersion").into(),
            subresource: text("subresource").into(),
            time: Some(text("time").to_owned()).filter(|time| !time.is_empty()),
            fields,
        })
    }
}

/// All managers of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct ManagedFields {
    lines: Vec<ManagedFieldsEntry>,
}

impl ManagedFields {
    /// Decodes managedFields; `None` if they are invalid.
    fn decode(managed: Option<&Value>) -> Option<Self> {
        let mut ledger = Self::default();
        for line in managed.and_then(Value::as_array).into_iter().flatten() {
            let line = ManagedFieldsEntry::decode(line)?;
            ledger.take(&line);
            ledger.lines.push(line);
        }
        Some(ledger)
    }

    /// managedFields, in a real server's order; null if there are no managers.
    fn encode(mut self) -> Value {
        if self.lines.is_empty() {
            return Value::Null;
        }
        self.lines.sort_by(|one, other| one.order().cmp(&other.order()));
        self.lines.into_iter().map(ManagedFieldsEntry::encode).collect()
    }

    /// Removes the entry of a manager.
    fn take(&mut self, of: &ManagedFieldsEntry) -> Option<ManagedFieldsEntry> {
        let place = self.lines.iter().position(|line| line.same_owner(of))?;
        Some(self.lines.remove(place))
    }

    /// Removes fields from all managers. A manager without fields is removed.
    fn release(&mut self, places: &FieldSet) {
        for line in &mut self.lines {
            line.fields.take_off(places);
        }
        self.lines.retain(|line| !line.fields.is_empty());
    }

    /// All fields that have a manager.
    fn owned(&self) -> FieldSet {
        self.lines.iter().fold(FieldSet::default(), |all, line| all.union(&line.fields))
    }

    /// Merges the oldest updates of each version into one line until there are few enough.
    fn cap(&mut self) {
        let age = |line: &ManagedFieldsEntry| (line.time.clone(), line.manager.clone(), line.version.clone());
        let mut updates: Vec<ManagedFieldsEntry> = Vec::new();
        self.lines.retain(|line| {
            let update = line.operation == ManagerOperation::Update;
            if update {
                updates.push(line.clone());
            }
            !update
        });
        updates.sort_by_key(age);
        let mut oldest = 0;
        while updates.len() > UPDATES_MAX && oldest < updates.len() {
            let version = updates[oldest].version.clone();
            let Some(next) = (oldest + 1..updates.len()).find(|at| updates[*at].version == version) else {
                oldest += 1;
                continue;
            };
            let merged = updates.remove(next);
            let bucket = &mut updates[oldest];
            bucket.fields = bucket.fields.union(&merged.fields);
            bucket.time = merged.time;
            ANCIENT.clone_into(&mut bucket.manager);
            bucket.subresource.clear();
        }
        self.lines.append(&mut updates);
    }
}

/// Fields of metadata that are never owned.
const NEVER_OWNED: [&[&str]; 11] = [
    &["apiVersion"],
    &["kind"],
    &["metadata", "name"],
    &["metadata", "namespace"],
    &["metadata", "creationTimestamp"],
    &["metadata", "selfLink"],
    &["metadata", "uid"],
    &["metadata", "clusterName"],
    &["metadata", "generation"],
    &["metadata", "managedFields"],
    &["metadata", "resourceVersion"],
];

static NEVER: LazyLock<FieldSet> = LazyLock::new(|| {
    let mut never = FieldSet::default();
    never.insert(&["f:metadata".to_owned()]);
    for path in NEVER_OWNED {
        never.insert(&path.iter().map(|name| field_step(name)).collect::<Vec<_>>());
    }
    never
});

/// The subset of `fields` that can be owned.
fn ownable(mut fields: FieldSet) -> FieldSet {
    fields.take_off(&NEVER);
    fields
}

/// The object without managedFields.
fn without(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Whether two objects differ in nothing but managedFields.
fn same_without(one: &Value, other: &Value) -> bool {
    same_but(one, other, "metadata") && same_but(&one["metadata"], &other["metadata"], "managedFields")
}

/// The object with managedFields.
fn with(mut object: Value, managed: Value) -> Value {
    if let Value::Object(fields) = &mut object {
        let metadata = fields.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
        if let Value::Object(metadata) = metadata {
            metadata.remove("managedFields");
            if !managed.is_null() {
                metadata.insert("managedFields".into(), managed);
            }
        }
    }
    object
}

/// managedFields of `new`, which `writer` made from `old`; null if there are no managers.
///
/// Called with defaults in place, before admission. The managedFields of `new` itself count, unless a subresource is
/// written. An empty list, or one empty entry, asks to stop tracking, and then nothing is tracked until the next apply.
pub fn track(old: Option<&Value>, new: &Value, of: TypeId, writer: &FieldWriter<'_>) -> Value {
    let before = old.and_then(|old| old.pointer("/metadata/managedFields"));
    let sent = new.pointer("/metadata/managedFields");
    let ledger = if !writer.subresource.is_empty() {
        ManagedFields::decode(before)
    } else if sent.is_some_and(|sent| *sent == json!([]) || *sent == json!([{}])) {
        Some(ManagedFields::default())
    } else {
        ManagedFields::decode(sent)
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

/// Adds a write to the managers.
fn write(ledger: &mut ManagedFields, old: &Value, new: &Value, of: TypeId, writer: &FieldWriter<'_>) {
    let Comparison { written, removed } = difference(old, new, of, writer);
    ledger.release(&written);
    ledger.release(&removed);
    let written = ownable(written);
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

/// The differences between two objects, as far as a request to this subresource can change them.
fn difference(old: &Value, new: &Value, of: TypeId, writer: &FieldWriter<'_>) -> Comparison {
    let Comparison { written, removed } = Comparison::of(old, new, MergeRule::root(of));
    let settable = |places| settable(places, of, writer.subresource);
    Comparison { written: settable(written), removed: settable(removed) }
}

/// The fields that a request to this subresource can change.
fn settable(mut places: FieldSet, of: TypeId, subresource: &str) -> FieldSet {
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

/// Keeps the times of `old` where nothing else differs: a write that changes nothing updates no time.
pub fn keep_times(old: &Value, new: &mut Value) {
    fn lines(object: &Value) -> &[Value] {
        let lines = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        lines.map_or(&[], Vec::as_slice)
    }
    let (was, is) = (lines(old), lines(new));
    let untimed = was.len() == is.len() && was.iter().zip(is).all(|(was, is)| same_but(was, is, "time"));
    if untimed && same_without(old, new) {
        let managed = old.pointer("/metadata/managedFields").cloned().unwrap_or_default();
        *new = with(std::mem::take(new), managed);
    }
}
