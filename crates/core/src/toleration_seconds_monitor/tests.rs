//! Tests each property both ways: with a history that holds it, and with one that violates it.

mod own_seconds;

use super::TolerationSecondsMonitor;
use crate::admission::policy::{TolerationDuration, TolerationPolicy};
use crate::admission::request::NamespaceFact;
use crate::api_error::ApiFailure;
use crate::engine_monitor::EngineMonitor as _;
use crate::identity::{NodeName, PodId, PodName, ResourceVersion, Uid};
use crate::node_lifecycle::{ZoneKey, ZoneLabels};
use crate::object_event::{ObjectEvent, ObjectRef};
use crate::testkit::{node_health_tolerations, toleration};
use crate::time::{Mono, Now, Span, Wall};
use crate::toleration::{SecondsChanges, Toleration};
use crate::toleration_guard::GuardRecord;
use crate::toleration_hold::{HeldToleration, HoldOrder, HoldOrigin, HoldRecord};
use crate::toleration_seconds::{
    BackfillPolicyFact, BackfillSettings, GuardSettings, HeldPodFact, HoldNodeFact, HoldSettings,
    NodeHoldRequest, PatchPurpose, PatchedRecord, RecordAnnotations, RecordState, SecondsNamespaceFact,
    SecondsPatch, SecondsWrite, TolerationSecondsEffect, TolerationSecondsEngine, TolerationSecondsInput,
};
use alloc::format;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

fn wall(second: i64) -> Wall {
    Wall::from_secs(1_800_000_000 + second)
}

fn at(second: i64) -> Now {
    Now::exact(Mono::from_secs(second), wall(second))
}

/// Node `n1`, and pod `p`, which tolerates both taints for 300 s, and `team` without a limit.
#[derive(Clone)]
struct PatchHistory {
    monitor: TolerationSecondsMonitor,
    pod: HeldPodFact,
}

fn own() -> Vec<Toleration> {
    [node_health_tolerations(Some(300), Some(300)), vec![toleration("team", None)]].concat()
}

fn with_seconds(seconds: Option<i64>) -> Vec<Toleration> {
    [node_health_tolerations(seconds, seconds), vec![toleration("team", None)]].concat()
}

/// The record of a hold from second 100 to 400: both tolerations have these seconds, and their countdown ran for so long.
fn hold(given: Option<i64>, ran: i64) -> HoldRecord {
    let order = HoldOrder { origin: HoldOrigin::Person, since: wall(100), until: wall(400) };
    let held = own().iter().take(2).filter_map(|one| HeldToleration::recorded(one, given)).collect();
    let order = given.is_none().then_some(order);
    HoldRecord::recorded(held, order, wall(100), Span::from_secs(ran), Some(wall(40)))
}

fn guard(ceiling: i64) -> GuardRecord {
    let held = own().iter().take(2).filter_map(|one| HeldToleration::recorded(one, Some(ceiling))).collect();
    GuardRecord::recorded(held).unwrap()
}

fn both(seconds: Option<i64>) -> SecondsChanges {
    vec![(0, seconds), (1, seconds)]
}

fn hold_node(uid: &str, version: u64, silent_since: Option<Wall>) -> HoldNodeFact {
    HoldNodeFact {
        name: NodeName::new("n1"),
        uid: Uid::new(uid),
        version: Some(ResourceVersion(version)),
        zone: ZoneKey::of(ZoneLabels::default()),
        is_silent: silent_since.is_some(),
        silent_since,
        request: NodeHoldRequest::None,
    }
}

impl PatchHistory {
    /// Both are listed in second 0.
    fn new() -> Self {
        let engine = TolerationSecondsEngine::new(
            Some(HoldSettings::default()),
            Some(BackfillSettings::default()),
            Some(GuardSettings::default()),
        );
        Self::of(TolerationSecondsMonitor::of(&engine))
    }

