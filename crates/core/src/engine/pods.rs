//! # Pods: what becomes of a fact about a pod
//! Room:     pods coming, changing, going; lists beginning and ending.
//! Comes in: facts about one pod, and the time.
//! Goes out: the roster as the facts now demand, and each pod that is told of judged again.
//! Keeps:    every change of a fact is looked at, whatever it was (TE-10); an arrival never changes while its pod lives
//!           (S4).
//! Not here: nodes (`ingest.rs`); judging (`reassess.rs`); requests and their answers (`turns.rs`).

use super::queue::PodRef;
use super::roster::{Flags, Pod, Seat, Stage};
use super::{Engine, Notice};
use crate::fact::{PodFact, Standing};
use crate::names::{NodeName, Uid};
use crate::start;
use crate::time::{Mono, Now};
use alloc::vec::Vec;

impl Engine {
    pub(super) fn pods_begin(&mut self, silent_since: Option<Mono>) {
        self.pods_sync.begin(silent_since);
        self.unread_pods.list_begins();
        for seat in self.nodes.values_mut() {
            let (.., pods) = seat.split();
            pods.for_each(|pod| {
                pod.flags.set(Flags::SEEN, false);
                pod.flags.set(Flags::LISTED_SINCE_GONE, pod.stage() == Stage::Gone);
            });
        }
    }

    pub(super) fn pod(&mut self, fact: PodFact, listed: bool, now: Now) {
        let sighting = self.pods_sync.sighting(listed);
        let entry = self.nodes.entry(fact.node.clone());
        let node = entry.key().clone();
        let seat = entry.or_default();
        let uid = fact.uid.clone();
        let Some(pod) = seat.pod_mut(&uid) else {
            let sighting = self.unread_pods.take(&uid).unwrap_or(sighting);
            let arrival = start::of_pod(&fact.arrival, sighting, now);
            let mut pod = Pod::new(fact, arrival, &mut self.lists);
            let reference = PodRef { node: node.clone(), uid: uid.clone() };
            if let Some(attempt) = self.book.queue.attempts.get_mut(&reference) {
                attempt.vanished = false;
                pod.set_stage(Stage::InHand, &mut self.book.counts);
            }
            let nothing_to_judge = seat.taints().is_empty() && !pod.flags.has(Flags::MARKED);
            seat.insert(pod);
            self.book.pods += 1;
            if nothing_to_judge {
                return;
            }
            return self.reassess_pod(&node, &uid, None, now.mono);
        };
        let older = fact.version.is_some() && fact.version < pod.version();
        if older && !listed {
            return;
        }
        if pod.stage() == Stage::Gone && fact.standing == Standing::Live {
            if !is_back(pod, &fact, listed) {
                return pod.flags.set(Flags::SEEN, true);
            }
            pod.set_stage(Stage::Quiet, &mut self.book.counts);
        }
        let reference = || PodRef { node: node.clone(), uid: uid.clone() };
        if fact.marked_by_another && !pod.flags.has(Flags::MARKED_BY_ANOTHER) && !listed {
            self.book.notices.push(Notice::ForeignMark { pod: reference() });
        }
        if fact.standing == Standing::Terminating && pod.standing == Standing::Live && fact.marked {
            self.book.overtaken(&reference());
        }
        // Its rank may change, and with it its place in the queue.
        let known_due = self.book.unqueue(pod, &node);
        pod.update(fact, &mut self.lists);
        self.reassess_pod(&node, &uid, known_due, now.mono);
    }

    /// A pod is gone, and with it whatever was planned for this UID; a successor of its name is another pod (D4, TE-15,
    /// TE-40).
    pub(super) fn pod_gone(&mut self, reference: &PodRef) {
        self.unread_pods.take(&reference.uid);
        let Some(seat) = self.nodes.get_mut(&reference.node) else { return };
        let Some(mut pod) = seat.remove(&reference.uid) else { return };
        let before = pod.stage();
        if pod.standing == Standing::Live && pod.flags.has(Flags::MARKED) {
            self.book.overtaken(reference);
        }
        self.book.leave(&mut pod, &reference.node);
        seat.deadline_changed(&reference.uid, before, Stage::Gone);
        self.lists.give_back(&pod.tolerations);
        if matches!(before, Stage::Counting(at) if at == seat.wake) {
            self.rewake(&reference.node);
        }
        self.clear_seat(&reference.node);
    }

    pub(super) fn pod_unreadable(&mut self, uid: &Uid, node: Option<&NodeName>, now: Mono) {
        let holds = |(name, seat): (&NodeName, &Seat)| seat.pod(uid).is_some().then(|| name.clone());
        let node = node.cloned().or_else(|| self.nodes.iter().find_map(holds));
        let seat = node.and_then(|node| Some((self.nodes.get_mut(&node)?, node)));
        let Some((pod, node)) = seat.and_then(|(seat, node)| Some((seat.pod_mut(uid)?, node))) else {
            return self.unread_pods.tell(uid.clone(), self.pods_sync.absent_until(now));
        };
        pod.flags.set(Flags::UNREADABLE, true);
        pod.flags.set(Flags::SEEN, true);
        self.reassess_pod(&node, uid, None, now);
    }

    pub(super) fn pods_end(&mut self) {
        if self.pods_sync.running.is_none() {
            return;
        }
        self.pods_sync.end();
        self.unread_pods.list_ends();
        let mut gone = Vec::new();
        for (name, seat) in &self.nodes {
            let unseen = seat.pods().filter(|pod| !pod.flags.has(Flags::SEEN));
            gone.extend(unseen.map(|pod| PodRef { node: name.clone(), uid: pod.uid.clone() }));
        }
        for pod in gone {
            self.pod_gone(&pod);
        }
    }
}

/// Whether a pod whose deletion was accepted is there all the same, neither terminating nor gone: the store was put back to
/// an earlier state. News from before the DELETE may still be on its way, so only these count: a list that began after it
/// was accepted, or a newer version than the one it was accepted for, which no pod that is deleted can get while it lives.
fn is_back(pod: &Pod, fact: &PodFact, listed: bool) -> bool {
    let newer = pod.version().is_some() && fact.version > pod.version();
    newer || listed && pod.flags.has(Flags::LISTED_SINCE_GONE)
}
