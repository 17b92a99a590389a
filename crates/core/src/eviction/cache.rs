//! Caches nodes with their NoExecute taint instances, and the pods that are bound to each, in few bytes.
//!
//! - Invariant: the cache has its own index of pods by node (TE-8), sorted by UID, so that equal facts make equal
//!   caches.

use super::confirmation::NodeConfirmation;
use super::deadlines::NodeDeadlines;
use super::node_state::NodeState;
use super::order::{EvictionOrder, PriorityClass};
use super::phase::{CountdownCounts, EvictionPhase, LastNotice};
use crate::fact::{PodFact, PodLifePhase, PodOwnerKind};
use crate::identity::{PodName, ResourceVersion, Uid};
use crate::intern::SharedInterner;
use crate::taint_start::{BindingSource, PodBinding};
use crate::time::Mono;
use crate::toleration::Toleration;
use crate::verdict::{EvictionExemption, PodInput, TaintInstance};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// A list of tolerations, shared by all pods that have the same; one pointer wide.
pub(super) type TolerationList = Arc<Vec<Toleration>>;

/// Every distinct list of tolerations.
pub(super) type TolerationInterner = SharedInterner<Vec<Toleration>>;

/// Yes-or-no facts of a pod, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct PodFlags(u8);

impl PodFlags {
    pub(super) const MIRROR: Self = Self(1);
    pub(super) const NODE_CRITICAL: Self = Self(2);
    /// The eviction's condition is on the pod.
    pub(super) const MARKED: Self = Self(4);
    /// Its object could not be decoded lately (D11).
    pub(super) const UNREADABLE: Self = Self(8);
    /// Seen in the running list; always set outside one.
    pub(super) const SEEN: Self = Self(16);
    /// It would go but for something that is not understood, and that was told.
    pub(super) const NOT_UNDERSTOOD: Self = Self(32);
    /// A list has begun since its deletion was accepted.
    pub(super) const LISTED_SINCE_GONE: Self = Self(64);
    /// Another than Taintward has put the condition on it.
    pub(super) const MARKED_BY_ANOTHER: Self = Self(128);

    pub(super) const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    pub(super) fn set(&mut self, flag: Self, on: bool) {
        self.0 = if on { self.0 | flag.0 } else { self.0 & !flag.0 };
    }
}

/// A phase without its moment, so that both fit where they waste no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PhaseKind {
    Idle,
    CountingDown,
    OnHold(LastNotice),
    Due,
    InProgress,
    Deleted,
}

/// One pod as the engine remembers it. There are very many: moments and what is said of them are kept apart, which
/// saves 16 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PodEntry {
    pub(super) uid: Uid,
    pub(super) name: PodName,
    pub(super) tolerations: TolerationList,
    bound_at: Mono,
    /// The moment of the phase; the time of arrival where the phase has none.
    phase_at: Mono,
    version: Option<NonZeroU64>,
    pub(super) priority: i32,
    pub(super) generation: u32,
    binding_source: BindingSource,
    phase: PhaseKind,
    pub(super) owner: PodOwnerKind,
    pub(super) standing: PodLifePhase,
    pub(super) flags: PodFlags,
}

impl PodEntry {
    pub(super) fn new(fact: PodFact, arrival: PodBinding, lists: &mut TolerationInterner) -> Self {
        let mut pod = Self {
            uid: fact.id.uid().clone(),
            name: fact.id.name().clone(),
            tolerations: lists.take(fact.tolerations),
            bound_at: arrival.at,
            phase_at: arrival.at,
            version: None,
            priority: fact.priority,
            generation: fact.generation,
            binding_source: arrival.source,
            phase: PhaseKind::Idle,
            owner: fact.owner,
            standing: fact.standing,
            flags: PodFlags(0),
        };
        pod.set_version(fact.version);
        pod.set_flags(fact.mirror, fact.node_critical, fact.marked, fact.marked_by_another);
        pod
    }

