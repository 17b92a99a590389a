//! Drives the engine step by step: a test delivers each event, pulls from a lane, and answers each request when it
//! likes. The pods are what an API server would have: a patch that is carried out changes them.

use crate::common::monitored::MonitoredEngine;
use crate::toleration_hold::harness::at;
use taintward_core::admission::policy::{DefaultDurations, TolerationDuration, TolerationPolicy};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ZoneKey, ZoneLabels};
use taintward_core::node_limit::NodeLimit;
use taintward_core::object_event::ObjectEvent;
use taintward_core::testkit::node_health_tolerations;
use taintward_core::time::{Mono, Now, Span, Wall};
use taintward_core::toleration_guard::CEILING_LABEL;
use taintward_core::toleration_seconds::{
    BackfillPolicyFact, BackfillSettings, GuardSettings, HeldPodFact, HoldLimit, HoldNodeFact, HoldSettings,
    NodeHoldRequest, PatchedRecord, RecordAnnotations, RecordState, SecondsNamespaceFact, SecondsPatch,
    TolerationSecondsEffect, TolerationSecondsEngine, TolerationSecondsInput,
};
use taintward_core::toleration_seconds_monitor::TolerationSecondsMonitor;

pub(crate) type ScriptInput = TolerationSecondsInput;

/// A pod's own seconds before backfill.
pub(crate) const DEFAULT: i64 = 300;

/// What the engine does, and with which settings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Settings {
    pub(crate) hold: Option<HoldSettings>,
    /// Patches per second.
    pub(crate) backfill: Option<u32>,
    pub(crate) guard: Option<u32>,
}

/// Holds by the administrator only.
pub(crate) const BY_PERSON: Option<HoldSettings> = Some(HoldSettings { limit: None });

/// Holds the pods of silent nodes for ten minutes if more than so many are silent.
pub(crate) const fn by_limit(nodes: u32) -> Option<HoldSettings> {
    Some(HoldSettings {
        limit: Some(HoldLimit {
            silent: NodeLimit { nodes: Some(nodes), percent: None },
            hold_for: Span::from_secs(600),
        }),
    })
}

pub(crate) fn hold(since: i64, until: i64) -> NodeHoldRequest {
    NodeHoldRequest::Hold { since: at(since), until: at(until) }
}

/// A node of the zone that its name begins with. `silent`: since which second its taint says so; `Some(None)`: the taint
/// has no time.
pub(crate) fn hold_node(
    name: &str,
    version: u64,
    silent: Option<Option<i64>>,
    request: NodeHoldRequest,
) -> HoldNodeFact {
    HoldNodeFact {
        name: NodeName::new(name),
        uid: Uid::new(&format!("uid-{name}")),
        version: Some(ResourceVersion(version)),
        zone: ZoneKey::of(ZoneLabels { zone: name.get(..1), ..ZoneLabels::default() }),
        is_silent: silent.is_some(),
        silent_since: silent.flatten().map(at),
        request,
    }
}

pub(crate) fn held_pod(uid: &str, node: &str, version: u64) -> HeldPodFact {
    HeldPodFact {
        id: PodId::new(Uid::new(uid), PodName::new("shop", uid)),
        node: NodeName::new(node),
        version: Some(ResourceVersion(version)),
        tolerations: node_health_tolerations(Some(DEFAULT), Some(DEFAULT)),
        bound: Some(at(-1_000)),
        record: RecordState::Absent,
        records: RecordAnnotations::default(),
        is_annotated: false,
        requested: None,
    }
}

/// The events of a list.
pub(crate) fn list<F>(
    facts: impl IntoIterator<Item = F>,
    input: impl Fn(ObjectEvent<F>) -> ScriptInput,
) -> Vec<ScriptInput> {
    let mut events = vec![input(ObjectEvent::ListStarted { silent_since: None })];
    events.extend(facts.into_iter().map(|fact| input(ObjectEvent::Applied { fact, listed: true })));
    events.push(input(ObjectEvent::ListCompleted));
    events
}

pub(crate) fn policies(event: ObjectEvent<BackfillPolicyFact>) -> ScriptInput {
    ScriptInput::Policies(event.into())
}

/// A policy for all namespaces.
pub(crate) fn policy(seconds: i64, version: u64) -> BackfillPolicyFact {
    let stay = Some(TolerationDuration::For(seconds));
    let policy = TolerationPolicy {
        name: "policy".into(),
        not_ready: stay,
        unreachable: stay,
        ..TolerationPolicy::default()
    };
    let (uid, version) = (Uid::new("policy"), Some(ResourceVersion(version)));
    BackfillPolicyFact { uid, version, generation: 1, policy, progress: None }
}

/// The namespace of all pods.
pub(crate) fn namespace(ceiling: Option<i64>) -> SecondsNamespaceFact {
    let labels = ceiling.iter().map(|ceiling| (CEILING_LABEL.into(), ceiling.to_string().into())).collect();
    SecondsNamespaceFact { name: "shop".into(), facts: NamespaceFact { labels, ..NamespaceFact::default() } }
}

pub(crate) fn is_held(pod: &HeldPodFact) -> bool {
    pod.tolerations.iter().all(|one| one.seconds.is_none())
}

pub(crate) struct HoldScript {
    pub(crate) engine: MonitoredEngine<TolerationSecondsMonitor>,
    pub(crate) millis: i64,
    pub(crate) version: u64,
    /// The API server's pods.
    pub(crate) pods: Vec<HeldPodFact>,
}

