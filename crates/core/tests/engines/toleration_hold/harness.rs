//! Simulates an unreliable API server: watches that stall, patches whose response is lost, crashes; and
//! kube-controller-manager's own countdowns alongside it.

use crate::common::monitored::MonitoredEngine;
use crate::toleration_hold::original::OriginalController;
use std::collections::VecDeque;
use taintward_core::admission::DefaultSeconds;
use taintward_core::admission::policy::{TolerationDuration, TolerationPolicy};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane};
use taintward_core::fact::PodFact;
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ZoneKey, ZoneLabels};
use taintward_core::node_limit::NodeLimit;
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::taint::keys;
use taintward_core::testkit::{self, node_health_tolerations, pod, taint};
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration::Toleration;
use taintward_core::toleration_guard::{CEILING_LABEL, GuardRecord, guarded_pod};
use taintward_core::toleration_hold::HeldToleration;
use taintward_core::toleration_seconds::{
    BackfillPolicyFact, BackfillSettings, GuardSettings, HeldPodFact, HoldLimit, HoldNodeFact, HoldSettings,
    NodeHoldRequest, PatchPurpose, PatchedRecord, RecordAnnotations, RecordState, SecondsNamespaceFact,
    SecondsPatch, TolerationSecondsEffect, TolerationSecondsEngine, TolerationSecondsInput,
};
use taintward_core::toleration_seconds_monitor::TolerationSecondsMonitor;

pub(crate) const OWN: i64 = 60;
/// Seconds that a policy may give; none are fewer than [`OWN`].
pub(crate) const POLICIES: [i64; 3] = [OWN, 90, OWN_MAX];
pub(crate) const OWN_MAX: i64 = 120;
/// Ceilings of a guarded namespace.
pub(crate) const CEILINGS: [i64; 2] = [100, CEILING_MAX];
pub(crate) const CEILING_MAX: i64 = 300;
pub(crate) const HOLD_FOR: i64 = 90;
/// The maximum lag of a watch.
pub(crate) const STALL: i64 = 9;
pub(crate) const NODES: usize = 4;
pub(crate) const PODS_PER_NODE: usize = 2;
/// Two silent nodes of four exceed it.
pub(crate) const LIMIT: HoldLimit =
    HoldLimit { silent: NodeLimit { nodes: Some(1), percent: None }, hold_for: Span::from_secs(HOLD_FOR) };

pub(crate) fn at(second: i64) -> Wall {
    Wall::from_secs(1_800_000_000 + second)
}

pub(crate) struct HarnessPod {
    pub(crate) fact: HeldPodFact,
    pub(crate) original: OriginalController,
    pub(crate) gone_at: Option<i64>,
    /// When its seconds were last removed.
    pub(crate) cleared_at: Option<i64>,
    /// The fewest seconds of its own that upstream may have counted by while its node is silent.
    pub(crate) own: i64,
}

pub(crate) struct TolerationSecondsHarness {
    pub(crate) now: i64,
    pub(crate) version: u64,
    pub(crate) nodes: Vec<(Option<i64>, NodeHoldRequest)>,
    pub(crate) pods: Vec<HarnessPod>,
    /// The policy's seconds; `None`: it cannot be decoded.
    pub(crate) policy: Option<i64>,
    /// The value of the namespace's label.
    pub(crate) ceiling: Option<i64>,
    pub(crate) engine: MonitoredEngine<TolerationSecondsMonitor>,
    pub(crate) undelivered: VecDeque<TolerationSecondsInput>,
    pub(crate) stalled_until: i64,
    pub(crate) lost: Option<(bool, i64)>,
    pub(crate) is_clock_behind: bool,
    pub(crate) violation: Option<String>,
}

/// The pod's own seconds, held or not.
pub(crate) fn own_seconds(pod: &HeldPodFact) -> i64 {
    let held = match &pod.record {
        RecordState::Known(record) => record.tolerations().first().map(HeldToleration::own),
        RecordState::Guarded(record) => guarded_own(record, &pod.tolerations),
        RecordState::Absent | RecordState::Undecodable => None,
    };
    held.or(pod.tolerations[0].seconds).expect("own seconds")
}

