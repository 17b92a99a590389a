//! # Tolerations: lists of them, each remembered once
//! Room:     one shared copy of each distinct list.
//! Comes in: the list of one more pod, or of one fewer.
//! Goes out: a pointer to the shared copy.
//! Keeps:    a list that no pod has any more is given up.
//! Not here: what tolerations mean (`matching.rs`).

use crate::toleration::Toleration;
use alloc::boxed::Box;
use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// A list of tolerations, shared by all pods that have the same; one pointer wide.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Tolerations(Arc<Box<[Toleration]>>);

impl Tolerations {
    /// Whether both are one and the same copy.
    pub(super) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl core::ops::Deref for Tolerations {
    type Target = [Toleration];

    fn deref(&self) -> &[Toleration] {
        &self.0
    }
}

impl core::borrow::Borrow<[Toleration]> for Tolerations {
    fn borrow(&self) -> &[Toleration] {
        self
    }
}

/// Every distinct list of tolerations, itself and the number of pods that have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct TolerationLists(BTreeMap<Tolerations, (Tolerations, usize)>);

impl TolerationLists {
    /// The shared copy of a list, for one more pod.
    pub(super) fn take(&mut self, list: Vec<Toleration>) -> Tolerations {
        if let Some((shared, pods)) = self.0.get_mut(list.as_slice()) {
            *pods += 1;
            return shared.clone();
        }
        let list = Tolerations(Arc::new(list.into_boxed_slice()));
        self.0.insert(list.clone(), (list.clone(), 1));
        list
    }

    /// One pod fewer has this list.
    pub(super) fn give_back(&mut self, list: &Tolerations) {
        if let Some((_, pods)) = self.0.get_mut(list) {
            *pods -= 1;
            if *pods == 0 {
                self.0.remove(list);
            }
        }
    }
}
