//! Defines what the eviction engine reports to logs, metrics and events.

use crate::identity::{NodeName, PodName, PodRef, Uid};
use crate::taint::Taint;
use crate::taint_start::TaintStart;
use crate::time::{Mono, Span};
use alloc::boxed::Box;

/// What people may want to know. Losing one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum EvictionNotice {
    /// A pod has a deadline.
    CountdownStarted {
        /// The pod.
        pod: PodRef,
        /// The deadline.
        until: Mono,
    },
    /// Its deadline is another one.
    CountdownMoved {
        /// The pod.
        pod: PodRef,
        /// The deadline.
        until: Mono,
    },
    /// It stays after all.
    CountdownCancelled {
        /// The pod.
        pod: PodRef,
    },
    /// Countdowns are held, and told of again only when they go on (NL-48).
    CountdownsHeld {
        /// Of so many pods, at this moment.
        pods: usize,
    },
    /// Countdowns go on, and end as much later as they were held: a pod that came meanwhile is told of by itself.
    CountdownsResumed {
        /// For so long they were held.
        held: Span,
        /// Those of so many pods.
        pods: usize,
    },
    /// It goes as soon as it is its turn.
    BecameDue {
        /// The pod.
        pod: PodRef,
        /// When its patience ended.
        due: Mono,
    },
    /// The API server has accepted its deletion.
    Evicted {
        /// The pod.
        pod: PodRef,
        /// Why.
        reason: Box<EvictionReason>,
    },
    /// It would go but for something that is not understood (D11).
    UnsupportedToleration {
        /// The pod.
        pod: PodRef,
    },
    /// A live read is older than what was known when it was sent: the store was put back, and watches may never tell of
    /// it. Everything should be listed again.
    ResourceVersionWentBack,
    /// Somebody else put the eviction's condition on it: another taint-eviction controller is at work (P39).
    OtherControllerDetected {
        /// The pod.
        pod: PodRef,
    },
    /// Somebody else deleted it after it was marked, before our DELETE: another taint-eviction controller is at work, or
    /// somebody happened to delete it in that moment (P39).
    EvictedByOther {
        /// The pod.
        pod: PodRef,
    },
    /// A NoExecute taint was seen appearing, and says nothing of when (`--stamp-taints`). Once per instance.
    TaintWithoutTimeAdded {
        /// The node.
        node: NodeName,
        /// Its identity.
        uid: Uid,
        /// The taint's key.
        key: Box<str>,
        /// When.
        at: Mono,
    },
}

/// Why a pod was evicted: what events, logs and metrics say about it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EvictionReason {
    /// Namespace and name.
    pub name: PodName,
    /// The taint that was due first.
    pub taint: Taint,
    /// Its start and where that came from.
    pub start: TaintStart,
    /// Since when it counted for the pod.
    pub counts_from: Mono,
    /// The toleration used: its position, and the seconds it granted; `None` if untolerated.
    pub toleration: Option<(usize, Span)>,
    /// How much of the time since then did not count, because it was held (NL-48).
    pub held: Span,
    /// When the pod was due.
    pub due: Mono,
    /// When it was known to be due.
    pub known_due: Mono,
    /// When the DELETE was decided.
    pub decided: Mono,
    /// When the confirming read of the node was sent (D5).
    pub confirmed: Mono,
}
