//! Tests versions, lists of older versions, and bounded memory.

use super::{ChangeKind, HistoryLimits, ListRange, ObjectStore};
use crate::resource::{ResourceId, known};
use serde_json::{Value, json};

const ALL: ListRange<'_> = ListRange { namespace: None, after: None };

fn pods() -> ResourceId {
    known("", "pods")
}

fn put(store: &ObjectStore, key: &str, what: u64) -> u64 {
    let value = json!({"metadata": {"uid": format!("uid-{key}")}, "what": what});
    store.write(|txn| Ok(txn.put(pods(), key, value).version)).unwrap()
}

fn remove(store: &ObjectStore, key: &str) {
    store
        .write(|txn| {
            let value = txn.get(pods(), key).unwrap().value();
            Ok(txn.remove(pods(), key, value))
        })
        .unwrap();
}

fn keys(store: &ObjectStore, range: ListRange<'_>, at: Option<u64>) -> Option<Vec<String>> {
    let listed = store.list(pods(), range, at)?;
    Some(listed.objects.iter().map(|(key, _)| key.to_string()).collect())
}

#[test]
fn every_change_has_a_version_of_its_own_and_says_so() {
    let store = ObjectStore::default();
    let first = put(&store, "a/x", 1);
    let second = put(&store, "a/x", 2);
    assert_eq!(second, first + 1);
    let object = store.get(pods(), "a/x").unwrap();
    assert_eq!(object.value()["metadata"]["resourceVersion"], Value::String(second.to_string()));
    assert_eq!((&*object.uid, object.version), ("uid-a/x", second));
    remove(&store, "a/x");
    let changes = store.changes(pods(), first - 1, 10).unwrap();
    let reported: Vec<_> = changes.iter().map(|event| (event.version, event.change)).collect();
    let expected =
        [(first, ChangeKind::Added), (second, ChangeKind::Modified), (second + 1, ChangeKind::Deleted)];
    assert_eq!(reported, expected);
    assert_eq!(changes[2].object.value()["metadata"]["resourceVersion"], (second + 1).to_string());
    assert!(store.get(pods(), "a/x").is_none());
}

#[test]
fn keys_are_in_the_order_of_a_real_servers_store() {
    let store = ObjectStore::default();
    ["b/x", "a/y", "a-b/x", "a/x"].iter().for_each(|key| _ = put(&store, key, 0));
    assert_eq!(keys(&store, ALL, None).unwrap(), ["a-b/x", "a/x", "a/y", "b/x"]);
    let one = ListRange { namespace: Some("a"), ..ALL };
    assert_eq!(keys(&store, one, None).unwrap(), ["a/x", "a/y"]);
    assert_eq!(keys(&store, ListRange { after: Some("a/x"), ..ALL }, None).unwrap(), ["a/y", "b/x"]);
}

#[test]
fn a_list_of_before_is_what_was_then() {
    let store = ObjectStore::default();
    put(&store, "a/x", 1);
    let then = put(&store, "a/y", 1);
    put(&store, "a/x", 2);
    remove(&store, "a/y");
    put(&store, "a/z", 1);
    put(&store, "a/y", 3);
    assert_eq!(keys(&store, ALL, Some(then)).unwrap(), ["a/x", "a/y"]);
    let listed = store.list(pods(), ALL, Some(then)).unwrap();
    assert!(listed.objects.iter().all(|(_, object)| object.value()["what"] == 1));
    assert_eq!(keys(&store, ListRange { after: Some("a/x"), ..ALL }, Some(then)).unwrap(), ["a/y"]);
    assert_eq!(keys(&store, ALL, None).unwrap(), ["a/x", "a/y", "a/z"]);
}

#[test]
fn memory_is_bounded_and_what_is_forgotten_is_not_made_up() {
    let store = ObjectStore::new(HistoryLimits { changes: 3, bytes: 1 << 20 });
    let first = put(&store, "a/x", 0);
    (1..5).for_each(|what| _ = put(&store, "a/x", what));
    assert!(store.changes(pods(), first, 10).is_none());
    assert!(store.list(pods(), ALL, Some(first)).is_none());
    assert_eq!(store.changes(pods(), first + 1, 10).unwrap().len(), 3);
    store.compact();
    assert!(store.changes(pods(), first + 1, 10).is_none());
    assert_eq!(store.changes(pods(), store.version(), 10).unwrap().len(), 0);
    assert_eq!(keys(&store, ALL, None).unwrap(), ["a/x"]);

    let small = ObjectStore::new(HistoryLimits { changes: 1000, bytes: 1000 });
    let first = put(&small, "a/x", 0);
    (1..10).for_each(|what| _ = put(&small, "a/x", what));
    assert!(small.changes(pods(), first, 10).is_none());
}

#[test]
fn events_of_both_groups_are_the_same_objects() {
    assert_eq!(known("events.k8s.io", "events").home(), known("", "events"));
    assert_eq!(pods().home(), pods());
}
