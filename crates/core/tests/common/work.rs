//! Carries out each effect immediately, with the faults that a test has ordered.
//!
//! - Panics if a deletion was not justified at that moment.

use super::EvictionHarness;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionEffect, EvictionInput};
use taintward_core::fact::{PodFact, PodLifePhase};
use taintward_core::identity::PodRef;
use taintward_core::identity::{PodName, ResourceVersion};
use taintward_core::object_event::ObjectEvent;

impl EvictionHarness {
    pub fn work(&mut self) {
        for _ in 0..100_000 {
            self.notices.extend(self.engine.take_notices());
            let Some(effect) = self.engine.next_effect(Lane::All, self.clock()) else { return };
            self.effects.push(effect.clone());
            let response = self.carry_out(effect);
            self.engine.handle(response, self.clock());
            self.receive();
        }
        panic!("the engine does not come to rest");
    }

    fn carry_out(&mut self, effect: EvictionEffect) -> EvictionInput {
        let fault = self.faults.pop_front().flatten();
        let sent = self.clock().mono;
        match effect {
            EvictionEffect::ReadNode { node } => {
                let read = self.node_fact(node.as_str()).map_or(LiveRead::NotFound, LiveRead::Found);
                EvictionInput::NodeConfirmed { node, sent, result: fault.map_or(Ok(read), Err) }
            }
            EvictionEffect::SetDisruptionTarget { pod, name, version, .. } => {
                let write = || self.write(&pod, &name, version, |fact| fact.marked = true);
                let result = fault.map_or_else(write, Err);
                EvictionInput::Marked { pod, result }
            }
            EvictionEffect::ClearDisruptionTarget { pod, name } => {
                let result =
                    fault.map_or_else(|| self.write(&pod, &name, None, |fact| fact.marked = false), Err);
                EvictionInput::Unmarked { pod, result: result.map(|_| ()) }
            }
            EvictionEffect::EvictPod { .. } => unreachable!("there is no policy"),
            EvictionEffect::ReadPod { pod, name } => {
                let read = self
                    .pods
                    .get(name.name())
                    .map_or(LiveRead::NotFound, |pod| LiveRead::Found(pod.fact.clone()));
                EvictionInput::PodRead { pod, result: fault.map_or(Ok(read), Err), half_deleted: false }
            }
            EvictionEffect::DeletePod { pod, name, version, .. } => {
                let result = match fault {
                    Some(failure) => Err(failure),
                    None => self.delete(&pod, &name, version),
                };
                EvictionInput::Deleted { pod, result }
            }
        }
    }

    fn write(
        &mut self,
        pod: &PodRef,
        name: &PodName,
        demanded: Option<ResourceVersion>,
        edit: impl FnOnce(&mut PodFact),
    ) -> Result<Option<ResourceVersion>, ApiFailure> {
        let version = ResourceVersion(self.bump());
        let truth = self.pods.get_mut(name.name()).ok_or(ApiFailure::NotFound)?;
        if *truth.fact.id.uid() != pod.uid
            || demanded.is_some_and(|demanded| Some(demanded) != truth.fact.version)
        {
            return Err(ApiFailure::Conflict);
        }
        edit(&mut truth.fact);
        truth.fact.version = Some(version);
        let fact = truth.fact.clone();
        self.wire.push_back(EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
        Ok(Some(version))
    }

    fn delete(
        &mut self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
    ) -> Result<(), ApiFailure> {
        let truth = self.pods.get(name.name()).ok_or(ApiFailure::NotFound)?;
        if *truth.fact.id.uid() != pod.uid
            || version.is_some_and(|version| Some(version) != truth.fact.version)
        {
            return Err(ApiFailure::Conflict);
        }
        let due = self.true_due(name.name());
        assert!(due.is_some_and(|due| due <= self.now), "{name} deleted at {}, due {due:?}", self.now);
        assert_eq!(truth.fact.life_phase, PodLifePhase::Live, "{name} is out of reach");
        assert!(!truth.fact.mirror, "{name} is a mirror");
        self.pods.remove(name.name());
        self.wire.push_back(EvictionInput::Pods(ObjectEvent::Deleted(pod.clone().into())));
        self.deleted.push((name.name().into(), self.now));
        Ok(())
    }
}
