//! Queues the pods to check, the most urgent first, those that wait for a time, and those that need other seconds.
//!
//! - Invariant: a pod is in at most one place: ready, waiting, paced, or in flight. So no two patches of a pod are in
//!   flight at the same time. Retries never end (L2), and none is made without a pause (D3).

use super::objects::HeldPodKey;
use super::patch::PatchPurpose;
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::Lane;
use crate::time::{Mono, Span, Wall};
use alloc::collections::{BTreeMap, BTreeSet};

#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum QueuePlace {
    /// To be checked; with the end of the countdown.
    Ready(Wall),
    /// To be checked from then on.
    Waiting(Mono),
    /// Needs the seconds of backfill or of the guard, as soon as the rate allows a patch.
    Paced(PatchPurpose),
    /// In flight.
    InFlight,
}

/// A set of pods, those whose patch failed apart from the others.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound(deserialize = "K: Ord + serde::Deserialize<'de>")))]
struct Lanes<K> {
    fresh: BTreeSet<K>,
    retries: BTreeSet<K>,
}

impl<K> Default for Lanes<K> {
    fn default() -> Self {
        Self { fresh: BTreeSet::new(), retries: BTreeSet::new() }
    }
}

impl<K: Ord> Lanes<K> {
    fn insert(&mut self, key: K, is_retry: bool) {
        let lane = if is_retry { &mut self.retries } else { &mut self.fresh };
        lane.insert(key);
    }

    fn remove(&mut self, key: &K) {
        self.fresh.remove(key);
        self.retries.remove(key);
    }

    fn pop(&mut self, lane: Lane) -> Option<K> {
        let retry = if lane == Lane::All { self.retries.pop_first() } else { None };
        retry.or_else(|| self.fresh.pop_first())
    }

    fn len(&self) -> usize {
        self.fresh.len() + self.retries.len()
    }
}

/// All pods with pending work.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct PodPatchQueue {
    places: BTreeMap<HeldPodKey, QueuePlace>,
    ready: Lanes<(Wall, HeldPodKey)>,
    waiting: BTreeSet<(Mono, HeldPodKey)>,
    paced: Lanes<HeldPodKey>,
    paced_for_guard: usize,
    /// The pause between two patches of paced pods.
    interval: Span,
    /// No patch of a paced pod before then.
    paced_from: Option<Mono>,
    in_flight: usize,
    /// The number of consecutive failures of a pod's patch.
    failures: BTreeMap<HeldPodKey, u32>,
}

impl PodPatchQueue {
    /// Returns an empty queue that patches so many paced pods per second.
    pub(crate) fn new(paced_per_second: u32) -> Self {
        let interval = Span::from_micros(1_000_000 / i64::from(paced_per_second.max(1)));
        Self { interval, ..Self::default() }
    }

    /// Queues a pod; one that failed waits for its pause, and one in flight is queued again when its patch has ended.
    pub(crate) fn add(&mut self, key: HeldPodKey, deadline: Wall) {
        match self.places.get(&key) {
            Some(QueuePlace::InFlight) => return,
            Some(QueuePlace::Waiting(_)) if self.failures.contains_key(&key) => return,
            _ => {}
        }
        self.place(key, QueuePlace::Ready(deadline));
    }

    /// Queues a pod for that time.
    pub(crate) fn wait_until(&mut self, key: HeldPodKey, at: Mono) {
        self.place(key, QueuePlace::Waiting(at));
    }

    /// Queues a pod for a patch at the rate of backfill and the guard.
    pub(crate) fn interval(&mut self, key: HeldPodKey, purpose: PatchPurpose) {
        self.place(key, QueuePlace::Paced(purpose));
    }

    /// Forgets a pod that is gone, unless its patch is in flight.
    pub(crate) fn forget(&mut self, key: &HeldPodKey) {
        if self.places.get(key) != Some(&QueuePlace::InFlight) {
            self.take_out(key);
            self.failures.remove(key);
        }
    }

    /// Advances the time.
    pub(crate) fn tick(&mut self, now: Mono) {
        while let Some((_, key)) = self.waiting.first().cloned().filter(|(at, _)| *at <= now) {
            // It is due now: nothing is more urgent.
            self.place(key, QueuePlace::Ready(Wall::from_micros(i64::MIN)));
        }
    }

