//! Caches nodes with their NoExecute taint instances, and the pods that are bound to each, in few bytes.
//!
//! - Invariant: the cache has its own index of pods by node (TE-8), sorted by UID, so that equal facts make equal
//!   caches.
//! - See `cache/judgement.rs` for what follows for pods from a change.

use super::{CountdownCounts, EvictionConfig, EvictionPhase, EvictionState, LastNotice, NodeConfirmation};
use crate::fact::{PodFact, PodLifePhase, PodOwnerKind, PodTemplateFact};
use crate::identity::{NodeName, PodId, PodName, PodRef, ResourceVersion, Uid};
use crate::intern::SharedInterner;
use crate::ordered_hold::{HoldWindows, OrderedHolds};
use crate::taint_start::{BindingSource, PodBinding};
use crate::time::Mono;
use crate::toleration::Toleration;
use crate::verdict::{EvictionExemption, PodInput, TaintInstance};
use alloc::boxed::Box;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;
use list_sync::ListSync;
use node_pods::NodePods;
use node_state::NodeState;

mod held_pods;
mod judgement;
mod list_sync;
mod node_pods;
mod node_state;
mod pod_transition;
mod pod_updates;
mod policy_inputs;
mod queries;

/// What the pods of a template have in common, one pointer wide in each.
type SharedTemplate = Arc<TemplateFields>;

/// Every distinct template.
type TemplateInterner = SharedInterner<TemplateFields>;

/// What the pods of a template have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct TemplateFields {
    tolerations: Vec<Toleration>,
    /// For policies.
    fact: Option<Box<PodTemplateFact>>,
    /// The holds that annotations of its pods order.
    holds: HoldWindows,
}

/// Boolean facts of a pod, in two bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct PodFlags(u16);

impl PodFlags {
    const MIRROR: Self = Self(1);
    const NODE_CRITICAL: Self = Self(2);
    /// The pod has the eviction's condition.
    const MARKED: Self = Self(4);
    /// Its object could not be decoded the last time (D11).
    const UNREADABLE: Self = Self(8);
    /// Observed in the current list; always set outside of a list.
    const SEEN: Self = Self(16);
    /// It would be evicted except for something that is not understood, and a notice said so.
    const NOT_UNDERSTOOD: Self = Self(32);
    /// A list has started since its deletion was accepted.
    const LISTED_SINCE_GONE: Self = Self(64);
    /// Another client than Taintward has set the condition.
    const MARKED_BY_ANOTHER: Self = Self(128);
    /// A policy forbids holds of it (`allowHolds: false`).
    const HOLDS_FORBIDDEN: Self = Self(256);
    /// No hold delays its eviction.
    const IGNORES_HOLDS: Self = Self(512);

    const fn has(self, flag: Self) -> bool {
        self.0 & flag.0 != 0
    }

    fn set(&mut self, flag: Self, on: bool) {
        self.0 = if on { self.0 | flag.0 } else { self.0 & !flag.0 };
    }
}

/// A phase without its time, so that both are stored compactly.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum PhaseKind {
    Idle,
    CountingDown,
    OnHold(LastNotice),
    Due,
    InProgress,
    Deleted,
}

/// A stored pod. There are very many: times and their meanings are kept apart, which saves 16 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct PodEntry {
    id: PodId,
    template: SharedTemplate,
    bound_at: Mono,
    /// The time of the phase; the time of arrival if the phase has none.
    phase_at: Mono,
    version: Option<NonZeroU64>,
    priority: i32,
    generation: u32,
    binding_source: BindingSource,
    phase: PhaseKind,
    owner: PodOwnerKind,
    life_phase: PodLifePhase,
    /// Its condition `Ready` is True, as far as policies need it.
    ready: bool,
    flags: PodFlags,
}

impl PodEntry {
    fn new(fact: PodFact, arrival: PodBinding, holds: HoldWindows, templates: &mut TemplateInterner) -> Self {
        let template = TemplateFields { tolerations: fact.tolerations, fact: fact.template, holds };
        let mut pod = Self {
            id: fact.id,
            template: templates.take(template),
            bound_at: arrival.at,
            phase_at: arrival.at,
            version: None,
            priority: fact.priority,
            generation: fact.generation,
            binding_source: arrival.source,
            phase: PhaseKind::Idle,
            owner: fact.owner,
            life_phase: fact.life_phase,
            ready: fact.ready.unwrap_or_default(),
            flags: PodFlags(0),
        };
        pod.set_version(fact.version);
        pod.set_flags(fact.mirror, fact.node_critical, fact.marked, fact.marked_by_another);
        pod.flags.set(PodFlags::IGNORES_HOLDS, fact.ignores_holds);
        pod
    }

    fn set_flags(&mut self, mirror: bool, node_critical: bool, marked: bool, by_another: bool) {
        self.flags.set(PodFlags::MIRROR, mirror);
        self.flags.set(PodFlags::NODE_CRITICAL, node_critical);
        self.flags.set(PodFlags::MARKED, marked);
        self.flags.set(PodFlags::MARKED_BY_ANOTHER, by_another);
        self.flags.set(PodFlags::UNREADABLE, false);
        self.flags.set(PodFlags::SEEN, true);
    }

