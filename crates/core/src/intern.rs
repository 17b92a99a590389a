//! Stores one shared copy of equal values and counts its users.
//!
//! - Invariant: a value without users is dropped. Users are counted here, not by the [`Arc`], so that copies of an
//!   engine compare equal.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;

/// Every distinct value, with the number of its users.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(bound(deserialize = "T: Ord + serde::Deserialize<'de>")))]
pub(crate) struct SharedInterner<T>(BTreeMap<Arc<T>, (Arc<T>, usize)>);

impl<T> Default for SharedInterner<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<T: Ord> SharedInterner<T> {
    /// Returns the shared copy of a value, for one more user.
    pub(crate) fn take(&mut self, value: T) -> Arc<T> {
        if let Some((shared, holders)) = self.0.get_mut(&value) {
            *holders += 1;
            return Arc::clone(shared);
        }
        let shared = Arc::new(value);
        self.0.insert(Arc::clone(&shared), (Arc::clone(&shared), 1));
        shared
    }

    /// Removes one user of this value.
    pub(crate) fn give_back(&mut self, value: &T) {
        if let Some((_, holders)) = self.0.get_mut(value) {
            *holders -= 1;
            if *holders == 0 {
                self.0.remove(value);
            }
        }
    }

    /// Returns every value once.
    pub(crate) fn values(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.keys()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_one_copy_until_the_last_user_is_gone() {
        let mut all = SharedInterner::default();
        let (first, second, other) = (all.take("a"), all.take("a"), all.take("b"));
        assert!(Arc::ptr_eq(&first, &second) && !Arc::ptr_eq(&first, &other));
        all.give_back(&first);
        assert_eq!(all.values().map(|value| **value).collect::<alloc::vec::Vec<_>>(), ["a", "b"]);
        all.give_back(&second);
        all.give_back(&other);
        assert_eq!(all, SharedInterner::default());
    }
}
