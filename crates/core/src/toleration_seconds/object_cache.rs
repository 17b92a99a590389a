//! Caches nodes and their pods from the watches, and collects which of them changed.
//!
//! - Invariant: an older version never replaces a newer one, except in a list; the pods of an unknown or undecodable
//!   node never change (D11); tolerations are stored once, however many pods have them.

use super::held_pod_entry::{FactSource, HeldPodEntry, SharedPodParts};
use super::objects::{HeldPodFact, HeldPodKey, HoldNodeFact, NodeHoldRequest, RecordState};
use crate::identity::{NodeName, PodId, Uid};
use crate::node_lifecycle::ZoneKey;
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::time::{Mono, Now, Wall};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TolerationSecondsStats {
    /// Pods whose seconds are cleared.
    pub held: usize,
    /// Pods that have seconds again while their node is silent, perhaps others than their own.
    pub released: usize,
    /// Pods whose record cannot be decoded.
    pub undecodable: usize,
    /// Pods that lost their record while no process ran, and whose seconds are not their own.
    pub unrecorded: usize,
    /// Pods to check, or with a patch in flight.
    pub waiting: usize,
    /// Pods whose default tolerations need other seconds.
    pub backfill_pending: usize,
    /// Pods that have a ceiling.
    pub guarded: usize,
    /// Pods that need a ceiling, or their own seconds back.
    pub guard_pending: usize,
}

/// A node and the pods on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct HoldNodeEntry {
    fact: Option<HoldNodeFact>,
    silent_since: Option<Wall>,
    list: u64,
    /// Sorted by UID.
    #[expect(
        clippy::vec_box,
        reason = "inserting moves pointers, not pods, even on a node with 100,000 of them"
    )]
    pods: Vec<Box<HeldPodEntry>>,
}

/// All nodes and pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct SecondsCache {
    nodes: BTreeMap<NodeName, HoldNodeEntry>,
    shared: SharedPodParts,
    stats: TolerationSecondsStats,
    pods: usize,
    node_list: u64,
    pod_list: u32,
    nodes_synced: bool,
    pods_synced: bool,
    changed_nodes: BTreeSet<NodeName>,
    changed_pods: Vec<HeldPodKey>,
    undecodable_records: Vec<PodId>,
}

impl HoldNodeEntry {
    pub(crate) fn is_known(&self) -> bool {
        self.fact.is_some()
    }

    pub(crate) fn silent_since(&self) -> Option<Wall> {
        self.silent_since
    }

    pub(crate) fn zone(&self) -> Option<&ZoneKey> {
        self.fact.as_ref().map(|fact| &fact.zone)
    }

    pub(crate) fn request(&self) -> NodeHoldRequest {
        self.fact.as_ref().map(|fact| fact.request).unwrap_or_default()
    }

    pub(crate) fn pod(&self, uid: &Uid) -> Option<&HeldPodEntry> {
        self.position(uid).ok().map(|at| &*self.pods[at])
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = &HeldPodEntry> {
        self.pods.iter().map(|pod| &**pod)
    }

    fn position(&self, uid: &Uid) -> Result<usize, usize> {
        self.pods.binary_search_by(|pod| pod.uid().cmp(uid))
    }

    fn is_empty(&self) -> bool {
        self.fact.is_none() && self.pods.is_empty()
    }
}

impl SecondsCache {
    pub(crate) fn is_synced(&self) -> bool {
        self.nodes_synced && self.pods_synced
    }

    pub(crate) fn stats(&self, waiting: usize) -> TolerationSecondsStats {
        TolerationSecondsStats { waiting, ..self.stats }
    }

    /// Returns the number of nodes and of pods.
    pub(crate) fn counts(&self) -> (usize, usize) {
        (self.nodes.values().filter(|node| node.is_known()).count(), self.pods)
    }

    pub(crate) fn node(&self, name: &NodeName) -> Option<&HoldNodeEntry> {
        self.nodes.get(name)
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&NodeName, &HoldNodeEntry)> {
        self.nodes.iter()
    }

    pub(crate) fn take_changed_nodes(&mut self) -> BTreeSet<NodeName> {
        core::mem::take(&mut self.changed_nodes)
    }

    pub(crate) fn take_changed_pods(&mut self) -> Vec<HeldPodKey> {
        core::mem::take(&mut self.changed_pods)
    }

    pub(crate) fn take_undecodable_records(&mut self) -> impl Iterator<Item = PodId> + use<> {
        core::mem::take(&mut self.undecodable_records).into_iter()
    }

    /// Stores a pod from the response to a patch, if it still exists.
    pub(crate) fn put_response(&mut self, fact: HeldPodFact) {
        if self.nodes.get(&fact.node).is_some_and(|node| node.pod(fact.id.uid()).is_some()) {
            self.put_pod(fact, false, FactSource::Response);
        }
    }

    pub(crate) fn remove_pod(&mut self, uid: &Uid, node: Option<&NodeName>) {
        let holds = |entry: &HoldNodeEntry| entry.pod(uid).is_some();
        let found = node.filter(|name| self.nodes.get(*name).is_some_and(holds)).cloned();
        let found =
            found.or_else(|| self.nodes.iter().find(|(_, entry)| holds(entry)).map(|(name, _)| name.clone()));
        let Some(name) = found else { return };
        let Some(entry) = self.nodes.get_mut(&name) else { return };
        if let Ok(at) = entry.position(uid) {
            let pod = entry.pods.remove(at);
            if entry.is_empty() {
                self.nodes.remove(&name);
            }
            self.forget(&pod);
            self.changed_pods.push(HeldPodKey { node: name, uid: uid.clone() });
        }
    }

