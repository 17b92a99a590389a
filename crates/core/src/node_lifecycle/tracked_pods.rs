//! Stores the pods that are bound to a node, sorted by UID, in few bytes: a vector of 16 bytes a pod.

use super::fact::{ConditionStatus, PodReadinessFact};
use crate::identity::{PodId, Uid};
use alloc::vec::Vec;

/// A pod that is bound to a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct TrackedPod {
    pub(super) id: PodId,
    /// It has a condition `Ready` that does not say False.
    pub(super) ready: bool,
    /// It was marked since its node went down; a kubelet that says otherwise afterwards has the last word.
    pub(super) patched: bool,
    /// Seen in the running list; outside one it means nothing.
    pub(super) seen: bool,
}

const _: () = assert!(size_of::<TrackedPod>() == 16, "each engine keeps a pod's UID and name by reference");

/// The pods of one node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TrackedPods(Vec<TrackedPod>);

impl TrackedPods {
    /// Takes over what a watch says; whether it is marked is remembered.
    pub(super) fn put(&mut self, fact: PodReadinessFact) {
        let ready = fact.ready.is_some_and(|status| status != ConditionStatus::False);
        match self.position(fact.id.uid()) {
            Ok(at) => {
                let patched = self.0[at].patched;
                self.0[at] = TrackedPod { id: fact.id, ready, patched, seen: true };
            }
            Err(at) => self.0.insert(at, TrackedPod { id: fact.id, ready, patched: false, seen: true }),
        }
    }

    pub(super) fn remove(&mut self, uid: &Uid) {
        if let Ok(at) = self.position(uid) {
            self.0.remove(at);
        }
    }

    pub(super) fn get(&self, uid: &Uid) -> Option<&TrackedPod> {
        self.position(uid).ok().map(|at| &self.0[at])
    }

    pub(super) fn get_mut(&mut self, uid: &Uid) -> Option<&mut TrackedPod> {
        self.position(uid).ok().map(|at| &mut self.0[at])
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &TrackedPod> {
        self.0.iter()
    }

    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut TrackedPod> {
        self.0.iter_mut()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn position(&self, uid: &Uid) -> Result<usize, usize> {
        self.0.binary_search_by(|pod| pod.id.uid().cmp(uid))
    }
}
