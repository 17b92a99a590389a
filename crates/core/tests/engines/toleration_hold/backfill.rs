//! Tests backfill in virtual time: its rate, what it waits for, and the progress it reports.

use crate::common::monitored::MonitoredEngine;
use taintward_core::admission::policy::{DefaultDurations, TolerationDuration, TolerationPolicy};
use taintward_core::admission::request::NamespaceFact;
use taintward_core::api_error::ApiFailure;
use taintward_core::engine::{Engine, Lane};
use taintward_core::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use taintward_core::node_lifecycle::{ZoneKey, ZoneLabels};
use taintward_core::object_event::{ObjectEvent, ObjectRef};
use taintward_core::testkit::{node, node_health_tolerations};
use taintward_core::time::{Mono, Now, Wall};
use taintward_core::toleration_seconds::{
    BackfillPolicyFact, BackfillProgress, BackfillSettings, HeldPodFact, HoldNodeFact, NodeHoldRequest,
    RecordAnnotations, RecordState, SecondsNamespaceFact, SecondsPatch, TolerationSecondsEffect,
    TolerationSecondsEngine, TolerationSecondsInput,
};
use taintward_core::toleration_seconds_monitor::TolerationSecondsMonitor;

type BackfillInput = TolerationSecondsInput;

struct BackfillCluster {
    engine: MonitoredEngine<TolerationSecondsMonitor>,
    millis: i64,
    pods: Vec<HeldPodFact>,
    /// Each status that was written.
    reported: Vec<BackfillProgress>,
    /// The error of patches.
    rejects: Option<ApiFailure>,
}

fn held_pod(at: usize) -> HeldPodFact {
    HeldPodFact {
        id: PodId::new(Uid::new(&format!("uid-{at}")), PodName::new("shop", &format!("p{at}"))),
        node: NodeName::new("n"),
        version: Some(ResourceVersion(1)),
        tolerations: node_health_tolerations(Some(300), Some(300)),
        bound: None,
        record: RecordState::Absent,
        records: RecordAnnotations::default(),
        is_annotated: false,
        requested: None,
    }
}

fn policy(seconds: i64) -> BackfillPolicyFact {
    let stay = Some(TolerationDuration::For(seconds));
    let policy = TolerationPolicy {
        name: "patient".into(),
        not_ready: stay,
        unreachable: stay,
        ..TolerationPolicy::default()
    };
    BackfillPolicyFact {
        uid: Uid::new("policy"),
        version: Some(ResourceVersion(1)),
        generation: 1,
        policy,
        progress: None,
    }
}

/// The events of a list.
fn list<F>(
    facts: impl IntoIterator<Item = F>,
    input: impl Fn(ObjectEvent<F>) -> BackfillInput,
) -> Vec<BackfillInput> {
    let mut events = vec![input(ObjectEvent::ListStarted { silent_since: None })];
    events.extend(facts.into_iter().map(|fact| input(ObjectEvent::Applied { fact, listed: true })));
    events.push(input(ObjectEvent::ListCompleted));
    events
}

impl BackfillCluster {
    fn new(pods: usize, per_second: u32) -> Self {
        let settings = BackfillSettings { replaced: vec![DefaultDurations::default()], per_second };
        let mut cluster = Self {
            engine: MonitoredEngine::new(TolerationSecondsEngine::new(None, Some(settings), None)),
            millis: 0,
            pods: (0..pods).map(held_pod).collect(),
            reported: Vec::new(),
            rejects: None,
        };
        let node = node("n").at_version(1);
        let node = HoldNodeFact::new(&node, ZoneKey::of(ZoneLabels::default()), NodeHoldRequest::None);
        cluster.receive(list([node], BackfillInput::Nodes));
        cluster.receive(list(cluster.pods.clone(), BackfillInput::Pods));
        cluster
    }

    fn receive(&mut self, events: Vec<BackfillInput>) {
        let now = self.now();
        events.into_iter().for_each(|event| self.engine.handle(event, now));
    }

    fn lists_of_backfill(&mut self) {
        self.receive(list([policy(600)], |event| BackfillInput::Policies(event.into())));
        let namespace = SecondsNamespaceFact { name: "shop".into(), facts: NamespaceFact::default() };
        self.receive(list([namespace], BackfillInput::Namespaces));
    }

    fn now(&self) -> Now {
        let micros = self.millis * 1_000;
        Now::exact(Mono::from_micros(micros), Wall::from_micros(1_800_000_000_000_000 + micros))
    }

    fn carry_out(&mut self, patch: &SecondsPatch) -> Result<HeldPodFact, ApiFailure> {
        if let Some(failure) = self.rejects {
            return Err(failure);
        }
        let pod = self.pods.iter_mut().find(|pod| pod.id == patch.pod).expect("the pod");
        assert_eq!(*patch.tolerations, pod.tolerations);
        for (at, seconds) in &patch.write.seconds {
            pod.tolerations[*at].seconds = *seconds;
        }
        Ok(pod.clone())
    }

