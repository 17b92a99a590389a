//! Stores objects with one version for the whole cluster, and a bounded history of changes (S12).
//!
//! - Invariant: versions grow by one with each change; every change is part of a transaction.

mod history;

pub use history::{ChangeKind, StoreEvent};

use crate::api_status::StatusError;
use crate::resource::ResourceId;
use bytes::Bytes;
use serde_json::Value;
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// A stored object at one version.
#[derive(Debug, PartialEq, Eq)]
pub struct StoredObject {
    /// The version it was written at.
    pub version: u64,
    /// Its identity.
    pub uid: Box<str>,
    /// All of it, as JSON; `metadata.resourceVersion` is the version above.
    pub json: Bytes,
}

impl StoredObject {
    /// The object, parsed.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }
}

/// A list at one version.
#[derive(Debug)]
pub struct ListResult {
    /// The version of the list.
    pub version: u64,
    /// The objects in the order of their keys, each with its key.
    pub objects: Vec<(Arc<str>, Arc<StoredObject>)>,
}

/// Which objects of a resource to list.
#[derive(Clone, Copy, Debug)]
pub struct ListRange<'a> {
    /// Only this namespace.
    pub namespace: Option<&'a str>,
    /// Only keys after this one.
    pub after: Option<&'a str>,
}

/// How much history of a resource is remembered.
#[derive(Clone, Copy, Debug)]
pub struct HistoryLimits {
    /// Changes.
    pub changes: usize,
    /// Bytes of objects that are no longer current.
    pub bytes: usize,
}

impl Default for HistoryLimits {
    fn default() -> Self {
        Self { changes: 20_000, bytes: 64 << 20 }
    }
}

/// A callback for every change in the cluster.
pub type CommitLog = Box<dyn FnMut(ResourceId, &Arc<StoreEvent>) + Send>;

/// The objects of a cluster.
pub struct ObjectStore {
    inner: Mutex<StoreState>,
    /// By resource: the version of its latest change.
    moved: Vec<watch::Sender<u64>>,
}

struct StoreState {
    version: u64,
    resources: Vec<ResourceStore>,
    log: Option<CommitLog>,
    /// The changes of the present transaction.
    touched: Vec<(ResourceId, u64)>,
}

impl Default for ObjectStore {
    fn default() -> Self {
        Self::new(HistoryLimits::default())
    }
}

impl ObjectStore {
    /// Creates an empty store.
    pub fn new(memory: HistoryLimits) -> Self {
        let resources = ResourceId::all().map(|_| ResourceStore::new(memory)).collect();
        let moved = ResourceId::all().map(|_| watch::Sender::new(1)).collect();
        Self {
            inner: Mutex::new(StoreState { version: 1, resources, log: None, touched: Vec::new() }),
            moved,
        }
    }

    /// A panic elsewhere leaves consistent objects: each change is one assignment.
    fn inner(&self) -> MutexGuard<'_, StoreState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `log` for every change from now on, in order and within its transaction.
    pub fn follow(&self, log: CommitLog) {
        self.inner().log = Some(log);
    }

