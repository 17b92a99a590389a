//! Stores the latest version of every object of a kind by UID, from [`ObjectEvent`](crate::object_event::ObjectEvent)s
//! and responses to writes.
//!
//! - Invariant: an older version never replaces a newer one, except in a list; of an undecodable object only its
//!   existence is known (D11); nothing is stored before a list has started.

use crate::identity::{ResourceVersion, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::time::{Mono, Now};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use core::borrow::Borrow;

/// An object that can be stored.
pub(crate) trait StoredObject {
    fn uid(&self) -> &Uid;

    fn version(&self) -> Option<ResourceVersion>;

    /// Whether no field that a decision depends on differs.
    fn is_equivalent(&self, other: &Self) -> bool;
}

/// All objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Store<F> {
    objects: BTreeMap<Uid, StoreEntry<F>>,
    /// Counts lists.
    list: u64,
    is_synced: bool,
    changed: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct StoreEntry<F> {
    value: StoredValue<F>,
    /// The list in which, or after which, it was last observed.
    list: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum StoredValue<F> {
    Fact(F),
    /// With its name.
    Undecodable(Box<str>),
}

impl<F> Default for Store<F> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), list: 0, is_synced: false, changed: false }
    }
}

/// Before a list starts, all events are ignored.
impl<F: StoredObject> ObjectIndex<F> for Store<F> {
    fn list_started(&mut self, _: Option<Mono>) {
        self.list += 1;
    }

    fn applied(&mut self, fact: F, listed: bool, _: Now) {
        if self.list > 0 {
            self.changed |= self.put(fact, listed);
        }
    }

    fn deleted(&mut self, object: ObjectRef, _: Now) {
        self.changed |= object.uid.is_some_and(|uid| self.remove(&uid));
    }

    fn undecodable(&mut self, object: ObjectRef, _: Now) {
        let Some(uid) = object.uid.filter(|_| self.list > 0) else { return };
        let entry = StoreEntry { value: StoredValue::Undecodable(object.name), list: self.list };
        let before = self.objects.insert(uid, entry);
        self.changed |= !matches!(before, Some(StoreEntry { value: StoredValue::Undecodable(_), .. }));
    }

    fn list_completed(&mut self, _: Now) {
        if self.list > 0 {
            let (list, before) = (self.list, self.objects.len());
            self.objects.retain(|_, entry| entry.list == list);
            let is_first = !core::mem::replace(&mut self.is_synced, true);
            self.changed |= is_first || self.objects.len() != before;
        }
    }
}

impl<F: StoredObject> Store<F> {
    /// The objects that can be decoded.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &F> {
        self.objects.values().filter_map(|entry| match &entry.value {
            StoredValue::Fact(fact) => Some(fact),
            StoredValue::Undecodable(_) => None,
        })
    }

    /// The names of the objects that cannot be decoded.
    pub(crate) fn undecodable(&self) -> impl Iterator<Item = &str> {
        self.objects.values().filter_map(|entry| match &entry.value {
            StoredValue::Fact(_) => None,
            StoredValue::Undecodable(name) => Some(&**name),
        })
    }

    pub(crate) fn get(&self, uid: &Uid) -> Option<&F> {
        match &self.objects.get(uid)?.value {
            StoredValue::Fact(fact) => Some(fact),
            StoredValue::Undecodable(_) => None,
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Whether a list was ever complete.
    pub(crate) fn is_synced(&self) -> bool {
        self.is_synced
    }

    /// Whether events have changed anything since the last call.
    pub(crate) fn take_changed(&mut self) -> bool {
        core::mem::take(&mut self.changed)
    }

    /// Stores an object from the response to a write. Returns whether that changes anything.
    pub(crate) fn put_response(&mut self, fact: F) -> bool {
        self.objects.contains_key(fact.uid()) && self.put(fact, false)
    }

    /// Removes an object. Returns whether that changes anything.
    pub(crate) fn remove(&mut self, uid: &Uid) -> bool {
        self.objects.remove(uid).is_some()
    }

    fn put(&mut self, fact: F, listed: bool) -> bool {
        let list = self.list;
        let Some(entry) = self.objects.get_mut(fact.uid()) else {
            self.objects.insert(fact.uid().clone(), StoreEntry { value: StoredValue::Fact(fact), list });
            return true;
        };
        entry.list = list;
        if let StoredValue::Fact(before) = &entry.value {
            if !listed && fact.version().is_some() && fact.version() < before.version() {
                return false;
            }
            let same = before.is_equivalent(&fact);
            entry.value = StoredValue::Fact(fact);
            return !same;
        }
        entry.value = StoredValue::Fact(fact);
        true
    }
}

/// An object that is looked up by a key, which several objects may have.
pub(crate) trait IndexedObject: StoredObject {
    type Key: Clone + Ord;

    fn key(&self) -> Self::Key;
}

/// A [`Store`] with an index.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(bound(
        serialize = "F: serde::Serialize, F::Key: serde::Serialize",
        deserialize = "F: serde::Deserialize<'de>, F::Key: serde::Deserialize<'de>"
    ))
)]
pub(crate) struct IndexedStore<F: IndexedObject> {
    store: Store<F>,
    index: BTreeMap<F::Key, BTreeSet<Uid>>,
}

