//! Remembers one pod in as little space as that takes: 48 bytes beside its identity and its tolerations, which are shared.

use super::objects::{HeldPodFact, RecordState};
use crate::admission::policy::RequestedSeconds;
use crate::identity::{PodId, ResourceVersion, Uid};
use crate::intern::SharedInterner;
use crate::time::{Span, Wall};
use crate::toleration::Toleration;
use crate::toleration_hold::HoldRecord;
use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// A pod.
#[derive(Clone, Debug)]
pub(crate) struct HeldPodEntry {
    id: PodId,
    tolerations: Arc<Vec<Toleration>>,
    version: Option<NonZeroU64>,
    /// Far in the past, if it is unknown.
    bound: Wall,
    /// Most pods have neither.
    annotations: Option<Box<PodAnnotations>>,
    /// The list that it was in last.
    list: u32,
    is_annotated: bool,
    /// There is a record in the object, of any kind.
    is_recorded: bool,
    /// The record is not the object's: another writer took that away, or replaced it.
    lost: bool,
}

/// What the annotations of a pod say.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct PodAnnotations {
    record: RecordState,
    asked: RequestedSeconds,
}

static NO_ANNOTATIONS: PodAnnotations = PodAnnotations {
    record: RecordState::Absent,
    asked: RequestedSeconds { not_ready: None, unreachable: None },
};

impl HeldPodEntry {
    /// A pod as it is told of; `before` is what was known of it, whose record stays as long as it applies and the object's
    /// does not continue it.
    pub(super) fn new(
        fact: HeldPodFact,
        before: Option<&Self>,
        list: u32,
        tolerations: &mut SharedInterner<Vec<Toleration>>,
    ) -> Self {
        let is_recorded = fact.record != RecordState::Absent;
        let kept = before.filter(|before| {
            let known = before.known_record().filter(|known| known.still_applies(&fact.tolerations));
            known.is_some_and(|known| match &fact.record {
                RecordState::Known(record) => !record.continues(known, &fact.tolerations),
                RecordState::Absent | RecordState::Undecodable => true,
            })
        });
        let lost = kept.is_some();
        let record = kept.map_or(fact.record, |kept| kept.record().clone());
        let annotations =
            PodAnnotations { record, asked: fact.asked.map(|asked| *asked).unwrap_or_default() };
        Self {
            id: fact.id,
            tolerations: tolerations.take(fact.tolerations),
            version: fact.version.and_then(|ResourceVersion(version)| NonZeroU64::new(version)),
            bound: fact.bound.unwrap_or(Wall::from_micros(i64::MIN)),
            annotations: (annotations != NO_ANNOTATIONS).then(|| Box::new(annotations)),
            list,
            is_annotated: fact.is_annotated,
            is_recorded,
            lost,
        }
    }

    /// Whether nothing that decides is different.
    pub(super) fn says_the_same(&self, other: &Self) -> bool {
        self.tolerations == other.tolerations
            && self.annotations == other.annotations
            && (self.bound, self.lost) == (other.bound, other.lost)
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

    /// The version that was seen.
    pub(crate) fn version(&self) -> Option<ResourceVersion> {
        self.version.map(|version| ResourceVersion(version.get()))
    }

    pub(crate) fn is_annotated(&self) -> bool {
        self.is_annotated
    }

    fn annotations(&self) -> &PodAnnotations {
        self.annotations.as_deref().unwrap_or(&NO_ANNOTATIONS)
    }

    /// What its annotations say about the seconds of its default tolerations.
    pub(crate) fn asked(&self) -> &RequestedSeconds {
        &self.annotations().asked
    }

    pub(crate) fn record(&self) -> &RecordState {
        &self.annotations().record
    }

    /// The record, if it can be decoded.
    pub(crate) fn known_record(&self) -> Option<&HoldRecord> {
        match self.record() {
            RecordState::Known(record) => Some(record),
            RecordState::Absent | RecordState::Undecodable => None,
        }
    }

    pub(crate) fn has_record_in_object(&self) -> bool {
        self.is_recorded
    }

    /// Whether another writer changed its seconds or its record.
    pub(crate) fn is_contested(&self) -> bool {
        let is_changed = |record: &HoldRecord| !record.is_kept_by(&self.tolerations);
        self.lost || self.known_record().is_some_and(is_changed)
    }

    pub(crate) fn has_lost_its_record(&self) -> bool {
        self.lost
    }

    /// Since when its countdown would count.
    pub(crate) fn counts_since(&self, silent_since: Option<Wall>) -> Option<Wall> {
        silent_since.map(|since| self.bound.max(since))
    }

    /// When its countdown ends, as far as the seconds say; far off if it has none.
    pub(crate) fn deadline(&self, silent_since: Option<Wall>) -> Wall {
        let seconds = self.tolerations.iter().filter_map(|one| one.seconds).min();
        let ends = self.counts_since(silent_since).zip(seconds);
        ends.map_or(Wall::from_micros(i64::MAX), |(since, seconds)| {
            since.plus(Span::from_micros(seconds.saturating_mul(1_000_000)))
        })
    }
}
