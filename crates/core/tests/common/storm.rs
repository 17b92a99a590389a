//! Drives an engine on virtual time, with lagging watches and delayed or failing requests.
//!
//! - Panics if the engine violates its contract (D5, S12) or never comes to rest.

mod flights;

use super::cluster::{ModelCluster, SECOND};
use super::paired::PairedEngine;
use std::collections::{BTreeSet, VecDeque};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionInput};
use taintward_core::identity::PodRef;
use taintward_core::object_event::ObjectEvent;
use taintward_core::time::Mono;

/// How long after being sent a request can still be committed.
pub const REQUEST_MAX: i64 = 4 * SECOND;

/// How old the justification of a committed DELETE may be (S2): what a DELETE does not do until then, it does not do.
pub const WINDOW: i64 = 5 * SECOND;

/// The maximum number of requests within one run that the events can explain: more are an effect storm.
const EFFECTS_MAX: usize = 50_000;

/// The outcome of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum RequestFate {
    Done,
    Fails(ApiFailure),
    /// Carried out, but the response is lost (P31).
    DoneUnheard,
    /// A DELETE of which only the first half is carried out (P31); any other request is carried out and its response
    /// lost.
    Half,
}

/// A request in flight.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct StormFlight {
    effect: EvictionEffect,
    sent: i64,
    commits: i64,
    responses: i64,
    fate: RequestFate,
    response: Option<EvictionInput>,
    /// The process that sent it has crashed.
    orphan: bool,
}

/// Events of nodes or pods on their way to the engine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Stream {
    /// When each event was emitted, and when it can be delivered.
    items: VecDeque<(i64, i64, EvictionInput)>,
    pub lag: i64,
    /// The last moment of which the engine knows the complete state.
    received: Option<i64>,
    /// A list is in progress: nothing is complete before its end.
    listing: bool,
    /// Nothing more arrives.
    stalled: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Storm {
    pub cluster: ModelCluster,
    pub engine: PairedEngine,
    config: EvictionConfig,
    pub nodes: Stream,
    pub pods: Stream,
    pub deaf: bool,
    flights: Vec<StormFlight>,
    pub capacity: usize,
    pub tape: VecDeque<u8>,
    /// The last events delivered, for repeating them.
    recent: VecDeque<EvictionInput>,
    /// Since its last request, the engine has received a live read of these pods.
    read: BTreeSet<PodRef>,
    pub effects: usize,
    /// How late a pod may be evicted, if that is checked at every moment.
    pub grace: Option<i64>,
}

impl Storm {
    pub fn new(config: EvictionConfig, window: i64) -> Self {
        let mut storm = Self {
            cluster: ModelCluster::new(window),
            engine: PairedEngine::new(config.clone()),
            config,
            nodes: Stream::default(),
            pods: Stream::default(),
            deaf: false,
            flights: Vec::new(),
            capacity: usize::MAX,
            tape: VecDeque::new(),
            recent: VecDeque::new(),
            read: BTreeSet::new(),
            effects: 0,
            grace: None,
        };
        storm.list();
        storm
    }

    /// The same with an engine beside which no other runs: for very many worlds.
    pub fn lean(config: EvictionConfig, window: i64) -> Self {
        let mut storm = Self { engine: PairedEngine::alone(config.clone()), ..Self::new(config, window) };
        storm.restart();
        storm
    }

    // The engine's inputs.

    /// Emits the events, and lets the engine do what it can at this moment.
    pub fn settle(&mut self) {
        self.send_changes();
        self.work();
    }

    fn send_changes(&mut self) {
        let now = self.cluster.now;
        while let Some(changes) = self.cluster.changes.pop_front() {
            let stream = if is_about_nodes(&changes) { &mut self.nodes } else { &mut self.pods };
            if stream.stalled {
                continue;
            }
            let audible = stream.items.back().map_or(now, |(_, last, _)| *last).max(now + stream.lag);
            stream.items.push_back((now, audible, changes));
        }
    }

