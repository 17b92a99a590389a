//! Stores a pod compactly: 48 bytes in addition to its identity. Pods with the same tolerations and annotations share
//! these.

use super::objects::{HeldPodFact, RecordAnnotations, RecordState};
use crate::admission::policy::RequestedSeconds;
use crate::identity::{PodId, ResourceVersion, Uid};
use crate::intern::SharedInterner;
use crate::time::{Span, Wall};
use crate::toleration::Toleration;
use crate::toleration_guard::{GuardRecord, own_tolerations};
use crate::toleration_hold::HoldRecord;
use alloc::borrow::Cow;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct HeldPodEntry {
    id: PodId,
    tolerations: Arc<Vec<Toleration>>,
    version: Option<NonZeroU64>,
    /// Far in the past if unknown.
    bound: Wall,
    /// Most pods have none.
    annotations: Option<Arc<PodAnnotations>>,
    /// The last list that contained it.
    list: u32,
    is_annotated: bool,
    records: RecordAnnotations,
    /// The object does not have this record: another writer removed or replaced it.
    lost: bool,
}

/// The source of a fact about a pod.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FactSource {
    /// A watch: the fact may include another writer's changes.
    Watch,
    /// The response to the engine's patch.
    Response,
}

/// The annotations of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct PodAnnotations {
    record: RecordState,
    requested: RequestedSeconds,
}

static NO_ANNOTATIONS: PodAnnotations = PodAnnotations {
    record: RecordState::Absent,
    requested: RequestedSeconds { not_ready: None, unreachable: None },
};

/// The shared parts of pods.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct SharedPodParts {
    pub(super) tolerations: SharedInterner<Vec<Toleration>>,
    annotations: SharedInterner<PodAnnotations>,
}

impl SharedPodParts {
    /// A pod is removed.
    pub(super) fn give_back(&mut self, pod: &HeldPodEntry) {
        self.tolerations.give_back(&pod.tolerations);
        pod.annotations.iter().for_each(|annotations| self.annotations.give_back(annotations));
    }
}

impl HeldPodEntry {
    /// Makes the entry of a pod; `before` is the previous one, whose record stays as long as it applies and the
    /// object's does not continue it.
    pub(super) fn new(
        fact: HeldPodFact,
        source: FactSource,
        before: Option<&Self>,
        list: u32,
        shared: &mut SharedPodParts,
    ) -> Self {
        let kept = before.filter(|before| source == FactSource::Watch && before.outlives(&fact));
        let lost = kept.is_some();
        let record = kept.map_or(fact.record, |kept| kept.record().clone());
        let annotations = PodAnnotations {
            record,
            requested: fact.requested.map(|requested| *requested).unwrap_or_default(),
        };
        Self {
            id: fact.id,
            tolerations: shared.tolerations.take(fact.tolerations),
            version: fact.version.and_then(|ResourceVersion(version)| NonZeroU64::new(version)),
            bound: fact.bound.unwrap_or(Wall::from_micros(i64::MIN)),
            annotations: (annotations != NO_ANNOTATIONS).then(|| shared.annotations.take(annotations)),
            list,
            is_annotated: fact.is_annotated,
            records: fact.records,
            lost,
        }
    }

    /// Whether no field that decides differs.
    pub(super) fn is_equivalent(&self, other: &Self) -> bool {
        self.tolerations == other.tolerations
            && self.annotations == other.annotations
            && (self.bound, self.lost, self.records) == (other.bound, other.lost, other.records)
    }

    pub(super) fn list(&self) -> u32 {
        self.list
    }

    pub(super) fn is_in(&mut self, list: u32) {
        self.list = list;
    }

    pub(crate) fn id(&self) -> &PodId {
        &self.id
    }

    pub(super) fn uid(&self) -> &Uid {
        self.id.uid()
    }

    pub(crate) fn tolerations(&self) -> &[Toleration] {
        &self.tolerations
    }

