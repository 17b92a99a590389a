//! # World: what is known of pools, and of what they look at
//! Room:     the latest word on every pool, node, namespace and pod.
//! Comes in: batches from the streams; objects that a write was answered with.
//! Goes out: facts; whether something changed that matters.
//! Keeps:    an older word never takes the place of a newer one, unless a list says so. What can't be read is known to
//!           exist, and nothing more (D11).
//! Not here: what follows from it (`judge.rs`).

use super::demand::Demand;
use super::news::Batch;
use std::collections::BTreeMap;
use taintward_client::decode::{Fact, Identity, SeenMember, SeenNamespace, SeenPool};
use taintward_client::listen::Heard;
use taintward_core::admission::pool::{PodOnNodeFact, PodsOnNodes};
use taintward_core::identity::Uid;
use taintward_core::time::Mono;

/// An object that is remembered.
pub(super) trait Known: Fact {
    /// Which incarnation.
    fn uid(&self) -> &Uid;

    /// Whether another word on it changes nothing that anything depends on.
    fn says_the_same(&self, other: &Self) -> bool;
}

impl Known for SeenPool {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    /// Its status is our own word.
    fn says_the_same(&self, other: &Self) -> bool {
        (&self.pool, self.generation, &self.finalizers) == (&other.pool, other.generation, &other.finalizers)
    }
}

impl Known for SeenMember {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn says_the_same(&self, other: &Self) -> bool {
        self.node == other.node
    }
}

impl Known for SeenNamespace {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn says_the_same(&self, other: &Self) -> bool {
        (&self.name, &self.facts.labels) == (&other.name, &other.facts.labels)
    }
}

/// All objects of a kind.
#[derive(Debug)]
pub(super) struct All<F> {
    known: BTreeMap<Uid, Entry<F>>,
    /// Counts lists.
    list: u64,
    synced: bool,
}

#[derive(Debug)]
struct Entry<F> {
    word: Word<F>,
    /// The list in which, or after which, it was last heard of.
    list: u64,
}

#[derive(Debug)]
enum Word<F> {
    Fact(F),
    /// With its name.
    Unreadable(String),
}

impl<F> Default for All<F> {
    fn default() -> Self {
        Self { known: BTreeMap::new(), list: 0, synced: false }
    }
}

impl<F: Known> All<F> {
    /// What could be read.
    pub(super) fn facts(&self) -> impl Iterator<Item = &F> {
        self.known.values().filter_map(|entry| match &entry.word {
            Word::Fact(fact) => Some(fact),
            Word::Unreadable(_) => None,
        })
    }

    /// The names of those that can't be read.
    pub(super) fn unreadable(&self) -> impl Iterator<Item = &str> {
        self.known.values().filter_map(|entry| match &entry.word {
            Word::Fact(_) => None,
            Word::Unreadable(name) => Some(name.as_str()),
        })
    }

    /// The latest word on one.
    pub(super) fn get(&self, uid: &Uid) -> Option<&F> {
        match &self.known.get(uid)?.word {
            Word::Fact(fact) => Some(fact),
            Word::Unreadable(_) => None,
        }
    }

    /// Whether a list was ever complete.
    pub(super) fn is_synced(&self) -> bool {
        self.synced
    }

    /// Takes in what a stream told; whether that changes anything.
    pub(super) fn hear(&mut self, batch: Vec<Heard<F>>) -> bool {
        batch.into_iter().fold(false, |changed, heard| self.hear_one(heard) | changed)
    }

    /// Before a list begins, what is told may be half the truth.
    fn hear_one(&mut self, heard: Heard<F>) -> bool {
        match heard {
            Heard::SyncBegins { .. } => {
                self.list += 1;
                false
            }
            _ if self.list == 0 => false,
            Heard::Seen { fact, listed } => self.put(fact, listed),
            Heard::Gone { uid, .. } => self.known.remove(&uid).is_some(),
            Heard::Unreadable(unreadable) => {
                unreadable.identity.is_some_and(|identity| self.cannot_read(identity))
            }
            Heard::SyncEnds => {
                let (list, before) = (self.list, self.known.len());
                self.known.retain(|_, entry| entry.list == list);
                let first = !std::mem::replace(&mut self.synced, true);
                first || self.known.len() != before
            }
            Heard::SyncAborted | Heard::Quiet => false,
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
            self.known.insert(fact.uid().clone(), Entry { word: Word::Fact(fact), list });
            return true;
        };
        entry.list = list;
        if let Word::Fact(before) = &entry.word {
            if !listed && fact.version().is_some() && fact.version() < before.version() {
                return false;
            }
            let same = before.says_the_same(&fact);
            entry.word = Word::Fact(fact);
            return !same;
        }
        entry.word = Word::Fact(fact);
        true
    }

    fn cannot_read(&mut self, identity: Identity) -> bool {
        let Some(uid) = identity.uid else { return false };
        let entry = Entry { word: Word::Unreadable(identity.name), list: self.list };
        let before = self.known.insert(uid, entry);
        !matches!(before, Some(Entry { word: Word::Unreadable(_), .. }))
    }
}

/// Everything there is.
#[derive(Debug, Default)]
pub(super) struct World {
    pub(super) pools: All<SeenPool>,
    pub(super) nodes: All<SeenMember>,
    pub(super) namespaces: All<SeenNamespace>,
    pub(super) pods: PodsOnNodes,
}

/// What changed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Change {
    /// What pools want, or nodes are.
    pub(super) rules: bool,
    /// Who is where.
    pub(super) pods: bool,
}

impl World {
    /// Takes in a batch.
    pub(super) fn hear(&mut self, batch: Batch) -> Change {
        match batch {
            Batch::Pools(batch) => Change { rules: self.pools.hear(batch), pods: false },
            Batch::Nodes(batch) => Change { rules: self.nodes.hear(batch), pods: false },
            Batch::Namespaces(batch) => Change { rules: false, pods: self.namespaces.hear(batch) },
            Batch::Pods(batch) => Change { rules: false, pods: hear_of_pods(&mut self.pods, batch) },
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
    pub(super) fn keep_what_is_demanded(&mut self, demand: &mut Demand, undefined: bool, now: Mono) {
        let all_known = self.pools.is_synced() || undefined;
        if !demand.is_on(self.has_pools(), all_known, now) {
            (self.nodes, self.namespaces, self.pods) = Default::default();
        }
    }
}

/// Takes in what a stream told of pods; whether that changes anything.
fn hear_of_pods(pods: &mut PodsOnNodes, batch: Vec<Heard<PodOnNodeFact>>) -> bool {
    let mut hear_one = |heard| match heard {
        Heard::SyncBegins { .. } => {
            pods.begin();
            false
        }
        Heard::Seen { fact, .. } => pods.put(fact),
        Heard::Gone { uid, .. } => pods.remove(&uid),
        Heard::Unreadable(unreadable) => {
            let uid = unreadable.identity.and_then(|identity| identity.uid);
            uid.is_some_and(|uid| pods.remove(&uid))
        }
        Heard::SyncEnds => pods.end(),
        Heard::SyncAborted | Heard::Quiet => false,
    };
    batch.into_iter().fold(false, |changed, heard| hear_one(heard) | changed)
}
