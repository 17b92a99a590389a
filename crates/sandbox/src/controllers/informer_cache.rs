//! Caches the objects of the cluster for its controllers, with indexes by owner and node.
//!
//! - Invariant: of a pod it keeps only a [`PodSummary`].

use super::pod_summary::{PodSummary, SharedPodValues};
use super::pods::pods;
use crate::core_types;
use fakekube::api;
use fakekube::resource::ResourceId;
use fakekube::store::{ChangeKind, ListRange, ObjectStore, StoredObject};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::Arc;

/// The changes since the last refresh, by resource.
#[derive(Debug, Default)]
pub struct ChangedObjects(BTreeMap<ResourceId, BTreeSet<Arc<str>>>);

impl ChangedObjects {
    /// Whether nothing has changed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys of a resource.
    pub fn of(&self, number: ResourceId) -> impl Iterator<Item = &str> {
        self.0.get(&number).into_iter().flatten().map(|key| &**key)
    }

    /// The keys of a resource, shared.
    pub(super) fn keys(&self, number: ResourceId) -> impl Iterator<Item = &Arc<str>> {
        self.0.get(&number).into_iter().flatten()
    }

    /// Whether this object has changed.
    pub fn has(&self, number: ResourceId, key: &str) -> bool {
        self.0.get(&number).is_some_and(|keys| keys.contains(key))
    }

    /// Whether any object of the resource has changed.
    pub fn any(&self, number: ResourceId) -> bool {
        self.0.contains_key(&number)
    }
}

/// A reference to an owner.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct OwnerKey {
    pub(super) uid: Box<str>,
    /// The namespace of the dependent, and so of the owner if its kind is namespaced.
    pub(super) namespace: Box<str>,
    pub(super) api_version: Box<str>,
    pub(super) kind: Box<str>,
    pub(super) name: Box<str>,
}

type ObjectKey = (ResourceId, Arc<str>);

/// The objects of the watched resources.
#[derive(Debug)]
pub struct InformerCache {
    shelves: BTreeMap<ResourceId, CachedResource>,
    pods: BTreeMap<Arc<str>, PodSummary>,
    shared: SharedPodValues,
    owned: BTreeMap<Arc<OwnerKey>, BTreeSet<ObjectKey>>,
    /// The owners that each object names, kept for when it changes.
    owners: HashMap<ObjectKey, Box<[Arc<OwnerKey>]>>,
    on_node: HashMap<Arc<str>, BTreeSet<Arc<str>>>,
    restless: BTreeSet<Arc<str>>,
    ending: BTreeSet<ObjectKey>,
}

#[derive(Debug, Default)]
struct CachedResource {
    at: u64,
    listed: bool,
    /// The objects; none for pods.
    objects: BTreeMap<Arc<str>, Arc<Value>>,
}

impl InformerCache {
    /// Creates a cache of these resources.
    pub fn new(watched: &[ResourceId]) -> Self {
        Self {
            shelves: watched.iter().map(|number| (*number, CachedResource::default())).collect(),
            pods: BTreeMap::new(),
            shared: SharedPodValues::default(),
            owned: BTreeMap::new(),
            owners: HashMap::new(),
            on_node: HashMap::new(),
            restless: BTreeSet::new(),
            ending: BTreeSet::new(),
        }
    }

    /// Applies all changes since the last call.
    pub fn refresh(&mut self, store: &ObjectStore) -> ChangedObjects {
        let mut changed = ChangedObjects::default();
        let numbers: Vec<ResourceId> = self.shelves.keys().copied().collect();
        for number in numbers {
            let keys = self.refresh_one(store, number);
            if !keys.is_empty() {
                changed.0.insert(number, keys);
            }
        }
        changed
    }

