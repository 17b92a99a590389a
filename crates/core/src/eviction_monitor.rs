//! Checks an eviction engine from outside: whether the requests that it returns are right, by the inputs that it got.
//!
//! - Invariant: independent of the engine. It keeps its own facts, and shares only the matching of tolerations with it.
//! - Invariant: what it does not know is no violation: a record may begin in the middle.
//! - See `docs/invariants.md` for the properties.

mod monitored_node;
#[cfg(test)]
mod tests;

use crate::engine::LiveRead;
use crate::eviction::{EvictionEffect, EvictionInput};
use crate::fact::{NodeFact, PodFact, PodLifePhase};
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion, Uid};
use crate::object_event::{ObjectEvent, ObjectRef};
use crate::taint::Taint;
use crate::time::{Mono, Now, Span};
use crate::toleration::{Toleration, TolerationPeriod};
use crate::toleration_matching::{NumericOperators, TaintMatch, match_taint};
use alloc::collections::{BTreeMap, VecDeque};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use monitored_node::MonitoredNode;

/// How old the read of a node may be when a deletion is decided (S2): the hard limit.
const CONFIRMED_AGE_MAX: Span = Span::from_secs(5);

/// How many versions of a pod are kept: a request requires one of the last.
const VERSIONS_MAX: usize = 16;

/// A property that a request violates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EvictionProperty {
    /// S1: the right pod, in a version that was observed.
    RightPod,
    /// S2: a recent read of the node, and complete lists.
    Confirmed,
    /// S3: not before its tolerations end.
    NotEarly,
    /// S10: one deletion of a pod, and none of a pod that is terminating, has finished or is a mirror pod.
    Once,
    /// S11: not if its object, or its node's, cannot be decoded.
    Decoded,
}

impl EvictionProperty {
    /// The id of the rule.
    pub const fn id(self) -> &'static str {
        match self {
            Self::RightPod => "S1",
            Self::Confirmed => "S2",
            Self::NotEarly => "S3",
            Self::Once => "S10",
            Self::Decoded => "S11",
        }
    }
}

/// A request that should not have been sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EvictionViolation {
    /// The property.
    pub property: EvictionProperty,
    /// When the request was decided.
    pub at: Now,
    /// The pod.
    pub pod: PodRef,
    /// Its name.
    pub name: PodName,
    /// What is wrong.
    pub reason: String,
}

impl fmt::Display for EvictionViolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { property, pod, name, reason, .. } = self;
        write!(f, "{}: pod {name} (UID {}) on node {}: {reason}", property.id(), pod.uid, pod.node)
    }
}

/// What is known of a pod.
#[derive(Clone, Debug)]
struct MonitoredPod {
    name: PodName,
    node: NodeName,
    tolerations: Vec<Toleration>,
    life_phase: PodLifePhase,
    is_mirror: bool,
    is_decodable: bool,
    /// The latest versions that events and responses contained.
    versions: VecDeque<ResourceVersion>,
    latest: Option<ResourceVersion>,
    /// Its deletion was interrupted, and needs another request, whatever the taints are (P31).
    is_half_deleted: bool,
    /// The API server has accepted its deletion, and neither a newer version, nor a list that began afterwards, has shown
    /// that it lives.
    is_deleted: bool,
    /// A list began after that.
    is_list_newer: bool,
    /// It was in the current list, or a list is not running.
    is_listed: bool,
}

/// The monitor of one engine.
#[derive(Clone, Debug, Default)]
pub struct EvictionMonitor {
    numeric: NumericOperators,
    /// It has seen all inputs of the engine.
    knows_all: bool,
    nodes: BTreeMap<NodeName, MonitoredNode>,
    pods: BTreeMap<Uid, MonitoredPod>,
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

