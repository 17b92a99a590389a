//! The engine against an API server that withholds: watches that stall, patches whose response is lost, crashes; and
//! kube-controller-manager's own countdowns beside it.

use crate::original::OriginalController;
use proptest::prelude::*;
use std::collections::VecDeque;
use taintward_core::admission::DefaultSeconds;
use taintward_core::admission::policy::{TolerationDuration, TolerationPolicy};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane};
use taintward_core::fact::{BindingTimes, NodeFact};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ZoneKey, ZoneLabels};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::taint::{Taint, TaintEffect, keys};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration::{Toleration, TolerationOperator};
use taintward_core::toleration_hold::{HeldToleration, REMAINDER_MIN, ReleaseMode};
use taintward_core::toleration_seconds::{
    BackfillNamespaceFact, BackfillPolicyFact, BackfillSettings, HeldPodFact, HoldLimit, HoldNodeFact,
    HoldSettings, NodeHoldRequest, PatchPurpose, RecordState, SecondsPatch, TolerationSecondsEffect,
    TolerationSecondsEngine, TolerationSecondsInput,
};

const OWN: i64 = 60;
/// Seconds that a policy may give; none are fewer than [`OWN`].
const POLICIES: [i64; 3] = [OWN, 90, OWN_MAX];
const OWN_MAX: i64 = 120;
const HOLD_FOR: i64 = 90;
/// A watch may be behind for so long.
const STALL: i64 = 9;
const NODES: usize = 4;
const PODS_PER_NODE: usize = 2;
/// Two silent nodes of four are more than this.
const LIMIT: HoldLimit = HoldLimit { nodes: Some(1), percent: None, hold_for: Span::from_secs(HOLD_FOR) };

#[derive(Clone, Copy, Debug)]
enum Event {
    Silent(usize),
    Recovers(usize),
    Held(usize),
    Released(usize, ReleaseMode),
    Forgotten(usize),
    Crash,
    WatchStalls,
    /// The next patches get no answer: carried out or not.
    ResponsesLost {
        carried_out: bool,
    },
    RecordRemoved(usize),
    /// A policy gives new pods other seconds.
    PolicyChanges(i64),
    /// The policy cannot be decoded any more.
    PolicyGarbled,
    /// The clock steps back by a second, or forward again.
    ClockSteps,
    Nothing,
}

fn event() -> impl Strategy<Value = (Event, i64)> {
    let node = 0..NODES;
    let kind = prop_oneof![
        6 => node.clone().prop_map(Event::Silent),
        4 => node.clone().prop_map(Event::Recovers),
        2 => node.clone().prop_map(Event::Held),
        2 => (node.clone(), any::<bool>()).prop_map(|(node, full)| {
            Event::Released(node, if full { ReleaseMode::Full } else { ReleaseMode::Remainder })
        }),
        1 => node.prop_map(Event::Forgotten),
        2 => Just(Event::Crash),
        2 => Just(Event::WatchStalls),
        2 => any::<bool>().prop_map(|carried_out| Event::ResponsesLost { carried_out }),
        1 => (0..NODES * PODS_PER_NODE).prop_map(Event::RecordRemoved),
        2 => prop::sample::select(&POLICIES[..]).prop_map(Event::PolicyChanges),
        1 => Just(Event::PolicyGarbled),
        2 => Just(Event::ClockSteps),
        1 => Just(Event::Nothing),
    ];
    (kind, prop_oneof![3 => 0_i64..8, 1 => 8_i64..70])
}

fn at(second: i64) -> Wall {
    Wall::from_secs(1_800_000_000 + second)
}

struct Pod {
    fact: HeldPodFact,
    original: OriginalController,
    gone_at: Option<i64>,
    /// When its seconds went last.
    cleared_at: Option<i64>,
    /// The fewest seconds of its own that the original may have counted by while its node is silent.
    own: i64,
}