    fn phase(&self) -> EvictionPhase {
        match self.phase {
            PhaseKind::Idle => EvictionPhase::Idle,
            PhaseKind::CountingDown => EvictionPhase::CountingDown(self.phase_at),
            PhaseKind::OnHold(last_notice) => EvictionPhase::OnHold(last_notice),
            PhaseKind::Due => EvictionPhase::Due(self.phase_at),
            PhaseKind::InProgress => EvictionPhase::InProgress,
            PhaseKind::Deleted => EvictionPhase::Deleted,
        }
    }

    fn set_phase(&mut self, phase: EvictionPhase, counts: &mut CountdownCounts) {
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

    fn version(&self) -> Option<ResourceVersion> {
        self.version.map(|version| ResourceVersion(version.get()))
    }

    /// Stores a version; zero is never issued by an API server.
    fn set_version(&mut self, version: Option<ResourceVersion>) {
        self.version = version.and_then(|version| NonZeroU64::new(version.0));
    }

    /// Returns the input of a verdict; `node`: `None` if it does not exist.
    fn input<'a>(&'a self, node: Option<&'a NodeState>) -> PodInput<'a> {
        let unreadable = node.is_some_and(NodeState::is_undecodable) || self.flags.has(PodFlags::UNREADABLE);
        let exemption = EvictionExemption::of(self.life_phase, self.flags.has(PodFlags::MIRROR))
            .or(unreadable.then_some(EvictionExemption::Undecodable));
        let arrival = PodBinding { at: self.bound_at, source: self.binding_source };
        let own = Some(&self.template.holds).filter(|_| !self.flags.has(PodFlags::HOLDS_FORBIDDEN));
        let holds = match self.flags.has(PodFlags::IGNORES_HOLDS) {
            true => OrderedHolds::default(),
            false => OrderedHolds { node: node.and_then(NodeState::holds), pod: own },
        };
        PodInput { tolerations: &self.template.tolerations, arrival, exemption, holds }
    }

    fn uid(&self) -> &Uid {
        self.id.uid()
    }

    fn name(&self) -> &PodName {
        self.id.name()
    }

    fn generation(&self) -> u32 {
        self.generation
    }

    fn owner(&self) -> PodOwnerKind {
        self.owner
    }

    fn template(&self) -> &SharedTemplate {
        &self.template
    }

    fn tolerations(&self) -> &[Toleration] {
        &self.template.tolerations
    }

    /// The holds that its annotation orders.
    fn holds(&self) -> &HoldWindows {
        &self.template.holds
    }

    /// Whether the pod has the eviction's condition.
    fn is_marked(&self) -> bool {
        self.flags.has(PodFlags::MARKED)
    }

    /// The condition was set or removed, which made this version.
    fn set_marked(&mut self, on: bool, version: Option<ResourceVersion>) {
        self.flags.set(PodFlags::MARKED, on);
        self.set_version(version);
    }

    /// Its deletion was accepted; with `any_version` whichever version it had: a newer version than the known one then
    /// means nothing.
    fn accept_deletion(&mut self, any_version: bool, counts: &mut CountdownCounts) {
        self.set_phase(EvictionPhase::Deleted, counts);
        self.flags.set(PodFlags::LISTED_SINCE_GONE, false);
        if any_version {
            self.set_version(None);
        }
    }

    fn start_list(&mut self) {
        self.flags.set(PodFlags::SEEN, false);
        self.flags.set(PodFlags::LISTED_SINCE_GONE, self.phase() == EvictionPhase::Deleted);
    }

    /// Whether it was observed in the current list; always true outside of a list.
    fn is_seen(&self) -> bool {
        self.flags.has(PodFlags::SEEN)
    }

    fn mark_undecodable(&mut self) {
        self.flags.set(PodFlags::UNREADABLE, true);
        self.flags.set(PodFlags::SEEN, true);
    }
}

/// A node name: the node, if it exists, and the pods bound to that name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

    /// Whether it has no pods, no node exists, and no response about it is pending.
    fn is_vacant(&self) -> bool {
        let awaited = matches!(self.confirmation, NodeConfirmation::InFlight { .. });
        self.state.is_none() && self.pods.iter().len() == 0 && !awaited
    }
}

/// The known nodes and pods.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Cache {
    nodes: BTreeMap<NodeName, NodeEntry>,
    templates: TemplateInterner,
    /// Pods with holds of their own.
    held: BTreeSet<PodRef>,
    /// When each entry with counting pods is checked again.
    wakeups: BTreeSet<(Mono, NodeName)>,
    nodes_sync: ListSync<NodeName>,
    pods_sync: ListSync<Uid>,
}

impl Cache {
    fn pods(&self) -> impl Iterator<Item = (&NodeName, &PodEntry)> {
        self.nodes.iter().flat_map(|(node, entry)| entry.pods.iter().map(move |pod| (node, pod)))
    }

    /// Recomputes the earliest deadline of a node's pods.
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

    /// Removes an entry that holds nothing.
    fn remove_empty_entry(&mut self, node: &NodeName) {
        if self.nodes.get(node).is_some_and(NodeEntry::is_vacant) {
            self.set_wakeup(node, Mono::NEVER);
            self.nodes.remove(node);
        }
    }
}

/// A change of the cache, with its consequences for plans and notices.
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
