//! Caches nodes with their NoExecute taint instances, and the pods that are bound to each, in few bytes.
//!
//! - Invariant: the cache has its own index of pods by node (TE-8), sorted by UID, so that equal facts make equal
//!   caches.
//! - See `cache/judgement.rs` for what follows for pods from a change.

use super::EvictionPhase;
use super::EvictionState;
use super::NodeConfirmation;
use super::config::EvictionConfig;
use super::stats::PendingEviction;
use crate::countdown_hold::HoldHistory;
use crate::identity::{NodeName, PodName, PodRef, ResourceVersion, Uid};
use crate::taint_start::ObservedVia;
use crate::time::{Mono, Now};
use crate::toleration_matching::NumericOperators;
use crate::verdict::{self, TaintInstance, Verdict};
use alloc::collections::{BTreeMap, BTreeSet};
use node_pods::NodePods;
use node_state::NodeState;
use pod_entry::{PodEntry, TolerationInterner};

mod judgement;
mod node_pods;
mod node_read;
mod node_state;
mod node_updates;
mod pod_entry;
mod pod_updates;

/// A node's place: the node, if it exists, and the pods bound to its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct NodeEntry {
    state: Option<NodeState>,
    pods: NodePods,
    /// The earliest deadline of its counting pods; [`Mono::NEVER`]: there is none.
    wakeup: Mono,
    confirmation: NodeConfirmation,
}

impl Default for NodeEntry {
    fn default() -> Self {
        let (pods, confirmation) = (NodePods::default(), NodeConfirmation::default());
        Self { state: None, pods, wakeup: Mono::NEVER, confirmation }
    }
}

impl NodeEntry {
    fn taints(&self) -> &[TaintInstance] {
        self.state.as_ref().map_or(&[], NodeState::taints)
    }

    fn is_undecodable(&self) -> bool {
        self.state.as_ref().is_some_and(NodeState::is_undecodable)
    }

    /// Nobody lives here, there is no such node, and no answer about it is awaited.
    fn is_vacant(&self) -> bool {
        let awaited = matches!(self.confirmation, NodeConfirmation::InFlight { .. });
        self.state.is_none() && self.pods.iter().len() == 0 && !awaited
    }
}

/// Where the list of one kind stands, and its objects that could never be decoded (D11): since when something may have
/// existed that is told of for the first time. They are told apart by `K`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ListSync<K> {
    complete_once: bool,
    /// While a list runs: the last moment of complete knowledge before it, if there ever was one.
    running: Option<Option<Mono>>,
    undecodable: BTreeMap<K, UndecodableSince>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct UndecodableSince {
    absent_until: Option<Mono>,
    /// Seen in the running list; always true outside one.
    seen: bool,
}

impl<K> Default for ListSync<K> {
    fn default() -> Self {
        Self { complete_once: false, running: None, undecodable: BTreeMap::new() }
    }
}

impl<K: Ord> ListSync<K> {
    /// Whether a list was complete once.
    fn is_complete(&self) -> bool {
        self.complete_once
    }

    fn start(&mut self, silent_since: Option<Mono>) {
        self.running = Some(silent_since);
        self.undecodable.values_mut().for_each(|since| since.seen = false);
    }

    /// False if no list runs.
    fn complete(&mut self) -> bool {
        if self.running.take().is_none() {
            return false;
        }
        self.complete_once = true;
        self.undecodable.retain(|_, since| since.seen);
        true
    }

    /// How an object came to be known that can be decoded now.
    fn observed_via(&mut self, key: &K, listed: bool) -> ObservedVia {
        match (self.undecodable.remove(key), listed) {
            (Some(UndecodableSince { absent_until, .. }), _) => ObservedVia::List { absent_until },
            (None, true) => ObservedVia::List { absent_until: self.running.flatten() },
            (None, false) => ObservedVia::WatchEvent,
        }
    }

    /// An object cannot be decoded, and never was. What is told of for the first time was not there before the list that
    /// runs, or before now, as far as known.
    fn mark_undecodable(&mut self, key: K, now: Mono) {
        let absent_until = self.running.unwrap_or(self.complete_once.then_some(now));
        self.undecodable.entry(key).or_insert(UndecodableSince { absent_until, seen: true }).seen = true;
    }

    /// An object is gone.
    fn forget(&mut self, key: &K) {
        self.undecodable.remove(key);
    }
}