    /// Runs a transaction: no other read or write happens in between. What was written before a failure is kept, so a
    /// transaction must fail before it writes.
    ///
    /// # Errors
    /// Whatever `work` fails with.
    pub fn write<T>(
        &self,
        work: impl FnOnce(&mut Transaction<'_>) -> Result<T, StatusError>,
    ) -> Result<T, StatusError> {
        let mut inner = self.inner();
        let done = work(&mut Transaction { inner: &mut inner });
        let touched = std::mem::take(&mut inner.touched);
        drop(inner);
        for (number, version) in touched {
            self.moved[number.position()].send_if_modified(|last| {
                let newer = *last < version;
                *last = version.max(*last);
                newer
            });
        }
        done
    }

    /// The version of the latest change.
    pub fn version(&self) -> u64 {
        self.inner().version
    }

    /// One object.
    pub fn get(&self, number: ResourceId, key: &str) -> Option<Arc<StoredObject>> {
        self.inner().resource(number).get(key)
    }

    /// How many objects of a resource there are.
    pub fn count(&self, number: ResourceId) -> usize {
        self.inner().resource(number).len()
    }

    /// A list at the latest version or at a remembered one; `None` if the version is not remembered.
    pub fn list(&self, number: ResourceId, range: ListRange<'_>, at: Option<u64>) -> Option<ListResult> {
        let inner = self.inner();
        let version = at.unwrap_or(inner.version);
        inner.resource(number).list(range, version, version < inner.version)
    }

    /// Changes of a resource after a version, at most `limit`; `None` if not all of them are remembered any more.
    pub fn changes(&self, number: ResourceId, after: u64, limit: usize) -> Option<Vec<Arc<StoreEvent>>> {
        self.inner().resource(number).changes(after, limit)
    }

    /// A receiver that wakes on every change of a resource.
    pub fn moved(&self, number: ResourceId) -> watch::Receiver<u64> {
        self.moved[number.home().position()].subscribe()
    }

    /// Forgets the history: older watches get 410.
    pub fn compact(&self) {
        let mut inner = self.inner();
        let version = inner.version;
        inner.resources.iter_mut().for_each(|resource| resource.forget(version));
    }
}

impl StoreState {
    fn resource(&self, number: ResourceId) -> &ResourceStore {
        &self.resources[number.home().position()]
    }
}

/// Write access to the store.
pub struct Transaction<'a> {
    inner: &'a mut StoreState,
}

impl Transaction<'_> {
    /// One object.
    pub fn get(&self, number: ResourceId, key: &str) -> Option<Arc<StoredObject>> {
        self.inner.resource(number).get(key)
    }

    /// All objects of a resource, or those of one namespace.
    pub fn all(&self, number: ResourceId, namespace: Option<&str>) -> Vec<(Arc<str>, Arc<StoredObject>)> {
        let range = ListRange { namespace, after: None };
        let listed = self.inner.resource(number).list(range, self.inner.version, false);
        listed.map(|listed| listed.objects).unwrap_or_default()
    }

    /// The version of the latest change, including this transaction's own.
    pub fn version(&self) -> u64 {
        self.inner.version
    }

    /// Changes of a resource after a version, at most `limit`; `None` if not all of them are remembered any more.
    pub fn changes(&self, number: ResourceId, after: u64, limit: usize) -> Option<Vec<Arc<StoreEvent>>> {
        self.inner.resource(number).changes(after, limit)
    }

    /// Writes an object and returns it with its new version in it.
    pub fn put(&mut self, number: ResourceId, key: &str, mut value: Value) -> Arc<StoredObject> {
        let version = self.next(&mut value);
        let object = Arc::new(object(version, &value));
        self.change(number, key, &object, true);
        object
    }

    /// Removes an object. Returns its last state, with the version of its removal.
    pub fn remove(&mut self, number: ResourceId, key: &str, mut value: Value) -> Arc<StoredObject> {
        let version = self.next(&mut value);
        let object = Arc::new(object(version, &value));
        self.change(number, key, &object, false);
        object
    }

    /// Gives an object the next version.
    fn next(&mut self, value: &mut Value) -> u64 {
        self.inner.version += 1;
        value["metadata"]["resourceVersion"] = Value::String(self.inner.version.to_string());
        self.inner.version
    }

    fn change(&mut self, number: ResourceId, key: &str, last: &Arc<StoredObject>, stays: bool) {
        let resource = &mut self.inner.resources[number.home().position()];
        let event = resource.change(key, last.version, Arc::clone(last), stays);
        self.inner.touched.push((number.home(), last.version));
        if let (Some(event), Some(log)) = (event, &mut self.inner.log) {
            log(number.home(), &event);
        }
    }
}

fn object(version: u64, value: &Value) -> StoredObject {
    let uid = value["metadata"]["uid"].as_str().unwrap_or_default().into();
    StoredObject { version, uid, json: bytes(value) }
}

/// An object's bytes, without spare capacity, because they are kept for long.
pub fn bytes(value: &Value) -> Bytes {
    // A parsed value can always be written.
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    Bytes::from(bytes.into_boxed_slice())
}

/// The objects of one resource and their recent changes, bounded in number and bytes.
struct ResourceStore {
    objects: BTreeMap<Arc<str>, Arc<StoredObject>>,
    changes: VecDeque<Arc<StoreEvent>>,
    memory: HistoryLimits,
    bytes: usize,
    /// Changes up to this version are not all remembered.
    forgotten: u64,
}

