//! Tests the eviction engine with one scenario per rule: the pod is evicted when it should be, and not before.

mod absent;
mod cancelled;
mod countdowns;
mod deadlines;
mod exact;
mod failures;
mod holds;
mod identity;
mod live_reads;
mod marks;
mod named;
mod notices;
mod order;
mod other_controller;
mod outage;
mod partial_deletions;
mod rejections;
mod relisted;
mod remembered;
mod repeated_events;
mod restored;
mod slow;

use crate::common::EvictionHarness;
use crate::common::paired::PairedEngine;
use taintward_core::eviction::{DisruptionConditionPolicy, EvictionConfig};
use taintward_core::eviction_policy::EvictionPolicy;

fn one_node() -> EvictionHarness {
    let mut harness = EvictionHarness::new();
    harness.add_node("n1");
    harness
}

/// No pod gets the condition `DisruptionTarget`, so that a DELETE follows the read of its node.
fn never() -> EvictionConfig {
    EvictionConfig { condition: DisruptionConditionPolicy::Never, ..EvictionConfig::default() }
}

/// The comparison with a policy that selects nothing is sensitive: one that selects the eviction fails it.
#[test]
#[should_panic(expected = "a policy that selects nothing changes it")]
fn a_policy_that_selects_an_eviction_is_noticed() {
    let mut harness = one_node();
    let policy = EvictionPolicy { pods_per_minute: Some(1), ..EvictionPolicy::default() };
    harness.engine = PairedEngine::beside(policy, EvictionConfig::default());
    harness.list(true);
    harness.add_pod("p", "n1", &[]);
    harness.add_taint("n1", "k");
}
