//! # Server: carrying out what the engine asks for
//! Room:     reads and writes with preconditions, faults on the way; the judge sees every commit.
//! Comes in: effects.
//! Goes out: answers, commits, watch events.
//! Not here: time and kubelets (`world.rs`).

use super::{Commit, What, World};
use taintward_core::effect::Failure;
use taintward_core::engine::{PodRef, Reading};
use taintward_core::health::{
    Condition, ConditionKind, Confirmation, Effect, Expiry, Input, NodeFact, NodeRef, OwnTaint, OwnTaints,
    Status,
};
use taintward_core::names::{NodeName, PodName, Version};
use taintward_core::taint::Taint;
use taintward_core::time::Wall;

impl World {
    pub fn work(&mut self) {
        for _ in 0..200_000 {
            let now = self.clock();
            let Some(engine) = &mut self.engine else { return };
            if self.observing {
                engine.observe(now.mono);
            }
            self.notices.extend(engine.notices().into_iter().map(|notice| (self.now, notice)));
            if !self.leading || self.observing {
                return;
            }
            let Some(effect) = engine.next(now) else {
                self.notices.extend(engine.notices().into_iter().map(|notice| (self.now, notice)));
                return;
            };
            let fault = if self.api { self.faults.pop_front().flatten() } else { Some(Failure::Unavailable) };
            let answer = self.carry_out(effect, fault);
            if let Some(engine) = &mut self.engine {
                engine.handle(answer, now);
            }
        }
        panic!("the engine does not come to rest");
    }

    fn carry_out(&mut self, effect: Effect, fault: Option<Failure>) -> Input {
        match effect {
            Effect::Confirm { node } => {
                self.reads += 1;
                let result = fault.map_or_else(|| Ok(self.read(&node)), Err);
                Input::Confirmed { node, sent: self.clock().mono, result }
            }
            Effect::Taint { node, version, add, remove, at, .. } => {
                let what = What::Taint { add, remove };
                let write = |world: &mut Self| {
                    world.commit(&node, version, what, |fact| retaint(fact, add, remove, at))
                };
                Input::Written { node: node.name.clone(), result: fault.map_or_else(|| write(self), Err) }
            }
            Effect::Declare { node, version, conditions, .. } => {
                let what = What::Declare(conditions.clone());
                let write =
                    |world: &mut Self| world.commit(&node, version, what, |fact| expire(fact, &conditions));
                Input::Written { node: node.name.clone(), result: fault.map_or_else(|| write(self), Err) }
            }
            Effect::Label { node, version, os, arch } => {
                let write = |world: &mut Self| {
                    world.commit(&node, version, What::Label, |fact| {
                        fact.platform.beta_os = os.or(fact.platform.beta_os.take());
                        fact.platform.beta_arch = arch.or(fact.platform.beta_arch.take());
                    })
                };
                Input::Written { node: node.name.clone(), result: fault.map_or_else(|| write(self), Err) }
            }
            Effect::MarkPod { pod, name } => {
                let result = fault.map_or_else(|| Ok(self.mark(&pod, &name)), Err);
                Input::PodMarked { pod, result }
            }
        }
    }

    fn read(&self, name: &NodeName) -> Confirmation {
        let stored = self.stored.get(name.as_str());
        Confirmation {
            node: stored.map_or(Reading::Absent, |it| Reading::Is(it.node.clone())),
            lease: stored.and_then(|it| it.lease.clone()).map_or(Reading::Absent, Reading::Is),
        }
    }

    fn mark(&mut self, pod: &PodRef, name: &PodName) -> bool {
        let Some((_, fact)) = self.pods.get_mut(name.name()).filter(|(_, fact)| fact.uid == pod.uid) else {
            return false;
        };
        let changed = fact.ready != Some(Status::False);
        fact.ready = Some(Status::False);
        let fact = fact.clone();
        self.commits.push(Commit {
            at: self.now,
            node: pod.node.to_string(),
            what: What::Mark(name.name().into()),
        });
        self.send(Input::Pod { fact }, 0);
        changed
    }

    fn commit(
        &mut self,
        node: &NodeRef,
        version: Option<Version>,
        what: What,
        write: impl FnOnce(&mut NodeFact),
    ) -> Result<Option<Version>, Failure> {
        let name = node.name.as_str();
        let next = self.bump();
        let stored = self.stored.get_mut(name).ok_or(Failure::NotFound)?;
        if stored.node.uid != node.uid || version.is_some_and(|version| Some(version) != stored.node.version)
        {
            return Err(Failure::Conflict);
        }
        let before = stored.node.clone();
        write(&mut stored.node);
        assert_ne!(before, stored.node, "{what:?} changes nothing");
        stored.node.version = next;
        let after = stored.node.clone();
        let all_down = self.was_all_down && self.is_all_down();
        self.judge.commit(self.now, &self.flags, (&self.kubelets[name], all_down), &before, &after);
        self.commits.push(Commit { at: self.now, node: name.into(), what });
        self.tell_node(name);
        Ok(next)
    }
}

fn retaint(fact: &mut NodeFact, add: OwnTaints, remove: OwnTaints, at: Wall) {
    fact.taints.retain(|taint| !OwnTaint::of(taint).is_some_and(|own| remove.has(own)));
    for own in add.iter() {
        let taint =
            Taint { key: own.key().into(), value: "".into(), effect: own.effect(), time_added: Some(at) };
        assert!(!fact.taints.iter().any(|other| other.is_same(&taint)), "{own} is there already");
        fact.taints.push(taint);
    }
}

fn expire(fact: &mut NodeFact, conditions: &[(ConditionKind, Expiry)]) {
    for (kind, expiry) in conditions {
        match expiry {
            Expiry::Stopped => {
                let known = fact.conditions.iter_mut().find(|it| it.kind == *kind).expect("it is there");
                known.status = Status::Unknown;
            }
            Expiry::NeverPosted => {
                fact.conditions.push(Condition {
                    kind: *kind,
                    status: Status::Unknown,
                    heartbeat: fact.created,
                });
            }
        }
    }
}
