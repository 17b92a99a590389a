//! Follows the list of one kind of objects, and remembers which of them could never be decoded.

use crate::taint_start::ObservedVia;
use crate::time::Mono;
use alloc::collections::BTreeMap;

/// The state of the list of one kind, and its undecodable objects that were never decoded (D11): since when an object
/// that appears for the first time may have existed. `K` identifies them.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound(deserialize = "K: Ord + serde::Deserialize<'de>")))]
pub(super) struct ListSync<K> {
    complete_once: bool,
    /// While a list runs: the last moment of complete knowledge before it, if there ever was one.
    running: Option<Option<Mono>>,
    undecodable: BTreeMap<K, UndecodableSince>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct UndecodableSince {
    absent_until: Option<Mono>,
    /// Observed in the current list; always true outside of a list.
    seen: bool,
}

impl<K> Default for ListSync<K> {
    fn default() -> Self {
        Self { complete_once: false, running: None, undecodable: BTreeMap::new() }
    }
}

impl<K: Ord> ListSync<K> {
    /// Whether a list was complete once.
    pub(super) fn is_complete(&self) -> bool {
        self.complete_once
    }

    pub(super) fn start(&mut self, silent_since: Option<Mono>) {
        self.running = Some(silent_since);
        self.undecodable.values_mut().for_each(|since| since.seen = false);
    }

    /// Completes the list; false if no list runs.
    pub(super) fn complete(&mut self) -> bool {
        if self.running.take().is_none() {
            return false;
        }
        self.complete_once = true;
        self.undecodable.retain(|_, since| since.seen);
        true
    }

    /// Returns how an object that can be decoded now became known.
    pub(super) fn observed_via(&mut self, key: &K, listed: bool) -> ObservedVia {
        match (self.undecodable.remove(key), listed) {
            (Some(UndecodableSince { absent_until, .. }), _) => ObservedVia::List { absent_until },
            (None, true) => ObservedVia::List { absent_until: self.running.flatten() },
            (None, false) => ObservedVia::WatchEvent,
        }
    }

    /// Records an object that cannot be decoded and never was. An object that appears for the first time did not exist
    /// before the current list, or before now, as far as is known.
    pub(super) fn mark_undecodable(&mut self, key: K, now: Mono) {
        let absent_until = self.running.unwrap_or(self.complete_once.then_some(now));
        self.undecodable.entry(key).or_insert(UndecodableSince { absent_until, seen: true }).seen = true;
    }

    /// An object is gone.
    pub(super) fn forget(&mut self, key: &K) {
        self.undecodable.remove(key);
    }
}

#[cfg(test)]
mod tests;
