//! Defines the inputs and outputs of the engine of toleration seconds: patches and notices.

use super::held_pod_entry::HeldPodEntry;
use super::hold_limit::LimitChange;
use super::objects::{HeldPodFact, HeldPodKey, HoldNodeFact, RecordAnnotations};
use super::seconds_objects::{BackfillPolicyFact, PolicyStatusWrite, SecondsNamespaceFact};
use crate::api_error::ApiFailure;
use crate::identity::{NodeName, PodId, PodRef};
use crate::object_event::ObjectEvent;
use crate::time::Wall;
use crate::toleration::{SecondsChanges, Toleration};
use crate::toleration_guard::{GuardRecord, GuardWrite, UnrecordedCause};
use crate::toleration_hold::{HoldRecord, HoldWrite};
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// The purpose of a patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum PatchedRecord {
    /// None.
    None,
    /// That of a hold.
    Hold(HoldRecord),
    /// That of a guarded pod.
    Guard(GuardRecord),
}

/// What a patch writes: seconds, and the record that belongs to them.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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

/// A patch of one pod: it applies only if UID, tolerations and, if a record is written, the existence of one, are as
/// observed.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SecondsPatch {
    /// The pod.
    pub pod: PodId,
    /// Its node.
    pub node: NodeName,
    /// Its tolerations as observed.
    pub tolerations: Arc<Vec<Toleration>>,
    /// Whether it had annotations.
    pub is_annotated: bool,
    /// Which record annotations it had.
    pub records: RecordAnnotations,
    /// The content.
    pub write: SecondsWrite,
    /// The purpose.
    pub purpose: PatchPurpose,
    /// Another writer has changed the pod's seconds or its record meanwhile.
    pub is_contested: bool,
}

/// A request.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TolerationSecondsEffect {
    /// Patches a pod; [`TolerationSecondsInput::PatchDone`] returns the result.
    PatchPod(Box<SecondsPatch>),
    /// Writes the status of a policy; [`TolerationSecondsInput::StatusDone`] returns the result.
    WriteStatus(PolicyStatusWrite),
}

/// An input of the engine.
#[derive(Clone, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TolerationSecondsInput {
    /// An event of the node watch.
    Nodes(ObjectEvent<HoldNodeFact>),
    /// An event of the pod watch; mirror pods and those that have terminated or are terminating are gone.
    Pods(ObjectEvent<HeldPodFact>),
    /// The result of a patch.
    PatchDone {
        /// The patch.
        patch: Box<SecondsPatch>,
        /// The pod afterwards.
        result: Result<HeldPodFact, ApiFailure>,
    },
    /// Bound pods without a record whose tolerations Taintward was the last to write, from a list when it started.
    WrittenPods(Vec<PodRef>),
    /// An event of the namespace watch, for backfill and the guard.
    Namespaces(ObjectEvent<SecondsNamespaceFact>),
    /// An event of the policy watch, for backfill.
    Policies(Box<ObjectEvent<BackfillPolicyFact>>),
    /// The result of a status write.
    StatusDone {
        /// The status.
        write: PolicyStatusWrite,
        /// Whether it is written.
        result: Result<(), ApiFailure>,
    },
}

/// A report for users. Losing one changes nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TolerationSecondsNotice {
    /// All objects were listed once.
    Synced {
        /// The number of nodes.
        nodes: usize,
        /// The number of pods.
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
    /// Another writer changed the seconds or the record of a pod, and the engine restored them.
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
        /// The fewest seconds of its tolerations now.
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
        /// Whether it has the ceiling.
        is_guarded: bool,
    },
    /// A limit of silent nodes is exceeded, or no longer so.
    LimitChanged(LimitChange),
    /// Another writer removed a pod's record while no process ran: the pod's own seconds are unknown.
    RecordMissing {
        /// The pod.
        pod: PodId,
        /// Its node.
        node: NodeName,
        /// What it has instead.
        cause: UnrecordedCause,
    },
    /// A pod's record cannot be decoded.
    RecordUndecodable(PodId),
}

impl SecondsPatch {
    pub(crate) fn new(
        pod: &HeldPodEntry,
        node: NodeName,
        write: SecondsWrite,
        purpose: PatchPurpose,
    ) -> Self {
        Self {
            pod: pod.id().clone(),
            node,
            tolerations: Arc::clone(pod.shared_tolerations()),
            is_annotated: pod.is_annotated(),
            records: pod.records(),
            write,
            purpose,
            is_contested: pod.is_contested(),
        }
    }

    pub(crate) fn key(&self) -> HeldPodKey {
        HeldPodKey { node: self.node.clone(), uid: self.pod.uid().clone() }
    }

    /// Returns the notice of a completed patch. The pause between two writes is not reported.
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
            (None, PatchedRecord::Hold(record)) if given.len() > 0 => {
                let until = record.order()?.ends_at();
                Some(TolerationSecondsNotice::PodHeld { pod, node, until })
            }
            (None, _) => None,
        }
    }
}