    fn of(monitor: TolerationSecondsMonitor) -> Self {
        let pod = HeldPodFact {
            id: PodId::new(Uid::new("uid-p"), PodName::new("shop", "p")),
            node: NodeName::new("n1"),
            version: Some(ResourceVersion(5)),
            tolerations: own(),
            bound: Some(wall(-100)),
            record: RecordState::Absent,
            records: RecordAnnotations::default(),
            is_annotated: false,
            requested: None,
        };
        let mut history = Self { monitor, pod };
        let namespace = SecondsNamespaceFact { name: "shop".into(), facts: NamespaceFact::default() };
        history.list(TolerationSecondsInput::Namespaces, Some(namespace));
        history.list(TolerationSecondsInput::Nodes, Some(hold_node("uid-n1", 1, None)));
        history.list(TolerationSecondsInput::Pods, Some(history.pod.clone()));
        history
    }

    /// The node is silent since second 40, and the pod is held since second 100.
    fn held() -> Self {
        let mut history = Self::new();
        history.silent_since(40);
        history.change(with_seconds(None), RecordState::Known(hold(None, 59).into()), 100);
        history
    }

    fn list<F>(&mut self, input: impl Fn(ObjectEvent<F>) -> TolerationSecondsInput, fact: Option<F>) {
        self.input(input(ObjectEvent::ListStarted { silent_since: None }), 0);
        fact.into_iter().for_each(|fact| self.input(input(ObjectEvent::Applied { fact, listed: true }), 0));
        self.input(input(ObjectEvent::ListCompleted), 0);
    }

    fn input(&mut self, input: TolerationSecondsInput, second: i64) {
        self.monitor.input(&input, at(second));
    }

    fn node(&mut self, fact: HoldNodeFact, second: i64) {
        self.input(TolerationSecondsInput::Nodes(ObjectEvent::Applied { fact, listed: false }), second);
    }

    fn silent_since(&mut self, second: i64) {
        self.node(hold_node("uid-n1", 2, Some(wall(second))), second);
    }

    /// Another writer changes the pod.
    fn change(&mut self, tolerations: Vec<Toleration>, record: RecordState, second: i64) {
        let version = self.pod.version.map(|version| ResourceVersion(version.0 + 1));
        self.pod = HeldPodFact { version, tolerations, record, ..self.pod.clone() };
        let fact = self.pod.clone();
        self.input(TolerationSecondsInput::Pods(ObjectEvent::Applied { fact, listed: false }), second);
    }

    fn patch(&self, purpose: PatchPurpose, seconds: SecondsChanges, record: PatchedRecord) -> SecondsPatch {
        SecondsPatch {
            pod: self.pod.id.clone(),
            node: self.pod.node.clone(),
            tolerations: self.pod.tolerations.clone().into(),
            is_annotated: true,
            records: self.pod.records,
            write: SecondsWrite { seconds, record },
            purpose,
            is_contested: false,
        }
    }

    fn sent(&mut self, patch: SecondsPatch, second: i64) -> Option<String> {
        let effect = TolerationSecondsEffect::PatchPod(patch.into());
        let violation = self.monitor.effect(&effect, at(second)).err()?;
        Some(format!("{violation}").replace("pod shop/p (UID uid-p) on node n1: ", ""))
    }

    fn violated(&self, patch: SecondsPatch, second: i64) -> Option<String> {
        self.clone().sent(patch, second)
    }

    /// What a hold violates that begins in second 100.
    fn hold_violates(&self) -> Option<String> {
        self.violated(self.patch(PatchPurpose::Hold, both(None), PatchedRecord::Hold(hold(None, 59))), 100)
    }

    /// What a release in second 400 violates that gives these seconds.
    fn release_violates(&self, given: i64, ran: i64) -> Option<String> {
        let record = PatchedRecord::Hold(hold(Some(given), ran));
        self.violated(self.patch(PatchPurpose::Hold, both(Some(given)), record), 400)
    }

