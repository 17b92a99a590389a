//! What happens to an engine, by a seed: anything.

use taintward_core::effect::Failure;
use taintward_core::engine::{Config, Effect, Engine, Input, Lane, PodRef, Reading};
use taintward_core::fact::{ArrivalFacts, NodeFact, Owner, PodFact, Standing};
use taintward_core::names::{NodeName, PodName, Uid, Version};
use taintward_core::taint::{Effect as TaintEffect, Taint};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration::{Operator, Toleration};

const KEYS: [&str; 3] = ["k", "l", "node.kubernetes.io/not-ready"];
const EPOCH: i64 = 1_800_000_000;
pub(crate) const NODES: u64 = 2;
pub(crate) const PODS: u64 = 3;

pub(crate) fn node_name(node: u64) -> NodeName {
    NodeName::new(&format!("n{node}"))
}

fn pod_uid(pod: u64) -> Uid {
    Uid::new(&format!("p{pod}"))
}

/// Numbers that look random, the same for the same seed.
struct Choices(u64);

impl Choices {
    fn below(&mut self, end: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % end
    }

    fn in_hundred(&mut self, cases: u64) -> bool {
        self.below(100) < cases
    }
}

pub(crate) struct History {
    choices: Choices,
    pub(crate) now: i64,
    version: u64,
    pub(crate) engine: Engine,
    /// Effects without an answer.
    pub(crate) asked: Vec<Effect>,
    pub(crate) log: Vec<String>,
    /// The end of pods is told of also while they are there.
    lies: bool,
}

