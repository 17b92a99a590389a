//! # Roster: who is where, in few bytes
//! Room:     nodes with their NoExecute taint instances, and the pods bound to each.
//! Comes in: facts, already placed in time (`start.rs`).
//! Goes out: seats and pods to judge.
//! Keeps:    its own index of pods by node (TE-8); pods of a seat sorted by UID, so that equal facts make equal
//!           rosters.
//! Not here: shared lists of tolerations (`intern.rs`); what follows from a change (`engine.rs`).

use super::census::Counts;
use super::check::Check;
use super::deadlines::Deadlines;
use super::plan::Told;
use crate::fact::{Owner, PodFact, Standing};
use crate::intern::Interner;
use crate::names::{PodName, Uid, Version};
use crate::start::{Arrival, ArrivalSource};
use crate::time::{Mono, Wall};
use crate::toleration::Toleration;
use crate::verdict::{Exemption, Subject, TaintInstance};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// A list of tolerations, shared by all pods that have the same; one pointer wide.
pub(super) type Tolerations = Arc<Vec<Toleration>>;

/// Every distinct list of tolerations.
pub(super) type TolerationLists = Interner<Vec<Toleration>>;

/// Where a pod stands in the engine's book.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    /// Nothing is planned.
    #[default]
    Quiet,
    /// It has a deadline.
    Counting(Mono),
    /// It would have one, but its time is held (NL-48).
    Held(Told),
    /// It goes, and waits for its turn in the queue under this due date.
    Due(Mono),
    /// Its eviction is under way (`attempts`).
    InHand,
    /// Its deletion is accepted; the watch has not said so yet. Newer news that it is alive ends this.
    Gone,
}

/// Yes-or-no facts of a pod, in one byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Flags(u8);

impl Flags {
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

/// A stage without its moment, so that both fit where they waste no space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum StageKind {
    Quiet,
    Counting,
    Held(Told),
    Due,
    InHand,
    Gone,
}

/// One pod as the engine remembers it. There are very many: moments and what is said of them are kept apart, which
/// saves 16 bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Pod {
    pub(super) uid: Uid,
    pub(super) name: PodName,
    pub(super) tolerations: Tolerations,
    arrived: Mono,
    /// The moment of the stage; the time of arrival where the stage has none.
    stage_at: Mono,
    version: Option<NonZeroU64>,
    pub(super) priority: i32,
    pub(super) generation: u32,
    arrival: ArrivalSource,
    stage: StageKind,
    pub(super) owner: Owner,
    pub(super) standing: Standing,
    pub(super) flags: Flags,
}

impl Pod {
    pub(super) fn new(fact: PodFact, arrival: Arrival, lists: &mut TolerationLists) -> Self {
        let mut pod = Self {
            uid: fact.uid,
            name: fact.name,
            tolerations: lists.take(fact.tolerations),
            arrived: arrival.at,
            stage_at: arrival.at,
            version: None,
            priority: fact.priority,
            generation: fact.generation,
            arrival: arrival.source,
            stage: StageKind::Quiet,
            owner: fact.owner,
            standing: fact.standing,
            flags: Flags(0),
        };
        pod.set_version(fact.version);
        pod.set_flags(fact.mirror, fact.node_critical, fact.marked, fact.marked_by_another);
        pod
    }

    /// Takes over everything that can change in the life of a pod; its arrival cannot (S4).
    pub(super) fn update(&mut self, fact: PodFact, lists: &mut TolerationLists) {
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
        self.flags.set(Flags::MIRROR, mirror);
        self.flags.set(Flags::NODE_CRITICAL, node_critical);
        self.flags.set(Flags::MARKED, marked);
        self.flags.set(Flags::MARKED_BY_ANOTHER, by_another);
        self.flags.set(Flags::UNREADABLE, false);
        self.flags.set(Flags::SEEN, true);
    }

    pub(super) fn stage(&self) -> Stage {
        match self.stage {
            StageKind::Quiet => Stage::Quiet,
            StageKind::Counting => Stage::Counting(self.stage_at),
            StageKind::Held(told) => Stage::Held(told),
            StageKind::Due => Stage::Due(self.stage_at),
            StageKind::InHand => Stage::InHand,
            StageKind::Gone => Stage::Gone,
        }
    }

    pub(super) fn set_stage(&mut self, stage: Stage, counts: &mut Counts) {
        counts.change(self.stage(), stage);
        (self.stage, self.stage_at) = match stage {
            Stage::Quiet => (StageKind::Quiet, self.arrived),
            Stage::Counting(at) => (StageKind::Counting, at),
            Stage::Held(told) => (StageKind::Held(told), self.arrived),
            Stage::Due(at) => (StageKind::Due, at),
            Stage::InHand => (StageKind::InHand, self.arrived),
            Stage::Gone => (StageKind::Gone, self.arrived),
        };
    }

    pub(super) fn version(&self) -> Option<Version> {
        self.version.map(|version| Version(version.get()))
    }

    /// Remembers a version; zero is none that an API server issues.
    pub(super) fn set_version(&mut self, version: Option<Version>) {
        self.version = version.and_then(|version| NonZeroU64::new(version.0));
    }

