//! Applies a [`TaintEdit`] to the taints of a node: order, overwriting, removal and kubectl's summary (KT-7, KT-8).
//!
//! - Invariant: other taints keep their content and their order. [`TaintOrigin`] says where each came from, so that
//!   unknown fields survive the write.

use super::{TaintEdit, TaintRemoval};
use crate::taint::Taint;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// The result of an edit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EditResult {
    /// All taints, new ones first.
    pub taints: Vec<Taint>,
    /// The origin of each of [`EditResult::taints`].
    pub origins: Vec<TaintOrigin>,
    /// The summary.
    pub word: EditSummary,
}

/// The origin of a taint of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TaintOrigin {
    /// From [`TaintEdit::add`], at this position: new, or replacing one that it overwrites.
    Added(usize),
    /// From the node's taints, at this position: unchanged.
    Kept(usize),
}

/// kubectl's word for what was done (KT-8).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EditSummary {
    /// Taints were added.
    Tainted,
    /// Taints were removed, or nothing happened.
    Untainted,
    /// Both, or overwriting was allowed.
    Modified,
}

/// Why a node is not changed (KT-7); [`EditError::messages`] has the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EditError {
    /// Taints with these keys exist and may not be overwritten, not even with the same value.
    Exists(Vec<Box<str>>),
    /// These removals match no taint.
    NotFound(Vec<TaintRemoval>),
}

impl TaintEdit {
    /// Returns the node's taints after the edit (KT-7, KT-8): new ones in the order of the arguments, then the old ones
    /// in theirs, without those that are removed.
    ///
    /// An overwritten taint loses its `timeAdded`.
    ///
    /// # Errors
    /// Why the node stays unchanged.
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

    /// Returns whether the last removal found something to remove.
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
