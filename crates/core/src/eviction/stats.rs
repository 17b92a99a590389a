//! Reads the state of the engine for metrics and for people: counts, explanations, pending and failing evictions.

use super::{EvictionEngine, EvictionState};
use crate::api_error::ApiFailure;
use crate::engine::{Engine, Lane};
use crate::identity::PodRef;
use crate::identity::{NodeName, PodName, Uid};
use crate::time::{Mono, Now};
use crate::verdict::{TaintInstance, Verdict};

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictionStats {
    /// Nodes that exist.
    pub nodes: usize,
    /// Of these, nodes with a NoExecute taint.
    pub tainted_nodes: usize,
    /// Pods bound to a node.
    pub pods: usize,
    /// Pods with a deadline.
    pub counting: usize,
    /// Pods that would have a deadline, or go, but for their time being held (NL-48).
    pub held: usize,
    /// Pods that go and were not tried yet.
    pub due: usize,
    /// Pods whose eviction is under way, waits for another try, or is being withdrawn.
    pub in_hand: usize,
    /// The earliest due date among pods that go and are not gone yet.
    pub oldest_due: Option<Mono>,
}

/// A pod with a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEviction<'a> {
    /// Its node.
    pub node: &'a NodeName,
    /// Its identity.
    pub uid: &'a Uid,
    /// Its name.
    pub name: &'a PodName,
    /// The deadline.
    pub until: Mono,
}

/// An eviction that does not get on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingEviction<'a> {
    /// The pod.
    pub pod: &'a PodRef,
    /// Since when it should be gone.
    pub due: Mono,
    /// How often it failed.
    pub failures: u32,
    /// The last reason.
    pub failure: ApiFailure,
    /// When it is tried again; `None`: it is its turn, or a request is out.
    pub retry_at: Option<Mono>,
}

impl EvictionEngine {
    /// Counts.
    pub fn stats(&self) -> EvictionStats {
        let (nodes, tainted_nodes) = self.cache.node_counts();
        let EvictionState { queue, pods, counts, .. } = &self.state;
        let (counting, held) = (counts.counting(), counts.held());
        queue.stats(EvictionStats {
            nodes,
            tainted_nodes,
            pods: *pods,
            counting,
            held,
            ..EvictionStats::default()
        })
    }

    /// Whether a pull of this lane could find something now.
    pub fn has_work(&self, lane: Lane, now: Mono) -> bool {
        self.is_synced() && self.state.queue.has_work(lane, now)
    }

    /// The name and the full verdict of a pod, with the taints it was judged by.
    pub fn explain(&self, pod: &PodRef, now: Now) -> Option<(&PodName, Verdict, &[TaintInstance])> {
        self.cache.explain(pod, &self.state.holds, self.config.numeric, now)
    }

    /// Since when countdowns are held, if they are (NL-48).
    pub const fn held_since(&self) -> Option<Mono> {
        self.state.holds.since()
    }

    /// All pods with a deadline, in no particular order of time.
    pub fn pending(&self) -> impl Iterator<Item = PendingEviction<'_>> {
        self.cache.pending()
    }

    /// All pods that have a deadline, a turn or an attempt, in no particular order. Whether one goes, and when, its verdict
    /// tells ([`EvictionEngine::explain`]): a pod whose mark is to be withdrawn (S9) may count down all the same, and one whose
    /// mark nobody withdraws in time goes.
    pub fn pods_with_eviction_state(&self) -> impl Iterator<Item = PodRef> {
        self.cache.pods_with_eviction_state()
    }

    /// All evictions that failed at least once and are not over.
    pub fn failing_evictions(&self) -> impl Iterator<Item = FailingEviction<'_>> {
        self.state.queue.failing()
    }
}
