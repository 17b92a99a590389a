//! Connects the engine with the watches that eviction policies need, and starts those when the first policy needs them.

use crate::watch_queues::{WatchQueues, WatchReceiver};
use taintward_core::eviction::{EvictionEngine, EvictionInput};
use taintward_core::eviction_policy::{BudgetFact, EvictionPolicyFact, NamespaceLabelsFact, ReplicatedKind};
use taintward_kube::decode::{DeploymentObject, ReplicaSetObject, StatefulSetObject};
use taintward_kube::watch::StreamHealth;
use tokio::sync::watch;

/// The watches of policies, and of what policies need.
pub(crate) struct PolicyWatches {
    pub(crate) policies: WatchReceiver<EvictionPolicyFact>,
    pub(crate) namespaces: WatchReceiver<NamespaceLabelsFact>,
    pub(crate) budgets: WatchReceiver<BudgetFact>,
    pub(crate) deployments: WatchReceiver<DeploymentObject>,
    pub(crate) replica_sets: WatchReceiver<ReplicaSetObject>,
    pub(crate) stateful_sets: WatchReceiver<StatefulSetObject>,
}

impl PolicyWatches {
    /// Adds them behind the queues of nodes and pods.
    pub(crate) fn add_to(self, queues: WatchQueues<EvictionInput>) -> WatchQueues<EvictionInput> {
        queues
            .with(self.policies, EvictionInput::Policies)
            .with(self.namespaces, EvictionInput::Namespaces)
            .with(self.budgets, EvictionInput::Budgets)
            .with(self.deployments, |event| {
                EvictionInput::Workloads(ReplicatedKind::Deployment, event.map(|object| object.0))
            })
            .with(self.replica_sets, |event| {
                EvictionInput::Workloads(ReplicatedKind::ReplicaSet, event.map(|object| object.0))
            })
            .with(self.stateful_sets, |event| {
                EvictionInput::Workloads(ReplicatedKind::StatefulSet, event.map(|object| object.0))
            })
    }
}

/// Whether policies need budgets and workloads.
#[derive(Default)]
pub(crate) struct PolicyDemand {
    budgets: watch::Sender<bool>,
    workloads: watch::Sender<bool>,
}

impl PolicyDemand {
    /// Whether disruption budgets have to be watched.
    pub(crate) fn budgets(&self) -> watch::Receiver<bool> {
        self.budgets.subscribe()
    }

    /// Whether workloads have to be watched.
    pub(crate) fn workloads(&self) -> watch::Receiver<bool> {
        self.workloads.subscribe()
    }
}

/// What the controller knows of policies beyond the engine.
pub(crate) struct PolicyFollower {
    /// The health of the watch of policies.
    definition: watch::Receiver<StreamHealth>,
    demand: PolicyDemand,
}

impl PolicyFollower {
    pub(crate) const fn new(definition: watch::Receiver<StreamHealth>, demand: PolicyDemand) -> Self {
        Self { definition, demand }
    }

    /// Whether the cluster has no such kind.
    pub(super) fn input(&self) -> EvictionInput {
        EvictionInput::PolicyDefinitionAbsent(self.definition.borrow().absent)
    }

    /// Starts the watches that policies need, and ends the others.
    pub(super) fn share(&self, engine: &EvictionEngine) {
        let set = |demand: &watch::Sender<bool>, on: bool| {
            demand.send_if_modified(|before| std::mem::replace(before, on) != on)
        };
        set(&self.demand.budgets, engine.needs_budgets());
        set(&self.demand.workloads, engine.needs_workloads());
    }
}
