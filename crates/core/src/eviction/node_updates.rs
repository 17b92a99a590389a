//! Applies node facts and lists to the cache, and matches taints with the instances known before.
//!
//! - Invariant: every change counts (TE-9). A start never changes while its taint instance lives (S4), unless the taint
//!   may have been removed and added again unseen: then it starts later, so that no pod leaves early (S3).

use super::cache::{NodeEntry, NodeState};
use super::{EvictionEngine, EvictionNotice};
use crate::fact::NodeFact;
use crate::identity::{NodeName, Uid};
use crate::object_event::{ObjectIndex, ObjectRef};
use crate::taint::{Taint, TaintEffect};
use crate::taint_start::{self, ObservedVia};
use crate::time::{Mono, Now};
use crate::verdict::TaintInstance;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

/// What may have happened to a node between two facts without being told.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum MissedUpdates {
    /// Nothing: the watch tells of every change.
    None,
    /// Anything: from this moment on, if it is known.
    Since(Option<Mono>),
}

impl ObjectIndex<NodeFact> for EvictionEngine {
    fn list_started(&mut self, silent_since: Option<Mono>) {
        self.nodes_sync.start(silent_since);
        for known in self.nodes.values_mut().filter_map(|entry| entry.state.as_mut()) {
            known.seen = false;
        }
    }

    /// A node by the watch or a list.
    fn applied(&mut self, fact: NodeFact, listed: bool, now: Now) {
        let observed = self.nodes_sync.observed_via(&fact.name, listed);
        let unseen = match observed {
            ObservedVia::WatchEvent => MissedUpdates::None,
            ObservedVia::List { absent_until } => MissedUpdates::Since(absent_until),
        };
        self.apply_observed_node(fact, observed, unseen, now);
    }

    fn deleted(&mut self, node: ObjectRef, now: Now) {
        self.delete_node(&node.node_name(), node.uid.as_ref(), now.mono);
    }

    /// No pod leaves a node that cannot be decoded (D11).
    fn undecodable(&mut self, node: ObjectRef, now: Now) {
        self.mark_node_undecodable(&node.node_name(), now.mono);
    }

    fn list_completed(&mut self, now: Now) {
        if !self.nodes_sync.complete() {
            return;
        }
        let vanished = |entry: &NodeEntry| entry.state.as_ref().is_some_and(|known| !known.seen);
        let gone: Vec<_> =
            self.nodes.iter().filter(|(_, entry)| vanished(entry)).map(|(name, _)| name.clone()).collect();
        for name in gone {
            self.delete_node(&name, None, now.mono);
        }
    }
}

impl EvictionEngine {
    pub(super) fn mark_node_undecodable(&mut self, name: &NodeName, now: Mono) {
        let Some(known) = self.nodes.get_mut(name).and_then(|entry| entry.state.as_mut()) else {
            return self.nodes_sync.mark_undecodable(name.clone(), now);
        };
        known.seen = true;
        if !known.undecodable {
            known.undecodable = true;
            self.reassess(name, now);
        }
    }

    pub(super) fn apply_observed_node(
        &mut self,
        fact: NodeFact,
        observed: ObservedVia,
        unseen: MissedUpdates,
        now: Now,
    ) {
        let listed = observed != ObservedVia::WatchEvent;
        let name = fact.name.clone();
        let entry = self.nodes.entry(name.clone()).or_default();
        // Also of another incarnation: versions are ordered across all objects.
        let newest = entry.state.as_ref().and_then(|known| known.version);
        let older = fact.version.is_some() && fact.version < newest;
        if older && !listed {
            return;
        }
        let before = entry.state.take().filter(|known| known.uid == fact.uid);
        if before.is_none() || older {
            entry.confirmation = entry.confirmation.of_another_node();
        }
        let undecodable = before.as_ref().is_some_and(|known| known.undecodable);
        // What came while it could not be decoded did not come now.
        let (observed, unseen) = match (undecodable, unseen) {
            (true, MissedUpdates::None) => {
                (ObservedVia::List { absent_until: None }, MissedUpdates::Since(None))
            }
            _ => (observed, unseen),
        };
        let taints = instances(before.as_ref(), &fact, (observed, unseen), now, &mut self.state.notices);
        let changed = undecodable || before.is_none_or(|known| known.taints != taints);
        entry.state = Some(NodeState {
            uid: fact.uid,
            version: fact.version,
            taints,
            taints_changed: fact.taints_changed,
            undecodable: false,
            seen: true,
        });
        if changed {
            self.reassess(&name, now.mono);
        }
    }

    /// A node is gone, and with it every reason to leave it (D10, TE-11, TE-42).
    fn delete_node(&mut self, name: &NodeName, uid: Option<&Uid>, now: Mono) {
        self.nodes_sync.forget(name);
        let Some(entry) = self.nodes.get_mut(name) else { return };
        let Some(known) = &entry.state else { return };
        if uid.is_some_and(|uid| *uid != known.uid) {
            return;
        }
        entry.state = None;
        entry.confirmation = entry.confirmation.of_another_node();
        self.reassess(name, now);
        self.remove_empty_entry(name);
    }
}

