//! Explains the state of a node to people: its pool, the edits it still needs, and what they wait for.

use super::backoff_map::BackoffMap;
use super::effect::PoolEffectKey;
use super::fact::PoolFact;
use super::reconcile::PoolPlan;
use crate::admission::pool::{NodeEdits, PoolConflict};
use crate::identity::NodeName;
use crate::time::Mono;

/// What becomes of a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNodeExplanation<'a> {
    /// The pool that it belongs to, or will.
    pub pool: Option<&'a PoolFact>,
    /// What is in the way of a pool that asks for it.
    pub conflict: Option<PoolConflict>,
    /// What the rules want written.
    pub edits: NodeEdits,
    /// Why that is not written now; `None` if it is, or if there is nothing to write.
    pub delayed_by: Option<PoolNodeDelay<'a>>,
}

/// Why a node is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolNodeDelay<'a> {
    /// The pool needs our finalizer, and the marks in its status, first.
    PoolNotPrepared,
    /// The pool that the node's record names cannot be decoded, or is not known (D11).
    PoolNotKnown,
    /// The last write failed.
    Retry {
        /// When it is tried again.
        at: Mono,
        /// Why it failed, if not because the node had changed.
        message: Option<&'a str>,
    },
}

impl<'a> PoolNodeExplanation<'a> {
    pub(crate) fn of(plan: &'a PoolPlan, backoff: &'a BackoffMap, node: &NodeName) -> Option<Self> {
        let known = plan.nodes().iter().find(|known| *known.name == *node.as_str())?;
        let wanted = plan.wanted(known);
        let key = PoolEffectKey::Node(node.clone());
        let delayed_by = match backoff.retry_at(&key) {
            _ if wanted.edits.is_empty() => None,
            Some(at) => Some(PoolNodeDelay::Retry { at, message: backoff.message(&key) }),
            None if !plan.desired_edits(known).edits.is_empty() => None,
            None if wanted.pool.is_some() && !plan.is_of_undecodable(known) => {
                Some(PoolNodeDelay::PoolNotPrepared)
            }
            None => Some(PoolNodeDelay::PoolNotKnown),
        };
        let pool = wanted.pool.map(|at| &plan.facts()[at]);
        Some(Self { pool, conflict: wanted.conflict, edits: wanted.edits, delayed_by })
    }
}
