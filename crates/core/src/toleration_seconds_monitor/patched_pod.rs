//! Keeps what is known of a pod whose seconds may change, in few bytes, and checks a patch of it.

use crate::engine_monitor::RequestProperty;
use crate::eviction_monitor::{NamesHash, TolerationLists};
use crate::taint::keys;
use crate::taint_start::RESOLUTION;
use crate::time::{Span, Wall};
use crate::toleration::Toleration;
use crate::toleration_hold::{HeldToleration, HoldRecord, REMAINDER_MIN};
use crate::toleration_seconds::{HeldPodFact, PatchPurpose, PatchedRecord, RecordState, SecondsPatch};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU64;

/// A pod.
#[derive(Clone, Debug)]
pub(super) struct PatchedPod {
    tolerations: Arc<Vec<Toleration>>,
    version: Option<NonZeroU64>,
    /// Most pods have none.
    records: Option<Box<PodRecords>>,
    names: NamesHash,
    /// It was in the current list, or a list is not running.
    is_listed: bool,
}

const _: () = assert!(size_of::<PatchedPod>() == 32);

/// The records of a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
struct PodRecords {
    /// When the pod was bound; far in the past if unknown.
    bound: Wall,
    /// The one that the engine wrote last, or the first that was observed, as long as it applies: another writer may have
    /// replaced it since.
    trusted: RecordState,
    /// The current one.
    latest: RecordState,
}

fn tolerations_of(record: &RecordState) -> &[HeldToleration] {
    match record {
        RecordState::Known(record) => record.tolerations(),
        RecordState::Guarded(record) => record.tolerations(),
        RecordState::Absent | RecordState::Undecodable => &[],
    }
}

const fn hold_of(record: &RecordState) -> Option<&HoldRecord> {
    match record {
        RecordState::Known(record) => Some(record),
        RecordState::Absent | RecordState::Guarded(_) | RecordState::Undecodable => None,
    }
}

/// The own seconds of the toleration at a position: those of the first record that is about it, or those that it has.
fn own_seconds<'r>(
    at: usize,
    tolerations: &[Toleration],
    records: impl IntoIterator<Item = &'r [HeldToleration]>,
) -> Option<i64> {
    let is_this = |held: &&HeldToleration| {
        held.position_in(tolerations) == Some(at) && held.given() == tolerations[at].seconds
    };
    let held = records.into_iter().flatten().find(is_this);
    held.map(HeldToleration::own).or(tolerations[at].seconds)
}

fn number(fact: &HeldPodFact) -> Option<NonZeroU64> {
    fact.version.and_then(|version| NonZeroU64::new(version.0))
}

impl PatchedPod {
    pub(super) fn new(fact: &HeldPodFact, lists: &mut TolerationLists) -> Self {
        let mut pod = Self {
            tolerations: lists.take(fact.tolerations.clone()),
            version: number(fact),
            records: None,
            names: NamesHash::of(&fact.node, fact.id.name()),
            is_listed: true,
        };
        pod.keep_record(fact);
        pod
    }

    /// It is known no longer.
    pub(super) fn forget(&self, lists: &mut TolerationLists) {
        lists.give_back(&self.tolerations);
    }

    pub(super) const fn is_listed(&self) -> bool {
        self.is_listed
    }

    pub(super) const fn set_listed(&mut self, is_listed: bool) {
        self.is_listed = is_listed;
    }

    /// Returns whether it is not older than what is known.
    pub(super) fn apply(&mut self, fact: &HeldPodFact, listed: bool, lists: &mut TolerationLists) -> bool {
        self.is_listed = true;
        let version = number(fact);
        if !listed && version.is_some() && version < self.version {
            return false;
        }
        self.version = version;
        self.names = NamesHash::of(&fact.node, fact.id.name());
        if *self.tolerations != fact.tolerations {
            lists.give_back(&self.tolerations);
            self.tolerations = lists.take(fact.tolerations.clone());
        }
        self.keep_record(fact);
        true
    }

    /// The response to a patch: the record is the engine's own.
    pub(super) fn trust_record(&mut self) {
        if let Some(records) = &mut self.records {
            records.trusted.clone_from(&records.latest);
        }
    }

    fn keep_record(&mut self, fact: &HeldPodFact) {
        let still_applies =
            |record: &RecordState| tolerations_of(record).iter().any(|held| held.is_in(&self.tolerations));
        let trusted = self.records.take().map(|records| records.trusted).filter(still_applies);
        let (trusted, latest) = (trusted.unwrap_or_else(|| fact.record.clone()), fact.record.clone());
        let bound = fact.bound.unwrap_or(Wall::from_micros(i64::MIN));
        let is_absent = trusted == RecordState::Absent && latest == RecordState::Absent;
        self.records = (!is_absent).then(|| Box::new(PodRecords { bound, trusted, latest }));
    }

    fn records(&self) -> impl Iterator<Item = &RecordState> {
        self.records.iter().flat_map(|records| [&records.trusted, &records.latest])
    }

