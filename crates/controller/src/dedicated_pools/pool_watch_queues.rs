//! # News: what the four streams tell of dedicated pools
//! Room:     the queues from the streams, and which of them is heard first.
//! Comes in: batches of pools, nodes, namespaces and pods.
//! Goes out: one batch at a time.
//! Keeps:    what pools want before the nodes they want it of; within a stream, the order of the stream.
//! Not here: what becomes of a batch (`pool_cache.rs`).

use super::backoff::RetryKey;
use taintward_core::admission::pool::PodOnNodeFact;
use taintward_core::identity::NodeName;
use taintward_kube::decode::{NamespaceObject, PoolNodeObject, PoolObject};
use taintward_kube::watch::WatchEvent;
use tokio::sync::mpsc;

/// News of all kinds.
pub(crate) struct PoolWatchQueues {
    pub(crate) pools: mpsc::Receiver<Vec<WatchEvent<PoolObject>>>,
    pub(crate) nodes: mpsc::Receiver<Vec<WatchEvent<PoolNodeObject>>>,
    pub(crate) namespaces: mpsc::Receiver<Vec<WatchEvent<NamespaceObject>>>,
    pub(crate) pods: mpsc::Receiver<Vec<WatchEvent<PodOnNodeFact>>>,
}

/// News of one kind.
#[derive(Debug)]
pub(super) enum PoolWatchBatch {
    Pools(Vec<WatchEvent<PoolObject>>),
    Nodes(Vec<WatchEvent<PoolNodeObject>>),
    Namespaces(Vec<WatchEvent<NamespaceObject>>),
    Pods(Vec<WatchEvent<PodOnNodeFact>>),
}

impl PoolWatchBatch {
    /// The pools and nodes that there is news of.
    pub(super) fn keys(&self) -> Vec<RetryKey> {
        match self {
            Self::Pools(batch) => facts(batch).map(|seen| RetryKey::Pool(seen.uid.clone())).collect(),
            Self::Nodes(batch) => {
                facts(batch).map(|seen| RetryKey::Node(NodeName::new(&seen.node.name))).collect()
            }
            Self::Namespaces(_) | Self::Pods(_) => Vec::new(),
        }
    }
}

impl PoolWatchQueues {
    /// What is there already.
    pub(super) fn waiting(&mut self) -> Option<PoolWatchBatch> {
        let pools = self.pools.try_recv().map(PoolWatchBatch::Pools);
        let nodes = pools.or_else(|_| self.nodes.try_recv().map(PoolWatchBatch::Nodes));
        let namespaces = nodes.or_else(|_| self.namespaces.try_recv().map(PoolWatchBatch::Namespaces));
        namespaces.or_else(|_| self.pods.try_recv().map(PoolWatchBatch::Pods)).ok()
    }

    /// What comes next; never, when all streams have ended. Dropped, it loses nothing.
    pub(super) async fn next(&mut self) -> PoolWatchBatch {
        tokio::select! {
            biased;
            Some(batch) = self.pools.recv() => PoolWatchBatch::Pools(batch),
            Some(batch) = self.nodes.recv() => PoolWatchBatch::Nodes(batch),
            Some(batch) = self.namespaces.recv() => PoolWatchBatch::Namespaces(batch),
            Some(batch) = self.pods.recv() => PoolWatchBatch::Pods(batch),
            else => std::future::pending().await,
        }
    }
}

fn facts<F>(batch: &[WatchEvent<F>]) -> impl Iterator<Item = &F> {
    batch.iter().filter_map(|heard| match heard {
        WatchEvent::Applied { fact, .. } => Some(fact),
        _ => None,
    })
}
