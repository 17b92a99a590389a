//! Checks an engine of toleration seconds from outside: whether the patches that it requests keep the seconds that each pod's
//! author wrote, by the inputs that it got.
//!
//! - Invariant: independent of the engine. It keeps its own facts, and shares only the definition of records with it.
//! - Invariant: what it does not know is no violation: a record may begin in the middle.
//! - See `docs/invariants.md` for the properties.

mod ended_holds;
mod patched_pod;
#[cfg(test)]
mod tests;

use crate::api_error::ApiFailure;
use crate::engine_monitor::{EngineMonitor, RequestProperty, RequestViolation};
use crate::eviction_monitor::{TolerationLists, UidHash};
use crate::identity::{NodeName, ResourceVersion, Uid};
use crate::object_event::ObjectEvent;
use crate::time::{Now, Wall};
use crate::toleration_seconds::{
    HeldPodFact, HoldNodeFact, PatchPurpose, SecondsPatch, TolerationSecondsEffect, TolerationSecondsEngine,
    TolerationSecondsInput,
};
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use ended_holds::EndedHolds;
use patched_pod::PatchedPod;

/// A node.
#[derive(Clone, Debug)]
struct MonitoredSilence {
    uid: Uid,
    version: Option<ResourceVersion>,
    silent_since: Option<Wall>,
    is_decodable: bool,
    is_listed: bool,
}

/// Names of objects, and whether the current list contained them.
type ListedNames = BTreeMap<Box<str>, bool>;

/// The monitor of one engine.
#[derive(Clone, Debug, Default)]
pub struct TolerationSecondsMonitor {
    /// The engine holds pods, and releases them.
    holds: bool,
    /// It has seen all inputs of the engine.
    knows_all: bool,
    nodes: BTreeMap<NodeName, MonitoredSilence>,
    pods: BTreeMap<UidHash, PatchedPod>,
    tolerations: TolerationLists,
    ended: EndedHolds,
    namespaces: ListedNames,
    undecodable_policies: ListedNames,
}

impl TolerationSecondsMonitor {
    fn check(&self, patch: &SecondsPatch, now: Wall) -> Result<(), (RequestProperty, String)> {
        let pod = match self.pods.get(&UidHash::of(patch.pod.uid())) {
            Some(pod) => pod,
            None if self.knows_all => {
                return Err((RequestProperty::RightPod, "no event has shown such a pod".into()));
            }
            None => return Ok(()),
        };
        pod.check_identity(patch)?;
        let node = self.nodes.get(&patch.node);
        if node.map_or(self.knows_all, |node| !node.is_decodable) {
            return Err((RequestProperty::Decoded, "its node is unknown, or cannot be decoded".into()));
        }
        let is_hold = patch.purpose == PatchPurpose::Hold;
        let namespace = patch.pod.name().namespace();
        if self.knows_all
            && !is_hold
            && !patch.write.seconds.is_empty()
            && !self.namespaces.contains_key(namespace)
        {
            let reason = format!("its namespace {namespace} is unknown, or cannot be decoded");
            return Err((RequestProperty::Decoded, reason));
        }
        let is_backfill = patch.purpose == PatchPurpose::Backfill;
        if let Some(policy) = self.undecodable_policies.keys().next().filter(|_| is_backfill) {
            let reason = format!("policy {policy} cannot be decoded, and may be the one for its namespace");
            return Err((RequestProperty::Decoded, reason));
        }
        let may_backfill = !is_hold && self.undecodable_policies.is_empty();
        let silent_since = node.and_then(|node| node.silent_since);
        pod.check_seconds(patch, may_backfill, node.map(|_| silent_since), now)
    }

    fn node_event(&mut self, event: &ObjectEvent<HoldNodeFact>, now: Wall) {
        match event {
            ObjectEvent::ListStarted { .. } => {
                self.nodes.values_mut().for_each(|node| node.is_listed = false);
            }
            ObjectEvent::Applied { fact, listed } => self.node_applied(fact, *listed, now),
            ObjectEvent::Undecodable(object) => {
                if let Some(node) = self.nodes.get_mut(&object.node_name()) {
                    (node.is_decodable, node.silent_since) = (false, None);
                }
            }
            ObjectEvent::Deleted(object) => {
                let name = object.node_name();
                let is_this =
                    |node: &MonitoredSilence| object.uid.as_ref().is_none_or(|uid| *uid == node.uid);
                if self.nodes.get(&name).is_some_and(is_this) {
                    self.nodes.remove(&name);
                }
            }
            ObjectEvent::ListCompleted => self.nodes.retain(|_, node| node.is_listed),
            ObjectEvent::ListAborted => {}
        }
    }

    fn node_applied(&mut self, fact: &HoldNodeFact, listed: bool, now: Wall) {
        let before = self.nodes.get_mut(&fact.name).filter(|before| before.uid == fact.uid);
        let mut seen = None;
        if let Some(before) = before {
            before.is_listed = true;
            let is_older = !listed && fact.version.is_some() && fact.version < before.version;
            if is_older && before.is_decodable {
                return;
            }
            seen = before.silent_since;
        }
        // A taint without a time counts from when it was first observed.
        let silent_since = fact.is_silent.then(|| fact.silent_since.or(seen).unwrap_or(now));
        let (uid, version) = (fact.uid.clone(), fact.version);
        let node = MonitoredSilence { uid, version, silent_since, is_decodable: true, is_listed: true };
        self.nodes.insert(fact.name.clone(), node);
    }

