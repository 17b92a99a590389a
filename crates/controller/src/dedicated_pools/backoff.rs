//! # Retries: what failed, and when it is tried again
//! Room:     growing pauses with jitter, one for each node and pool; the last refusal in words.
//! Comes in: failures and successes.
//! Goes out: whether something may be tried now; when the next may.
//! Keeps:    nothing is given up, and nothing is tried without a pause.
//! Not here: trying (`pool_effects.rs`).

use std::collections::BTreeMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use taintward_core::api_error::ApiFailure;
use taintward_core::identity::{NodeName, Uid};
use taintward_core::time::{Mono, Span};
use taintward_kube::api::RequestError;

/// The first pause after a conflict: somebody else was faster, and is done.
const CONFLICT_FIRST: Span = Span::from_millis(50);

/// The first pause after any other failure.
const FIRST: Span = Span::from_millis(200);

/// The longest, jitter apart.
const LONGEST: Span = Span::from_secs(30);

/// What a request is about; there is one at a time.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum RetryKey {
    /// A pool's finalizer and status.
    Pool(Uid),
    /// A node.
    Node(NodeName),
    /// A pod of others.
    Pod(Uid),
    /// The names of known nodes.
    Roster,
}

/// Something that failed.
#[derive(Debug)]
struct FailedAttempt {
    times: u32,
    until: Mono,
    was: ApiFailure,
    message: String,
}

/// Everything that failed last time.
#[derive(Debug)]
pub(super) struct BackoffMap {
    failed: BTreeMap<RetryKey, FailedAttempt>,
    seed: u64,
}

impl BackoffMap {
    pub(super) fn new(seed: u64) -> Self {
        Self { failed: BTreeMap::new(), seed }
    }

    /// Whether it may be tried now.
    pub(super) fn may_try(&self, key: &RetryKey, now: Mono) -> bool {
        self.failed.get(key).is_none_or(|failed| failed.until <= now)
    }

    pub(super) fn failed(&mut self, key: RetryKey, refusal: &RequestError, now: Mono) {
        let times = self.failed.get(&key).map_or(0, |failed| failed.times);
        let (first, asked) = match refusal.failure {
            ApiFailure::Conflict => (CONFLICT_FIRST, Span::ZERO),
            ApiFailure::Throttled(asked) => (FIRST, asked.unwrap_or(Span::ZERO)),
            _ => (FIRST, Span::ZERO),
        };
        let grown = Span::from_micros(first.as_micros().saturating_mul(1 << times.min(20)));
        let pause = grown.min(LONGEST).max(asked.min(LONGEST));
        let until = now.plus(pause).plus(self.jitter(&key, times, pause));
        let (was, message) = (refusal.failure, refusal.message.clone());
        self.failed.insert(key, FailedAttempt { times: times.saturating_add(1), until, was, message });
    }

    /// Up to a quarter of the pause.
    fn jitter(&self, key: &RetryKey, times: u32, pause: Span) -> Span {
        let mut hasher = DefaultHasher::new();
        (self.seed, key, times).hash(&mut hasher);
        let quarter = (pause.as_micros() / 4).max(1).unsigned_abs();
        Span::from_micros(i64::try_from(hasher.finish() % quarter).unwrap_or(0))
    }

    pub(super) fn succeeded(&mut self, key: &RetryKey) {
        self.failed.remove(key);
    }

    /// There is news of it: a conflict with what it was is none with what it is.
    pub(super) fn changed(&mut self, key: &RetryKey) {
        if self.failed.get(key).is_some_and(|failed| failed.was == ApiFailure::Conflict) {
            self.failed.remove(key);
        }
    }

    /// Forgets all but these.
    pub(super) fn retain(&mut self, keep: impl Fn(&RetryKey) -> bool) {
        self.failed.retain(|key, _| keep(key));
    }

    /// What stands in the way; a conflict does for a moment only.
    pub(super) fn words(&self, key: &RetryKey) -> Option<&str> {
        let failed = self.failed.get(key).filter(|failed| failed.was != ApiFailure::Conflict)?;
        Some(&failed.message)
    }

    /// When the next may be tried, of those that are not due yet.
    pub(super) fn wake_at(&self, now: Mono) -> Option<Mono> {
        self.failed.values().map(|failed| failed.until).filter(|until| *until > now).min()
    }

    /// How many nodes failed last time.
    pub(super) fn nodes(&self) -> usize {
        self.failed.keys().filter(|key| matches!(key, RetryKey::Node(_))).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(failure: ApiFailure) -> RequestError {
        RequestError::ours(failure, "no".into())
    }

    fn pauses(failure: ApiFailure, times: usize) -> Vec<f64> {
        let (mut retries, key) = (BackoffMap::new(7), RetryKey::Node(NodeName::new("n")));
        let pause = |_| {
            retries.failed(key.clone(), &refusal(failure), Mono::from_secs(0));
            let at = retries.wake_at(Mono::from_secs(0)).unwrap();
            assert!(!retries.may_try(&key, Mono::from_secs(0)) && retries.may_try(&key, at));
            at.since(Mono::from_secs(0)).as_secs_f64()
        };
        (0..times).map(pause).collect()
    }

    #[test]
    fn pauses_grow_to_the_longest_and_never_end() {
        for (failure, first) in [(ApiFailure::Unavailable, 0.2), (ApiFailure::Conflict, 0.05)] {
            let pauses = pauses(failure, 40);
            assert!((first..first * 1.25).contains(&pauses[0]), "{pauses:?}");
            assert!(pauses.iter().all(|pause| *pause < 37.5) && *pauses.last().unwrap() >= 30.0);
            assert!(pauses.windows(2).all(|two| two[1] > two[0] || two[1] >= 30.0), "{pauses:?}");
        }
        let asked = pauses(ApiFailure::Throttled(Some(Span::from_secs(9))), 1);
        assert!(asked[0] >= 9.0, "the server's wish: {asked:?}");
    }

    #[test]
    fn news_ends_the_pause_after_a_conflict_only() {
        let (mut retries, key) = (BackoffMap::new(7), RetryKey::Node(NodeName::new("n")));
        let now = Mono::from_secs(1);
        for (failure, waits) in [(ApiFailure::Conflict, false), (ApiFailure::Forbidden, true)] {
            retries.failed(key.clone(), &refusal(failure), now);
            retries.changed(&key);
            assert_eq!(!retries.may_try(&key, now), waits, "{failure:?}");
            assert_eq!(retries.words(&key).is_some(), waits, "{failure:?}");
        }
        retries.succeeded(&key);
        assert!(retries.may_try(&key, now) && retries.words(&key).is_none());
    }
}
