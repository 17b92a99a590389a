//! Reads and writes `metadata.managedFields`.

use super::FieldWriter;
use super::field_set::FieldSet;
use crate::json_ext::same_but;
use serde_json::{Map, Value, json};
use std::sync::LazyLock;

/// How many lines of operation `Update` there may be; the oldest ones are merged.
const UPDATES_MAX: usize = 10;

/// Who owns what was merged.
const ANCIENT: &str = "ancient-changes";

/// How an owner writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ManagerOperation {
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

/// One owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ManagedFieldsEntry {
    pub(super) manager: String,
    pub(super) operation: ManagerOperation,
    pub(super) version: String,
    pub(super) subresource: String,
    pub(super) time: Option<String>,
    pub(super) fields: FieldSet,
}

impl ManagedFieldsEntry {
    pub(super) fn new(writer: &FieldWriter<'_>, operation: ManagerOperation) -> Self {
        Self {
            manager: if writer.manager.is_empty() { "unknown" } else { writer.manager }.into(),
            operation,
            version: writer.version.into(),
            subresource: writer.subresource.into(),
            time: None,
            fields: FieldSet::default(),
        }
    }

    /// Whether two lines are of one owner. Who applies stays who they are across versions.
    fn same_owner(&self, other: &Self) -> bool {
        (self.operation, &self.manager, &self.subresource)
            == (other.operation, &other.manager, &other.subresource)
            && (self.operation == ManagerOperation::Apply || self.version == other.version)
    }

    /// The owner, as messages name it.
    pub(super) fn owner(&self) -> String {
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

/// All owners of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ManagedFields {
    pub(super) lines: Vec<ManagedFieldsEntry>,
}

impl ManagedFields {
    /// Reads managedFields; `None` if they are not what they should be.
    pub(super) fn decode(managed: Option<&Value>) -> Option<Self> {
        let mut ledger = Self::default();
        for line in managed.and_then(Value::as_array).into_iter().flatten() {
            let line = ManagedFieldsEntry::decode(line)?;
            ledger.take(&line);
            ledger.lines.push(line);
        }
        Some(ledger)
    }

    /// managedFields, in a real server's order; null if nobody owns anything.
    pub(super) fn encode(mut self) -> Value {
        if self.lines.is_empty() {
            return Value::Null;
        }
        self.lines.sort_by(|one, other| one.order().cmp(&other.order()));
        self.lines.into_iter().map(ManagedFieldsEntry::encode).collect()
    }

    /// Takes out the line of an owner.
    pub(super) fn take(&mut self, of: &ManagedFieldsEntry) -> Option<ManagedFieldsEntry> {
        let place = self.lines.iter().position(|line| line.same_owner(of))?;
        Some(self.lines.remove(place))
    }

    /// Takes places away from everybody. Who owns nothing any more is forgotten.
    pub(super) fn release(&mut self, places: &FieldSet) {
        for line in &mut self.lines {
            line.fields.take_off(places);
        }
        self.lines.retain(|line| !line.fields.is_empty());
    }

    /// What anybody owns.
    pub(super) fn owned(&self) -> FieldSet {
        self.lines.iter().fold(FieldSet::default(), |all, line| all.union(&line.fields))
    }

    /// Merges the oldest updates of each version into one line until there are few enough.
    pub(super) fn cap(&mut self) {
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

/// Places of metadata that nobody owns.
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
        never.insert(&path.iter().map(|name| super::field_set::field_step(name)).collect::<Vec<_>>());
    }
    never
});

/// The places of `fields` that can be owned.
pub(super) fn ownable(mut fields: FieldSet) -> FieldSet {
    fields.take_off(&NEVER);
    fields
}

/// The object without managedFields.
pub(super) fn without(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
    object
}

/// Whether two objects differ in nothing but managedFields.
pub(super) fn same_without(one: &Value, other: &Value) -> bool {
    same_but(one, other, "metadata") && same_but(&one["metadata"], &other["metadata"], "managedFields")
}

/// The object with managedFields.
pub(super) fn with(mut object: Value, managed: Value) -> Value {
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