    /// Learns from an input, before or after the engine handles it.
    pub fn input(&mut self, input: &EvictionInput, now: Now) {
        match input {
            EvictionInput::Nodes(event) => self.node_event(event, now),
            EvictionInput::Pods(event) => self.pod_event(event),
            EvictionInput::NodeConfirmed { node, sent, result: Ok(LiveRead::Found(fact)) } => {
                let first = self.knows_all.then_some(now);
                self.nodes.entry(node.clone()).or_default().confirm(fact, *sent, first);
            }
            EvictionInput::Marked { pod, result: Ok(Some(version)) } => {
                if let Some(known) = self.pods.get_mut(&pod.uid) {
                    known.learn(*version);
                }
            }
            EvictionInput::Deleted { pod, result: Ok(()) }
            | EvictionInput::Evicted { pod, result: Ok(()) } => {
                if let Some(known) = self.pods.get_mut(&pod.uid) {
                    known.is_deleted = true;
                    known.is_list_newer = false;
                }
            }
            EvictionInput::PodRead { result: Ok(LiveRead::Found(fact)), half_deleted, .. } => {
                self.pod_applied(fact, true);
                if let Some(known) = self.pods.get_mut(fact.id.uid()) {
                    known.is_half_deleted = *half_deleted;
                }
            }
            _ => {}
        }
    }

    /// Checks a request that the engine has returned.
    ///
    /// # Errors
    /// The first property that it violates.
    pub fn effect(&self, effect: &EvictionEffect, now: Now) -> Result<(), EvictionViolation> {
        let (pod, name, version, confirmed) = match effect {
            EvictionEffect::DeletePod { pod, name, version, confirmed, .. } => {
                (pod, name, *version, Some(*confirmed))
            }
            EvictionEffect::EvictPod { pod, name, confirmed, .. } => (pod, name, None, Some(*confirmed)),
            EvictionEffect::SetDisruptionTarget { pod, name, version, .. } => (pod, name, *version, None),
            EvictionEffect::ReadNode { .. }
            | EvictionEffect::ReadPod { .. }
            | EvictionEffect::ClearDisruptionTarget { .. } => return Ok(()),
        };
        let checked = self.check(pod, name, version, confirmed, now);
        checked.map_err(|(property, reason)| EvictionViolation {
            property,
            at: now,
            pod: pod.clone(),
            name: name.clone(),
            reason,
        })
    }

    fn check(
        &self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
        confirmed: Option<Mono>,
        now: Now,
    ) -> Result<(), (EvictionProperty, String)> {
        if self.knows_all && !(self.has_nodes && self.has_pods) {
            return Err((EvictionProperty::Confirmed, "the first lists are not complete".into()));
        }
        let known = match self.pods.get(&pod.uid) {
            Some(known) => known,
            None if self.knows_all => {
                return Err((EvictionProperty::RightPod, "no event has shown such a pod".into()));
            }
            None => return Ok(()),
        };
        known.check_identity(pod, name, version)?;
        if known.is_half_deleted {
            return Ok(());
        }
        known.check_phase()?;
        let Some(node) = self.nodes.get(&pod.node) else { return Ok(()) };
        if !node.is_decodable() {
            return Err((EvictionProperty::Decoded, "its node cannot be decoded".into()));
        }
        let taints = match confirmed {
            None => node.all(),
            Some(sent) => {
                let age = now.mono.since(sent);
                if age > CONFIRMED_AGE_MAX {
                    let reason = format!("its node was read {} ms before", age.as_micros() / 1_000);
                    return Err((EvictionProperty::Confirmed, reason));
                }
                node.confirmed(sent).ok_or_else(|| {
                    (EvictionProperty::Confirmed, "its node was not read, or the read found none".into())
                })?
            }
        };
        match taints.iter().any(|(taint, start)| known.may_leave(taint, *start, self.numeric, now.mono)) {
            true => Ok(()),
            false => Err((EvictionProperty::NotEarly, "no NoExecute taint of its node evicts it yet".into())),
        }
    }

    fn node_event(&mut self, event: &ObjectEvent<NodeFact>, now: Now) {
        match event {
            ObjectEvent::ListStarted { .. } => {
                self.nodes.values_mut().for_each(|node| node.set_listed(false));
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
            ObjectEvent::ListAborted => self.nodes.values_mut().for_each(|node| node.set_listed(true)),
        }
    }

    fn delete_node(&mut self, object: &ObjectRef) {
        let name = object.node_name();
        let is_other = |node: &MonitoredNode| object.uid.as_ref().is_some_and(|uid| !node.is(uid));
        if !self.nodes.get(&name).is_some_and(is_other) {
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
                if let Some(known) = object.uid.as_ref().and_then(|uid| self.pods.get_mut(uid)) {
                    known.is_decodable = false;
                    known.is_listed = true;
                }
            }
            ObjectEvent::Deleted(object) => {
                if let Some(uid) = &object.uid {
                    self.pods.remove(uid);
                }
            }
            ObjectEvent::ListCompleted => {
                self.has_pods = true;
                self.pods.retain(|_, pod| pod.is_listed);
            }
            ObjectEvent::ListAborted => {
                self.pods.values_mut().for_each(|pod| pod.is_listed = true);
            }
        }
    }

