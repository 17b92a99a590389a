//! Applies pod facts and lists to the cache.
//!
//! - Invariant: every change counts (TE-10); the binding time never changes while the pod lives (S4).

use super::cache::{NodeEntry, PodEntry, PodFlags};
use super::phase::EvictionPhase;
use super::{EvictionEngine, EvictionNotice};
use crate::fact::{PodFact, PodLifePhase};
use crate::identity::PodRef;
use crate::identity::{NodeName, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::taint_start;
use crate::time::{Mono, Now};
use alloc::vec::Vec;

impl ObjectIndex<PodFact> for EvictionEngine {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.pods_sync.start(silent_since);
        for entry in self.nodes.values_mut() {
            let (.., pods) = entry.split();
            pods.for_each(|pod| {
                pod.flags.set(PodFlags::SEEN, false);
                pod.flags.set(PodFlags::LISTED_SINCE_GONE, pod.phase() == EvictionPhase::Deleted);
            });
        }
    }

    fn applied(&mut self, fact: PodFact, listed: bool, now: Now) {
        let entry = self.nodes.entry(fact.node.clone());
        let node = entry.key().clone();
        let entry = entry.or_default();
        let uid = fact.id.uid().clone();
        let Some(pod) = entry.pod_mut(&uid) else {
            let observed = self.pods_sync.observed_via(&uid, listed);
            let arrival = taint_start::pod_binding(&fact.arrival, observed, now);
            let mut pod = PodEntry::new(fact, arrival, &mut self.lists);
            let reference = PodRef { node: node.clone(), uid: uid.clone() };
            if self.state.queue.pod_came(&reference) {
                pod.set_phase(EvictionPhase::InProgress, &mut self.state.counts);
            }
            let nothing_to_judge = entry.taints().is_empty() && !pod.flags.has(PodFlags::MARKED);
            entry.insert(pod);
            self.state.pods += 1;
            if nothing_to_judge {
                return;
            }
            return self.reassess_pod(&node, &uid, None, now.mono);
        };
        let older = fact.version.is_some() && fact.version < pod.version();
        if older && !listed {
            return;
        }
        if pod.phase() == EvictionPhase::Deleted && fact.standing == PodLifePhase::Live {
            if !is_back(pod, &fact, listed) {
                return pod.flags.set(PodFlags::SEEN, true);
            }
            pod.set_phase(EvictionPhase::Idle, &mut self.state.counts);
        }
        let reference = || PodRef { node: node.clone(), uid: uid.clone() };
        if fact.marked_by_another && !pod.flags.has(PodFlags::MARKED_BY_ANOTHER) && !listed {
            self.state.notices.push(EvictionNotice::OtherControllerDetected { pod: reference() });
        }
        if fact.standing == PodLifePhase::Terminating && pod.standing == PodLifePhase::Live && fact.marked {
            self.state.deleted_by_other(&reference());
        }
        // Its rank may change, and with it its place in the queue.
        let known_due = self.state.unqueue(pod, &node);
        pod.update(fact, &mut self.lists);
        self.reassess_pod(&node, &uid, known_due, now.mono);
    }

    /// A pod on no node was never known, so its end changes nothing.
    fn deleted(&mut self, pod: ObjectRef, _: Now) {
        if let Some(pod) = pod.into_pod() {
            self.delete_pod(&pod);
        }
    }

    /// It stays where it is (D11). Its node may not be known.
    fn undecodable(&mut self, pod: ObjectRef, now: Now) {
        if let Some(uid) = pod.uid {
            self.mark_pod_undecodable(&uid, pod.node.as_ref(), now.mono);
        }
    }

    fn list_completed(&mut self, _: Now) {
        if !self.pods_sync.complete() {
            return;
        }
        let mut gone = Vec::new();
        for (name, entry) in &self.nodes {
            let unseen = entry.pods().filter(|pod| !pod.flags.has(PodFlags::SEEN));
            gone.extend(unseen.map(|pod| PodRef { node: name.clone(), uid: pod.uid.clone() }));
        }
        for pod in gone {
            self.delete_pod(&pod);
        }
    }
}

impl EvictionEngine {
    /// A pod is gone, and with it whatever was planned for this UID; a successor of its name is another pod (D4, TE-15,
    /// TE-40).
    pub(super) fn delete_pod(&mut self, reference: &PodRef) {
        self.pods_sync.forget(&reference.uid);
        let Some(entry) = self.nodes.get_mut(&reference.node) else { return };
        let Some(mut pod) = entry.remove(&reference.uid) else { return };
        let before = pod.phase();
        if pod.standing == PodLifePhase::Live && pod.flags.has(PodFlags::MARKED) {
            self.state.deleted_by_other(reference);
        }
        self.state.remove_pod(&mut pod, &reference.node);
        entry.deadline_changed(&reference.uid, before, EvictionPhase::Deleted);
        self.lists.give_back(&pod.tolerations);
        if matches!(before, EvictionPhase::CountingDown(at) if at == entry.wakeup) {
            self.reschedule_wakeup(&reference.node);
        }
        self.remove_empty_entry(&reference.node);
    }

    pub(super) fn mark_pod_undecodable(&mut self, uid: &Uid, node: Option<&NodeName>, now: Mono) {
        let holds = |(name, entry): (&NodeName, &NodeEntry)| entry.pod(uid).is_some().then(|| name.clone());
        let node = node.cloned().or_else(|| self.nodes.iter().find_map(holds));
        let entry = node.and_then(|node| Some((self.nodes.get_mut(&node)?, node)));
        let Some((pod, node)) = entry.and_then(|(entry, node)| Some((entry.pod_mut(uid)?, node))) else {
            return self.pods_sync.mark_undecodable(uid.clone(), now);
        };
        pod.flags.set(PodFlags::UNREADABLE, true);
        pod.flags.set(PodFlags::SEEN, true);
        self.reassess_pod(&node, uid, None, now);
    }
}

/// Whether a pod whose deletion was accepted is there all the same, neither terminating nor gone: the store was put back to
/// an earlier state. News from before the DELETE may still be on its way, so only these count: a list that began after it
/// was accepted, or a newer version than the one it was accepted for, which no pod that is deleted can get while it lives.
fn is_back(pod: &PodEntry, fact: &PodFact, listed: bool) -> bool {
    let newer = pod.version().is_some() && fact.version > pod.version();
    newer || listed && pod.flags.has(PodFlags::LISTED_SINCE_GONE)
}
