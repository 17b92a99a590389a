//! Defines what goes into the engine of toleration seconds, and what comes out: patches and notices.

use super::backfill_objects::{BackfillNamespaceFact, BackfillPolicyFact, PolicyStatusWrite};
use super::effect_queue::HeldPodKey;
use super::held_pod_entry::HeldPodEntry;
use super::hold_limit::LimitChange;
use super::objects::{HeldPodFact, HoldNodeFact};
use crate::api_error::ApiFailure;
use crate::identity::{NodeName, PodId};
use crate::object_event::ObjectEvent;
use crate::time::Wall;
use crate::toleration::Toleration;
use crate::toleration_hold::HoldWrite;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What a patch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchPurpose {
    /// A hold, or its end.
    Hold,
    /// The same, where another writer has changed the pod's seconds or its record meanwhile.
    ContestedHold,
    /// The pod gets the seconds that new pods get.
    Backfill,
}

/// A patch of one pod: it applies only if UID, tolerations and, where a record is written, whether there is one, are what
/// was seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondsPatch {
    /// The pod.
    pub pod: PodId,
    /// Its node.
    pub node: NodeName,
    /// Its tolerations as they were seen.
    pub tolerations: Arc<Vec<Toleration>>,
    /// Whether it had annotations.
    pub is_annotated: bool,
    /// Whether it had a record, of any kind.
    pub has_record: bool,
    /// What is written.
    pub write: HoldWrite,
    /// What for.
    pub purpose: PatchPurpose,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TolerationSecondsEffect {
    /// Patches a pod; answered by [`TolerationSecondsInput::PatchDone`].
    PatchPod(Box<SecondsPatch>),
    /// Writes the status of a policy; answered by [`TolerationSecondsInput::StatusDone`].
    WriteStatus(PolicyStatusWrite),
}

/// Everything the engine can be told.
#[derive(Clone, Debug)]
pub enum TolerationSecondsInput {
    /// What the watch of nodes says.
    Nodes(ObjectEvent<HoldNodeFact>),
    /// What the watch of pods says; mirror pods and those that are over or leave are gone.
    Pods(ObjectEvent<HeldPodFact>),
    /// What came of a patch.
    PatchDone {
        /// The patch.
        patch: Box<SecondsPatch>,
        /// The pod afterwards.
        result: Result<HeldPodFact, ApiFailure>,
    },
    /// What the watch of namespaces says, for backfill.
    Namespaces(ObjectEvent<BackfillNamespaceFact>),
    /// What the watch of policies says, for backfill.
    Policies(Box<ObjectEvent<BackfillPolicyFact>>),
    /// What came of a status.
    StatusDone {
        /// The status.
        write: PolicyStatusWrite,
        /// Whether it is written.
        result: Result<(), ApiFailure>,
    },
}

/// What people may want to know. Losing one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TolerationSecondsNotice {
    /// Everything was listed once.
    Synced {
        /// Nodes there are.
        nodes: usize,
        /// Pods there are.
        pods: usize,
    },
    /// A pod's seconds are cleared.
    PodHeld {
        /// The pod.
        pod: PodId,
        /// Its node.
        node: NodeName,
        /// Until when.
        until: Wall,
    },
    /// Another writer changed the seconds or the record of a pod, which was answered.
    HoldContested {
        /// The pod.
        pod: PodId,
        /// Its node.
        node: NodeName,
    },
    /// A pod has seconds again.
    PodReleased {
        /// The pod.
        pod: PodId,
        /// Its node.
        node: NodeName,
        /// The fewest that one of its tolerations has now.
        seconds: i64,
    },
    /// A pod has the seconds that new pods get.
    PodBackfilled {
        /// The pod.
        pod: PodId,
        /// Its node.
        node: NodeName,
    },
    /// A limit of silent nodes is exceeded, or no longer.
    LimitChanged(LimitChange),
    /// A pod's record cannot be decoded.
    RecordUndecodable(PodId),
}

impl SecondsPatch {
    pub(crate) fn new(pod: &HeldPodEntry, node: NodeName, write: HoldWrite, purpose: PatchPurpose) -> Self {
        Self {
            pod: pod.id().clone(),
            node,
            tolerations: Arc::clone(pod.shared_tolerations()),
            is_annotated: pod.is_annotated(),
            has_record: pod.has_record_in_object(),
            write,
            purpose,
        }
    }

    pub(crate) fn key(&self) -> HeldPodKey {
        HeldPodKey { node: self.node.clone(), uid: self.pod.uid().clone() }
    }

    /// What it says to people once it is carried out. A pause between two writes is none of their business.
    pub(crate) fn notice(&self) -> Option<TolerationSecondsNotice> {
        let (pod, node) = (self.pod.clone(), self.node.clone());
        if self.purpose == PatchPurpose::Backfill {
            return Some(TolerationSecondsNotice::PodBackfilled { pod, node });
        }
        let given = self.write.seconds.iter();
        match (given.clone().filter_map(|(_, seconds)| *seconds).min(), &self.write.record) {
            (Some(seconds), _) => Some(TolerationSecondsNotice::PodReleased { pod, node, seconds }),
            (None, Some(record)) if given.len() > 0 && record.since() == record.changed() => {
                Some(TolerationSecondsNotice::PodHeld { pod, node, until: record.until() })
            }
            (None, _) => None,
        }
    }
}
