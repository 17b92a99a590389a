//! Defines the fields of DedicatedPools, Nodes and Namespaces that decisions about dedicated pools need.
//!
//! - See `admission/pool/pods_on_nodes.rs` for pods.

use crate::admission::pool::{AppliedMark, DedicatedPool, PoolNode, PoolStatus};
use crate::identity::{ResourceVersion, Uid};
use crate::scheduling::Labels;
use crate::status_condition::StatusCondition;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The controller's finalizer: a pool stays until its nodes are released.
pub const FINALIZER: &str = "taintward.io/pool";

/// The label of a pool that the `PoolGuard` contains: the policy for new pools ignores it.
pub const GUARD_LABEL: &str = "taintward.io/pool-guard";

/// A `DedicatedPool`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.finalizers`.
    pub finalizers: Vec<Box<str>>,
    /// It has [`GUARD_LABEL`], with whatever value.
    pub has_guard_label: bool,
    /// Its spec; [`DedicatedPool::applied_marks`] is from its status.
    pub pool: DedicatedPool,
    /// Its status; `None` if it cannot be understood, so that it is written again.
    pub recorded: Option<RecordedStatus>,
}

/// What the status of a pool reports.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedStatus {
    /// The generation that it is about.
    pub observed: i64,
    /// Counts and unauthorized pods.
    pub status: PoolStatus,
    /// Conditions, in their order.
    pub conditions: Vec<StatusCondition>,
}

/// The fields of a node that pools need.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNodeFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// Its labels, taints and record.
    pub node: PoolNode,
    /// Its condition `Ready` is true.
    pub ready: bool,
}

/// The fields of a namespace that pools select by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNamespaceFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.labels`.
    pub labels: Labels,
}

impl PoolFact {
    /// Whether it has the finalizer.
    pub fn has_finalizer(&self) -> bool {
        self.finalizers.iter().any(|one| **one == *FINALIZER)
    }

    /// Whether its status has this content and remembers these marks.
    pub fn has_recorded(&self, status: &RecordedStatus, marks: &[AppliedMark]) -> bool {
        self.recorded.as_ref() == Some(status) && self.pool.applied_marks == marks
    }

    /// The condition `Ready` of its status.
    pub fn ready_condition(&self) -> Option<&StatusCondition> {
        self.recorded.as_ref()?.conditions.iter().find(|one| *one.kind == *"Ready")
    }
}