    /// Takes over everything that can change in the life of a pod; its arrival cannot (S4).
    pub(super) fn update(&mut self, fact: PodFact, lists: &mut TolerationInterner) {
        if *self.tolerations != fact.tolerations {
            lists.give_back(&self.tolerations);
            self.tolerations = lists.take(fact.tolerations);
        }
        self.set_version(fact.version);
        self.priority = fact.priority;
        self.generation = fact.generation;
        self.owner = fact.owner;
        self.standing = fact.standing;
        self.set_flags(fact.mirror, fact.node_critical, fact.marked, fact.marked_by_another);
    }

    fn set_flags(&mut self, mirror: bool, node_critical: bool, marked: bool, by_another: bool) {
        self.flags.set(PodFlags::MIRROR, mirror);
        self.flags.set(PodFlags::NODE_CRITICAL, node_critical);
        self.flags.set(PodFlags::MARKED, marked);
        self.flags.set(PodFlags::MARKED_BY_ANOTHER, by_another);
        self.flags.set(PodFlags::UNREADABLE, false);
        self.flags.set(PodFlags::SEEN, true);
    }

    pub(super) fn phase(&self) -> EvictionPhase {
        match self.phase {
            PhaseKind::Idle => EvictionPhase::Idle,
            PhaseKind::CountingDown => EvictionPhase::CountingDown(self.phase_at),
            PhaseKind::OnHold(last_notice) => EvictionPhase::OnHold(last_notice),
            PhaseKind::Due => EvictionPhase::Due(self.phase_at),
            PhaseKind::InProgress => EvictionPhase::InProgress,
            PhaseKind::Deleted => EvictionPhase::Deleted,
        }
    }

    pub(super) fn set_phase(&mut self, phase: EvictionPhase, counts: &mut CountdownCounts) {
        counts.change(self.phase(), phase);
        (self.phase, self.phase_at) = match phase {
            EvictionPhase::Idle => (PhaseKind::Idle, self.bound_at),
            EvictionPhase::CountingDown(at) => (PhaseKind::CountingDown, at),
            EvictionPhase::OnHold(last_notice) => (PhaseKind::OnHold(last_notice), self.bound_at),
            EvictionPhase::Due(at) => (PhaseKind::Due, at),
            EvictionPhase::InProgress => (PhaseKind::InProgress, self.bound_at),
            EvictionPhase::Deleted => (PhaseKind::Deleted, self.bound_at),
        };
    }

    pub(super) fn version(&self) -> Option<ResourceVersion> {
        self.version.map(|version| ResourceVersion(version.get()))
    }

    /// Remembers a version; zero is none that an API server issues.
    pub(super) fn set_version(&mut self, version: Option<ResourceVersion>) {
        self.version = version.and_then(|version| NonZeroU64::new(version.0));
    }

    /// What a verdict needs; `undecodable`: the node's own taints are not readable.
    pub(super) fn input(&self, undecodable: bool) -> PodInput<'_> {
        let unreadable = undecodable || self.flags.has(PodFlags::UNREADABLE);
        let exemption = EvictionExemption::of(self.standing, self.flags.has(PodFlags::MIRROR))
            .or(unreadable.then_some(EvictionExemption::Undecodable));
        let arrival = PodBinding { at: self.bound_at, source: self.binding_source };
        PodInput { tolerations: &self.tolerations, arrival, exemption }
    }

    /// The order among pods that are due at the same instant (TE-46: the original has none): ordinary pods, then
    /// DaemonSet pods, then node-critical ones, and within each the lower priority first.
    pub(super) fn order(&self) -> EvictionOrder {
        let class =
            match (self.flags.has(PodFlags::NODE_CRITICAL) || self.priority >= NODE_CRITICAL, self.owner) {
                (true, _) => PriorityClass::NodeCritical,
                (false, PodOwnerKind::DaemonSet) => PriorityClass::DaemonSet,
                (false, _) => PriorityClass::Ordinary,
            };
        EvictionOrder { class, priority: self.priority }
    }
}

