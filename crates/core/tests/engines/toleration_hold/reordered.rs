//! Searches histories in which requests overlap: responses are late, lost, and in any order, watches of nodes and of
//! pods lag behind each other, nodes and pods are replaced, and the process restarts, in two zones, with holds, backfill
//! and the guard.
//!
//! No pod ever has two patches in flight. When all is quiet, the pods of a node under a person's order are held. When
//! every node is ready, each pod has the seconds of its policy or the ceiling, and no request is left. In a run, each
//! kind of trouble occurs.

use crate::toleration_hold::harness::at as at_second;
use crate::toleration_hold::script::{
    DEFAULT, HoldScript, ScriptInput, Settings, held_pod, hold_node, is_held, list, namespace, policies,
    policy,
};
use proptest::prelude::*;
use proptest::test_runner::{TestCaseResult, TestRunner};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine as _, Lane};
use taintward_core::identity::{PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_limit::NodeLimit;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::time::Span;
use taintward_core::toleration_hold::ReleaseMode;
use taintward_core::toleration_seconds::{
    HeldPodFact, HoldLimit, HoldNodeFact, HoldSettings, LimitScope, NodeHoldRequest, PatchPurpose,
    SecondsPatch,
};

/// In two zones.
const NODES: [&str; 4] = ["a1", "a2", "b1", "b2"];
const PODS: usize = 6;
/// Seconds that a policy gives.
const POLICIES: [i64; 3] = [60, 90, DEFAULT];
const CEILINGS: [Option<i64>; 3] = [None, Some(100), Some(500)];
/// What happens at least [`OCCURRENCES_MIN`] times in a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    FirstAttempt,
    PullOfAll,
    OutOfOrder,
    Late,
    Rejected,
    Conflict,
    RequestLost,
    ResponseLost,
    RestartInFlight,
    NodeReplacedInFlight,
    HeldWithoutTime,
    ZoneExceeded,
    ClusterExceeded,
}

const KINDS: usize = 13;
const OCCURRENCES_MIN: usize = 5;
/// The longest pause after failures.
const PAUSE_MAX_MILLIS: i64 = 38_000;

#[derive(Clone, Copy, Debug)]
enum PatchFate {
    CarriedOut,
    Rejected,
    /// It was not carried out.
    Lost,
    /// It was carried out.
    ResponseLost,
}

#[derive(Clone, Copy, Debug)]
enum ReorderedStep {
    /// The node becomes silent, with a time in its taint or without, or recovers.
    Silence(usize, bool),
    NodeReplaced(usize),
    Hold(usize, i64),
    Release(usize, bool),
    Forget(usize),
    Ceiling(usize),
    Policy(usize),
    PodChanged(usize),
    PodReplaced(usize),
    Restart,
    NodesListed,
    PodsListed,
    NodesReceived(usize),
    PodsReceived(usize),
    Pull(Lane, usize),
    Response(usize, PatchFate),
    Pass(i64),
}

fn step() -> impl Strategy<Value = ReorderedStep> {
    let node = || 0..NODES.len();
    let lane = prop_oneof![2 => Just(Lane::Fresh), 1 => Just(Lane::All)];
    let fate = prop_oneof![
        6 => Just(PatchFate::CarriedOut),
        1 => Just(PatchFate::Rejected),
        1 => Just(PatchFate::Lost),
        1 => Just(PatchFate::ResponseLost),
    ];
    prop_oneof![
        3 => (node(), any::<bool>()).prop_map(|(node, timed)| ReorderedStep::Silence(node, timed)),
        1 => node().prop_map(ReorderedStep::NodeReplaced),
        2 => (node(), 5..400_i64).prop_map(|(node, seconds)| ReorderedStep::Hold(node, seconds)),
        1 => (node(), any::<bool>()).prop_map(|(node, full)| ReorderedStep::Release(node, full)),
        1 => node().prop_map(ReorderedStep::Forget),
        2 => (0..CEILINGS.len()).prop_map(ReorderedStep::Ceiling),
        2 => (0..POLICIES.len()).prop_map(ReorderedStep::Policy),
        1 => (0..PODS).prop_map(ReorderedStep::PodChanged),
        1 => (0..PODS).prop_map(ReorderedStep::PodReplaced),
        1 => Just(ReorderedStep::Restart),
        1 => Just(ReorderedStep::NodesListed),
        1 => Just(ReorderedStep::PodsListed),
        5 => (1..4_usize).prop_map(ReorderedStep::NodesReceived),
        6 => (1..6_usize).prop_map(ReorderedStep::PodsReceived),
        14 => (lane, 1..5_usize).prop_map(|(lane, count)| ReorderedStep::Pull(lane, count)),
        10 => (any::<usize>(), fate).prop_map(|(which, fate)| ReorderedStep::Response(which, fate)),
        8 => prop_oneof![Just(20), Just(60), Just(1_000), Just(6_000), Just(31_000)].prop_map(ReorderedStep::Pass),
    ]
}

