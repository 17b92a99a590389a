//! Checks an eviction engine from outside: whether the requests that it returns are right, by the inputs that it got.
//!
//! - Invariant: independent of the engine. It keeps its own facts, and shares only the matching of tolerations with it.
//! - Invariant: what it does not know is no violation: a record may begin in the middle.
//! - See `docs/invariants.md` for the properties.

mod monitored_marks;
mod monitored_node;
mod monitored_pod;
#[cfg(test)]
mod tests;

pub(crate) use monitored_pod::{NamesHash, TolerationLists, UidHash};

use crate::api_error::ApiFailure;
use crate::engine::{Engine as _, LiveRead};
use crate::engine_monitor::{EngineMonitor, RequestProperty, RequestViolation};
use crate::eviction::{EvictionEffect, EvictionEngine, EvictionInput};
use crate::fact::{NodeFact, PodFact, PodLifePhase};
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion, Uid};
use crate::object_event::{ObjectEvent, ObjectRef};
use crate::time::{Mono, Now, Span};
use crate::toleration_matching::NumericOperators;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use monitored_marks::MonitoredMarks;
use monitored_node::MonitoredNode;
use monitored_pod::MonitoredPod;

/// How old the read of a node may be when a deletion is decided (S2): the hard limit.
const CONFIRMED_AGE_MAX: Span = Span::from_secs(5);

/// The monitor of one engine.
#[derive(Clone, Debug, Default)]
pub struct EvictionMonitor {
    numeric: NumericOperators,
    /// It has seen all inputs of the engine.
    knows_all: bool,
    nodes: BTreeMap<NodeName, MonitoredNode>,
    pods: BTreeMap<UidHash, MonitoredPod>,
    tolerations: TolerationLists,
    marks: MonitoredMarks,
    /// Whether a list was complete once, of nodes and of pods.
    has_nodes: bool,
    has_pods: bool,
}

impl EvictionMonitor {
    /// The monitor of an engine that has got no input yet.
    pub fn of_new_engine(numeric: NumericOperators) -> Self {
        Self { numeric, knows_all: true, ..Self::default() }
    }

    /// The monitor of an engine that has got inputs before: it checks what it learns of from now on.
    pub fn of_running_engine(numeric: NumericOperators) -> Self {
        Self { numeric, ..Self::default() }
    }

    fn check(
        &self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
        confirmed: Option<Mono>,
        now: Now,
    ) -> Result<(), (RequestProperty, String)> {
        if self.knows_all && !(self.has_nodes && self.has_pods) {
            return Err((RequestProperty::Confirmed, "the first lists are not complete".into()));
        }
        let known = match self.pods.get(&UidHash::of(&pod.uid)) {
            Some(known) => known,
            None if self.knows_all => {
                return Err((RequestProperty::RightPod, "no event has shown such a pod".into()));
            }
            None => return Ok(()),
        };
        known.check_identity(pod, name, version)?;
        if known.is_half_deleted() {
            return Ok(());
        }
        known.check_phase()?;
        let Some(node) = self.nodes.get(&pod.node) else { return Ok(()) };
        if !node.is_decodable() {
            return Err((RequestProperty::Decoded, "its node cannot be decoded".into()));
        }
        let taints = match confirmed {
            None => node.all(),
            Some(sent) => {
                let age = now.mono.since(sent);
                if age > CONFIRMED_AGE_MAX {
                    let reason = format!("its node was read {} ms before", age.as_micros() / 1_000);
                    return Err((RequestProperty::Confirmed, reason));
                }
                node.confirmed(sent).ok_or_else(|| {
                    (RequestProperty::Confirmed, "its node was not read, or the read found none".into())
                })?
            }
        };
        match taints.iter().any(|(taint, start)| known.may_leave(taint, *start, self.numeric, now.mono)) {
            true => Ok(()),
            false => Err((RequestProperty::NotEarly, "no NoExecute taint of its node evicts it yet".into())),
        }
    }

