//! Tracks the effects in flight and limits how many of each kind there are.

use super::effect::PoolEffectKey;
use alloc::collections::BTreeSet;

/// Maximum number of concurrent node writes.
const NODES_AT_ONCE: usize = 8;

/// Maximum number of concurrent pool writes; the guard counts as one.
const POOLS_AT_ONCE: usize = 4;

/// Maximum number of concurrent evictions: none is urgent, and each takes five requests.
const EVICTIONS_AT_ONCE: usize = 2;

/// Effects in flight.
#[derive(Clone, Debug, Default)]
pub(crate) struct EffectsInFlight(BTreeSet<PoolEffectKey>);

impl EffectsInFlight {
    pub(crate) fn begin(&mut self, key: PoolEffectKey) {
        let is_new = self.0.insert(key);
        assert!(is_new, "one effect at a time for each object");
    }

    /// Ends an effect. Returns whether it was in flight.
    pub(crate) fn end(&mut self, key: &PoolEffectKey) -> bool {
        self.0.remove(key)
    }

    pub(crate) fn contains(&self, key: &PoolEffectKey) -> bool {
        self.0.contains(key)
    }

    pub(crate) fn has_room_for_pools(&self) -> bool {
        let others = |key: &PoolEffectKey| matches!(key, PoolEffectKey::Pool(_) | PoolEffectKey::Guard);
        self.count(others) < POOLS_AT_ONCE
    }

    pub(crate) fn has_room_for_nodes(&self) -> bool {
        self.count(|key| matches!(key, PoolEffectKey::Node(_))) < NODES_AT_ONCE
    }

    pub(crate) fn has_room_for_evictions(&self) -> bool {
        self.count(|key| matches!(key, PoolEffectKey::Pod(_))) < EVICTIONS_AT_ONCE
    }

    pub(crate) fn is_writing_nodes(&self) -> bool {
        self.count(|key| matches!(key, PoolEffectKey::Node(_))) > 0
    }

    fn count(&self, of: impl Fn(&PoolEffectKey) -> bool) -> usize {
        self.0.iter().filter(|key| of(key)).count()
    }
}
