//! Tracks the lists of one kind, and its objects that could never be decoded (D11): since when something may have existed
//! that is told of for the first time.
//!
//! - See `cache.rs` for objects that were decodable before.

use crate::taint_start::ObservedVia;
use crate::time::Mono;
use alloc::collections::BTreeMap;

/// Where the list of one kind stands; its objects are told apart by `K`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct ListSync<K> {
    complete_once: bool,
    /// While a list runs: the last moment of complete knowledge before it, if there ever was one.
    running: Option<Option<Mono>>,
    undecodable: BTreeMap<K, UndecodableSince>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct UndecodableSince {
    absent_until: Option<Mono>,
    /// Seen in the running list; always true outside one.
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

    /// False if no list runs.
    pub(super) fn complete(&mut self) -> bool {
        if self.running.take().is_none() {
            return false;
        }
        self.complete_once = true;
        self.undecodable.retain(|_, since| since.seen);
        true
    }

    /// How an object came to be known that can be decoded now.
    pub(super) fn observed_via(&mut self, key: &K, listed: bool) -> ObservedVia {
        match (self.undecodable.remove(key), listed) {
            (Some(UndecodableSince { absent_until, .. }), _) => ObservedVia::List { absent_until },
            (None, true) => ObservedVia::List { absent_until: self.running.flatten() },
            (None, false) => ObservedVia::WatchEvent,
        }
    }

    /// An object cannot be decoded, and never was. What is told of for the first time was not there before the list that
    /// runs, or before now, as far as known.
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
mod tests {
    use super::*;

    const NOW: Mono = Mono::from_secs(9);

    fn listed(at: Option<i64>) -> ObservedVia {
        ObservedVia::List { absent_until: at.map(Mono::from_secs) }
    }

    #[test]
    fn what_a_list_tells_was_not_there_before_it_as_far_as_known() {
        let mut sync = ListSync::default();
        assert!(!sync.complete() && !sync.is_complete());
        sync.start(None);
        assert_eq!(sync.observed_via(&1, true), listed(None));
        assert_eq!(sync.observed_via(&1, false), ObservedVia::WatchEvent);
        assert!(sync.complete() && sync.is_complete() && !sync.complete());
        sync.start(Some(Mono::from_secs(5)));
        assert_eq!(sync.observed_via(&1, true), listed(Some(5)));
        assert!(sync.is_complete());
    }

    #[test]
    fn an_object_counts_from_when_it_could_not_be_decoded_until_it_is_gone() {
        let mut sync = ListSync::default();
        sync.start(None);
        sync.mark_undecodable(1, NOW);
        assert!(sync.complete());
        sync.mark_undecodable(2, NOW);
        assert_eq!([1, 2].map(|key| sync.observed_via(&key, false)), [listed(None), listed(Some(9))]);
        assert_eq!(sync.observed_via(&2, false), ObservedVia::WatchEvent);
        for key in [3, 4, 5] {
            sync.mark_undecodable(key, NOW);
        }
        sync.forget(&3);
        sync.start(None);
        sync.mark_undecodable(4, Mono::from_secs(20));
        assert!(sync.complete());
        let observed = [3, 4, 5].map(|key| sync.observed_via(&key, false));
        assert_eq!(observed, [ObservedVia::WatchEvent, listed(Some(9)), ObservedVia::WatchEvent]);
    }
}
