//! Tracks nodes and pods that could never be decoded (D11), and since when they may have existed.
//!
//! - See `cache.rs` for objects that were decodable before.

use crate::taint_start::ObservedVia;
use crate::time::Mono;
use alloc::collections::BTreeMap;

/// Objects by their identity.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct UndecodableObjects<K>(BTreeMap<K, UndecodableSince>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct UndecodableSince {
    absent_until: Option<Mono>,
    /// Seen in the running list; always true outside one.
    seen: bool,
}

impl<K> Default for UndecodableObjects<K> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord> UndecodableObjects<K> {
    pub(super) fn tell(&mut self, key: K, absent_until: Option<Mono>) {
        self.0.entry(key).or_insert(UndecodableSince { absent_until, seen: true }).seen = true;
    }

    /// It can be decoded now, or is gone.
    pub(super) fn take(&mut self, key: &K) -> Option<ObservedVia> {
        let UndecodableSince { absent_until, .. } = self.0.remove(key)?;
        Some(ObservedVia::List { absent_until })
    }

    pub(super) fn list_begins(&mut self) {
        self.0.values_mut().for_each(|since| since.seen = false);
    }

    pub(super) fn list_ends(&mut self) {
        self.0.retain(|_, since| since.seen);
    }
}