    /// The property that is violated while the engine is called every five seconds, and has nothing to do.
    fn idle_until(&mut self, from: i64, until: i64) -> Option<(&'static str, i64)> {
        let mut calls = (from..=until).step_by(5);
        calls.find_map(|second| Some((self.monitor.idle(at(second)).err()?.property.id(), second)))
    }
}

#[test]
fn s1_the_right_pod_with_the_tolerations_that_were_observed() {
    let mut history = PatchHistory::new();
    history.silent_since(40);
    assert_eq!(history.hold_violates(), None);
    let patch = history.patch(PatchPurpose::Hold, both(None), PatchedRecord::Hold(hold(None, 59)));
    let violated =
        |patch: SecondsPatch| history.violated(patch, 100).map(|text| text.get(..2).unwrap().into());
    let s1 = Some(String::from("S1"));
    let other = PodId::new(Uid::new("uid-p"), PodName::new("shop", "other"));
    assert_eq!(violated(SecondsPatch { pod: other, ..patch.clone() }), s1);
    assert_eq!(violated(SecondsPatch { node: NodeName::new("n2"), ..patch.clone() }), s1);
    let tolerations = with_seconds(Some(200)).into();
    assert_eq!(violated(SecondsPatch { tolerations, ..patch.clone() }), s1);
    let unknown = PodId::new(Uid::new("uid-q"), PodName::new("shop", "p"));
    assert_eq!(violated(SecondsPatch { pod: unknown, ..patch.clone() }), s1);
    let write = SecondsWrite { seconds: vec![(9, None)], ..patch.write.clone() };
    assert_eq!(violated(SecondsPatch { write, ..patch.clone() }), s1);

    let mut gone = history.clone();
    let object = ObjectRef::pod(Uid::new("uid-p"), Some(NodeName::new("n1")));
    gone.input(TolerationSecondsInput::Pods(ObjectEvent::Deleted(object)), 50);
    assert_eq!(gone.hold_violates().as_deref(), Some("S1: no event has shown such a pod"));
    let result = Ok(history.pod.clone());
    gone.input(TolerationSecondsInput::PatchDone { patch: patch.clone().into(), result }, 60);
    assert_eq!(gone.hold_violates().as_deref(), Some("S1: no event has shown such a pod"));
    let mut unlisted = history.clone();
    unlisted.list(TolerationSecondsInput::Pods, None);
    assert_eq!(unlisted.hold_violates().as_deref(), Some("S1: no event has shown such a pod"));
    let mut not_found = history.clone();
    let input = TolerationSecondsInput::PatchDone { patch: patch.into(), result: Err(ApiFailure::NotFound) };
    not_found.input(input, 50);
    assert_eq!(not_found.hold_violates().as_deref(), Some("S1: no event has shown such a pod"));
}

#[test]
fn s1_an_older_event_changes_nothing_and_a_list_does() {
    let mut history = PatchHistory::new();
    let fact =
        HeldPodFact { tolerations: Vec::new(), version: Some(ResourceVersion(4)), ..history.pod.clone() };
    let older = |listed| TolerationSecondsInput::Pods(ObjectEvent::Applied { fact: fact.clone(), listed });
    history.input(older(false), 10);
    assert_eq!(history.hold_violates(), None);
    history.input(older(true), 10);
    let reason = "S1: the pod has other tolerations than the request requires";
    assert_eq!(history.hold_violates().as_deref(), Some(reason));
}

#[test]
fn s3_an_older_event_of_a_node_changes_nothing_and_a_list_does() {
    let mut history = PatchHistory::new();
    let is_silent = |history: &PatchHistory| {
        let patch = history.patch(PatchPurpose::Backfill, both(Some(60)), PatchedRecord::None);
        history.violated(patch, 100).is_some()
    };
    history.silent_since(40);
    history.node(hold_node("uid-n1", 1, None), 50);
    assert!(is_silent(&history));
    let mut newer = history.clone();
    newer.node(hold_node("uid-n1", 3, None), 50);
    assert!(!is_silent(&newer));
    history.list(TolerationSecondsInput::Nodes, Some(hold_node("uid-n1", 1, None)));
    assert!(!is_silent(&history), "the store was restored");
}

