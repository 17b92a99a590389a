//! Starts a process anew, and gives it the lists of everything.

use super::{Happening, World};
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionEngine, EvictionInput};
use taintward_core::eviction_policy::ReplicatedKind;
use taintward_core::fact::{PodFact, PodLifePhase};
use taintward_core::object_event::ObjectEvent;

impl World {
    /// The process crashes, and another one lists everything.
    pub(crate) fn restart(&mut self) {
        self.restarted = self.now;
        self.notices_of_crashed = self.notices.len();
        self.monitor.restarted();
        self.happenings
            .retain(|_, happening| !matches!(happening, Happening::Arrives(_) | Happening::Listed));
        // The API server carries out what is in flight, and nothing learns that.
        for happening in self.happenings.values_mut() {
            if let Happening::Carried { is_awaited, .. } = happening {
                *is_awaited = false;
            }
        }
        self.engine = EvictionEngine::new(self.config.clone());
        self.list();
    }

    /// A process that has started lists everything. The lists that only policies need may take longer.
    pub(super) fn list(&mut self) {
        let pods: Vec<PodFact> = self
            .pods
            .values()
            .map(|pod| {
                let phase = if pod.is_terminating { PodLifePhase::Terminating } else { PodLifePhase::Live };
                PodFact { life_phase: phase, ..pod.fact.clone() }
            })
            .collect();
        let policies: Vec<_> = self.policies.iter().map(|policy| self.policy_fact(policy)).collect();
        let mut inputs: Vec<EvictionInput> = Vec::new();
        if self.config.policies {
            inputs.extend(listed(policies).into_iter().map(EvictionInput::Policies));
            self.is_listing = true;
            match self.delays.list {
                0 => self.list_objects_of_policies(),
                delay => self.after(delay, Happening::Listed),
            }
        }
        inputs.extend(listed(self.nodes.values().cloned()).into_iter().map(EvictionInput::Nodes));
        inputs.extend(listed(pods).into_iter().map(EvictionInput::Pods));
        let now = self.time();
        inputs.into_iter().for_each(|input| self.engine.handle(input, now));
    }

    pub(crate) fn list_objects_of_policies(&mut self) {
        self.is_listing = false;
        let budgets: Vec<_> = self.budgets.keys().map(|name| self.budget_fact(name)).collect();
        let workloads: Vec<_> = self.replicas.keys().map(|app| self.workload_fact(app)).collect();
        let mut inputs: Vec<EvictionInput> = Vec::new();
        inputs.extend(listed([self.namespace_fact()]).into_iter().map(EvictionInput::Namespaces));
        inputs.extend(listed(budgets).into_iter().map(EvictionInput::Budgets));
        for kind in ReplicatedKind::ALL {
            let of_kind = if kind == ReplicatedKind::Deployment { workloads.clone() } else { Vec::new() };
            inputs.extend(listed(of_kind).into_iter().map(|event| EvictionInput::Workloads(kind, event)));
        }
        let now = self.time();
        inputs.into_iter().for_each(|input| self.engine.handle(input, now));
    }

    /// Whether this is an event of a watch whose list the process has not yet received.
    pub(super) fn is_too_early(&self, input: &EvictionInput) -> bool {
        self.is_listing
            && matches!(
                input,
                EvictionInput::Namespaces(_) | EvictionInput::Budgets(_) | EvictionInput::Workloads(..)
            )
    }
}

fn listed<F>(facts: impl IntoIterator<Item = F>) -> Vec<ObjectEvent<F>> {
    let mut events = vec![ObjectEvent::ListStarted { silent_since: None }];
    events.extend(facts.into_iter().map(|fact| ObjectEvent::Applied { fact, listed: true }));
    events.push(ObjectEvent::ListCompleted);
    events
}
