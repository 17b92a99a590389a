//! Defines the annotation of a node by which the evictions because of one of its taints respect disruption budgets, without
//! any `EvictionPolicy`.
//!
//! - Invariant: it can only delay. A taint that a policy selects is governed by that policy alone.

use crate::taint::Taint;
use crate::time::{Span, Wall};
use alloc::boxed::Box;

/// The annotation. Its value is a JSON list with an entry for each taint.
pub const RESPECT_BUDGETS: &str = "taintward.io/respect-budgets";

/// An entry of the annotation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct TaintRespect {
    /// The taint's key.
    pub key: Box<str>,
    /// Its value.
    pub value: Box<str>,
    /// Its `timeAdded`: the entry is about this instance of the taint only; `None`: about any.
    pub time_added: Option<Wall>,
    /// How long after it was due a pod is deleted in spite of its budgets; `None`: never.
    pub deadline: Option<Span>,
}

/// What the annotation of a node says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum NodeRespect {
    /// About these taints.
    Taints(Box<[TaintRespect]>),
    /// It cannot be decoded: its author wanted gentler evictions, of whichever taint.
    Undecodable,
}

impl TaintRespect {
    /// Whether the entry is about this taint.
    pub fn is_about(&self, taint: &Taint) -> bool {
        let is_instance = self.time_added.is_none_or(|at| taint.time_added == Some(at));
        self.key == taint.key && self.value == taint.value && is_instance
    }
}
