//! # News: what the four streams tell of dedicated pools
//! Room:     the queues from the streams, and which of them is heard first.
//! Comes in: batches of pools, nodes, namespaces and pods.
//! Goes out: one batch at a time.
//! Keeps:    what pools want before the nodes they want it of; within a stream, the order of the stream.
//! Not here: what becomes of a batch (`world.rs`).

use super::retries::Key;
use taintward_client::decode::{SeenMember, SeenNamespace, SeenPool};
use taintward_client::listen::Heard;
use taintward_core::admission::pool::PodOnNodeFact;
use taintward_core::identity::NodeName;
use tokio::sync::mpsc;

/// News of all kinds.
pub(crate) struct News {
    pub(crate) pools: mpsc::Receiver<Vec<Heard<SeenPool>>>,
    pub(crate) nodes: mpsc::Receiver<Vec<Heard<SeenMember>>>,
    pub(crate) namespaces: mpsc::Receiver<Vec<Heard<SeenNamespace>>>,
    pub(crate) pods: mpsc::Receiver<Vec<Heard<PodOnNodeFact>>>,
}

/// News of one kind.
#[derive(Debug)]
pub(super) enum Batch {
    Pools(Vec<Heard<SeenPool>>),
    Nodes(Vec<Heard<SeenMember>>),
    Namespaces(Vec<Heard<SeenNamespace>>),
    Pods(Vec<Heard<PodOnNodeFact>>),
}

impl Batch {
    /// The pools and nodes that there is news of.
    pub(super) fn keys(&self) -> Vec<Key> {
        match self {
            Self::Pools(batch) => facts(batch).map(|seen| Key::Pool(seen.uid.clone())).collect(),
            Self::Nodes(batch) => {
                facts(batch).map(|seen| Key::Node(NodeName::new(&seen.node.name))).collect()
            }
            Self::Namespaces(_) | Self::Pods(_) => Vec::new(),
        }
    }
}

impl News {
    /// What is there already.
    pub(super) fn waiting(&mut self) -> Option<Batch> {
        let pools = self.pools.try_recv().map(Batch::Pools);
        let nodes = pools.or_else(|_| self.nodes.try_recv().map(Batch::Nodes));
        let namespaces = nodes.or_else(|_| self.namespaces.try_recv().map(Batch::Namespaces));
        namespaces.or_else(|_| self.pods.try_recv().map(Batch::Pods)).ok()
    }

    /// What comes next; never, when all streams have ended. Dropped, it loses nothing.
    pub(super) async fn next(&mut self) -> Batch {
        tokio::select! {
            biased;
            Some(batch) = self.pools.recv() => Batch::Pools(batch),
            Some(batch) = self.nodes.recv() => Batch::Nodes(batch),
            Some(batch) = self.namespaces.recv() => Batch::Namespaces(batch),
            Some(batch) = self.pods.recv() => Batch::Pods(batch),
            else => std::future::pending().await,
        }
    }
}

fn facts<F>(batch: &[Heard<F>]) -> impl Iterator<Item = &F> {
    batch.iter().filter_map(|heard| match heard {
        Heard::Seen { fact, .. } => Some(fact),
        _ => None,
    })
}
