//! # Store: objects and their history
//! Room:     one version for the whole cluster; objects by resource and key; what changed lately.
//! Comes in: transactions, one at a time.
//! Goes out: objects, lists as of a version, changes after a version.
//! Keeps:    versions grow by one with each change and are never used twice; nothing is changed but through a
//!           transaction; history is bounded (S12).
//! Not here: what may be written (`api`); encoding; HTTP.

mod history;
mod shelf;

pub use history::{Change, Event};

use crate::failure::Failure;
use crate::resource::Number;
use bytes::Bytes;
use serde_json::Value;
use shelf::Shelf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::watch;

/// A kept object, as of one version.
#[derive(Debug, PartialEq, Eq)]
pub struct Object {
    /// The version it was written at.
    pub version: u64,
    /// Its identity.
    pub uid: Box<str>,
    /// All of it, as JSON; `metadata.resourceVersion` is the version above.
    pub json: Bytes,
}

impl Object {
    /// All of it, to be worked on.
    pub fn value(&self) -> Value {
        serde_json::from_slice(&self.json).unwrap_or_default()
    }
}

/// A list as of one version.
#[derive(Debug)]
pub struct Listed {
    /// The version it stands for.
    pub version: u64,
    /// The objects in the order of their keys, each with its key.
    pub objects: Vec<(Arc<str>, Arc<Object>)>,
    /// How many come after these.
    pub remaining: usize,
}

/// What of a resource is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Range<'a> {
    /// Only this namespace.
    pub namespace: Option<&'a str>,
    /// Only keys after this one.
    pub after: Option<&'a str>,
    /// At most so many; 0 is all.
    pub limit: usize,
}

/// How much is remembered of one resource's past.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// Changes.
    pub changes: usize,
    /// Bytes of objects that are no longer the present ones.
    pub bytes: usize,
}

impl Default for Memory {
    fn default() -> Self {
        Self { changes: 20_000, bytes: 64 << 20 }
    }
}

/// A change, told to whoever follows the whole cluster.
pub type Log = Box<dyn FnMut(Number, &Arc<Event>) + Send>;

/// The objects of a cluster.
pub struct Store {
    inner: Mutex<Inner>,
    /// By resource: the version of its latest change.
    moved: Vec<watch::Sender<u64>>,
}

struct Inner {
    version: u64,
    shelves: Vec<Shelf>,
    log: Option<Log>,
    /// What the present transaction changed.
    touched: Vec<(Number, u64)>,
}

impl Default for Store {
    fn default() -> Self {
        Self::new(Memory::default())
    }
}

impl Store {
    /// An empty one.
    pub fn new(memory: Memory) -> Self {
        let shelves = Number::all().map(|_| Shelf::new(memory)).collect();
        let moved = Number::all().map(|_| watch::Sender::new(1)).collect();
        Self { inner: Mutex::new(Inner { version: 1, shelves, log: None, touched: Vec::new() }), moved }
    }

    /// A panic elsewhere leaves whole objects behind: each change is one assignment.
    fn inner(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Tells every change from now on to `log`, in order, while it is made.
    pub fn follow(&self, log: Log) {
        self.inner().log = Some(log);
    }

    /// Does something all at once: nobody reads or writes in between. What was written before a failure stays, so a
    /// transaction fails first and writes then.
    ///
    /// # Errors
    /// Whatever `work` fails with.
    pub fn write<T>(&self, work: impl FnOnce(&mut Txn<'_>) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut inner = self.inner();
        let done = work(&mut Txn { inner: &mut inner });
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
    pub fn get(&self, number: Number, key: &str) -> Option<Arc<Object>> {
        self.inner().shelf(number).get(key)
    }

    /// How many objects of a resource there are.
    pub fn count(&self, number: Number) -> usize {
        self.inner().shelf(number).len()
    }

    /// A list, of now or of a version that is still remembered; `None` if it is not.
    pub fn list(&self, number: Number, range: Range<'_>, at: Option<u64>) -> Option<Listed> {
        let inner = self.inner();
        let version = at.unwrap_or(inner.version);
        inner.shelf(number).list(range, version, version < inner.version)
    }

    /// Changes of a resource after a version, at most so many; `None` if they are no longer all remembered.
    pub fn changes(&self, number: Number, after: u64, limit: usize) -> Option<Vec<Arc<Event>>> {
        self.inner().shelf(number).changes(after, limit)
    }

    /// Wakes on every change of a resource.
    pub fn moved(&self, number: Number) -> watch::Receiver<u64> {
        self.moved[number.home().position()].subscribe()
    }

    /// Forgets the past: watches from before now are told that they are too old.
    pub fn compact(&self) {
        let mut inner = self.inner();
        let version = inner.version;
        inner.shelves.iter_mut().for_each(|shelf| shelf.forget(version));
    }
}

impl Inner {
    fn shelf(&self, number: Number) -> &Shelf {
        &self.shelves[number.home().position()]
    }
}

/// The right to write.
pub struct Txn<'a> {
    inner: &'a mut Inner,
}

impl Txn<'_> {
    /// One object.
    pub fn get(&self, number: Number, key: &str) -> Option<Arc<Object>> {
        self.inner.shelf(number).get(key)
    }

    /// All objects of a resource, of a namespace if one is given.
    pub fn all(&self, number: Number, namespace: Option<&str>) -> Vec<(Arc<str>, Arc<Object>)> {
        let range = Range { namespace, after: None, limit: 0 };
        let listed = self.inner.shelf(number).list(range, self.inner.version, false);
        listed.map(|listed| listed.objects).unwrap_or_default()
    }

    /// The version of the latest change, of this transaction's own as well.
    pub fn version(&self) -> u64 {
        self.inner.version
    }

    /// Changes of a resource after a version, at most so many; `None` if they are no longer all remembered.
    pub fn changes(&self, number: Number, after: u64, limit: usize) -> Option<Vec<Arc<Event>>> {
        self.inner.shelf(number).changes(after, limit)
    }

    /// Writes an object and returns it with its new version in it.
    pub fn put(&mut self, number: Number, key: &str, mut value: Value) -> Arc<Object> {
        let version = self.next(&mut value);
        let object = Arc::new(object(version, &value));
        self.change(number, key, &object, true);
        object
    }

    /// Removes an object; what is returned is its last state, with the version of its removal in it.
    pub fn remove(&mut self, number: Number, key: &str, mut value: Value) -> Arc<Object> {
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

    fn change(&mut self, number: Number, key: &str, last: &Arc<Object>, stays: bool) {
        let shelf = &mut self.inner.shelves[number.home().position()];
        let event = shelf.change(key, last.version, Arc::clone(last), stays);
        self.inner.touched.push((number.home(), last.version));
        if let (Some(event), Some(log)) = (event, &mut self.inner.log) {
            log(number.home(), &event);
        }
    }
}

fn object(version: u64, value: &Value) -> Object {
    let uid = value["metadata"]["uid"].as_str().unwrap_or_default().into();
    Object { version, uid, json: bytes(value) }
}

/// An object's bytes, in no more room than they take: what is kept is kept for long.
pub fn bytes(value: &Value) -> Bytes {
    // A value that was read can be written.
    let bytes = serde_json::to_vec(value).unwrap_or_default();
    Bytes::from(bytes.into_boxed_slice())
}

#[cfg(test)]
mod tests;
