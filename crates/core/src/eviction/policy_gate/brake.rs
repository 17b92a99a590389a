//! Counts the nodes whose pods each taint key evicts, and brakes a key while there are more of them than the limit allows.
//!
//! - Invariant: the count follows from the objects. A process that starts counts the nodes with a young taint, because it
//!   cannot know whether their pods are gone; what else it forgets only ends a brake later.
//! - Invariant: a node without the taint does not count, and neither do keys that say that nodes are dead.

use crate::eviction::notice::EvictionNotice;
use crate::eviction_policy::is_dead_node_key;
use crate::identity::{NodeName, PodRef, Uid};
use crate::node_limit::NodeLimit;
use crate::taint_start::TaintStartSource;
use crate::time::{Mono, Span};
use crate::verdict::TaintInstance;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// How long a node counts after the last of its pods became due.
const COUNTS_FOR: Span = Span::from_secs(300);

/// How long a key stays braked after its taint was removed from a node that counted. While a mistake is undone node by node,
/// the last nodes are within the limit, and would otherwise lose their pods just before they lose the taint.
const SETTLES_FOR: Span = Span::from_secs(30);

/// The nodes that count, by taint key.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Brake {
    limit: NodeLimit,
    known_nodes: usize,
    keys: BTreeMap<Box<str>, BTreeMap<NodeName, CountedNode>>,
    /// The keys that each node counts for.
    keys_of: BTreeMap<NodeName, BTreeSet<Box<str>>>,
    /// When nodes stop to count by the passing of time, and when keys have settled.
    timers: BTreeSet<(Mono, Box<str>, Option<NodeName>)>,
    /// Keys that delay, or have delayed, a pod since the limit was exceeded.
    engaged: BTreeMap<Box<str>, EngagedKey>,
    /// Keys that are engaged no more, and whose pods have not got their turn yet.
    ended: BTreeSet<Box<str>>,
    notices: Vec<EvictionNotice>,
}

/// A node that counts for a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct CountedNode {
    /// The pods that are due because of the key.
    due: BTreeSet<Uid>,
    /// It counts until then even without such pods.
    until: Option<Mono>,
}

/// A key that delays pods.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct EngagedKey {
    /// The node of the first pod that it delayed.
    node: NodeName,
    /// When it has settled, if it has not.
    settled: Option<Mono>,
}

/// How many nodes count for a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BrakeCount {
    pub(crate) nodes: usize,
    pub(crate) limit: usize,
}

impl Brake {
    pub(crate) fn new(limit: NodeLimit) -> Self {
        Self {
            limit,
            known_nodes: 0,
            keys: BTreeMap::new(),
            keys_of: BTreeMap::new(),
            timers: BTreeSet::new(),
            engaged: BTreeMap::new(),
            ended: BTreeSet::new(),
            notices: Vec::new(),
        }
    }

    /// A node has these NoExecute taints; `None`: it exists no more.
    pub(crate) fn follow_node(
        &mut self,
        node: &NodeName,
        was_known: bool,
        taints: Option<&[TaintInstance]>,
        now: Mono,
    ) {
        let known_nodes = self.known_nodes + usize::from(taints.is_some()) - usize::from(was_known);
        let has_grown = core::mem::replace(&mut self.known_nodes, known_nodes) < known_nodes;
        let taints = taints.unwrap_or_default();
        if let Some(counted) = self.keys_of.get(node) {
            let present: BTreeSet<&str> = taints.iter().map(|instance| &*instance.taint.key).collect();
            let removed = counted.iter().filter(|key| !present.contains(&***key));
            for key in removed.cloned().collect::<Vec<_>>() {
                self.settle(&key, now);
                self.stop_counting(&key, node);
            }
        }
        // A taint whose appearance was not observed may have evicted pods that are gone.
        let found = taints.iter().filter(|instance| instance.start.source != TaintStartSource::SeenLive);
        for TaintInstance { taint, start } in found {
            if start.at.plus(COUNTS_FOR) > now && !is_dead_node_key(&taint.key) {
                self.count_until(&taint.key, node, start.at.plus(COUNTS_FOR), now);
            }
        }
        if has_grown && self.limit.percent.is_some() {
            self.engaged.keys().cloned().collect::<Vec<_>>().iter().for_each(|key| self.end(key));
        }
    }

    /// A pod is due because of taints with these keys, since these moments.
    pub(crate) fn set_due(&mut self, pod: &PodRef, due: &[(&str, Mono)], now: Mono) {
        let is_due = |key: &str| due.iter().any(|(one, _)| *one == key);
        let counted = self.keys_of.get(&pod.node).into_iter().flatten();
        let left = counted.filter(|key| !is_due(key)).cloned().collect::<Vec<_>>();
        for key in left {
            let Some(counted) = self.counted(&key, &pod.node) else { continue };
            if counted.due.remove(&pod.uid) && counted.due.is_empty() && counted.until.is_none() {
                self.stop_counting(&key, &pod.node);
            }
        }
        for (key, at) in due.iter().filter(|(key, _)| !is_dead_node_key(key)) {
            self.count(key, &pod.node).due.insert(pod.uid.clone());
            self.count_until(key, &pod.node, at.plus(COUNTS_FOR), now);
        }
    }

