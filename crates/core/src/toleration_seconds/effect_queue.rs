//! Queues the pods to check, the most urgent first, and those that wait for a time.
//!
//! - Invariant: a pod is in at most one place: ready, waiting, or in flight. Retries never end (L2), and none is made
//!   without a pause (D3).

use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::Lane;
use crate::identity::{NodeName, Uid};
use crate::time::{Mono, Wall};
use alloc::collections::{BTreeMap, BTreeSet};

/// A pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct HeldPodKey {
    pub(crate) node: NodeName,
    pub(crate) uid: Uid,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum QueuePlace {
    /// To be checked; with the end of the countdown.
    Ready(Wall),
    /// To be checked from then on.
    Waiting(Mono),
    /// In flight.
    InFlight,
}

/// All pods with pending work.
#[derive(Clone, Debug, Default)]
pub(crate) struct PodPatchQueue {
    places: BTreeMap<HeldPodKey, QueuePlace>,
    ready: BTreeSet<(Wall, HeldPodKey)>,
    waiting: BTreeSet<(Mono, HeldPodKey)>,
    in_flight: usize,
    /// The number of consecutive failures of a pod's patch.
    failures: BTreeMap<HeldPodKey, u32>,
    /// Pods whose patch failed and may be retried.
    retries: BTreeSet<(Wall, HeldPodKey)>,
}

impl PodPatchQueue {
    /// Queues a pod; one that failed waits for its pause, and one in flight is queued again when its patch has ended.
    pub(crate) fn add(&mut self, key: HeldPodKey, deadline: Wall) {
        let is_retry = self.failures.contains_key(&key);
        match self.places.get(&key) {
            Some(QueuePlace::InFlight) => return,
            Some(QueuePlace::Waiting(_)) if is_retry => return,
            _ => {}
        }
        self.take_out(&key);
        let lane = if is_retry { &mut self.retries } else { &mut self.ready };
        lane.insert((deadline, key.clone()));
        self.places.insert(key, QueuePlace::Ready(deadline));
    }

    /// Queues a pod for that time.
    pub(crate) fn wait_until(&mut self, key: HeldPodKey, at: Mono) {
        self.take_out(&key);
        self.waiting.insert((at, key.clone()));
        self.places.insert(key, QueuePlace::Waiting(at));
    }

    /// Advances the time.
    pub(crate) fn tick(&mut self, now: Mono) {
        while let Some((at, key)) = self.waiting.first().cloned().filter(|(at, _)| *at <= now) {
            self.waiting.remove(&(at, key.clone()));
            self.places.remove(&key);
            // It is due now: nothing is more urgent.
            let deadline = Wall::from_micros(i64::MIN);
            let lane = if self.failures.contains_key(&key) { &mut self.retries } else { &mut self.ready };
            lane.insert((deadline, key.clone()));
            self.places.insert(key, QueuePlace::Ready(deadline));
        }
    }

    /// Returns the next pod of a lane.
    pub(crate) fn pop(&mut self, lane: Lane) -> Option<HeldPodKey> {
        let retry = if lane == Lane::All { self.retries.pop_first() } else { None };
        let (_, key) = retry.or_else(|| self.ready.pop_first())?;
        self.places.remove(&key);
        Some(key)
    }

    /// A patch of a pod is in flight.
    pub(crate) fn begin(&mut self, key: HeldPodKey) {
        self.places.insert(key, QueuePlace::InFlight);
        self.in_flight += 1;
    }

    /// The patch has ended, successfully unless [`Self::fail`] follows. Returns whether it was in flight.
    pub(crate) fn end(&mut self, key: &HeldPodKey) -> bool {
        if self.places.get(key) != Some(&QueuePlace::InFlight) {
            return false;
        }
        self.places.remove(key);
        self.in_flight -= 1;
        true
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
        self.ready.len() + self.retries.len() + self.in_flight
    }

    pub(crate) fn next_wakeup(&self) -> Option<Mono> {
        self.waiting.first().map(|(at, _)| *at)
    }

    fn take_out(&mut self, key: &HeldPodKey) {
        match self.places.remove(key) {
            Some(QueuePlace::Ready(deadline)) => {
                self.ready.remove(&(deadline, key.clone()));
                self.retries.remove(&(deadline, key.clone()));
            }
            Some(QueuePlace::Waiting(at)) => _ = self.waiting.remove(&(at, key.clone())),
            Some(QueuePlace::InFlight) | None => {}
        }
    }
}
