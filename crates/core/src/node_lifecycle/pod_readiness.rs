//! Marks the pods of a node as not ready when the node becomes not ready (NL-17, NL-18).
//!
//! - Invariant: each pod is marked once per transition of its node; later updates of its kubelet stand.

use super::{NodeLifecycleEffect, NodeLifecycleEngine, NodeLifecycleNotice, PodReadinessFact};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::identity::PodRef;
use crate::identity::{NodeName, Uid};
use crate::time::Mono;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// A mark that was tried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
struct ReadinessPatchAttempt {
    failures: u32,
    /// When it is tried again; `None`: the request is out.
    retry_at: Option<Mono>,
    /// The node was not down for a while since the request was sent: the answer says nothing of this time.
    void: bool,
}

/// Marks to be made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct ReadinessPatchQueue {
    due: BTreeSet<PodRef>,
    later: BTreeSet<(Mono, PodRef)>,
    attempts: BTreeMap<PodRef, ReadinessPatchAttempt>,
}

impl ReadinessPatchQueue {
    fn want(&mut self, pod: PodRef) {
        if !self.attempts.contains_key(&pod) {
            self.due.insert(pod);
        }
    }

    /// Not to be made any more; one whose request is out is kept for its answer.
    fn drop(&mut self, pod: &PodRef) {
        self.due.remove(pod);
        if let Some(at) = self.attempts.get(pod).and_then(|attempt| attempt.retry_at) {
            self.later.remove(&(at, pod.clone()));
            self.attempts.remove(pod);
        }
    }

    /// The node is not down: if it is again before the answers come, its pods are marked once more.
    fn void(&mut self, node: &NodeName) {
        let first = PodRef { node: node.clone(), uid: Uid::new("") };
        let attempts = self.attempts.range_mut(first..).take_while(|(pod, _)| pod.node == *node);
        attempts.for_each(|(_, attempt)| attempt.void = true);
    }

    pub(super) fn wake(&mut self, now: Mono) {
        while let Some((_, pod)) = self.later.first().filter(|(at, _)| *at <= now).cloned() {
            self.later.pop_first();
            self.due.insert(pod);
        }
    }

    pub(super) fn wake_at(&self) -> Option<Mono> {
        self.later.first().map(|(at, _)| *at)
    }

    pub(super) fn waiting(&self) -> usize {
        self.due.len() + self.later.len()
    }
}

impl NodeLifecycleEngine {
    pub(super) fn pod(&mut self, fact: PodReadinessFact) {
        let (node, uid) = (self.shared(&fact.node), fact.id.uid().clone());
        self.entries.entry(node.clone()).or_default().pods.put(fact);
        self.remark_pod(&node, &uid);
    }

    pub(super) fn pod_gone(&mut self, pod: &PodRef) {
        self.marks.drop(pod);
        if let Some(entry) = self.entries.get_mut(&pod.node) {
            entry.pods.remove(&pod.uid);
            self.clear_seat(&pod.node);
        }
    }

    pub(super) fn forget_unseen_pods(&mut self) {
        let mut gone = Vec::new();
        for (node, entry) in &self.entries {
            let unseen = entry.pods.iter().filter(|pod| !pod.seen);
            gone.extend(unseen.map(|pod| PodRef { node: node.clone(), uid: pod.id.uid().clone() }));
        }
        gone.iter().for_each(|pod| self.pod_gone(pod));
    }

    /// A node has come, gone, or turned: its pods follow. One that is ready takes the marks' memory away.
    pub(super) fn remark(&mut self, node: &NodeName) {
        let Some(entry) = self.entries.get_mut(node) else { return };
        if !entry.state.as_ref().is_some_and(|known| known.is_down()) {
            entry.pods.iter_mut().for_each(|pod| pod.patched = false);
            self.marks.void(node);
        }
        let pods: Vec<Uid> = entry.pods.iter().map(|pod| pod.id.uid().clone()).collect();
        pods.iter().for_each(|uid| self.remark_pod(node, uid));
    }

    fn remark_pod(&mut self, node: &NodeName, uid: &Uid) {
        let reference = PodRef { node: node.clone(), uid: uid.clone() };
        let wanted = self.entries.get(node).is_some_and(|entry| {
            let is_down = entry.state.as_ref().is_some_and(|known| known.is_down());
            is_down && entry.pods.get(uid).is_some_and(|pod| pod.ready && !pod.patched)
        });
        match wanted {
            true => self.marks.want(reference),
            false => self.marks.drop(&reference),
        }
    }

    /// The next mark to make.
    pub(super) fn next_mark(&mut self) -> Option<NodeLifecycleEffect> {
        while let Some(pod) = self.marks.due.pop_first() {
            let held = self.entries.get(&pod.node).and_then(|entry| entry.pods.get(&pod.uid));
            let Some(name) = held.map(|held| held.id.name().clone()) else {
                self.marks.attempts.remove(&pod);
                continue;
            };
            let attempt = self.marks.attempts.entry(pod.clone()).or_default();
            (attempt.retry_at, attempt.void) = (None, false);
            return Some(NodeLifecycleEffect::SetPodNotReady { pod, name });
        }
        None
    }

    pub(super) fn pod_marked(&mut self, pod: &PodRef, result: Result<bool, ApiFailure>, now: Mono) {
        let Some(attempt) = self.marks.attempts.get(pod).copied().filter(|it| it.retry_at.is_none()) else {
            return;
        };
        let failures = attempt.failures.saturating_add(1);
        self.marks.attempts.remove(pod);
        match result {
            Ok(_) | Err(ApiFailure::NotFound) => {
                self.pod_told(pod, result == Ok(true), attempt.void);
                self.remark_pod(&pod.node, &pod.uid);
            }
            Err(failure) => {
                let retry_at = now.plus(backoff(pod.node.as_str(), &pod.uid, failures, failure));
                let attempt = ReadinessPatchAttempt { failures, retry_at: Some(retry_at), void: false };
                self.marks.attempts.insert(pod.clone(), attempt);
                self.marks.later.insert((retry_at, pod.clone()));
                // It may be ready again, or gone.
                self.remark_pod(&pod.node, &pod.uid);
            }
        }
    }

    fn pod_told(&mut self, pod: &PodRef, changed: bool, void: bool) {
        let Some(entry) = self.entries.get_mut(&pod.node) else { return };
        let is_down = entry.state.as_ref().is_some_and(|known| known.is_down());
        let Some(held) = entry.pods.get_mut(&pod.uid) else { return };
        held.patched = is_down && !void;
        if changed {
            let name = held.id.name().clone();
            self.notices.push(NodeLifecycleNotice::PodMarked { pod: pod.clone(), name });
        }
    }
}
