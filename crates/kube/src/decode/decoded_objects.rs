//! Combines what was read in one pass into the parts that the engines need.
//!
//! - See `node_and_pod.rs` for the paths of the kinds.

use crate::guard_annotation::decode_records;
use crate::hold_request::decode_request;
use taintward_core::admission::policy::RequestedSeconds;
use taintward_core::admission::pool::PodOnNodeFact;
use taintward_core::admission::request;
use taintward_core::fact::{NodeFact, PodFact, PodLifePhase};
use taintward_core::node_lifecycle::{self, ConditionStatus};
use taintward_core::toleration_guard::{guarded_pod, own_tolerations};
use taintward_core::toleration_seconds::{HeldPodFact, HoldNodeFact, RecordAnnotations, RecordState};

/// A node, with the parts of each of the two engines; decoded in one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedNode {
    /// For taint eviction.
    pub taints: NodeFact,
    /// For node lifecycle.
    pub health: node_lifecycle::NodeHealthFact,
    /// The annotation [`HOLD`](crate::hold_request::HOLD).
    pub hold: Option<Box<str>>,
}

/// A bound pod, with the parts of each of the two engines; decoded in one pass.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodedPod {
    /// For taint eviction; its identity and node, for both.
    pub pod: PodFact,
    /// The status of its condition `Ready` (NL-17); `None`: it has no such condition.
    pub ready: Option<ConditionStatus>,
    /// It has terminated according to its phase, whether or not it is being deleted: for pools, like the following
    /// fields.
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
    /// Whether it has annotations.
    pub is_annotated: bool,
    /// Its annotations about the seconds of its default tolerations, if it has any.
    pub requested: Option<Box<RequestedSeconds>>,
}

impl DecodedNode {
    /// Returns the fact for holds.
    pub fn for_holds(&self) -> HoldNodeFact {
        let request = self.hold.as_deref().map(decode_request).unwrap_or_default();
        HoldNodeFact::new(&self.taints, self.health.zone.clone(), request)
    }
}

impl DecodedPod {
    /// Returns the records in its annotations.
    pub(crate) fn records(&self) -> (RecordState, RecordAnnotations) {
        decode_records(self.held.as_deref(), self.guard.as_deref())
    }

    /// Returns the fact for taint eviction if it evicts guarded pods only; `None`: it ignores this pod.
    pub fn for_guard(&self) -> Option<PodFact> {
        let (RecordState::Guarded(record), _) = self.records() else {
            return guarded_pod(self.pod.clone(), None);
        };
        guarded_pod(self.pod.clone(), Some(&record))
    }

    /// Returns the fact for a view whose engine counts from the taint: with the own seconds of a guarded pod, which are
    /// Taintward's deadline, and the remainder of a released pod, which counts from its release.
    pub fn for_display(&self) -> PodFact {
        let mut pod = self.pod.clone();
        match self.records().0 {
            RecordState::Guarded(record) => {
                pod.tolerations = own_tolerations(&pod.tolerations, Some(&record));
                pod.ignores_holds = true;
            }
            RecordState::Known(record) => {
                pod.tolerations = record.counted_from_taint(pod.tolerations);
                pod.ignores_holds = true;
            }
            RecordState::Absent | RecordState::Undecodable => {}
        }
        pod
    }

    /// Returns the fact for holds; `None`: no countdown can evict it, because it is a mirror pod, has terminated, or is
    /// terminating.
    pub fn for_holds(&self) -> Option<HeldPodFact> {
        let can_leave = self.pod.life_phase == PodLifePhase::Live && !self.pod.mirror;
        can_leave
            .then(|| HeldPodFact::new(&self.pod, self.records(), self.is_annotated, self.requested.clone()))
    }

    /// Returns the fact for node lifecycle.
    pub fn health(&self) -> node_lifecycle::PodReadinessFact {
        let PodFact { id, node, .. } = &self.pod;
        node_lifecycle::PodReadinessFact { id: id.clone(), node: node.clone(), ready: self.ready }
    }

    /// Returns the fact for pools; `None`: it has terminated and does not count.
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
            leaving: self.pod.life_phase == PodLifePhase::Terminating,
        })
    }
}
