//! Runs an eviction engine with its tap, for tests: `TappedLoop::new(sink, limits)`, then inputs and turns.
//!
//! - Only tests compile it: those of other crates enable the feature `testkit`.

use crate::{CallTap, EngineTap, FrameSink, RecordedController, SegmentLimits};
use std::collections::VecDeque;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine as _, Lane, LiveRead};
use taintward_core::eviction::{
    EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput, EvictionNotice,
};
use taintward_core::fact::{NodeFact, PodFact};
use taintward_core::hash::fnv1a;
use taintward_core::identity::{PodId, PodName, PodRef, ResourceVersion, Uid};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::{node_health_tolerations, pod};
use taintward_core::time::{Now, Span};

/// An engine and its tap, called as a control loop does. Requests succeed, except for deletions that are told to fail.
pub struct TappedLoop {
    engine: EvictionEngine,
    tap: Box<dyn CallTap<EvictionEngine>>,
    nodes: Vec<NodeFact>,
    failures: VecDeque<ApiFailure>,
    /// The watch delivers their deletion before the next turn.
    deleted: Vec<PodRef>,
    latency: Span,
    is_silent: bool,
}

/// Records nothing.
struct NoTap;

impl CallTap<EvictionEngine> for NoTap {
    fn turn(&mut self, _: &EvictionEngine, _: Now) {}
    fn handle(&mut self, _: &EvictionInput, _: Now) {}
    fn tick(&mut self, _: Now) {}
    fn pull(&mut self, _: Lane, _: Option<&EvictionEffect>, _: Now) {}
    fn notices(&mut self, _: &[EvictionNotice], _: Now) {}
    fn flush(&mut self, _: Now) {}
}

impl TappedLoop {
    /// An engine without any facts.
    pub fn new(sink: impl FrameSink + Send + 'static, limits: SegmentLimits) -> Self {
        Self::with_tap(Box::new(EngineTap::new(RecordedController::TaintEviction, limits, sink)))
    }

    /// The same without a record.
    pub fn untapped() -> Self {
        Self::with_tap(Box::new(NoTap))
    }

    /// The same, of a process that applies eviction policies; there are none.
    #[must_use]
    pub fn applying_policies(self) -> Self {
        let engine = EvictionEngine::new(EvictionConfig { policies: true, ..EvictionConfig::default() });
        Self { engine, ..self }
    }

    /// The same with another tap.
    pub fn with_tap(tap: Box<dyn CallTap<EvictionEngine>>) -> Self {
        let engine = EvictionEngine::new(EvictionConfig::default());
        Self {
            engine,
            tap,
            nodes: Vec::new(),
            failures: VecDeque::new(),
            deleted: Vec::new(),
            latency: Span::ZERO,
            is_silent: false,
        }
    }

    /// The same, with responses that come so long after their requests.
    #[must_use]
    pub fn with_latency(self, latency: Span) -> Self {
        Self { latency, ..self }
    }

    /// Lets the next deletion fail; several calls, so many deletions.
    pub fn fail_deletion(&mut self, failure: ApiFailure) {
        self.failures.push_back(failure);
    }

    /// No request gets a response from now on, except for reads.
    pub const fn lose_responses(&mut self) {
        self.is_silent = true;
    }

    /// Handles an input.
    pub fn handle(&mut self, input: EvictionInput, now: Now) {
        self.tap.handle(&input, now);
        self.engine.handle(input, now);
    }

    /// Records an input that the engine does not receive: a replay differs.
    pub fn record(&mut self, input: &EvictionInput, now: Now) {
        self.tap.handle(input, now);
    }

    /// Handles an input that the record lacks.
    pub fn handle_unrecorded(&mut self, input: EvictionInput, now: Now) {
        self.engine.handle(input, now);
    }

    /// The watch delivers this state of a node, which live reads return too.
    pub fn apply_node(&mut self, node: NodeFact, now: Now) {
        self.nodes.retain(|known| known.name != node.name);
        self.nodes.push(node.clone());
        self.handle(EvictionInput::Nodes(ObjectEvent::Applied { fact: node, listed: false }), now);
    }

