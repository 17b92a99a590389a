//! Caches pools, nodes, namespaces and pods from their watches, and knows whether each was listed completely.

use super::fact::{PoolFact, PoolNamespaceFact, PoolNodeFact};
use super::store::{ObjectEvent, Store};
use crate::admission::pool::{PodOnNodeFact, PodsOnNodes};

/// Everything there is.
#[derive(Clone, Debug, Default)]
pub(crate) struct PoolCache {
    pub(crate) pools: Store<PoolFact>,
    pub(crate) nodes: Store<PoolNodeFact>,
    pub(crate) namespaces: Store<PoolNamespaceFact>,
    pub(crate) pods: PodsOnNodes,
}

impl PoolCache {
    /// Whether everything was listed once; without a pool nothing but that has to be known.
    pub(crate) fn is_synced(&self) -> bool {
        let others = self.nodes.is_synced() && self.namespaces.is_synced() && self.pods.is_synced();
        self.pools.is_synced() && (self.pools.is_empty() || others)
    }

    /// Forgets everything but pools.
    pub(crate) fn clear_all_but_pools(&mut self) {
        (self.nodes, self.namespaces, self.pods) = Default::default();
    }

    /// Takes an event of the pods' watch in; whether that changes anything.
    pub(crate) fn apply_pod(&mut self, event: ObjectEvent<PodOnNodeFact>) -> bool {
        match event {
            ObjectEvent::ListStarted => {
                self.pods.begin();
                false
            }
            ObjectEvent::Applied { fact, .. } => self.pods.put(fact),
            ObjectEvent::Deleted { uid } | ObjectEvent::Undecodable { uid, .. } => self.pods.remove(&uid),
            ObjectEvent::ListCompleted => self.pods.end(),
        }
    }
}
