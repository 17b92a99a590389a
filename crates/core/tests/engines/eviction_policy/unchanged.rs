//! Tests that policies change nothing for evictions that they do not select: the same requests at the same moments.

use super::random::{Change, NODES, apply, change};
use super::world::{Millis, World, min_available};
use super::{graceful, policy};
use crate::cases::cases;
use proptest::prelude::*;
use taintward_core::eviction::EvictionEffect;
use taintward_core::eviction_policy::{EvictionPolicy, SelectedTaint, WaveOrder};
use taintward_core::testkit::toleration;

/// Pods that leave at once, later, and never.
fn build(mut world: World) -> World {
    NODES.iter().chain(&["spare"]).for_each(|node| world.add_node(node, "general"));
    world.set_replicas("web", 12);
    for (at, node) in NODES.iter().cycle().take(12).enumerate() {
        world.add_pod(&format!("web-{at}"), "web", node, |fact| {
            fact.priority = i32::try_from(at % 2).unwrap();
            fact.tolerations = match at / NODES.len() {
                0 => vec![toleration("maintenance", Some(7))],
                1 => vec![toleration("maintenance", None)],
                _ => Vec::new(),
            };
        });
    }
    world.add_budget("web", "web", min_available(12));
    world.pass(2_000);
    world
}

fn requests(world: World, changes: &[Change]) -> Vec<(Millis, EvictionEffect)> {
    let mut world = build(world);
    changes.iter().for_each(|change| apply(&mut world, change));
    world.pass(60_000);
    world.effects
}

/// A policy that delays what it selects, for another taint than that of the clusters.
fn of_another_taint() -> EvictionPolicy {
    let taints = [SelectedTaint { key: "another".into(), values: Vec::new() }].into();
    let order = Some(WaveOrder { timeout: None });
    EvictionPolicy { taints, order, pods_per_minute: Some(1), nodes_at_once: Some(1), ..graceful(None) }
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn without_a_policy_and_beside_one_the_requests_are_those_of_the_default(
        changes in proptest::collection::vec(change(), 1..20),
    ) {
        let default = requests(World::without_policies(), &changes);
        prop_assert_eq!(&requests(World::new(Vec::new()), &changes), &default);
        prop_assert_eq!(&requests(World::new(vec![of_another_taint()]), &changes), &default);
    }
}

/// What the property compares is sensitive: a policy that selects these evictions changes the requests.
#[test]
fn a_policy_that_selects_an_eviction_changes_the_requests() {
    let changes = [Change::Taint(0)];
    let default = requests(World::without_policies(), &changes);
    let deletions = |all: &[(Millis, EvictionEffect)]| {
        all.iter().filter(|(_, effect)| matches!(effect, EvictionEffect::DeletePod { .. })).count()
    };
    assert_eq!(deletions(&default), 2, "one pod tolerates the taint");
    let delayed = EvictionPolicy { pods_per_minute: Some(1), ..policy("slow") };
    assert_ne!(requests(World::new(vec![delayed]), &changes), default);
}
