//! Defines the fields of DedicatedPools, Nodes and Namespaces that decisions about dedicated pools need.
//!
//! - See `admission/pool/pods_on_nodes.rs` for pods.

use crate::admission::pool::{AppliedMark, DedicatedPool, PoolNode, PoolStatus};
use crate::identity::{ResourceVersion, Uid};
use crate::scheduling::Labels;
use crate::time::Wall;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The finalizer of the controller: a pool stays until its nodes are given back.
pub const FINALIZER: &str = "taintward.io/pool";

/// The label of a pool that the `PoolGuard` contains: the policy that judges new pools leaves it out.
pub const GUARD_LABEL: &str = "taintward.io/pool-guard";

/// A `DedicatedPool`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolFact {
    /// Which incarnation.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`.
    pub generation: i64,
    /// `metadata.finalizers`.
    pub finalizers: Vec<Box<str>>,
    /// It has [`GUARD_LABEL`], with whatever value.
    pub has_guard_label: bool,
    /// What it says; [`DedicatedPool::applied_marks`] is from its status.
    pub pool: DedicatedPool,
    /// What its status says; `None` where nothing is written there that can be understood, so that it is written anew.
    pub recorded: Option<RecordedStatus>,
}

/// What the status of a pool says of how it is doing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecordedStatus {
    /// The generation that this is about.
    pub observed: i64,
    /// Counts and offenders.
    pub status: PoolStatus,
    /// Conditions, in their order.
    pub conditions: Vec<PoolCondition>,
}

/// A condition of a custom resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolCondition {
    /// `Ready`
    pub kind: Box<str>,
    /// `True`, `False` or `Unknown`.
    pub status: Box<str>,
    /// One word.
    pub reason: Box<str>,
    /// A sentence.
    pub message: Box<str>,
    /// Since when it has this status.
    pub since: Wall,
    /// The generation that this is about.
    pub observed: i64,
}

/// A node, as pools want it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNodeFact {
    /// Which incarnation.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// What it says.
    pub node: PoolNode,
    /// Its condition `Ready` is true.
    pub ready: bool,
}

/// A namespace, as far as pools select by it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNamespaceFact {
    /// Which incarnation.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.labels`.
    pub labels: Labels,
}

impl PoolFact {
    /// Whether our finalizer is on it.
    pub fn has_finalizer(&self) -> bool {
        self.finalizers.iter().any(|one| **one == *FINALIZER)
    }

    /// Whether its status says this and remembers these.
    pub fn has_recorded(&self, status: &RecordedStatus, marks: &[AppliedMark]) -> bool {
        self.recorded.as_ref() == Some(status) && self.pool.applied_marks == marks
    }

    /// The condition `Ready` of its status.
    pub fn ready_condition(&self) -> Option<&PoolCondition> {
        self.recorded.as_ref()?.conditions.iter().find(|one| *one.kind == *"Ready")
    }
}
