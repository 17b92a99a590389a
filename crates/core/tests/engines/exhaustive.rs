//! Explores every interleaving of a node and a pod name with two UIDs, in some scopes with a second pod, a second node or a
//! second replica, breadth first.
//!
//! - Prints the path to a state in which a wrong DELETE was committed (S1, S2, S3, S10), or from which a fair run does
//!   not end well (L1, S9); it covers every way of cancelling during a deletion (TE-29), and rejections of a kind and a
//!   verb that begin and end (D3).

mod policies;
mod replica;
pub(crate) mod search;
mod steps;

use crate::common::cluster::{ModelCluster, SECOND};
use replica::EngineReplica;
use search::{SearchResult, SearchState};
use std::hash::Hash;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::Engine;
use taintward_core::eviction::{EvictionEffect, EvictionInput};
use taintward_core::testkit::toleration;
use taintward_core::time::Span;

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
    /// The same events arrive at the replica that waits.
    StandbyReceiveNode,
    StandbyReceivePod,
    /// The replica that waits becomes the leader; what the earlier leader has sent may still be committed (S5, P34).
    FailOver,
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

const STEPS: [EvictionStep; 29] = [
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
    EvictionStep::StandbyReceiveNode,
    EvictionStep::StandbyReceivePod,
    EvictionStep::FailOver,
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
    /// Another replica waits for the lease, and gets it so often.
    failovers: u8,
    neighbor: Option<Neighbor>,
}

/// A second pod, which tolerates nothing: for it, a node is read as soon as the taint is there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Neighbor {
    SameNode,
    /// On a second node, which is tainted together with the first.
    OtherNode,
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
    leader: EngineReplica,
    /// A replica without the lease. Its watches have no faults.
    standby: Option<Box<EngineReplica>>,
    stalled: bool,
    /// Both streams are ahead of a restored store.
    rewound: bool,
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
        match left.neighbor {
            None => {}
            Some(Neighbor::SameNode) => cluster.put_pod(1, 0, Vec::new(), lingers),
            Some(Neighbor::OtherNode) => {
                cluster.put_node(1);
                cluster.put_pod(1, 1, Vec::new(), lingers);
            }
        }
        let mut state = Self {
            cluster,
            leader: EngineReplica::new(),
            standby: (left.failovers > 0).then(|| Box::new(EngineReplica::new())),
            stalled: false,
            rewound: false,
            flights: Vec::new(),
            rejects: false,
            rejected: 0,
            left,
        };
        if let Some(standby) = &mut state.standby {
            standby.list(&state.cluster);
        }
        state.list();
        if state.left.restores > 0 {
            state.cluster.back_up();
        }
        state
    }

    /// Lists everything, immediately and completely.
    fn list(&mut self) {
        self.cluster.changes.clear();
        self.leader.list(&self.cluster);
        (self.stalled, self.rewound) = (false, false);
    }

    /// Each event in the cluster happens at an instant of its own.
    fn happens(&mut self, what: impl FnOnce(&mut ModelCluster)) {
        self.cluster.now += 1;
        what(&mut self.cluster);
        self.send_changes();
    }

    /// When the first of the pods is due.
    fn first_due(&self) -> Option<i64> {
        self.cluster.pods.keys().filter_map(|&pod| self.cluster.due(pod)).min()
    }

    fn send_changes(&mut self) {
        let now = self.cluster.now;
        while let Some(change) = self.cluster.changes.pop_front() {
            if let Some(standby) = &mut self.standby {
                standby.send(now, change.clone());
            }
            let is_lost = self.stalled && matches!(change, EvictionInput::Nodes(_));
            if !self.rewound && !is_lost {
                self.leader.send(now, change);
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

    fn has_acted(&self) -> bool {
        !self.cluster.deleted.is_empty()
    }

    /// Nothing goes wrong from here on: every event is delivered, everything is listed once, and every request is
    /// carried out and gets a response.
    fn run_fairly(mut self) {
        self.rejects = false;
        for round in 0..16 {
            self.leader.receive_all(&self.cluster);
            match round {
                0 => self.list(),
                // Any mark has already been removed.
                8 => self.hold(false),
                _ => {}
            }
            let stray = self.cluster.pods.values().any(|pod| pod.stray.is_some());
            assert!(round != 8 || !stray, "S9: a pod has a mark while time is on hold");
            for _ in 0..100 {
                self.leader.engine.tick(self.cluster.clock().mono);
                while self.commit(0).is_some() || self.response(0, false).is_some() {}
                self.leader.receive_all(&self.cluster);
                if self.pull().is_none() {
                    break;
                }
            }
            self.pass(6 * SECOND);
            // What was refused for seconds is late by seconds: a pause was at most as long as the refusals (D3).
            let judged = round == 2 && self.left.rejection.is_some();
            let due = self.first_due().filter(|_| judged);
            assert!(due.is_none_or(|due| due + 12 * SECOND > self.cluster.now), "D3: a pod still waits");
        }
        assert!(self.flights.is_empty(), "requests remain");
        let due = self.first_due();
        assert!(due.is_none_or(|due| due > self.cluster.now), "L1: a pod still exists, due {due:?}");
        for pod in self.cluster.pods.values() {
            assert!(pod.stray.is_none(), "S9: a pod has a mark without a reason");
            assert!(!pod.half_deleted, "P31: a deletion was not completed");
        }
        let census = self.leader.engine.stats();
        assert_eq!((census.due, census.in_hand), (0, 0), "no rest");
    }
}

#[test]
fn no_interleaving_deletes_wrongly_and_every_state_ends_well() {
    let base = Budgets { taints: 1, passes: 3, ..Budgets::default() };
    let beside = |neighbor| Budgets { neighbor: Some(neighbor), passes: 1, ..base.clone() };
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
        beside(Neighbor::SameNode),
        Budgets { taints: 2, untaints: 1, passes: 2, ..beside(Neighbor::SameNode) },
        Budgets { losses: 1, ..beside(Neighbor::OtherNode) },
        Budgets { failovers: 1, taints: 2, untaints: 1, ..base.clone() },
        Budgets { failovers: 1, recreations: 1, ..base.clone() },
        Budgets { failovers: 1, ..beside(Neighbor::SameNode) },
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
    let mut all = SearchResult::default();
    for scope in scopes.into_iter().chain(rejected) {
        let most = if scope.rejection.is_some() { REJECTED_STATES_MAX } else { STATES_MAX };
        let found = search::explore(ExhaustiveState::first(scope.clone()), search::states_max(most));
        println!("{scope:?}\n  {found}");
        assert!(found.acted > 0, "no pod is deleted in {scope:?}");
        all = all.and(found);
    }
    println!("{all}");
    assert!(all.states >= STATES_MIN || search::states_max(STATES_MAX) < STATES_MAX, "{all}");
}
