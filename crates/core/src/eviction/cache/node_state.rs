//! Keeps what is known of a node that exists: its NoExecute taint instances, matched with those known before.
//!
//! - Invariant: every change counts (TE-9). A start never changes while its taint instance lives (S4), unless the taint
//!   may have been removed and added again unseen: then it starts later, so that no pod leaves early (S3).

use crate::eviction::notice::EvictionNotice;
use crate::fact::NodeFact;
use crate::identity::{ResourceVersion, Uid};
use crate::taint::{Taint, TaintEffect};
use crate::taint_start::{self, ObservedVia};
use crate::time::{Mono, Now, Wall};
use crate::verdict::TaintInstance;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

mod read;
mod updates;

/// Where a fact about a node comes from, and so what may have happened since the fact before it without being told.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeSource {
    /// The watch, which tells of every change; or a live read that shows what the watch has told.
    Watch,
    /// A list: anything may have happened from this moment on, if it is known.
    List {
        /// The last moment of complete knowledge.
        absent_until: Option<Mono>,
    },
    /// A live read of which the watch has yet to tell.
    NewerRead,
}

/// What a fact has changed.
enum NodeChange {
    /// Nothing: it is older than what is known.
    Outdated,
    /// It is what is known now.
    Applied {
        /// The node is another one, or told of as it was before.
        is_other: bool,
        /// Its pods are to be judged again.
        reassess: bool,
    },
}

/// What is known of a node that exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeState {
    uid: Uid,
    version: Option<ResourceVersion>,
    /// NoExecute only, in the node's order.
    taints: Vec<TaintInstance>,
    /// When the list of taints last changed, as far as told.
    taints_changed: Option<Wall>,
    /// The node's object could not be decoded lately: its taints are not understood (D11).
    undecodable: bool,
    /// Seen in the running list; always true outside one.
    seen: bool,
    /// It is ready, and bears the taint out-of-service.
    ready_out_of_service: bool,
}

impl NodeState {
    /// Takes a fact over into what is known of the node, if anything is.
    fn update(
        state: &mut Option<Self>,
        fact: NodeFact,
        source: NodeSource,
        now: Now,
        notices: &mut Vec<EvictionNotice>,
    ) -> NodeChange {
        // Also of another incarnation: versions are ordered across all objects.
        let newest = state.as_ref().and_then(|known| known.version);
        let older = fact.version.is_some() && fact.version < newest;
        if older && !matches!(source, NodeSource::List { .. }) {
            return NodeChange::Outdated;
        }
        let before = state.take().filter(|known| known.uid == fact.uid);
        let undecodable = before.as_ref().is_some_and(|known| known.undecodable);
        let source = match source {
            // What came while it could not be decoded did not come now.
            NodeSource::Watch if undecodable => NodeSource::List { absent_until: None },
            source => source,
        };
        let taints = instances(before.as_ref(), &fact, source, now, notices);
        let is_other = before.is_none() || older;
        let reassess = undecodable || before.is_none_or(|known| known.taints != taints);
        *state = Some(Self {
            uid: fact.uid,
            version: fact.version,
            taints,
            taints_changed: fact.taints_changed,
            undecodable: false,
            seen: true,
            ready_out_of_service: fact.ready_out_of_service,
        });
        NodeChange::Applied { is_other, reassess }
    }

    /// It cannot be decoded; true if it could be before.
    fn mark_undecodable(&mut self) -> bool {
        self.seen = true;
        !core::mem::replace(&mut self.undecodable, true)
    }

    fn start_list(&mut self) {
        self.seen = false;
    }

    fn is_seen(&self) -> bool {
        self.seen
    }

    fn is(&self, uid: &Uid) -> bool {
        self.uid == *uid
    }

    pub(super) fn version(&self) -> Option<ResourceVersion> {
        self.version
    }

    pub(super) fn taints(&self) -> &[TaintInstance] {
        &self.taints
    }

    pub(super) fn is_ready_out_of_service(&self) -> bool {
        self.ready_out_of_service
    }

    pub(super) fn is_undecodable(&self) -> bool {
        self.undecodable
    }

    /// What a live read shows of which the watch has yet to tell: whether a taint that we know is still the same
    /// instance.
    fn staleness(&self, fact: &NodeFact, now: Now) -> CacheStaleness {
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
}

/// What the watch has yet to tell of a node that was read live.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CacheStaleness {
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

/// The node's NoExecute taint instances: those that go on keep their start, others get one (D1, S4).
fn instances(
    before: Option<&NodeState>,
    fact: &NodeFact,
    source: NodeSource,
    now: Now,
    notices: &mut Vec<EvictionNotice>,
) -> Vec<TaintInstance> {
    let instances = before.map(NodeState::instances).unwrap_or_default();
    let observed = match source {
        NodeSource::Watch | NodeSource::NewerRead => ObservedVia::WatchEvent,
        NodeSource::List { absent_until } => ObservedVia::List { absent_until },
    };
    let gap = match source {
        NodeSource::Watch => None,
        NodeSource::List { absent_until } => Some(absent_until),
        NodeSource::NewerRead => Some(None),
    };
    let instance = |taint: &Taint| {
        let known = before.and_then(|known| Some((known, *instances.get(&identity(taint))?)));
        let start = match (known, gap) {
            (Some((_, instance)), None) => instance.start,
            (Some((known, instance)), Some(gap)) => {
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

#[cfg(test)]
mod tests;