/// What is known of nodes and pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Cache {
    nodes: BTreeMap<NodeName, NodeEntry>,
    lists: TolerationInterner,
    /// When each entry with counting pods is to be looked at again.
    wakeups: BTreeSet<(Mono, NodeName)>,
    nodes_sync: ListSync<NodeName>,
    pods_sync: ListSync<Uid>,
}

impl Cache {
    /// Whether both lists were complete once.
    pub(super) fn is_synced(&self) -> bool {
        self.nodes_sync.is_complete() && self.pods_sync.is_complete()
    }

    /// When the first deadline of a counting pod comes.
    pub(super) fn next_deadline(&self) -> Option<Mono> {
        self.wakeups.first().map(|(at, _)| *at)
    }

    /// How many nodes there are, and how many of them have a NoExecute taint.
    pub(super) fn node_counts(&self) -> (usize, usize) {
        let known = self.nodes.values().filter_map(|entry| entry.state.as_ref());
        let tainted = known.clone().filter(|known| !known.taints().is_empty());
        (known.count(), tainted.count())
    }

    /// All pods with a deadline, in no particular order of time.
    pub(super) fn pending(&self) -> impl Iterator<Item = PendingEviction<'_>> {
        self.pods().filter_map(|(node, pod)| match pod.phase() {
            EvictionPhase::CountingDown(until) => {
                Some(PendingEviction { node, uid: pod.uid(), name: pod.name(), until })
            }
            _ => None,
        })
    }

    /// All pods that have a deadline, a turn or an attempt, in no particular order.
    pub(super) fn pods_with_eviction_state(&self) -> impl Iterator<Item = PodRef> {
        let concerned = |phase| {
            matches!(
                phase,
                EvictionPhase::CountingDown(_) | EvictionPhase::Due(_) | EvictionPhase::InProgress
            )
        };
        let pods = self.pods().filter(move |(_, pod)| concerned(pod.phase()));
        pods.map(|(node, pod)| PodRef { node: node.clone(), uid: pod.uid().clone() })
    }

    fn pods(&self) -> impl Iterator<Item = (&NodeName, &PodEntry)> {
        self.nodes.iter().flat_map(|(node, entry)| entry.pods.iter().map(move |pod| (node, pod)))
    }

    /// The version of a pod, if it is known.
    pub(super) fn version(&self, pod: &PodRef) -> Option<ResourceVersion> {
        self.nodes.get(&pod.node)?.pods.get(&pod.uid)?.version()
    }

    /// The name and the full verdict of a pod, with the taints it is judged by.
    pub(super) fn explain(
        &self,
        pod: &PodRef,
        holds: &HoldHistory,
        numeric: NumericOperators,
        now: Now,
    ) -> Option<(&PodName, Verdict, &[TaintInstance])> {
        let entry = self.nodes.get(&pod.node)?;
        let pod = entry.pods.get(&pod.uid)?;
        let (subject, taints) = (pod.input(entry.is_undecodable()), entry.taints());
        Some((pod.name(), verdict::judge_held(&subject, taints, holds, numeric, now), taints))
    }

    /// Finds the earliest deadline of a node's pods.
    fn reschedule_wakeup(&mut self, node: &NodeName) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        let earliest = entry.pods.earliest_deadline();
        self.set_wakeup(node, earliest);
    }

    fn set_wakeup(&mut self, node: &NodeName, wake: Mono) {
        let Some(entry) = self.nodes.get_mut(node) else { return };
        if entry.wakeup == wake {
            return;
        }
        let old = core::mem::replace(&mut entry.wakeup, wake);
        if old != Mono::NEVER {
            self.wakeups.remove(&(old, node.clone()));
        }
        if wake != Mono::NEVER {
            self.wakeups.insert((wake, node.clone()));
        }
    }

    /// Gives up an entry that holds nothing.
    fn remove_empty_entry(&mut self, node: &NodeName) {
        if self.nodes.get(node).is_some_and(NodeEntry::is_vacant) {
            self.set_wakeup(node, Mono::NEVER);
            self.nodes.remove(node);
        }
    }
}

/// A change of the cache, with all that follows from it for what is planned and what is to be told.
pub(super) struct CacheUpdate<'u> {
    cache: &'u mut Cache,
    state: &'u mut EvictionState,
    config: &'u EvictionConfig,
}

impl<'u> CacheUpdate<'u> {
    pub(super) fn new(
        cache: &'u mut Cache,
        state: &'u mut EvictionState,
        config: &'u EvictionConfig,
    ) -> Self {
        Self { cache, state, config }
    }
}

#[cfg(test)]
mod tests;
