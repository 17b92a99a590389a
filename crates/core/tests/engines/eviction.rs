//! Tests the eviction engine with one scenario per rule: the pod is evicted when it should be, and not before.

mod absent;
mod cancelled;
mod deadlines;
mod exact;
mod failures;
mod holds;
mod identity;
mod marks;
mod named;
mod order;
mod other_controller;
mod outage;
mod partial_deletions;
mod rejections;
mod relisted;
mod repeated_events;
mod restored;
mod slow;

use crate::common::EvictionHarness;

fn one_node() -> EvictionHarness {
    let mut harness = EvictionHarness::new();
    harness.add_node("n1");
    harness
}