/// The node's NoExecute taint instances: those that go on keep their start, others get one (D1, S4).
fn instances(
    before: Option<&NodeState>,
    fact: &NodeFact,
    (observed, unseen): (ObservedVia, MissedUpdates),
    now: Now,
    notices: &mut Vec<EvictionNotice>,
) -> Vec<TaintInstance> {
    let instances = before.map(NodeState::instances).unwrap_or_default();
    let instance = |taint: &Taint| {
        let known = before.and_then(|known| Some((known, *instances.get(&identity(taint))?)));
        let start = match (known, unseen) {
            (Some((_, instance)), MissedUpdates::None) => instance.start,
            (Some((known, instance)), MissedUpdates::Since(gap)) => {
                let doubt = known.doubt_since(gap, instance, taint, fact, now);
                match doubt.is_some_and(|doubt| doubt.news || gap.is_none_or(|gap| gap < doubt.end)) {
                    true => {
                        taint_start::taint_start(taint, fact, ObservedVia::List { absent_until: gap }, now)
                    }
                    false => instance.start,
                }
            }
            (None, _) => taint_start::taint_start(taint, fact, observed, now),
        };
        if known.is_none() && observed == ObservedVia::WatchEvent && taint.time_added.is_none() {
            let (node, uid, key) = (fact.name.clone(), fact.uid.clone(), taint.key.clone());
            notices.push(EvictionNotice::TaintWithoutTimeAdded { node, uid, key, at: now.mono });
        }
        TaintInstance { taint: taint.clone(), start }
    };
    evicting(fact).map(instance).collect()
}

fn evicting(fact: &NodeFact) -> impl Iterator<Item = &Taint> {
    fact.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute)
}

/// What makes two taints the same one (MATCH-1).
fn identity(taint: &Taint) -> (&str, &TaintEffect) {
    (&taint.key, &taint.effect)
}

impl NodeState {
    /// The instances by identity: a node may have thousands of taints.
    fn instances(&self) -> BTreeMap<(&str, &TaintEffect), &TaintInstance> {
        self.taints.iter().rev().map(|instance| (identity(&instance.taint), instance)).collect()
    }

    /// Whether a taint may have gone and come back unseen since `instance` was known: what is said of its beginning is
    /// later than the instance's start, and is news, or leaves room for it within its own second. Whoever watched a
    /// new `timeAdded` being written knows that it is somebody's refresh, and the instance goes on (P46); who did not
    /// can't tell, and nobody leaves early (S3). So without a `timeAdded`, where only the last change of the whole list
    /// is said, a countdown begins again with any change of the list that nobody watched (D1). A `timeAdded` that was in
    /// the future all along says nothing.
    fn doubt(
        &self,
        instance: &TaintInstance,
        taint: &Taint,
        fact: &NodeFact,
        now: Now,
    ) -> Option<TaintRestartDoubt> {
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
    ) -> Option<TaintRestartDoubt> {
        if !self.undecodable && self.version.is_some() && self.version == fact.version {
            return None;
        }
        let said = taint.time_added.or(fact.taints_changed)?;
        let news = instance.taint.time_added.or(self.taints_changed) != Some(said);
        // Clocks of which nothing is known place no moment: only news is told apart.
        let end =
            taint_start::latest(said, now).unwrap_or(if news { Mono::NEVER } else { instance.start.at });
        let earliest = now.earliest_mono_of(said);
        // What was the same before the gap has room for another beginning only if that second was not over then.
        let last_known = gap.map_or(instance.start.at, |gap| gap.max(instance.start.at));
        let has_room = || earliest.is_some_and(|earliest| earliest <= last_known);
        let possible = instance.start.at < end && (news || has_room());
        possible.then_some(TaintRestartDoubt { news, end })
    }

    /// What a live read shows of which the watch has yet to tell: whether a taint that we know is still the same
    /// instance.
    pub(super) fn behind(&self, fact: &NodeFact, now: Now) -> CacheStaleness {
        let ahead = self.version.is_some() && fact.version > self.version;
        if !ahead || self.uid != fact.uid || self.undecodable {
            return CacheStaleness::UpToDate;
        }
        let instances = self.instances();
        let behind = |taint: &Taint| {
            let instance = instances.get(&identity(taint))?;
            let doubt = self.doubt(instance, taint, fact, now)?;
            match doubt.news {
                true => Some(CacheStaleness::Newer),
                false => (doubt.end <= now.mono).then_some(CacheStaleness::Uncertain),
            }
        };
        evicting(fact).filter_map(behind).max().unwrap_or(CacheStaleness::UpToDate)
    }
}

/// What the watch has yet to tell of a node that was read live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CacheStaleness {
    /// Nothing that matters.
    UpToDate,
    /// A taint may be another instance, begun within the second that its beginning is said to lie in.
    Uncertain,
    /// Something else is said of a taint's beginning.
    Newer,
}

/// A taint may be another instance than the one known before it.
struct TaintRestartDoubt {
    /// What is said of its beginning is not what was said before.
    news: bool,
    /// The latest moment at which that beginning can have been.
    end: Mono,
}
