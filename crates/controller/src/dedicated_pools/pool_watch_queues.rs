//! # Queues: what the four watches say of dedicated pools
//! Room:     the queues from the watches, and which of them comes first.
//! Comes in: batches of pools, nodes, namespaces and pods.
//! Goes out: the engine's inputs, one batch at a time.
//! Keeps:    what pools want before the nodes they want it of; within a watch, its order.
//! Not here: what becomes of an input (the core).

use taintward_core::admission::pool::PodOnNodeFact;
use taintward_core::dedicated_pools::{
    DedicatedPoolInput, ObjectEvent, PoolFact, PoolNamespaceFact, PoolNodeFact,
};
use taintward_kube::decode::NamespaceObject;
use taintward_kube::watch::WatchEvent;
use tokio::sync::mpsc;

/// The queues of all kinds.
pub(crate) struct PoolWatchQueues {
    pub(crate) pools: mpsc::Receiver<Vec<WatchEvent<PoolFact>>>,
    pub(crate) nodes: mpsc::Receiver<Vec<WatchEvent<PoolNodeFact>>>,
    pub(crate) namespaces: mpsc::Receiver<Vec<WatchEvent<NamespaceObject>>>,
    pub(crate) pods: mpsc::Receiver<Vec<WatchEvent<PodOnNodeFact>>>,
}

impl PoolWatchQueues {
    /// What is there already.
    pub(super) fn waiting(&mut self) -> Option<Vec<DedicatedPoolInput>> {
        let pools = self.pools.try_recv().map(pool_inputs);
        let nodes = pools.or_else(|_| self.nodes.try_recv().map(node_inputs));
        let namespaces = nodes.or_else(|_| self.namespaces.try_recv().map(namespace_inputs));
        namespaces.or_else(|_| self.pods.try_recv().map(pod_inputs)).ok()
    }

    /// What comes next; never, when all watches have ended. Dropped, it loses nothing.
    pub(super) async fn next(&mut self) -> Vec<DedicatedPoolInput> {
        tokio::select! {
            biased;
            Some(batch) = self.pools.recv() => pool_inputs(batch),
            Some(batch) = self.nodes.recv() => node_inputs(batch),
            Some(batch) = self.namespaces.recv() => namespace_inputs(batch),
            Some(batch) = self.pods.recv() => pod_inputs(batch),
            else => std::future::pending().await,
        }
    }
}

fn pool_inputs(batch: Vec<WatchEvent<PoolFact>>) -> Vec<DedicatedPoolInput> {
    inputs(batch, |fact| fact, |event| DedicatedPoolInput::Pools(Box::new(event)))
}

fn node_inputs(batch: Vec<WatchEvent<PoolNodeFact>>) -> Vec<DedicatedPoolInput> {
    inputs(batch, |fact| fact, DedicatedPoolInput::Nodes)
}

fn namespace_inputs(batch: Vec<WatchEvent<NamespaceObject>>) -> Vec<DedicatedPoolInput> {
    let fact = |object: NamespaceObject| {
        let NamespaceObject { uid, version, name, facts } = object;
        PoolNamespaceFact { uid, version, name, labels: facts.labels }
    };
    inputs(batch, fact, DedicatedPoolInput::Namespaces)
}

fn pod_inputs(batch: Vec<WatchEvent<PodOnNodeFact>>) -> Vec<DedicatedPoolInput> {
    inputs(batch, |fact| fact, DedicatedPoolInput::Pods)
}

fn inputs<O, F>(
    batch: Vec<WatchEvent<O>>,
    fact: impl Fn(O) -> F,
    input: impl Fn(ObjectEvent<F>) -> DedicatedPoolInput,
) -> Vec<DedicatedPoolInput> {
    let event = |event| match event {
        WatchEvent::ListStarted { .. } => Some(ObjectEvent::ListStarted),
        WatchEvent::Applied { fact: object, listed } => {
            Some(ObjectEvent::Applied { fact: fact(object), listed })
        }
        WatchEvent::Deleted { uid, .. } => Some(ObjectEvent::Deleted { uid }),
        WatchEvent::Undecodable(undecodable) => {
            let identity = undecodable.identity?;
            Some(ObjectEvent::Undecodable { uid: identity.uid?, name: identity.name.into() })
        }
        WatchEvent::ListCompleted => Some(ObjectEvent::ListCompleted),
        WatchEvent::ListAborted | WatchEvent::Bookmark => None,
    };
    batch.into_iter().filter_map(event).map(input).collect()
}
