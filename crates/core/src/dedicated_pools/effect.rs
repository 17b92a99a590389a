//! Defines the requests of the engine of dedicated pools ([`PoolEffect`]) and their responses.

use super::fact::{PoolFact, PoolNodeFact, RecordedStatus};
use super::pool_guard::PoolGuard;
use super::reconcile::PoolPlan;
use crate::admission::pool::{AppliedMark, UnauthorizedPod};
use crate::api_error::ApiFailure;
use crate::identity::{NodeName, ResourceVersion, Uid};
use alloc::boxed::Box;
use alloc::collections::BTreeSet;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A request. A write of a pool applies only to the version that it names.
#[derive(Clone, Debug)]
pub enum PoolEffect {
    /// Adds the finalizer to a pool.
    AddFinalizer(Box<PoolFact>),
    /// Writes a pool's status.
    UpdateStatus {
        /// The pool as observed.
        pool: Box<PoolFact>,
        /// The status to write.
        status: Box<RecordedStatus>,
        /// The marks to remember.
        marks: Vec<AppliedMark>,
    },
    /// Removes from a pool's status the marks that are on no node any more, according to a live list of all nodes.
    PruneStatus(Box<PoolFact>),
    /// Removes the finalizer from a pool that is being deleted, if a live list of all nodes finds none of its marks.
    RemoveFinalizer(Box<PoolFact>),
    /// Reads a node and applies the result of [`PoolPlan::desired_edits`].
    ReconcileNode {
        /// The node.
        node: NodeName,
        /// The plan to apply.
        plan: Arc<PoolPlan>,
    },
    /// Evicts a pod that is on a node of this pool and does not belong to it, if live reads confirm that.
    EvictPod {
        /// The pool as observed.
        pool: Box<PoolFact>,
        /// The pod.
        pod: UnauthorizedPod,
        /// The plan by which the pool has the node.
        plan: Arc<PoolPlan>,
    },
    /// Writes the guard. A pool that should be removed from it stays in it as long as a live read finds that pool, unless
    /// [`PoolGuard::released`] names it and the pool has no label.
    WriteGuard(Box<PoolGuard>),
    /// Reads the version of the guard.
    ProbeGuard,
    /// Adds [`GUARD_LABEL`](super::GUARD_LABEL) to a pool, if a live read finds the pool in the guard.
    AddGuardLabel(Box<PoolFact>),
    /// Removes that label.
    RemoveGuardLabel(Box<PoolFact>),
}

/// The API server's response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PoolResponse {
    /// The pool afterwards; `None`: it is gone.
    Pool(Option<Box<PoolFact>>),
    /// The node afterwards.
    Node {
        /// The node.
        fact: Box<PoolNodeFact>,
        /// Whether anything was written; otherwise there was nothing to do.
        is_written: bool,
    },
    /// The eviction is accepted.
    Evicted,
    /// The guard was written. `None`: there is no guard.
    Guard(Option<PoolGuardWrite>),
    /// The version of the guard. `None`: there is no guard.
    GuardVersion(Option<ResourceVersion>),
}

/// A guard that was written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolGuardWrite {
    /// The pools that were not in it before.
    pub added: BTreeSet<Uid>,
    /// Its version afterwards.
    pub version: Option<ResourceVersion>,
}

/// Why an effect failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolEffectFailure {
    /// What the next decision depends on.
    pub failure: ApiFailure,
    /// A sentence for people.
    pub message: Box<str>,
}

/// The object of an effect; at most one effect of an object is in flight.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PoolEffectKey {
    /// A pool's finalizer, label and status.
    Pool(Uid),
    /// A node.
    Node(NodeName),
    /// A pod that does not belong to the pool.
    Pod(Uid),
    /// The guard.
    Guard,
    /// The version of the guard.
    GuardVersion,
}

impl PoolEffect {
    /// Returns the object of the effect.
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
            Self::ProbeGuard => PoolEffectKey::GuardVersion,
        }
    }
}
