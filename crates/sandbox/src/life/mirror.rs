//! # Mirror: the cluster as the parts see it
//! Room:     parsed objects, and who owns whom and runs where.
//! Comes in: the store's changes.
//! Goes out: objects; which of them changed.
//! Not here: writing.

use crate::resource::Number;
use crate::store::{Change, Range, Store};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

/// What changed since the last look, by resource.
#[derive(Debug, Default)]
pub struct Changed(BTreeMap<Number, BTreeSet<Box<str>>>);

impl Changed {
    /// Whether nothing did.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The keys of a resource.
    pub fn of(&self, number: Number) -> impl Iterator<Item = &str> {
        self.0.get(&number).into_iter().flatten().map(|key| &**key)
    }

    /// Whether anything of it changed.
    pub fn any(&self, number: Number) -> bool {
        self.0.contains_key(&number)
    }
}

/// Parsed objects.
#[derive(Debug)]
pub struct Mirror {
    shelves: BTreeMap<Number, Shelf>,
    owned: HashMap<String, BTreeSet<(Number, Box<str>)>>,
    on_node: HashMap<String, BTreeSet<Box<str>>>,
}

#[derive(Debug, Default)]
struct Shelf {
    at: u64,
    listed: bool,
    objects: BTreeMap<Box<str>, Arc<Value>>,
}

impl Mirror {
    /// Of these resources.
    pub fn new(watched: &[Number]) -> Self {
        let shelves = watched.iter().map(|number| (*number, Shelf::default())).collect();
        Self { shelves, owned: HashMap::new(), on_node: HashMap::new() }
    }

    /// Takes in what changed.
    pub fn refresh(&mut self, store: &Store) -> Changed {
        let mut changed = Changed::default();
        let numbers: Vec<Number> = self.shelves.keys().copied().collect();
        for number in numbers {
            let keys = self.refresh_one(store, number);
            if !keys.is_empty() {
                changed.0.insert(number, keys);
            }
        }
        changed
    }

    fn refresh_one(&mut self, store: &Store, number: Number) -> BTreeSet<Box<str>> {
        let (at, listed) = self.shelves.get(&number).map_or((0, false), |shelf| (shelf.at, shelf.listed));
        let mut keys = BTreeSet::new();
        let changes = if listed { store.changes(number, at, usize::MAX) } else { None };
        match changes {
            Some(changes) => {
                // Only the last state of each counts.
                let mut last = BTreeMap::new();
                changes.iter().for_each(|event| _ = last.insert(event.key.clone(), event));
                for (key, event) in last {
                    let object = (event.change != Change::Deleted).then(|| event.object.value());
                    self.set(number, &key, object);
                    keys.insert(key);
                }
                if let (Some(last), Some(shelf)) = (changes.last(), self.shelves.get_mut(&number)) {
                    shelf.at = last.version;
                }
            }
            None => {
                let all = Range { namespace: None, after: None, limit: 0 };
                let Some(list) = store.list(number, all, None) else { return keys };
                let old: Vec<Box<str>> = self.shelves[&number].objects.keys().cloned().collect();
                for key in old {
                    self.set(number, &key, None);
                    keys.insert(key);
                }
                for (key, object) in list.objects {
                    self.set(number, &key, Some(object.value()));
                    keys.insert(key);
                }
                if let Some(shelf) = self.shelves.get_mut(&number) {
                    (shelf.at, shelf.listed) = (list.version, true);
                }
            }
        }
        keys
    }

    fn set(&mut self, number: Number, key: &str, object: Option<Value>) {
        let Some(shelf) = self.shelves.get_mut(&number) else { return };
        let old = match &object {
            Some(object) => shelf.objects.insert(key.into(), Arc::new(object.clone())),
            None => shelf.objects.remove(key),
        };
        let place = (number, Box::<str>::from(key));
        if let Some(old) = old {
            for owner in owners(&old) {
                if let Some(set) = self.owned.get_mut(owner) {
                    set.remove(&place);
                    if set.is_empty() {
                        self.owned.remove(owner);
                    }
                }
            }
            if let Some(set) = node_of(&old).and_then(|node| self.on_node.get_mut(node)) {
                set.remove(key);
            }
        }
        let Some(object) = object else { return };
        for owner in owners(&object) {
            self.owned.entry(owner.to_owned()).or_default().insert(place.clone());
        }
        if let Some(node) = node_of(&object) {
            self.on_node.entry(node.to_owned()).or_default().insert(key.into());
        }
    }

    /// One object.
    pub fn get(&self, number: Number, key: &str) -> Option<&Arc<Value>> {
        self.shelves.get(&number)?.objects.get(key)
    }

    /// All objects of a resource, in the order of their keys.
    pub fn all(&self, number: Number) -> impl Iterator<Item = (&str, &Arc<Value>)> {
        self.shelves
            .get(&number)
            .into_iter()
            .flat_map(|shelf| &shelf.objects)
            .map(|(key, object)| (&**key, object))
    }

    /// Those of a resource that name this owner.
    pub(crate) fn owned(&self, uid: &str, number: Number) -> impl Iterator<Item = (&str, &Arc<Value>)> {
        let places = self.owned.get(uid).into_iter().flatten().filter(move |(one, _)| *one == number);
        places.filter_map(|(number, key)| Some((&**key, self.get(*number, key)?)))
    }

    /// Everything that names this owner.
    pub(crate) fn dependents(&self, uid: &str) -> impl Iterator<Item = (Number, &str)> {
        self.owned.get(uid).into_iter().flatten().map(|(number, key)| (*number, &**key))
    }

    /// Keys of the pods of a node.
    pub fn pods_on(&self, node: &str) -> impl Iterator<Item = &str> {
        self.on_node.get(node).into_iter().flatten().map(|key| &**key)
    }
}

fn owners(object: &Value) -> impl Iterator<Item = &str> {
    let owners = object["metadata"]["ownerReferences"].as_array();
    owners.into_iter().flatten().filter_map(|owner| owner["uid"].as_str())
}

fn node_of(object: &Value) -> Option<&str> {
    object["spec"]["nodeName"]
        .as_str()
        .filter(|node| !node.is_empty() && object["spec"]["containers"].is_array())
}
