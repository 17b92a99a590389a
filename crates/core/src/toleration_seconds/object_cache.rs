//! Caches nodes and their pods from the watches, and collects which of them changed.
//!
//! - Invariant: an older version never replaces a newer one, except in a list; the pods of a node that is unknown or
//!   undecodable are left alone (D11); tolerations are stored once, however many pods have them.

use super::effect_queue::HeldPodKey;
use super::objects::{HeldPodFact, HoldNodeFact, NodeHoldRequest, RecordState};
use crate::admission::policy::RequestedSeconds;
use crate::identity::{NodeName, PodId, ResourceVersion, Uid};
use crate::intern::SharedInterner;
use crate::node_lifecycle::ZoneKey;
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::time::{Mono, Now, Span, Wall};
use crate::toleration::Toleration;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TolerationSecondsStats {
    /// Pods whose seconds are cleared.
    pub held: usize,
    /// Pods that have seconds again while their node is silent, and may have others than their own.
    pub released: usize,
    /// Pods whose record cannot be decoded.
    pub undecodable: usize,
    /// Pods that are to be looked at, or are being patched.
    pub waiting: usize,
    /// Pods whose default tolerations are to get other seconds.
    pub backfill_pending: usize,
}

/// A node and the pods on it.
#[derive(Clone, Debug, Default)]
pub(crate) struct HoldNodeEntry {
    fact: Option<HoldNodeFact>,
    silent_since: Option<Wall>,
    list: u64,
    pods: BTreeMap<Uid, Box<HeldPodEntry>>,
}

/// A pod.
#[derive(Clone, Debug)]
pub(crate) struct HeldPodEntry {
    id: PodId,
    version: Option<ResourceVersion>,
    tolerations: Arc<Vec<Toleration>>,
    bound: Option<Wall>,
    record: RecordState,
    is_annotated: bool,
    asked: Option<Box<RequestedSeconds>>,
    /// The record is not in the object any more: another writer took it away.
    lost: bool,
    list: u64,
}

/// All nodes and pods.
#[derive(Clone, Debug, Default)]
pub(crate) struct SecondsCache {
    nodes: BTreeMap<NodeName, HoldNodeEntry>,
    tolerations: SharedInterner<Vec<Toleration>>,
    stats: TolerationSecondsStats,
    pods: usize,
    node_list: u64,
    pod_list: u64,
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
        self.pods.get(uid).map(|pod| &**pod)
    }

    pub(crate) fn pods(&self) -> impl Iterator<Item = (&Uid, &HeldPodEntry)> {
        self.pods.iter().map(|(uid, pod)| (uid, &**pod))
    }

    fn is_empty(&self) -> bool {
        self.fact.is_none() && self.pods.is_empty()
    }
}

impl HeldPodEntry {
    pub(crate) fn id(&self) -> &PodId {
        &self.id
    }

    pub(crate) fn tolerations(&self) -> &[Toleration] {
        &self.tolerations
    }

    pub(crate) fn shared_tolerations(&self) -> Arc<Vec<Toleration>> {
        Arc::clone(&self.tolerations)
    }

    /// The version that was seen.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        self.version
    }

    pub(crate) fn is_annotated(&self) -> bool {
        self.is_annotated
    }

    /// What its annotations say about the seconds of its default tolerations.
    pub(crate) fn asked(&self) -> &RequestedSeconds {
        static NOTHING: RequestedSeconds = RequestedSeconds { not_ready: None, unreachable: None };

        self.asked.as_deref().unwrap_or(&NOTHING)
    }

    pub(crate) fn record(&self) -> &RecordState {
        &self.record
    }

    pub(crate) fn has_record_in_object(&self) -> bool {
        !self.lost && self.record != RecordState::Absent
    }

    pub(crate) fn has_lost_its_record(&self) -> bool {
        self.lost
    }

    /// Since when its countdown would count.
    pub(crate) fn counts_since(&self, silent_since: Option<Wall>) -> Option<Wall> {
        silent_since.map(|since| self.bound.map_or(since, |bound| bound.max(since)))
    }

    /// When its countdown ends, as far as the seconds say; far off if it has none.
    pub(crate) fn deadline(&self, silent_since: Option<Wall>) -> Wall {
        let seconds = self.tolerations.iter().filter_map(|one| one.seconds).min();
        let ends = self.counts_since(silent_since).zip(seconds);
        ends.map_or(Wall::from_micros(i64::MAX), |(since, seconds)| {
            since.plus(Span::from_micros(seconds.saturating_mul(1_000_000)))
        })
    }
}

