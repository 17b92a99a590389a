//! Counts what eviction policies delay, and what they delete in spite of budgets.
//!
//! - No series has the name of a policy; a policy's own counts are in its status.

use super::names;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use taintward_core::eviction::{DelayCategory, DelayedPods, EvictionPolicyStatus};
use taintward_core::time::Mono;
use taintward_server::closed_label;
use taintward_server::metrics::{ByLabel, MetricsRegistry, TimeDirection, TimeGauge};

closed_label! {
    /// What delays a due pod.
    DelayReason, "reason", {
        /// A disruption budget.
        Budget => "budget",
        /// A limit of the policy.
        Limit => "limit",
        /// The order of the policy.
        Order => "order",
        /// The policy is invalid, or what it needs is not known yet.
        Policy => "policy",
        /// The brake (`--brake-limit`).
        Brake => "brake",
    }
}

/// The group.
#[derive(Clone, Debug)]
pub struct EvictionPolicyMetrics {
    /// Pods that were deleted in spite of their budgets.
    pub forced: Counter,
    delayed: ByLabel<DelayReason, Gauge>,
    oldest_delayed: TimeGauge,
    policies: Gauge,
    blocked: Gauge,
}

impl EvictionPolicyMetrics {
    pub(super) fn new(registry: &mut MetricsRegistry<'_>) -> Self {
        Self {
            forced: registry.counter(
                names::FORCED_EVICTIONS,
                "Pods deleted in spite of their disruption budgets, after the deadline of an eviction policy",
            ),
            delayed: registry.gauges(
                names::DELAYED_PODS,
                "Pods that are due for eviction and that an eviction policy or --brake-limit delays, by reason",
            ),
            oldest_delayed: registry.moment(
                names::OLDEST_DELAYED_POD,
                "How long the pod that eviction policies or --brake-limit have delayed longest has been due; 0 if there is none",
                TimeDirection::Since,
            ),
            policies: registry.gauge(names::EVICTION_POLICIES, "Eviction policies that can be decoded"),
            blocked: registry.gauge(
                names::EVICTION_POLICIES_BLOCKED,
                "Eviction policies that are invalid, or delay a pod until a person changes a budget",
            ),
        }
    }

    /// What the policies do now.
    pub fn set<'s>(&self, statuses: impl Iterator<Item = &'s EvictionPolicyStatus> + Clone) {
        self.policies.set(number(statuses.clone().count()));
        self.blocked.set(number(statuses.filter(|status| !status.is_ready() || status.is_blocked()).count()));
    }

    /// How many pods are delayed, and since when the pod that anything has delayed longest is due.
    pub fn set_delayed(&self, delayed: DelayedPods, oldest_due: Option<Mono>) {
        for category in DelayCategory::ALL {
            let reason = match category {
                DelayCategory::Budget => DelayReason::Budget,
                DelayCategory::Limit => DelayReason::Limit,
                DelayCategory::Order => DelayReason::Order,
                DelayCategory::Policy => DelayReason::Policy,
                DelayCategory::Brake => DelayReason::Brake,
            };
            self.delayed.of(reason).set(number(delayed.of(category)));
        }
        self.oldest_delayed.set(oldest_due);
    }
}

fn number(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
