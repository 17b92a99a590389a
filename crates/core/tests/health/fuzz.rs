//! # Fuzz: random histories of four nodes, and a fair end
//! Room:     facts in any order with any version, lists with holes and lists that break off, gaps, pauses, leads, pulls,
//!           answers that are late, false or refusals; then a truth, an exact API server and time.
//! Comes in: `HEALTH_FUZZ_SEEDS`: how many histories (2,000 unless told).
//! Goes out: the seed and the end of the history after which a node, a pod or a zone is not as it should be.
//! Not here: kubelets that behave (`world.rs`); sequences of one commit each (`exhaustive.rs`).

use crate::world::{SECOND, zone};
use std::panic::{AssertUnwindSafe, catch_unwind};
use taintward_core::effect::Failure;
use taintward_core::engine::{PodRef, Reading};
use taintward_core::health::{
    Condition, ConditionKind, Config, Confirmation, Effect, Engine, Input, LeaseFact, NodeFact, OwnTaint,
    Platform, PodFact, Status, Stream,
};
use taintward_core::names::{NodeName, PodName, Uid, Version};
use taintward_core::taint::Taint;
use taintward_core::time::{Mono, Now, Wall};

mod ending;

const EPOCH: i64 = 1_800_000_000 * SECOND;
const NODES: usize = 4;
const SEEDS: u64 = 2_000;
const ALL_SEEDS: u64 = 40_000;
const STREAMS: [Stream; 3] = [Stream::Nodes, Stream::Leases, Stream::Pods];

/// An xorshift; equal seeds give equal histories.
struct Dice(u64);

