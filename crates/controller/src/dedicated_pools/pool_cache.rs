//! # World: what is known of pools, and of what they look at
//! Room:     the latest word on every pool, node, namespace and pod.
//! Comes in: batches from the streams; objects that a write was answered with.
//! Goes out: facts; whether something changed that matters.
//! Keeps:    an older word never takes the place of a newer one, unless a list says so. What can't be read is known to
//!           exist, and nothing more (D11).
//! Not here: what follows from it (`reconcile.rs`).

use super::pool_watch_queues::PoolWatchBatch;
use super::stream_demand::PoolStreamDemand;
use std::collections::BTreeMap;
use taintward_core::admission::pool::{PodOnNodeFact, PodsOnNodes};
use taintward_core::identity::Uid;
use taintward_core::time::Mono;
use taintward_kube::decode::{NamespaceObject, ObjectIdentity, PoolNodeObject, PoolObject, WatchedObject};
use taintward_kube::watch::WatchEvent;

/// An object that is remembered.
pub(super) trait CachedObject: WatchedObject {
    /// Which incarnation.
    fn uid(&self) -> &Uid;

    /// Whether another word on it changes nothing that anything depends on.
    fn says_the_same(&self, other: &Self) -> bool;
}

impl CachedObject for PoolObject {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    /// Its status is our own word.
    fn says_the_same(&self, other: &Self) -> bool {
        (&self.pool, self.generation, &self.finalizers) == (&other.pool, other.generation, &other.finalizers)
    }
}

impl CachedObject for PoolNodeObject {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl CachedObject for NamespaceObject {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn says_the_same(&self, other: &Self) -> bool {
        (&self.name, &self.facts.labels) == (&other.name, &other.facts.labels)
    }
}

/// All objects of a kind.
#[derive(Debug)]
pub(super) struct Store<F> {
    known: BTreeMap<Uid, StoreEntry<F>>,
    /// Counts lists.
    list: u64,
    synced: bool,
}

#[derive(Debug)]
struct StoreEntry<F> {
    word: StoredValue<F>,
    /// The list in which, or after which, it was last heard of.
    list: u64,
}

#[derive(Debug)]
enum StoredValue<F> {
    Fact(F),
    /// With its name.
    Unreadable(String),
}

impl<F> Default for Store<F> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), list: 0, synced: false }
    }
}

impl<F: CachedObject> Store<F> {
    /// What could be read.
    pub(super) fn facts(&self) -> impl Iterator<Item = &F> {
        self.known.values().filter_map(|entry| match &entry.word {
            StoredValue::Fact(fact) => Some(fact),
            StoredValue::Unreadable(_) => None,
        })
    }

    /// The names of those that can't be read.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.known.values().filter_map(|entry| match &entry.word {
            StoredValue::Fact(_) => None,
            StoredValue::Unreadable(name) => Some(name.as_str()),
        })
    }

    /// The latest word on one.
    pub(super) fn get(&self, uid: &Uid) -> Option<&F> {
        match &self.known.get(uid)?.word {
            StoredValue::Fact(fact) => Some(fact),
            StoredValue::Unreadable(_) => None,
        }
    }

    /// Whether a list was ever complete.
    pub(super) fn is_synced(&self) -> bool {
        self.synced
    }

    /// Takes in what a stream told; whether that changes anything.
    pub(super) fn hear(&mut self, batch: Vec<WatchEvent<F>>) -> bool {
        batch.into_iter().fold(false, |changed, heard| self.hear_one(heard) | changed)
    }

    /// Before a list begins, what is told may be half the truth.
    fn hear_one(&mut self, heard: WatchEvent<F>) -> bool {
        match heard {
            WatchEvent::ListStarted { .. } => {
                self.list += 1;
                false
            }
            _ if self.list == 0 => false,
            WatchEvent::Applied { fact, listed } => self.put(fact, listed),
            WatchEvent::Deleted { uid, .. } => self.known.remove(&uid).is_some(),
            WatchEvent::Undecodable(unreadable) => {
                unreadable.identity.is_some_and(|identity| self.cannot_read(identity))
            }
            WatchEvent::ListCompleted => {
                let (list, before) = (self.list, self.known.len());
                self.known.retain(|_, entry| entry.list == list);
                let first = !std::mem::replace(&mut self.synced, true);
                first || self.known.len() != before
            }
            WatchEvent::ListAborted | WatchEvent::Bookmark => false,
        }
    }

    /// An object that a write was answered with.
    pub(super) fn answered(&mut self, fact: F) -> bool {
        self.known.contains_key(fact.uid()) && self.put(fact, false)
    }

    /// An object that is known to be gone.
    pub(super) fn remove(&mut self, uid: &Uid) -> bool {
        self.known.remove(uid).is_some()
    }

    fn put(&mut self, fact: F, listed: bool) -> bool {
        let list = self.list;
        let Some(entry) = self.known.get_mut(fact.uid()) else {
            self.known.insert(fact.uid().clone(), StoreEntry { word: StoredValue::Fact(fact), list });
            return true;
        };
        entry.list = list;
        if let StoredValue::Fact(before) = &entry.word {
            if !listed && fact.version().is_some() && fact.version() < before.version() {
                return false;
            }
            let same = before.says_the_same(&fact);
            entry.word = StoredValue::Fact(fact);
            return !same;
        }
        entry.word = StoredValue::Fact(fact);
        true
    }

    fn cannot_read(&mut self, identity: ObjectIdentity) -> bool {
        let Some(uid) = identity.uid else { return false };
        let entry = StoreEntry { word: StoredValue::Unreadable(identity.name), list: self.list };
        let before = self.known.insert(uid, entry);
        !matches!(before, Some(StoreEntry { word: StoredValue::Unreadable(_), .. }))
    }
}

