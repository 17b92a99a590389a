//! # Ingest: what becomes of a fact
//! Room:     nodes and pods coming, changing, going; lists beginning and ending; the re-judging that follows.
//! Comes in: facts about one node or pod, and the time.
//! Goes out: the roster and the plans, as the facts now demand.
//! Keeps:    every change of a fact is looked at, whatever it was (TE-9, TE-10); a start or an arrival never changes
//!           while its taint instance or pod lives (S4).
//! Not here: requests and their answers (`turns.rs`).

use super::queue::PodRef;
use super::roster::{Flags, Known, Pod, Seat, Stage, Tolerations};
use super::{Engine, Notice, Sync};
use crate::fact::{NodeFact, PodFact};
use crate::matching::{self, Answer, NumericOperators};
use crate::names::{NodeName, Uid};
use crate::start::{self, Sighting};
use crate::taint::{Effect, Taint};
use crate::time::{Mono, Now};
use crate::verdict::{self, TaintInstance};
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Distinct toleration lists whose answers are remembered during the walk over one node's pods.
const ANSWERS_REMEMBERED_MAX: usize = 32;

impl Sync {
    fn begin(&mut self, silent_since: Option<Mono>) {
        self.running = Some(silent_since);
    }

    fn end(&mut self) {
        *self = Self { complete_once: true, running: None };
    }

    fn sighting(&self, listed: bool) -> Sighting {
        match listed {
            true => Sighting::Listed { absent_until: self.running.flatten() },
            false => Sighting::Live,
        }
    }
}

/// What may have happened to a node between two facts without being told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Unseen {
    /// Nothing: the watch tells of every change.
    Nothing,
    /// Anything: from this moment on, if it is known.
    Since(Option<Mono>),
}

impl Engine {
    pub(super) fn nodes_begin(&mut self, silent_since: Option<Mono>) {
        self.nodes_sync.begin(silent_since);
        for known in self.nodes.values_mut().filter_map(|seat| seat.known.as_mut()) {
            known.seen = false;
        }
    }

    /// A node by the watch or a list.
    pub(super) fn node(&mut self, fact: NodeFact, listed: bool, now: Now) {
        let sighting = self.nodes_sync.sighting(listed);
        let unseen = match sighting {
            Sighting::Live => Unseen::Nothing,
            Sighting::Listed { absent_until } => Unseen::Since(absent_until),
        };
        self.node_told(fact, sighting, unseen, now);
    }

    pub(super) fn node_told(&mut self, fact: NodeFact, sighting: Sighting, unseen: Unseen, now: Now) {
        let listed = sighting != Sighting::Live;
        let name = fact.name.clone();
        let seat = self.nodes.entry(name.clone()).or_default();
        // Also of another incarnation: versions are ordered across all objects.
        let newest = seat.known.as_ref().and_then(|known| known.version);
        let older = fact.version.is_some() && fact.version < newest;
        if older && !listed {
            return;
        }
        let before = seat.known.take().filter(|known| known.uid == fact.uid);
        if before.is_none() || older {
            seat.check = seat.check.of_another_node();
        }
        let obscured = before.as_ref().is_some_and(|known| known.obscured);
        let unseen = if obscured && unseen == Unseen::Nothing { Unseen::Since(None) } else { unseen };
        let taints = instances(before.as_ref(), &fact, (sighting, unseen), now, &mut self.book.notices);
        let changed = obscured || before.is_none_or(|known| known.taints != taints);
        seat.known = Some(Known {
            uid: fact.uid,
            version: fact.version,
            taints,
            taints_changed: fact.taints_changed,
            obscured: false,
            seen: true,
        });
        if changed {
            self.reassess(&name, now.mono);
        }
    }

    /// A node is gone, and with it every reason to leave it (D10, TE-11, TE-42).
    pub(super) fn node_gone(&mut self, name: &NodeName, uid: Option<&Uid>, now: Mono) {
        let Some(seat) = self.nodes.get_mut(name) else { return };
        let Some(known) = &seat.known else { return };
        if uid.is_some_and(|uid| *uid != known.uid) {
            return;
        }
        seat.known = None;
        seat.check = seat.check.of_another_node();
        self.reassess(name, now);
        self.clear_seat(name);
    }

