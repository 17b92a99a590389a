//! Tracks the versions that a watch and a list alongside it have delivered, to drop outdated ones.
//!
//! - Invariant: no object goes back in time. Bounded (S12): too many objects end the list, not the watch.
//! - Versions of a resource are ordered, also across objects of the same name; if one cannot be parsed, the watch
//!   counts.

use crate::decode::ObjectIdentity;
use std::collections::HashMap;
use taintward_core::identity::ResourceVersion;

/// The maximum number of objects that may change during a list: about 8 MB.
const OBJECTS_MAX: usize = 50_000;

/// The delivered version of one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct DeliveredVersion {
    version: Option<ResourceVersion>,
    deleted: bool,
}

#[derive(Default)]
pub(super) struct DeliveredObjects {
    states: HashMap<Box<str>, DeliveredVersion>,
    /// The latest version of all objects.
    latest: Option<ResourceVersion>,
}

impl DeliveredObjects {
    pub(super) fn is_empty(&self) -> bool {
        self.states.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.states.len() >= OBJECTS_MAX
    }

    /// The watch has reached this version: once that is later than all, nothing older can arrive.
    pub(super) fn passed(&mut self, position: ResourceVersion) {
        if self.latest.is_none_or(|latest| latest <= position) {
            *self = Self::default();
        }
    }

    /// Whether a watch event is newer than what was delivered; recorded if it has to `count` against a list.
    pub(super) fn by_watch(&mut self, object: &ObjectIdentity, deleted: bool, count: bool) -> bool {
        let state = DeliveredVersion { version: object.version, deleted };
        let name = name(object);
        if self.states.get(&name).is_some_and(|delivered| state.version.is_some() && state < *delivered) {
            return false;
        }
        if count {
            self.keep(name, state);
        }
        true
    }

    /// Whether a list's item is newer than what was delivered; recorded if the watch, which is at `position`, has yet
    /// to deliver it.
    pub(super) fn by_list(&mut self, object: &ObjectIdentity, position: Option<ResourceVersion>) -> bool {
        let name = name(object);
        if self
            .states
            .get(&name)
            .is_some_and(|delivered| delivered.version.is_none() || object.version <= delivered.version)
        {
            return false;
        }
        if object.version > position {
            self.keep(name, DeliveredVersion { version: object.version, deleted: false });
        }
        true
    }

    fn keep(&mut self, name: Box<str>, state: DeliveredVersion) {
        self.latest = self.latest.max(state.version);
        if !self.is_full() {
            self.states.insert(name, state);
        }
    }
}

fn name(object: &ObjectIdentity) -> Box<str> {
    format!("{}/{}", object.namespace, object.name).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object(name: &str, version: u64) -> ObjectIdentity {
        let version = Some(version).filter(|version| *version > 0).map(ResourceVersion);
        ObjectIdentity { name: name.to_owned(), version, ..ObjectIdentity::default() }
    }

    #[test]
    fn a_list_item_not_newer_than_the_watch_is_dropped() {
        let mut delivered = DeliveredObjects::default();
        assert!(delivered.by_watch(&object("a", 7), false, true));
        let at = Some(ResourceVersion(7));
        let is_new = [6, 7, 8].map(|version| delivered.by_list(&object("a", version), at));
        assert_eq!(is_new, [false, false, true]);
        assert!(!delivered.by_watch(&object("a", 7), false, true), "the list was ahead");
        assert!(delivered.by_watch(&object("a", 8), false, true), "a repeated item does no harm");
        assert!(delivered.by_list(&object("b", 1), at));
    }

    #[test]
    fn a_deleted_object_stays_deleted_until_a_later_version_appears() {
        let mut delivered = DeliveredObjects::default();
        assert!(delivered.by_watch(&object("a", 7), true, true));
        assert!(!delivered.by_list(&object("a", 6), None) && !delivered.by_list(&object("a", 7), None));
        assert!(
            !delivered.by_watch(&object("a", 7), false, true),
            "a deletion may have the version of the last state"
        );
        assert!(delivered.by_watch(&object("a", 9), false, true), "a successor");
    }

    #[test]
    fn without_a_version_the_watch_counts() {
        let mut delivered = DeliveredObjects::default();
        assert!(delivered.by_watch(&object("a", 0), false, true));
        assert!(!delivered.by_list(&object("a", 9), None));
        assert!(delivered.by_list(&object("b", 0), None));
        assert!(
            delivered.by_watch(&object("b", 0), true, true)
                && delivered.by_watch(&object("b", 3), false, true)
        );
        assert!(!delivered.by_list(&object("b", 0), None));
    }

    #[test]
    fn everything_is_forgotten_once_the_watch_has_passed_it_and_memory_is_bounded() {
        let mut delivered = DeliveredObjects::default();
        delivered.by_list(&object("a", 9), Some(ResourceVersion(5)));
        delivered.passed(ResourceVersion(8));
        assert!(!delivered.by_watch(&object("a", 8), false, false));
        delivered.passed(ResourceVersion(9));
        assert!(delivered.is_empty());
        for number in 0..2 * OBJECTS_MAX {
            delivered.by_watch(&object(&number.to_string(), 1), false, true);
        }
        assert!(delivered.is_full() && delivered.states.len() == OBJECTS_MAX);
    }
}
