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
pub use grammar::{GrammarError, GrammarFault, is_change, parse};

/// What is to become of a node's taints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaintEdit {
    /// Taints to put on, in the order they were typed; no two of them are the same one.
    pub add: Vec<Taint>,
    /// What to take off, in the order it was typed.
    pub remove: Vec<TaintRemoval>,
}

/// Taints to take off.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TaintRemoval {
    /// Of this key.
    pub key: Box<str>,
    /// Only with this effect; all effects if none is given.
    pub effect: Option<TaintEffect>,
}

impl TaintRemoval {
    /// Whether this taint goes.
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

/// As it is typed, arguments separated by spaces: [`parse`] reads it back.
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