    fn put_pod(&mut self, fact: HeldPodFact, listed: bool, source: FactSource) {
        let key = HeldPodKey { node: fact.node.clone(), uid: fact.id.uid().clone() };
        let node = self.nodes.entry(key.node.clone()).or_default();
        let place = node.position(&key.uid);
        let before = place.ok().map(|at| &mut node.pods[at]);
        let is_older = |before: &HeldPodEntry| fact.version.is_some() && fact.version < before.version();
        if let Some(before) = before.filter(|before| !listed && is_older(before)) {
            return before.is_in(self.pod_list);
        }
        let before = place.ok().map(|at| &*node.pods[at]);
        let pod = HeldPodEntry::new(fact, source, before, self.pod_list, &mut self.shared);
        let is_same = before.is_some_and(|before| before.is_equivalent(&pod));
        if *pod.record() == RecordState::Undecodable && !is_same {
            self.undecodable_records.push(pod.id().clone());
        }
        Self::count(&mut self.stats, pod.record(), 1);
        self.pods += 1;
        match place {
            Ok(at) => {
                let before = core::mem::replace(&mut *node.pods[at], pod);
                self.forget(&before);
            }
            Err(at) => node.pods.insert(at, Box::new(pod)),
        }
        if !is_same {
            self.changed_pods.push(key);
        }
    }

    /// An entry is removed.
    fn forget(&mut self, pod: &HeldPodEntry) {
        Self::count(&mut self.stats, pod.record(), -1);
        self.pods -= 1;
        self.shared.give_back(pod);
    }

    fn count(stats: &mut TolerationSecondsStats, record: &RecordState, by: isize) {
        let count = match record {
            RecordState::Absent => return,
            RecordState::Known(record) if record.is_released() => &mut stats.released,
            RecordState::Known(_) => &mut stats.held,
            RecordState::Guarded(_) => &mut stats.guarded,
            RecordState::Undecodable => &mut stats.undecodable,
        };
        *count = count.saturating_add_signed(by);
    }

    /// A node is gone or cannot be decoded.
    fn forget_node(&mut self, name: &NodeName, uid: Option<&Uid>) {
        let Some(entry) = self.nodes.get_mut(name) else { return };
        let Some(fact) = &entry.fact else { return };
        if uid.is_some_and(|uid| *uid != fact.uid) {
            return;
        }
        (entry.fact, entry.silent_since) = (None, None);
        if entry.is_empty() {
            self.nodes.remove(name);
        }
        self.changed_nodes.insert(name.clone());
    }
}

impl ObjectIndex<HoldNodeFact> for SecondsCache {
    fn list_started(&mut self, _: Option<Mono>) {
        self.node_list += 1;
    }

    fn applied(&mut self, fact: HoldNodeFact, listed: bool, now: Now) {
        let entry = self.nodes.entry(fact.name.clone()).or_default();
        entry.list = self.node_list;
        let before = entry.fact.as_ref().filter(|before| before.uid == fact.uid);
        if before.is_some_and(|before| !listed && fact.version.is_some() && fact.version < before.version) {
            return;
        }
        // Taints without a time count from when they were first observed.
        let seen = entry.silent_since.filter(|_| before.is_some());
        let silent_since =
            fact.is_silent.then(|| fact.silent_since.unwrap_or_else(|| seen.unwrap_or(now.wall)));
        let same = before.is_some_and(|before| (&before.zone, before.request) == (&fact.zone, fact.request))
            && entry.silent_since == silent_since;
        if !same {
            self.changed_nodes.insert(fact.name.clone());
        }
        entry.silent_since = silent_since;
        entry.fact = Some(fact);
    }

    fn deleted(&mut self, object: ObjectRef, _: Now) {
        self.forget_node(&object.node_name(), object.uid.as_ref());
    }

    fn undecodable(&mut self, object: ObjectRef, _: Now) {
        self.forget_node(&object.node_name(), None);
    }

    fn list_completed(&mut self, _: Now) {
        let list = self.node_list;
        let gone = self.nodes.iter().filter(|(_, entry)| entry.fact.is_some() && entry.list != list);
        let gone: Vec<NodeName> = gone.map(|(name, _)| name.clone()).collect();
        gone.iter().for_each(|name| self.forget_node(name, None));
        self.nodes_synced |= list > 0;
    }
}

impl ObjectIndex<HeldPodFact> for SecondsCache {
    fn list_started(&mut self, _: Option<Mono>) {
        self.pod_list = self.pod_list.wrapping_add(1);
    }

    fn applied(&mut self, fact: HeldPodFact, listed: bool, _: Now) {
        self.put_pod(fact, listed, FactSource::Watch);
    }

    fn deleted(&mut self, object: ObjectRef, _: Now) {
        if let Some(uid) = &object.uid {
            self.remove_pod(uid, object.node.as_ref());
        }
    }

    fn undecodable(&mut self, object: ObjectRef, now: Now) {
        ObjectIndex::<HeldPodFact>::deleted(self, object, now);
    }

    fn list_completed(&mut self, _: Now) {
        let list = self.pod_list;
        let pods = self.nodes.iter().flat_map(|(name, node)| node.pods().map(move |pod| (name, pod)));
        let gone = pods.filter(|(_, pod)| pod.list() != list);
        let gone: Vec<_> = gone.map(|(name, pod)| (name.clone(), pod.uid().clone())).collect();
        gone.iter().for_each(|(name, uid)| self.remove_pod(uid, Some(name)));
        self.pods_synced |= list > 0;
    }
}

#[cfg(test)]
mod tests;
