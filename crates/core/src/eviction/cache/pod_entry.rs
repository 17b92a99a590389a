//! Remembers a pod in few bytes.
//!
//! - Invariant: the binding time never changes while the pod lives (S4).
//! - See `pod_entry/transition.rs` for how a pod comes from one phase to another.

use crate::eviction::EvictionState;
use crate::eviction::order::{EvictionOrder, PriorityClass};
use crate::eviction::{CountdownCounts, EvictionPhase, LastNotice};
use crate::fact::{PodFact, PodLifePhase, PodOwnerKind};
use crate::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use crate::intern::SharedInterner;
use crate::taint_start::{BindingSource, PodBinding};
use crate::time::Mono;
use crate::toleration::Toleration;
use crate::verdict::{EvictionExemption, PodInput};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use transition::Transition;

mod transition;

/// A list of tolerations, shared by all pods that have the same; one pointer wide.
pub(super) type TolerationList = Arc<Vec<Toleration>>;

/// Every distinct list of tolerations.
pub(super) type TolerationInterner = SharedInterner<Vec<Toleration>>;

/// Yes-or-no facts of a pod, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct PodFlags(u8);

impl PodFlags {
    const MIRROR: Self = Self(1);
    const NODE_CRITICAL: Self = Self(2);
    /// The eviction's condition is on the pod.
    const MARKED: Self = Self(4);
    /// Its object could not be decoded lately (D11).
    const UNREADABLE: Self = Self(8);
    /// Seen in the running list; always set outside one.
    const SEEN: Self = Self(16);
    /// It would go but for something that is not understood, and that was told.
    const NOT_UNDERSTOOD: Self = Self(32);
    /// A list has begun since its deletion was accepted.
    const LISTED_SINCE_GONE: Self = Self(64);
    /// Another than Taintward has put the condition on it.
    const MARKED_BY_ANOTHER: Self = Self(128);

    const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    fn set(&mut self, flag: Self, on: bool) {
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
    id: PodId,
    tolerations: TolerationList,
    bound_at: Mono,
    /// The moment of the phase; the time of arrival where the phase has none.
    phase_at: Mono,
    version: Option<NonZeroU64>,
    priority: i32,
    generation: u32,
    binding_source: BindingSource,
    phase: PhaseKind,
    owner: PodOwnerKind,
    standing: PodLifePhase,
    flags: PodFlags,
}

impl PodEntry {
    pub(super) fn new(fact: PodFact, arrival: PodBinding, lists: &mut TolerationInterner) -> Self {
        let mut pod = Self {
            id: fact.id,
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
    fn update(&mut self, fact: PodFact, lists: &mut TolerationInterner) {
        self.id = fact.id;
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
    fn set_version(&mut self, version: Option<ResourceVersion>) {
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
    fn order(&self) -> EvictionOrder {
        let class =
            match (self.flags.has(PodFlags::NODE_CRITICAL) || self.priority >= NODE_CRITICAL, self.owner) {
                (true, _) => PriorityClass::NodeCritical,
                (false, PodOwnerKind::DaemonSet) => PriorityClass::DaemonSet,
                (false, _) => PriorityClass::Ordinary,
            };
        EvictionOrder { class, priority: self.priority }
    }

    pub(super) fn uid(&self) -> &Uid {
        self.id.uid()
    }

    pub(super) fn name(&self) -> &PodName {
        self.id.name()
    }

    pub(super) fn generation(&self) -> u32 {
        self.generation
    }

    pub(super) fn owner(&self) -> PodOwnerKind {
        self.owner
    }

    pub(super) fn tolerations(&self) -> &TolerationList {
        &self.tolerations
    }

    /// Whether the eviction's condition is on the pod.
    pub(super) fn is_marked(&self) -> bool {
        self.flags.has(PodFlags::MARKED)
    }

    /// The condition was put on or taken off, which made this version.
    pub(super) fn set_marked(&mut self, on: bool, version: Option<ResourceVersion>) {
        self.flags.set(PodFlags::MARKED, on);
        self.set_version(version);
    }

    /// Its deletion was accepted, whichever version it had if `any_version`: newer than the one that is known then says
    /// nothing.
    pub(super) fn accept_deletion(&mut self, any_version: bool, counts: &mut CountdownCounts) {
        self.set_phase(EvictionPhase::Deleted, counts);
        self.flags.set(PodFlags::LISTED_SINCE_GONE, false);
        if any_version {
            self.set_version(None);
        }
    }

    pub(super) fn start_list(&mut self) {
        self.flags.set(PodFlags::SEEN, false);
        self.flags.set(PodFlags::LISTED_SINCE_GONE, self.phase() == EvictionPhase::Deleted);
    }

    /// Seen in the running list; always true outside one.
    pub(super) fn is_seen(&self) -> bool {
        self.flags.has(PodFlags::SEEN)
    }

    pub(super) fn mark_undecodable(&mut self) {
        self.flags.set(PodFlags::UNREADABLE, true);
        self.flags.set(PodFlags::SEEN, true);
    }

    /// Its way to another phase, on its node.
    pub(super) fn transition<'t>(
        &'t mut self,
        node: &'t NodeName,
        state: &'t mut EvictionState,
    ) -> Transition<'t> {
        Transition::new(self, node, state)
    }
}

/// The priority of the built-in class `system-node-critical`.
const NODE_CRITICAL: i32 = 2_000_001_000;
