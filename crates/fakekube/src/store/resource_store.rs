//! Stores the objects of one resource and their recent changes, bounded in number and bytes.

use super::history::{ChangeKind, StoreEvent};
use super::{HistoryLimits, ListRange, ListResult, StoredObject};
use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

pub(super) struct ResourceStore {
    objects: BTreeMap<Arc<str>, Arc<StoredObject>>,
    changes: VecDeque<Arc<StoreEvent>>,
    memory: HistoryLimits,
    bytes: usize,
    /// Changes up to this version are no longer all there.
    forgotten: u64,
}

impl ResourceStore {
    pub(super) fn new(memory: HistoryLimits) -> Self {
        Self { objects: BTreeMap::new(), changes: VecDeque::new(), memory, bytes: 0, forgotten: 0 }
    }

    pub(super) fn get(&self, key: &str) -> Option<Arc<StoredObject>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn len(&self) -> usize {
        self.objects.len()
    }

    /// Puts an object in the place of another, or takes it away; `None` if there was nothing to take away.
    pub(super) fn change(
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
    pub(super) fn forget(&mut self, version: u64) {
        while self.changes.front().is_some_and(|event| event.version <= version) {
            self.forget_one();
        }
        self.forgotten = self.forgotten.max(version);
    }

    pub(super) fn changes(&self, after: u64, limit: usize) -> Option<Vec<Arc<StoreEvent>>> {
        if after < self.forgotten {
            return None;
        }
        let first = self.changes.partition_point(|event| event.version <= after);
        Some(self.changes.range(first..).take(limit).cloned().collect())
    }

    /// The objects of a range as of a version.
    pub(super) fn list(&self, range: ListRange<'_>, version: u64, of_the_past: bool) -> Option<ListResult> {
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
        let kept = if range.limit == 0 { all.len() } else { range.limit.min(all.len()) };
        let remaining = all.len() - kept;
        all.truncate(kept);
        Some(ListResult { version, objects: all, remaining })
    }

    /// What was under the keys that changed after a version.
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

/// What remembering an event costs: the object before it is kept for nothing else.
fn past(event: &StoreEvent) -> usize {
    event.before.as_ref().map_or(0, |before| before.json.len()) + 200
}
