//! The API server of the cluster: reads, marks, deletions, and the eviction API with its budgets.

use super::{Happening, World};
use crate::eviction_policy::monitor::Monitor;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::LiveRead;
use taintward_core::eviction::{EvictionEffect, EvictionInput};
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::identity::{PodName, PodRef, ResourceVersion};
use taintward_core::time::Mono;

impl World {
    pub(super) fn carry_out(&mut self, effect: EvictionEffect, sent: Mono) -> EvictionInput {
        match effect {
            EvictionEffect::ReadNode { node } => {
                let read = self.nodes.get(node.as_str()).cloned();
                let read = read.map(|fact| NodeFact { labels: None, ..fact });
                EvictionInput::NodeConfirmed {
                    node,
                    sent,
                    result: Ok(read.map_or(LiveRead::NotFound, LiveRead::Found)),
                }
            }
            EvictionEffect::SetDisruptionTarget { pod, name, version, .. } => {
                let version_then = self.write_mark(&pod, &name, version, true);
                EvictionInput::Marked { pod, result: version_then.map(Some) }
            }
            EvictionEffect::ClearDisruptionTarget { pod, name } => {
                let result = self.write_mark(&pod, &name, None, false).map(|_| ());
                EvictionInput::Unmarked { pod, result }
            }
            EvictionEffect::ReadPod { pod, name } => {
                let read = self.pods.get(name.name()).map(|pod| {
                    let phase =
                        if pod.is_terminating { PodLifePhase::Terminating } else { PodLifePhase::Live };
                    PodFact { ready: None, template: None, life_phase: phase, ..pod.fact.clone() }
                });
                let result = Ok(read.map_or(LiveRead::NotFound, LiveRead::Found));
                EvictionInput::PodRead { pod, result, half_deleted: false }
            }
            EvictionEffect::DeletePod { pod, name, version, grace_seconds, .. } => {
                let result =
                    self.find(&pod, &name, version).map(|_| self.delete(&name, false, grace_seconds));
                EvictionInput::Deleted { pod, result }
            }
            EvictionEffect::EvictPod { pod, name, grace_seconds, .. } => {
                let result = self.evict(&pod, &name, grace_seconds);
                EvictionInput::Evicted { pod, result }
            }
        }
    }

    fn find(&self, pod: &PodRef, name: &PodName, version: Option<ResourceVersion>) -> Result<(), ApiFailure> {
        let stored = self.pods.get(name.name()).ok_or(ApiFailure::NotFound)?;
        let is_same =
            *stored.fact.id.uid() == pod.uid && version.is_none_or(|one| stored.fact.version == Some(one));
        if is_same { Ok(()) } else { Err(ApiFailure::Conflict) }
    }

    fn write_mark(
        &mut self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
        on: bool,
    ) -> Result<ResourceVersion, ApiFailure> {
        self.find(pod, name, version)?;
        let version = ResourceVersion(self.bump());
        let stored = self.pods.get_mut(name.name()).unwrap();
        (stored.fact.marked, stored.fact.version) = (on, Some(version));
        self.send_pod(name.name());
        Ok(version)
    }

    fn evict(&mut self, pod: &PodRef, name: &PodName, grace: Option<u32>) -> Result<(), ApiFailure> {
        self.find(pod, name, None)?;
        if self.unavailable.contains(name.name()) {
            return Err(ApiFailure::Unavailable);
        }
        if self.pods[name.name()].is_terminating {
            return Ok(());
        }
        let app = self.pods[name.name()].app.clone();
        let of_pod: Vec<String> = self
            .budgets
            .iter()
            .filter(|(_, budget)| budget.app == app)
            .map(|(name, _)| name.clone())
            .collect();
        match &of_pod[..] {
            [] => {}
            [only] => {
                let desired = self.budget_fact(only).budget.status.unwrap().desired;
                let is_ready = self.pods[name.name()].fact.ready == Some(true);
                let budget = self.budgets.get_mut(only).unwrap();
                // Without `unhealthyPodEvictionPolicy`, the API server lets an unhealthy pod go if enough others are healthy.
                if !is_ready && budget.healthy >= desired && desired > 0 {
                    self.delete(name, true, grace);
                    return Ok(());
                }
                if budget.allowed == 0 {
                    self.monitor.rejected(self.now);
                    return Err(ApiFailure::Budget);
                }
                budget.allowed -= 1;
                self.send_budget(&only.clone());
            }
            _ => return Err(ApiFailure::Unavailable),
        }
        self.delete(name, true, grace);
        Ok(())
    }

    /// Another process, such as a leader that does not know yet that it no longer leads, evicts a pod.
    pub(crate) fn evict_by_another_process(&mut self, pod: &str) {
        self.is_orphaned = true;
        self.delete(&PodName::new("default", pod), false, None);
    }

    fn delete(&mut self, name: &PodName, by_eviction_api: bool, grace: Option<u32>) {
        let name = name.name();
        if self.pods[name].is_terminating {
            return;
        }
        Monitor::check(self, name, by_eviction_api, grace);
        let version = self.bump();
        let stored = self.pods.get_mut(name).unwrap();
        stored.is_terminating = true;
        stored.fact.version = Some(ResourceVersion(version));
        let app = stored.app.clone();
        self.send_pod(name);
        self.count_budgets(&app);
        self.after(self.delays.termination, Happening::Gone(name.into()));
        if self.replicas.contains_key(&app) {
            let replacement = format!("{name}-again");
            self.after(self.delays.replacement, Happening::Replaced(replacement, app));
        }
    }
}