/// Everything there is.
#[derive(Debug, Default)]
pub(super) struct PoolCache {
    pub(super) pools: Store<PoolObject>,
    pub(super) nodes: Store<PoolNodeObject>,
    pub(super) namespaces: Store<NamespaceObject>,
    pub(super) pods: PodsOnNodes,
}

/// What changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct CacheChange {
    /// What pools want, or nodes are.
    pub(super) rules: bool,
    /// Who is where.
    pub(super) pods: bool,
}

impl PoolCache {
    /// Takes in a batch.
    pub(super) fn hear(&mut self, batch: PoolWatchBatch) -> CacheChange {
        match batch {
            PoolWatchBatch::Pools(batch) => CacheChange { rules: self.pools.hear(batch), pods: false },
            PoolWatchBatch::Nodes(batch) => CacheChange { rules: self.nodes.hear(batch), pods: false },
            PoolWatchBatch::Namespaces(batch) => {
                CacheChange { rules: false, pods: self.namespaces.hear(batch) }
            }
            PoolWatchBatch::Pods(batch) => {
                CacheChange { rules: false, pods: hear_of_pods(&mut self.pods, batch) }
            }
        }
    }

    /// Whether there is any pool, of whatever can be read of it.
    pub(super) fn has_pools(&self) -> bool {
        !self.pools.known.is_empty()
    }

    /// Whether everything was listed once; without a pool nothing but that has to be known.
    pub(super) fn is_synced(&self) -> bool {
        let others = [self.nodes.is_synced(), self.namespaces.is_synced(), self.pods.is_synced()];
        self.pools.is_synced() && (!self.has_pools() || others == [true; 3])
    }

    /// Without a pool nothing else is kept; `undefined`: nobody says what a pool is.
    pub(super) fn keep_what_is_demanded(
        &mut self,
        demand: &mut PoolStreamDemand,
        undefined: bool,
        now: Mono,
    ) {
        let all_known = self.pools.is_synced() || undefined;
        if !demand.is_on(self.has_pools(), all_known, now) {
            (self.nodes, self.namespaces, self.pods) = Default::default();
        }
    }
}

/// Takes in what a stream told of pods; whether that changes anything.
fn hear_of_pods(pods: &mut PodsOnNodes, batch: Vec<WatchEvent<PodOnNodeFact>>) -> bool {
    let mut hear_one = |heard| match heard {
        WatchEvent::ListStarted { .. } => {
            pods.begin();
            false
        }
        WatchEvent::Applied { fact, .. } => pods.put(fact),
        WatchEvent::Deleted { uid, .. } => pods.remove(&uid),
        WatchEvent::Undecodable(unreadable) => {
            let uid = unreadable.identity.and_then(|identity| identity.uid);
            uid.is_some_and(|uid| pods.remove(&uid))
        }
        WatchEvent::ListCompleted => pods.end(),
        WatchEvent::ListAborted | WatchEvent::Bookmark => false,
    };
    batch.into_iter().fold(false, |changed, heard| hear_one(heard) | changed)
}
