//! Tests node lifecycle with random histories of four nodes that end fairly.
//!
//! - Prints the seed and the end of a failing history; `HEALTH_FUZZ_SEEDS` sets their number (default 2,000).

use crate::node_lifecycle::harness::{SECOND, zone};
use crate::node_lifecycle::{list_aborted, list_completed, list_started};
use std::panic::{AssertUnwindSafe, catch_unwind};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::identity::PodRef;
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{
    ConditionKind, ConditionStatus, LeaseFact, LiveNodeAndLease, ManagedTaint, NodeCondition, NodeHealthFact,
    NodeLifecycleConfig, NodeLifecycleEffect, NodeLifecycleEngine, NodeLifecycleInput, PlatformLabels,
    PodReadinessFact, WatchedKind,
};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::taint;
use taintward_core::time::{Mono, Now, Wall};

mod ending;

const EPOCH: i64 = 1_800_000_000 * SECOND;
const NODES: usize = 4;
const SEEDS: u64 = 2_000;
const ALL_SEEDS: u64 = 40_000;
const STREAMS: [WatchedKind; 3] = [WatchedKind::Nodes, WatchedKind::Leases, WatchedKind::Pods];

/// An xorshift; equal seeds give equal histories.
struct LifecycleDice(u64);

impl LifecycleDice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % bound
    }

    fn percent(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

struct FuzzHistory {
    dice: LifecycleDice,
    now: i64,
    version: u64,
    engine: NodeLifecycleEngine,
    out: Vec<NodeLifecycleEffect>,
    log: Vec<String>,
}

fn clock(now: i64) -> Now {
    Now::exact(Mono::from_micros(now), Wall::from_micros(EPOCH + now))
}

fn name(node: usize) -> NodeName {
    NodeName::new(&format!("n{node}"))
}

fn number(name: &NodeName) -> usize {
    name.as_str()[1..].parse().expect("a name from name()")
}

impl FuzzHistory {
    fn new(seed: u64) -> Self {
        let dice = LifecycleDice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let engine = NodeLifecycleEngine::new(NodeLifecycleConfig::default());
        let mut history = Self { dice, now: SECOND, version: 1, engine, out: Vec::new(), log: Vec::new() };
        for stream in STREAMS {
            history.submit(list_started(stream, None));
            history.submit(list_completed(stream));
        }
        history
    }

    fn submit(&mut self, input: NodeLifecycleInput) {
        self.log.push(format!("{} {input:?}", self.now));
        self.engine.handle(input, clock(self.now));
    }

    fn pull(&mut self) -> bool {
        let Some(effect) = self.engine.next_effect(Lane::All, clock(self.now)) else { return false };
        self.log.push(format!("{} pulled {effect:?}", self.now));
        self.out.push(effect);
        true
    }

    fn bump(&mut self) -> ResourceVersion {
        self.version += 1;
        ResourceVersion(self.version)
    }

    /// A version of now, or of a little before.
    fn some_version(&mut self) -> Option<ResourceVersion> {
        let ResourceVersion(newest) = self.bump();
        let back = if self.dice.percent(90) { 0 } else { self.dice.below(10) };
        self.dice.percent(95).then_some(ResourceVersion(newest.saturating_sub(back).max(1)))
    }

    fn some_node(&mut self) -> usize {
        self.dice.below(NODES as u64) as usize
    }

    fn ago(&mut self, seconds: i64) -> Mono {
        Mono::from_micros(self.now - self.dice.below((seconds * SECOND) as u64) as i64)
    }

    fn node_fact(&mut self, node: usize) -> NodeHealthFact {
        let mut conditions = Vec::new();
        for kind in ConditionKind::ALL {
            let well =
                if kind == ConditionKind::Ready { ConditionStatus::True } else { ConditionStatus::False };
            let status = match self.dice.below(8) {
                0 => ConditionStatus::False,
                1 => ConditionStatus::Unknown,
                2 if self.dice.percent(20) => ConditionStatus::Other,
                3 => continue,
                _ => well,
            };
            let heartbeat = Some(Wall::from_micros(EPOCH + self.ago(60).as_micros()));
            conditions.push(NodeCondition { kind, status, heartbeat });
        }
        let usual = if node < 2 { "a" } else { "b" };
        NodeHealthFact {
            name: name(node),
            uid: Uid::new(&format!("u{node}-{}", self.dice.percent(10))),
            version: self.some_version(),
            created: Some(Wall::from_micros(EPOCH - 10 * SECOND)),
            zone: zone(if self.dice.percent(85) { usual } else { "c" }),
            excluded: self.dice.percent(8),
            unschedulable: self.dice.percent(10),
            taints: ManagedTaint::ALL
                .into_iter()
                .filter(|_| self.dice.percent(15))
                .map(|own| taint(&own.to_string()))
                .collect(),
            conditions,
            platform: PlatformLabels {
                os: self.dice.percent(20).then(|| "linux".into()),
                ..PlatformLabels::default()
            },
        }
    }

    fn lease_fact(&mut self, node: usize) -> LeaseFact {
        let renewed = Wall::from_micros(self.now - self.dice.below(3) as i64);
        let renewed = self.dice.percent(95).then_some(renewed);
        LeaseFact { node: name(node), version: self.some_version(), renewed }
    }

    fn pod_fact(&mut self) -> PodReadinessFact {
        let (node, pod) = (self.some_node(), self.dice.below(3));
        let ready = self.dice.of(&[None, Some(ConditionStatus::False), Some(ConditionStatus::True)]);
        PodReadinessFact {
            id: PodId::new(
                Uid::new(&format!("p{node}-{pod}")),
                PodName::new("default", &format!("p{node}-{pod}")),
            ),
            node: name(node),
            ready,
        }
    }

    fn list(&mut self, stream: WatchedKind) {
        let silent_since = Some(self.ago(20));
        self.submit(list_started(stream, silent_since));
        for node in 0..NODES {
            if self.dice.percent(15) {
                continue;
            }
            let input = match stream {
                WatchedKind::Nodes => NodeLifecycleInput::Nodes(ObjectEvent::Applied {
                    fact: self.node_fact(node),
                    listed: true,
                }),
                WatchedKind::Leases => NodeLifecycleInput::Leases(ObjectEvent::Applied {
                    fact: self.lease_fact(node),
                    listed: true,
                }),
                WatchedKind::Pods => {
                    NodeLifecycleInput::Pods(ObjectEvent::Applied { fact: self.pod_fact(), listed: false })
                }
            };
            self.submit(input);
            if self.dice.percent(10) {
                // It is aborted; immediately, or later.
                if self.dice.percent(50) {
                    self.submit(list_aborted(stream));
                }
                return;
            }
        }
        self.submit(list_completed(stream));
    }

    fn response(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let at = self.dice.below(self.out.len() as u64) as usize;
        let effect = self.out.swap_remove(at);
        let failure = self.dice.of(&[
            ApiFailure::NotFound,
            ApiFailure::Conflict,
            ApiFailure::Forbidden,
            ApiFailure::Throttled(None),
            ApiFailure::Rejected,
            ApiFailure::Unavailable,
        ]);
        let (fails, version) = (self.dice.percent(30), self.bump());
        let version = self.dice.percent(85).then_some(version);
        let input = match effect {
            NodeLifecycleEffect::ReadNode { node } => {
                let sent = self.ago(1);
                let result = if fails { Err(failure) } else { Ok(self.some_confirmation(number(&node))) };
                NodeLifecycleInput::Confirmed { node, sent, result }
            }
            NodeLifecycleEffect::PatchTaints { node, .. }
            | NodeLifecycleEffect::SetConditionsUnknown { node, .. }
            | NodeLifecycleEffect::PatchLabels { node, .. } => {
                let result = if fails { Err(failure) } else { Ok(version) };
                NodeLifecycleInput::Written { node: node.name, result }
            }
            NodeLifecycleEffect::SetPodNotReady { pod, .. } => {
                let result = if fails { Err(failure) } else { Ok(self.dice.percent(70)) };
                NodeLifecycleInput::PodMarked { pod, result }
            }
        };
        self.submit(input);
    }

    fn some_confirmation(&mut self, node: usize) -> LiveNodeAndLease {
        LiveNodeAndLease {
            node: match self.dice.below(12) {
                0 => LiveRead::NotFound,
                1 => LiveRead::Undecodable,
                _ => LiveRead::Found(self.node_fact(node)),
            },
            lease: match self.dice.below(8) {
                0 => LiveRead::NotFound,
                1 => LiveRead::Undecodable,
                _ => LiveRead::Found(self.lease_fact(node)),
            },
        }
    }

    fn step(&mut self) {
        let node = self.some_node();
        let stream = self.dice.of(&STREAMS);
        let input = match self.dice.below(100) {
            0..=12 => {
                NodeLifecycleInput::Nodes(ObjectEvent::Applied { fact: self.node_fact(node), listed: false })
            }
            13..=14 => {
                let uid = self.dice.percent(50).then(|| Uid::new(&format!("u{node}-false")));
                NodeLifecycleInput::Nodes(ObjectEvent::Deleted(ObjectRef::node(&name(node), uid)))
            }
            15 => NodeLifecycleInput::Nodes(ObjectEvent::Undecodable(ObjectRef::node(&name(node), None))),
            16..=34 => NodeLifecycleInput::Leases(ObjectEvent::Applied {
                fact: self.lease_fact(node),
                listed: false,
            }),
            35 => NodeLifecycleInput::Leases(ObjectEvent::Deleted(ObjectRef::node(&name(node), None))),
            36 => NodeLifecycleInput::Leases(ObjectEvent::Undecodable(ObjectRef::node(&name(node), None))),
            37 => list_aborted(stream),
            38 => NodeLifecycleInput::StreamLost { stream, since: self.ago(20) },
            39 => NodeLifecycleInput::StreamRecovered { stream },
            40 => NodeLifecycleInput::ProcessPaused { since: self.ago(30) },
            41..=50 => NodeLifecycleInput::OwnRequestSucceeded { sent: self.ago(1) },
            51 => NodeLifecycleInput::BecameLeader,
            52..=53 => return self.list(stream),
            54..=57 => {
                NodeLifecycleInput::Pods(ObjectEvent::Applied { fact: self.pod_fact(), listed: false })
            }
            58 => {
                let uid = Uid::new(&format!("p{node}-{}", self.dice.below(3)));
                NodeLifecycleInput::Pods(ObjectEvent::Deleted(PodRef { node: name(node), uid }.into()))
            }
            59..=70 => {
                self.pull();
                return;
            }
            71..=84 => return self.response(),
            _ => {
                let longest = self.dice.of(&[1_000, SECOND, 5 * SECOND, 12 * SECOND]);
                self.now += self.dice.below(longest as u64) as i64;
                self.engine.tick(Mono::from_micros(self.now));
                return;
            }
        };
        self.submit(input);
    }
}

fn run(seed: u64) {
    let mut history = FuzzHistory::new(seed);
    let ended = catch_unwind(AssertUnwindSafe(|| {
        for _ in 0..20 + seed % 200 {
            history.step();
        }
        ending::check(&mut history, seed);
    }));
    if ended.is_err() {
        let tail = history.log.len().saturating_sub(60);
        panic!("seed {seed}, after\n{}", history.log[tail..].join("\n"));
    }
}

#[test]
fn random_histories_end_well() {
    let seeds = std::env::var("HEALTH_FUZZ_SEEDS").ok().and_then(|text| text.parse().ok());
    (1..=seeds.unwrap_or(SEEDS)).for_each(run);
}

#[test]
#[ignore = "minutes: cargo xtask nightly"]
fn forty_thousand_random_histories_end_well() {
    (1..=ALL_SEEDS).for_each(run);
}
