//! Parses the arguments of `kubectl taint` (KT-2, KT-3, KT-5) and applies them to the taints of a node (KT-7, KT-8).
//!
//! - Invariant: a [`TaintEdit`] has valid keys, values and effects only, and adds nothing that it also removes.

use crate::taint::{Taint, TaintEffect};
use alloc::boxed::Box;
use alloc::vec::Vec;
use core::fmt;

mod apply;
mod errors;
mod grammar;
#[cfg(test)]
mod tests;

pub use apply::{EditError, EditResult, EditSummary, TaintOrigin};
pub use grammar::{GrammarError, GrammarErrorKind, is_change, parse};

/// An edit of a node's taints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaintEdit {
    /// Taints to add, in the order of the arguments; no two of them have the same identity.
    pub add: Vec<Taint>,
    /// Removals, in the order of the arguments.
    pub remove: Vec<TaintRemoval>,
}

/// Taints to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintRemoval {
    /// Their key.
    pub key: Box<str>,
    /// Only with this effect; all effects if none is given.
    pub effect: Option<TaintEffect>,
}

impl TaintRemoval {
    /// Whether this taint is removed.
    pub fn takes(&self, taint: &Taint) -> bool {
        self.key == taint.key && self.effect.as_ref().is_none_or(|effect| *effect == taint.effect)
    }
}

/// `key:TaintEffect` or `key` (MATCH-7).
impl fmt::Display for TaintRemoval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        match &self.effect {
            Some(effect) => write!(f, ":{}", effect.as_str()),
            None => Ok(()),
        }
    }
}

/// The text form of the arguments, separated by spaces: [`parse`] reads it back.
impl fmt::Display for TaintEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut space = "";
        for taint in &self.add {
            write!(f, "{space}{taint}")?;
            space = " ";
        }
        for removal in &self.remove {
            write!(f, "{space}{removal}-")?;
            space = " ";
        }
        Ok(())
    }
}