    fn node_event(&mut self, event: &ObjectEvent<NodeFact>, now: Now) {
        match event {
            ObjectEvent::ListStarted { .. } => {
                self.nodes.values_mut().for_each(MonitoredNode::begin_list);
            }
            ObjectEvent::Applied { fact, listed } => {
                let seen = (*listed, self.knows_all);
                self.nodes.entry(fact.name.clone()).or_default().apply(fact, seen, now);
            }
            ObjectEvent::Undecodable(object) => {
                self.nodes.entry(object.node_name()).or_default().fail_to_decode();
            }
            ObjectEvent::Deleted(object) => self.delete_node(object),
            ObjectEvent::ListCompleted => {
                self.has_nodes = true;
                self.nodes.retain(|_, node| node.was_listed());
            }
            // The next list begins anew.
            ObjectEvent::ListAborted => {}
        }
    }

    fn delete_node(&mut self, object: &ObjectRef) {
        let name = object.node_name();
        if self.nodes.get_mut(&name).is_some_and(|node| node.delete(object.uid.as_ref())) {
            self.nodes.remove(&name);
        }
    }

    fn pod_event(&mut self, event: &ObjectEvent<PodFact>) {
        match event {
            ObjectEvent::ListStarted { .. } => {
                self.pods.values_mut().for_each(MonitoredPod::begin_list);
            }
            ObjectEvent::Applied { fact, listed } => self.pod_applied(fact, *listed),
            ObjectEvent::Undecodable(object) => {
                if let Some(known) = object.uid.as_ref().and_then(|uid| self.pods.get_mut(&UidHash::of(uid)))
                {
                    known.fail_to_decode();
                }
            }
            ObjectEvent::Deleted(object) => {
                object.uid.iter().for_each(|uid| self.remove_pod(uid));
            }
            ObjectEvent::ListCompleted => {
                self.has_pods = true;
                let lists = &mut self.tolerations;
                for (uid, pod) in self.pods.extract_if(.., |_, pod| !pod.was_listed()) {
                    self.marks.end(uid);
                    pod.forget(lists);
                }
            }
            ObjectEvent::ListAborted => {}
        }
    }

    fn remove_pod(&mut self, uid: &Uid) {
        self.marks.end(UidHash::of(uid));
        if let Some(pod) = self.pods.remove(&UidHash::of(uid)) {
            pod.forget(&mut self.tolerations);
        }
    }

    fn pod_applied(&mut self, fact: &PodFact, is_read: bool) {
        let (pod, lists) = (UidHash::of(fact.id.uid()), &mut self.tolerations);
        let known = self.pods.entry(pod).or_insert_with(|| MonitoredPod::new(fact, lists));
        known.apply(fact, is_read, &mut self.tolerations);
        if !fact.marked || fact.life_phase != PodLifePhase::Live {
            self.marks.end(pod);
        }
    }

    /// A live read of a pod has a result: the pod itself, or nothing with its UID.
    fn pod_read(&mut self, pod: &PodRef, read: &LiveRead<PodFact>, is_half_deleted: bool) {
        match read {
            LiveRead::Found(fact) if *fact.id.uid() == pod.uid => {
                self.pod_applied(fact, true);
                if let Some(known) = self.pods.get_mut(&UidHash::of(&pod.uid)) {
                    known.set_half_deleted(is_half_deleted);
                }
            }
            LiveRead::Found(successor) => {
                self.remove_pod(&pod.uid);
                self.pod_applied(successor, true);
            }
            LiveRead::Undecodable => {
                if let Some(known) = self.pods.get_mut(&UidHash::of(&pod.uid)) {
                    known.fail_to_decode();
                    known.set_half_deleted(is_half_deleted);
                }
            }
            LiveRead::NotFound => self.remove_pod(&pod.uid),
        }
    }
}

impl EngineMonitor for EvictionMonitor {
    type Engine = EvictionEngine;

    fn of(engine: &EvictionEngine) -> Self {
        let is_new = !engine.is_synced() && engine.stats().nodes == 0 && engine.stats().pods == 0;
        match is_new {
            true => Self::of_new_engine(engine.numeric()),
            false => Self::of_running_engine(engine.numeric()),
        }
    }