impl Dice {
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

struct History {
    dice: Dice,
    now: i64,
    version: u64,
    engine: Engine,
    out: Vec<Effect>,
    log: Vec<String>,
}

fn clock(now: i64) -> Now {
    Now::exact(Mono::from_micros(now), Wall::from_micros(EPOCH + now))
}

fn name(node: usize) -> NodeName {
    NodeName::new(&format!("n{node}"))
}

fn number(name: &NodeName) -> usize {
    name.as_str()[1..].parse().expect("made by name()")
}

fn taint(own: OwnTaint) -> Taint {
    Taint { key: own.key().into(), value: "".into(), effect: own.effect(), time_added: None }
}

impl History {
    fn new(seed: u64) -> Self {
        let dice = Dice(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let engine = Engine::new(Config::default());
        let mut history = Self { dice, now: SECOND, version: 1, engine, out: Vec::new(), log: Vec::new() };
        for stream in STREAMS {
            history.tell(Input::ListBegin { stream, silent_since: None });
            history.tell(Input::ListEnd { stream });
        }
        history
    }

    fn tell(&mut self, input: Input) {
        self.log.push(format!("{} {input:?}", self.now));
        self.engine.handle(input, clock(self.now));
    }

    fn pull(&mut self) -> bool {
        let Some(effect) = self.engine.next(clock(self.now)) else { return false };
        self.log.push(format!("{} pulled {effect:?}", self.now));
        self.out.push(effect);
        true
    }

    fn bump(&mut self) -> Version {
        self.version += 1;
        Version(self.version)
    }

    /// A version of now, or of a little before.
    fn some_version(&mut self) -> Option<Version> {
        let Version(newest) = self.bump();
        let back = if self.dice.percent(90) { 0 } else { self.dice.below(10) };
        self.dice.percent(95).then_some(Version(newest.saturating_sub(back).max(1)))
    }

    fn some_node(&mut self) -> usize {
        self.dice.below(NODES as u64) as usize
    }

    fn ago(&mut self, seconds: i64) -> Mono {
        Mono::from_micros(self.now - self.dice.below((seconds * SECOND) as u64) as i64)
    }

    fn node_fact(&mut self, node: usize) -> NodeFact {
        let mut conditions = Vec::new();
        for kind in ConditionKind::ALL {
            let well = if kind == ConditionKind::Ready { Status::True } else { Status::False };
            let status = match self.dice.below(8) {
                0 => Status::False,
                1 => Status::Unknown,
                2 if self.dice.percent(20) => Status::Other,
                3 => continue,
                _ => well,
            };
            let heartbeat = Some(Wall::from_micros(EPOCH + self.ago(60).as_micros()));
            conditions.push(Condition { kind, status, heartbeat });
        }
        let usual = if node < 2 { "a" } else { "b" };
        NodeFact {
            name: name(node),
            uid: Uid::new(&format!("u{node}-{}", self.dice.percent(10))),
            version: self.some_version(),
            created: Some(Wall::from_micros(EPOCH - 10 * SECOND)),
            zone: zone(if self.dice.percent(85) { usual } else { "c" }),
            excluded: self.dice.percent(8),
            unschedulable: self.dice.percent(10),
            taints: OwnTaint::ALL.into_iter().filter(|_| self.dice.percent(15)).map(taint).collect(),
            conditions,
            platform: Platform { os: self.dice.percent(20).then(|| "linux".into()), ..Platform::default() },
        }
    }

    fn lease_fact(&mut self, node: usize) -> LeaseFact {
        let renewed = Wall::from_micros(self.now - self.dice.below(3) as i64);
        let renewed = self.dice.percent(95).then_some(renewed);
        LeaseFact { node: name(node), version: self.some_version(), renewed }
    }

    fn pod_fact(&mut self) -> PodFact {
        let (node, pod) = (self.some_node(), self.dice.below(3));
        let ready = self.dice.of(&[None, Some(Status::False), Some(Status::True)]);
        PodFact {
            uid: Uid::new(&format!("p{node}-{pod}")),
            name: PodName::new("default", &format!("p{node}-{pod}")),
            node: name(node),
            ready,
        }
    }

    fn list(&mut self, stream: Stream) {
        let silent_since = Some(self.ago(20));
        self.tell(Input::ListBegin { stream, silent_since });
        for node in 0..NODES {
            if self.dice.percent(15) {
                continue;
            }
            let input = match stream {
                Stream::Nodes => Input::Node { fact: self.node_fact(node), listed: true },
                Stream::Leases => Input::Lease { fact: self.lease_fact(node), listed: true },
                Stream::Pods => Input::Pod { fact: self.pod_fact() },
            };
            self.tell(input);
            if self.dice.percent(10) {
                // It breaks off; at once, or when more has happened.
                if self.dice.percent(50) {
                    self.tell(Input::ListAborted { stream });
                }
                return;
            }
        }
        self.tell(Input::ListEnd { stream });
    }

    fn answer(&mut self) {
        if self.out.is_empty() {
            return;
        }
        let at = self.dice.below(self.out.len() as u64) as usize;
        let effect = self.out.swap_remove(at);
        let failure = self.dice.of(&[
            Failure::NotFound,
            Failure::Conflict,
            Failure::Forbidden,
            Failure::Throttled(None),
            Failure::Rejected,
            Failure::Unavailable,
        ]);
        let (fails, version) = (self.dice.percent(30), self.bump());
        let version = self.dice.percent(85).then_some(version);
        let input = match effect {
            Effect::Confirm { node } => {
                let sent = self.ago(1);
                let result = if fails { Err(failure) } else { Ok(self.some_confirmation(number(&node))) };
                Input::Confirmed { node, sent, result }
            }
            Effect::Taint { node, .. } | Effect::Declare { node, .. } | Effect::Label { node, .. } => {
                let result = if fails { Err(failure) } else { Ok(version) };
                Input::Written { node: node.name, result }
            }
            Effect::MarkPod { pod, .. } => {
                let result = if fails { Err(failure) } else { Ok(self.dice.percent(70)) };
                Input::PodMarked { pod, result }
            }
        };
        self.tell(input);
    }

    fn some_confirmation(&mut self, node: usize) -> Confirmation {
        Confirmation {
            node: match self.dice.below(12) {
                0 => Reading::Absent,
                1 => Reading::Unreadable,
                _ => Reading::Is(self.node_fact(node)),
            },
            lease: match self.dice.below(8) {
                0 => Reading::Absent,
                1 => Reading::Unreadable,
                _ => Reading::Is(self.lease_fact(node)),
            },
        }
    }

    fn step(&mut self) {
        let node = self.some_node();
        let stream = self.dice.of(&STREAMS);
        let input = match self.dice.below(100) {
            0..=12 => Input::Node { fact: self.node_fact(node), listed: false },
            13..=14 => {
                let uid = self.dice.percent(50).then(|| Uid::new(&format!("u{node}-false")));
                Input::NodeGone { name: name(node), uid }
            }
            15 => Input::NodeUnreadable { name: name(node) },
            16..=34 => Input::Lease { fact: self.lease_fact(node), listed: false },
            35 => Input::LeaseGone { node: name(node) },
            36 => Input::LeaseUnreadable { node: name(node) },
            37 => Input::ListAborted { stream },
            38 => Input::Lost { stream, since: self.ago(20) },
            39 => Input::Found { stream },
            40 => Input::Paused { since: self.ago(30) },
            41..=50 => Input::Witness { sent: self.ago(1) },
            51 => Input::Leading,
            52..=53 => return self.list(stream),
            54..=57 => Input::Pod { fact: self.pod_fact() },
            58 => {
                let uid = Uid::new(&format!("p{node}-{}", self.dice.below(3)));
                Input::PodGone { pod: PodRef { node: name(node), uid } }
            }
            59..=70 => {
                self.pull();
                return;
            }
            71..=84 => return self.answer(),
            _ => {
                let longest = self.dice.of(&[1_000, SECOND, 5 * SECOND, 12 * SECOND]);
                self.now += self.dice.below(longest as u64) as i64;
                self.engine.tick(Mono::from_micros(self.now));
                return;
            }
        };
        self.tell(input);
    }
}

fn run(seed: u64) {
    let mut history = History::new(seed);
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