    /// The streams break, and both kinds are listed again.
    pub fn list(&mut self) {
        self.settle();
        let now = self.cluster.now;
        let (nodes, pods) = (self.cluster.nodes.keys(), self.cluster.pods.keys());
        let nodes: Vec<_> = nodes.map(|&id| self.cluster.node_sent(id, true)).collect();
        let pods: Vec<_> = pods.map(|&id| self.cluster.pod_sent(id, true)).collect();
        let since = |stream: &Stream| stream.received.map(Mono::from_micros);
        let (nodes_since, pods_since) = (since(&self.nodes), since(&self.pods));
        self.nodes.list(
            now,
            EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: nodes_since }),
            nodes,
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
        );
        self.pods.list(
            now,
            EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: pods_since }),
            pods,
            EvictionInput::Pods(ObjectEvent::ListCompleted),
        );
        self.settle();
    }

    /// The process crashes; its requests may still be carried out. A new one lists everything.
    pub fn restart(&mut self) {
        self.engine = self.engine.restarted(self.config.clone());
        self.cluster.set_hold(super::hold_times::HoldTimes::forget);
        self.engine.handle(EvictionInput::CountdownHold(self.cluster.hold.is_on()), self.cluster.clock());
        self.flights.iter_mut().for_each(|flight| flight.orphan = true);
        self.recent.clear();
        self.read.clear();
        for stream in [&mut self.nodes, &mut self.pods] {
            *stream = Stream { lag: stream.lag, ..Stream::default() };
        }
        self.list();
    }

    pub fn hold(&mut self, on: bool) {
        self.cluster.set_hold(|hold, now| hold.set(on, now));
        self.engine.handle(EvictionInput::CountdownHold(on), self.cluster.clock());
    }

    /// The nodes' stream stalls, undetected, until the next list. A stream that loses single events would not be a
    /// watch: what it shows of a taint would prove nothing.
    pub fn stall(&mut self) {
        self.nodes.items.clear();
        self.nodes.stalled = true;
    }

    /// One of the pod events in flight is lost, undetected.
    pub fn lose(&mut self, which: usize) {
        let Some(at) = which.checked_rem(self.pods.items.len()) else { return };
        if !matches!(
            self.pods.items[at].2,
            EvictionInput::Pods(ObjectEvent::ListStarted { .. })
                | EvictionInput::Pods(ObjectEvent::ListCompleted)
        ) {
            self.pods.items.remove(at);
        }
    }

    /// Delivers an old event again.
    pub fn repeat(&mut self, which: usize) {
        let Some(at) = which.checked_rem(self.recent.len()) else { return };
        let mut input = self.recent[at].clone();
        if let EvictionInput::Nodes(ObjectEvent::Applied { listed, .. })
        | EvictionInput::Pods(ObjectEvent::Applied { listed, .. }) = &mut input
        {
            *listed = false;
        }
        self.engine.handle(input, self.cluster.clock());
        self.settle();
    }

    /// Delivers one event that is due.
    fn deliver(&mut self) -> bool {
        let now = self.cluster.now;
        for stream in [&mut self.nodes, &mut self.pods] {
            if self.deaf || stream.items.front().is_none_or(|(_, audible, _)| *audible > now) {
                continue;
            }
            let Some((emitted, _, input)) = stream.items.pop_front() else { continue };
            if matches!(
                input,
                EvictionInput::Nodes(ObjectEvent::ListCompleted)
                    | EvictionInput::Pods(ObjectEvent::ListCompleted)
            ) {
                stream.listing = false;
            }
            if !stream.listing {
                stream.received = Some(emitted);
            }
            let repeatable = matches!(
                input,
                EvictionInput::Nodes(ObjectEvent::Applied { .. })
                    | EvictionInput::Pods(ObjectEvent::Applied { .. })
            );
            if repeatable {
                self.recent.truncate(7);
                self.recent.push_front(input.clone());
            }
            self.engine.handle(input, self.cluster.clock());
            return true;
        }
        false
    }

    /// With no events in flight, the absence of events means that nothing happened.
    fn listen(&mut self) {
        let now = self.cluster.now;
        for stream in [&mut self.nodes, &mut self.pods] {
            if !self.deaf && !stream.listing && !stream.stalled && stream.items.is_empty() {
                stream.received = Some(now - stream.lag).max(stream.received);
            }
        }
    }

    // Time.

    /// Lets time pass, and stops wherever something happens by itself.
    pub fn pass(&mut self, micros: i64) {
        self.settle();
        let until = self.cluster.now.saturating_add(micros);
        while let Some(at) = self.next_moment().filter(|at| *at <= until) {
            self.advance(at);
        }
        self.advance(until);
    }

    fn advance(&mut self, to: i64) {
        assert!(to >= self.cluster.now, "time goes back to {to}");
        if let Some(grace) = self.grace {
            let late = self.overdue(grace).filter(|due| *due < to);
            assert_eq!(late.collect::<Vec<_>>(), [], "no pod may be overdue until {to}");
        }
        self.cluster.now = to;
        self.listen();
        self.settle();
        self.listen();
    }

    /// The due dates of pods to be evicted, each with a grace.
    pub fn overdue(&self, grace: i64) -> impl Iterator<Item = i64> {
        let due = move |id: &u8| self.cluster.due(*id).map(|due| due.saturating_add(grace));
        self.cluster.pods.keys().filter_map(due)
    }

    fn next_moment(&self) -> Option<i64> {
        let now = self.cluster.now;
        let wake = self.engine.next_wakeup().map(Mono::as_micros);
        let streams = [&self.nodes, &self.pods].into_iter().filter(|_| !self.deaf);
        let audible = streams.filter_map(|stream| stream.items.front().map(|(_, audible, _)| *audible));
        let flight =
            |flight: &StormFlight| if flight.response.is_none() { flight.commits } else { flight.responses };
        let flights = self.flights.iter().map(flight);
        audible.chain(flights).chain(wake.filter(|wake| *wake > now)).min()
    }

    /// The events that the engine has not received yet.
    pub fn unheard(&self) -> Vec<EvictionInput> {
        let items = self.nodes.items.iter().chain(&self.pods.items);
        items.map(|(.., input)| input.clone()).collect()
    }

    /// Requests in flight.
    pub fn in_flight(&self) -> usize {
        self.flights.len()
    }
}

impl Stream {
    fn list(&mut self, now: i64, begin: EvictionInput, items: Vec<EvictionInput>, end: EvictionInput) {
        self.items.clear();
        (self.listing, self.stalled) = (true, false);
        let listed = [begin].into_iter().chain(items).chain([end]);
        self.items.extend(listed.map(|input| (now, now + self.lag, input)));
    }
}

fn is_about_nodes(input: &EvictionInput) -> bool {
    matches!(
        input,
        EvictionInput::Nodes(ObjectEvent::Applied { .. })
            | EvictionInput::Nodes(ObjectEvent::Deleted(_))
            | EvictionInput::Nodes(ObjectEvent::Undecodable(_))
    )
}
