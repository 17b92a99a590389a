//! # Work: what the engine wants done, at once
//! Room:     a shell without delays: each effect is carried out and answered before the next.
//! Comes in: the engine's effects; faults that a test has ordered.
//! Goes out: the world after it; panics if a deletion was not justified at that moment.
//! Not here: the truth, and when a pod must go (`mod.rs`).

use super::World;
use taintward_core::effect::Failure;
use taintward_core::engine::{Effect, Input, Lane, PodRef, Reading};
use taintward_core::fact::{PodFact, Standing};
use taintward_core::names::{PodName, Version};

impl World {
    pub fn work(&mut self) {
        for _ in 0..100_000 {
            self.notices.extend(self.engine.notices());
            let Some(effect) = self.engine.next(Lane::All, self.clock()) else { return };
            self.effects.push(effect.clone());
            let answer = self.carry_out(effect);
            self.engine.handle(answer, self.clock());
            self.hear();
        }
        panic!("the engine does not come to rest");
    }

    fn carry_out(&mut self, effect: Effect) -> Input {
        let fault = self.faults.pop_front().flatten();
        let sent = self.clock().mono;
        match effect {
            Effect::Confirm { node } => {
                let read = self.node_fact(node.as_str()).map_or(Reading::Absent, Reading::Is);
                Input::Confirmed { node, sent, result: fault.map_or(Ok(read), Err) }
            }
            Effect::Mark { pod, name, version, .. } => {
                let write = || self.write(&pod, &name, version, |fact| fact.marked = true);
                let result = fault.map_or_else(write, Err);
                Input::Marked { pod, result }
            }
            Effect::Unmark { pod, name } => {
                let result =
                    fault.map_or_else(|| self.write(&pod, &name, None, |fact| fact.marked = false), Err);
                Input::Unmarked { pod, result: result.map(|_| ()) }
            }
            Effect::Look { pod, name } => {
                let read =
                    self.pods.get(name.name()).map_or(Reading::Absent, |pod| Reading::Is(pod.fact.clone()));
                Input::Looked { pod, result: fault.map_or(Ok(read), Err), half_deleted: false }
            }
            Effect::Delete { pod, name, version, .. } => {
                let result = match fault {
                    Some(failure) => Err(failure),
                    None => self.delete(&pod, &name, version),
                };
                Input::Deleted { pod, result }
            }
        }
    }

    fn write(
        &mut self,
        pod: &PodRef,
        name: &PodName,
        demanded: Option<Version>,
        edit: impl FnOnce(&mut PodFact),
    ) -> Result<Option<Version>, Failure> {
        let version = Version(self.bump());
        let truth = self.pods.get_mut(name.name()).ok_or(Failure::NotFound)?;
        if truth.fact.uid != pod.uid || demanded.is_some_and(|demanded| Some(demanded) != truth.fact.version)
        {
            return Err(Failure::Conflict);
        }
        edit(&mut truth.fact);
        truth.fact.version = Some(version);
        let fact = truth.fact.clone();
        self.wire.push_back(Input::Pod { fact, listed: false });
        Ok(Some(version))
    }

    fn delete(&mut self, pod: &PodRef, name: &PodName, version: Option<Version>) -> Result<(), Failure> {
        let truth = self.pods.get(name.name()).ok_or(Failure::NotFound)?;
        if truth.fact.uid != pod.uid || version.is_some_and(|version| Some(version) != truth.fact.version) {
            return Err(Failure::Conflict);
        }
        let due = self.true_due(name.name());
        assert!(due.is_some_and(|due| due <= self.now), "{name} deleted at {}, due {due:?}", self.now);
        assert_eq!(truth.fact.standing, Standing::Live, "{name} is out of reach");
        assert!(!truth.fact.mirror, "{name} is a mirror");
        self.pods.remove(name.name());
        self.wire.push_back(Input::PodGone { pod: pod.clone() });
        self.deleted.push((name.name().into(), self.now));
        Ok(())
    }
}
