//! Defines the requests that the engine of dedicated pools asks for ([`PoolEffect`]) and their responses.

use super::fact::{PoolFact, PoolNodeFact, RecordedStatus};
use super::pool_guard::PoolGuard;
use super::reconcile::PoolPlan;
use crate::admission::pool::{AppliedMark, UnauthorizedPod};
use crate::api_error::ApiFailure;
use crate::identity::{NodeName, Uid};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Something to do. A write of a pool is for the version that it names.
#[derive(Clone, Debug)]
pub enum PoolEffect {
    /// Put our finalizer on a pool.
    AddFinalizer(Box<PoolFact>),
    /// Write a pool's status.
    UpdateStatus {
        /// The pool as it was seen.
        pool: Box<PoolFact>,
        /// What its status is to say.
        status: Box<RecordedStatus>,
        /// What it is to remember.
        marks: Vec<AppliedMark>,
    },
    /// Let a pool's status forget the marks that are on no node any more, by a live list of all nodes.
    PruneStatus(Box<PoolFact>),
    /// Take our finalizer off a pool that is being deleted, if a live list of all nodes finds nothing of it.
    RemoveFinalizer(Box<PoolFact>),
    /// Read a node and give it what [`PoolPlan::desired_edits`] then says.
    ReconcileNode {
        /// The node.
        node: NodeName,
        /// What is to be asked.
        plan: Arc<PoolPlan>,
    },
    /// Evict a pod that is on a node of this pool and not one of its own, if live reads say the same.
    EvictPod {
        /// The pool as it was seen.
        pool: Box<PoolFact>,
        /// The pod.
        pod: UnauthorizedPod,
        /// By which the pool has the node.
        plan: Arc<PoolPlan>,
    },
    /// Write the guard. A pool that it is not to contain stays in it as long as a live read finds that pool.
    WriteGuard(Box<PoolGuard>),
    /// Put [`GUARD_LABEL`](super::GUARD_LABEL) on a pool, if a live read finds the pool in the guard.
    AddGuardLabel(Box<PoolFact>),
    /// Take it off.
    RemoveGuardLabel(Box<PoolFact>),
}

/// What the API server answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolResponse {
    /// The pool afterwards; `None`: it is gone.
    Pool(Option<Box<PoolFact>>),
    /// The node afterwards.
    Node {
        /// The node.
        fact: Box<PoolNodeFact>,
        /// Something was written; otherwise nothing was to do.
        is_written: bool,
    },
    /// The eviction is accepted.
    Evicted,
    /// The guard is written; the pools that were not in it before. `None`: there is no guard.
    Guard(Option<BTreeSet<Uid>>),
}

/// Why nothing came of an effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolEffectFailure {
    /// What the next decision depends on.
    pub failure: ApiFailure,
    /// A sentence for people.
    pub message: Box<str>,
}

/// What an effect is about; there is one at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolEffectKey {
    /// A pool's finalizer, label and status.
    Pool(Uid),
    /// A node.
    Node(NodeName),
    /// A pod of others.
    Pod(Uid),
    /// The guard.
    Guard,
}

impl PoolEffect {
    /// What it is about.
    pub fn key(&self) -> PoolEffectKey {
        match self {
            Self::AddFinalizer(pool)
            | Self::UpdateStatus { pool, .. }
            | Self::PruneStatus(pool)
            | Self::AddGuardLabel(pool)
            | Self::RemoveGuardLabel(pool)
            | Self::RemoveFinalizer(pool) => PoolEffectKey::Pool(pool.uid.clone()),
            Self::ReconcileNode { node, .. } => PoolEffectKey::Node(node.clone()),
            Self::EvictPod { pod, .. } => PoolEffectKey::Pod(pod.uid.clone()),
            Self::WriteGuard(_) => PoolEffectKey::Guard,
        }
    }
}
