//! Drives an engine with scripted facts, responses and times, which may be inconsistent.

use super::paired::PairedEngine;
use super::{EPOCH, seconds};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane, LiveRead};
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput, EvictionNotice};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::identity::ResourceVersion;
use taintward_core::object_event::ObjectEvent;
use taintward_core::taint::Taint;
use taintward_core::testkit::{node, pod, taint};
use taintward_core::time::{Mono, Now, Span, Wall};

pub fn at(s: f64) -> Now {
    let micros = seconds(s);
    let wall = Wall::from_micros(EPOCH * 1_000_000 + micros);
    Now { mono: Mono::from_micros(micros), wall, skew_max: Some(Span::ZERO) }
}

/// The node `n1` in a version, with taints and the second of their `timeAdded`.
pub fn tainted_node(version: u64, taints: &[(&str, Option<i64>)]) -> NodeFact {
    let stamped = |&(key, added): &(&str, Option<i64>)| Taint {
        time_added: added.map(|second| Wall::from_secs(EPOCH + second)),
        ..taint(key)
    };
    node("n1").at_version(version).tainted(taints.iter().map(stamped))
}

/// The response to a successful effect: the node is tainted with `k`, a pod is unchanged.
pub fn well(effect: &EvictionEffect, sent: Mono) -> EvictionInput {
    match effect.clone() {
        EvictionEffect::ReadNode { node: name } => EvictionInput::NodeConfirmed {
            node: name,
            sent,
            result: Ok(LiveRead::Found(tainted_node(100, &[("k", None)]))),
        },
        EvictionEffect::SetDisruptionTarget { pod, .. } => {
            EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(200))) }
        }
        EvictionEffect::DeletePod { pod, .. } => EvictionInput::Deleted { pod, result: Ok(()) },
        EvictionEffect::EvictPod { pod, .. } => EvictionInput::Evicted { pod, result: Ok(()) },
        EvictionEffect::ReadPod { pod: it, name } => {
            let fact = pod(name.name()).at_version(200);
            EvictionInput::PodRead { pod: it, result: Ok(LiveRead::Found(fact)), half_deleted: false }
        }
        EvictionEffect::ClearDisruptionTarget { pod, .. } => EvictionInput::Unmarked { pod, result: Ok(()) },
    }
}

/// The response to a failed effect.
pub fn failed(effect: &EvictionEffect, sent: Mono, failure: ApiFailure) -> EvictionInput {
    match effect.clone() {
        EvictionEffect::ReadNode { node } => {
            EvictionInput::NodeConfirmed { node, sent, result: Err(failure) }
        }
        EvictionEffect::SetDisruptionTarget { pod, .. } => {
            EvictionInput::Marked { pod, result: Err(failure) }
        }
        EvictionEffect::DeletePod { pod, .. } => EvictionInput::Deleted { pod, result: Err(failure) },
        EvictionEffect::EvictPod { pod, .. } => EvictionInput::Evicted { pod, result: Err(failure) },
        EvictionEffect::ReadPod { pod, .. } => {
            EvictionInput::PodRead { pod, result: Err(failure), half_deleted: false }
        }
        EvictionEffect::ClearDisruptionTarget { pod, .. } => {
            EvictionInput::Unmarked { pod, result: Err(failure) }
        }
    }
}

pub struct Script {
    pub engine: PairedEngine,
    pub now: f64,
    /// The effects, and when they were pulled.
    pub requested: Vec<(f64, EvictionEffect)>,
    pub notices: Vec<EvictionNotice>,
    /// Responses in flight: when they arrive.
    flights: Vec<(f64, EvictionInput)>,
}

impl Script {
    /// An engine that has listed nothing at all, at zero.
    pub fn new(config: EvictionConfig) -> Self {
        let mut engine = PairedEngine::new(config);
        for input in [
            EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: None }),
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
            EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: None }),
            EvictionInput::Pods(ObjectEvent::ListCompleted),
        ] {
            engine.handle(input, at(0.0));
        }
        Self { engine, now: 0.0, requested: Vec::new(), notices: Vec::new(), flights: Vec::new() }
    }

    /// One pod on a node that was tainted at one second.
    pub fn tainted(config: EvictionConfig, fact: PodFact) -> Self {
        let mut script = Self::new(config);
        script.send(1.0, EvictionInput::Pods(ObjectEvent::Applied { fact, listed: false }));
        script.send(
            1.0,
            EvictionInput::Nodes(ObjectEvent::Applied {
                fact: tainted_node(100, &[("k", None)]),
                listed: false,
            }),
        );
        script
    }

    pub fn send(&mut self, when: f64, input: EvictionInput) {
        self.now = when;
        self.engine.handle(input, at(when));
    }

    /// The next effect, at this moment.
    pub fn next(&mut self) -> Option<EvictionEffect> {
        let effect = self.engine.next_effect(Lane::Fresh, at(self.now));
        let effect = effect.or_else(|| self.engine.next_effect(Lane::All, at(self.now)))?;
        self.requested.push((self.now, effect.clone()));
        Some(effect)
    }

    /// Continues in steps of 10 ms; `serve` returns the response to each effect, and after how many seconds it arrives.
    pub fn run(&mut self, until: f64, mut serve: impl FnMut(f64, &EvictionEffect) -> (EvictionInput, f64)) {
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
            self.notices.extend(self.engine.take_notices());
        }
    }

    /// When requests of a kind were sent.
    pub fn times(&self, kind: impl Fn(&EvictionEffect) -> bool) -> Vec<f64> {
        self.requested.iter().filter(|(_, effect)| kind(effect)).map(|(when, _)| *when).collect()
    }

    pub fn deletes(&self) -> Vec<f64> {
        self.times(|effect| matches!(effect, EvictionEffect::DeletePod { .. }))
    }
}