#[test]
fn s3_a_release_gives_at_least_what_remains() {
    let history = PatchHistory::held();
    assert_eq!(history.release_violates(241, 59), None);
    assert_eq!(history.release_violates(300, 59), None);
    let reason = |given: i64| {
        Some(format!(
            "S3: its toleration of node.kubernetes.io/not-ready would get {given} s, and 241 s remain"
        ))
    };
    assert_eq!(history.release_violates(240, 59), reason(240));
    // Another taint instance: nothing of it has run.
    let mut again = history.clone();
    again.node(hold_node("uid-n1", 3, Some(wall(390))), 390);
    assert!(again.release_violates(299, 0).unwrap().ends_with("299 s, and 300 s remain"));
    assert_eq!(again.release_violates(300, 0), None);
    // The node is not silent.
    let mut recovered = history;
    recovered.node(hold_node("uid-n1", 3, None), 390);
    assert!(recovered.release_violates(299, 59).unwrap().ends_with("299 s, and 300 s remain"));
}

#[test]
fn s3_at_least_thirty_seconds_remain_unless_its_own_are_fewer() {
    let mut history = PatchHistory::held();
    history.change(with_seconds(None), RecordState::Known(hold(None, 290).into()), 110);
    assert_eq!(history.release_violates(30, 290), None);
    assert!(history.release_violates(29, 290).unwrap().ends_with("29 s, and 30 s remain"));
}

#[test]
fn s3_a_countdown_counts_from_the_taint() {
    let mut history = PatchHistory::new();
    history.silent_since(40);
    let ran = |seconds| {
        let record = PatchedRecord::Hold(hold(None, seconds));
        history.violated(history.patch(PatchPurpose::Hold, both(None), record), 100)
    };
    assert_eq!(ran(61), None, "a time of the API may be a second later");
    let reason = "S3: its countdown would count as 62.0 s, and ran for at most 61.0 s";
    assert_eq!(ran(62).as_deref(), Some(reason));
    // While the pod is held, nothing runs.
    let held = PatchHistory::held();
    let again = |ran| held.patch(PatchPurpose::Hold, Vec::new(), PatchedRecord::Hold(hold(None, ran)));
    assert_eq!(held.violated(again(60), 100), None);
    assert!(held.violated(again(61), 100).unwrap().contains("at most 60.0 s"));
}

#[test]
fn s3_a_toleration_without_a_limit_gets_none() {
    let history = PatchHistory::new();
    let patch = history.patch(PatchPurpose::Hold, vec![(2, Some(600))], PatchedRecord::None);
    let reason = "S3: its toleration of team was without a limit, and would be 600 s for good";
    assert_eq!(history.violated(patch, 100).as_deref(), Some(reason));
    let patch = history.patch(PatchPurpose::Backfill, vec![(2, Some(600))], PatchedRecord::None);
    assert_eq!(history.violated(patch, 100).as_deref(), Some(reason));
}

#[test]
fn s3_backfill_and_the_guard_do_not_shorten_a_countdown_that_runs() {
    let mut history = PatchHistory::new();
    let backfill = |history: &PatchHistory| {
        let patch = history.patch(PatchPurpose::Backfill, both(Some(60)), PatchedRecord::None);
        history.violated(patch, 100)
    };
    let guarded = |history: &PatchHistory| {
        let patch = history.patch(PatchPurpose::Guard, both(Some(600)), PatchedRecord::Guard(guard(600)));
        history.violated(patch, 100)
    };
    assert_eq!((backfill(&history), guarded(&history)), (None, None));
    history.silent_since(40);
    let reason = "S3: its node is silent, and its toleration of node.kubernetes.io/not-ready would change";
    assert_eq!(backfill(&history).as_deref(), Some(reason));
    assert_eq!(guarded(&history).as_deref(), Some(reason));
}