    /// Lets time pass. Returns how many patches were sent.
    fn pass(&mut self, millis: i64) -> usize {
        let (end, mut patches) = (self.millis + millis, 0);
        while self.millis < end {
            self.millis += 1;
            let now = self.now();
            self.engine.tick(now.mono);
            while let Some(effect) = self.engine.next_effect(Lane::All, now) {
                let response = match effect {
                    TolerationSecondsEffect::PatchPod(patch) => {
                        patches += 1;
                        let result = self.carry_out(&patch);
                        BackfillInput::PatchDone { patch, result }
                    }
                    TolerationSecondsEffect::WriteStatus(write) => {
                        self.reported.push(write.progress);
                        BackfillInput::StatusDone { write, result: Ok(()) }
                    }
                };
                self.engine.handle(response, now);
                self.engine.tick(now.mono);
            }
        }
        patches
    }

    fn patched(&self) -> usize {
        self.pods.iter().filter(|pod| pod.tolerations.iter().all(|one| one.seconds == Some(600))).count()
    }
}

#[test]
fn a_bounded_number_a_second_and_none_before_everything_is_listed() {
    let mut cluster = BackfillCluster::new(100, 20);
    assert_eq!(cluster.pass(5_000), 0, "namespaces and policies are unknown");
    assert!(!cluster.engine.is_synced());
    cluster.lists_of_backfill();
    assert!(cluster.engine.is_synced());
    assert_eq!(cluster.pass(1), 1);
    assert_eq!(cluster.pass(999), 19);
    assert_eq!((cluster.patched(), cluster.engine.stats().backfill_pending), (20, 80));
    assert_eq!(cluster.pass(4_000), 80);
    assert_eq!((cluster.patched(), cluster.engine.stats().backfill_pending), (100, 0));
    assert_eq!(cluster.pass(60_000), 0);
    let progress = |current, pending| BackfillProgress { generation: 1, current, pending, own: 0 };
    assert_eq!(cluster.reported.first(), Some(&progress(0, 100)));
    assert_eq!(cluster.reported.last(), Some(&progress(100, 0)));
    assert!(cluster.reported.len() <= 3, "{:?}", cluster.reported);
}

#[test]
fn a_policy_that_cannot_be_decoded_stops_backfill_until_it_is_corrected() {
    let mut cluster = BackfillCluster::new(10, 1);
    cluster.lists_of_backfill();
    assert_eq!(cluster.pass(3_000), 3);
    let garbled = ObjectRef { name: "another".into(), ..ObjectRef::default() };
    cluster.receive(vec![BackfillInput::Policies(ObjectEvent::Undecodable(garbled.clone()).into())]);
    assert_eq!(cluster.pass(30_000), 0);
    // A list that still contains it changes nothing; one without it does.
    let mut still = list([policy(600)], |event| BackfillInput::Policies(event.into()));
    still.insert(1, BackfillInput::Policies(ObjectEvent::Undecodable(garbled).into()));
    cluster.receive(still);
    assert_eq!(cluster.pass(30_000), 0);
    cluster.receive(list([policy(600)], |event| BackfillInput::Policies(event.into())));
    assert_eq!(cluster.pass(10_000), 7);
    assert_eq!(cluster.patched(), 10);
}

#[test]
fn refused_patches_are_retried_after_growing_pauses() {
    let mut cluster = BackfillCluster::new(5, 1_000);
    cluster.lists_of_backfill();
    cluster.rejects = Some(ApiFailure::Rejected);
    let first = cluster.pass(1_000);
    let later = cluster.pass(60_000);
    assert!((5..=50).contains(&first) && later <= 5 * 20, "{first} in a second, {later} in the minute after");
    assert!(later > 0, "tried again");
    cluster.rejects = None;
    cluster.pass(120_000);
    assert_eq!((cluster.patched(), cluster.engine.stats().waiting), (5, 0));
}

#[test]
fn a_changed_namespace_is_checked_again() {
    let mut cluster = BackfillCluster::new(3, 100);
    cluster.lists_of_backfill();
    cluster.pass(1_000);
    assert_eq!(cluster.patched(), 3);
    let mut facts = NamespaceFact::default();
    (facts.requested.not_ready, facts.requested.unreachable) = (Some("300".into()), Some("300".into()));
    let namespace = SecondsNamespaceFact { name: "shop".into(), facts };
    cluster.receive(vec![BackfillInput::Namespaces(ObjectEvent::Applied { fact: namespace, listed: false })]);
    // 600 is not one of the seconds that may be replaced.
    assert_eq!(cluster.pass(10_000), 0);
    assert_eq!(
        cluster.reported.last(),
        Some(&BackfillProgress { generation: 1, current: 0, pending: 0, own: 3 })
    );
}