    fn pod_event(&mut self, event: &ObjectEvent<HeldPodFact>, now: Now) {
        match event {
            ObjectEvent::ListStarted { .. } => {
                self.pods.values_mut().for_each(|pod| pod.set_listed(false));
            }
            ObjectEvent::Applied { fact, listed } => _ = self.pod_applied(fact, *listed, now),
            ObjectEvent::Undecodable(object) | ObjectEvent::Deleted(object) => {
                object.uid.iter().for_each(|uid| self.remove_pod(UidHash::of(uid)));
            }
            ObjectEvent::ListCompleted => {
                for (pod, known) in self.pods.extract_if(.., |_, pod| !pod.is_listed()) {
                    self.ended.forget(pod);
                    known.forget(&mut self.tolerations);
                }
            }
            ObjectEvent::ListAborted => {}
        }
    }

    /// Returns whether the fact is not older than what is known.
    fn pod_applied(&mut self, fact: &HeldPodFact, is_listed: bool, now: Now) -> bool {
        let uid = UidHash::of(fact.id.uid());
        let is_applied = match self.pods.get_mut(&uid) {
            Some(known) => known.apply(fact, is_listed, &mut self.tolerations),
            None => {
                self.pods.insert(uid, PatchedPod::new(fact, &mut self.tolerations));
                true
            }
        };
        if is_applied {
            self.ended.observe(fact, now);
        }
        is_applied
    }

    fn remove_pod(&mut self, uid: UidHash) {
        self.ended.forget(uid);
        if let Some(pod) = self.pods.remove(&uid) {
            pod.forget(&mut self.tolerations);
        }
    }

    fn patch_done(&mut self, patch: &SecondsPatch, result: &Result<HeldPodFact, ApiFailure>, now: Now) {
        let uid = UidHash::of(patch.pod.uid());
        self.ended.respond(uid, result.is_err(), now.mono);
        match result {
            Ok(fact) if self.pods.contains_key(&uid) => {
                if self.pod_applied(fact, false, now)
                    && let Some(pod) = self.pods.get_mut(&uid)
                {
                    pod.trust_record();
                }
            }
            Err(ApiFailure::NotFound) => self.remove_pod(uid),
            Ok(_) | Err(_) => {}
        }
    }
}

/// Follows the names of objects of a kind: of all, or of those that cannot be decoded.
fn follow_names<F>(
    names: &mut ListedNames,
    event: &ObjectEvent<F>,
    name: impl FnOnce(&F) -> &str,
    undecodable: bool,
) {
    let mut set = |name: &str, is_known: bool| match is_known {
        true => drop(names.insert(name.into(), true)),
        false => drop(names.remove(name)),
    };
    match event {
        ObjectEvent::Applied { fact, .. } => set(name(fact), !undecodable),
        ObjectEvent::Undecodable(object) => set(&object.name, undecodable),
        ObjectEvent::Deleted(object) => set(&object.name, false),
        ObjectEvent::ListStarted { .. } => names.values_mut().for_each(|listed| *listed = false),
        ObjectEvent::ListCompleted => names.retain(|_, listed| *listed),
        ObjectEvent::ListAborted => {}
    }
}

impl EngineMonitor for TolerationSecondsMonitor {
    type Engine = TolerationSecondsEngine;

    fn of(engine: &TolerationSecondsEngine) -> Self {
        Self { holds: engine.holds_pods(), knows_all: engine.is_new(), ..Self::default() }
    }

    fn input(&mut self, input: &TolerationSecondsInput, now: Now) {
        match input {
            TolerationSecondsInput::Nodes(event) => self.node_event(event, now.wall),
            TolerationSecondsInput::Pods(event) => self.pod_event(event, now),
            TolerationSecondsInput::PatchDone { patch, result } => {
                self.patch_done(patch, result, now);
            }
            TolerationSecondsInput::Namespaces(event) => {
                follow_names(&mut self.namespaces, event, |fact| &fact.name, false);
            }
            TolerationSecondsInput::Policies(event) => {
                follow_names(&mut self.undecodable_policies, event, |fact| &fact.policy.name, true);
            }
            TolerationSecondsInput::WrittenPods(_) | TolerationSecondsInput::StatusDone { .. } => {}
        }
    }

    fn effect(&mut self, effect: &TolerationSecondsEffect, now: Now) -> Result<(), RequestViolation> {
        let TolerationSecondsEffect::PatchPod(patch) = effect else { return Ok(()) };
        self.ended.request(UidHash::of(patch.pod.uid()), now.mono);
        self.check(patch, now.wall).map_err(|(property, reason)| RequestViolation {
            property,
            at: now,
            node: patch.node.clone(),
            pod: Some((patch.pod.name().clone(), patch.pod.uid().clone())),
            reason,
        })
    }

    /// The hold of each pod ends, unless its node is unknown.
    fn idle(&mut self, now: Now) -> Result<(), RequestViolation> {
        if !self.holds {
            return Ok(());
        }
        let is_known = |node: &NodeName| self.nodes.get(node).is_some_and(|node| node.is_decodable);
        let Some((pod, node)) = self.ended.left(is_known, now) else { return Ok(()) };
        Err(RequestViolation {
            property: RequestProperty::OwnSeconds,
            at: now,
            node,
            pod: Some((pod.name().clone(), pod.uid().clone())),
            reason: "its hold has ended, and no request followed".into(),
        })
    }
}
