//! # News: what the three streams tell of nodes' health, in one order
//! Room:     the queues from the streams, and which of them is heard first.
//! Comes in: batches of nodes, leases and pods.
//! Goes out: one batch at a time.
//! Keeps:    signs of life first: a lease that is waiting here is heard before anybody is called silent; within a
//!           stream, the order of the stream.
//! Not here: what the engine is told of a batch (`node_inputs.rs`).

use taintward_core::node_lifecycle::{LeaseFact, NodeHealthFact, PodReadinessFact};
use taintward_kube::watch::WatchEvent;
use tokio::sync::mpsc;

/// News of all kinds.
pub(crate) struct NodeWatchQueues {
    pub(crate) leases: mpsc::Receiver<Vec<WatchEvent<LeaseFact>>>,
    pub(crate) nodes: mpsc::Receiver<Vec<WatchEvent<NodeHealthFact>>>,
    pub(crate) pods: mpsc::Receiver<Vec<WatchEvent<PodReadinessFact>>>,
}

/// News of one kind.
#[derive(Debug)]
pub(super) enum NodeWatchBatch {
    Leases(Vec<WatchEvent<LeaseFact>>),
    Nodes(Vec<WatchEvent<NodeHealthFact>>),
    Pods(Vec<WatchEvent<PodReadinessFact>>),
}

impl NodeWatchQueues {
    /// What is there already.
    pub(super) fn waiting(&mut self) -> Option<NodeWatchBatch> {
        let leases = self.leases.try_recv().map(NodeWatchBatch::Leases);
        let nodes = leases.or_else(|_| self.nodes.try_recv().map(NodeWatchBatch::Nodes));
        nodes.or_else(|_| self.pods.try_recv().map(NodeWatchBatch::Pods)).ok()
    }

    /// What comes next; never, when all streams have ended. Dropped, it loses nothing.
    pub(super) async fn next(&mut self) -> NodeWatchBatch {
        tokio::select! {
            biased;
            Some(batch) = self.leases.recv() => NodeWatchBatch::Leases(batch),
            Some(batch) = self.nodes.recv() => NodeWatchBatch::Nodes(batch),
            Some(batch) = self.pods.recv() => NodeWatchBatch::Pods(batch),
            else => std::future::pending().await,
        }
    }
}
