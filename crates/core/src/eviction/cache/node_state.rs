//! Stores what is known about an existing node: its NoExecute taint instances, matched with those known before.
//!
//! - Invariant: every change counts (TE-9). A start never changes while its taint instance lives (S4), unless the taint
//!   may have been removed and added again unseen: then it starts later, so that no pod is evicted early (S3).

use crate::eviction::config::EvictionConfig;
use crate::eviction::notice::EvictionNotice;
use crate::fact::NodeFact;
use crate::identity::{ResourceVersion, Uid};
use crate::ordered_hold::HoldWindows;
use crate::scheduling::Labels;
use crate::taint::{Taint, TaintEffect};
use crate::taint_start::{self, ObservedVia};
use crate::time::{Mono, Now, Wall};
use crate::verdict::TaintInstance;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

mod read;
mod updates;

/// The source of a fact about a node, which determines what may have happened unobserved since the previous fact.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NodeSource {
    /// The watch, which delivers every change; or a live read of a state that the watch has delivered.
    Watch,
    /// A list: anything may have happened since this moment, if it is known.
    List {
        /// The last moment of complete knowledge.
        absent_until: Option<Mono>,
    },
    /// A live read that is ahead of the watch.
    NewerRead,
}

/// What a fact changed.
enum NodeChange {
    /// Nothing: it is older than the known state.
    Outdated,
    /// It is the known state now.
    Applied {
        /// The node was replaced, or went back to an earlier state.
        is_other: bool,
        /// Its pods have to be judged again.
        reassess: bool,
        /// Its labels, or the taints that its annotation allows, have changed.
        relabelled: bool,
    },
}

/// What is known about an existing node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct NodeState {
    uid: Uid,
    version: Option<ResourceVersion>,
    /// NoExecute only, in the node's order.
    taints: Vec<TaintInstance>,
    /// When the list of taints last changed, if known.
    taints_changed: Option<Wall>,
    /// The node's object could not be decoded the last time: its taints are unknown (D11).
    undecodable: bool,
    /// Observed in the current list; always true outside of a list.
    seen: bool,
    /// It is ready, and has the taint out-of-service.
    ready_out_of_service: bool,
    /// For policies.
    labels: Option<Box<Labels>>,
    /// Few nodes have any.
    orders: Option<Box<NodeOrders>>,
}

/// What annotations of a node order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct NodeOrders {
    /// For the brake: the taints that are allowed.
    allow: Option<Box<str>>,
    /// The holds of its pods.
    holds: HoldWindows,
}

impl NodeState {
    /// Applies a fact to what is known about the node.
    fn update(
        state: &mut Option<Self>,
        fact: NodeFact,
        source: NodeSource,
        config: &EvictionConfig,
        now: Now,
        notices: &mut Vec<EvictionNotice>,
    ) -> NodeChange {
        // Also for a new UID: versions are ordered across all objects.
        let newest = state.as_ref().and_then(|known| known.version);
        let older = fact.version.is_some() && fact.version < newest;
        if older && !matches!(source, NodeSource::List { .. }) {
            // It exists: a list does not have to repeat what the watch delivers.
            state.iter_mut().filter(|known| known.uid == fact.uid).for_each(|known| known.seen = true);
            return NodeChange::Outdated;
        }
        let before = state.take().filter(|known| known.uid == fact.uid);
        let undecodable = before.as_ref().is_some_and(|known| known.undecodable);
        let source = match source {
            // What appeared while it could not be decoded did not appear just now.
            NodeSource::Watch if undecodable => NodeSource::List { absent_until: None },
            source => source,
        };
        let taints = match config.starts_as_named {
            true => instances_as_named(before.as_ref(), &fact, now),
            false => instances(before.as_ref(), &fact, source, now, notices),
        };
        let is_other = before.is_none() || older;
        let known = before.as_ref().and_then(|known| known.labels.as_ref());
        let allow = fact.allow_no_execute.filter(|_| config.brake.is_some());
        let is_allowed_other = before.as_ref().is_some_and(|known| known.allow() != allow.as_deref());
        let relabelled = is_allowed_other || fact.labels.is_some() && fact.labels.as_ref() != known;
        let labels = fact.labels.or_else(|| known.cloned());
        let none = HoldWindows::default();
        let placed = before.as_ref().and_then(Self::holds).unwrap_or(&none);
        let holds = config.hold_windows(fact.holds.as_deref(), placed, now);
        let is_same = |known: Self| known.taints == taints && *known.holds().unwrap_or(&none) == holds;
        let reassess = undecodable || !before.is_some_and(is_same);
        *state = Some(Self {
            uid: fact.uid,
            version: fact.version,
            taints,
            taints_changed: fact.taints_changed,
            undecodable: false,
            seen: true,
            ready_out_of_service: fact.ready_out_of_service,
            labels,
            orders: Some(NodeOrders { allow, holds })
                .filter(|orders| *orders != NodeOrders::default())
                .map(Box::new),
        });
        NodeChange::Applied { is_other, reassess, relabelled }
    }

    /// Records that it cannot be decoded; true if it could be before.
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

    pub(super) fn uid(&self) -> &Uid {
        &self.uid
    }

    pub(super) fn version(&self) -> Option<ResourceVersion> {
        self.version
    }

    pub(super) fn taints(&self) -> &[TaintInstance] {
        &self.taints
    }

    pub(super) fn labels(&self) -> Option<&Labels> {
        self.labels.as_deref()
    }