impl SecondsCache {
    pub(crate) fn is_synced(&self) -> bool {
        self.nodes_synced && self.pods_synced
    }

    pub(crate) fn stats(&self, waiting: usize) -> TolerationSecondsStats {
        TolerationSecondsStats { waiting, ..self.stats }
    }

    /// How many nodes and pods there are.
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

    /// A pod that a patch was answered with, if it is still there.
    pub(crate) fn put_response(&mut self, fact: HeldPodFact) {
        if self.nodes.get(&fact.node).is_some_and(|node| node.pods.contains_key(fact.id.uid())) {
            self.put_pod(fact, false);
        }
    }

    pub(crate) fn remove_pod(&mut self, uid: &Uid, node: Option<&NodeName>) {
        let holds = |entry: &HoldNodeEntry| entry.pods.contains_key(uid);
        let found = node.filter(|name| self.nodes.get(*name).is_some_and(holds)).cloned();
        let found =
            found.or_else(|| self.nodes.iter().find(|(_, entry)| holds(entry)).map(|(name, _)| name.clone()));
        let Some(name) = found else { return };
        let Some(entry) = self.nodes.get_mut(&name) else { return };
        if let Some(pod) = entry.pods.remove(uid) {
            if entry.is_empty() {
                self.nodes.remove(&name);
            }
            self.forget(&pod);
        }
    }

    fn put_pod(&mut self, fact: HeldPodFact, listed: bool) {
        let HeldPodFact { id, node: name, version, tolerations, bound, mut record, is_annotated, asked } =
            fact;
        let key = HeldPodKey { node: name.clone(), uid: id.uid().clone() };
        let node = self.nodes.entry(name).or_default();
        let mut lost = false;
        if let Some(before) = node.pods.get_mut(id.uid()) {
            before.list = self.pod_list;
            if !listed && version.is_some() && version < before.version {
                return;
            }
            if let (RecordState::Absent, RecordState::Known(known)) = (&record, &before.record)
                && known.still_applies(&tolerations)
            {
                record = before.record.clone();
                lost = true;
            }
            let same = *before.tolerations == tolerations
                && (&before.record, before.bound, before.lost) == (&record, bound, lost)
                && before.asked == asked;
            if same {
                (before.version, before.is_annotated) = (version, is_annotated);
                return;
            }
        }
        if record == RecordState::Undecodable {
            self.undecodable_records.push(id.clone());
        }
        let tolerations = self.tolerations.take(tolerations);
        let list = self.pod_list;
        let pod = HeldPodEntry { id, version, tolerations, bound, record, is_annotated, asked, lost, list };
        Self::count(&mut self.stats, &pod.record, 1);
        self.pods += 1;
        if let Some(before) = node.pods.insert(key.uid.clone(), Box::new(pod)) {
            self.forget(&before);
        }
        self.changed_pods.push(key);
    }

    /// An entry is taken out.
    fn forget(&mut self, pod: &HeldPodEntry) {
        Self::count(&mut self.stats, &pod.record, -1);
        self.pods -= 1;
        self.tolerations.give_back(&pod.tolerations);
    }

    fn count(stats: &mut TolerationSecondsStats, record: &RecordState, by: isize) {
        let count = match record {
            RecordState::Absent => return,
            RecordState::Known(record) if record.is_released() => &mut stats.released,
            RecordState::Known(_) => &mut stats.held,
            RecordState::Undecodable => &mut stats.undecodable,
        };
        *count = count.saturating_add_signed(by);
    }

    /// Nothing is known of a node any more.
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
        // Taints without a time count from when they were first seen.
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
        self.pod_list += 1;
    }

    fn applied(&mut self, fact: HeldPodFact, listed: bool, _: Now) {
        self.put_pod(fact, listed);
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
        let pods = self.nodes.iter().flat_map(|(name, node)| node.pods.values().map(move |pod| (name, pod)));
        let gone = pods.filter(|(_, pod)| pod.list != list);
        let gone: Vec<_> = gone.map(|(name, pod)| (name.clone(), pod.id.uid().clone())).collect();
        gone.iter().for_each(|(name, uid)| self.remove_pod(uid, Some(name)));
        self.pods_synced |= list > 0;
    }
}