impl<F: IndexedObject> Default for IndexedStore<F> {
    fn default() -> Self {
        Self { store: Store::default(), index: BTreeMap::new() }
    }
}

impl<F: IndexedObject> IndexedStore<F> {
    pub(crate) fn store(&self) -> &Store<F> {
        &self.store
    }

    /// The objects with this key.
    pub(crate) fn of<Q: Ord + ?Sized>(&self, key: &Q) -> impl Iterator<Item = &F>
    where
        F::Key: Borrow<Q>,
    {
        self.index.get(key).into_iter().flatten().filter_map(|uid| self.store.get(uid))
    }

    /// Applies a change of one object to the store and the index.
    fn change(&mut self, uid: &Uid, change: impl FnOnce(&mut Store<F>)) {
        let key = |store: &Store<F>| store.get(uid).map(F::key);
        let before = key(&self.store);
        change(&mut self.store);
        let after = key(&self.store);
        if before == after {
            return;
        }
        if let Some(key) = before
            && let Some(uids) = self.index.get_mut(&key)
        {
            uids.remove(uid);
            if uids.is_empty() {
                self.index.remove(&key);
            }
        }
        after.into_iter().for_each(|key| _ = self.index.entry(key).or_default().insert(uid.clone()));
    }

    /// Whether events have changed anything since the last call.
    pub(crate) fn take_changed(&mut self) -> bool {
        self.store.take_changed()
    }
}