    pub(crate) fn shared_tolerations(&self) -> &Arc<Vec<Toleration>> {
        &self.tolerations
    }

    /// The version that was observed.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        self.version.map(|version| ResourceVersion(version.get()))
    }

    pub(crate) fn is_annotated(&self) -> bool {
        self.is_annotated
    }

    fn annotations(&self) -> &PodAnnotations {
        self.annotations.as_deref().unwrap_or(&NO_ANNOTATIONS)
    }

    /// Its annotations about the seconds of its default tolerations.
    pub(crate) fn requested(&self) -> &RequestedSeconds {
        &self.annotations().requested
    }

    pub(crate) fn record(&self) -> &RecordState {
        &self.annotations().record
    }

    /// The record of its hold, if it can be decoded.
    pub(crate) fn known_record(&self) -> Option<&HoldRecord> {
        match self.record() {
            RecordState::Known(record) => Some(record),
            RecordState::Absent | RecordState::Guarded(_) | RecordState::Undecodable => None,
        }
    }

    /// Its record, if it is guarded.
    pub(crate) fn guard_record(&self) -> Option<&GuardRecord> {
        match self.record() {
            RecordState::Guarded(record) => Some(record),
            RecordState::Absent | RecordState::Known(_) | RecordState::Undecodable => None,
        }
    }

    /// Its tolerations, guarded ones with their own seconds.
    pub(crate) fn own_tolerations(&self) -> Cow<'_, [Toleration]> {
        match self.guard_record() {
            None => Cow::Borrowed(self.tolerations()),
            record => Cow::Owned(own_tolerations(self.tolerations(), record)),
        }
    }

    pub(crate) fn records(&self) -> RecordAnnotations {
        self.records
    }

    /// Whether the known record takes precedence over what another writer made of it.
    fn outlives(&self, fact: &HeldPodFact) -> bool {
        let tolerations = &fact.tolerations;
        match (self.record(), &fact.record) {
            (RecordState::Known(known), RecordState::Known(record)) => {
                known.names_any_of(tolerations) && !record.continues(known, tolerations)
            }
            // With its own seconds a pod needs no record; one that cannot be decoded is removed anyway.
            (RecordState::Known(known), RecordState::Undecodable) => known.names_any_of(tolerations),
            (RecordState::Known(known), _) => known.still_applies(tolerations),
            (RecordState::Guarded(known), RecordState::Guarded(record)) => {
                known.still_applies(tolerations) && !record.continues(known, tolerations)
            }
            (RecordState::Guarded(known), _) => known.still_applies(tolerations),
            (RecordState::Absent | RecordState::Undecodable, _) => false,
        }
    }

    /// Whether another writer changed its seconds or its record.
    pub(crate) fn is_contested(&self) -> bool {
        let is_changed = match self.record() {
            RecordState::Known(record) => !record.is_kept_by(&self.tolerations),
            RecordState::Guarded(record) => !record.is_kept_by(&self.tolerations),
            RecordState::Absent | RecordState::Undecodable => false,
        };
        self.lost || is_changed
    }

    pub(crate) fn has_lost_its_record(&self) -> bool {
        self.lost
    }

    /// Returns since when its countdown would count.
    pub(crate) fn counts_since(&self, silent_since: Option<Wall>) -> Option<Wall> {
        silent_since.map(|since| self.bound.max(since))
    }

    /// Returns when its countdown ends according to the seconds; far in the future without a countdown.
    pub(crate) fn deadline(&self, silent_since: Option<Wall>) -> Wall {
        let seconds = self.own_tolerations().iter().filter_map(|one| one.seconds).min();
        let ends = self.counts_since(silent_since).zip(seconds);
        ends.map_or(Wall::from_micros(i64::MAX), |(since, seconds)| {
            since.plus(Span::from_micros(seconds.saturating_mul(1_000_000)))
        })
    }
}