    /// What a verdict needs; `obscured`: the node's own taints are not readable.
    pub(super) fn subject(&self, obscured: bool) -> Subject<'_> {
        let unreadable = obscured || self.flags.has(Flags::UNREADABLE);
        let exemption = Exemption::of(self.standing, self.flags.has(Flags::MIRROR))
            .or(unreadable.then_some(Exemption::Unreadable));
        let arrival = Arrival { at: self.arrived, source: self.arrival };
        Subject { tolerations: &self.tolerations, arrival, exemption }
    }

    /// The order among pods that are due at the same instant (TE-46: the original has none): ordinary pods, then
    /// DaemonSet pods, then node-critical ones, and within each the lower priority first.
    pub(super) fn rank(&self) -> Rank {
        let class = match (self.flags.has(Flags::NODE_CRITICAL) || self.priority >= NODE_CRITICAL, self.owner)
        {
            (true, _) => Class::NodeCritical,
            (false, Owner::DaemonSet) => Class::DaemonSet,
            (false, _) => Class::Ordinary,
        };
        Rank { class, priority: self.priority }
    }
}

/// The priority of the built-in class `system-node-critical`.
const NODE_CRITICAL: i32 = 2_000_001_000;

/// The place of a pod among those due at the same instant; lower leaves first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank {
    /// Kind of pod.
    pub class: Class,
    /// `spec.priority`.
    pub priority: i32,
}

/// Kinds of pods in the order in which they leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// Any other pod.
    Ordinary,
    /// Owned by a DaemonSet.
    DaemonSet,
    /// Priority class `system-node-critical`, or a priority as high.
    NodeCritical,
}

/// What is known of a node that exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Known {
    pub(super) uid: Uid,
    pub(super) version: Option<Version>,
    /// NoExecute only, in the node's order.
    pub(super) taints: Vec<TaintInstance>,
    /// When the list of taints last changed, as far as told.
    pub(super) taints_changed: Option<Wall>,
    /// The node's object could not be decoded lately: its taints are not understood (D11).
    pub(super) obscured: bool,
    /// Seen in the running list; always true outside one.
    pub(super) seen: bool,
}

/// A node's place: the node, if it exists, and the pods bound to its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seat {
    pub(super) known: Option<Known>,
    /// Sorted by UID.
    #[expect(
        clippy::vec_box,
        reason = "inserting moves pointers, not pods, even on a node with 100,000 of them"
    )]
    pods: Vec<Box<Pod>>,
    /// The earliest deadline of its counting pods; [`Mono::NEVER`]: there is none.
    pub(super) wake: Mono,
    pub(super) deadlines: Deadlines,
    pub(super) check: Check,
    /// Pods waiting for the check in flight.
    pub(super) parked: Vec<super::queue::Ticket>,
}

impl Default for Seat {
    fn default() -> Self {
        let (known, pods, parked) = (None, Vec::new(), Vec::new());
        let (wake, deadlines, check) = (Mono::NEVER, Deadlines::default(), Check::default());
        Self { known, pods, wake, deadlines, check, parked }
    }
}

impl Seat {
    /// The earliest deadline, as the pods say themselves.
    pub(super) fn earliest_deadline(&mut self) -> Mono {
        self.deadlines.earliest(&self.pods)
    }

    /// One of its pods went from one stage to another.
    pub(super) fn deadline_changed(&mut self, uid: &Uid, before: Stage, after: Stage) {
        self.deadlines.change(uid, before, after, self.pods.len());
    }

    pub(super) fn pod(&self, uid: &Uid) -> Option<&Pod> {
        self.position(uid).ok().map(|at| &*self.pods[at])
    }

    pub(super) fn pod_mut(&mut self, uid: &Uid) -> Option<&mut Pod> {
        self.position(uid).ok().map(|at| &mut *self.pods[at])
    }

    pub(super) fn pods(&self) -> impl ExactSizeIterator<Item = &Pod> {
        self.pods.iter().map(|pod| &**pod)
    }

    pub(super) fn insert(&mut self, pod: Pod) {
        if let Err(at) = self.position(&pod.uid) {
            self.pods.insert(at, Box::new(pod));
        }
    }

    pub(super) fn remove(&mut self, uid: &Uid) -> Option<Box<Pod>> {
        self.position(uid).ok().map(|at| self.pods.remove(at))
    }

    fn position(&self, uid: &Uid) -> Result<usize, usize> {
        self.pods.binary_search_by(|pod| pod.uid.cmp(uid))
    }

    pub(super) fn taints(&self) -> &[TaintInstance] {
        self.known.as_ref().map_or(&[], |known| &known.taints)
    }

    pub(super) fn obscured(&self) -> bool {
        self.known.as_ref().is_some_and(|known| known.obscured)
    }

    /// Taints and pods side by side, for a walk that changes the pods.
    pub(super) fn split(&mut self) -> (&[TaintInstance], bool, impl Iterator<Item = &mut Pod>) {
        let obscured = self.obscured();
        let taints: &[TaintInstance] = self.known.as_ref().map_or(&[], |known| &known.taints);
        (taints, obscured, self.pods.iter_mut().map(|pod| &mut **pod))
    }

    /// The taints and one of the pods, to change.
    pub(super) fn taints_and_pod(&mut self, uid: &Uid) -> (&[TaintInstance], Option<&mut Pod>) {
        let pod = self.position(uid).ok();
        let taints: &[TaintInstance] = self.known.as_ref().map_or(&[], |known| &known.taints);
        (taints, pod.map(|at| &mut *self.pods[at]))
    }

    /// Nobody lives here, there is no such node, and no answer about it is awaited.
    pub(super) fn is_vacant(&self) -> bool {
        let awaited = matches!(self.check, Check::InFlight { .. });
        self.known.is_none() && self.pods.is_empty() && !awaited
    }
}
