//! Defines the objects that eviction policies need: the policies, budgets, workloads, namespaces, and pods.

use super::EvictionPolicy;
use crate::cluster_snapshot::{DisruptionBudget, Workload};
use crate::identity::{ResourceVersion, Uid};
use crate::object_store::StoredObject;
use crate::scheduling::Labels;
use alloc::boxed::Box;

/// What the pods of a template have in common, as far as policies need it; empty while no policy can apply.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodTemplateFact {
    /// `metadata.labels`.
    pub labels: Labels,
    /// The workload that the pod belongs to.
    pub workload: Option<Workload>,
    /// `spec.terminationGracePeriodSeconds`.
    pub grace_seconds: Option<i64>,
}

/// An `EvictionPolicy` of the API.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EvictionPolicyFact {
    /// `metadata.uid`.
    pub uid: Uid,
    /// `metadata.resourceVersion`.
    pub version: Option<ResourceVersion>,
    /// `metadata.generation`.
    pub generation: i64,
    /// Its spec.
    pub policy: EvictionPolicy,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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

/// The labels of a namespace.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
