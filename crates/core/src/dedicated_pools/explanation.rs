//! Explains the state of a node to people: its pool, the edits it still needs, and what they wait for.

use super::backoff_map::BackoffMap;
use super::effect::PoolEffectKey;
use super::fact::PoolFact;
use super::reconcile::PoolPlan;
use crate::admission::pool::{NodeEdits, PoolConflict};
use crate::identity::NodeName;
use crate::time::Mono;

/// What happens to a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PoolNodeExplanation<'a> {
    /// The pool that it belongs to, or will.
    pub pool: Option<&'a PoolFact>,
    /// What keeps a pool from taking it.
    pub conflict: Option<PoolConflict>,
    /// The edits that the rules require.
    pub edits: NodeEdits,
    /// Why they are not written now; `None` if they are, or if there are none.
    pub delayed_by: Option<PoolNodeDelay<'a>>,
}

/// Why a node is not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PoolNodeDelay<'a> {
    /// The pool first needs the finalizer and the marks in its status.
    PoolNotPrepared,
    /// The pool that the node's record names cannot be decoded, or is unknown (D11).
    PoolNotKnown,
    /// The last write failed.
    Retry {
        /// When it is retried.
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
