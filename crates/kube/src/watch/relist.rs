//! Schedules complete lists alongside a healthy watch ([`RelistTrigger`]).
//!
//! - Invariant: a lost event is found within the interval: jitter and the duration of a list are subtracted, never
//!   added (L4).
//! - See `background_list.rs` for the list itself.

use crate::split_mix::SplitMix64;
use std::time::Duration;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// A list starts after at most this fraction of the interval: the rest is for the list itself.
const LATEST: f64 = 0.95;
/// Replicas and streams spread by this fraction of the interval.
const SPREAD: f64 = 0.15;
/// The delay of the retry after a first failure of a list.
const AGAIN_FIRST: Duration = Duration::from_secs(10);
/// However often lists are requested, this much time is between the end of one and the start of the next.
const REQUESTED_DISTANCE: Duration = Duration::from_secs(1);

/// Makes all watchers that have it in their settings list everything again immediately; clones are equivalent. For
/// callers that detect that the watches' events are void, as after the server's store was replaced by an older one: a
/// watch from a version in the future is silent and looks healthy.
#[derive(Clone, Debug, Default)]
pub struct RelistTrigger(watch::Sender<()>);

impl RelistTrigger {
    /// Requests a relist. A list that is requested from the server from now on suffices; one that is being received
    /// does not.
    pub fn request(&self) {
        self.0.send_replace(());
    }

    /// Receives a change with each request.
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.0.subscribe()
    }
}

pub(super) struct RelistSchedule {
    every: Option<Duration>,
    retry_after_max: Duration,
    begun: Option<Instant>,
    ended: Option<Instant>,
    due: Option<Instant>,
    /// Consecutive failures.
    failed: u32,
    jitter: SplitMix64,
    /// Changes with each request for a relist.
    requests: watch::Receiver<()>,
}

impl RelistSchedule {
    /// Lists at the interval `every`, where `None` and zero mean never, and whenever `now` is triggered. A server's
    /// `Retry-After` is respected up to `retry_after_max`.
    pub(super) fn new(
        every: Option<Duration>,
        retry_after_max: Duration,
        seed: u64,
        now: &RelistTrigger,
    ) -> Self {
        let every = every.filter(|every| !every.is_zero());
        Self {
            every,
            retry_after_max,
            begun: None,
            ended: None,
            due: None,
            failed: 0,
            jitter: SplitMix64(seed),
            requests: now.subscribe(),
        }
    }

    /// Whether a list is due, also because of a request.
    pub(super) fn is_due(&mut self) -> bool {
        if self.requests.has_changed().unwrap_or(false) {
            self.requests.mark_unchanged();
            self.advance();
        }
        self.due.is_some_and(|due| due <= Instant::now())
    }

    /// Waits until a list is due. Cancel safe.
    pub(super) async fn comes_due(&mut self) {
        loop {
            tokio::select! {
                biased;
                () = reached(self.due) => return,
                Ok(()) = self.requests.changed() => self.advance(),
            }
        }
    }

    /// Makes a list due now, or as soon as the distance to the last one permits.
    fn advance(&mut self) {
        let now = Instant::now();
        let at = self.ended.map_or(now, |ended| now.max(ended + REQUESTED_DISTANCE));
        self.due = Some(self.due.map_or(at, |due| due.min(at)));
    }

    /// A list is requested. The current state is in it, or delivered after it.
    pub(super) fn begins(&mut self) {
        self.begun = Some(Instant::now());
        self.requests.mark_unchanged();
    }

    /// The list is complete. One that takes longer than the interval is not followed by another immediately.
    pub(super) fn ends(&mut self) {
        self.failed = 0;
        let now = Instant::now();
        self.ended = Some(now);
        let begun = self.begun.take().unwrap_or(now);
        let hold = self.every.map(|every| every.mul_f64(LATEST) - self.jitter.up_to(every.mul_f64(SPREAD)));
        self.due = hold.and_then(|hold| Some(begun.checked_add(hold)?.max(now.checked_add(hold / 2)?)));
    }

    /// The list failed. Returns the delay of the next attempt. `retry_after` is the server's `Retry-After`.
    pub(super) fn fails(&mut self, retry_after: Option<Duration>) -> Duration {
        let longest = self.every.unwrap_or(Duration::MAX);
        let pause = AGAIN_FIRST.saturating_mul(1 << self.failed.min(20)).min(longest.mul_f64(1.0 - SPREAD));
        self.failed = self.failed.saturating_add(1);
        let pause = pause.max(retry_after.unwrap_or_default().min(self.retry_after_max));
        let pause = pause + self.jitter.up_to(pause.mul_f64(SPREAD));
        self.begun = None;
        self.due = Instant::now().checked_add(pause);
        pause
    }
}

/// Completes at that moment; pends if there is none.
async fn reached(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EVERY: Duration = Duration::from_secs(300);
    const RETRY_AFTER_MAX: Duration = Duration::from_secs(30);

    fn schedule(every: Option<Duration>, seed: u64) -> RelistSchedule {
        RelistSchedule::new(every, RETRY_AFTER_MAX, seed, &RelistTrigger::default())
    }

    #[tokio::test(start_paused = true)]
    async fn l4_jitter_only_shortens_and_leaves_room_for_the_list() {
        let mut seen = Vec::new();
        for seed in 0..1000 {
            let mut relist = schedule(Some(EVERY), seed);
            assert!(relist.due.is_none(), "nothing was listed yet: other rules apply");
            relist.begins();
            relist.ends();
            let off = relist.due.unwrap() - Instant::now();
            assert!((Duration::from_secs(240)..=Duration::from_secs(285)).contains(&off), "{seed}: {off:?}");
            assert!(!relist.is_due());
            seen.push(off);
        }
        let (first, last) = (seen.iter().min().unwrap(), seen.iter().max().unwrap());
        assert!(last.abs_diff(*first) > Duration::from_secs(40), "spread: {first:?} to {last:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn l4_the_age_of_a_list_counts_from_its_start() {
        let mut relist = schedule(Some(EVERY), 1);
        relist.begins();
        let begun = Instant::now();
        tokio::time::advance(Duration::from_secs(60)).await;
        relist.ends();
        assert!(relist.due.unwrap() - begun <= Duration::from_secs(285));
        // Longer than the interval: half of it is free of lists.
        relist.begins();
        tokio::time::advance(Duration::from_secs(1000)).await;
        relist.ends();
        assert!(relist.due.unwrap() - Instant::now() >= Duration::from_secs(120));
    }

    #[tokio::test(start_paused = true)]
    async fn a_failing_list_is_retried_at_growing_intervals() {
        let mut relist = schedule(Some(EVERY), 1);
        for at in 0..40_u32 {
            let pause = relist.fails(None);
            let plain = AGAIN_FIRST.saturating_mul(1 << at.min(10)).min(Duration::from_secs(255));
            assert!(pause >= plain && pause <= plain.mul_f64(1.15) && pause <= EVERY, "{at}: {pause:?}");
        }
        relist.ends();
        assert!(relist.fails(None) < Duration::from_secs(12), "a success resets the intervals");
        let wished = relist.fails(Some(Duration::from_secs(365 * 86_400)));
        assert!(wished >= RETRY_AFTER_MAX && wished <= RETRY_AFTER_MAX.mul_f64(1.15), "{wished:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn never_and_hardly_ever() {
        for every in [None, Some(Duration::ZERO), Some(Duration::MAX)] {
            let mut relist = schedule(every, 1);
            relist.begins();
            relist.ends();
            assert!(relist.due.is_none(), "{every:?}");
        }
    }
}