    fn refresh_one(&mut self, store: &ObjectStore, number: ResourceId) -> BTreeSet<Arc<str>> {
        let (at, listed) = self.shelves.get(&number).map_or((0, false), |shelf| (shelf.at, shelf.listed));
        let mut keys = BTreeSet::new();
        let changes = if listed { store.changes(number, at, usize::MAX) } else { None };
        match changes {
            Some(changes) => {
                // Only the last state of each object counts.
                let mut last = BTreeMap::new();
                changes.iter().for_each(|event| _ = last.insert(Arc::clone(&event.key), event));
                for (key, event) in last {
                    self.set(number, &key, (event.change != ChangeKind::Deleted).then_some(&event.object));
                    keys.insert(key);
                }
                if let (Some(last), Some(shelf)) = (changes.last(), self.shelves.get_mut(&number)) {
                    shelf.at = last.version;
                }
            }
            None => {
                let all = ListRange { namespace: None, after: None };
                let Some(list) = store.list(number, all, None) else { return keys };
                for key in self.keys(number) {
                    self.set(number, &key, None);
                    keys.insert(key);
                }
                for (key, object) in list.objects {
                    self.set(number, &key, Some(&object));
                    keys.insert(key);
                }
                if let Some(shelf) = self.shelves.get_mut(&number) {
                    (shelf.at, shelf.listed) = (list.version, true);
                }
            }
        }
        keys
    }

    fn keys(&self, number: ResourceId) -> Vec<Arc<str>> {
        match number == pods() {
            true => self.pods.keys().cloned().collect(),
            false => {
                self.shelves.get(&number).into_iter().flat_map(|one| one.objects.keys().cloned()).collect()
            }
        }
    }

    fn set(&mut self, number: ResourceId, key: &Arc<str>, object: Option<&Arc<StoredObject>>) {
        let place = (number, Arc::clone(key));
        self.forget(&place);
        let Some(object) = object else { return };
        let value = object.value();
        let owners = self.named_by(key, &value);
        for owner in &owners {
            self.owned.entry(Arc::clone(owner)).or_default().insert(place.clone());
        }
        if !owners.is_empty() {
            self.owners.insert(place.clone(), owners);
        }
        if api::is_ending(&value) {
            self.ending.insert(place);
        }
        if number == pods() {
            let pod = PodSummary::new(Arc::clone(object), &value, &mut self.shared);
            if let Some(node) = &pod.node {
                self.on_node.entry(Arc::clone(node)).or_default().insert(Arc::clone(key));
            }
            if pod.is_restless() {
                self.restless.insert(Arc::clone(key));
            }
            self.pods.insert(Arc::clone(key), pod);
        } else if let Some(shelf) = self.shelves.get_mut(&number) {
            shelf.objects.insert(Arc::clone(key), Arc::new(value));
        }
    }

    /// Removes an object from all indexes.
    fn forget(&mut self, place: &ObjectKey) {
        let (number, key) = place;
        for owner in self.owners.remove(place).unwrap_or_default() {
            if let Some(set) = self.owned.get_mut(&owner) {
                set.remove(place);
                if set.is_empty() {
                    self.owned.remove(&owner);
                }
            }
        }
        self.ending.remove(place);
        if *number != pods() {
            self.shelves.get_mut(number).map(|shelf| shelf.objects.remove(key));
            return;
        }
        self.restless.remove(key);
        if let Some(node) = self.pods.remove(key).and_then(|pod| pod.node)
            && let Some(set) = self.on_node.get_mut(&node)
        {
            set.remove(key);
            if set.is_empty() {
                self.on_node.remove(&node);
            }
        }
    }

    /// The owners that an object names; known ones are shared.
    fn named_by(&self, key: &str, object: &Value) -> Box<[Arc<OwnerKey>]> {
        let namespace = key.split_once('/').map_or("", |(namespace, _)| namespace);
        let text = |owner: &Value, field: &str| owner[field].as_str().unwrap_or_default().into();
        let owner = |one: &Value| {
            let owner = OwnerKey {
                uid: text(one, "uid"),
                namespace: namespace.into(),
                api_version: text(one, "apiVersion"),
                kind: text(one, "kind"),
                name: text(one, "name"),
            };
            self.owned.get_key_value(&owner).map_or_else(|| Arc::new(owner), |(known, _)| Arc::clone(known))
        };
        core_types::list(&object["metadata"]["ownerReferences"]).map(owner).collect()
    }

