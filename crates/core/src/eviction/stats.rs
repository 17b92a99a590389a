//! Defines what metrics and people can ask the eviction engine for.

use crate::api_error::ApiFailure;
use crate::identity::{NodeName, PodName, PodRef, Uid};
use crate::time::Mono;

/// How many there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictionStats {
    /// Nodes that exist.
    pub nodes: usize,
    /// Of these, nodes with a NoExecute taint.
    pub tainted_nodes: usize,
    /// Nodes that are ready, and bear the taint out-of-service.
    pub ready_out_of_service_nodes: usize,
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