    /// The watch delivers this state of a pod.
    pub fn apply_pod(&mut self, pod: PodFact, now: Now) {
        self.handle(EvictionInput::Pods(ObjectEvent::Applied { fact: pod, listed: false }), now);
    }

    /// Both lists are delivered.
    pub fn list(
        &mut self,
        nodes: impl IntoIterator<Item = NodeFact>,
        pods: impl IntoIterator<Item = PodFact>,
        now: Now,
    ) {
        self.nodes = nodes.into_iter().collect();
        for event in listed(self.nodes.clone()) {
            self.handle(EvictionInput::Nodes(event), now);
        }
        for event in listed(pods) {
            self.handle(EvictionInput::Pods(event), now);
        }
    }

    fn respond(&mut self, effect: EvictionEffect, now: Now) {
        let input = match effect {
            EvictionEffect::ReadNode { node } => {
                let found = self.nodes.iter().find(|known| known.name == node);
                let result = Ok(found.map_or(LiveRead::NotFound, |fact| LiveRead::Found(fact.clone())));
                EvictionInput::NodeConfirmed { node, sent: now.mono, result }
            }
            _ if self.is_silent => return,
            EvictionEffect::SetDisruptionTarget { pod, .. } => {
                EvictionInput::Marked { pod, result: Ok(Some(ResourceVersion(7))) }
            }
            EvictionEffect::DeletePod { pod, .. } => match self.failures.pop_front() {
                Some(failure) => EvictionInput::Deleted { pod, result: Err(failure) },
                None => {
                    self.deleted.push(pod.clone());
                    EvictionInput::Deleted { pod, result: Ok(()) }
                }
            },
            other => panic!("unexpected: {other:?}"),
        };
        self.handle(input, self.after_latency(now));
    }

    const fn after_latency(&self, now: Now) -> Now {
        Now::new(now.mono.plus(self.latency), now.wall.plus(self.latency), now.skew_max)
    }

    /// A turn of the loop: responses come before its end.
    pub fn turn(&mut self, mut now: Now) {
        for pod in std::mem::take(&mut self.deleted) {
            self.handle(EvictionInput::Pods(ObjectEvent::Deleted(pod.into())), now);
        }
        self.tap.turn(&self.engine, now);
        self.tap.tick(now);
        self.engine.tick(now.mono);
        loop {
            let effect = self.engine.next_effect(Lane::All, now);
            self.tap.pull(Lane::All, effect.as_ref(), now);
            let Some(effect) = effect else { break };
            self.respond(effect, now);
            now = self.after_latency(now);
        }
        let notices = self.engine.take_notices();
        self.tap.notices(&notices, now);
    }

    /// The end of the process.
    pub fn end(&mut self, now: Now) {
        self.tap.flush(now);
    }
}

/// The events of a list.
fn listed<F>(facts: impl IntoIterator<Item = F>) -> Vec<ObjectEvent<F>> {
    let mut events = vec![ObjectEvent::ListStarted { silent_since: None }];
    events.extend(facts.into_iter().map(|fact| ObjectEvent::Applied { fact, listed: true }));
    events.push(ObjectEvent::ListCompleted);
    events
}

/// A pod as an API server shows it: random in what is random there, with the tolerations that admission adds.
pub fn random_pod(number: u64) -> PodFact {
    let mixed = |salt: u64| fnv1a(&format!("{number} {salt}"));
    let uid = format!(
        "{:08x}-{:04x}-4{:03x}-a{:03x}-{:012x}",
        mixed(1) as u32,
        mixed(2) as u16,
        mixed(3) & 0xfff,
        mixed(4) & 0xfff,
        mixed(5) & 0xffff_ffff_ffff
    );
    let name = PodName::new("shop", &format!("web-{:010x}-{:05x}", number / 20, mixed(6) & 0xf_ffff));
    let fact = pod("web").on(&format!("node-{:04}.eu-central-1.compute.internal", number % 500));
    let tolerations = node_health_tolerations(Some(300), Some(300));
    PodFact { id: PodId::new(Uid::new(&uid), name), ..fact }
        .at_version(1_000_000 + number)
        .tolerates(tolerations)
}
