//! # Script: an engine, and whoever answers it by hand
//! Room:     one node, its pods, requests that take their time; facts, answers and times as a test writes them.
//! Comes in: inputs; a closure that plays the API server.
//! Goes out: what was asked, and when.
//! Not here: any truth: a script may lie.

use super::{EPOCH, seconds};
use taintward_core::effect::Failure;
use taintward_core::engine::{Config, Effect, Engine, Input, Lane, Notice, PodRef, Reading};
use taintward_core::fact::{ArrivalFacts, NodeFact, Owner, PodFact, Standing};
use taintward_core::names::{NodeName, PodName, Uid, Version};
use taintward_core::taint::{Effect as TaintEffect, Taint};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration::Toleration;

pub fn at(s: f64) -> Now {
    let micros = seconds(s);
    let wall = Wall::from_micros(EPOCH * 1_000_000 + micros);
    Now { mono: Mono::from_micros(micros), wall, skew_max: Some(Span::ZERO) }
}

/// The node in a version, with taints and the second of their `timeAdded`.
pub fn node(version: u64, taints: &[(&str, Option<i64>)]) -> NodeFact {
    let taint = |&(key, added): &(&str, Option<i64>)| Taint {
        key: key.into(),
        value: "".into(),
        effect: TaintEffect::NoExecute,
        time_added: added.map(|second| Wall::from_secs(EPOCH + second)),
    };
    NodeFact {
        name: NodeName::new("n"),
        uid: Uid::new("node-uid"),
        version: Some(Version(version)),
        created: Some(Wall::from_secs(1_700_000_000)),
        taints: taints.iter().map(taint).collect(),
        taints_changed: None,
    }
}

pub fn pod(uid: &str, version: u64, tolerations: &[Toleration]) -> PodFact {
    PodFact {
        uid: Uid::new(uid),
        name: PodName::new("default", uid),
        node: NodeName::new("n"),
        version: Some(Version(version)),
        generation: 1,
        tolerations: tolerations.to_vec(),
        priority: 0,
        node_critical: false,
        owner: Owner::Other,
        standing: Standing::Live,
        mirror: false,
        marked: false,
        marked_by_another: false,
        arrival: ArrivalFacts::default(),
    }
}

pub fn reference(uid: &str) -> PodRef {
    PodRef { node: NodeName::new("n"), uid: Uid::new(uid) }
}

/// What is said to an effect that goes well: the node is tainted with `k`, a pod is as it was.
pub fn well(effect: &Effect, sent: Mono) -> Input {
    match effect.clone() {
        Effect::Confirm { node: name } => {
            Input::Confirmed { node: name, sent, result: Ok(Reading::Is(node(100, &[("k", None)]))) }
        }
        Effect::Mark { pod, .. } => Input::Marked { pod, result: Ok(Some(Version(200))) },
        Effect::Delete { pod, .. } => Input::Deleted { pod, result: Ok(()) },
        Effect::Look { pod: it, name } => {
            let fact = pod(name.name(), 200, &[]);
            Input::Looked { pod: it, result: Ok(Reading::Is(fact)), half_deleted: false }
        }
        Effect::Unmark { pod, .. } => Input::Unmarked { pod, result: Ok(()) },
    }
}

/// What is said to an effect that fails.
pub fn failed(effect: &Effect, sent: Mono, failure: Failure) -> Input {
    match effect.clone() {
        Effect::Confirm { node } => Input::Confirmed { node, sent, result: Err(failure) },
        Effect::Mark { pod, .. } => Input::Marked { pod, result: Err(failure) },
        Effect::Delete { pod, .. } => Input::Deleted { pod, result: Err(failure) },
        Effect::Look { pod, .. } => Input::Looked { pod, result: Err(failure), half_deleted: false },
        Effect::Unmark { pod, .. } => Input::Unmarked { pod, result: Err(failure) },
    }
}

pub struct Script {
    pub engine: Engine,
    pub now: f64,
    /// What was asked, and when.
    pub asked: Vec<(f64, Effect)>,
    pub notices: Vec<Notice>,
    /// Answers on their way: when they arrive.
    flights: Vec<(f64, Input)>,
}

impl Script {
    /// An engine that has listed nothing at all, at zero.
    pub fn new(config: Config) -> Self {
        let mut engine = Engine::new(config);
        for input in [
            Input::NodesBegin { silent_since: None },
            Input::NodesEnd,
            Input::PodsBegin { silent_since: None },
            Input::PodsEnd,
        ] {
            engine.handle(input, at(0.0));
        }
        Self { engine, now: 0.0, asked: Vec::new(), notices: Vec::new(), flights: Vec::new() }
    }

    /// One pod on a node that was tainted at one second.
    pub fn tainted(config: Config, fact: PodFact) -> Self {
        let mut script = Self::new(config);
        script.tell(1.0, Input::Pod { fact, listed: false });
        script.tell(1.0, Input::Node { fact: node(100, &[("k", None)]), listed: false });
        script
    }

    pub fn tell(&mut self, when: f64, input: Input) {
        self.now = when;
        self.engine.handle(input, at(when));
    }

    /// The next effect, at this moment.
    pub fn next(&mut self) -> Option<Effect> {
        let effect = self.engine.next(Lane::Fresh, at(self.now));
        let effect = effect.or_else(|| self.engine.next(Lane::All, at(self.now)))?;
        self.asked.push((self.now, effect.clone()));
        Some(effect)
    }

    /// Goes on in steps of 10 ms; `serve` says what comes of each effect, and after how many seconds.
    pub fn run(&mut self, until: f64, mut serve: impl FnMut(f64, &Effect) -> (Input, f64)) {
        while self.now < until {
            self.now = ((self.now * 100.0).round() + 1.0) / 100.0;
            loop {
                while let Some(index) = self.flights.iter().position(|(arrives, _)| *arrives <= self.now) {
                    let (_, input) = self.flights.remove(index);
                    self.engine.handle(input, at(self.now));
                }
                self.engine.tick(at(self.now).mono);
                let Some(effect) = self.next() else { break };
                let (input, takes) = serve(self.now, &effect);
                self.flights.push((self.now + takes, input));
            }
            self.notices.extend(self.engine.notices());
        }
    }

    /// When requests of a kind were sent.
    pub fn times(&self, kind: impl Fn(&Effect) -> bool) -> Vec<f64> {
        self.asked.iter().filter(|(_, effect)| kind(effect)).map(|(when, _)| *when).collect()
    }

    pub fn deletes(&self) -> Vec<f64> {
        self.times(|effect| matches!(effect, Effect::Delete { .. }))
    }
}