    pub(super) fn node_unreadable(&mut self, name: &NodeName, now: Mono) {
        let Some(known) = self.nodes.get_mut(name).and_then(|seat| seat.known.as_mut()) else { return };
        known.seen = true;
        if !known.obscured {
            known.obscured = true;
            self.reassess(name, now);
        }
    }

    pub(super) fn nodes_end(&mut self, now: Mono) {
        if self.nodes_sync.running.is_none() {
            return;
        }
        self.nodes_sync.end();
        let vanished = |seat: &Seat| seat.known.as_ref().is_some_and(|known| !known.seen);
        let gone: Vec<_> =
            self.nodes.iter().filter(|(_, seat)| vanished(seat)).map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.node_gone(&name, None, now);
        }
    }

    pub(super) fn pods_begin(&mut self, silent_since: Option<Mono>) {
        self.pods_sync.begin(silent_since);
        for seat in self.nodes.values_mut() {
            let (.., pods) = seat.split();
            pods.for_each(|pod| pod.flags.set(Flags::SEEN, false));
        }
    }

    pub(super) fn pod(&mut self, fact: PodFact, listed: bool, now: Now) {
        let sighting = self.pods_sync.sighting(listed);
        let entry = self.nodes.entry(fact.node.clone());
        let node = entry.key().clone();
        let seat = entry.or_default();
        let uid = fact.uid.clone();
        let Some(pod) = seat.pod_mut(&uid) else {
            let arrival = start::of_pod(&fact.arrival, sighting, now);
            let mut pod = Pod::new(fact, arrival, &mut self.lists);
            let reference = PodRef { node: node.clone(), uid: uid.clone() };
            if let Some(attempt) = self.book.queue.attempts.get_mut(&reference) {
                attempt.vanished = false;
                pod.set_stage(Stage::InHand);
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
        let newly_marked = fact.marked && !pod.flags.has(Flags::MARKED);
        if newly_marked && !listed && !self.book.is_marking(&node, &uid) {
            let pod = PodRef { node: node.clone(), uid: uid.clone() };
            self.book.notices.push(Notice::ForeignMark { pod });
        }
        // Its rank may change, and with it its place in the queue.
        let known_due = self.book.unqueue(pod, &node);
        pod.update(fact, &mut self.lists);
        self.reassess_pod(&node, &uid, known_due, now.mono);
    }

    /// A pod is gone, and with it whatever was planned for this UID; a successor of its name is another pod (D4, TE-15,
    /// TE-40).
    pub(super) fn pod_gone(&mut self, reference: &PodRef) {
        let Some(seat) = self.nodes.get_mut(&reference.node) else { return };
        let Some(mut pod) = seat.remove(&reference.uid) else { return };
        let deadline = match pod.stage() {
            Stage::Counting(at) => Some(at),
            _ => None,
        };
        self.book.leave(&mut pod, &reference.node);
        self.lists.give_back(&pod.tolerations);
        if deadline.is_some() && seat.wake == deadline {
            self.rewake(&reference.node);
        }
        self.clear_seat(&reference.node);
    }

    pub(super) fn pod_unreadable(&mut self, uid: &Uid, node: Option<&NodeName>, now: Mono) {
        let holds = |(name, seat): (&NodeName, &Seat)| seat.pod(uid).is_some().then(|| name.clone());
        let node = match node {
            Some(node) => Some(node.clone()),
            None => self.nodes.iter().find_map(holds),
        };
        let Some(node) = node else { return };
        if let Some(pod) = self.nodes.get_mut(&node).and_then(|seat| seat.pod_mut(uid)) {
            pod.flags.set(Flags::UNREADABLE, true);
            pod.flags.set(Flags::SEEN, true);
            self.reassess_pod(&node, uid, None, now);
        }
    }

    pub(super) fn pods_end(&mut self) {
        if self.pods_sync.running.is_none() {
            return;
        }
        self.pods_sync.end();
        let mut gone = Vec::new();
        for (name, seat) in &self.nodes {
            let unseen = seat.pods().filter(|pod| !pod.flags.has(Flags::SEEN));
            gone.extend(unseen.map(|pod| PodRef { node: name.clone(), uid: pod.uid.clone() }));
        }
        for pod in gone {
            self.pod_gone(&pod);
        }
    }

    /// Judges every pod of a node again, at one moment, and plans accordingly (TE-12, TE-13, TE-14).
    pub(super) fn reassess(&mut self, node: &NodeName, now: Mono) {
        let Some(seat) = self.nodes.get_mut(node) else { return };
        let numeric = self.config.numeric;
        let (taints, obscured, pods) = seat.split();
        let mut remembered: Vec<(Tolerations, Vec<Answer>)> = Vec::new();
        for pod in pods {
            let at = remembered.iter().position(|(list, _)| list.is(&pod.tolerations));
            let at = at.unwrap_or_else(|| {
                remembered.truncate(ANSWERS_REMEMBERED_MAX - 1);
                remembered.push((pod.tolerations.clone(), answers(pod, taints, numeric)));
                remembered.len() - 1
            });
            let subject = pod.subject(obscured);
            let outcome = verdict::outcome(&subject, taints, &self.book.holds, &remembered[at].1, now);
            self.book.settle(pod, outcome, node, None, now);
        }
        self.rewake(node);
    }

    /// Judges one pod again and plans accordingly, on an untainted node too (TE-16, TE-44); `known_due`: it was taken
    /// out of the queue for this.
    pub(super) fn reassess_pod(&mut self, node: &NodeName, uid: &Uid, known_due: Option<Mono>, now: Mono) {
        let Some(seat) = self.nodes.get_mut(node) else { return };
        let numeric = self.config.numeric;
        let obscured = seat.obscured();
        let wake = seat.wake;
        let (taints, Some(pod)) = seat.taints_and_pod(uid) else { return };
        let before = pod.stage();
        let answers = answers(pod, taints, numeric);
        let outcome = verdict::outcome(&pod.subject(obscured), taints, &self.book.holds, &answers, now);
        self.book.settle(pod, outcome, node, known_due, now);
        match (before, pod.stage()) {
            (before, after) if before == after => {}
            (_, Stage::Counting(at)) if wake.is_none_or(|wake| at < wake) => self.set_wake(node, Some(at)),
            (Stage::Counting(at), _) if wake == Some(at) => self.rewake(node),
            _ => {}
        }
    }

    /// Finds the earliest deadline of a node's pods.
    fn rewake(&mut self, node: &NodeName) {
        let Some(seat) = self.nodes.get(node) else { return };
        let deadlines = seat.pods().filter_map(|pod| match pod.stage() {
            Stage::Counting(at) => Some(at),
            _ => None,
        });
        let earliest = deadlines.min();
        self.set_wake(node, earliest);
    }

    fn set_wake(&mut self, node: &NodeName, wake: Option<Mono>) {
        let Some(seat) = self.nodes.get_mut(node) else { return };
        if seat.wake == wake {
            return;
        }
        if let Some(old) = core::mem::replace(&mut seat.wake, wake) {
            self.wakes.remove(&(old, node.clone()));
        }
        if let Some(new) = wake {
            self.wakes.insert((new, node.clone()));
        }
    }

    /// Gives up a seat that holds nothing.
    pub(super) fn clear_seat(&mut self, node: &NodeName) {
        if self.nodes.get(node).is_some_and(Seat::is_vacant) {
            self.set_wake(node, None);
            self.nodes.remove(node);
        }
    }
}

fn answers(pod: &Pod, taints: &[TaintInstance], numeric: NumericOperators) -> Vec<Answer> {
    matching::answers(&pod.tolerations, taints.iter().map(|instance| &instance.taint), numeric)
}

/// The node's NoExecute taint instances: those that go on keep their start, others get one (D1, S4).
fn instances(
    before: Option<&Known>,
    fact: &NodeFact,
    (sighting, unseen): (Sighting, Unseen),
    now: Now,
    notices: &mut Vec<Notice>,
) -> Vec<TaintInstance> {
    let instances = before.map(Known::instances).unwrap_or_default();
    let instance = |taint: &Taint| {
        let known = before.and_then(|known| Some((known, *instances.get(&identity(taint))?)));
        let start = match (known, unseen) {
            (Some((_, instance)), Unseen::Nothing) => instance.start,
            (Some((known, instance)), Unseen::Since(gap)) => {
                let doubt = known.doubt(instance, taint, fact, now);
                match doubt.is_some_and(|doubt| doubt.news || gap.is_none_or(|gap| gap < doubt.end)) {
                    true => start::of_taint(taint, fact, Sighting::Listed { absent_until: gap }, now),
                    false => instance.start,
                }
            }
            (None, _) => start::of_taint(taint, fact, sighting, now),
        };
        if known.is_none() && sighting == Sighting::Live && taint.time_added.is_none() {
            let (node, uid, key) = (fact.name.clone(), fact.uid.clone(), taint.key.clone());
            notices.push(Notice::Unstamped { node, uid, key, at: now.mono });
        }
        TaintInstance { taint: taint.clone(), start }
    };
    evicting(fact).map(instance).collect()
}

fn evicting(fact: &NodeFact) -> impl Iterator<Item = &Taint> {
    fact.taints.iter().filter(|taint| taint.effect == Effect::NoExecute)
}

/// What makes two taints the same one (MATCH-1).
fn identity(taint: &Taint) -> (&str, &Effect) {
    (&taint.key, &taint.effect)
}

impl Known {
    /// The instances by identity: a node may have thousands of taints.
    fn instances(&self) -> BTreeMap<(&str, &Effect), &TaintInstance> {
        self.taints.iter().rev().map(|instance| (identity(&instance.taint), instance)).collect()
    }

    /// Whether a taint may have gone and come back unseen since `instance` was known: what is said of its beginning is
    /// later than the instance's start, and is news, or leaves room for it within its own second. Whoever watched a
    /// new `timeAdded` being written knows that it is somebody's refresh, and the instance goes on (P46); who did not
    /// can't tell, and nobody leaves early (S3). A `timeAdded` that was in the future all along says nothing.
    fn doubt(&self, instance: &TaintInstance, taint: &Taint, fact: &NodeFact, now: Now) -> Option<Doubt> {
        let said = taint.time_added.or(fact.taints_changed)?;
        let news = instance.taint.time_added.or(self.taints_changed) != Some(said);
        // Clocks of which nothing is known place no moment: only news is told apart.
        let end = start::latest(said, now).unwrap_or(if news { Mono::NEVER } else { instance.start.at });
        let earliest = now.earliest_mono_of(said);
        let has_room = || earliest.is_some_and(|earliest| earliest <= instance.start.at);
        let possible = instance.start.at < end && (news || has_room());
        possible.then_some(Doubt { news, end })
    }

    /// Whether a live read shows a node of which the watch has yet to tell something that matters: whether a taint
    /// that we know is still the same instance.
    pub(super) fn is_behind(&self, fact: &NodeFact, now: Now) -> bool {
        let ahead = self.version.is_some() && fact.version > self.version;
        if !ahead || self.uid != fact.uid || self.obscured {
            return false;
        }
        let instances = self.instances();
        evicting(fact).any(|taint| {
            let instance = instances.get(&identity(taint));
            let doubt = instance.and_then(|instance| self.doubt(instance, taint, fact, now));
            doubt.is_some_and(|doubt| doubt.news || doubt.end <= now.mono)
        })
    }
}

/// A taint may be another instance than the one known before it.
struct Doubt {
    /// What is said of its beginning is not what was said before.
    news: bool,
    /// The latest moment at which that beginning can have been.
    end: Mono,
}
