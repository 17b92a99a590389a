//! Applies a [`TaintEdit`] to the taints of a node: order, overwriting, removal and kubectl's summary (KT-7, KT-8).
//!
//! - Invariant: other taints stay as they are, in their order. [`TaintOrigin`] tells the writer where each came from,
//!   so that unknown fields survive.

use super::{TaintEdit, TaintRemoval};
use crate::taint::Taint;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// What becomes of a node's taints.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditResult {
    /// All of them, new ones first.
    pub taints: Vec<Taint>,
    /// Where each of [`EditResult::taints`] is from.
    pub origins: Vec<TaintOrigin>,
    /// What is said about it.
    pub word: EditSummary,
}

/// Where a taint of the result is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaintOrigin {
    /// From [`TaintEdit::add`], at this position: new, or in the place of one it overwrites.
    Added(usize),
    /// From what the node had, at this position: untouched.
    Kept(usize),
}

/// kubectl's word for what was done (KT-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditSummary {
    /// Taints were put on.
    Tainted,
    /// Taints were taken off, or nothing happened.
    Untainted,
    /// Both, or overwriting was allowed.
    Modified,
}

/// Why nothing is done to a node (KT-7). What is said of it: [`EditError::messages`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// Taints with these keys are there and may not be overwritten, not even by the same value.
    Exists(Vec<Box<str>>),
    /// Nothing there is taken off by these.
    NotFound(Vec<TaintRemoval>),
}

impl TaintEdit {
    /// The node's taints after this change (KT-7, KT-8): new ones in the order they were typed, then the old ones in
    /// theirs, then what is removed taken off.
    ///
    /// A taint that is overwritten loses its `timeAdded`.
    ///
    /// # Errors
    /// Why the node stays as it is.
    pub fn apply(&self, taints: &[Taint], overwrite: bool) -> Result<EditResult, EditError> {
        if !overwrite {
            self.collide(taints)?;
        }
        let mut places: Vec<(TaintOrigin, &Taint)> =
            self.add.iter().enumerate().map(|(at, taint)| (TaintOrigin::Added(at), taint)).collect();
        for (at, taint) in taints.iter().enumerate() {
            if !places.iter().any(|(_, placed)| placed.is_same(taint)) {
                places.push((TaintOrigin::Kept(at), taint));
            }
        }
        let added = places.len() != taints.len();
        let removed_last = self.take_off(&mut places)?;
        let word = match (added, removed_last) {
            _ if overwrite => EditSummary::Modified,
            (true, true) => EditSummary::Modified,
            (true, false) => EditSummary::Tainted,
            (false, _) => EditSummary::Untainted,
        };
        let (origins, taints) = places.into_iter().map(|(origin, taint)| (origin, taint.clone())).unzip();
        Ok(EditResult { taints, origins, word })
    }

    fn collide(&self, taints: &[Taint]) -> Result<(), EditError> {
        let there = |new: &Taint| taints.iter().filter(|old| old.is_same(new)).count();
        let keys: Vec<Box<str>> =
            self.add.iter().flat_map(|new| core::iter::repeat_n(new.key.clone(), there(new))).collect();
        if keys.is_empty() { Ok(()) } else { Err(EditError::Exists(keys)) }
    }

    /// Whether the last removal found something to remove.
    fn take_off(&self, places: &mut Vec<(TaintOrigin, &Taint)>) -> Result<bool, EditError> {
        let mut missing = Vec::new();
        let mut removed = false;
        for removal in &self.remove {
            let before = places.len();
            places.retain(|(_, taint)| !removal.takes(taint));
            removed = places.len() < before;
            if !removed {
                missing.push(removal.clone());
            }
        }
        if missing.is_empty() { Ok(removed) } else { Err(EditError::NotFound(missing)) }
    }
}
