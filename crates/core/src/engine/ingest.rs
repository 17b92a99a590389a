//! # Ingest: what becomes of a fact about a node
//! Room:     nodes coming, changing, going; lists beginning and ending; which taints are the same instances as before.
//! Comes in: facts about one node, and the time.
//! Goes out: the roster as the facts now demand, and each node that has changed judged again.
//! Keeps:    every change of a fact is looked at, whatever it was (TE-9); a start never changes while its taint instance
//!           lives (S4), unless it can't be told from another that came in between: nobody leaves early (S3).
//! Not here: pods (`pods.rs`); judging (`reassess.rs`); requests and their answers (`turns.rs`).

use super::roster::{Known, Seat};
use super::{Engine, Notice};
use crate::fact::NodeFact;
use crate::names::{NodeName, Uid};
use crate::start::{self, Sighting};
use crate::taint::{Effect, Taint};
use crate::time::{Mono, Now};
use crate::verdict::TaintInstance;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// Where the list of one kind stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Sync {
    pub(super) complete_once: bool,
    /// While a list runs: the last moment of complete knowledge before it, if there ever was one.
    pub(super) running: Option<Option<Mono>>,
}

impl Sync {
    pub(super) fn begin(&mut self, silent_since: Option<Mono>) {
        self.running = Some(silent_since);
    }

    pub(super) fn end(&mut self) {
        *self = Self { complete_once: true, running: None };
    }

    /// The last moment at which something that is told of for the first time, `now`, was not there, as far as known.
    pub(super) fn absent_until(&self, now: Mono) -> Option<Mono> {
        self.running.unwrap_or(self.complete_once.then_some(now))
    }

    pub(super) fn sighting(&self, listed: bool) -> Sighting {
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
        self.unread_nodes.list_begins();
        for known in self.nodes.values_mut().filter_map(|seat| seat.known.as_mut()) {
            known.seen = false;
        }
    }

    /// A node by the watch or a list.
    pub(super) fn node(&mut self, fact: NodeFact, listed: bool, now: Now) {
        let unread = self.unread_nodes.take(&fact.name);
        let sighting = unread.unwrap_or_else(|| self.nodes_sync.sighting(listed));
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
        // What came while it could not be decoded did not come now.
        let (sighting, unseen) = match (obscured, unseen) {
            (true, Unseen::Nothing) => (Sighting::Listed { absent_until: None }, Unseen::Since(None)),
            _ => (sighting, unseen),
        };
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
        self.unread_nodes.take(name);
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
        let Some(known) = self.nodes.get_mut(name).and_then(|seat| seat.known.as_mut()) else {
            return self.unread_nodes.tell(name.clone(), self.nodes_sync.absent_until(now));
        };
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
        self.unread_nodes.list_ends();
        let vanished = |seat: &Seat| seat.known.as_ref().is_some_and(|known| !known.seen);
        let gone: Vec<_> =
            self.nodes.iter().filter(|(_, seat)| vanished(seat)).map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.node_gone(&name, None, now);
        }
    }
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
                let doubt = known.doubt_since(gap, instance, taint, fact, now);
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
    /// can't tell, and nobody leaves early (S3). So without a `timeAdded`, where only the last change of the whole list
    /// is said, a countdown begins again with any change of the list that nobody watched (D1). A `timeAdded` that was in
    /// the future all along says nothing.
    fn doubt(&self, instance: &TaintInstance, taint: &Taint, fact: &NodeFact, now: Now) -> Option<Doubt> {
        self.doubt_since(None, instance, taint, fact, now)
    }

    /// The same for what can have happened since `gap` only, the last moment of complete knowledge. The same version of
    /// the same node says that nothing has happened (S4, L4).
    fn doubt_since(
        &self,
        gap: Option<Mono>,
        instance: &TaintInstance,
        taint: &Taint,
        fact: &NodeFact,
        now: Now,
    ) -> Option<Doubt> {
        if !self.obscured && self.version.is_some() && self.version == fact.version {
            return None;
        }
        let said = taint.time_added.or(fact.taints_changed)?;
        let news = instance.taint.time_added.or(self.taints_changed) != Some(said);
        // Clocks of which nothing is known place no moment: only news is told apart.
        let end = start::latest(said, now).unwrap_or(if news { Mono::NEVER } else { instance.start.at });
        let earliest = now.earliest_mono_of(said);
        // What was the same before the gap has room for another beginning only if that second was not over then.
        let last_known = gap.map_or(instance.start.at, |gap| gap.max(instance.start.at));
        let has_room = || earliest.is_some_and(|earliest| earliest <= last_known);
        let possible = instance.start.at < end && (news || has_room());
        possible.then_some(Doubt { news, end })
    }

    /// What a live read shows of which the watch has yet to tell: whether a taint that we know is still the same
    /// instance.
    pub(super) fn behind(&self, fact: &NodeFact, now: Now) -> Behind {
        let ahead = self.version.is_some() && fact.version > self.version;
        if !ahead || self.uid != fact.uid || self.obscured {
            return Behind::Nothing;
        }
        let instances = self.instances();
        let behind = |taint: &Taint| {
            let instance = instances.get(&identity(taint))?;
            let doubt = self.doubt(instance, taint, fact, now)?;
            match doubt.news {
                true => Some(Behind::News),
                false => (doubt.end <= now.mono).then_some(Behind::Doubt),
            }
        };
        evicting(fact).filter_map(behind).max().unwrap_or(Behind::Nothing)
    }
}

/// What the watch has yet to tell of a node that was read live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Behind {
    /// Nothing that matters.
    Nothing,
    /// A taint may be another instance, begun within the second that its beginning is said to lie in.
    Doubt,
    /// Something else is said of a taint's beginning.
    News,
}

/// A taint may be another instance than the one known before it.
struct Doubt {
    /// What is said of its beginning is not what was said before.
    news: bool,
    /// The latest moment at which that beginning can have been.
    end: Mono,
}
