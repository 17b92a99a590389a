//! Puts what was read in one pass together for each engine that wants a part of it.
//!
//! - See `node_and_pod.rs` for where the kinds are found.

use taintward_core::admission::pool::PodOnNodeFact;
use taintward_core::admission::request;
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::node_lifecycle::{self, ConditionStatus};

/// A node, as each of the two engines wants it; read in one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedNode {
    /// For who is evicted.
    pub taints: NodeFact,
    /// For the node's health.
    pub health: node_lifecycle::NodeHealthFact,
}

/// A bound pod, as each of the two engines wants it; read in one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedPod {
    /// For who is evicted; who and where it is, for both.
    pub pod: PodFact,
    /// The status of its condition `Ready` (NL-17); `None`: it has none.
    pub ready: Option<ConditionStatus>,
    /// Its phase says that it is over, whether it is being deleted or not: for pools, as what follows.
    pub over: bool,
    /// `spec.serviceAccountName`.
    pub service_account: Box<str>,
    /// `spec.priorityClassName`.
    pub priority_class: Box<str>,
    /// The annotation [`MADE_FOR`](taintward_core::admission::pool::MADE_FOR).
    pub made_for: Box<str>,
}

impl DecodedPod {
    /// What node health wants to know.
    pub fn health(&self) -> node_lifecycle::PodReadinessFact {
        let PodFact { id, node, .. } = &self.pod;
        node_lifecycle::PodReadinessFact { id: id.clone(), node: node.clone(), ready: self.ready }
    }

    /// What pools want to know; `None`: it is over, and counts for nobody.
    pub fn resident(&self) -> Option<PodOnNodeFact> {
        let PodFact { id, node, tolerations, owner, mirror, .. } = &self.pod;
        (!self.over).then(|| PodOnNodeFact {
            id: id.clone(),
            identity: request::PodIdentity {
                namespace: id.name().namespace().into(),
                service_account: self.service_account.clone(),
                priority_class: self.priority_class.clone(),
                owner: *owner,
                mirror: *mirror,
                made_for: self.made_for.clone(),
            },
            node: node.clone(),
            tolerations: tolerations.clone(),
            leaving: self.pod.standing == PodLifePhase::Terminating,
        })
    }
}