impl History {
    pub(crate) fn new(seed: u64, lies: bool) -> Self {
        let choices = Choices(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
        let (asked, log) = (Vec::new(), Vec::new());
        let engine = Engine::new(Config::default());
        let mut history = Self { choices, now: 1_000_000, version: 1, engine, asked, log, lies };
        history.list(None, Vec::new(), None);
        history
    }

    pub(crate) fn clock(&self) -> Now {
        Now::exact(Mono::from_micros(self.now), Wall::from_micros(EPOCH * 1_000_000 + self.now))
    }

    pub(crate) fn feed(&mut self, input: Input) {
        self.log.push(format!("{} {input:?}", self.now));
        self.engine.handle(input, self.clock());
    }

    /// What always holds.
    pub(crate) fn check(&self) -> Result<(), String> {
        let census = self.engine.census();
        let (pending, concerned) = (self.engine.pending().count(), self.engine.concerned().count());
        if census.counting != pending {
            return Err(format!("{} are counted, {pending} pending", census.counting));
        }
        if concerned > census.counting + census.due + census.in_hand {
            return Err(format!("{concerned} are concerned: {census:?}"));
        }
        Ok(())
    }

    pub(crate) fn next_version(&mut self) -> Version {
        self.version += 1;
        Version(self.version)
    }

    /// Mostly a newer one.
    fn some_version(&mut self) -> Version {
        let version = self.next_version();
        match self.choices.in_hundred(85) {
            true => version,
            false => Version(version.0.saturating_sub(self.choices.below(20)).max(1)),
        }
    }

    fn this_second(&self) -> Wall {
        Wall::from_secs(EPOCH + self.now / 1_000_000)
    }

    pub(crate) fn node(&mut self, node: u64) -> NodeFact {
        let uid = Uid::new(&format!("nu{node}-{}", self.choices.below(2)));
        let version = Some(self.some_version());
        let mut taints = Vec::new();
        for key in KEYS {
            if self.choices.in_hundred(35) {
                let time_added = match self.choices.below(3) {
                    0 => None,
                    1 => Some(self.this_second()),
                    _ => Some(Wall::from_secs(EPOCH + self.choices.below(100).cast_signed())),
                };
                let (key, value) = (key.into(), "".into());
                taints.push(Taint { key, value, effect: TaintEffect::NoExecute, time_added });
            }
        }
        let taints_changed = self.choices.in_hundred(50).then(|| self.this_second());
        NodeFact { name: node_name(node), uid, version, created: None, taints, taints_changed }
    }

    pub(crate) fn pod(&mut self, pod: u64, node: u64) -> PodFact {
        let version = Some(self.some_version());
        let mut tolerations = Vec::new();
        for key in KEYS {
            let seconds = match self.choices.below(5) {
                0 => None,
                1 => Some(self.choices.below(8).cast_signed()),
                2 => Some(60),
                _ => continue,
            };
            let (key, operator, value) = (key.into(), Operator::Exists, "".into());
            let effect = Some(TaintEffect::NoExecute);
            tolerations.push(Toleration { key, operator, value, effect, seconds });
        }
        PodFact {
            uid: pod_uid(pod),
            name: PodName::new("d", "p"),
            node: node_name(node),
            version,
            generation: 1,
            tolerations,
            priority: i32::try_from(self.choices.below(3)).expect("it is small"),
            node_critical: false,
            owner: Owner::Other,
            standing: match self.choices.below(12) {
                0 => Standing::Terminating,
                1 => Standing::Finished,
                _ => Standing::Live,
            },
            mirror: self.choices.in_hundred(4),
            marked: self.choices.in_hundred(15),
            marked_by_another: false,
            arrival: ArrivalFacts::default(),
        }
    }

    pub(crate) fn list(
        &mut self,
        silent_since: Option<Mono>,
        nodes: Vec<NodeFact>,
        pods: Option<Vec<PodFact>>,
    ) {
        self.feed(Input::NodesBegin { silent_since });
        nodes.into_iter().for_each(|fact| self.feed(Input::Node { fact, listed: true }));
        self.feed(Input::NodesEnd);
        self.list_pods(silent_since, pods.unwrap_or_default());
    }

    fn list_pods(&mut self, silent_since: Option<Mono>, pods: Vec<PodFact>) {
        self.feed(Input::PodsBegin { silent_since });
        pods.into_iter().for_each(|fact| self.feed(Input::Pod { fact, listed: true }));
        self.feed(Input::PodsEnd);
    }

    fn some_failure(&mut self) -> Failure {
        [
            Failure::NotFound,
            Failure::Conflict,
            Failure::Forbidden,
            Failure::Throttled(None),
            Failure::Rejected,
            Failure::Unavailable,
        ][usize::try_from(self.choices.below(6)).expect("it is small")]
    }

    /// Answers one of the effects, as it pleases.
    fn answer(&mut self) {
        let Some(which) = (!self.asked.is_empty()).then(|| self.choices.below(self.asked.len() as u64))
        else {
            return;
        };
        let effect = self.asked.swap_remove(usize::try_from(which).expect("it is small"));
        let fails = self.choices.in_hundred(35);
        let failure = self.some_failure();
        let result = if fails { Err(failure) } else { Ok(()) };
        let number = |node: &NodeName| node.as_str()[1..].parse::<u64>().expect("names end in their number");
        let input = match effect {
            Effect::Confirm { node } => {
                let sent = Mono::from_micros(self.now - self.choices.below(1_000_000).cast_signed());
                let reading = match self.choices.below(10) {
                    0 => Reading::Absent,
                    1 => Reading::Unreadable,
                    _ => Reading::Is(self.node(number(&node))),
                };
                Input::Confirmed { node, sent, result: result.map(|()| reading) }
            }
            Effect::Mark { pod, .. } => {
                let version = self.next_version();
                let version = self.choices.in_hundred(80).then_some(version);
                Input::Marked { pod, result: result.map(|()| version) }
            }
            Effect::Delete { pod, .. } => Input::Deleted { pod, result },
            Effect::Look { pod, .. } => {
                let node = number(&pod.node);
                let reading = match self.choices.below(10) {
                    0 => Reading::Absent,
                    1 => Reading::Unreadable,
                    2 => {
                        let other = self.choices.below(PODS);
                        Reading::Is(self.pod(other, node))
                    }
                    _ => Reading::Is(PodFact { uid: pod.uid.clone(), ..self.pod(0, node) }),
                };
                Input::Looked { pod, result: result.map(|()| reading), half_deleted: false }
            }
            Effect::Unmark { pod, .. } => Input::Unmarked { pod, result },
        };
        self.feed(input);
    }

    pub(crate) fn pull(&mut self, lane: Lane) -> bool {
        let Some(effect) = self.engine.next(lane, self.clock()) else { return false };
        self.log.push(format!("{} asks {effect:?}", self.now));
        self.asked.push(effect);
        true
    }

    /// The last moment of complete knowledge, or what is said to be that.
    fn some_past(&mut self) -> Option<Mono> {
        Some(Mono::from_micros(self.now - self.choices.below(5_000_000).cast_signed()))
    }

    /// Anything.
    pub(crate) fn step(&mut self) {
        let (node, pod) = (self.choices.below(NODES), self.choices.below(PODS));
        match self.choices.below(100) {
            0..=9 => {
                let fact = self.node(node);
                self.feed(Input::Node { fact, listed: false });
            }
            10..=11 => {
                let uid = self.choices.in_hundred(50);
                let uid = uid.then(|| Uid::new(&format!("nu{node}-{}", self.version % 2)));
                self.feed(Input::NodeGone { name: node_name(node), uid });
            }
            12 => self.feed(Input::NodeUnreadable { name: node_name(node) }),
            13..=27 => {
                let fact = self.pod(pod, pod % NODES);
                self.feed(Input::Pod { fact, listed: false });
            }
            28..=30 if self.lies || self.choices.in_hundred(30) => {
                let pod = PodRef { node: node_name(pod % NODES), uid: pod_uid(pod) };
                self.feed(Input::PodGone { pod });
            }
            31 => {
                let node = self.choices.in_hundred(50).then(|| node_name(pod % NODES));
                self.feed(Input::PodUnreadable { uid: pod_uid(pod), node });
            }
            32 => {
                let on = self.choices.in_hundred(50);
                self.feed(Input::Hold(on));
            }
            33 => {
                let since = self.some_past();
                let nodes: Vec<_> = (0..NODES).filter(|_| self.choices.in_hundred(80)).collect();
                self.feed(Input::NodesBegin { silent_since: since });
                for node in nodes {
                    let fact = self.node(node);
                    self.feed(Input::Node { fact, listed: true });
                }
                self.feed(Input::NodesEnd);
            }
            34 => {
                let since = self.some_past();
                let pods: Vec<_> = (0..PODS).filter(|_| self.choices.in_hundred(80)).collect();
                let pods = pods.into_iter().map(|pod| self.pod(pod, pod % NODES)).collect();
                self.list_pods(since, pods);
            }
            28..=60 => {
                let lane = if self.choices.in_hundred(70) { Lane::All } else { Lane::Fresh };
                self.pull(lane);
            }
            61..=80 => self.answer(),
            _ => {
                let longest = [1, 100_000, 1_000_000, 10_000_000];
                let longest = longest[usize::try_from(self.choices.below(4)).expect("it is small")];
                self.now += self.choices.below(longest).cast_signed();
                self.engine.tick(self.clock().mono);
            }
        }
    }
}
