//! # News: what the three streams tell of nodes' health, in one order
//! Room:     the queues from the streams, and which of them is heard first.
//! Comes in: batches of nodes, leases and pods.
//! Goes out: one batch at a time.
//! Keeps:    signs of life first: a lease that is waiting here is heard before anybody is called silent; within a
//!           stream, the order of the stream.
//! Not here: what the engine is told of a batch (`hear.rs`).

use taintward_client::listen::Heard;
use taintward_core::node_lifecycle::{LeaseFact, NodeHealthFact, PodReadinessFact};
use tokio::sync::mpsc;

/// News of all kinds.
pub(crate) struct News {
    pub(crate) leases: mpsc::Receiver<Vec<Heard<LeaseFact>>>,
    pub(crate) nodes: mpsc::Receiver<Vec<Heard<NodeHealthFact>>>,
    pub(crate) pods: mpsc::Receiver<Vec<Heard<PodReadinessFact>>>,
}

/// News of one kind.
#[derive(Debug)]
pub(super) enum Batch {
    Leases(Vec<Heard<LeaseFact>>),
    Nodes(Vec<Heard<NodeHealthFact>>),
    Pods(Vec<Heard<PodReadinessFact>>),
}

impl News {
    /// What is there already.
    pub(super) fn waiting(&mut self) -> Option<Batch> {
        let leases = self.leases.try_recv().map(Batch::Leases);
        let nodes = leases.or_else(|_| self.nodes.try_recv().map(Batch::Nodes));
        nodes.or_else(|_| self.pods.try_recv().map(Batch::Pods)).ok()
    }

    /// What comes next; never, when all streams have ended. Dropped, it loses nothing.
    pub(super) async fn next(&mut self) -> Batch {
        tokio::select! {
            biased;
            Some(batch) = self.leases.recv() => Batch::Leases(batch),
            Some(batch) = self.nodes.recv() => Batch::Nodes(batch),
            Some(batch) = self.pods.recv() => Batch::Pods(batch),
            else => std::future::pending().await,
        }
    }
}
