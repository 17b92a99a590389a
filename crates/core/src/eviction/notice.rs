//! Defines what the eviction engine reports to logs, metrics and events.

use crate::identity::{NodeName, PodName, PodRef, Uid};
use crate::taint::Taint;
use crate::taint_start::TaintStart;
use crate::time::{Mono, Span};
use alloc::boxed::Box;
use alloc::vec::Vec;

/// A report for users. Losing one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum EvictionNotice {
    /// A pod has a deadline.
    CountdownStarted {
        /// The pod.
        pod: PodRef,
        /// The deadline.
        until: Mono,
    },
    /// Its deadline has changed.
    CountdownMoved {
        /// The pod.
        pod: PodRef,
        /// The deadline.
        until: Mono,
    },
    /// It stays after all, or ends for another reason.
    CountdownCancelled {
        /// The pod.
        pod: PodRef,
        /// Its namespace and name; the pod may be gone.
        name: PodName,
        /// Why.
        reason: CancellationReason,
        /// The taint that would have evicted it first, if that is known.
        taint: Option<Box<Taint>>,
    },
    /// Countdowns are on hold; the next notice about them comes when they resume (NL-48).
    CountdownsHeld {
        /// The number of pods on hold at this moment.
        pods: usize,
    },
    /// Countdowns resume, and end later by the time they were held: a pod that was added meanwhile gets its own notice.
    CountdownsResumed {
        /// How long they were on hold.
        held: Span,
        /// The number of pods.
        pods: usize,
    },
    /// It is evicted as soon as its turn comes.
    BecameDue {
        /// The pod.
        pod: PodRef,
        /// When its toleration period ended.
        due: Mono,
    },
    /// The API server has accepted its deletion.
    Evicted {
        /// The pod.
        pod: PodRef,
        /// The reason.
        reason: Box<EvictionReason>,
    },
    /// It would be evicted except for something that is not understood (D11).
    UnsupportedToleration {
        /// The pod.
        pod: PodRef,
    },
    /// A live read is older than what was known when it was sent: the store was restored, and watches may never deliver
    /// that. Everything should be listed again.
    ResourceVersionWentBack,
    /// Another client set the eviction's condition: another taint-eviction controller is running (P39).
    OtherControllerDetected {
        /// The pod.
        pod: PodRef,
    },
    /// Another client deleted it after it was marked, before Taintward's DELETE: another taint-eviction controller is
    /// running, or a client happened to delete it in that moment (P39).
    EvictedByOther {
        /// The pod.
        pod: PodRef,
    },
    /// The brake delays the first pod for this key.
    BrakeBegan {
        /// The key.
        key: Box<str>,
        /// The node of that pod.
        node: NodeName,
        /// How many nodes count.
        nodes: usize,
        /// How many may.
        limit: usize,
    },
    /// The brake delays no pod for this key any more.
    BrakeEnded {
        /// The key.
        key: Box<str>,
        /// The node of the first pod that it delayed; it may be gone.
        node: NodeName,
        /// How many nodes count.
        nodes: usize,
        /// How many may.
        limit: usize,
    },
    /// The NoExecute taints of a node changed, and evict pods of it.
    NodeTaintsChanged {
        /// The node.
        node: NodeName,
        /// What follows for its pods.
        impact: Box<TaintImpact>,
    },
    /// A NoExecute taint appeared without a `timeAdded` (`--stamp-taints`). Once per instance.
    TaintWithoutTimeAdded {
        /// The node.
        node: NodeName,
        /// Its UID.
        uid: Uid,
        /// The taint's key.
        key: Box<str>,
        /// When.
        at: Mono,
    },
}

/// What follows from a node's NoExecute taints for its pods: how many there are of each kind.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TaintImpact {
    /// The taints.
    pub taints: Vec<Taint>,
    /// Pods that are evicted as soon as their turn comes.
    pub due: usize,
    /// Pods with a deadline.
    pub counting: usize,
    /// The first and the last of these deadlines.
    pub deadlines: Option<(Mono, Mono)>,
    /// Pods whose countdown is on hold.
    pub held: usize,
    /// Pods that stay.
    pub staying: usize,
}

impl TaintImpact {
    /// Whether a pod is evicted, now or later.
    pub const fn evicts(&self) -> bool {
        self.due + self.counting + self.held > 0
    }
}

/// Why a countdown ended without an eviction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum CancellationReason {
    /// The node no longer has the taint.
    TaintRemoved,
    /// The node is gone.
    NodeDeleted,
    /// The pod's tolerations have changed, and tolerate the taint.
    TolerationsChanged,
    /// A toleration of the pod is not understood (D11).
    UnsupportedToleration,
    /// The pod has succeeded or failed.
    PodFinished,
    /// Another client deletes the pod, or has deleted it.
    PodDeleted,
}

/// Why a pod was evicted: the content of events, logs and metrics.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EvictionReason {
    /// Namespace and name.
    pub name: PodName,
    /// The taint that was due first.
    pub taint: Taint,
    /// Its start and the source of that.
    pub start: TaintStart,
    /// Since when it counted for the pod.
    pub counts_from: Mono,
    /// The toleration used: its position, and the seconds it granted; `None` if untolerated.
    pub toleration: Option<(usize, Span)>,
    /// How much of the time since then did not count, because it was on hold (NL-48).
    pub held: Span,
    /// When the pod was due.
    pub due: Mono,
    /// When it was known to be due.
    pub known_due: Mono,
    /// When the DELETE was decided.
    pub decided: Mono,
    /// When the confirming read of the node was sent (D5).
    pub confirmed: Mono,
    /// The policy that governed it, if one did.
    pub policy: Option<GoverningPolicy>,
}

/// The policy that governed an eviction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct GoverningPolicy {
    /// Its name.
    pub name: Box<str>,
    /// The pod was deleted in spite of its disruption budgets, because their deadline had come.
    pub is_forced: bool,
}