struct World {
    now: i64,
    version: u64,
    nodes: Vec<(Option<i64>, NodeHoldRequest)>,
    pods: Vec<Pod>,
    /// What the policy says; `None`: it cannot be decoded.
    policy: Option<i64>,
    engine: TolerationSecondsEngine,
    undelivered: VecDeque<TolerationSecondsInput>,
    stalled_until: i64,
    lost: Option<(bool, i64)>,
    is_clock_behind: bool,
    violation: Option<String>,
}

/// The pod's own seconds, held or not.
fn own_seconds(pod: &HeldPodFact) -> i64 {
    let held = match &pod.record {
        RecordState::Known(record) => record.tolerations().first().map(HeldToleration::own),
        RecordState::Absent | RecordState::Undecodable => None,
    };
    held.or(pod.tolerations[0].seconds).expect("own seconds")
}

fn name(node: usize) -> NodeName {
    NodeName::new(&format!("n{node}"))
}

impl World {
    fn new() -> Self {
        let toleration = |key: &str| Toleration {
            key: key.into(),
            operator: TolerationOperator::Exists,
            value: "".into(),
            effect: Some(TaintEffect::NoExecute),
            seconds: Some(OWN),
        };
        let pod = |at: usize| {
            let id = PodId::new(Uid::new(&format!("uid-{at}")), PodName::new("default", &format!("p{at}")));
            let fact = HeldPodFact {
                id,
                node: name(at / PODS_PER_NODE),
                version: Some(ResourceVersion(1)),
                tolerations: vec![toleration(keys::NOT_READY), toleration(keys::UNREACHABLE)],
                bound: BindingTimes::default().scheduled,
                record: RecordState::Absent,
                is_annotated: false,
                asked: None,
            };
            let original = OriginalController::default();
            Pod { fact, original, gone_at: None, cleared_at: None, own: OWN }
        };
        let mut world = Self {
            now: 0,
            version: 1,
            nodes: vec![(None, NodeHoldRequest::None); NODES],
            pods: (0..NODES * PODS_PER_NODE).map(pod).collect(),
            policy: Some(OWN),
            engine: TolerationSecondsEngine::default(),
            undelivered: VecDeque::new(),
            stalled_until: 0,
            lost: None,
            is_clock_behind: false,
            violation: None,
        };
        world.crash();
        world
    }

    fn node_fact(&self, node: usize) -> HoldNodeFact {
        let (silent_since, request) = self.nodes[node];
        let taints = silent_since.into_iter().map(|since| Taint {
            key: keys::UNREACHABLE.into(),
            value: "".into(),
            effect: TaintEffect::NoExecute,
            time_added: Some(at(since)),
        });
        let fact = NodeFact {
            name: name(node),
            uid: Uid::new(&format!("node-{node}")),
            version: Some(ResourceVersion(self.version)),
            created: None,
            taints: taints.collect(),
            taints_changed: None,
        };
        let zone = if node == 0 { "b" } else { "a" };
        HoldNodeFact::new(
            &fact,
            ZoneKey::of(ZoneLabels { zone: Some(zone), ..ZoneLabels::default() }),
            request,
        )
    }

    fn clock(&self) -> Now {
        Now::exact(Mono::from_secs(self.now), at(self.now - i64::from(self.is_clock_behind)))
    }