#[derive(Clone, Copy, Debug)]
struct ReorderedNode {
    uid: u64,
    silent: Option<Option<i64>>,
    request: NodeHoldRequest,
}

/// What the API server has and the engine has not received yet.
struct ReorderedStorm {
    script: HoldScript,
    nodes: [ReorderedNode; NODES.len()],
    seconds: i64,
    ceiling: Option<i64>,
    node_events: VecDeque<ScriptInput>,
    pod_events: VecDeque<ScriptInput>,
    in_flight: Vec<SecondsPatch>,
    /// When the oldest of them was sent.
    sent: i64,
    replaced: u64,
    kinds: BTreeMap<EventKind, usize>,
}

impl ReorderedStorm {
    fn new() -> Self {
        let pods = (0..PODS).map(|at| held_pod(&format!("p{at}"), NODES[at % NODES.len()], 1)).collect();
        let script = HoldScript::new(Settings::default(), Vec::new(), pods);
        let well = ReorderedNode { uid: 0, silent: None, request: NodeHoldRequest::None };
        let mut storm = Self {
            script,
            nodes: [well; NODES.len()],
            seconds: DEFAULT,
            ceiling: None,
            node_events: VecDeque::new(),
            pod_events: VecDeque::new(),
            in_flight: Vec::new(),
            sent: 0,
            replaced: 0,
            kinds: BTreeMap::new(),
        };
        storm.restart();
        storm
    }

    fn node_fact(&self, at: usize) -> HoldNodeFact {
        let ReorderedNode { uid, silent, request } = self.nodes[at];
        let uid = Uid::new(&format!("{}-{uid}", NODES[at]));
        HoldNodeFact { uid, ..hold_node(NODES[at], self.script.version, silent, request) }
    }