    /// The right pod, as it was observed.
    pub(super) fn check_identity(&self, patch: &SecondsPatch) -> Result<(), (RequestProperty, String)> {
        let wrong = |property, reason: &str| Err((property, reason.into()));
        if self.names != NamesHash::of(&patch.node, patch.pod.name()) {
            return wrong(RequestProperty::RightPod, "the pod with this UID has another name or node");
        }
        if patch.tolerations != self.tolerations {
            return wrong(
                RequestProperty::RightPod,
                "the pod has other tolerations than the request requires",
            );
        }
        if self.records.as_ref().is_some_and(|records| records.latest == RecordState::Undecodable)
            && !self.records().any(|record| !tolerations_of(record).is_empty())
        {
            return wrong(RequestProperty::Decoded, "its record cannot be decoded");
        }
        Ok(())
    }

    /// No toleration gets fewer seconds than its author wrote, and none loses them. `silent_since` of its node; `None`: unknown.
    pub(super) fn check_seconds(
        &self,
        patch: &SecondsPatch,
        may_backfill: bool,
        silent_since: Option<Option<Wall>>,
        now: Wall,
    ) -> Result<(), (RequestProperty, String)> {
        let mut after = self.tolerations.to_vec();
        for (at, seconds) in &patch.write.seconds {
            let Some(toleration) = after.get_mut(*at) else {
                return Err((RequestProperty::RightPod, format!("it has no toleration number {at}")));
            };
            toleration.seconds = *seconds;
        }
        let written = match &patch.write.record {
            PatchedRecord::Hold(record) => record.tolerations(),
            PatchedRecord::Guard(record) => record.tolerations(),
            PatchedRecord::None => &[],
        };
        for (at, before) in self.tolerations.iter().enumerate() {
            let own = own_seconds(at, &self.tolerations, self.records().map(tolerations_of));
            let kept = own_seconds(at, &after, [written]);
            let is_default = [keys::NOT_READY, keys::UNREACHABLE].contains(&&*before.key);
            // More of them may come from another process, or from a list that is older than the last response.
            let is_kept = own.is_some() == kept.is_some() && kept >= own;
            if !(is_kept || may_backfill && is_default) {
                return Err(lost_seconds(&before.key, own, kept));
            }
            let Some(given) = after[at].seconds.filter(|_| after[at].seconds != before.seconds) else {
                continue;
            };
            let kept = kept.unwrap_or(i64::MAX);
            let is_hold = patch.purpose == PatchPurpose::Hold;
            let least = if is_hold { self.remainder(kept, silent_since) } else { kept };
            let reason = if given < least {
                format!("its toleration of {} would get {given} s, and {least} s remain", before.key)
            } else if !is_hold && silent_since.flatten().is_some() {
                format!("its node is silent, and its toleration of {} would change", before.key)
            } else {
                continue;
            };
            return Err((RequestProperty::NotEarly, reason));
        }
        match &patch.write.record {
            PatchedRecord::Hold(record) => self.check_ran(record, now),
            PatchedRecord::Guard(_) | PatchedRecord::None => Ok(()),
        }
    }

    /// What a toleration with these own seconds gets back at the end of a hold, at least.
    fn remainder(&self, own: i64, silent_since: Option<Option<Wall>>) -> i64 {
        let Some(PodRecords { bound, .. }) = self.records.as_deref() else { return own };
        let counts_since = match silent_since {
            Some(None) => return own,
            Some(Some(since)) => Some(since.max(*bound)),
            // The node is unknown.
            None => None,
        };
        let holds = self.records().filter_map(hold_of);
        let same = holds.filter(|record| counts_since.is_none() || record.counted_since() == counts_since);
        let ran = same.map(HoldRecord::ran).max().unwrap_or_default();
        own.saturating_sub(ran.as_micros() / 1_000_000).max(own.min(REMAINDER_MIN))
    }

    /// A countdown has not run for longer than since its taint was added, or than since the last change of its seconds.
    fn check_ran(&self, after: &HoldRecord, now: Wall) -> Result<(), (RequestProperty, String)> {
        let Some(since) = after.counted_since() else { return Ok(()) };
        // If another writer has removed the record or changed the seconds, it counts from the taint.
        let latest = self.records.as_ref().and_then(|records| hold_of(&records.latest));
        let applies = |record: &&HoldRecord| {
            record.counted_since() == Some(since) && record.names_any_of(&self.tolerations)
        };
        let latest = latest.filter(applies);
        let (ran, from) = latest.map_or((Span::ZERO, since), |record| (record.ran(), record.changed()));
        let micros = now.as_micros().saturating_sub(from.as_micros()).max(0);
        let ran_max = ran.saturating_add(Span::from_micros(micros)).saturating_add(RESOLUTION);
        if after.ran() <= ran_max {
            return Ok(());
        }
        let (seconds, max) = (after.ran().as_secs_f64(), ran_max.as_secs_f64());
        let reason = format!("its countdown would count as {seconds:.1} s, and ran for at most {max:.1} s");
        Err((RequestProperty::NotEarly, reason))
    }
}

fn lost_seconds(key: &str, own: Option<i64>, kept: Option<i64>) -> (RequestProperty, String) {
    let text =
        |seconds: Option<i64>| seconds.map_or("without a limit".into(), |seconds| format!("{seconds} s"));
    let is_fewer = kept.is_some() && own.is_none_or(|own| kept < Some(own));
    let property = if is_fewer { RequestProperty::NotEarly } else { RequestProperty::OwnSeconds };
    let (own, kept) = (text(own), text(kept));
    (property, format!("its toleration of {key} was {own}, and would be {kept} for good"))
}
