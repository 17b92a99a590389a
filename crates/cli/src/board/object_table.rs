//! Stores the objects of a kind by UID from their watch, and reports their changes.

use std::collections::BTreeMap;
use taintward_core::identity::Uid;
use taintward_core::object_event::{ObjectIndex, ObjectRef};
use taintward_core::time::{Mono, Now};

/// The objects of a kind.
#[derive(Debug)]
pub(crate) struct ObjectTable<V> {
    objects: BTreeMap<Uid, TableEntry<V>>,
    changes: Vec<TableChange<V>>,
}

#[derive(Debug)]
struct TableEntry<V> {
    value: V,
    /// Observed since the running list started.
    seen: bool,
}

/// A change of an object.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TableChange<V> {
    /// The object is new or changed; with its earlier version.
    Applied(Uid, Option<V>),
    Gone(Uid, V),
}

impl<V> Default for ObjectTable<V> {
    fn default() -> Self {
        Self { objects: BTreeMap::new(), changes: Vec::new() }
    }
}

impl<V> ObjectTable<V> {
    pub(crate) fn get(&self, uid: &Uid) -> Option<&V> {
        self.objects.get(uid).map(|entry| &entry.value)
    }

    pub(crate) fn get_mut(&mut self, uid: &Uid) -> Option<&mut V> {
        self.objects.get_mut(uid).map(|entry| &mut entry.value)
    }

    pub(crate) fn values(&self) -> impl Iterator<Item = &V> {
        self.objects.values().map(|entry| &entry.value)
    }

    /// The changes since the last call, in order.
    pub(crate) fn take_changes(&mut self) -> Vec<TableChange<V>> {
        std::mem::take(&mut self.changes)
    }
}

/// An object with its UID.
impl<V> ObjectIndex<(Uid, V)> for ObjectTable<V> {
    fn list_started(&mut self, _: Option<Mono>) {
        self.objects.values_mut().for_each(|entry| entry.seen = false);
    }

    fn applied(&mut self, (uid, value): (Uid, V), _: bool, _: Now) {
        let before = self.objects.insert(uid.clone(), TableEntry { value, seen: true });
        self.changes.push(TableChange::Applied(uid, before.map(|entry| entry.value)));
    }

    fn deleted(&mut self, object: ObjectRef, _: Now) {
        if let Some((uid, entry)) = object.uid.and_then(|uid| self.objects.remove_entry(&uid)) {
            self.changes.push(TableChange::Gone(uid, entry.value));
        }
    }

    /// The earlier version is all that the board can show.
    fn undecodable(&mut self, object: ObjectRef, _: Now) {
        if let Some(entry) = object.uid.and_then(|uid| self.objects.get_mut(&uid)) {
            entry.seen = true;
        }
    }

    fn list_completed(&mut self, _: Now) {
        let gone = self.objects.extract_if(.., |_, entry| !entry.seen);
        self.changes.extend(gone.map(|(uid, entry)| TableChange::Gone(uid, entry.value)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use taintward_core::object_event::ObjectEvent;
    use taintward_core::time::Wall;

    const NOW: Now = Now::exact(Mono::from_secs(0), Wall::from_secs(0));

    fn changes(table: &mut ObjectTable<u8>, event: ObjectEvent<(Uid, u8)>) -> Vec<TableChange<u8>> {
        table.apply(event, NOW);
        table.take_changes()
    }

    fn applied(table: &mut ObjectTable<u8>, uid: &str, value: u8) -> Vec<TableChange<u8>> {
        changes(table, ObjectEvent::Applied { fact: (Uid::new(uid), value), listed: false })
    }

    #[test]
    fn an_object_is_gone_after_its_deletion_or_a_complete_list_without_it() {
        let mut table = ObjectTable::default();
        assert_eq!(applied(&mut table, "a", 1), [TableChange::Applied(Uid::new("a"), None)]);
        assert_eq!(applied(&mut table, "a", 2), [TableChange::Applied(Uid::new("a"), Some(1))]);
        applied(&mut table, "b", 3);
        applied(&mut table, "c", 4);
        assert_eq!(changes(&mut table, ObjectEvent::ListStarted { silent_since: None }), []);
        let unreadable = ObjectRef { uid: Some(Uid::new("c")), ..ObjectRef::default() };
        assert_eq!(changes(&mut table, ObjectEvent::Undecodable(unreadable)), []);
        assert_eq!(changes(&mut table, ObjectEvent::ListAborted), []);
        assert_eq!(table.values().count(), 3);
        applied(&mut table, "b", 5);
        assert_eq!(changes(&mut table, ObjectEvent::ListCompleted), [TableChange::Gone(Uid::new("a"), 2)]);
        let end = ObjectRef { uid: Some(Uid::new("b")), ..ObjectRef::default() };
        assert_eq!(
            changes(&mut table, ObjectEvent::Deleted(end.clone())),
            [TableChange::Gone(Uid::new("b"), 5)]
        );
        assert_eq!(changes(&mut table, ObjectEvent::Deleted(end)), []);
    }
}