    /// Its annotation that allows taints.
    pub(super) fn allow(&self) -> Option<&str> {
        self.orders.as_ref()?.allow.as_deref()
    }

    pub(super) fn holds(&self) -> Option<&HoldWindows> {
        self.orders.as_ref().map(|orders| &orders.holds)
    }

    pub(super) fn is_ready_out_of_service(&self) -> bool {
        self.ready_out_of_service
    }

    pub(super) fn is_undecodable(&self) -> bool {
        self.undecodable
    }

    /// Compares a live read that is ahead of the watch: whether each known taint is still the same instance.
    fn staleness(&self, fact: &NodeFact, now: Now) -> CacheStaleness {
        let ahead = self.version.is_some() && fact.version > self.version;
        if !ahead || self.uid != fact.uid || self.undecodable {
            return CacheStaleness::UpToDate;
        }
        let instances = self.instances();
        let behind = |taint: &Taint| {
            let instance = instances.get(&identity(taint))?;
            Some(match self.doubt(instance, taint, fact, now)? {
                TaintRestartDoubt::WithinSecond => CacheStaleness::Uncertain,
                TaintRestartDoubt::Later => CacheStaleness::Newer,
            })
        };
        evicting(fact).filter_map(behind).max().unwrap_or(CacheStaleness::UpToDate)
    }

    /// The instances by identity: a node may have thousands of taints.
    fn instances(&self) -> BTreeMap<(&str, &TaintEffect), &TaintInstance> {
        self.taints.iter().rev().map(|instance| (identity(&instance.taint), instance)).collect()
    }

    /// Whether a taint may have been removed and added again unobserved since `instance` was known. This is so if the
    /// reported start is later than the instance's start, and either differs from the one reported before or leaves
    /// room for a new start within its own second. A client that watches a new `timeAdded` being written knows that it
    /// is a refresh, and the instance continues (P46); without watching, the two cannot be distinguished, and no pod is
    /// evicted early (S3). So for a taint without `timeAdded`, where only the last change of the whole list is known, a
    /// countdown restarts with any change of the list that was not watched (D1). A `timeAdded` that was in the future
    /// all along proves nothing.
    fn doubt(
        &self,
        instance: &TaintInstance,
        taint: &Taint,
        fact: &NodeFact,
        now: Now,
    ) -> Option<TaintRestartDoubt> {
        self.doubt_since(None, instance, taint, fact, now)
    }

    /// The same, if anything can have happened only since `gap`, the last moment of complete knowledge. The same
    /// version of the same node proves that nothing has happened (S4, L4).
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
        let written = taint.time_added.or(fact.taints_changed)?;
        let is_new = instance.taint.time_added.or(self.taints_changed) != Some(written);
        // Without knowledge of the clocks no time can be compared.
        let end = taint_start::latest(written, now).unwrap_or(Mono::NEVER);
        // An unchanged value leaves room for a new start within its own second: the watch may have shown only the change that
        // came first in it, of this taint or of another one.
        let possible = instance.start.at < end && (is_new || gap.is_none_or(|gap| gap < end));
        let earliest = now.earliest_mono_of(written);
        let is_same_second = !is_new && earliest.is_some_and(|earliest| earliest <= instance.start.at);
        possible.then_some(match is_same_second {
            true => TaintRestartDoubt::WithinSecond,
            false => TaintRestartDoubt::Later,
        })
    }
}

/// How far the watch is behind a live read of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CacheStaleness {
    /// Nothing relevant differs.
    UpToDate,
    /// A taint may be another instance that started within the second of the known start.
    Uncertain,
    /// A taint may be another instance that started later.
    Newer,
}

/// A taint may be another instance than the known one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TaintRestartDoubt {
    /// The reported start is in the second of the known one: to count from its end costs no more than that.
    WithinSecond,
    /// The new instance may have started later.
    Later,
}

/// Returns the node's NoExecute taint instances: those that continue keep their start, others get one (D1, S4).
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
                match known.doubt_since(gap, instance, taint, fact, now) {
                    Some(_) => {
                        taint_start::taint_start(taint, fact, ObservedVia::List { absent_until: gap }, now)
                    }
                    None => instance.start,
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

/// Returns the node's NoExecute taint instances, each with the start that its object names. A start that no object names
/// stays.
fn instances_as_named(before: Option<&NodeState>, fact: &NodeFact, now: Now) -> Vec<TaintInstance> {
    let instances = before.map(NodeState::instances).unwrap_or_default();
    let instance = |taint: &Taint| {
        let known = before.and_then(|known| Some((known, *instances.get(&identity(taint))?)));
        let named = |own: &Taint, changed| own.time_added.or(changed);
        let unchanged = known.filter(|(known, instance)| {
            named(&instance.taint, known.taints_changed) == named(taint, fact.taints_changed)
        });
        let start = unchanged.map(|(_, instance)| instance.start);
        let start = start.unwrap_or_else(|| taint_start::taint_start_for_display(taint, fact, now));
        TaintInstance { taint: taint.clone(), start }
    };
    evicting(fact).map(instance).collect()
}

fn evicting(fact: &NodeFact) -> impl Iterator<Item = &Taint> {
    fact.taints.iter().filter(|taint| taint.effect == TaintEffect::NoExecute)
}

/// The identity of a taint (MATCH-1).
fn identity(taint: &Taint) -> (&str, &TaintEffect) {
    (&taint.key, &taint.effect)
}

#[cfg(test)]
mod tests;
