//! Keeps the pods that a policy or the brake delays: each in one list, for one reason, the oldest first.
//!
//! - Invariant: a list costs nothing while nothing changes: its pods have no timers except the deadlines of budgets.

use crate::eviction::delay_reason::{DelayCategory, DelayedPods};
use crate::eviction::order::EvictionOrder;
use crate::eviction::work_queue::QueueKey;
use crate::identity::{NodeName, PodRef, Uid};
use crate::time::Mono;
use crate::workload::Workload;
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// What a pod waits for. Pods that wait for the same thing are in one list.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) enum WaitList {
    /// A first complete list of objects.
    Sync,
    /// The brake of this taint key.
    Brake(Box<str>),
    /// That a policy is corrected.
    Policies,
    /// A change of the budgets of this namespace: the pod has several.
    BudgetsOf(Box<str>),
    /// The same: a budget rejected its eviction, and none is known that selects it.
    UnknownBudget(Box<str>),
    /// This budget; pods that are ready and pods that are not wait apart, because the eviction API lets them go by different
    /// rules.
    Budget { budget: Uid, is_ready: bool },
    /// Under this policy, replicas of this workload.
    Workload(Uid, Workload),
    /// Under this policy, that another node is empty.
    Node(Uid, NodeName),
    /// The wave of this order on this node.
    Wave(NodeName, EvictionOrder),
    /// The rate of this policy.
    Rate(Uid),
}

impl WaitList {
    /// Both lists of a budget.
    pub(crate) fn of_budget(budget: &Uid) -> [Self; 2] {
        [true, false].map(|is_ready| Self::Budget { budget: budget.clone(), is_ready })
    }

    /// What delays its pods.
    const fn category(&self) -> DelayCategory {
        match self {
            Self::Sync | Self::Policies => DelayCategory::Policy,
            Self::Brake(_) => DelayCategory::Brake,
            Self::BudgetsOf(_) | Self::UnknownBudget(_) | Self::Budget { .. } => DelayCategory::Budget,
            Self::Workload(..) | Self::Node(..) | Self::Rate(_) => DelayCategory::Limit,
            Self::Wave(..) => DelayCategory::Order,
        }
    }

    /// Whether one pod of the list at a time gets its turn: the next one when that pod has not used up what they wait for.
    const fn is_one_at_a_time(&self) -> bool {
        matches!(self, Self::Budget { .. } | Self::Workload(..) | Self::Rate(_))
    }
}

/// Why a pod waits, and for how long at most.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Delay {
    /// Since when the pod has been due.
    pub(crate) due: Mono,
    pub(crate) list: WaitList,
    /// The policy, if it is known.
    pub(crate) policy: Option<Uid>,
    /// When it gets its turn, whatever it waits for: budgets no longer count, or another taint demands its eviction.
    pub(crate) wake_at: Option<Mono>,
}

/// A pod that waits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct WaitingPod {
    pub(crate) key: QueueKey,
    /// When it was known to be due.
    pub(crate) known_due: Mono,
    /// Its policy, if that is known.
    pub(crate) policy: Option<Uid>,
    /// When it gets its turn, whatever it waits for.
    wake_at: Option<Mono>,
    list: WaitList,
    /// It has got its turn, and is still counted here until that comes.
    has_turn: bool,
}

/// All pods that wait.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct WaitLists {
    pods: BTreeMap<PodRef, WaitingPod>,
    /// None is empty.
    lists: BTreeMap<WaitList, BTreeSet<QueueKey>>,
    /// Lists of which a pod has its turn.
    turns: BTreeSet<WaitList>,
    /// When pods get their turn, whatever they wait for.
    wakes: BTreeSet<(Mono, PodRef)>,
    /// When a list may open by the passing of time alone.
    timers: BTreeSet<(Mono, WaitList)>,
    /// Lists that may have opened.
    changed: BTreeSet<WaitList>,
}

impl WaitLists {
    /// A pod waits.
    pub(crate) fn park(
        &mut self,
        key: QueueKey,
        known_due: Mono,
        Delay { list, policy, wake_at, .. }: Delay,
    ) {
        self.wakes.extend(wake_at.map(|at| (at, key.pod.clone())));
        self.lists.entry(list.clone()).or_default().insert(key.clone());
        let pod = key.pod.clone();
        self.pods.insert(pod, WaitingPod { key, known_due, policy, wake_at, list, has_turn: false });
    }

    /// A pod no longer waits: its turn has come, or it is not due any more.
    pub(crate) fn remove(&mut self, pod: &PodRef) -> Option<WaitingPod> {
        let waiting = self.pods.remove(pod)?;
        if !waiting.has_turn {
            self.unlist(&waiting.list, &waiting.key);
        } else if waiting.list.is_one_at_a_time() {
            self.turns.remove(&waiting.list);
            self.changed.insert(waiting.list.clone());
        }
        self.cancel_wake(waiting.wake_at, pod);
        Some(waiting)
    }

    /// The pod gets its turn at this moment.
    pub(crate) fn wake_at(&mut self, at: Option<Mono>, pod: &PodRef) {
        self.wakes.extend(at.map(|at| (at, pod.clone())));
    }

    /// It does not.
    pub(crate) fn cancel_wake(&mut self, at: Option<Mono>, pod: &PodRef) {
        at.into_iter().for_each(|at| _ = self.wakes.remove(&(at, pod.clone())));
    }

    fn unlist(&mut self, list: &WaitList, key: &QueueKey) {
        if let Some(pods) = self.lists.get_mut(list) {
            pods.remove(key);
            if pods.is_empty() {
                self.lists.remove(list);
            }
        }
    }

