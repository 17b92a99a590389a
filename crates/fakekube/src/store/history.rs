//! Defines one change, encoded once for all watches.

use super::StoredObject;
use bytes::Bytes;
use std::sync::{Arc, OnceLock};

/// What happened to an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// It was not there before.
    Added,
    /// It was there, otherwise.
    Modified,
    /// It is there no more.
    Deleted,
}

/// A change.
#[derive(Debug)]
pub struct StoreEvent {
    /// Its version.
    pub version: u64,
    /// What happened.
    pub change: ChangeKind,
    /// The object's key.
    pub key: Arc<str>,
    /// After it; for a deletion the last state, with the deletion's version.
    pub object: Arc<StoredObject>,
    /// Before it.
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

    /// The JSON bytes, made by the first who asks.
    pub fn json(&self, make: impl FnOnce() -> Bytes) -> Bytes {
        self.json.get_or_init(make).clone()
    }

    /// The protobuf bytes, made by the first who asks.
    pub fn protobuf(&self, make: impl FnOnce() -> Bytes) -> Bytes {
        self.protobuf.get_or_init(make).clone()
    }
}
