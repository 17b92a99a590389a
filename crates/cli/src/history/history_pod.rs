//! Remembers what a history must know of a pod to say what changed.

use taintward_core::eviction::{DelayCategory, EvictionEffect};
use taintward_core::fact::PodLifePhase;
use taintward_core::identity::{NodeName, PodName, PodRef, Uid};
use taintward_core::time::Mono;
use taintward_core::toleration::Toleration;
use taintward_core::verdict::{EvictionExemption, Outcome, StayReason, Verdict};

/// A pod that a history is about.
pub(super) struct HistoryPod {
    pub(super) name: PodName,
    pub(super) node: NodeName,
    /// `None` before the record contains its object.
    pub(super) tolerations: Option<Vec<Toleration>>,
    pub(super) life_phase: PodLifePhase,
    /// Taintward has requested its deletion, and no response says that it was not carried out. The watch may be faster than
    /// the response.
    pub(super) is_evicted: bool,
    /// What delays it.
    pub(super) delay: Option<DelayCategory>,
    /// The request without a response, and when it was sent.
    pub(super) request: Option<(&'static str, Mono)>,
}

impl HistoryPod {
    /// A pod as the engine knows it.
    pub(super) fn new(name: PodName, node: NodeName, verdict: Option<&Verdict>) -> Self {
        let life_phase = match verdict.map(|verdict| verdict.outcome) {
            Some(Outcome::Stays(StayReason::Exempt(EvictionExemption::Terminating))) => {
                PodLifePhase::Terminating
            }
            Some(Outcome::Stays(StayReason::Exempt(EvictionExemption::Finished))) => PodLifePhase::Finished,
            _ => PodLifePhase::Live,
        };
        Self { name, node, tolerations: None, life_phase, is_evicted: false, delay: None, request: None }
    }

    pub(super) fn reference(&self, uid: &Uid) -> PodRef {
        PodRef { node: self.node.clone(), uid: uid.clone() }
    }
}

/// What a request about a pod asks of the API server.
pub(super) const fn request_text(effect: &EvictionEffect) -> Option<&'static str> {
    match effect {
        EvictionEffect::ReadNode { .. } => None,
        EvictionEffect::SetDisruptionTarget { .. } => Some("the condition DisruptionTarget"),
        EvictionEffect::DeletePod { .. } => Some("its deletion"),
        EvictionEffect::EvictPod { .. } => Some("its eviction"),
        EvictionEffect::ReadPod { .. } => Some("reading it again"),
        EvictionEffect::ClearDisruptionTarget { .. } => Some("removing the condition DisruptionTarget"),
    }
}
