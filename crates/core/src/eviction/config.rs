//! Defines the settings of the eviction engine.

use crate::time::Span;
use crate::toleration_matching::NumericOperators;

/// Which pods get the `DisruptionTarget` condition before they are deleted (TE-31, NB-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DisruptionConditionPolicy {
    /// All, as upstream.
    #[default]
    Always,
    /// Those owned by a Job, whose failure policy may read it.
    Jobs,
    /// None.
    Never,
}

/// What an engine is told once.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EvictionConfig {
    /// Whether `Lt` and `Gt` are compared (MATCH-6).
    pub numeric: NumericOperators,
    /// Who is marked before deletion.
    pub condition: DisruptionConditionPolicy,
    /// How old a node's live confirmation may be when a DELETE is decided by it (D5, S2).
    pub confirm_age_max: Span,
}

impl Default for EvictionConfig {
    fn default() -> Self {
        Self {
            numeric: NumericOperators::Off,
            condition: DisruptionConditionPolicy::Always,
            confirm_age_max: Span::from_secs(2),
        }
    }
}