    fn counted(&mut self, key: &str, node: &NodeName) -> Option<&mut CountedNode> {
        self.keys.get_mut(key)?.get_mut(node)
    }

    fn count(&mut self, key: &str, node: &NodeName) -> &mut CountedNode {
        self.keys_of.entry(node.clone()).or_default().insert(key.into());
        self.keys.entry(key.into()).or_default().entry(node.clone()).or_default()
    }

    fn count_until(&mut self, key: &str, node: &NodeName, until: Mono, now: Mono) {
        let before = self.counted(key, node).and_then(|counted| counted.until);
        if until <= now || before.is_some_and(|before| until <= before) {
            return;
        }
        if let Some(before) = before {
            self.timers.remove(&(before, key.into(), Some(node.clone())));
        }
        self.count(key, node).until = Some(until);
        self.timers.insert((until, key.into(), Some(node.clone())));
    }

    fn stop_counting(&mut self, key: &str, node: &NodeName) {
        let Some(nodes) = self.keys.get_mut(key) else { return };
        if let Some(until) = nodes.remove(node).and_then(|counted| counted.until) {
            self.timers.remove(&(until, key.into(), Some(node.clone())));
        }
        if nodes.is_empty() {
            self.keys.remove(key);
        }
        if let Some(of_node) = self.keys_of.get_mut(node) {
            of_node.remove(key);
            if of_node.is_empty() {
                self.keys_of.remove(node);
            }
        }
        self.end(key);
    }

    /// The taint was removed from a node that counted.
    fn settle(&mut self, key: &str, now: Mono) {
        let Some(engaged) = self.engaged.get_mut(key) else { return };
        let at = now.plus(SETTLES_FOR);
        if let Some(before) = engaged.settled.replace(at) {
            self.timers.remove(&(before, key.into(), None));
        }
        self.timers.insert((at, key.into(), None));
    }

    /// How many nodes count for a key.
    pub(crate) fn count_of(&self, key: &str) -> BrakeCount {
        let nodes = self.keys.get(key).map_or(0, BTreeMap::len);
        BrakeCount { nodes, limit: self.limit.allowed(self.known_nodes) }
    }

    /// Whether no pod may be evicted because of this key.
    pub(crate) fn is_braked(&self, key: &str) -> bool {
        let BrakeCount { nodes, limit } = self.count_of(key);
        nodes > limit || self.engaged.get(key).is_some_and(|engaged| engaged.settled.is_some())
    }

    /// A key delays a pod on this node.
    pub(crate) fn engage(&mut self, key: &str, node: &NodeName) {
        if self.engaged.contains_key(key) {
            return;
        }
        self.engaged.insert(key.into(), EngagedKey { node: node.clone(), settled: None });
        let BrakeCount { nodes, limit } = self.count_of(key);
        self.notices.push(EvictionNotice::BrakeBegan { key: key.into(), node: node.clone(), nodes, limit });
    }

    /// A key is engaged no more, if few enough nodes count.
    fn end(&mut self, key: &str) {
        if self.is_braked(key) {
            return;
        }
        let Some(EngagedKey { node, .. }) = self.engaged.remove(key) else { return };
        let BrakeCount { nodes, limit } = self.count_of(key);
        self.ended.insert(key.into());
        self.notices.push(EvictionNotice::BrakeEnded { key: key.into(), node, nodes, limit });
    }

    /// The engaged keys.
    pub(crate) fn engaged_keys(&self) -> impl Iterator<Item = &str> {
        self.engaged.keys().map(|key| &**key)
    }

    /// The number of engaged keys.
    pub(crate) fn engaged(&self) -> usize {
        self.engaged.len()
    }

    /// Time has passed.
    pub(crate) fn pass_time(&mut self, now: Mono) {
        while self.timers.first().is_some_and(|(at, ..)| *at <= now) {
            let Some((_, key, node)) = self.timers.pop_first() else { return };
            let Some(node) = node else {
                self.engaged.get_mut(&key).into_iter().for_each(|engaged| engaged.settled = None);
                self.end(&key);
                continue;
            };
            let Some(counted) = self.counted(&key, &node) else { continue };
            counted.until = None;
            if counted.due.is_empty() {
                self.stop_counting(&key, &node);
            }
        }
    }

    /// When the passing of time alone may end a brake.
    pub(crate) fn next_timer(&self) -> Option<Mono> {
        self.timers.first().map(|(at, ..)| *at)
    }

    /// Whether pods have to get their turn because a key is engaged no more.
    pub(crate) fn has_ended(&self) -> bool {
        !self.ended.is_empty()
    }

    /// The nodes of keys that are engaged no more: every pod that such a key delayed is on one of them.
    pub(crate) fn take_released(&mut self) -> BTreeSet<NodeName> {
        let ended = core::mem::take(&mut self.ended);
        let released = ended.iter().filter(|key| !self.is_braked(key));
        released.filter_map(|key| self.keys.get(key)).flat_map(BTreeMap::keys).cloned().collect()
    }

    pub(crate) fn take_notices(&mut self) -> Vec<EvictionNotice> {
        core::mem::take(&mut self.notices)
    }
}

#[cfg(test)]
mod tests;
