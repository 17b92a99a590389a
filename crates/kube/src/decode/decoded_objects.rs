//! Puts what was read in one pass together for each engine that wants a part of it.
//!
//! - See `node_and_pod.rs` for where the kinds are found.

use crate::guard_annotation::decode_records;
use crate::hold_annotations::decode_request;
use taintward_core::admission::policy::RequestedSeconds;
use taintward_core::admission::pool::PodOnNodeFact;
use taintward_core::admission::request;
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::node_lifecycle::{self, ConditionStatus};
use taintward_core::toleration_guard::guarded_pod;
use taintward_core::toleration_seconds::{HeldPodFact, HoldNodeFact, RecordAnnotations, RecordState};

/// A node, as each of the two engines wants it; read in one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedNode {
    /// For who is evicted.
    pub taints: NodeFact,
    /// For the node's health.
    pub health: node_lifecycle::NodeHealthFact,
    /// The annotation [`HOLD`](crate::hold_annotations::HOLD).
    pub hold: Option<Box<str>>,
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
    /// The annotation [`HELD`](crate::hold_annotations::HELD).
    pub held: Option<Box<str>>,
    /// The annotation [`GUARD`](crate::guard_annotation::GUARD).
    pub guard: Option<Box<str>>,
    /// It has annotations.
    pub is_annotated: bool,
    /// Its annotations about the seconds of its default tolerations, if it has any.
    pub asked: Option<Box<RequestedSeconds>>,
}

impl DecodedNode {
    /// What holds want to know.
    pub fn for_holds(&self) -> HoldNodeFact {
        let request = self.hold.as_deref().map(decode_request).unwrap_or_default();
        HoldNodeFact::new(&self.taints, self.health.zone.clone(), request)
    }
}

impl DecodedPod {
    /// What its annotations say of its own seconds.
    fn records(&self) -> (RecordState, RecordAnnotations) {
        decode_records(self.held.as_deref(), self.guard.as_deref())
    }

    /// What taint eviction wants to know where it evicts guarded pods only; `None`: it leaves this one alone.
    pub fn for_guard(&self) -> Option<PodFact> {
        let (RecordState::Guarded(record), _) = self.records() else {
            return guarded_pod(self.pod.clone(), None);
        };
        guarded_pod(self.pod.clone(), Some(&record))
    }

    /// What holds want to know; `None`: no countdown can make it leave, because it is a mirror, is over, or leaves.
    pub fn for_holds(&self) -> Option<HeldPodFact> {
        let can_leave = self.pod.standing == PodLifePhase::Live && !self.pod.mirror;
        can_leave.then(|| HeldPodFact::new(&self.pod, self.records(), self.is_annotated, self.asked.clone()))
    }

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