    /// A list may have opened.
    pub(crate) fn touch(&mut self, list: WaitList) {
        if self.lists.contains_key(&list) {
            self.changed.insert(list);
        }
    }

    /// All lists that `selected` selects may have opened.
    pub(crate) fn touch_all(&mut self, selected: impl Fn(&WaitList) -> bool) {
        self.changed.extend(self.lists.keys().filter(|list| selected(list)).cloned());
    }

    /// The list may open at this moment.
    pub(crate) fn touch_at(&mut self, at: Mono, list: WaitList) {
        self.timers.insert((at, list));
    }

    /// Time has passed: returns the pods that get their turn, whatever they wait for.
    pub(crate) fn pass_time(&mut self, now: Mono) -> Vec<PodRef> {
        while let Some((_, list)) = pop_until(&mut self.timers, now) {
            self.touch(list);
        }
        core::iter::from_fn(|| pop_until(&mut self.wakes, now)).map(|(_, pod)| pod).collect()
    }

    /// When time alone may give a pod its turn.
    pub(crate) fn next_timer(&self) -> Option<Mono> {
        let timers = self.timers.first().map(|(at, _)| *at);
        timers.into_iter().chain(self.wakes.first().map(|(at, _)| *at)).min()
    }

    /// Whether a list may have opened since they were looked at.
    pub(crate) fn has_changed(&self) -> bool {
        !self.changed.is_empty()
    }

    /// Takes out a list that may have opened.
    pub(crate) fn pop_changed(&mut self) -> Option<WaitList> {
        self.changed.pop_first()
    }

    /// The waves that wait on a node, in their order.
    pub(crate) fn waves_on(&self, node: &NodeName) -> impl Iterator<Item = &WaitList> {
        let all = self.lists.range(WaitList::Wave(node.clone(), EvictionOrder::FIRST)..);
        let of_node = move |list: &&WaitList| matches!(list, WaitList::Wave(of, _) if of == node);
        all.map(|(list, _)| list).take_while(of_node)
    }

    /// The lists of the nodes that wait until other nodes are empty, each with its oldest pod.
    pub(crate) fn nodes(&self) -> impl Iterator<Item = (&Uid, &NodeName, &QueueKey)> {
        let first = WaitList::Node(Uid::FIRST, NodeName::new(""));
        self.lists.range(first..).map_while(|(list, pods)| match list {
            WaitList::Node(policy, node) => Some((policy, node, pods.first()?)),
            _ => None,
        })
    }

    /// Every pod that waits in a list.
    pub(crate) fn all(&self) -> Vec<PodRef> {
        self.lists.values().flatten().map(|key| key.pod.clone()).collect()
    }

    /// Gives the pods of an open list their turn, or its oldest.
    pub(crate) fn open(&mut self, list: &WaitList) -> Vec<(QueueKey, Mono)> {
        let is_one = list.is_one_at_a_time();
        if is_one && self.turns.contains(list) {
            return Vec::new();
        }
        let Some(pods) = self.lists.get_mut(list) else { return Vec::new() };
        let keys: Vec<QueueKey> = match is_one {
            true => pods.pop_first().into_iter().collect(),
            false => core::mem::take(pods).into_iter().collect(),
        };
        if pods.is_empty() {
            self.lists.remove(list);
        }
        self.turns.extend(is_one.then(|| list.clone()));
        keys.into_iter().filter_map(|key| self.give_turn(key)).collect()
    }

    /// Gives one pod its turn, whatever it waits for.
    pub(crate) fn hasten(&mut self, pod: &PodRef) -> Option<(QueueKey, Mono)> {
        let waiting = self.pods.get(pod).filter(|waiting| !waiting.has_turn)?;
        let (list, key) = (waiting.list.clone(), waiting.key.clone());
        self.unlist(&list, &key);
        let waiting = self.pods.get_mut(pod)?;
        // It takes no turn of its list, and gives none back.
        waiting.list = WaitList::Sync;
        self.give_turn(key)
    }

    fn give_turn(&mut self, key: QueueKey) -> Option<(QueueKey, Mono)> {
        let waiting = self.pods.get_mut(&key.pod)?;
        waiting.has_turn = true;
        Some((key, waiting.known_due))
    }

    /// When the first pod that waits was due.
    pub(crate) fn oldest_due(&self) -> Option<Mono> {
        self.lists.values().filter_map(|pods| Some(pods.first()?.due)).min()
    }

    /// Whether no pod waits or has its turn.
    pub(crate) fn is_empty(&self) -> bool {
        self.pods.is_empty()
    }

    /// The number of pods that wait and do not have their turn.
    pub(crate) fn count(&self) -> DelayedPods {
        let mut delayed = DelayedPods::default();
        self.lists.iter().for_each(|(list, pods)| delayed.add(list.category(), pods.len()));
        delayed
    }

    /// The pods of a node that the brake delays.
    pub(crate) fn braked_on(&self, node: &NodeName) -> impl Iterator<Item = &PodRef> {
        let first = PodRef { node: node.clone(), uid: Uid::FIRST };
        let of_node = self.pods.range(first..).take_while(move |(pod, _)| pod.node == *node);
        let braked = of_node.filter(|(_, waiting)| matches!(waiting.list, WaitList::Brake(_)));
        braked.map(|(pod, _)| pod)
    }

    /// The pods that wait, with what they wait for.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (&WaitingPod, &WaitList)> {
        self.pods.values().map(|waiting| (waiting, &waiting.list))
    }
}

fn pop_until<T: Ord>(timers: &mut BTreeSet<(Mono, T)>, now: Mono) -> Option<(Mono, T)> {
    timers.first().filter(|(at, _)| *at <= now)?;
    timers.pop_first()
}