    /// Another process begins, with a list of everything.
    fn crash(&mut self) {
        let replaced =
            POLICIES.map(|seconds| DefaultSeconds { not_ready: seconds, unreachable: seconds }).to_vec();
        self.engine = TolerationSecondsEngine::new(
            Some(HoldSettings { limit: Some(LIMIT) }),
            Some(BackfillSettings { replaced, per_second: 20 }),
        );
        self.undelivered.clear();
        let nodes: Vec<_> = (0..NODES).map(|node| self.node_fact(node)).collect();
        let pods: Vec<_> =
            self.pods.iter().filter(|pod| pod.gone_at.is_none()).map(|pod| pod.fact.clone()).collect();
        let now = self.clock();
        let listed = |events: &mut Vec<TolerationSecondsInput>| {
            events.push(TolerationSecondsInput::Nodes(ObjectEvent::ListStarted { silent_since: None }));
            events.extend(
                nodes
                    .into_iter()
                    .map(|fact| TolerationSecondsInput::Nodes(ObjectEvent::Applied { fact, listed: true })),
            );
            events.push(TolerationSecondsInput::Nodes(ObjectEvent::ListCompleted));
            events.push(TolerationSecondsInput::Pods(ObjectEvent::ListStarted { silent_since: None }));
            events.extend(
                pods.into_iter()
                    .map(|fact| TolerationSecondsInput::Pods(ObjectEvent::Applied { fact, listed: true })),
            );
            events.push(TolerationSecondsInput::Pods(ObjectEvent::ListCompleted));
        };
        let mut events = Vec::new();
        let namespace = BackfillNamespaceFact { name: "default".into(), facts: NamespaceFact::default() };
        events.extend([
            TolerationSecondsInput::Namespaces(ObjectEvent::ListStarted { silent_since: None }),
            TolerationSecondsInput::Namespaces(ObjectEvent::Applied { fact: namespace, listed: true }),
            TolerationSecondsInput::Namespaces(ObjectEvent::ListCompleted),
            TolerationSecondsInput::Policies(ObjectEvent::ListStarted { silent_since: None }.into()),
            self.policy_event(true),
            TolerationSecondsInput::Policies(ObjectEvent::ListCompleted.into()),
        ]);
        listed(&mut events);
        events.into_iter().for_each(|event| self.engine.handle(event, now));
    }

    fn policy_event(&self, listed: bool) -> TolerationSecondsInput {
        let Some(seconds) = self.policy else {
            let object = ObjectRef { name: "policy".into(), ..ObjectRef::default() };
            return TolerationSecondsInput::Policies(ObjectEvent::Undecodable(object).into());
        };
        let stay = Some(TolerationDuration::For(seconds));
        let policy = TolerationPolicy {
            name: "policy".into(),
            not_ready: stay,
            unreachable: stay,
            ..TolerationPolicy::default()
        };
        let (uid, version) = (Uid::new("policy"), Some(ResourceVersion(self.version)));
        let fact = BackfillPolicyFact { uid, version, generation: 1, policy, progress: None };
        TolerationSecondsInput::Policies(ObjectEvent::Applied { fact, listed }.into())
    }

    fn policy_becomes(&mut self, policy: Option<i64>) {
        self.version += 1;
        self.policy = policy;
        self.undelivered.push_back(self.policy_event(false));
    }

