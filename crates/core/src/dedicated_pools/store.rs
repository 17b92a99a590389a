//! Stores the latest version of every object of a kind by UID, from [`ObjectEvent`]s and responses to writes.
//!
//! - Invariant: an older version never replaces a newer one, except in a list; of an undecodable object only its
//!   existence is known (D11); nothing is believed before a list has started.

use super::fact::{PoolFact, PoolNamespaceFact, PoolNodeFact};
use crate::identity::{ResourceVersion, Uid};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;

/// What a watch says of objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ObjectEvent<F> {
    /// A list starts.
    ListStarted,
    /// An object is like this.
    Applied {
        /// The object.
        fact: F,
        /// It is part of a list.
        listed: bool,
    },
    /// An object is gone.
    Deleted {
        /// Which incarnation.
        uid: Uid,
    },
    /// An object exists and cannot be decoded.
    Undecodable {
        /// Which incarnation.
        uid: Uid,
        /// Its name.
        name: Box<str>,
    },
    /// The list is complete: what was not in it is gone.
    ListCompleted,
}

/// An object that is kept.
pub(crate) trait StoredObject {
    fn uid(&self) -> &Uid;

    fn version(&self) -> Option<ResourceVersion>;

    /// Whether nothing that a decision depends on is different.
    fn is_equivalent(&self, other: &Self) -> bool;
}

impl StoredObject for PoolFact {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }

    /// Its status is written by us alone.
    fn is_equivalent(&self, other: &Self) -> bool {
        (&self.pool, self.generation, &self.finalizers) == (&other.pool, other.generation, &other.finalizers)
    }
}

impl StoredObject for PoolNodeFact {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }

    fn is_equivalent(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl StoredObject for PoolNamespaceFact {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }

    fn is_equivalent(&self, other: &Self) -> bool {
        (&self.name, &self.labels) == (&other.name, &other.labels)
    }
}

/// All objects of a kind.
#[derive(Clone, Debug)]
pub(crate) struct Store<F> {
    objects: BTreeMap<Uid, StoreEntry<F>>,
    /// Counts lists.
    list: u64,
    is_synced: bool,
}

#[derive(Clone, Debug)]
struct StoreEntry<F> {
    value: StoredValue<F>,
    /// The list in which, or after which, it was last seen.
    list: u64,
}

#[derive(Clone, Debug)]
enum StoredValue<F> {
    Fact(F),
    /// With its name.
    Undecodable(Box<str>),
}

impl<F> Default for Store<F> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), list: 0, is_synced: false }
    }
}

impl<F: StoredObject> Store<F> {
    /// Those that can be decoded.
    pub(crate) fn facts(&self) -> impl Iterator<Item = &F> {
        self.objects.values().filter_map(|entry| match &entry.value {
            StoredValue::Fact(fact) => Some(fact),
            StoredValue::Undecodable(_) => None,
        })
    }

    /// The names of the others.
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

    /// Takes an event in; whether that changes anything.
    pub(crate) fn apply(&mut self, event: ObjectEvent<F>) -> bool {
        match event {
            ObjectEvent::ListStarted => {
                self.list += 1;
                false
            }
            _ if self.list == 0 => false,
            ObjectEvent::Applied { fact, listed } => self.put(fact, listed),
            ObjectEvent::Deleted { uid } => self.remove(&uid),
            ObjectEvent::Undecodable { uid, name } => {
                let entry = StoreEntry { value: StoredValue::Undecodable(name), list: self.list };
                let before = self.objects.insert(uid, entry);
                !matches!(before, Some(StoreEntry { value: StoredValue::Undecodable(_), .. }))
            }
            ObjectEvent::ListCompleted => {
                let (list, before) = (self.list, self.objects.len());
                self.objects.retain(|_, entry| entry.list == list);
                let first = !core::mem::replace(&mut self.is_synced, true);
                first || self.objects.len() != before
            }
        }
    }

    /// An object that a write was answered with; whether that changes anything.
    pub(crate) fn put_response(&mut self, fact: F) -> bool {
        self.objects.contains_key(fact.uid()) && self.put(fact, false)
    }

    /// An object that is gone; whether that changes anything.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::pool::PoolNode;

    fn node(version: u64, label: &str) -> PoolNodeFact {
        let labels = [("l".into(), label.into())].into();
        let node = PoolNode { name: "n1".into(), labels, ..PoolNode::default() };
        PoolNodeFact { uid: Uid::new("u"), version: Some(ResourceVersion(version)), node, ready: true }
    }

    fn label(all: &Store<PoolNodeFact>) -> Option<&str> {
        all.facts().next().map(|fact| &*fact.node.labels["l"])
    }

    #[test]
    fn an_older_version_changes_nothing_but_a_list_does() {
        let mut all = Store::<PoolNodeFact>::default();
        let seen = |version, label| ObjectEvent::Applied { fact: node(version, label), listed: false };
        assert!(!all.apply(seen(4, "four")) && !all.apply(ObjectEvent::ListCompleted));
        assert!(label(&all).is_none() && !all.is_synced(), "before a list starts");
        all.apply(ObjectEvent::ListStarted);
        assert!(!all.put_response(node(7, "unknown")) && label(&all).is_none(), "no watch has named it");
        assert!(all.apply(seen(5, "five")));
        assert!(all.put_response(node(7, "seven")));
        assert!(!all.apply(seen(6, "six")));
        assert_eq!(label(&all), Some("seven"));
        assert!(!all.apply(seen(8, "seven")), "a heartbeat changes nothing");
        let listed = ObjectEvent::Applied { fact: node(3, "three"), listed: true };
        assert!(all.apply(listed), "restored from a backup");
        assert_eq!(label(&all), Some("three"));
        let undecodable = || ObjectEvent::Undecodable { uid: Uid::new("u"), name: "n1".into() };
        assert!(all.apply(undecodable()) && !all.apply(undecodable()), "once is enough");
        assert!(label(&all).is_none() && all.undecodable().eq(["n1"]));
        all.apply(ObjectEvent::ListStarted);
        assert!(all.apply(ObjectEvent::ListCompleted) && all.is_empty(), "what is not listed is gone");
    }
}