impl HoldScript {
    /// An engine that has listed these objects, and the namespace and the policy if it needs them.
    pub(crate) fn new(settings: Settings, nodes: Vec<HoldNodeFact>, pods: Vec<HeldPodFact>) -> Self {
        let mut script = Self {
            engine: MonitoredEngine::new(TolerationSecondsEngine::default()),
            millis: 0,
            version: 1_000,
            pods: Vec::new(),
        };
        script.start(settings, nodes, pods, (600, settings.guard.map(|_| 3_600)));
        script
    }

    /// A process starts, with a list of everything.
    pub(crate) fn start(
        &mut self,
        settings: Settings,
        nodes: Vec<HoldNodeFact>,
        pods: Vec<HeldPodFact>,
        (seconds, ceiling): (i64, Option<i64>),
    ) {
        let replaced = [DEFAULT, 60, 90].map(|seconds| {
            let stay = TolerationDuration::For(seconds);
            DefaultDurations { not_ready: stay, unreachable: stay }
        });
        let backfill =
            settings.backfill.map(|per_second| BackfillSettings { replaced: replaced.into(), per_second });
        let guard = settings.guard.map(|per_second| GuardSettings { per_second });
        self.engine = MonitoredEngine::new(TolerationSecondsEngine::new(settings.hold, backfill, guard));
        self.pods.clone_from(&pods);
        let mut events = list([namespace(ceiling)], ScriptInput::Namespaces);
        events.extend(list([policy(seconds, self.version)], policies));
        events.extend(list(nodes, ScriptInput::Nodes));
        events.extend(list(pods, ScriptInput::Pods));
        events.into_iter().for_each(|event| self.receive(event));
    }

    pub(crate) fn now(&self) -> Now {
        let micros = self.millis * 1_000;
        Now::exact(Mono::from_micros(micros), at(0).plus(Span::from_micros(micros)))
    }

    pub(crate) fn wall(&self) -> Wall {
        self.now().wall
    }

    pub(crate) fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    pub(crate) fn receive(&mut self, input: ScriptInput) {
        let now = self.now();
        self.engine.handle(input, now);
        self.engine.tick(now.mono);
    }

    pub(crate) fn receive_all(&mut self, inputs: Vec<ScriptInput>) {
        inputs.into_iter().for_each(|input| self.receive(input));
    }

    /// A watch event of a node.
    pub(crate) fn observe_node(&mut self, name: &str, silent: Option<Option<i64>>, request: NodeHoldRequest) {
        let fact = hold_node(name, self.next_version(), silent, request);
        self.receive(ScriptInput::Nodes(ObjectEvent::Applied { fact, listed: false }));
    }

    /// A watch event of a pod, as the API server has it.
    pub(crate) fn observe_pod(&mut self, fact: HeldPodFact) {
        self.pods.retain(|pod| pod.id != fact.id);
        self.pods.push(fact.clone());
        self.receive(ScriptInput::Pods(ObjectEvent::Applied { fact, listed: false }));
    }

    pub(crate) fn pass(&mut self, millis: i64) {
        self.millis += millis;
        let now = self.now();
        self.engine.tick(now.mono);
    }

    /// Pulls the next patch; the status of policies is written immediately.
    pub(crate) fn pull(&mut self, lane: Lane) -> Option<SecondsPatch> {
        let now = self.now();
        loop {
            match self.engine.next_effect(lane, now)? {
                TolerationSecondsEffect::PatchPod(patch) => return Some(*patch),
                TolerationSecondsEffect::WriteStatus(write) => {
                    self.engine.handle(ScriptInput::StatusDone { write, result: Ok(()) }, now);
                }
            }
        }
    }

    /// The API server carries out a patch: a JSON Patch that tests what it was decided by.
    pub(crate) fn carry_out(&mut self, patch: &SecondsPatch) -> Result<HeldPodFact, ApiFailure> {
        let version = self.next_version();
        let pod = self.pods.iter_mut().find(|pod| pod.id == patch.pod).ok_or(ApiFailure::NotFound)?;
        if pod.tolerations != *patch.tolerations || pod.records != patch.records {
            return Err(ApiFailure::Conflict);
        }
        for (position, seconds) in &patch.write.seconds {
            pod.tolerations[*position].seconds = *seconds;
        }
        let (hold, guard) = (true, true);
        (pod.record, pod.records) = match patch.write.record.clone() {
            PatchedRecord::None => (RecordState::Absent, RecordAnnotations::default()),
            PatchedRecord::Hold(record) => {
                (RecordState::Known(record.into()), RecordAnnotations { hold, guard: false })
            }
            PatchedRecord::Guard(record) => {
                (RecordState::Guarded(record.into()), RecordAnnotations { hold: false, guard })
            }
        };
        pod.version = Some(ResourceVersion(version));
        Ok(pod.clone())
    }

    pub(crate) fn response(&mut self, patch: SecondsPatch, result: Result<HeldPodFact, ApiFailure>) {
        self.receive(ScriptInput::PatchDone { patch: Box::new(patch), result });
    }

    /// Pulls and carries out patches until there is none. Returns how many.
    pub(crate) fn settle(&mut self) -> usize {
        let mut patches = 0;
        while let Some(patch) = self.pull(Lane::All) {
            let result = self.carry_out(&patch);
            self.response(patch, result);
            patches += 1;
        }
        patches
    }

    /// The names of the held pods, in order.
    pub(crate) fn held(&self) -> Vec<&str> {
        let held = self.pods.iter().filter(|pod| is_held(pod));
        let mut names: Vec<&str> = held.map(|pod| pod.id.name().name()).collect();
        names.sort_unstable();
        names
    }
}
