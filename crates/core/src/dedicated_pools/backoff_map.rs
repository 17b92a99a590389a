//! Delays the retry of failed effects, with a growing pause per object.
//!
//! - Invariant: retries never end (L2), and none comes without a pause (D3).

use super::effect::{PoolEffectFailure, PoolEffectKey};
use crate::api_error::ApiFailure;
use crate::backoff::backoff;
use crate::engine::Lane;
use crate::identity::Uid;
use crate::time::Mono;
use alloc::collections::BTreeMap;

/// Something that failed.
#[derive(Clone, Debug)]
struct FailedAttempt {
    failures: u32,
    retry_at: Mono,
    last: PoolEffectFailure,
}

/// Everything that failed last time.
#[derive(Clone, Debug, Default)]
pub(crate) struct BackoffMap(BTreeMap<PoolEffectKey, FailedAttempt>);

impl BackoffMap {
    /// Whether a pull of this lane may try it now.
    pub(crate) fn may_try(&self, key: &PoolEffectKey, lane: Lane, now: Mono) -> bool {
        self.0.get(key).is_none_or(|attempt| lane == Lane::All && attempt.retry_at <= now)
    }

    /// When it may be tried, if it failed.
    pub(crate) fn retry_at(&self, key: &PoolEffectKey) -> Option<Mono> {
        self.0.get(key).map(|attempt| attempt.retry_at)
    }

    /// The first moment after `now` at which something may be tried.
    pub(crate) fn next_retry_after(&self, now: Mono) -> Option<Mono> {
        self.0.values().map(|attempt| attempt.retry_at).filter(|at| *at > now).min()
    }

    pub(crate) fn fail(&mut self, key: PoolEffectKey, last: PoolEffectFailure, now: Mono) {
        let failures = self.0.get(&key).map_or(1, |attempt| attempt.failures.saturating_add(1));
        let (name, uid) = match &key {
            PoolEffectKey::Pool(uid) | PoolEffectKey::Pod(uid) => ("", uid),
            PoolEffectKey::Node(node) => (node.as_str(), &Uid::new("")),
            PoolEffectKey::Guard => ("guard", &Uid::new("")),
        };
        let retry_at = now.plus(backoff(name, uid, failures, last.failure));
        self.0.insert(key, FailedAttempt { failures, retry_at, last });
    }

    pub(crate) fn succeed(&mut self, key: &PoolEffectKey) {
        self.0.remove(key);
    }

    /// The watch says something of it: a conflict with what it was is none with what it is.
    pub(crate) fn observe(&mut self, key: &PoolEffectKey) {
        if self.0.get(key).is_some_and(|attempt| attempt.last.failure == ApiFailure::Conflict) {
            self.0.remove(key);
        }
    }

    /// Forgets all but these.
    pub(crate) fn retain(&mut self, keep: impl Fn(&PoolEffectKey) -> bool) {
        self.0.retain(|key, _| keep(key));
    }

    /// What stands in the way; a conflict does for a moment only.
    pub(crate) fn message(&self, key: &PoolEffectKey) -> Option<&str> {
        let attempt = self.0.get(key).filter(|attempt| attempt.last.failure != ApiFailure::Conflict)?;
        Some(&attempt.last.message)
    }

    /// How many nodes failed last time.
    pub(crate) fn nodes(&self) -> usize {
        self.0.keys().filter(|key| matches!(key, PoolEffectKey::Node(_))).count()
    }
}