/// The priority of the built-in class `system-node-critical`.
const NODE_CRITICAL: i32 = 2_000_001_000;

/// A node's place: the node, if it exists, and the pods bound to its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct NodeEntry {
    pub(super) state: Option<NodeState>,
    /// Sorted by UID.
    #[expect(
        clippy::vec_box,
        reason = "inserting moves pointers, not pods, even on a node with 100,000 of them"
    )]
    pods: Vec<Box<PodEntry>>,
    /// The earliest deadline of its counting pods; [`Mono::NEVER`]: there is none.
    pub(super) wakeup: Mono,
    pub(super) deadlines: NodeDeadlines,
    pub(super) confirmation: NodeConfirmation,
}

impl Default for NodeEntry {
    fn default() -> Self {
        let (deadlines, confirmation) = (NodeDeadlines::default(), NodeConfirmation::default());
        Self { state: None, pods: Vec::new(), wakeup: Mono::NEVER, deadlines, confirmation }
    }
}

impl NodeEntry {
    /// The earliest deadline, as the pods say themselves.
    pub(super) fn earliest_deadline(&mut self) -> Mono {
        self.deadlines.earliest(&self.pods)
    }

    /// One of its pods went from one phase to another.
    pub(super) fn deadline_changed(&mut self, uid: &Uid, before: EvictionPhase, after: EvictionPhase) {
        self.deadlines.change(uid, before, after, self.pods.len());
    }

    pub(super) fn pod(&self, uid: &Uid) -> Option<&PodEntry> {
        self.position(uid).ok().map(|at| &*self.pods[at])
    }

    pub(super) fn pod_mut(&mut self, uid: &Uid) -> Option<&mut PodEntry> {
        self.position(uid).ok().map(|at| &mut *self.pods[at])
    }

    pub(super) fn pods(&self) -> impl ExactSizeIterator<Item = &PodEntry> {
        self.pods.iter().map(|pod| &**pod)
    }

    pub(super) fn insert(&mut self, pod: PodEntry) {
        if let Err(at) = self.position(&pod.uid) {
            self.pods.insert(at, Box::new(pod));
        }
    }

    pub(super) fn remove(&mut self, uid: &Uid) -> Option<Box<PodEntry>> {
        self.position(uid).ok().map(|at| self.pods.remove(at))
    }

    fn position(&self, uid: &Uid) -> Result<usize, usize> {
        self.pods.binary_search_by(|pod| pod.uid.cmp(uid))
    }

    pub(super) fn taints(&self) -> &[TaintInstance] {
        self.state.as_ref().map_or(&[], NodeState::taints)
    }

    pub(super) fn is_undecodable(&self) -> bool {
        self.state.as_ref().is_some_and(NodeState::is_undecodable)
    }

    /// Taints and pods side by side, for a walk that changes the pods.
    pub(super) fn split(&mut self) -> (&[TaintInstance], bool, impl Iterator<Item = &mut PodEntry>) {
        let undecodable = self.is_undecodable();
        let taints: &[TaintInstance] = self.state.as_ref().map_or(&[], NodeState::taints);
        (taints, undecodable, self.pods.iter_mut().map(|pod| &mut **pod))
    }

    /// The taints and one of the pods, to change.
    pub(super) fn taints_and_pod(&mut self, uid: &Uid) -> (&[TaintInstance], Option<&mut PodEntry>) {
        let pod = self.position(uid).ok();
        let taints: &[TaintInstance] = self.state.as_ref().map_or(&[], NodeState::taints);
        (taints, pod.map(|at| &mut *self.pods[at]))
    }

    /// Nobody lives here, there is no such node, and no answer about it is awaited.
    pub(super) fn is_vacant(&self) -> bool {
        let awaited = matches!(self.confirmation, NodeConfirmation::InFlight { .. });
        self.state.is_none() && self.pods.is_empty() && !awaited
    }
}
