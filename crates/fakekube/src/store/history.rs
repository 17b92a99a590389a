//! Defines a change, which is encoded once for all watches.

use super::StoredObject;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The object was created.
    Added,
    /// The object existed and has changed.
    Modified,
    /// The object was deleted.
    Deleted,
}

/// A change.
#[derive(Debug)]
pub struct StoreEvent {
    /// The version.
    pub version: u64,
    /// The kind.
    pub change: ChangeKind,
    /// The object's key.
    pub key: Arc<str>,
    /// The object after the change; for a deletion its last state, with the deletion's version.
    pub object: Arc<StoredObject>,
    /// The object before the change.
    pub before: Option<Arc<StoredObject>>,
    json: OnceLock<Bytes>,
    protobuf: OnceLock<Bytes>,
}

impl StoreEvent {
    pub(super) fn new(
        version: u64,
        change: ChangeKind,
        key: Arc<str>,
        object: Arc<StoredObject>,
        before: Option<Arc<StoredObject>>,
    ) -> Self {
        Self { version, change, key, object, before, json: OnceLock::new(), protobuf: OnceLock::new() }
    }

    /// The JSON bytes, encoded by the first caller.
    pub fn json(&self, make: impl FnOnce() -> Bytes) -> Bytes {
        self.json.get_or_init(make).clone()
    }

    /// The protobuf bytes, encoded by the first caller.
    pub fn protobuf(&self, make: impl FnOnce() -> Bytes) -> Bytes {
        self.protobuf.get_or_init(make).clone()
    }
}
