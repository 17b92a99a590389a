//! Holds the pods that wait for a retry, by time and by the kind of request that was rejected.

use super::attempt::QueueKey;
use super::rejection::RequestScope;
use crate::time::Mono;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::vec::Vec;

/// Pods that wait for a retry.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct RetryQueue {
    by_time: BTreeSet<(Mono, QueueKey)>,
    /// The same, of pods that were rejected.
    by_scope: BTreeMap<RequestScope, BTreeSet<(Mono, QueueKey)>>,
}

impl RetryQueue {
    /// Adds a pod that waits until `at`, because of rejections of this kind if there were any.
    pub(crate) fn insert(&mut self, at: Mono, key: QueueKey, scope: Option<&RequestScope>) {
        if let Some(scope) = scope {
            self.by_scope.entry(scope.clone()).or_default().insert((at, key.clone()));
        }
        self.by_time.insert((at, key));
    }

    /// Removes a pod that was added with the same values.
    pub(crate) fn remove(&mut self, at: Mono, key: &QueueKey, scope: Option<&RequestScope>) {
        let place = (at, key.clone());
        self.by_time.remove(&place);
        let Some(scope) = scope else { return };
        let Some(waiting) = self.by_scope.get_mut(scope) else { return };
        waiting.remove(&place);
        if waiting.is_empty() {
            self.by_scope.remove(scope);
        }
    }

    /// The pod whose time comes first.
    pub(crate) fn first(&self) -> Option<&(Mono, QueueKey)> {
        self.by_time.first()
    }

    /// The kinds of rejections for which pods wait.
    pub(crate) fn scopes(&self) -> impl Iterator<Item = &RequestScope> {
        self.by_scope.keys()
    }

    /// The pods that wait because of rejections of a kind, in the order of their times.
    pub(crate) fn of_scope(&self, scope: &RequestScope) -> impl Iterator<Item = &QueueKey> {
        self.by_scope.get(scope).into_iter().flatten().map(|(_, key)| key)
    }

    /// The same, as a list.
    pub(crate) fn all_of_scope(&self, scope: &RequestScope) -> Vec<QueueKey> {
        self.of_scope(scope).cloned().collect()
    }
}