    fn node_changes(&mut self, at: usize, change: impl FnOnce(&mut ReorderedNode)) {
        self.script.next_version();
        change(&mut self.nodes[at]);
        let fact = self.node_fact(at);
        self.node_events.push_back(ScriptInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
    }

    /// Another process starts: it has no request in flight.
    fn restart(&mut self) {
        let limit =
            HoldLimit { silent: NodeLimit { nodes: Some(1), percent: None }, hold_for: Span::from_secs(60) };
        let hold = Some(HoldSettings { limit: Some(limit) });
        let settings = Settings { hold, backfill: Some(20), guard: Some(20) };
        let nodes = (0..NODES.len()).map(|at| self.node_fact(at)).collect();
        let pods = self.script.pods.clone();
        self.script.start(settings, nodes, pods, (self.seconds, self.ceiling));
        self.in_flight.clear();
        self.node_events.clear();
        self.pod_events.clear();
    }

    fn pod_applied(&mut self, fact: HeldPodFact) {
        self.pod_events.push_back(ScriptInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }

    fn replace_pod(&mut self, at: usize) {
        self.replaced += 1;
        let version = self.script.next_version();
        let before = self.script.pods.remove(at);
        let gone = ObjectRef::pod(before.id.uid().clone(), Some(before.node.clone()));
        self.pod_events.push_back(ScriptInput::Pods(ObjectEvent::Deleted(gone)));
        let uid = Uid::new(&format!("successor-{}", self.replaced));
        let id = PodId::new(uid, PodName::new("shop", before.id.name().name()));
        let fact = HeldPodFact {
            id,
            bound: Some(self.script.wall()),
            ..held_pod("", before.node.as_str(), version)
        };
        self.script.pods.push(fact.clone());
        self.pod_applied(fact);
    }

    fn count(&mut self, kind: EventKind, occurs: bool) {
        *self.kinds.entry(kind).or_default() += usize::from(occurs);
    }

    fn pull(&mut self, lane: Lane) -> bool {
        let Some(patch) = self.script.pull(lane) else { return false };
        let exceeded: Vec<_> = self.script.engine.limits_exceeded().map(|one| one.scope.clone()).collect();
        let silence =
            |name: &str| self.nodes[NODES.iter().position(|node| *node == name).expect("a node")].silent;
        let is_untimed = patch.purpose == PatchPurpose::Hold && silence(patch.node.as_str()) == Some(None);
        self.count(EventKind::HeldWithoutTime, is_untimed);
        self.count(EventKind::ClusterExceeded, exceeded.contains(&LimitScope::Cluster));
        self.count(EventKind::ZoneExceeded, exceeded.iter().any(|scope| *scope != LimitScope::Cluster));
        self.count(if lane == Lane::All { EventKind::PullOfAll } else { EventKind::FirstAttempt }, true);
        if self.in_flight.is_empty() {
            self.sent = self.script.millis;
        }
        let is_in_flight = |other: &SecondsPatch| other.pod.uid() == patch.pod.uid();
        assert!(!self.in_flight.iter().any(is_in_flight), "two patches in flight: {patch:?}");
        self.in_flight.push(patch);
        true
    }

    fn carry_out(&mut self, patch: &SecondsPatch) -> Result<HeldPodFact, ApiFailure> {
        let result = self.script.carry_out(patch);
        result.iter().for_each(|fact| self.pod_applied(fact.clone()));
        result
    }

    fn response(&mut self, at: usize, fate: PatchFate) {
        self.count(EventKind::OutOfOrder, at > 0);
        self.count(EventKind::Late, at == 0 && self.script.millis > self.sent + 1_000);
        let patch = self.in_flight.remove(at);
        let result = match fate {
            PatchFate::CarriedOut => self.carry_out(&patch),
            PatchFate::Rejected => Err(ApiFailure::Rejected),
            PatchFate::Lost => Err(ApiFailure::Unavailable),
            PatchFate::ResponseLost => self.carry_out(&patch).and(Err(ApiFailure::Unavailable)),
        };
        self.count(EventKind::Rejected, matches!(fate, PatchFate::Rejected));
        self.count(EventKind::RequestLost, matches!(fate, PatchFate::Lost));
        self.count(EventKind::ResponseLost, matches!(fate, PatchFate::ResponseLost));
        self.count(EventKind::Conflict, result == Err(ApiFailure::Conflict));
        self.script.response(patch, result);
    }

    fn take(&mut self, step: ReorderedStep) {
        let second = self.script.millis / 1_000;
        match step {
            ReorderedStep::Silence(at, timed) => self.node_changes(at, |node| {
                node.silent = if node.silent.is_some() { None } else { Some(timed.then_some(second)) };
            }),
            ReorderedStep::NodeReplaced(at) => {
                let is_written = self.in_flight.iter().any(|patch| patch.node.as_str() == NODES[at]);
                self.count(EventKind::NodeReplacedInFlight, is_written);
                self.node_changes(at, |node| {
                    *node = ReorderedNode { uid: node.uid + 1, silent: None, request: NodeHoldRequest::None };
                });
            }
            ReorderedStep::Hold(at, seconds) => {
                let (since, until) = (at_second(second), at_second(second + seconds));
                self.node_changes(at, |node| node.request = NodeHoldRequest::Hold { since, until });
            }
            ReorderedStep::Release(at, full) => {
                let mode = if full { ReleaseMode::Full } else { ReleaseMode::Remainder };
                let release = NodeHoldRequest::Release { at: at_second(second), mode };
                self.node_changes(at, |node| node.request = release);
            }
            ReorderedStep::Forget(at) => self.node_changes(at, |node| node.request = NodeHoldRequest::None),
            ReorderedStep::Ceiling(at) => {
                self.ceiling = CEILINGS[at];
                let fact = namespace(self.ceiling);
                self.script.receive(ScriptInput::Namespaces(ObjectEvent::Applied { fact, listed: false }));
            }
            ReorderedStep::Policy(at) => {
                self.seconds = POLICIES[at];
                let fact = policy(self.seconds, self.script.next_version());
                self.script.receive(policies(ObjectEvent::Applied { fact, listed: false }));
            }
            ReorderedStep::PodChanged(at) => {
                let version = Some(ResourceVersion(self.script.next_version()));
                self.script.pods[at].version = version;
                self.pod_applied(self.script.pods[at].clone());
            }
            ReorderedStep::PodReplaced(at) => self.replace_pod(at),
            ReorderedStep::Restart => {
                self.count(EventKind::RestartInFlight, !self.in_flight.is_empty());
                self.restart();
            }
            ReorderedStep::NodesListed => {
                let facts: Vec<_> = (0..NODES.len()).map(|at| self.node_fact(at)).collect();
                self.node_events = list(facts, ScriptInput::Nodes).into();
            }
            ReorderedStep::PodsListed => {
                self.pod_events = list(self.script.pods.clone(), ScriptInput::Pods).into()
            }
            ReorderedStep::NodesReceived(count) => {
                let count = count.min(self.node_events.len());
                self.script.receive_all(self.node_events.drain(..count).collect());
            }
            ReorderedStep::PodsReceived(count) => {
                let count = count.min(self.pod_events.len());
                self.script.receive_all(self.pod_events.drain(..count).collect());
            }
            ReorderedStep::Pull(lane, count) => _ = (0..count).take_while(|_| self.pull(lane)).count(),
            ReorderedStep::Response(which, fate) if !self.in_flight.is_empty() => {
                self.response(which % self.in_flight.len(), fate);
            }
            ReorderedStep::Response(..) => {}
            ReorderedStep::Pass(millis) => self.script.pass(millis),
        }
    }

    /// Nothing fails any more: delivers everything, and lets this much time pass.
    fn sanitized(&mut self, millis: i64) {
        let end = self.script.millis + millis;
        loop {
            self.script.receive_all(self.node_events.drain(..).chain(self.pod_events.drain(..)).collect());
            if self.pull(Lane::Fresh) || self.pull(Lane::All) {
                continue;
            }
            if !self.in_flight.is_empty() {
                self.response(self.in_flight.len() / 2, PatchFate::CarriedOut);
                continue;
            }
            if !self.node_events.is_empty() || !self.pod_events.is_empty() {
                continue;
            }
            let now = self.script.now().mono;
            let next = self.script.engine.next_wakeup().filter(|at| *at > now);
            let next = next.map_or(end, |at| at.as_micros().div_euclid(1_000) + 1);
            if next >= end {
                return self.script.pass(end - self.script.millis);
            }
            self.script.pass(next - self.script.millis);
        }
    }
}

/// Takes these steps, and then lets everything become quiet.
fn run(steps: Vec<ReorderedStep>, kinds: &RefCell<BTreeMap<EventKind, usize>>) -> TestCaseResult {
    let mut storm = ReorderedStorm::new();
    for step in steps {
        storm.take(step);
    }
    for (kind, count) in std::mem::take(&mut storm.kinds) {
        *kinds.borrow_mut().entry(kind).or_default() += count;
    }
    storm.sanitized(PAUSE_MAX_MILLIS);
    storm.sanitized(0);
    let now = storm.script.wall();
    let is_ordered =
        |node: &ReorderedNode| matches!(node.request, NodeHoldRequest::Hold { until, .. } if now < until);
    let ordered = NODES.iter().zip(&storm.nodes).filter(|(_, node)| is_ordered(node));
    let ordered: BTreeSet<&str> = ordered.map(|(name, _)| *name).collect();
    for pod in storm.script.pods.iter().filter(|pod| ordered.contains(pod.node.as_str())) {
        prop_assert!(is_held(pod), "{pod:?}");
    }
    // Every node is ready, and no person's order is left.
    for node in 0..NODES.len() {
        storm.node_changes(node, |node| (node.silent, node.request) = (None, NodeHoldRequest::None));
    }
    storm.sanitized(PAUSE_MAX_MILLIS + 20_000);
    let stats = storm.script.engine.stats();
    prop_assert_eq!((stats.waiting, stats.backfill_pending, stats.guard_pending), (0, 0, 0));
    prop_assert_eq!((stats.held, stats.released), (0, 0));
    let ceiling = storm.ceiling.filter(|ceiling| storm.seconds < *ceiling);
    for pod in &storm.script.pods {
        let given = Some(ceiling.unwrap_or(storm.seconds));
        prop_assert!(pod.tolerations.iter().all(|one| one.seconds == given), "{given:?}: {pod:?}");
        prop_assert_eq!((pod.records.hold, pod.records.guard), (false, ceiling.is_some()));
    }
    Ok(())
}

#[test]
fn requests_that_overlap_leave_each_pod_with_its_seconds() {
    let config = ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() };
    let kinds = RefCell::default();
    let histories = prop::collection::vec(step(), 1..120);
    let result = TestRunner::new(config).run(&histories, |steps| run(steps, &kinds));
    result.unwrap_or_else(|failure| panic!("{failure}"));
    let kinds = kinds.into_inner();
    println!("{kinds:?}");
    assert!(kinds.len() == KINDS && kinds.values().all(|count| *count >= OCCURRENCES_MIN), "{kinds:?}");
}
