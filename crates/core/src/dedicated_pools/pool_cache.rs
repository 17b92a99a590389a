//! Caches pools, nodes, namespaces and pods from their watches, and knows whether each was listed completely.

use super::fact::{PoolFact, PoolNamespaceFact, PoolNodeFact};
use crate::admission::pool::{PodOnNodeFact, PodsOnNodes};
use crate::identity::{ResourceVersion, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::object_store::{Store, StoredObject};
use crate::time::{Mono, Now};

/// All objects that the engine knows.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolCache {
    pub(crate) pools: Store<PoolFact>,
    pub(crate) nodes: Store<PoolNodeFact>,
    pub(crate) namespaces: Store<PoolNamespaceFact>,
    pub(crate) pods: PodsOnNodes,
    pods_changed: bool,
}

impl StoredObject for PoolFact {
    fn uid(&self) -> &Uid {
        &self.uid
    }

    fn version(&self) -> Option<ResourceVersion> {
        self.version
    }

    /// Only this controller writes its status.
    fn is_equivalent(&self, other: &Self) -> bool {
        let decided = |fact: &Self| (fact.generation, fact.has_guard_label);
        (&self.pool, &self.finalizers, decided(self)) == (&other.pool, &other.finalizers, decided(other))
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

impl PoolCache {
    /// Whether all objects were listed once; without pools, only the pools have to be.
    pub(crate) fn is_synced(&self) -> bool {
        let others = self.nodes.is_synced() && self.namespaces.is_synced() && self.pods.is_synced();
        self.pools.is_synced() && (self.pools.is_empty() || others)
    }

    /// Forgets everything but pools.
    pub(crate) fn clear_all_but_pools(&mut self) {
        (self.nodes, self.namespaces, self.pods) = Default::default();
    }

    /// Whether events of pods have changed anything since the last call.
    pub(crate) fn take_pods_changed(&mut self) -> bool {
        core::mem::take(&mut self.pods_changed)
    }
}

impl ObjectIndex<PodOnNodeFact> for PoolCache {
    fn list_started(&mut self, _: Option<Mono>) {
        self.pods.begin();
    }

    fn applied(&mut self, fact: PodOnNodeFact, _: bool, _: Now) {
        self.pods_changed |= self.pods.put(fact);
    }

    fn deleted(&mut self, pod: ObjectRef, _: Now) {
        self.pods_changed |= pod.uid.is_some_and(|uid| self.pods.remove(&uid, pod.node.as_ref()));
    }

    fn undecodable(&mut self, pod: ObjectRef, now: Now) {
        self.deleted(pod, now);
    }

    fn list_completed(&mut self, _: Now) {
        self.pods_changed |= self.pods.end();
    }
}