#[test]
fn s11_nothing_changes_on_a_node_that_cannot_be_decoded() {
    let mut history = PatchHistory::new();
    let node = || ObjectRef::node(&NodeName::new("n1"), None);
    history.input(TolerationSecondsInput::Nodes(ObjectEvent::Undecodable(node())), 10);
    let reason = "S11: its node is unknown, or cannot be decoded";
    assert_eq!(history.hold_violates().as_deref(), Some(reason));
    history.silent_since(40);
    assert_eq!(history.hold_violates(), None);
    let other = ObjectRef::node(&NodeName::new("n1"), Some(Uid::new("earlier")));
    history.input(TolerationSecondsInput::Nodes(ObjectEvent::Deleted(other)), 50);
    assert_eq!(history.hold_violates(), None, "another node of the same name was deleted");
    history.input(TolerationSecondsInput::Nodes(ObjectEvent::Deleted(node())), 50);
    assert_eq!(history.hold_violates().as_deref(), Some(reason));
}

#[test]
fn s11_nothing_changes_by_a_record_a_policy_or_a_namespace_that_cannot_be_decoded() {
    let mut history = PatchHistory::new();
    let backfill = |history: &PatchHistory| {
        let patch = history.patch(PatchPurpose::Backfill, both(Some(600)), PatchedRecord::None);
        history.violated(patch, 100)
    };
    assert_eq!(backfill(&history), None);
    let named = |name: &str| ObjectRef { name: name.into(), ..ObjectRef::default() };
    let mut policies = history.clone();
    policies.input(TolerationSecondsInput::Policies(ObjectEvent::Undecodable(named("gold")).into()), 10);
    let reason = "S11: policy gold cannot be decoded, and may be the one for its namespace";
    assert_eq!(backfill(&policies).as_deref(), Some(reason));
    let stay = Some(TolerationDuration::For(600));
    let policy = TolerationPolicy { name: "gold".into(), not_ready: stay, ..TolerationPolicy::default() };
    let fact =
        BackfillPolicyFact { uid: Uid::new("gold"), version: None, generation: 1, policy, progress: None };
    policies.input(TolerationSecondsInput::Policies(ObjectEvent::Applied { fact, listed: false }.into()), 20);
    assert_eq!(backfill(&policies), None);

    let mut namespaces = history.clone();
    namespaces.input(TolerationSecondsInput::Namespaces(ObjectEvent::Undecodable(named("shop"))), 10);
    let reason = "S11: its namespace shop is unknown, or cannot be decoded";
    assert_eq!(backfill(&namespaces).as_deref(), Some(reason));

    history.change(own(), RecordState::Undecodable, 10);
    assert_eq!(history.hold_violates().as_deref(), Some("S11: its record cannot be decoded"));
}

#[test]
fn a_monitor_that_begins_in_the_middle_reports_only_what_it_knows() {
    let monitor = TolerationSecondsMonitor { holds: true, ..TolerationSecondsMonitor::default() };
    let pod = PatchHistory::new().pod;
    let unknown = PatchHistory { monitor, pod };
    assert_eq!(unknown.hold_violates(), None);
    let mut known = unknown.clone();
    let fact = known.pod.clone();
    known.input(TolerationSecondsInput::Pods(ObjectEvent::Applied { fact, listed: false }), 10);
    assert_eq!(known.hold_violates(), None, "the node is unknown");
    let patch = known.patch(PatchPurpose::Guard, both(Some(600)), PatchedRecord::Guard(guard(600)));
    assert_eq!(known.violated(patch, 100), None, "the namespace is unknown");
    let patch = known.patch(PatchPurpose::Hold, both(None), PatchedRecord::None);
    assert!(known.violated(patch, 100).unwrap().starts_with("S15"));
}
