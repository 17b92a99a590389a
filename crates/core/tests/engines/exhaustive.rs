//! Explores every interleaving of one node and one pod name with two UIDs, breadth first.
//!
//! - Prints the path to a state in which a wrong DELETE was committed (S1, S2, S3, S10), or from which a fair run does
//!   not end well (L1, S9); it covers every way of cancelling during a deletion (TE-29), and rejections of a kind and a
//!   verb that begin and end (D3).
//! - `EXHAUSTIVE_STATES` sets the number of states.

mod policies;
mod search;
mod steps;

use crate::common::cluster::{ModelCluster, SECOND};
use search::SearchState;
use std::collections::VecDeque;
use std::hash::Hash;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionConfig, EvictionEffect, EvictionEngine, EvictionInput};
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::toleration;
use taintward_core::time::{Mono, Span};

/// One of the two taints for which time can be on hold.
const KEY: &str = "node.kubernetes.io/not-ready";

/// The maximum number of states of one scope.
const STATES_MAX: usize = 60_000;

/// The same with refusals.
const REJECTED_STATES_MAX: usize = 15_000;

/// The minimum number of states of all scopes.
const STATES_MIN: usize = 200_000;

const FLIGHTS_MAX: usize = 2;

/// How many requests may be refused at the same moment: each pauses what asked for it.
const REJECTED_AT_ONCE_MAX: u8 = 3;

/// How long after being sent a request can still be committed.
const REQUEST_MAX: i64 = 2 * SECOND;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum EvictionStep {
    Taint,
    Untaint,
    /// The pod's toleration period becomes shorter, longer, unlimited.
    Timeouts(Option<i64>),
    /// The pod is replaced by one of the same name that tolerates everything.
    Recreate,
    ReceiveNode,
    ReceivePod,
    /// The nodes' stream stalls, undetected: no event arrives until the next list. A stream that loses single events
    /// would not be a watch: what it shows of a taint would prove nothing.
    Stall,
    Pull,
    Commit(usize),
    Response(usize),
    /// The response is lost; the steps before decide whether the request was committed.
    Lose(usize),
    Pass,
    List,
    Restart,
    /// Time is put on hold, or resumes (NL-48).
    Hold,
    /// The store is restored to its first state; both streams stall until the next list (S2).
    Restore,
    /// Half of a request is carried out, and its response is lost (P31).
    Halve(usize),
    /// A proxy, not the API server, responds that there is no such object.
    Deny(usize),
    /// Refusals begin, or end (D3).
    Reject,
}

/// Which requests fail while rejections last, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum ExhaustiveRejection {
    Everything(ApiFailure),
    Reads(ApiFailure),
    Deletions(ApiFailure),
}

impl ExhaustiveRejection {
    const fn of(self, effect: &EvictionEffect) -> Option<ApiFailure> {
        match (self, effect) {
            (Self::Everything(failure), _)
            | (Self::Deletions(failure), EvictionEffect::DeletePod { .. })
            | (Self::Reads(failure), EvictionEffect::ReadNode { .. } | EvictionEffect::ReadPod { .. }) => {
                Some(failure)
            }
            _ => None,
        }
    }
}

const STEPS: [EvictionStep; 26] = [
    EvictionStep::Pull,
    EvictionStep::ReceiveNode,
    EvictionStep::ReceivePod,
    EvictionStep::Commit(0),
    EvictionStep::Commit(1),
    EvictionStep::Response(0),
    EvictionStep::Response(1),
    EvictionStep::Pass,
    EvictionStep::Taint,
    EvictionStep::Untaint,
    EvictionStep::Timeouts(Some(1)),
    EvictionStep::Timeouts(Some(5)),
    EvictionStep::Timeouts(None),
    EvictionStep::Recreate,
    EvictionStep::Restart,
    EvictionStep::List,
    EvictionStep::Lose(0),
    EvictionStep::Lose(1),
    EvictionStep::Stall,
    EvictionStep::Hold,
    EvictionStep::Restore,
    EvictionStep::Halve(0),
    EvictionStep::Halve(1),
    EvictionStep::Deny(0),
    EvictionStep::Deny(1),
    EvictionStep::Reject,
];