    fn pod_applied(&mut self, fact: &PodFact, is_read: bool) {
        let known = self.pods.entry(fact.id.uid().clone()).or_insert_with(|| MonitoredPod::new(fact));
        known.apply(fact, is_read);
    }
}

impl MonitoredPod {
    fn new(fact: &PodFact) -> Self {
        Self {
            name: fact.id.name().clone(),
            node: fact.node.clone(),
            tolerations: Vec::new(),
            life_phase: fact.life_phase,
            is_mirror: fact.mirror,
            is_decodable: true,
            versions: VecDeque::new(),
            latest: None,
            is_half_deleted: false,
            is_deleted: false,
            is_list_newer: false,
            is_listed: true,
        }
    }

    /// `is_read`: it is from a list or a live read, which no response is newer than.
    fn apply(&mut self, fact: &PodFact, is_read: bool) {
        self.is_listed = true;
        self.is_decodable = true;
        // An event that is older than another one, or than a response, changes nothing.
        if !is_read && fact.version.is_some() && fact.version < self.latest {
            return;
        }
        let is_newer = fact.version > self.latest || (is_read && self.is_list_newer);
        if fact.life_phase == PodLifePhase::Live && is_newer {
            self.is_deleted = false;
        }
        self.name.clone_from(fact.id.name());
        self.node.clone_from(&fact.node);
        self.tolerations.clone_from(&fact.tolerations);
        self.life_phase = fact.life_phase;
        self.is_mirror = fact.mirror;
        fact.version.into_iter().for_each(|version| self.learn(version));
    }

    const fn begin_list(&mut self) {
        self.is_listed = false;
        self.is_list_newer = self.is_deleted;
    }

    fn learn(&mut self, version: ResourceVersion) {
        self.latest = Some(version);
        if self.versions.len() == VERSIONS_MAX {
            self.versions.pop_front();
        }
        self.versions.push_back(version);
    }

    fn check_identity(
        &self,
        pod: &PodRef,
        name: &PodName,
        version: Option<ResourceVersion>,
    ) -> Result<(), (EvictionProperty, String)> {
        let wrong = |reason: &str| Err((EvictionProperty::RightPod, reason.into()));
        if self.name != *name || self.node != pod.node {
            return wrong("the pod with this UID has another name or node");
        }
        if version.is_some_and(|version| !self.versions.contains(&version)) {
            return wrong("no event and no response contained the version that the request requires");
        }
        Ok(())
    }

    fn check_phase(&self) -> Result<(), (EvictionProperty, String)> {
        if !self.is_decodable {
            return Err((EvictionProperty::Decoded, "it cannot be decoded".into()));
        }
        let reason = match self.life_phase {
            _ if self.is_deleted => "the API server has accepted its deletion already",
            PodLifePhase::Terminating => "it is terminating",
            PodLifePhase::Finished => "it has succeeded or failed",
            PodLifePhase::Live if self.is_mirror => "it is a mirror pod",
            PodLifePhase::Live => return Ok(()),
        };
        Err((EvictionProperty::Once, reason.into()))
    }

    /// Whether this taint may evict the pod now. `start`: it has not begun before; `None`: it may have begun long ago.
    fn may_leave(&self, taint: &Taint, start: Option<Mono>, numeric: NumericOperators, now: Mono) -> bool {
        let period = match match_taint(&self.tolerations, taint, numeric) {
            TaintMatch::Untolerated => TolerationPeriod::For(Span::ZERO),
            TaintMatch::Unsupported(_) => return false,
            TaintMatch::Tolerated(at) => self.tolerations[at].period(),
        };
        match (period, start) {
            (TolerationPeriod::Forever, _) => false,
            (TolerationPeriod::For(_), None) => true,
            (TolerationPeriod::For(period), Some(start)) => start.plus(period) <= now,
        }
    }
}
