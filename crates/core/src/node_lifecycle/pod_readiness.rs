//! Decides which pods get the condition Ready False because their node is not ready (NL-17, NL-18).
//!
//! - Invariant: each pod is marked once per transition of its node; later updates of its kubelet stand.

use super::fact::{ConditionStatus, PodReadinessFact};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::identity::{NodeName, PodId, PodName, PodRef, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::time::{Mono, Now};
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// A pod that is bound to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct TrackedPod {
    id: PodId,
    /// It has a condition `Ready` that is not False.
    ready: bool,
    /// It was marked since its node went down; a later update of the kubelet takes precedence.
    patched: bool,
    /// Observed in the current list; meaningless outside of a list.
    seen: bool,
}

const _: () = assert!(size_of::<TrackedPod>() == 16, "each engine keeps a pod's UID and name by reference");

/// The pods of one node, sorted by UID.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct TrackedPods(Vec<TrackedPod>);

impl TrackedPods {
    /// Stores a pod; whether it was marked is kept.
    fn put(&mut self, fact: PodReadinessFact) {
        let ready = fact.ready.is_some_and(|status| status != ConditionStatus::False);
        match self.position(fact.id.uid()) {
            Ok(at) => {
                let patched = self.0[at].patched;
                self.0[at] = TrackedPod { id: fact.id, ready, patched, seen: true };
            }
            Err(at) => self.0.insert(at, TrackedPod { id: fact.id, ready, patched: false, seen: true }),
        }
    }

    fn remove(&mut self, uid: &Uid) {
        if let Ok(at) = self.position(uid) {
            self.0.remove(at);
        }
    }

    fn get(&self, uid: &Uid) -> Option<&TrackedPod> {
        self.position(uid).ok().map(|at| &self.0[at])
    }

    fn get_mut(&mut self, uid: &Uid) -> Option<&mut TrackedPod> {
        self.position(uid).ok().map(|at| &mut self.0[at])
    }

    fn position(&self, uid: &Uid) -> Result<usize, usize> {
        self.0.binary_search_by(|pod| pod.id.uid().cmp(uid))
    }
}

/// An attempted mark.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct ReadinessPatchAttempt {
    failures: u32,
    /// When it is retried; `None`: the request is in flight.
    retry_at: Option<Mono>,
    /// The node was not down for a while since the request was sent: the response does not count.
    void: bool,
}

/// The pods of all nodes, and which of them have to be marked. A pod is applied with the node name that the nodes' own
/// facts share ([`ReadinessMarks::shared_name`]).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct ReadinessMarks {
    pods: BTreeMap<NodeName, TrackedPods>,
    /// Nodes whose `Ready` is False or Unknown.
    down: BTreeSet<NodeName>,
    due: BTreeSet<PodRef>,
    later: BTreeSet<(Mono, PodRef)>,
    attempts: BTreeMap<PodRef, ReadinessPatchAttempt>,
}

impl ObjectIndex<PodReadinessFact> for ReadinessMarks {
    fn list_started(&mut self, _: Option<Mono>) {
        self.pods.values_mut().flat_map(|pods| &mut pods.0).for_each(|pod| pod.seen = false);
    }

    fn applied(&mut self, fact: PodReadinessFact, _: bool, _: Now) {
        let pod = PodRef { node: fact.node.clone(), uid: fact.id.uid().clone() };
        self.pods.entry(fact.node.clone()).or_default().put(fact);
        self.update(pod);
    }

    /// A pod without a node was never known, so its deletion changes nothing.
    fn deleted(&mut self, pod: ObjectRef, _: Now) {
        if let Some(pod) = pod.into_pod() {
            self.remove(&pod);
        }
    }

    /// The last known state stays: the mark's request checks the pod first, so it does no harm.
    fn undecodable(&mut self, _: ObjectRef, _: Now) {}

    fn list_completed(&mut self, _: Now) {
        let mut gone = Vec::new();
        for (node, pods) in &self.pods {
            let unseen = pods.0.iter().filter(|pod| !pod.seen);
            gone.extend(unseen.map(|pod| PodRef { node: node.clone(), uid: pod.id.uid().clone() }));
        }
        gone.iter().for_each(|pod| self.remove(pod));
    }
}

impl ReadinessMarks {
    /// The copy of a name that the node's pods share, if it has pods.
    pub(super) fn shared_name(&self, node: &NodeName) -> Option<&NodeName> {
        self.pods.get_key_value(node).map(|(shared, _)| shared)
    }