/// The own seconds of a guarded pod, unless another writer changed them.
fn guarded_own(record: &GuardRecord, tolerations: &[Toleration]) -> Option<i64> {
    let held = record.tolerations().first()?;
    (held.given() == tolerations[0].seconds).then(|| held.own())
}

/// The seconds by which Taintward's own eviction judges a pod; `None`: it leaves the pod to upstream.
pub(crate) fn guarded_seconds(fact: &HeldPodFact) -> Option<i64> {
    let RecordState::Guarded(record) = &fact.record else { return None };
    let judged = PodFact {
        id: fact.id.clone(),
        node: fact.node.clone(),
        version: fact.version,
        tolerations: fact.tolerations.clone(),
        ..pod("")
    };
    guarded_pod(judged, Some(record))?.tolerations.iter().filter_map(|one| one.seconds).min()
}

fn name(node: usize) -> NodeName {
    NodeName::new(&format!("n{node}"))
}

impl TolerationSecondsHarness {
    pub(crate) fn new() -> Self {
        let pod = |at: usize| {
            let id = PodId::new(Uid::new(&format!("uid-{at}")), PodName::new("default", &format!("p{at}")));
            let fact = HeldPodFact {
                id,
                node: name(at / PODS_PER_NODE),
                version: Some(ResourceVersion(1)),
                tolerations: node_health_tolerations(Some(OWN), Some(OWN)),
                bound: None,
                record: RecordState::Absent,
                records: RecordAnnotations::default(),
                is_annotated: false,
                requested: None,
            };
            let original = OriginalController::default();
            HarnessPod { fact, original, gone_at: None, cleared_at: None, own: OWN }
        };
        let mut harness = Self {
            now: 0,
            version: 1,
            nodes: vec![(None, NodeHoldRequest::None); NODES],
            pods: (0..NODES * PODS_PER_NODE).map(pod).collect(),
            policy: Some(OWN),
            ceiling: None,
            engine: MonitoredEngine::new(TolerationSecondsEngine::default()),
            undelivered: VecDeque::new(),
            stalled_until: 0,
            lost: None,
            is_clock_behind: false,
            violation: None,
        };
        harness.crash();
        harness
    }

