//! Builds node lifecycle engines with many nodes, and renewals of their leases.

use taintward_core::engine::Engine;
use taintward_core::identity::{NodeName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, LeaseFact, NodeCondition, NodeHealthFact, NodeLifecycleConfig,
    NodeLifecycleEngine, NodeLifecycleInput, PlatformLabels, ZoneKey, ZoneLabels,
};
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::{Mono, Now, Wall};

fn now(round: i64) -> Now {
    Now::exact(Mono::from_secs(1_000 + 10 * round), Wall::from_secs(1_800_000_000 + 10 * round))
}

pub(crate) fn name(at: usize) -> NodeName {
    NodeName::new(&format!("node-{at:06}.example.com"))
}

/// Nodes without leases.
pub(crate) fn engine(nodes: usize) -> NodeLifecycleEngine {
    let now = now(0);
    let mut engine = NodeLifecycleEngine::new(NodeLifecycleConfig::default());
    engine.handle(NodeLifecycleInput::OwnRequestSucceeded { sent: now.mono }, now);
    engine.handle(NodeLifecycleInput::Nodes(ObjectEvent::ListStarted { silent_since: None }), now);
    for at in 0..nodes {
        let zone = ["a", "b", "c"][at % 3];
        let fact = NodeHealthFact {
            name: name(at),
            uid: Uid::new(&format!("00000000-0000-4000-8000-{at:012x}")),
            version: Some(ResourceVersion(at as u64 + 1)),
            created: Some(now.wall),
            zone: ZoneKey::of(ZoneLabels { zone: Some(zone), ..ZoneLabels::default() }),
            excluded: false,
            unschedulable: false,
            taints: Vec::new(),
            conditions: vec![NodeCondition {
                kind: ConditionKind::Ready,
                status: ConditionStatus::True,
                heartbeat: Some(now.wall),
            }],
            platform: PlatformLabels::default(),
        };
        engine.handle(NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact, listed: true }), now);
    }
    engine.handle(NodeLifecycleInput::Nodes(ObjectEvent::ListCompleted), now);
    engine.handle(NodeLifecycleInput::Leases(ObjectEvent::ListStarted { silent_since: None }), now);
    engine.handle(NodeLifecycleInput::Leases(ObjectEvent::ListCompleted), now);
    drop(engine.take_notices());
    engine
}

/// Each of the first `nodes` renews, in this round of ten seconds.
pub(crate) fn renew(engine: &mut NodeLifecycleEngine, nodes: usize, round: i64) {
    let now = now(round);
    for at in 0..nodes {
        let version = Some(ResourceVersion(round.unsigned_abs() * 1_000_000 + at as u64));
        let fact = LeaseFact { node: name(at), version, renewed: Some(now.wall) };
        engine.handle(NodeLifecycleInput::Leases(ObjectEvent::Applied { fact, listed: false }), now);
    }
    drop(engine.take_notices());
}
