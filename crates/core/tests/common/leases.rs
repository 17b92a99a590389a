//! # Leases: many nodes that renew theirs
//! Room:     node health with so many nodes, and renewals for them.
//! Comes in: numbers.
//! Goes out: engines.
//! Not here: measuring.

use taintward_core::health::{
    Condition, ConditionKind, Config, Engine, Input, LeaseFact, NodeFact, Platform, Status, Stream, ZoneKey,
    ZoneLabels,
};
use taintward_core::names::{NodeName, Uid, Version};
use taintward_core::time::{Mono, Now, Wall};

fn now(round: i64) -> Now {
    Now::exact(Mono::from_secs(1_000 + 10 * round), Wall::from_secs(1_800_000_000 + 10 * round))
}

fn name(at: usize) -> NodeName {
    NodeName::new(&format!("node-{at:06}.example.com"))
}

/// Nodes, and no lease yet.
pub(crate) fn engine(nodes: usize) -> Engine {
    let now = now(0);
    let mut engine = Engine::new(Config::default());
    engine.handle(Input::Witness { sent: now.mono }, now);
    engine.handle(Input::ListBegin { stream: Stream::Nodes, silent_since: None }, now);
    for at in 0..nodes {
        let zone = ["a", "b", "c"][at % 3];
        let fact = NodeFact {
            name: name(at),
            uid: Uid::new(&format!("00000000-0000-4000-8000-{at:012x}")),
            version: Some(Version(at as u64 + 1)),
            created: Some(now.wall),
            zone: ZoneKey::of(ZoneLabels { zone: Some(zone), ..ZoneLabels::default() }),
            excluded: false,
            unschedulable: false,
            taints: Vec::new(),
            conditions: vec![Condition {
                kind: ConditionKind::Ready,
                status: Status::True,
                heartbeat: Some(now.wall),
            }],
            platform: Platform::default(),
        };
        engine.handle(Input::Node { fact, listed: true }, now);
    }
    engine.handle(Input::ListEnd { stream: Stream::Nodes }, now);
    engine.handle(Input::ListBegin { stream: Stream::Leases, silent_since: None }, now);
    engine.handle(Input::ListEnd { stream: Stream::Leases }, now);
    drop(engine.notices());
    engine
}

/// Each of the first `nodes` renews, in this round of ten seconds.
pub(crate) fn renew(engine: &mut Engine, nodes: usize, round: i64) {
    let now = now(round);
    for at in 0..nodes {
        let version = Some(Version(round.unsigned_abs() * 1_000_000 + at as u64));
        let fact = LeaseFact { node: name(at), version, renewed: Some(now.wall) };
        engine.handle(Input::Lease { fact, listed: false }, now);
    }
    drop(engine.notices());
}