/// How often each of these may still happen.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct Budgets {
    taints: u8,
    untaints: u8,
    edits: u8,
    recreations: u8,
    passes: u8,
    losses: u8,
    stalls: u8,
    lists: u8,
    restarts: u8,
    holds: u8,
    restores: u8,
    halves: u8,
    denials: u8,
    rejections: u8,
    /// What these are.
    rejection: Option<ExhaustiveRejection>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ExhaustiveFlight {
    effect: EvictionEffect,
    sent: i64,
    response: Option<EvictionInput>,
    orphan: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct ExhaustiveState {
    cluster: ModelCluster,
    engine: EvictionEngine,
    nodes: VecDeque<(i64, EvictionInput)>,
    pods: VecDeque<(i64, EvictionInput)>,
    stalled: bool,
    /// Both streams are ahead of a restored store.
    rewound: bool,
    /// When nodes and pods were last known completely.
    received: Option<(i64, i64)>,
    flights: Vec<ExhaustiveFlight>,
    /// Requests are refused; and how many at this moment.
    rejects: bool,
    rejected: u8,
    left: Budgets,
}

fn spend(budget: &mut u8) -> Option<()> {
    *budget = budget.checked_sub(1)?;
    Some(())
}

impl ExhaustiveState {
    fn first(left: Budgets) -> Self {
        let mut cluster = ModelCluster::new(2 * SECOND + REQUEST_MAX);
        cluster.put_node(0);
        let lingers = left.halves == 0;
        cluster.put_pod(0, 0, vec![toleration(KEY, Some(2))], lingers);
        let (nodes, pods) = (VecDeque::new(), VecDeque::new());
        let engine = EvictionEngine::new(EvictionConfig::default());
        let mut state = Self {
            cluster,
            engine,
            nodes,
            pods,
            stalled: false,
            rewound: false,
            received: None,
            flights: Vec::new(),
            rejects: false,
            rejected: 0,
            left,
        };
        state.list();
        if state.left.restores > 0 {
            state.cluster.back_up();
        }
        state
    }

    /// Lists everything, immediately and completely.
    fn list(&mut self) {
        self.cluster.changes.clear();
        self.nodes.clear();
        self.pods.clear();
        let at = |which: fn((i64, i64)) -> i64| self.received.map(which).map(Mono::from_micros);
        let (nodes_since, pods_since) = (at(|received| received.0), at(|received| received.1));
        let nodes = self.cluster.nodes.keys().map(|&id| self.cluster.node_sent(id, true));
        let pods = self.cluster.pods.keys().map(|&id| self.cluster.pod_sent(id, true));
        let mut inputs = vec![EvictionInput::Nodes(ObjectEvent::ListStarted { silent_since: nodes_since })];
        inputs.extend(nodes);
        inputs.extend([
            EvictionInput::Nodes(ObjectEvent::ListCompleted),
            EvictionInput::Pods(ObjectEvent::ListStarted { silent_since: pods_since }),
        ]);
        inputs.extend(pods);
        inputs.push(EvictionInput::Pods(ObjectEvent::ListCompleted));
        for input in inputs {
            self.engine.handle(input, self.cluster.clock());
        }
        self.received = Some((self.cluster.now, self.cluster.now));
        (self.stalled, self.rewound) = (false, false);
    }

    /// Each event in the cluster happens at an instant of its own.
    fn happens(&mut self, what: impl FnOnce(&mut ModelCluster)) {
        self.cluster.now += 1;
        what(&mut self.cluster);
        self.send_changes();
    }

    fn send_changes(&mut self) {
        let now = self.cluster.now;
        while let Some(changes) = self.cluster.changes.pop_front() {
            match changes {
                _ if self.rewound => {}
                EvictionInput::Pods(ObjectEvent::Applied { .. })
                | EvictionInput::Pods(ObjectEvent::Deleted(_)) => self.pods.push_back((now, changes)),
                _ if self.stalled => {}
                _ => self.nodes.push_back((now, changes)),
            }
        }
    }
}

impl SearchState for ExhaustiveState {
    type Step = EvictionStep;

    const STEPS: &'static [EvictionStep] = &STEPS;

    fn step(&self, step: EvictionStep) -> Option<Self> {
        self.after(step)
    }

    fn has_deleted(&self) -> bool {
        !self.cluster.deleted.is_empty()
    }

    /// Nothing goes wrong from here on: every event is delivered, everything is listed once, and every request is
    /// carried out and gets a response.
    fn run_fairly(mut self) {
        self.rejects = false;
        for round in 0..16 {
            while self.receive(true).is_some() || self.receive(false).is_some() {}
            match round {
                0 => self.list(),
                // Any mark has already been removed.
                8 => self.hold(false),
                _ => {}
            }
            let stray = self.cluster.pods.get(&0).and_then(|pod| pod.stray);
            assert!(round != 8 || stray.is_none(), "S9: it has a mark while time is on hold");
            for _ in 0..100 {
                self.engine.tick(self.cluster.clock().mono);
                while self.commit(0).is_some() || self.response(0, false).is_some() {}
                while self.receive(true).is_some() || self.receive(false).is_some() {}
                if self.pull().is_none() {
                    break;
                }
            }
            self.pass(6 * SECOND);
            // What was refused for seconds is late by seconds: a pause was at most as long as the refusals (D3).
            let due = self.cluster.due(0).filter(|_| round == 2 && self.left.rejection.is_some());
            assert!(due.is_none_or(|due| due + 12 * SECOND > self.cluster.now), "D3: it still waits");
        }
        assert!(self.flights.is_empty(), "requests remain");
        let due = self.cluster.due(0);
        assert!(due.is_none_or(|due| due > self.cluster.now), "L1: it still exists, due {due:?}");
        let stray = self.cluster.pods.get(&0).and_then(|pod| pod.stray);
        assert!(stray.is_none(), "S9: it has a mark without a reason");
        let half = self.cluster.pods.get(&0).is_some_and(|pod| pod.half_deleted);
        assert!(!half, "P31: its deletion was not completed");
        let census = self.engine.stats();
        assert_eq!((census.due, census.in_hand), (0, 0), "no rest");
    }
}

#[test]
fn no_interleaving_deletes_wrongly_and_every_state_ends_well() {
    let states_max = std::env::var("EXHAUSTIVE_STATES").ok().and_then(|text| text.parse().ok());
    let base = Budgets { taints: 1, passes: 3, ..Budgets::default() };
    let scopes = [
        Budgets { taints: 2, untaints: 1, passes: 4, ..base.clone() },
        Budgets { untaints: 1, edits: 1, ..base.clone() },
        Budgets { edits: 1, losses: 1, ..base.clone() },
        Budgets { recreations: 1, losses: 2, ..base.clone() },
        Budgets { taints: 2, untaints: 1, restarts: 1, ..base.clone() },
        Budgets { restarts: 2, losses: 1, ..base.clone() },
        Budgets { taints: 2, untaints: 1, stalls: 1, lists: 1, ..base.clone() },
        Budgets { recreations: 1, restarts: 1, ..base.clone() },
        Budgets { holds: 2, passes: 4, ..base.clone() },
        Budgets { holds: 4, ..base.clone() },
        Budgets { holds: 2, edits: 1, ..base.clone() },
        Budgets { holds: 2, losses: 1, ..base.clone() },
        Budgets { holds: 2, taints: 2, untaints: 1, ..base.clone() },
        Budgets { holds: 2, restarts: 1, ..base.clone() },
        Budgets { taints: 2, restores: 1, ..base.clone() },
        Budgets { restores: 1, losses: 1, ..base.clone() },
        Budgets { halves: 1, edits: 1, ..base.clone() },
        Budgets { halves: 1, losses: 1, ..base.clone() },
        Budgets { denials: 2, untaints: 1, ..base.clone() },
    ];
    let throttled = ApiFailure::Throttled(Some(Span::from_secs(2)));
    let rejected =
        |rejection| Budgets { rejections: 2, rejection: Some(rejection), passes: 4, ..base.clone() };
    let rejected = [
        rejected(ExhaustiveRejection::Everything(ApiFailure::Forbidden)),
        rejected(ExhaustiveRejection::Reads(ApiFailure::Unavailable)),
        rejected(ExhaustiveRejection::Deletions(ApiFailure::Rejected)),
        rejected(ExhaustiveRejection::Deletions(throttled)),
        Budgets { untaints: 1, ..rejected(ExhaustiveRejection::Everything(ApiFailure::Unavailable)) },
    ];
    let mut states = 0;
    for scope in scopes.into_iter().chain(rejected) {
        let most = if scope.rejection.is_some() { REJECTED_STATES_MAX } else { STATES_MAX };
        let found = search::explore(ExhaustiveState::first(scope.clone()), states_max.unwrap_or(most));
        println!("{scope:?}\n  {found:?}");
        assert!(found.deleting > 0, "no pod is deleted in {scope:?}");
        states += found.states;
    }
    assert!(states >= STATES_MIN || states_max.is_some(), "{states} states");
}