impl ResourceStore {
    fn new(memory: HistoryLimits) -> Self {
        Self { objects: BTreeMap::new(), changes: VecDeque::new(), memory, bytes: 0, forgotten: 0 }
    }

    fn get(&self, key: &str) -> Option<Arc<StoredObject>> {
        self.objects.get(key).cloned()
    }

    fn len(&self) -> usize {
        self.objects.len()
    }

    /// Replaces or removes an object; `None` if there was nothing to remove.
    fn change(
        &mut self,
        key: &str,
        version: u64,
        last: Arc<StoredObject>,
        stays: bool,
    ) -> Option<Arc<StoreEvent>> {
        let (key, before) = match self.objects.get_key_value(key) {
            Some((key, _)) => {
                let key = Arc::clone(key);
                let before = match stays {
                    true => self.objects.insert(Arc::clone(&key), Arc::clone(&last)),
                    false => self.objects.remove(&key),
                };
                (key, before)
            }
            None if stays => {
                let key: Arc<str> = key.into();
                (Arc::clone(&key), self.objects.insert(key, Arc::clone(&last)))
            }
            None => return None,
        };
        let change = match (stays, &before) {
            (false, _) => ChangeKind::Deleted,
            (true, None) => ChangeKind::Added,
            (true, Some(_)) => ChangeKind::Modified,
        };
        let event = Arc::new(StoreEvent::new(version, change, key, last, before));
        self.bytes += past(&event);
        self.changes.push_back(Arc::clone(&event));
        while self.changes.len() > self.memory.changes || self.bytes > self.memory.bytes {
            self.forget_one();
        }
        Some(event)
    }

    fn forget_one(&mut self) {
        if let Some(event) = self.changes.pop_front() {
            self.bytes -= past(&event);
            self.forgotten = event.version;
        }
    }

    /// Forgets all changes up to a version.
    fn forget(&mut self, version: u64) {
        while self.changes.front().is_some_and(|event| event.version <= version) {
            self.forget_one();
        }
        self.forgotten = self.forgotten.max(version);
    }

    fn changes(&self, after: u64, limit: usize) -> Option<Vec<Arc<StoreEvent>>> {
        if after < self.forgotten {
            return None;
        }
        let first = self.changes.partition_point(|event| event.version <= after);
        Some(self.changes.range(first..).take(limit).cloned().collect())
    }

    /// The objects of a range at a version.
    fn list(&self, range: ListRange<'_>, version: u64, of_the_past: bool) -> Option<ListResult> {
        let undone = if of_the_past { self.undone(version)? } else { HashMap::new() };
        let prefix = range.namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let from = match range.after {
            Some(after) if after >= prefix.as_str() => Bound::Excluded(after),
            _ => Bound::Included(prefix.as_str()),
        };
        let inside = |key: &str| key.starts_with(&prefix) && range.after.is_none_or(|after| key > after);
        let present = self.objects.range::<str, _>((from, Bound::Unbounded));
        let present = present
            .take_while(|(key, _)| key.starts_with(&prefix))
            .filter(|(key, _)| !undone.contains_key(&***key));
        let mut all: Vec<_> = present.map(|(key, object)| (Arc::clone(key), Arc::clone(object))).collect();
        if !undone.is_empty() {
            let past = undone.iter().filter(|(key, _)| inside(key));
            all.extend(past.filter_map(|(key, object)| Some(((*key).into(), Arc::clone(object.as_ref()?)))));
            all.sort_by(|(one, _), (other, _)| one.cmp(other));
        }
        Some(ListResult { version, objects: all })
    }

    /// The objects whose keys have changed since a version, as they were then.
    fn undone(&self, version: u64) -> Option<HashMap<&str, Option<&Arc<StoredObject>>>> {
        if version < self.forgotten {
            return None;
        }
        let mut undone = HashMap::new();
        let first = self.changes.partition_point(|event| event.version <= version);
        for event in self.changes.range(first..) {
            undone.entry(&*event.key).or_insert(event.before.as_ref());
        }
        Some(undone)
    }
}

/// The memory that an event takes: the object before it is kept for nothing else.
fn past(event: &StoreEvent) -> usize {
    event.before.as_ref().map_or(0, |before| before.json.len()) + 200
}

#[cfg(test)]
mod tests;