    fn node_fact(&self, node: usize) -> HoldNodeFact {
        let (silent_since, request) = self.nodes[node];
        let taints = silent_since.map(|since| taint(keys::UNREACHABLE).added(at(since)));
        let fact = testkit::node(name(node).as_str()).at_version(self.version).tainted(taints);
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

    /// Another process starts, with a list of everything.
    pub(crate) fn crash(&mut self) {
        let replaced = POLICIES
            .map(|seconds| DefaultSeconds { not_ready: seconds, unreachable: seconds }.into())
            .to_vec();
        self.engine = MonitoredEngine::new(TolerationSecondsEngine::new(
            Some(HoldSettings { limit: Some(LIMIT) }),
            Some(BackfillSettings { replaced, per_second: 20 }),
            Some(GuardSettings { per_second: 20 }),
        ));
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
        events.extend([
            TolerationSecondsInput::Namespaces(ObjectEvent::ListStarted { silent_since: None }),
            self.namespace_event(true),
            TolerationSecondsInput::Namespaces(ObjectEvent::ListCompleted),
            TolerationSecondsInput::Policies(ObjectEvent::ListStarted { silent_since: None }.into()),
            self.policy_event(true),
            TolerationSecondsInput::Policies(ObjectEvent::ListCompleted.into()),
        ]);
        listed(&mut events);
        events.into_iter().for_each(|event| self.engine.handle(event, now));
    }

    fn namespace_event(&self, listed: bool) -> TolerationSecondsInput {
        let labels = self.ceiling.iter().map(|ceiling| (CEILING_LABEL.into(), ceiling.to_string().into()));
        let facts = NamespaceFact { labels: labels.collect(), ..NamespaceFact::default() };
        let fact = SecondsNamespaceFact { name: "default".into(), facts };
        TolerationSecondsInput::Namespaces(ObjectEvent::Applied { fact, listed })
    }

    pub(crate) fn ceiling_becomes(&mut self, ceiling: Option<i64>) {
        self.ceiling = ceiling;
        self.undelivered.push_back(self.namespace_event(false));
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

    pub(crate) fn policy_becomes(&mut self, policy: Option<i64>) {
        self.version += 1;
        self.policy = policy;
        self.undelivered.push_back(self.policy_event(false));
    }

    pub(crate) fn node_changes(
        &mut self,
        node: usize,
        change: impl FnOnce(&mut (Option<i64>, NodeHoldRequest)),
    ) {
        self.version += 1;
        change(&mut self.nodes[node]);
        let fact = self.node_fact(node);
        self.undelivered
            .push_back(TolerationSecondsInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
    }

    pub(crate) fn pod_changed(&mut self, pod: usize) {
        self.version += 1;
        self.pods[pod].fact.version = Some(ResourceVersion(self.version));
        let fact = self.pods[pod].fact.clone();
        self.undelivered
            .push_back(TolerationSecondsInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }

    /// Carries out a JSON Patch that tests what it was decided by.
    fn carry_out(&mut self, patch: &SecondsPatch) -> Result<HeldPodFact, ApiFailure> {
        let found = self.pods.iter().position(|pod| pod.fact.id == patch.pod);
        let at = found.filter(|at| self.pods[*at].gone_at.is_none()).ok_or(ApiFailure::NotFound)?;
        let pod = &mut self.pods[at];
        let (fact, cleared_at) = (&mut pod.fact, &mut pod.cleared_at);
        if fact.tolerations != *patch.tolerations || fact.records != patch.records {
            return Err(ApiFailure::Conflict);
        }
        let is_hold = patch.purpose == PatchPurpose::Hold;
        let has_hold = |record: &PatchedRecord| matches!(record, PatchedRecord::Hold(_));
        if !is_hold && (matches!(fact.record, RecordState::Known(_)) || has_hold(&patch.write.record)) {
            self.violation = Some("a held pod was backfilled or guarded".to_owned());
        }
        for (position, seconds) in &patch.write.seconds {
            let before = fact.tolerations[*position].seconds;
            if before.is_some() && seconds.is_some() && before != *seconds && is_hold {
                self.violation = Some("seconds were changed directly".to_owned());
            }
            if seconds.is_none() {
                *cleared_at = Some(self.now);
            } else if cleared_at.is_some_and(|cleared| self.now < cleared + 4) {
                self.violation =
                    Some("seconds came back before kube-controller-manager saw them gone".to_owned());
            }
            fact.tolerations[*position].seconds = *seconds;
        }
        let (record, records) = match patch.write.record.clone() {
            PatchedRecord::None => (RecordState::Absent, RecordAnnotations::default()),
            PatchedRecord::Hold(record) => {
                (RecordState::Known(record.into()), RecordAnnotations { hold: true, guard: false })
            }
            PatchedRecord::Guard(record) => {
                (RecordState::Guarded(record.into()), RecordAnnotations { hold: false, guard: true })
            }
        };
        (fact.record, fact.records) = (record, records);
        if !is_hold {
            let own = own_seconds(fact);
            let is_silent = self.nodes[at / PODS_PER_NODE].0.is_some();
            pod.own = if is_silent { pod.own.min(own) } else { own };
        }
        self.pod_changed(at);
        Ok(self.pods[at].fact.clone())
    }

    pub(crate) fn run_engine(&mut self) {
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

    pub(crate) fn pass(&mut self, seconds: i64) {
        for _ in 0..seconds {
            self.run_engine();
            let is_process_up = self.now >= self.stalled_until;
            for at in 0..self.pods.len() {
                let silent_since = self.nodes[at / PODS_PER_NODE].0;
                let pod = &mut self.pods[at];
                if pod.gone_at.is_some() {
                    continue;
                }
                pod.original.check(silent_since.is_some(), &pod.fact.tolerations, self.now);
                let silent_for = silent_since.map(|since| self.now - since);
                let guarded = is_process_up.then(|| guarded_seconds(&pod.fact)).flatten();
                let is_due = silent_for.zip(guarded).is_some_and(|(silent, own)| own <= silent);
                if is_due || pod.original.evicts(self.now) {
                    pod.gone_at = Some(self.now);
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