    /// Takes out the next pod of a lane to check.
    pub(crate) fn pop(&mut self, lane: Lane) -> Option<HeldPodKey> {
        let (_, key) = self.ready.pop(lane)?;
        self.places.remove(&key);
        Some(key)
    }

    /// Takes out the next paced pod of a lane, if the rate allows a patch.
    pub(crate) fn pop_paced(&mut self, lane: Lane, now: Mono) -> Option<HeldPodKey> {
        if self.paced_from.is_some_and(|at| now < at) {
            return None;
        }
        let key = self.paced.pop(lane)?;
        self.take_out(&key);
        Some(key)
    }

    /// The patch of a pod that was taken out is in flight.
    pub(crate) fn begin(&mut self, key: HeldPodKey) {
        self.place(key, QueuePlace::InFlight);
    }

    /// The same for a paced pod: the next one has to wait.
    pub(crate) fn begin_paced(&mut self, key: HeldPodKey, now: Mono) {
        self.begin(key);
        self.paced_from = Some(now.plus(self.interval));
    }

    /// The patch has ended, successfully unless [`Self::fail`] follows. Returns whether it was in flight.
    pub(crate) fn end(&mut self, key: &HeldPodKey) -> bool {
        let was_in_flight = self.places.get(key) == Some(&QueuePlace::InFlight);
        if was_in_flight {
            self.take_out(key);
        }
        was_in_flight
    }

    /// The patch of a pod failed.
    pub(crate) fn fail(&mut self, key: HeldPodKey, failure: ApiFailure, now: Mono) {
        let failures = self.failures.entry(key.clone()).or_insert(0);
        *failures = failures.saturating_add(1);
        let at = now.plus(backoff(key.node.as_str(), &key.uid, *failures, failure));
        self.wait_until(key, at);
    }

    /// Forgets a pod's failures.
    pub(crate) fn succeed(&mut self, key: &HeldPodKey) {
        self.failures.remove(key);
    }

    pub(crate) fn in_flight(&self) -> usize {
        self.in_flight
    }

    /// The number of pods that may need a patch, plus those in flight.
    pub(crate) fn waiting(&self) -> usize {
        self.ready.len() + self.in_flight
    }

    /// The number of paced pods: for backfill, and for the guard.
    pub(crate) fn paced(&self) -> (usize, usize) {
        (self.paced.len() - self.paced_for_guard, self.paced_for_guard)
    }

    /// When a pod has waited long enough.
    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        self.waiting.first().map(|(at, _)| *at)
    }

    /// When the rate allows the next patch of a paced pod.
    pub(crate) fn next_paced(&self) -> Option<Mono> {
        self.paced_from.filter(|_| self.paced.len() > 0)
    }

    /// Puts a pod into a place, and out of the one where it was.
    fn place(&mut self, key: HeldPodKey, place: QueuePlace) {
        self.take_out(&key);
        let is_retry = self.failures.contains_key(&key);
        match &place {
            QueuePlace::Ready(deadline) => self.ready.insert((*deadline, key.clone()), is_retry),
            QueuePlace::Waiting(at) => _ = self.waiting.insert((*at, key.clone())),
            QueuePlace::Paced(purpose) => {
                self.paced.insert(key.clone(), is_retry);
                self.paced_for_guard += usize::from(*purpose == PatchPurpose::Guard);
            }
            QueuePlace::InFlight => self.in_flight += 1,
        }
        self.places.insert(key, place);
    }

    fn take_out(&mut self, key: &HeldPodKey) {
        match self.places.remove(key) {
            Some(QueuePlace::Ready(deadline)) => self.ready.remove(&(deadline, key.clone())),
            Some(QueuePlace::Waiting(at)) => _ = self.waiting.remove(&(at, key.clone())),
            Some(QueuePlace::Paced(purpose)) => {
                self.paced.remove(key);
                self.paced_for_guard -= usize::from(purpose == PatchPurpose::Guard);
            }
            Some(QueuePlace::InFlight) => self.in_flight -= 1,
            None => {}
        }
    }
}