    /// One object, parsed.
    pub fn get(&self, number: ResourceId, key: &str) -> Option<Arc<Value>> {
        match number == pods() {
            true => self.pods.get(key).map(|pod| Arc::new(pod.value())),
            false => self.one(number, key).cloned(),
        }
    }

    /// One object that is not a pod.
    pub fn one(&self, number: ResourceId, key: &str) -> Option<&Arc<Value>> {
        self.shelves.get(&number)?.objects.get(key)
    }

    /// All objects of a resource other than pods, in the order of their keys.
    pub fn all(&self, number: ResourceId) -> impl Iterator<Item = (&str, &Arc<Value>)> {
        let shelf = self.shelves.get(&number).into_iter();
        shelf.flat_map(|shelf| &shelf.objects).map(|(key, object)| (&**key, object))
    }

    /// One pod.
    pub fn pod(&self, key: &str) -> Option<&PodSummary> {
        self.pods.get(key)
    }

    /// All pods, or those of a namespace, in the order of their keys.
    pub fn pods(&self, namespace: Option<&str>) -> impl Iterator<Item = (&str, &PodSummary)> {
        let prefix = namespace.map(|namespace| format!("{namespace}/")).unwrap_or_default();
        let from = (Bound::Included(prefix.as_str()), Bound::Unbounded);
        let range = self.pods.range::<str, _>(from);
        range.take_while(move |(key, _)| key.starts_with(&prefix)).map(|(key, pod)| (&**key, pod))
    }

    /// Pods about to change.
    pub(super) fn restless(&self) -> impl Iterator<Item = (&str, &PodSummary)> {
        self.restless.iter().filter_map(|key| Some((&**key, self.pods.get(key)?)))
    }

    /// The pods of a node.
    pub fn pods_on(&self, node: &str) -> impl Iterator<Item = (&str, &PodSummary)> {
        let keys = self.on_node.get(node).into_iter().flatten();
        keys.filter_map(|key| Some((&**key, self.pods.get(key)?)))
    }

    /// The nodes that pods are bound to, existing or not.
    pub(super) fn nodes_of_pods(&self) -> impl Iterator<Item = &str> {
        self.on_node.iter().filter(|(_, pods)| !pods.is_empty()).map(|(node, _)| &**node)
    }

    /// Objects that are being deleted.
    pub(super) fn ending(&self) -> impl Iterator<Item = (ResourceId, &str)> {
        self.ending.iter().map(|(number, key)| (*number, &**key))
    }

    /// All owners that objects name, with their dependents.
    pub(super) fn owners(&self) -> impl Iterator<Item = (&OwnerKey, &BTreeSet<ObjectKey>)> {
        self.owned.iter().map(|(owner, places)| (&**owner, places))
    }

    /// The owners that an object names.
    pub(super) fn owners_of(&self, number: ResourceId, key: &Arc<str>) -> &[Arc<OwnerKey>] {
        self.owners.get(&(number, Arc::clone(key))).map_or(&[], |owners| owners)
    }

    /// All objects that name this owner.
    pub(super) fn dependents(&self, uid: &str) -> impl Iterator<Item = (ResourceId, &str)> {
        let first = OwnerKey { uid: uid.into(), ..OwnerKey::default() };
        let owned =
            self.owned.range::<OwnerKey, _>(&first..).take_while(move |(owner, _)| *owner.uid == *uid);
        owned.flat_map(|(_, places)| places).map(|(number, key)| (*number, &**key))
    }

    /// Objects of a resource other than pods that name this owner.
    pub(super) fn owned(&self, uid: &str, number: ResourceId) -> impl Iterator<Item = (&str, &Arc<Value>)> {
        let all = self.dependents(uid).filter(move |(one, _)| *one == number);
        all.filter_map(|(number, key)| Some((key, self.one(number, key)?)))
    }

    /// The pods that this owner controls.
    pub(super) fn controlled(&self, uid: &str) -> impl Iterator<Item = (&str, &PodSummary)> {
        let all = self.dependents(uid).filter(|(number, _)| *number == pods());
        let all = all.filter_map(|(_, key)| Some((key, self.pods.get(key)?)));
        all.filter(move |(_, pod)| pod.controller.as_deref() == Some(uid))
    }
}