    /// A node was added, removed, or changed: its pods follow. When it is no longer down, earlier marks are forgotten:
    /// if it is down again before the responses arrive, its pods are marked once more.
    pub(super) fn set_node_down(&mut self, node: &NodeName, is_down: bool) {
        if self.down.contains(node) == is_down {
            return;
        }
        let mut pods = self.pods.get_mut(node);
        if is_down {
            self.down.insert(node.clone());
        } else {
            self.down.remove(node);
            pods.iter_mut().flat_map(|pods| &mut pods.0).for_each(|pod| pod.patched = false);
            let first = PodRef { node: node.clone(), uid: Uid::new("") };
            let attempts = self.attempts.range_mut(first..).take_while(|(pod, _)| pod.node == *node);
            attempts.for_each(|(_, attempt)| attempt.void = true);
        }
        let uids = pods.iter().flat_map(|pods| &pods.0).map(|pod| pod.id.uid().clone());
        let pods: Vec<PodRef> = uids.map(|uid| PodRef { node: node.clone(), uid }).collect();
        pods.into_iter().for_each(|pod| self.update(pod));
    }

    /// Returns the next mark.
    pub(super) fn next(&mut self) -> Option<(PodRef, PodName)> {
        while let Some(pod) = self.due.pop_first() {
            let Some(name) = self.tracked(&pod).map(|tracked| tracked.id.name().clone()) else {
                self.attempts.remove(&pod);
                continue;
            };
            let attempt = self.attempts.entry(pod.clone()).or_default();
            (attempt.retry_at, attempt.void) = (None, false);
            return Some((pod, name));
        }
        None
    }

    /// Handles the response to the request for a mark. Returns the pod's name if the request marked it.
    pub(super) fn written(
        &mut self,
        pod: &PodRef,
        result: Result<bool, ApiFailure>,
        now: Mono,
    ) -> Option<PodName> {
        let attempt = self.attempts.get(pod).copied().filter(|attempt| attempt.retry_at.is_none())?;
        self.attempts.remove(pod);
        let mut marked = None;
        match result {
            Ok(_) | Err(ApiFailure::NotFound) => {
                let is_down = self.down.contains(&pod.node);
                let tracked = self.pods.get_mut(&pod.node).and_then(|pods| pods.get_mut(&pod.uid));
                if let Some(tracked) = tracked {
                    tracked.patched = is_down && !attempt.void;
                    marked = (result == Ok(true)).then(|| tracked.id.name().clone());
                }
            }
            Err(failure) => {
                let failures = attempt.failures.saturating_add(1);
                let retry_at = now.plus(backoff(pod.node.as_str(), &pod.uid, failures, failure));
                let attempt = ReadinessPatchAttempt { failures, retry_at: Some(retry_at), void: false };
                self.attempts.insert(pod.clone(), attempt);
                self.later.insert((retry_at, pod.clone()));
            }
        }
        // The pod may be ready again, or gone.
        self.update(pod.clone());
        marked
    }

    /// Makes retries due whose time has come.
    pub(super) fn wake(&mut self, now: Mono) {
        while let Some((_, pod)) = self.later.first().filter(|(at, _)| *at <= now).cloned() {
            self.later.pop_first();
            self.due.insert(pod);
        }
    }

    /// When the next retry becomes due.
    pub(super) fn wake_at(&self) -> Option<Mono> {
        self.later.first().map(|(at, _)| *at)
    }

    /// The number of pending marks, without requests in flight.
    pub(super) fn len(&self) -> usize {
        self.due.len() + self.later.len()
    }

    fn remove(&mut self, pod: &PodRef) {
        self.cancel(pod);
        if let Some(pods) = self.pods.get_mut(&pod.node) {
            pods.remove(&pod.uid);
            if pods.0.is_empty() {
                self.pods.remove(&pod.node);
            }
        }
    }

    fn tracked(&self, pod: &PodRef) -> Option<&TrackedPod> {
        self.pods.get(&pod.node)?.get(&pod.uid)
    }

    /// Decides again whether a pod has to be marked.
    fn update(&mut self, pod: PodRef) {
        let is_down = self.down.contains(&pod.node);
        if !is_down || !self.tracked(&pod).is_some_and(|tracked| tracked.ready && !tracked.patched) {
            self.cancel(&pod);
        } else if !self.attempts.contains_key(&pod) {
            self.due.insert(pod);
        }
    }

    /// The pod no longer has to be marked; a mark with a request in flight is kept for its response.
    fn cancel(&mut self, pod: &PodRef) {
        self.due.remove(pod);
        if let Some(at) = self.attempts.get(pod).and_then(|attempt| attempt.retry_at) {
            self.later.remove(&(at, pod.clone()));
            self.attempts.remove(pod);
        }
    }
}

#[cfg(test)]
mod tests;