    fn input(&mut self, input: &EvictionInput, now: Now) {
        match input {
            EvictionInput::Nodes(event) => self.node_event(event, now),
            EvictionInput::Pods(event) => self.pod_event(event),
            EvictionInput::NodeConfirmed { node, sent, result: Ok(LiveRead::Found(fact)) } => {
                let first = self.knows_all.then_some(now);
                self.nodes.entry(node.clone()).or_default().confirm(fact, *sent, first);
            }
            EvictionInput::NodeConfirmed { node, result: Ok(LiveRead::Undecodable), .. } => {
                self.nodes.get_mut(node).into_iter().for_each(MonitoredNode::fail_to_decode);
            }
            EvictionInput::NodeConfirmed { result: Err(_), .. } => self.marks.fail(now.mono),
            EvictionInput::Marked { pod, result: Ok(version) } => {
                self.marks.set(pod, now.mono);
                let Some(version) = version else { return };
                if let Some(known) = self.pods.get_mut(&UidHash::of(&pod.uid)) {
                    known.learn(*version);
                }
            }
            EvictionInput::Unmarked { pod, result: Ok(()) } => {
                self.marks.end(UidHash::of(&pod.uid));
                if let Some(known) = self.pods.get_mut(&UidHash::of(&pod.uid)) {
                    known.forget_versions();
                }
            }
            EvictionInput::Deleted { pod, result: Ok(()) }
            | EvictionInput::Evicted { pod, result: Ok(()) } => {
                self.marks.end(UidHash::of(&pod.uid));
                if let Some(known) = self.pods.get_mut(&UidHash::of(&pod.uid)) {
                    known.accept_deletion();
                }
            }
            EvictionInput::PodRead { pod, result: Ok(read), half_deleted } => {
                self.marks.respond(pod, false, now.mono);
                self.pod_read(pod, read, *half_deleted);
            }
            // The pod is gone, though the watch may not have delivered it yet.
            EvictionInput::PodRead { pod, result: Err(ApiFailure::NotFound), .. } => {
                self.remove_pod(&pod.uid)
            }
            EvictionInput::Marked { pod, result: Err(_) }
            | EvictionInput::Unmarked { pod, result: Err(_) }
            | EvictionInput::Deleted { pod, result: Err(_) }
            | EvictionInput::Evicted { pod, result: Err(_) }
            | EvictionInput::PodRead { pod, result: Err(_), .. } => self.marks.respond(pod, true, now.mono),
            _ => {}
        }
    }

    fn effect(&mut self, effect: &EvictionEffect, now: Now) -> Result<(), RequestViolation> {
        let (pod, name, version, confirmed) = match effect {
            EvictionEffect::DeletePod { pod, name, version, confirmed, .. } => {
                (pod, name, *version, Some(*confirmed))
            }
            EvictionEffect::EvictPod { pod, name, confirmed, .. } => (pod, name, None, Some(*confirmed)),
            EvictionEffect::SetDisruptionTarget { pod, name, version, .. } => (pod, name, *version, None),
            EvictionEffect::ReadPod { pod, .. } | EvictionEffect::ClearDisruptionTarget { pod, .. } => {
                self.marks.touch(pod, now.mono);
                return Ok(());
            }
            EvictionEffect::ReadNode { .. } => return Ok(()),
        };
        match effect {
            EvictionEffect::SetDisruptionTarget { .. } => self.marks.request(pod, name, now.mono),
            _ => self.marks.touch(pod, now.mono),
        }
        let checked = self.check(pod, name, version, confirmed, now);
        checked.map_err(|(property, reason)| RequestViolation {
            property,
            at: now,
            node: pod.node.clone(),
            pod: Some((name.clone(), pod.uid.clone())),
            reason,
        })
    }

    fn idle(&mut self, now: Now) -> Result<(), RequestViolation> {
        let Some((pod, name, length)) = self.marks.left(now.mono) else { return Ok(()) };
        let seconds = length.as_micros() / 1_000_000;
        Err(RequestViolation {
            property: RequestProperty::NoFalseMark,
            at: now,
            node: pod.node,
            pod: Some((name, pod.uid)),
            reason: format!("its condition DisruptionTarget stays, and no request followed for {seconds} s"),
        })
    }
}
