//! Defines what metrics and users can read from the eviction engine.

use super::delay_reason::DelayedPods;
use crate::api_error::ApiFailure;
use crate::identity::{NodeName, PodName, PodRef, Uid};
use crate::time::Mono;

/// Counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictionStats {
    /// Nodes that exist.
    pub nodes: usize,
    /// Of these, nodes with a NoExecute taint.
    pub tainted_nodes: usize,
    /// Nodes that are ready, and have the taint out-of-service.
    pub ready_out_of_service_nodes: usize,
    /// Pods bound to a node.
    pub pods: usize,
    /// Pods with a deadline.
    pub counting: usize,
    /// Pods that would have a deadline, or be evicted, if their time were not on hold (NL-48).
    pub held: usize,
    /// Due pods without an attempt that nothing delays.
    pub due: usize,
    /// Due pods that eviction policies or the brake delay.
    pub delayed: DelayedPods,
    /// The earliest due date among these.
    pub oldest_delayed: Option<Mono>,
    /// Pods whose eviction is in progress, waits for a retry, or is being withdrawn.
    pub in_hand: usize,
    /// The earliest due date among pods that must be evicted, still exist, and are not delayed.
    pub oldest_due: Option<Mono>,
    /// Taint keys that the brake delays.
    pub braked_keys: usize,
    /// Pods are due, and no request for any of them has succeeded for a while.
    pub stall: Option<EvictionStall>,
}

/// Evictions do not get on: every read and write for due pods has failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EvictionStall {
    /// When the first of these requests failed: no read or write for a due pod has succeeded since.
    pub since: Mono,
    /// Why the last one failed.
    pub reason: StallReason,
}

/// Why a request for a due pod brought its eviction no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StallReason {
    /// The request was rejected, or got no response.
    Failed(ApiFailure),
    /// The response came too late to confirm anything (D5).
    TooLate,
}

/// A pod with a deadline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingEviction<'a> {
    /// Its node.
    pub node: &'a NodeName,
    /// Its UID.
    pub uid: &'a Uid,
    /// Its name.
    pub name: &'a PodName,
    /// The deadline.
    pub until: Mono,
}

/// An eviction that keeps failing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingEviction<'a> {
    /// The pod.
    pub pod: &'a PodRef,
    /// Since when it has been due.
    pub due: Mono,
    /// How often it failed.
    pub failures: u32,
    /// The last reason.
    pub failure: ApiFailure,
    /// When it is retried; `None`: it is its turn, or a request is in flight.
    pub retry_at: Option<Mono>,
}
