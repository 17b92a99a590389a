//! Defines the settings of the eviction engine.

use crate::time::Span;
use crate::toleration_matching::NumericOperators;

/// Which pods get the `DisruptionTarget` condition before they are deleted (TE-31, NB-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DisruptionConditionPolicy {
    /// All, as upstream.
    #[default]
    Always,
    /// Pods owned by a Job, whose failure policy may read it.
    Jobs,
    /// None.
    Never,
}

/// The engine's configuration.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EvictionConfig {
    /// Whether `Lt` and `Gt` are compared (MATCH-6).
    pub numeric: NumericOperators,
    /// Which pods get the condition before deletion.
    pub condition: DisruptionConditionPolicy,
    /// The maximum age of a node's live confirmation when a DELETE is decided by it (D5, S2).
    pub confirm_age_max: Span,
    /// Whether a pod may appear long after it was bound, because its watch delivers only some pods (those that are
    /// guarded): the engine then takes its arrival from the pod, as it does for listed pods.
    pub pods_appear_late: bool,
}

impl Default for EvictionConfig {
    fn default() -> Self {
        Self {
            numeric: NumericOperators::Off,
            condition: DisruptionConditionPolicy::Always,
            confirm_age_max: Span::from_secs(2),
            pods_appear_late: false,
        }
    }
}
