//! Carries out the effects of node lifecycle in the simulated API server, with faults.

use super::{LifecycleCommit, NodeLifecycleHarness, What};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::identity::PodRef;
use taintward_core::identity::{NodeName, PodName, ResourceVersion};
use taintward_core::node_lifecycle::{
    ConditionExpiry, ConditionKind, ConditionStatus, LiveNodeAndLease, ManagedTaint, ManagedTaints,
    NodeCondition, NodeHealthFact, NodeLifecycleEffect, NodeLifecycleInput, NodeRef,
};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::taint;
use taintward_core::time::Wall;

impl NodeLifecycleHarness {
    pub fn work(&mut self) {
        for _ in 0..200_000 {
            let now = self.clock();
            let Some(engine) = &mut self.engine else { return };
            if self.observing {
                engine.handle(NodeLifecycleInput::DryRun, now);
            }
            self.notices.extend(engine.take_notices().into_iter().map(|notice| (self.now, notice)));
            if !self.leading || self.observing {
                return;
            }
            let Some(effect) = engine.next_effect(Lane::All, now) else {
                self.notices.extend(engine.take_notices().into_iter().map(|notice| (self.now, notice)));
                return;
            };
            let fault =
                if self.api { self.faults.pop_front().flatten() } else { Some(ApiFailure::Unavailable) };
            let response = self.carry_out(effect, fault);
            if let Some(engine) = &mut self.engine {
                engine.handle(response, now);
            }
        }
        panic!("the engine does not come to rest");
    }

    fn carry_out(&mut self, effect: NodeLifecycleEffect, fault: Option<ApiFailure>) -> NodeLifecycleInput {
        match effect {
            NodeLifecycleEffect::ReadNode { node } => {
                self.reads += 1;
                let result = fault.map_or_else(|| Ok(self.read(&node)), Err);
                NodeLifecycleInput::Confirmed { node, sent: self.clock().mono, result }
            }
            NodeLifecycleEffect::PatchTaints { node, version, add, remove, at, .. } => {
                let what = What::Taint { add, remove };
                let write = |harness: &mut Self| {
                    harness.commit(&node, version, what, |fact| retaint(fact, add, remove, at))
                };
                NodeLifecycleInput::Written {
                    node: node.name.clone(),
                    result: fault.map_or_else(|| write(self), Err),
                }
            }
            NodeLifecycleEffect::SetConditionsUnknown { node, version, conditions, .. } => {
                let what = What::Declare(conditions.clone());
                let write = |harness: &mut Self| {
                    harness.commit(&node, version, what, |fact| expire(fact, &conditions))
                };
                NodeLifecycleInput::Written {
                    node: node.name.clone(),
                    result: fault.map_or_else(|| write(self), Err),
                }
            }
            NodeLifecycleEffect::PatchLabels { node, version, os, arch } => {
                let write = |harness: &mut Self| {
                    harness.commit(&node, version, What::Label, |fact| {
                        fact.platform.beta_os = os.or(fact.platform.beta_os.take());
                        fact.platform.beta_arch = arch.or(fact.platform.beta_arch.take());
                    })
                };
                NodeLifecycleInput::Written {
                    node: node.name.clone(),
                    result: fault.map_or_else(|| write(self), Err),
                }
            }
            NodeLifecycleEffect::SetPodNotReady { pod, name } => {
                let result = fault.map_or_else(|| Ok(self.mark(&pod, &name)), Err);
                NodeLifecycleInput::PodMarked { pod, result }
            }
        }
    }

    fn read(&self, name: &NodeName) -> LiveNodeAndLease {
        let stored = self.stored.get(name.as_str());
        LiveNodeAndLease {
            node: stored.map_or(LiveRead::NotFound, |it| LiveRead::Found(it.node.clone())),
            lease: stored.and_then(|it| it.lease.clone()).map_or(LiveRead::NotFound, LiveRead::Found),
        }
    }

    fn mark(&mut self, pod: &PodRef, name: &PodName) -> bool {
        let Some((_, fact)) = self.pods.get_mut(name.name()).filter(|(_, fact)| *fact.id.uid() == pod.uid)
        else {
            return false;
        };
        let changed = fact.ready != Some(ConditionStatus::False);
        fact.ready = Some(ConditionStatus::False);
        let fact = fact.clone();
        self.commits.push(LifecycleCommit {
            at: self.now,
            node: pod.node.to_string(),
            what: What::Mark(name.name().into()),
        });
        self.send(NodeLifecycleInput::Pods(ObjectEvent::Applied { fact, listed: false }), 0);
        changed
    }

    fn commit(
        &mut self,
        node: &NodeRef,
        version: Option<ResourceVersion>,
        what: What,
        write: impl FnOnce(&mut NodeHealthFact),
    ) -> Result<Option<ResourceVersion>, ApiFailure> {
        let name = node.name.as_str();
        let next = self.bump();
        let stored = self.stored.get_mut(name).ok_or(ApiFailure::NotFound)?;
        if stored.node.uid != node.uid || version.is_some_and(|version| Some(version) != stored.node.version)
        {
            return Err(ApiFailure::Conflict);
        }
        let before = stored.node.clone();
        write(&mut stored.node);
        assert_ne!(before, stored.node, "{what:?} changes nothing");
        stored.node.version = next;
        let after = stored.node.clone();
        let all_down = self.was_all_down && self.is_all_down();
        self.invariants.commit(self.now, &self.flags, (&self.kubelets[name], all_down), &before, &after);
        self.commits.push(LifecycleCommit { at: self.now, node: name.into(), what });
        self.send_node(name);
        Ok(next)
    }
}

fn retaint(fact: &mut NodeHealthFact, add: ManagedTaints, remove: ManagedTaints, at: Wall) {
    fact.taints.retain(|taint| !ManagedTaint::of(taint).is_some_and(|own| remove.has(own)));
    for own in add.iter() {
        let taint = taint(&own.to_string()).added(at);
        assert!(!fact.taints.iter().any(|other| other.is_same(&taint)), "{own} is there already");
        fact.taints.push(taint);
    }
}

fn expire(fact: &mut NodeHealthFact, conditions: &[(ConditionKind, ConditionExpiry)]) {
    for (kind, expiry) in conditions {
        match expiry {
            ConditionExpiry::Stopped => {
                let known =
                    fact.conditions.iter_mut().find(|it| it.kind == *kind).expect("the condition exists");
                known.status = ConditionStatus::Unknown;
            }
            ConditionExpiry::NeverPosted => {
                fact.conditions.push(NodeCondition {
                    kind: *kind,
                    status: ConditionStatus::Unknown,
                    heartbeat: fact.created,
                });
            }
        }
    }
}
