//! Defines the objects that eviction policies need: the policies, budgets, workloads, namespaces.

use super::EvictionPolicy;
use crate::cluster_snapshot::DisruptionBudget;
use crate::identity::{ResourceVersion, Uid};
use crate::object_store::{IndexedObject, StoredObject};
use crate::scheduling::Labels;
use crate::status_condition::StatusCondition;
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// An `EvictionPolicy` of the API.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EvictionPolicyFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`.
    pub generation: i64,
    /// Its spec, shared because every decision about a pod holds on to it.
    pub policy: Arc<EvictionPolicy>,
    /// What its status says; empty if it cannot be understood, so that it is written again.
    pub recorded: RecordedPolicyStatus,
}

/// The parts of the status of a policy that the next status depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RecordedPolicyStatus {
    /// Pods that were deleted in spite of their budgets.
    pub forced: u64,
    /// Conditions.
    pub conditions: Vec<StatusCondition>,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BudgetFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// Its selector, limit and counts.
    pub budget: DisruptionBudget,
    /// `status.disruptionsAllowed`; `None` if the disruption controller has not counted since the budget changed.
    pub allowed: Option<u32>,
}

/// A Deployment, a ReplicaSet or a StatefulSet.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct WorkloadFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// Its identity.
    pub workload: Workload,
    /// `spec.replicas`.
    pub replicas: u32,
}

/// The kind of a [`WorkloadFact`]: each has a watch of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum ReplicatedKind {
    /// `apps` Deployment.
    Deployment,
    /// `apps` ReplicaSet that belongs to no Deployment.
    ReplicaSet,
    /// `apps` StatefulSet.
    StatefulSet,
}

impl ReplicatedKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::Deployment, Self::ReplicaSet, Self::StatefulSet];
}

/// The labels of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NamespaceLabelsFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.name`.
    pub name: Box<str>,
    /// `metadata.labels`.
    pub labels: Labels,
}

/// Implements [`StoredObject`]: the second block names the fields that decisions depend on.
macro_rules! stored {
    ($($fact:ty { $($field:ident),+ })+) => {
        $(impl StoredObject for $fact {
            fn uid(&self) -> &Uid {
                &self.uid
            }

            fn version(&self) -> Option<ResourceVersion> {
                self.version
            }

            fn is_equivalent(&self, other: &Self) -> bool {
                $(self.$field == other.$field)&&+
            }
        })+
    };
}

stored! {
    EvictionPolicyFact { policy, generation }
    BudgetFact { budget, allowed }
    WorkloadFact { workload, replicas }
    NamespaceLabelsFact { name, labels }
}

impl IndexedObject for BudgetFact {
    type Key = Box<str>;

    /// Its namespace.
    fn key(&self) -> Box<str> {
        self.budget.namespace.clone()
    }
}

impl IndexedObject for WorkloadFact {
    type Key = Workload;

    fn key(&self) -> Workload {
        self.workload.clone()
    }
}

impl IndexedObject for NamespaceLabelsFact {
    type Key = Box<str>;

    /// Its name.
    fn key(&self) -> Box<str> {
        self.name.clone()
    }
}
