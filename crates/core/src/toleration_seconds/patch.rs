//! Defines what goes into the engine of toleration seconds, and what comes out: patches and notices.

use super::effect_queue::HeldPodKey;
use super::held_pod_entry::HeldPodEntry;
use super::hold_limit::LimitChange;
use super::objects::{HeldPodFact, HoldNodeFact, RecordAnnotations};
use super::seconds_objects::{BackfillPolicyFact, PolicyStatusWrite, SecondsNamespaceFact};
use crate::api_error::ApiFailure;
use crate::identity::{NodeName, PodId};
use crate::object_event::ObjectEvent;
use crate::time::Wall;
use crate::toleration::Toleration;
use crate::toleration_backfill::SecondsChanges;
use crate::toleration_guard::{GuardRecord, GuardWrite};
use crate::toleration_hold::{HoldRecord, HoldWrite};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// What a patch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PatchPurpose {
    /// A hold, or its end.
    Hold,
    /// The pod gets the seconds that new pods get.
    Backfill,
    /// The pod gets the ceiling of its namespace, or its own seconds back.
    Guard,
}

/// The record that a pod has after a patch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatchedRecord {
    /// None.
    None,
    /// Of a hold.
    Hold(HoldRecord),
    /// Of a guarded pod.
    Guard(GuardRecord),
}

/// What a patch writes: seconds, and the record that belongs to them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SecondsWrite {
    /// The seconds that change.
    pub seconds: SecondsChanges,
    /// The record afterwards.
    pub record: PatchedRecord,
}

impl From<HoldWrite> for SecondsWrite {
    fn from(HoldWrite { seconds, record }: HoldWrite) -> Self {
        Self { seconds, record: record.map_or(PatchedRecord::None, PatchedRecord::Hold) }
    }
}

impl From<GuardWrite> for SecondsWrite {
    fn from(GuardWrite { seconds, record }: GuardWrite) -> Self {
        Self { seconds, record: record.map_or(PatchedRecord::None, PatchedRecord::Guard) }
    }
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
    /// Which annotations with a record it had.
    pub records: RecordAnnotations,
    /// What is written.
    pub write: SecondsWrite,
    /// What for.
    pub purpose: PatchPurpose,
    /// Another writer has changed the pod's seconds or its record meanwhile.
    pub is_contested: bool,
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
    /// What the watch of namespaces says, for backfill and the guard.
    Namespaces(ObjectEvent<SecondsNamespaceFact>),
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
    SecondsContested {
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
    /// A pod has the ceiling of its namespace, or its own seconds again.
    PodGuarded {
        /// The pod.
        pod: PodId,
        /// Its node.
        node: NodeName,
        /// It has the ceiling.
        is_guarded: bool,
    },
    /// A limit of silent nodes is exceeded, or no longer.
    LimitChanged(LimitChange),
    /// A pod's record cannot be decoded.
    RecordUndecodable(PodId),
}

impl SecondsPatch {
    pub(crate) fn new(
        pod: &HeldPodEntry,
        node: NodeName,
        write: impl Into<SecondsWrite>,
        purpose: PatchPurpose,
    ) -> Self {
        Self {
            pod: pod.id().clone(),
            node,
            tolerations: Arc::clone(pod.shared_tolerations()),
            is_annotated: pod.is_annotated(),
            records: pod.records(),
            write: write.into(),
            purpose,
            is_contested: pod.is_contested(),
        }
    }

    pub(crate) fn key(&self) -> HeldPodKey {
        HeldPodKey { node: self.node.clone(), uid: self.pod.uid().clone() }
    }

    /// What it says to people once it is carried out. A pause between two writes is none of their business.
    pub(crate) fn notice(&self) -> Option<TolerationSecondsNotice> {
        let (pod, node) = (self.pod.clone(), self.node.clone());
        match self.purpose {
            PatchPurpose::Hold => {}
            PatchPurpose::Backfill => return Some(TolerationSecondsNotice::PodBackfilled { pod, node }),
            PatchPurpose::Guard => {
                let is_guarded = matches!(self.write.record, PatchedRecord::Guard(_));
                return Some(TolerationSecondsNotice::PodGuarded { pod, node, is_guarded });
            }
        }
        let given = self.write.seconds.iter();
        match (given.clone().filter_map(|(_, seconds)| *seconds).min(), &self.write.record) {
            (Some(seconds), _) => Some(TolerationSecondsNotice::PodReleased { pod, node, seconds }),
            (None, PatchedRecord::Hold(record)) if given.len() > 0 && record.since() == record.changed() => {
                Some(TolerationSecondsNotice::PodHeld { pod, node, until: record.until() })
            }
            (None, _) => None,
        }
    }
}