impl<F: IndexedObject> ObjectIndex<F> for IndexedStore<F> {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.store.list_started(silent_since);
    }

    fn applied(&mut self, fact: F, listed: bool, now: Now) {
        let uid = fact.uid().clone();
        self.change(&uid, |store| store.applied(fact, listed, now));
    }

    fn deleted(&mut self, object: ObjectRef, now: Now) {
        let Some(uid) = object.uid.clone() else { return };
        self.change(&uid, |store| store.deleted(object, now));
    }

    fn undecodable(&mut self, object: ObjectRef, now: Now) {
        let Some(uid) = object.uid.clone() else { return };
        self.change(&uid, |store| store.undecodable(object, now));
    }

    fn list_completed(&mut self, now: Now) {
        self.store.list_completed(now);
        let store = &self.store;
        self.index.retain(|_, uids| {
            uids.retain(|uid| store.get(uid).is_some());
            !uids.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object_event::ObjectEvent;
    use crate::time::Wall;

    struct LabelledObject {
        uid: Uid,
        version: ResourceVersion,
        label: &'static str,
    }

    impl StoredObject for LabelledObject {
        fn uid(&self) -> &Uid {
            &self.uid
        }

        fn version(&self) -> Option<ResourceVersion> {
            Some(self.version)
        }

        fn is_equivalent(&self, other: &Self) -> bool {
            self.label == other.label
        }
    }

    fn labelled(version: u64, label: &'static str) -> LabelledObject {
        LabelledObject { uid: Uid::new("u"), version: ResourceVersion(version), label }
    }

    fn label(all: &Store<LabelledObject>) -> Option<&'static str> {
        all.facts().next().map(|object| object.label)
    }

    /// Applies an event. Returns whether that changes anything.
    fn apply(all: &mut Store<LabelledObject>, event: ObjectEvent<LabelledObject>) -> bool {
        all.apply(event, Now::exact(Mono::from_secs(1), Wall::from_secs(1)));
        all.take_changed()
    }

    #[test]
    fn a_list_reports_a_change_only_if_something_differs() {
        let mut all = Store::<LabelledObject>::default();
        let undecodable = || {
            ObjectEvent::Undecodable(ObjectRef { name: "n1".into(), uid: Some(Uid::new("u")), node: None })
        };
        assert!(
            !apply(&mut all, undecodable()) && all.undecodable().next().is_none(),
            "before a list starts"
        );
        let mut list = |facts: &[&'static str]| {
            apply(&mut all, ObjectEvent::ListStarted { silent_since: None });
            let applied = |label| ObjectEvent::Applied { fact: labelled(5, label), listed: true };
            let is_changed = facts.iter().any(|&label| apply(&mut all, applied(label)));
            (is_changed, apply(&mut all, ObjectEvent::ListCompleted))
        };
        assert_eq!(list(&[]), (false, true), "the first list is news, even if it is empty");
        assert_eq!(list(&["five"]), (true, false));
        assert_eq!(list(&["five"]), (false, false));
        assert_eq!(list(&[]), (false, true), "the object is gone");
        assert_eq!(list(&[]), (false, false));
        let seen = |label| ObjectEvent::Applied { fact: labelled(5, label), listed: false };
        assert!(
            apply(&mut all, seen("five")) && apply(&mut all, seen("again")),
            "the same version is not older"
        );
    }

    #[test]
    fn an_older_version_changes_nothing_except_in_a_list() {
        let mut all = Store::<LabelledObject>::default();
        let seen = |version, label| ObjectEvent::Applied { fact: labelled(version, label), listed: false };
        assert!(!apply(&mut all, seen(4, "four")) && !apply(&mut all, ObjectEvent::ListCompleted));
        assert!(label(&all).is_none() && !all.is_synced(), "before a list starts");
        apply(&mut all, ObjectEvent::ListStarted { silent_since: None });
        assert!(
            !all.put_response(labelled(7, "unknown")) && label(&all).is_none(),
            "no watch has delivered it"
        );
        assert!(apply(&mut all, seen(5, "five")));
        assert!(all.put_response(labelled(7, "seven")));
        assert!(!apply(&mut all, seen(6, "six")));
        assert_eq!(label(&all), Some("seven"));
        assert!(!apply(&mut all, seen(8, "seven")), "a heartbeat changes nothing");
        let listed = ObjectEvent::Applied { fact: labelled(3, "three"), listed: true };
        assert!(apply(&mut all, listed), "restored from a backup");
        assert_eq!(label(&all), Some("three"));
        let undecodable = || {
            ObjectEvent::Undecodable(ObjectRef { name: "n1".into(), uid: Some(Uid::new("u")), node: None })
        };
        assert!(
            apply(&mut all, undecodable()) && !apply(&mut all, undecodable()),
            "a repeated event changes nothing"
        );
        assert!(label(&all).is_none() && all.undecodable().eq(["n1"]));
        apply(&mut all, ObjectEvent::ListStarted { silent_since: None });
        assert!(
            apply(&mut all, ObjectEvent::ListCompleted) && all.is_empty(),
            "an object that is not listed is gone"
        );
    }
}
