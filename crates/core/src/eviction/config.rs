//! Defines the settings of the eviction engine.

use crate::fact::HoldPeriod;
use crate::node_limit::NodeLimit;
use crate::ordered_hold::HoldWindows;
use crate::time::{Mono, Now, Span};
use crate::toleration_matching::NumericOperators;

/// Which pods get the `DisruptionTarget` condition before they are deleted (TE-31, NB-3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct EvictionConfig {
    /// Whether `Lt` and `Gt` are compared (MATCH-6).
    pub numeric: NumericOperators,
    /// Which pods get the condition before deletion.
    pub condition: DisruptionConditionPolicy,
    /// The maximum age of a live confirmation when a DELETE is decided by it, if the read took no time (D5, S2).
    pub confirm_age_max: Span,
    /// The same for reads that take long.
    pub confirm_age_limit: Span,
    /// Whether a pod may appear long after it was bound, because its watch delivers only some pods (those that are
    /// guarded): the engine then takes its arrival from the pod, as it does for listed pods.
    pub pods_appear_late: bool,
    /// Whether taints and pods count from the second that their objects name, even if they were observed live: for an
    /// engine that shows deadlines and evicts nothing, so that it shows the same as a snapshot.
    pub starts_as_named: bool,
    /// Whether eviction policies exist: no pod is evicted before they were listed once.
    pub policies: bool,
    /// Of how many nodes a taint key may evict pods at once before the brake delays the others; `None`: any number.
    pub brake: Option<NodeLimit>,
}

/// The maximum age of a live confirmation when a DELETE is decided by it, however long the read took (D5): of the five
/// seconds after which no DELETE may be carried out (S2), this leaves it half a second.
pub const CONFIRM_AGE_LIMIT: Span = Span::from_millis(4_500);

/// How long a DELETE may take to be decided once a slow read has confirmed it.
const DECIDED_WITHIN: Span = Span::from_secs(1);

impl EvictionConfig {
    /// Places holds on the local clock; `known`: those that were placed before.
    pub(super) fn hold_windows(
        &self,
        periods: Option<&[HoldPeriod]>,
        known: &HoldWindows,
        now: Now,
    ) -> HoldWindows {
        match self.starts_as_named {
            true => HoldWindows::as_named(periods, now),
            false => HoldWindows::placed(periods, known, now),
        }
    }

    /// Until when a read that was sent and answered then confirms a DELETE: each read has an age of its own, so that one
    /// that took long makes no other older.
    pub(super) fn confirmed_until(&self, sent: Mono, received: Mono) -> Mono {
        let usual = sent.plus(self.confirm_age_max).max(received.plus(DECIDED_WITHIN));
        usual.min(sent.plus(self.confirm_age_limit.max(self.confirm_age_max)))
    }
}

impl Default for EvictionConfig {
    fn default() -> Self {
        Self {
            numeric: NumericOperators::Off,
            condition: DisruptionConditionPolicy::Always,
            confirm_age_max: Span::from_secs(2),
            pods_appear_late: false,
            starts_as_named: false,
            policies: false,
            brake: None,
            confirm_age_limit: CONFIRM_AGE_LIMIT,
        }
    }
}