    fn node_changes(&mut self, node: usize, change: impl FnOnce(&mut (Option<i64>, NodeHoldRequest))) {
        self.version += 1;
        change(&mut self.nodes[node]);
        let fact = self.node_fact(node);
        self.undelivered
            .push_back(TolerationSecondsInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
    }

    fn pod_changed(&mut self, pod: usize) {
        self.version += 1;
        self.pods[pod].fact.version = Some(ResourceVersion(self.version));
        let fact = self.pods[pod].fact.clone();
        self.undelivered
            .push_back(TolerationSecondsInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }

    fn happen(&mut self, event: Event) {
        let now = self.now;
        match event {
            Event::Silent(node) => self.node_changes(node, |(since, _)| *since = since.or(Some(now))),
            Event::Recovers(node) => {
                self.node_changes(node, |(since, _)| *since = None);
                for pod in self.pods.iter_mut().skip(node * PODS_PER_NODE).take(PODS_PER_NODE) {
                    pod.original.look(false, &pod.fact.tolerations, now);
                    pod.own = own_seconds(&pod.fact);
                }
            }
            Event::Held(node) => self.node_changes(node, |(_, request)| {
                *request = NodeHoldRequest::Hold { since: at(now), until: at(now + HOLD_FOR) };
            }),
            Event::Released(node, mode) => self.node_changes(node, |(_, request)| {
                *request = NodeHoldRequest::Release { at: at(now), mode };
            }),
            Event::Forgotten(node) => {
                self.node_changes(node, |(_, request)| *request = NodeHoldRequest::None);
            }
            Event::PolicyChanges(seconds) => self.policy_becomes(Some(seconds)),
            Event::PolicyGarbled => self.policy_becomes(None),
            Event::Crash => self.crash(),
            Event::ClockSteps => {
                self.is_clock_behind ^= true;
                self.run_engine();
            }
            Event::WatchStalls if now > self.stalled_until => self.stalled_until = now + STALL,
            Event::ResponsesLost { carried_out } => self.lost = Some((carried_out, now + 3)),
            // The engine puts back a record that another writer takes away.
            Event::RecordRemoved(pod) if self.undelivered.is_empty() && self.pods[pod].gone_at.is_none() => {
                self.pods[pod].fact.record = RecordState::Absent;
                self.pod_changed(pod);
                (self.stalled_until, self.lost) = (self.stalled_until.min(now), None);
                // A process that ends before it has given the record back leaves none behind: a failed patch of the pod
                // delays that by its pause.
                self.pass(35);
            }
            Event::WatchStalls | Event::RecordRemoved(_) | Event::Nothing => {}
        }
    }

    /// What a JSON Patch does that tests what it was decided by.
    fn carry_out(&mut self, patch: &SecondsPatch) -> Result<HeldPodFact, ApiFailure> {
        let found = self.pods.iter().position(|pod| pod.fact.id == patch.pod);
        let at = found.filter(|at| self.pods[*at].gone_at.is_none()).ok_or(ApiFailure::NotFound)?;
        let pod = &mut self.pods[at];
        let (fact, cleared_at) = (&mut pod.fact, &mut pod.cleared_at);
        if fact.tolerations != *patch.tolerations || (fact.record != RecordState::Absent) != patch.has_record
        {
            return Err(ApiFailure::Conflict);
        }
        let is_backfill = patch.purpose == PatchPurpose::Backfill;
        if is_backfill && (fact.record != RecordState::Absent || patch.write.record.is_some()) {
            self.violation = Some("a held pod was backfilled".to_owned());
        }
        for (position, seconds) in &patch.write.seconds {
            let before = fact.tolerations[*position].seconds;
            if before.is_some() && seconds.is_some() && before != *seconds && !is_backfill {
                self.violation = Some("seconds were changed directly".to_owned());
            }
            if seconds.is_none() {
                *cleared_at = Some(self.now);
            } else if cleared_at.is_some_and(|cleared| self.now < cleared + 4) {
                self.violation = Some("seconds came back before the original saw them gone".to_owned());
            }
            fact.tolerations[*position].seconds = *seconds;
        }
        if is_backfill {
            let own = own_seconds(fact);
            let is_silent = self.nodes[at / PODS_PER_NODE].0.is_some();
            pod.own = if is_silent { pod.own.min(own) } else { own };
        }
        fact.record = patch
            .write
            .record
            .clone()
            .map_or(RecordState::Absent, |record| RecordState::Known(record.into()));
        self.pod_changed(at);
        Ok(self.pods[at].fact.clone())
    }

    fn run_engine(&mut self) {
        let now = self.clock();
        if self.now >= self.stalled_until {
            while let Some(event) = self.undelivered.pop_front() {
                self.engine.handle(event, now);
            }
        }
        self.engine.tick(now.mono);
        let mut pulls = 0;
        while let Some(effect) = self.engine.next_effect(Lane::All, now) {
            pulls += 1;
            assert!(pulls < 1000, "requests without end: {effect:?}");
            let patch = match effect {
                TolerationSecondsEffect::PatchPod(patch) => patch,
                TolerationSecondsEffect::WriteStatus(write) => {
                    let result = Ok(());
                    self.engine.handle(TolerationSecondsInput::StatusDone { write, result }, now);
                    continue;
                }
            };
            let result = match self.lost.filter(|(_, until)| self.now < *until) {
                Some((carried_out, _)) => {
                    if carried_out {
                        let _ = self.carry_out(&patch);
                    }
                    Err(ApiFailure::Unavailable)
                }
                None => self.carry_out(&patch),
            };
            self.engine.handle(TolerationSecondsInput::PatchDone { patch, result }, now);
            self.engine.tick(now.mono);
        }
    }

    fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.run_engine();
            for at in 0..self.pods.len() {
                let silent_since = self.nodes[at / PODS_PER_NODE].0;
                let pod = &mut self.pods[at];
                if pod.gone_at.is_some() {
                    continue;
                }
                pod.original.look(silent_since.is_some(), &pod.fact.tolerations, self.now);
                if pod.original.evicts(self.now) {
                    pod.gone_at = Some(self.now);
                    let silent_for = silent_since.map(|since| self.now - since);
                    if silent_for.is_none_or(|silent| silent < pod.own) {
                        self.violation = Some(format!("pod {at} left after {silent_for:?}"));
                    }
                    self.version += 1;
                    let object =
                        ObjectRef::pod(self.pods[at].fact.id.uid().clone(), Some(name(at / PODS_PER_NODE)));
                    self.undelivered.push_back(TolerationSecondsInput::Pods(ObjectEvent::Deleted(object)));
                }
            }
            self.now += 1;
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_interleaving_sends_a_pod_early_or_keeps_it_for_ever(
        events in prop::collection::vec(event(), 1..30),
        recovers in any::<bool>(),
    ) {
        let mut world = World::new();
        for (event, seconds) in &events {
            world.happen(*event);
            world.pass(*seconds);
            prop_assert_eq!(&world.violation, &None);
        }
        for node in 0..NODES {
            world.happen(Event::Forgotten(node));
            world.happen(if recovers { Event::Recovers(node) } else { Event::Silent(node) });
        }
        let policy = world.policy;
        world.pass(STALL + HOLD_FOR + OWN_MAX + REMAINDER_MIN + 60);
        prop_assert_eq!(&world.violation, &None);
        for pod in &world.pods {
            if recovers {
                prop_assert!(pod.gone_at.is_some() || pod.fact.record == RecordState::Absent, "{:?}", pod.fact);
                let fits = |seconds: i64| policy.is_none_or(|policy| seconds == policy);
                let has_own = |one: &Toleration| one.seconds.is_some_and(fits);
                prop_assert!(pod.gone_at.is_some() || pod.fact.tolerations.iter().all(has_own), "{:?}", pod.fact);
            } else {
                prop_assert!(pod.gone_at.is_some(), "{:?}", pod.fact);
            }
        }
        prop_assert_eq!(world.engine.stats().waiting, 0);
        prop_assert_eq!(world.engine.stats().held, 0);
        prop_assert_eq!(world.engine.stats().backfill_pending, 0);
    }
}

/// Two silent nodes of four: the limit holds their pods, and only those.
#[test]
fn a_limit_holds_the_pods_of_silent_nodes_until_it_is_kept_or_its_time_is_over() {
    let mut world = World::new();
    world.pass(10);
    for node in [1, 2] {
        world.happen(Event::Silent(node));
    }
    world.pass(2);
    let held: Vec<bool> =
        world.pods.iter().map(|pod| pod.fact.tolerations.iter().all(|one| one.seconds.is_none())).collect();
    assert_eq!(held, [false, false, true, true, true, true, false, false]);
    assert_eq!(world.engine.stats().held, 4);
    world.pass(HOLD_FOR - 2);
    assert!(world.pods.iter().all(|pod| pod.gone_at.is_none()), "held beyond their own seconds");
    world.pass(OWN + 2);
    let gone: Vec<bool> = world.pods.iter().map(|pod| pod.gone_at.is_some()).collect();
    assert_eq!(gone, held, "a hold ends by itself");
    assert_eq!(world.violation, None);
}
