//! Delays the retry of failed effects, with a growing pause per object.
//!
//! - Invariant: retries never end (L2), and none comes without a pause (D3).

use super::effect::{PoolEffectFailure, PoolEffectKey};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::Lane;
use crate::identity::Uid;
use crate::time::{Mono, Span};
use alloc::collections::BTreeMap;

/// The longest pause before an effect that pods are kept out by: the controller notices by then that the guard was changed, and
/// a pool's label, which relies on it, is removed.
const URGENT_PAUSE: Span = Span::from_secs(2);

/// An effect that failed.
#[derive(Clone, Debug)]
struct FailedAttempt {
    failures: u32,
    retry_at: Mono,
    /// The same for an urgent effect.
    urgent_at: Mono,
    last: PoolEffectFailure,
}

/// All effects whose last attempt failed.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackoffMap(BTreeMap<PoolEffectKey, FailedAttempt>);

impl BackoffMap {
    /// Whether a pull of this lane may try the effect now.
    pub(crate) fn may_try(&self, key: &PoolEffectKey, lane: Lane, now: Mono) -> bool {
        self.0.get(key).is_none_or(|attempt| lane == Lane::All && attempt.retry_at <= now)
    }

    /// When it may be retried, if it failed.
    pub(crate) fn retry_at(&self, key: &PoolEffectKey) -> Option<Mono> {
        self.0.get(key).map(|attempt| attempt.retry_at)
    }

    /// When an urgent effect of the same object may be tried, if the last one failed.
    pub(crate) fn urgent_at(&self, key: &PoolEffectKey) -> Option<Mono> {
        self.0.get(key).map(|attempt| attempt.urgent_at)
    }

    /// Returns the first moment after `now` at which an effect may be retried.
    pub(crate) fn next_retry_after(&self, now: Mono) -> Option<Mono> {
        self.0.values().map(|attempt| attempt.retry_at).filter(|at| *at > now).min()
    }

    pub(crate) fn fail(&mut self, key: PoolEffectKey, last: PoolEffectFailure, now: Mono) {
        let failures = self.0.get(&key).map_or(1, |attempt| attempt.failures.saturating_add(1));
        let (name, uid) = match &key {
            PoolEffectKey::Pool(uid) | PoolEffectKey::Pod(uid) => ("", uid),
            PoolEffectKey::Node(node) => (node.as_str(), &Uid::new("")),
            PoolEffectKey::Guard | PoolEffectKey::GuardVersion => ("guard", &Uid::new("")),
        };
        let retry_at = now.plus(backoff(name, uid, failures, last.failure));
        let urgent_at = retry_at.min(now.plus(URGENT_PAUSE));
        let retry_at = if key == PoolEffectKey::GuardVersion { urgent_at } else { retry_at };
        self.0.insert(key, FailedAttempt { failures, retry_at, urgent_at, last });
    }

    pub(crate) fn succeed(&mut self, key: &PoolEffectKey) {
        self.0.remove(key);
    }

    /// The watch delivered the object: a conflict with its old version no longer counts.
    pub(crate) fn observe(&mut self, key: &PoolEffectKey) {
        if self.0.get(key).is_some_and(|attempt| attempt.last.failure == ApiFailure::Conflict) {
            self.0.remove(key);
        }
    }

    /// Forgets all others.
    pub(crate) fn retain(&mut self, keep: impl Fn(&PoolEffectKey) -> bool) {
        self.0.retain(|key, _| keep(key));
    }

    /// Returns the error; a conflict has none, it resolves within a moment.
    pub(crate) fn message(&self, key: &PoolEffectKey) -> Option<&str> {
        let attempt = self.0.get(key).filter(|attempt| attempt.last.failure != ApiFailure::Conflict)?;
        Some(&attempt.last.message)
    }

    /// Returns how many nodes have failed.
    pub(crate) fn nodes(&self) -> usize {
        self.0.keys().filter(|key| matches!(key, PoolEffectKey::Node(_))).count()
    }
}
